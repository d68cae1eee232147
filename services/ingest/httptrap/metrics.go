package httptrap

// What becomes what: the members of objects as samples.

import (
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

// Reasons of refusal besides the store's own.
const (
	Text        tsdb.Reason = "trap_text" // a string that is no number
	Null        tsdb.Reason = "trap_null"
	Boolean     tsdb.Reason = "trap_boolean"
	Nested      tsdb.Reason = "trap_nested" // a list or an object where a value is needed
	UnknownType tsdb.Reason = "trap_unknown_type"
	BadTime     tsdb.Reason = "trap_bad_time"
	BadTag      tsdb.Reason = "trap_bad_tag"
)

// translation is what a request becomes. samples and paths are of the same length.
type translation struct {
	now   int64
	check string
	// forced take the place of all others of their names: differences are to what was stored of the same series.
	forced []tsdb.Label

	keys     int // bytes of all keys
	samples  []tsdb.Sample
	paths    []string
	growing  []int               // samples that are cumulative histograms yet
	rejected []Rejection         // the first ones
	counts   map[tsdb.Reason]int // of all
}

// measured says when and with which tags values were measured.
type measured struct {
	path string
	name string
	tags []tsdb.Label
	time int64
}

func (t *translation) reject(path string, reason tsdb.Reason, format string, args ...any) {
	if t.counts == nil {
		t.counts = map[tsdb.Reason]int{}
	}
	t.counts[reason]++
	if len(t.rejected) < maxListed {
		t.rejected = append(t.rejected, Rejection{path, reason, fmt.Sprintf(format, args...)})
	}
}

// object takes the members of an object as metrics, but for those that describe the object's own value.
func (t *translation) object(name string, tags []tsdb.Label, n *node) {
	_, typed := n.member("_value")
	for i, key := range n.names {
		if typed && slices.Contains([]string{"_type", "_value", "_ts", "_tags", "_fl"}, key) {
			continue
		}
		plain, more, err := splitTags(key)
		path := plain
		if name != "" && len(plain) <= tsdb.MaxLabelValue {
			path = name + "." + plain
		}
		if err != nil {
			t.reject(path, BadTag, "%v", err)
			continue
		}
		// Here and not only where the key is made: what is below a long name would have it many times over.
		switch more = join(tags, more); {
		case len(path) > tsdb.MaxLabelValue:
			t.reject(path[:100]+"…", tsdb.LabelTooLong, "a name may have %d bytes", tsdb.MaxLabelValue)
		case len(more) > tsdb.MaxLabels:
			t.reject(path, tsdb.TooManyLabels, "%d tags are too many", len(more))
		default:
			t.metric(measured{path: path, name: path, tags: more, time: t.now}, &n.items[i], "")
		}
	}
}

// metric takes one value, whatever it is. declared is its _type, "" when there is none.
func (t *translation) metric(m measured, n *node, declared string) {
	if n.kind == object {
		if value, ok := n.member("_value"); ok {
			t.typed(m, n, value)
		}
		t.object(m.name, m.tags, n)
		return
	}
	if n.kind == list || declared == "h" || declared == "H" {
		t.histogram(m, n, declared == "H")
		return
	}
	v, ok := t.number(m.path, n)
	if !ok {
		return
	}
	if strings.Contains("iIlL", declared) && declared != "" && v != math.Trunc(v) {
		t.reject(m.path, tsdb.BadValue, "%g is not whole, as the type %s says", v, declared)
		return
	}
	t.add(m, tsdb.Sample{Kind: tsdb.Guess, Value: v})
}

// typed takes {"_value": …} with what else it may say.
func (t *translation) typed(m measured, n, value *node) {
	declared := ""
	if kind, ok := n.member("_type"); ok {
		declared = kind.text
		if kind.kind != text || len(declared) != 1 || !strings.Contains("niIlLshH", declared) {
			t.reject(m.path, UnknownType, "the type must be one of n, i, I, l, L, s, h and H")
			return
		}
	}
	if at, ok := n.member("_ts"); ok {
		ms, valid := parseNumber(at.text)
		if !valid || at.kind != number && at.kind != text || !(ms >= 0 && ms <= 1e14) {
			t.reject(m.path, BadTime, "_ts must be the time in milliseconds since 1970")
			return
		}
		m.time = int64(ms)
	}
	if tags, ok := n.member("_tags"); ok {
		if tags.kind != list || len(tags.items) > tsdb.MaxLabels {
			t.reject(m.path, BadTag, `_tags must be a list of "name:value", %d at most`, tsdb.MaxLabels)
			return
		}
		for i := range tags.items {
			one, err := parseTag(tags.items[i].text)
			if tags.items[i].kind != text || err != nil {
				t.reject(m.path, BadTag, `the tag %d is not "name:value"`, i)
				return
			}
			m.tags = join(m.tags, []tsdb.Label{one})
		}
	}
	switch {
	case value.kind == object:
		t.reject(m.path, Nested, "_value is an object")
	case declared == "s":
		t.reject(m.path, Text, "texts are not stored")
	case value.kind == list && declared != "" && declared != "h" && declared != "H":
		t.reject(m.path, Nested, "_value is a list, and the type %s is a number", declared)
	default:
		t.metric(m, value, declared)
	}
}

// number is what a number or a text holds; anything else is rejected.
func (t *translation) number(path string, n *node) (float64, bool) {
	switch n.kind {
	case number:
		if v, ok := parseNumber(n.text); ok {
			return v, true
		}
		t.reject(path, tsdb.BadValue, "the number %.40s is too large", n.text)
	case text:
		if v, ok := parseNumber(n.text); ok {
			return v, true
		}
		t.reject(path, Text, "the text %.40q is no number; texts are not stored", n.text)
	case null:
		t.reject(path, Null, "it is null")
	case boolean:
		t.reject(path, Boolean, "it is true or false, and no number")
	default:
		t.reject(path, Nested, "a number is needed")
	}
	return 0, false
}

// histogram makes one of a list of values and bins, or of what a text encodes. What is wrong with one item does not
// touch the others. Items may be {"_value": …}, each a metric of its own then.
func (t *translation) histogram(m measured, n *node, grows bool) {
	var values histogram.Accumulator
	whole := &histogram.Histogram{}
	switch {
	case n.kind == text:
		var err error
		if whole, err = parseBase64(n.text); err != nil {
			t.reject(m.path, tsdb.BadValue, "%v", err)
			return
		}
	case n.kind != list:
		t.reject(m.path, Nested, "a histogram is a list of values and of texts like H[1.2e-3]=4, or a text in base64")
		return
	}
	bad := false
	for i := range n.items {
		item := &n.items[i]
		if v, ok := parseNumber(item.text); ok && item.kind == number && values.Record(v, 1) == nil {
			continue // most are
		}
		path := fmt.Sprintf("%s[%d]", m.path, i)
		if item.kind == object {
			if value, ok := item.member("_value"); ok {
				inner := m
				inner.path = path
				t.typed(inner, item, value)
				bad = true // what was there is reported already, if anything is wrong
				continue
			}
		}
		if item.kind == text && strings.HasPrefix(item.text, "H[") {
			bin, count, err := parseBin(item.text)
			if err != nil {
				t.reject(path, tsdb.BadValue, "%v", err)
				bad = true
				continue
			}
			values.Add(bin, count)
			continue
		}
		v, ok := t.number(path, item)
		if ok {
			if err := values.Record(v, 1); err != nil {
				t.reject(path, tsdb.BadValue, "%v", err)
				ok = false
			}
		}
		bad = bad || !ok
	}
	whole.Merge(values.Take())
	if len(whole.Bins) == 0 {
		if !bad {
			t.reject(m.path, tsdb.EmptySample, "the histogram holds nothing")
		}
		return
	}
	before := len(t.samples)
	t.add(m, tsdb.Sample{Kind: tsdb.Histogram, Histogram: whole})
	if grows && len(t.samples) > before {
		t.growing = append(t.growing, before)
	}
}

func (t *translation) add(m measured, sample tsdb.Sample) {
	if m.name == "" {
		t.reject(m.path, tsdb.BadName, "the name is empty")
		return
	}
	if t.keys > maxKeys { // the request is refused
		return
	}
	labels := []tsdb.Label{{Name: tsdb.NameLabel, Value: m.name}}
	for _, l := range m.tags {
		if l.Name == "check" && t.check != "" {
			l.Name = "exported_check"
		}
		labels = append(labels, l)
	}
	if t.check != "" {
		labels = append(labels, tsdb.Label{Name: "check", Value: t.check})
	}
	key, err := tsdb.AppendKey(nil, tsdb.ReplaceLabels(labels, t.forced))
	if err != nil {
		var bad *tsdb.KeyError
		if !errors.As(err, &bad) {
			bad = &tsdb.KeyError{Reason: tsdb.BadLabel, Detail: err.Error()}
		}
		t.reject(m.path, bad.Reason, "%s", bad.Detail)
		return
	}
	t.keys += len(key)
	sample.Key, sample.Time = key, m.time
	t.samples, t.paths = append(t.samples, sample), append(t.paths, m.path)
}

// splitTags takes the tags off a name: name|ST[a:b,c:d].
func splitTags(key string) (name string, tags []tsdb.Label, err error) {
	name, rest, tagged := strings.Cut(key, "|ST[")
	if !tagged {
		return key, nil, nil
	}
	inner, ended := strings.CutSuffix(rest, "]")
	if !ended {
		return name, nil, fmt.Errorf("the tags in %.80q have no end", key)
	}
	if strings.Count(inner, ",") > 2*tsdb.MaxLabels {
		return name, nil, fmt.Errorf("%d tags are too many", strings.Count(inner, ",")+1)
	}
	for one := range strings.SplitSeq(inner, ",") {
		if one == "" {
			continue
		}
		l, err := parseTag(one)
		if err != nil {
			return name, nil, err
		}
		tags = join(tags, []tsdb.Label{l})
	}
	return name, tags, nil
}

// parseTag reads name:value; either may be in base64, as b"…". A tag without a value is "true".
func parseTag(tag string) (tsdb.Label, error) {
	name, value, valued := strings.Cut(tag, ":")
	if !valued {
		value = "true"
	}
	for _, part := range []*string{&name, &value} {
		if inner, ok := strings.CutPrefix(*part, `b"`); ok && strings.HasSuffix(inner, `"`) {
			plain, err := base64.StdEncoding.DecodeString(strings.TrimSuffix(inner, `"`))
			if err != nil {
				return tsdb.Label{}, fmt.Errorf("the tag %.80q is not base64", tag)
			}
			*part = string(plain)
		}
	}
	if name == "" || name == tsdb.NameLabel {
		return tsdb.Label{}, fmt.Errorf("%.80q is no tag", tag)
	}
	return tsdb.Label{Name: name, Value: value}, nil
}

// join is both; of a tag that is in both, or twice, the last one counts. The first list is left as it is.
func join(tags, more []tsdb.Label) []tsdb.Label {
	tags = tags[:len(tags):len(tags)]
	for _, l := range more {
		i := slices.IndexFunc(tags, func(one tsdb.Label) bool { return one.Name == l.Name })
		if i < 0 {
			tags = append(tags, l)
			continue
		}
		tags = slices.Clone(tags)
		tags[i] = l
	}
	return tags
}

// parseNumber reads a finite decimal number.
func parseNumber(s string) (float64, bool) {
	v, err := strconv.ParseFloat(s, 64)
	// ParseFloat takes "inf", "nan" and hexadecimal too; only decimal numbers are meant here.
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || strings.ContainsAny(s, "xXpP_") {
		return 0, false
	}
	return v, true
}
