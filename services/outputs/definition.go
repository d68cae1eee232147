package outputs

// What an output is, as the management plane sends it and as it is kept.

import (
	"errors"
	"fmt"
	"regexp"
	"slices"

	"cistern/services/outputs/file"
	"cistern/services/outputs/graphite"
	"cistern/services/outputs/receiver"
	"cistern/services/outputs/remotewrite"
	"cistern/services/outputs/statsd"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql/parser"
)

// Definition is one output.
type Definition struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Enabled bool   `json:"enabled"`
	Kind    string `json:"kind"`
	// Begin says where a new one starts: "now", or "journal" for what is in no block yet.
	Begin string `json:"begin"`
	// Keep are PromQL selectors: a series that one of them matches is sent. None means all.
	Keep []string `json:"keep"`
	// Labels are added to series that do not have them.
	Labels map[string]string `json:"labels"`
	// LagMiB is how much of the journal may wait before the oldest is skipped.
	LagMiB int64 `json:"lagMiB"`

	RemoteWrite *remotewrite.Settings `json:"remoteWrite,omitempty"`
	Graphite    *graphite.Settings    `json:"graphite,omitempty"`
	Statsd      *statsd.Settings      `json:"statsd,omitempty"`
	File        *file.Settings        `json:"file,omitempty"`
}

// The bounds of what may be asked for.
const (
	MaxOutputs   = 16
	MaxSelectors = 50
	MaxLabels    = 16
	MinLagMiB    = 16
	MaxLagMiB    = 64 << 10
)

// Wrong is what a definition says that cannot be, with its place in the definition.
type Wrong struct {
	Path    string
	Message string
}

func (w *Wrong) Error() string { return w.Message }

var goodID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,48}$`)

// filter is Keep and Labels, ready for use.
type filter struct {
	keep  [][]*tsdb.Matcher
	added []tsdb.Label
}

// read checks a definition, but for its kind's settings.
func (d *Definition) read() (*filter, error) {
	switch {
	case !goodID.MatchString(d.ID):
		return nil, &Wrong{"/id", "must be letters, digits, - and _, 48 at most"}
	case d.Begin != "now" && d.Begin != "journal":
		return nil, &Wrong{"/begin", "must be now or journal"}
	case d.LagMiB < MinLagMiB || d.LagMiB > MaxLagMiB:
		return nil, &Wrong{"/lagMiB", fmt.Sprintf("must be from %d to %d MiB", MinLagMiB, MaxLagMiB)}
	case len(d.Keep) > MaxSelectors:
		return nil, &Wrong{"/keep", fmt.Sprintf("has %d selectors, %d is the limit", len(d.Keep), MaxSelectors)}
	case len(d.Labels) > MaxLabels:
		return nil, &Wrong{"/labels", fmt.Sprintf("has %d labels, %d is the limit", len(d.Labels), MaxLabels)}
	}
	f := &filter{}
	for i, text := range d.Keep {
		matchers, err := parser.NewParser(parser.Options{}).ParseMetricSelector(text)
		if err != nil {
			return nil, &Wrong{fmt.Sprintf("/keep/%d", i), fmt.Sprintf("is no selector, as {job=\"web\"} is: %v", err)}
		}
		f.keep = append(f.keep, matchers)
	}
	for name, value := range d.Labels {
		if name == tsdb.NameLabel {
			return nil, &Wrong{"/labels", "may not change the name of a series"}
		}
		// With a name, so that these alone are what can be wrong.
		if _, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "x"}, {Name: name, Value: value}}); err != nil {
			return nil, &Wrong{"/labels", "cannot be: " + err.Error()}
		}
		if value != "" {
			f.added = append(f.added, tsdb.Label{Name: name, Value: value})
		}
	}
	slices.SortFunc(f.added, func(a, b tsdb.Label) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return f, nil
}

// take is the key under which a series is sent; false when it is not.
func (f *filter) take(key string) (string, bool) {
	if len(f.keep) == 0 && len(f.added) == 0 {
		return key, true
	}
	labels, err := tsdb.ParseKey(key)
	if err != nil || !f.matches(labels) {
		return "", false
	}
	before := len(labels)
	for _, one := range f.added {
		if !slices.ContainsFunc(labels[:before], func(l tsdb.Label) bool { return l.Name == one.Name }) {
			labels = append(labels, one)
		}
	}
	if len(labels) == before {
		return key, true
	}
	with, err := tsdb.AppendKey(nil, labels)
	if err != nil { // too many labels
		return key, true
	}
	return string(with), true
}

func (f *filter) matches(labels []tsdb.Label) bool {
	if len(f.keep) == 0 {
		return true
	}
	value := func(name string) string {
		for _, l := range labels {
			if l.Name == name {
				return l.Value
			}
		}
		return ""
	}
	return slices.ContainsFunc(f.keep, func(matchers []*tsdb.Matcher) bool {
		return !slices.ContainsFunc(matchers, func(m *tsdb.Matcher) bool { return !m.Matches(value(m.Name)) })
	})
}

// open makes the receiver of a definition.
func (m *Manager) open(d *Definition) (receiver.Receiver, error) {
	var r receiver.Receiver
	var err error
	path := "/" + d.Kind
	switch {
	case d.Kind == "remote-write" && d.RemoteWrite != nil:
		path = "/remoteWrite"
		r, err = remotewrite.New(*d.RemoteWrite, m.origin)
	case d.Kind == "graphite" && d.Graphite != nil:
		r, err = graphite.New(*d.Graphite, m.own)
	case d.Kind == "statsd" && d.Statsd != nil:
		r, err = statsd.New(*d.Statsd, m.own)
	case d.Kind == "file" && d.File != nil:
		r, err = file.New(*d.File, m.folder)
	case slices.Contains([]string{"remote-write", "graphite", "statsd", "file"}, d.Kind):
		err = errors.New("is missing: the settings of its kind")
	default:
		path, err = "/kind", fmt.Errorf("%.30q is none: it is remote-write, graphite, statsd or file", d.Kind)
	}
	if err != nil {
		return nil, &Wrong{path, err.Error()}
	}
	return r, nil
}

// Hidden is a definition without its secrets.
func (d Definition) Hidden() Definition {
	if d.RemoteWrite != nil {
		hidden := d.RemoteWrite.Hidden()
		d.RemoteWrite = &hidden
	}
	return d
}
