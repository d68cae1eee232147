package transfer

// The comparison after an import: of some series, or of all when there are few, the appliance is asked how many samples each day
// has, and what their sum is. Where the numbers differ, because the appliance has samples of its own of that day or because
// the source has some twice, every sample is compared.

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	// checkWindow is a day, (from, to], as range selectors are.
	checkWindow = 86_400_000
	// maxWindows bounds the steps of one query; Prometheus answers 11,000.
	maxWindows = 10_000
	// maxNamed bounds how many series that differ are named.
	maxNamed = 20
)

// maxCompared bounds the samples that are held to compare them one by one; tests have fewer.
var maxCompared = 2_000_000

// expected is a series as the source has it.
type expected struct {
	labels  labels.Labels
	windows map[int64]*window // by their end
	samples int64
}

// window is a day of a series.
type window struct {
	count, natives int64
	sum, abs       float64 // of numbers
	observations   float64 // of natives
	last           int64
	twice          bool // times do not ascend: what the store keeps of them is compared sample by sample
	samples        map[int64]float64
}

func endOf(t int64) int64 {
	end := t / checkWindow * checkWindow
	if end < t {
		end += checkWindow
	}
	return end
}

func (w *window) add(s *Sample) {
	if w.count+w.natives > 0 && s.Time <= w.last {
		w.twice = true
	}
	w.last = s.Time
	if s.Native != nil {
		w.natives++
		w.observations += s.Native.Count
		return
	}
	w.count++
	w.sum += s.Value
	if !math.IsNaN(s.Value) {
		w.abs += math.Abs(s.Value)
	}
}

// compared is the result.
type compared struct {
	series, samples    int64
	differing, unknown int
}

// chosen picks about want of the series, always the same ones.
func chosen(want int, all int64) func(labels.Labels) bool {
	if int64(want) >= all {
		return func(labels.Labels) bool { return true }
	}
	limit := uint64(float64(math.MaxUint64) * (float64(want) / float64(all)))
	return func(set labels.Labels) bool {
		h := set.Hash()
		h ^= h >> 33 // the low bits decide as much as the high ones
		h *= 0xff51afd7ed558ccd
		h ^= h >> 33
		return h <= limit
	}
}

// checker compares one import.
type checker struct {
	source    Source
	appliance Appliance
	selection Selection
	oldest    int64                      // windows that begin before are not compared: what they have is let go
	names     map[string]map[string]bool // of each metric, the labels that its series have
	screen    *Screen
}

func check(ctx context.Context, source Source, a Appliance, selection *Selection, want int, survey *Survey, oldest int64, screen *Screen) (*compared, error) {
	c := &checker{source: source, appliance: a, selection: *selection, oldest: oldest, names: map[string]map[string]bool{}, screen: screen}
	c.selection.Only = chosen(want, survey.Series)
	series, err := c.read(ctx, func(*expected, int64) bool { return true }, false)
	if err != nil {
		return nil, err
	}
	result := &compared{}
	doubtful := map[string]map[int64]bool{}
	short := 0
	for _, key := range slices.Sorted(maps.Keys(series)) {
		one := series[key]
		result.series++
		result.samples += one.samples
		screen.passing(func() string {
			return fmt.Sprintf("comparing: %s of %s series", Number(result.series), Number(int64(len(series))))
		})
		found, err := c.days(ctx, one)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			result.unknown++
			screen.Say("%s could not be compared: %v", one.labels, err)
		case found.missing > 0:
			result.differing++
			if short++; short <= maxNamed {
				screen.Say("%s: of %s samples %s are missing, the first of the day that ends at %s", one.labels, Number(one.samples), Number(found.missing), Day(found.first))
			}
		case len(found.odd) > 0:
			doubtful[key] = found.odd
		}
	}
	if short > maxNamed {
		screen.Say("The same holds for %s more series.", Number(int64(short-maxNamed)))
	}
	if len(doubtful) > 0 {
		if err := c.bySample(ctx, doubtful, result); err != nil {
			return nil, err
		}
	}
	switch {
	case result.differing > 0:
		screen.Say("Compared %s series, %s samples: %s.", Number(result.series), Number(result.samples), Counted(int64(result.differing), "series differs", "series differ"))
	case result.unknown > 0:
		screen.Say("Compared %s series, %s samples: %s could not be compared.", Number(result.series), Number(result.samples), Number(int64(result.unknown)))
	default:
		screen.Say("Checked %s series, %s samples: all there.", Number(result.series), Number(result.samples))
	}
	return result, nil
}

