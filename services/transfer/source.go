// Package transfer moves history: what a user has in another system into the appliance (Import), and what the appliance holds
// into files that other systems read (Export). It speaks to a running appliance by the routes of its store, so that both ends
// of a move may be on different machines.
//
// Each format is a folder of its own. One that is read is a Source: it yields its series in an order that is the same each time,
// so that an import that was interrupted goes on where it was. What it promises:
//
//   - Nothing is left out without being counted, by reason.
//   - A position is remembered only when the appliance has acknowledged everything before it. What is sent twice after an
//     interruption changes nothing: the store keeps one sample for each time.
//   - What cannot be read of a source is named and counted, and the rest is imported.
package transfer

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
)

// Sample is one value of a series: a number, or a native histogram when Native is one.
type Sample struct {
	Time   int64 // milliseconds since 1970
	Value  float64
	Native *histogram.FloatHistogram
}

// Stale says whether the sample is a mark that its series ended.
func (s *Sample) Stale() bool {
	if s.Native != nil {
		return value.IsStaleNaN(s.Native.Sum)
	}
	return value.IsStaleNaN(s.Value)
}

// NameLabel is the label that holds the name of a metric.
const NameLabel = "__name__"

// Kinds of series, as remote write names them. "" leaves it to the name, as for any sender that does not say it.
const (
	Counter = "counter"
	Gauge   = "gauge"
)

// Part is a series, or a stretch of one: a source may yield a series in several parts.
type Part struct {
	// Number counts the parts of the source from 0, those that are not chosen among them.
	Number     int64
	Labels     labels.Labels
	Kind       string
	Unit, Help string
	// Each calls use with the samples in the selection's time, in the same order each time. An error of use ends it and is
	// returned; what is damaged is reported to the walk.
	Each func(use func(Sample) error) error
}

// Walk is one passage through a source.
type Walk struct {
	Selection *Selection
	// From is the number of the first part to yield.
	From int64
	Use  func(*Part) error
	// Damaged is told what cannot be read: where, why, and how many samples that are, -1 if it is not known.
	Damaged func(where string, why error, samples int64)
}

// Report tells what cannot be read; it may be called by sources whether somebody listens or not.
func (w *Walk) Report(where string, why error, samples int64) {
	if w.Damaged != nil {
		w.Damaged(where, why, samples)
	}
}

// Source is what is imported.
type Source interface {
	// Identity changes when the numbers of the parts mean something else: a position of another identity is worth nothing.
	Identity() string
	// Survey says what there is of the selection, and how much of it is before a time.
	Survey(ctx context.Context, selection *Selection, before int64) (*Survey, error)
	// Walk yields the parts. It ends early with the error of Use, or when ctx does.
	Walk(ctx context.Context, walk Walk) error
	Close() error
}

// Survey is what a source holds of a selection.
type Survey struct {
	Files   int
	Series  int64
	Samples int64
	// Older is how many samples are before the time that was asked about.
	Older int64
	// About: Samples and Older are estimates.
	About            bool
	MinTime, MaxTime int64 // ms; MinTime > MaxTime when there is nothing
	Damaged          int64 // what could not be read: chunks, files, lines
	// Notes are sentences that a user should read before the import begins.
	Notes []string
}

// NewSurvey is one of nothing.
func NewSurvey() *Survey { return &Survey{MinTime: math.MaxInt64, MaxTime: math.MinInt64} }

// Count surveys a source by reading all of it.
func Count(ctx context.Context, source Source, selection *Selection, before int64) (*Survey, error) {
	s, series := NewSurvey(), map[uint64]struct{}{}
	err := source.Walk(ctx, Walk{Selection: selection, Damaged: func(string, error, int64) { s.Damaged++ }, Use: func(p *Part) error {
		any := false
		err := p.Each(func(one Sample) error {
			any = true
			s.Samples++
			if one.Time < before {
				s.Older++
			}
			s.MinTime, s.MaxTime = min(s.MinTime, one.Time), max(s.MaxTime, one.Time)
			return nil
		})
		if any {
			series[p.Labels.Hash()] = struct{}{}
		}
		if selection.Surveyed != nil {
			selection.Surveyed(s.Samples)
		}
		return err
	}})
	s.Series = int64(len(series))
	return s, err
}

// Selection is what of a source is wanted, and what it is called on the appliance.
type Selection struct {
	From, To int64 // ms, both in it
	Matchers []*labels.Matcher
	Add      []labels.Label
	Renames  []Rename
	// Only chooses among the series by their labels on the appliance; nil: all.
	Only func(labels.Labels) bool
	// Surveyed is told how many samples a survey has seen so far; it may be nil.
	Surveyed func(samples int64)
}

// Everything is the selection of all.
func Everything() *Selection { return &Selection{From: math.MinInt64 / 2, To: math.MaxInt64 / 2} }

// Rename gives a metric another name: From and To, or what begins with From when both end with *.
type Rename struct{ From, To string }

func (r Rename) apply(name string) (string, bool) {
	from, prefix := strings.CutSuffix(r.From, "*")
	if !prefix {
		return r.To, name == r.From
	}
	rest, ok := strings.CutPrefix(name, from)
	return strings.TrimSuffix(r.To, "*") + rest, ok
}

// Labels says whether a series of the source is chosen, and what its labels are on the appliance.
func (s *Selection) Labels(set labels.Labels) (labels.Labels, bool) {
	for _, m := range s.Matchers {
		if !m.Matches(set.Get(m.Name)) {
			return set, false
		}
	}
	if len(s.Add)+len(s.Renames) > 0 {
		b := labels.NewBuilder(set)
		name := set.Get(NameLabel)
		for _, r := range s.Renames {
			if other, ok := r.apply(name); ok {
				b.Set(NameLabel, other)
				break
			}
		}
		for _, l := range s.Add {
			b.Set(l.Name, l.Value)
		}
		set = b.Labels()
	}
	return set, s.Only == nil || s.Only(set)
}

// Holds says whether a time is selected.
func (s *Selection) Holds(t int64) bool { return t >= s.From && t <= s.To }

// FromPairs makes labels of name and value pairs; of a name that comes twice the last one counts.
func FromPairs(pairs []labels.Label) labels.Labels {
	slices.SortStableFunc(pairs, func(a, b labels.Label) int { return strings.Compare(a.Name, b.Name) })
	kept := pairs[:0]
	for _, l := range pairs {
		if n := len(kept); n > 0 && kept[n-1].Name == l.Name {
			kept[n-1] = l
			continue
		}
		kept = append(kept, l)
	}
	return labels.New(kept...)
}