// read reads the chosen series' windows; only those that wanted chooses, and with each sample when samples says so.
func (c *checker) read(ctx context.Context, wanted func(*expected, int64) bool, samples bool) (map[string]*expected, error) {
	all := map[string]*expected{}
	err := c.source.Walk(ctx, Walk{Selection: &c.selection, Use: func(p *Part) error {
		key := p.Labels.String()
		one := all[key]
		if one == nil {
			one = &expected{labels: p.Labels.Copy(), windows: map[int64]*window{}}
			all[key] = one
		}
		metric := p.Labels.Get(NameLabel)
		if c.names[metric] == nil {
			c.names[metric] = map[string]bool{}
		}
		p.Labels.Range(func(l labels.Label) { c.names[metric][strings.Clone(l.Name)] = true })
		c.screen.Passing("comparing: reading %s", Counted(int64(len(all)), "series", "series"))
		return p.Each(func(s Sample) error {
			end := endOf(s.Time)
			if s.Stale() || end-checkWindow < c.oldest || !wanted(one, end) {
				return nil
			}
			w := one.windows[end]
			if w == nil {
				w = &window{}
				one.windows[end] = w
			}
			w.add(&s)
			one.samples++
			if samples {
				if w.samples == nil {
					w.samples = map[int64]float64{}
				}
				v := s.Value
				if s.Native != nil {
					v = s.Native.Count
				}
				w.samples[s.Time] = v
			}
			return nil
		})
	}})
	return all, err
}

// daysFound is what the days' numbers say.
type daysFound struct {
	odd     map[int64]bool // days that need a closer look, by their ends
	missing int64          // samples of days that have fewer than the source
	first   int64          // the end of the first of these days
}

// days asks for the series' days.
func (c *checker) days(ctx context.Context, one *expected) (*daysFound, error) {
	found := &daysFound{odd: map[int64]bool{}}
	ends := slices.Sorted(maps.Keys(one.windows))
	for len(ends) > 0 {
		n := len(ends)
		for ends[n-1]-ends[0] >= maxWindows*checkWindow {
			n--
		}
		if err := c.daysFrom(ctx, one, ends[:n], found); err != nil {
			return nil, err
		}
		ends = ends[n:]
	}
	return found, nil
}

func (c *checker) daysFrom(ctx context.Context, one *expected, ends []int64, found *daysFound) error {
	selector := c.selector(one.labels)
	natives, numbers := false, false
	for _, end := range ends {
		natives = natives || one.windows[end].natives > 0
		numbers = numbers || one.windows[end].count > 0
	}
	counts, err := c.byDay(ctx, one, "count_over_time("+selector+"[1d])", ends)
	if err != nil {
		return err
	}
	var sums, observations map[int64]float64
	if numbers {
		if sums, err = c.byDay(ctx, one, "sum_over_time("+selector+"[1d])", ends); err != nil {
			return err
		}
	}
	if natives {
		if observations, err = c.byDay(ctx, one, "histogram_count(sum_over_time("+selector+"[1d]))", ends); err != nil {
			return err
		}
	}
	for _, end := range ends {
		w := one.windows[end]
		if fewer := w.count + w.natives - int64(counts[end]); fewer > 0 && !w.twice {
			if found.missing += fewer; found.first == 0 {
				found.first = end
			}
			continue
		}
		same := !w.twice && counts[end] == float64(w.count+w.natives)
		if same && w.natives == 0 {
			same = near(sums[end], w.sum, w.abs)
		}
		if same && w.count == 0 {
			same = near(observations[end], w.observations, w.observations)
		}
		if !same || w.count > 0 && w.natives > 0 {
			found.odd[end] = true
		}
	}
	return nil
}

// near says whether two sums are the same but for the order of adding; size is the sum of what was added, without signs.
func near(a, b, size float64) bool {
	if a == b || math.IsNaN(a) && math.IsNaN(b) {
		return true
	}
	return math.Abs(a-b) <= 1e-9*size
}

// byDay is the values of an expression over the series' days, by the days' ends.
func (c *checker) byDay(ctx context.Context, one *expected, expression string, ends []int64) (map[int64]float64, error) {
	result, err := query(ctx, c.appliance, "query_range", url.Values{"query": {expression}, "start": {seconds(ends[0])},
		"end": {seconds(ends[len(ends)-1])}, "step": {strconv.Itoa(checkWindow / 1000)}})
	if err != nil {
		return nil, err
	}
	values := map[int64]float64{}
	for _, r := range result {
		if !sameLabels(r.Metric, one.labels, false) {
			continue
		}
		for _, v := range r.Values {
			values[v.millis()] = v.Value
		}
	}
	return values, nil
}

// bySample compares each sample of some days: as many of each series as can be held.
func (c *checker) bySample(ctx context.Context, days map[string]map[int64]bool, result *compared) error {
	room, left := int64(maxCompared/len(days)), map[string]int64{}
	decided, passed := map[*expected]map[int64]bool{}, 0
	series, err := c.read(ctx, func(one *expected, end int64) bool {
		if !days[one.labels.String()][end] {
			return false
		}
		if decided[one] == nil {
			decided[one] = map[int64]bool{}
		}
		take, known := decided[one][end]
		if !known {
			take = len(decided[one]) == 0 || one.samples < room
			if decided[one][end] = take; !take {
				passed++
				left[one.labels.String()]++
			}
		}
		return take
	}, true)
	if err != nil {
		return err
	}
	if passed > 0 {
		c.screen.Say("The appliance has samples of its own of many days of these series: %s days of %s were compared by their counts only.", Number(int64(passed)), Counted(int64(len(left)), "series", "series"))
	}
	for _, key := range slices.Sorted(maps.Keys(days)) {
		one := series[key]
		if one == nil {
			continue
		}
		missing, other, all := 0, 0, 0
		first := int64(math.MaxInt64)
		for _, end := range slices.Sorted(maps.Keys(one.windows)) {
			got, err := c.samples(ctx, one, end)
			if err != nil {
				if ctx.Err() != nil {
					return err
				}
				result.unknown++
				c.screen.Say("%s could not be compared: %v", one.labels, err)
				break
			}
			for t, want := range one.windows[end].samples {
				v, there := got[t]
				all++
				switch {
				case !there:
					missing++
				case v != want && !(math.IsNaN(v) && math.IsNaN(want)):
					other++
				default:
					continue
				}
				first = min(first, t)
			}
		}
		if missing+other > 0 {
			result.differing++
			c.screen.Say("%s: of %s samples %s are missing and %s have another value, the first of %s", one.labels, Number(int64(all)), Number(int64(missing)), Number(int64(other)), Day(first))
		}
	}
	return nil
}

// samples is what the appliance has of a day.
func (c *checker) samples(ctx context.Context, one *expected, end int64) (map[int64]float64, error) {
	result, err := query(ctx, c.appliance, "query", url.Values{"query": {c.selector(one.labels) + "[1d]"}, "time": {seconds(end)}})
	if err != nil {
		return nil, err
	}
	got := map[int64]float64{}
	for _, r := range result {
		if !sameLabels(r.Metric, one.labels, true) {
			continue
		}
		for _, v := range r.Values {
			got[v.millis()] = v.Value
		}
		for _, v := range r.Histograms {
			got[millisOf(v.Time)] = v.Count
		}
	}
	return got, nil
}

// sameLabels says whether a result is exactly that of the series; PromQL also finds those that have more labels.
func sameLabels(got map[string]string, want labels.Labels, withName bool) bool {
	n, same := 0, true
	want.Range(func(l labels.Label) {
		if l.Name == NameLabel && !withName {
			return
		}
		n++
		same = same && got[l.Name] == l.Value
	})
	if !withName && got[NameLabel] != "" {
		n++
	}
	return same && n == len(got)
}

// selector is a series in PromQL. That it has none of the labels that others of its metric have is said too, so that the
// answer is about as large as the series.
func (c *checker) selector(set labels.Labels) string {
	var parts []string
	set.Range(func(l labels.Label) { parts = append(parts, labelName(l.Name)+"="+strconv.Quote(l.Value)) })
	for _, other := range slices.Sorted(maps.Keys(c.names[set.Get(NameLabel)])) {
		if !set.Has(other) && len(parts) < 100 {
			parts = append(parts, labelName(other)+`=""`)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func labelName(name string) string {
	for i, r := range name {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return strconv.Quote(name)
		}
	}
	return name
}
