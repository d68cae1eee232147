// Package explain says what tells one part of what was measured from the rest: by which labels a part of a heatmap differs
// from what lies around it.
package explain

// A box on a heatmap: what of each series lies in it, and which labels tell the inside from the outside. All of it is counted
// by the stored bins, and nothing is sampled.

import (
	"context"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"
)

// Box is what was marked of a heatmap, and what is drawn around it. Times are in ms, their ends not included.
type Box struct {
	From, Until int64 // of the heatmap
	Start, End  int64 // of the box, within it
	// Above and Below are the values between which the box lies; either may be infinite.
	Above, Below float64
}

// Part is how many measurements of some series lie inside of the box, and how many around it.
type Part struct{ Inside, Outside float64 }

// Value is one value of a label, with its surplus as score; the empty one stands for series that do not have the label.
type Value struct {
	Text string
	Part
	Score float64
}

// Label is a label, with its values in the order of their scores: those that tell most first, and of two that tell as much the
// one that there is more of inside. Its own score is the greatest of them.
type Label struct {
	Name   string
	Score  float64
	Values []Value
}

// Found is what tells the inside from the outside: of all labels that differ between the series, the best first.
type Found struct {
	Part
	Series      int
	Labels      []Label
	Approximate bool // native histograms were converted
}

// tallyBytes is what a value of a label takes while it is counted.
const tallyBytes = 160

// Labels counts what each series has inside of the box and outside, and ranks the labels by it. back is how far before a time
// the earlier value of a running total is sought, for which the series must have been selected.
func Labels(ctx context.Context, list []*tsdb.Series, box Box, back int64) (Found, error) {
	parts := make([]Part, len(list))
	var next atomic.Int64
	var approximate atomic.Bool
	var failure error
	var once sync.Once
	work := func() {
		var d histogram.Dense
		for {
			i := int(next.Add(1)) - 1
			if i >= len(list) {
				return
			}
			var err error
			if parts[i], err = box.of(ctx, list[i], back, &d); err != nil {
				once.Do(func() { failure = err })
				return
			}
			if list[i].HasNatives() {
				approximate.Store(true)
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(list)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if failure != nil {
		return Found{}, failure
	}
	found, err := rank(ctx, list, parts)
	found.Approximate = approximate.Load()
	return found, err
}

// of counts one series. d is memory to do it in.
func (b Box) of(ctx context.Context, s *tsdb.Series, back int64, d *histogram.Dense) (Part, error) {
	var p Part
	if s.HasNumbers() {
		it := s.Numbers(b.From, b.Until-1)
		for times, values, ok := it.NextBatch(); ok; times, values, ok = it.NextBatch() {
			for i, v := range values {
				switch {
				case math.IsNaN(v):
				case times[i] >= b.Start && times[i] < b.End && v > b.Above && v <= b.Below:
					p.Inside++
				default:
					p.Outside++
				}
			}
			if ctx.Err() != nil {
				return p, context.Cause(ctx)
			}
		}
		if err := it.Err(); err != nil {
			return p, err
		}
	}
	if !s.HasHistograms() && !s.HasNatives() {
		return p, ctx.Err()
	}
	into := []*histogram.Dense{d}
	read := func(from, until int64) error {
		d.Reset()
		if _, err := s.Windows(ctx, from, until-from, into); err != nil {
			return err
		}
		if s.HasNatives() {
			if _, err := adapter.NativeWindows(ctx, s, from, until-from, back, into); err != nil {
				return err
			}
		}
		return ctx.Err()
	}
	if err := read(b.From, b.Until); err != nil {
		return p, err
	}
	all := float64(d.Count())
	if all > 0 && (b.Start != b.From || b.End != b.Until) {
		if err := read(b.Start, b.End); err != nil {
			return p, err
		}
	}
	if d.Empty() {
		p.Outside += all
		return p, nil
	}
	inside := d.CountBetween(b.Above, b.Below)
	p.Inside, p.Outside = p.Inside+inside, p.Outside+max(0, all-inside)
	return p, nil
}

// tally is a value of a label while series are counted.
type tally struct {
	Part
	series int
}

func rank(ctx context.Context, list []*tsdb.Series, parts []Part) (Found, error) {
	found := Found{Series: len(list)}
	b := budget.From(ctx)
	labels := map[string]map[string]*tally{}
	var failure error
	for i, s := range list {
		p := parts[i]
		found.Inside, found.Outside = found.Inside+p.Inside, found.Outside+p.Outside
		tsdb.EachLabel(s.Key, func(name, value string) {
			values := labels[name]
			if values == nil {
				values = map[string]*tally{}
				labels[name] = values
			}
			one := values[value]
			if one == nil {
				if err := b.Charge(ctx, tallyBytes, "values of labels"); err != nil {
					failure = err
				}
				one = &tally{}
				values[value] = one
			}
			one.Inside, one.Outside, one.series = one.Inside+p.Inside, one.Outside+p.Outside, one.series+1
		})
		if failure != nil {
			return found, failure
		}
	}
	for name, values := range labels {
		with := tally{}
		for _, one := range values {
			with.Inside, with.Outside, with.series = with.Inside+one.Inside, with.Outside+one.Outside, with.series+one.series
		}
		if with.series < len(list) {
			values[""] = &tally{Part: Part{max(0, found.Inside-with.Inside), max(0, found.Outside-with.Outside)}}
		}
		if len(values) < 2 {
			continue // it is the same of all
		}
		label := Label{Name: name, Values: make([]Value, 0, len(values))}
		for text, one := range values {
			v := Value{text, one.Part, surplus(one.Inside, found.Inside, one.Outside, found.Outside)}
			label.Score = max(label.Score, math.Abs(v.Score))
			label.Values = append(label.Values, v)
		}
		slices.SortFunc(label.Values, func(x, y Value) int {
			return first(math.Abs(y.Score)-math.Abs(x.Score), y.Score-x.Score, y.Inside-x.Inside, y.Outside-x.Outside, float64(strings.Compare(x.Text, y.Text)))
		})
		found.Labels = append(found.Labels, label)
	}
	slices.SortFunc(found.Labels, func(x, y Label) int {
		// Of two labels that tell as much the one with fewer values says it in fewer words.
		return first(y.Score-x.Score, float64(len(x.Values)-len(y.Values)), float64(strings.Compare(x.Name, y.Name)))
	})
	return found, ctx.Err()
}

// first is the sign of the first difference that is not zero.
func first(differences ...float64) int {
	for _, d := range differences {
		switch {
		case d < 0:
			return -1
		case d > 0:
			return 1
		}
	}
	return 0
}

// confident is the standard normal distribution's quantile of 97.5 %, for intervals of 95 %.
const confident = 1.959964

// wilson is the interval of a share of which a of n were seen (E. B. Wilson, Journal of the American Statistical
// Association 22, 1927, page 209): it is wide where there is little to go by.
func wilson(a, n float64) (low, high float64) {
	const z2 = confident * confident
	share := a / n
	middle := share + z2/(2*n)
	half := confident * math.Sqrt(share*(1-share)/n+z2/(4*n*n))
	return max(0, (middle-half)/(1+z2/n)), min(1, (middle+half)/(1+z2/n))
}

// surplus is by how much the share a/n is greater than b/m, with certainty: the end nearer to zero of the interval of 95 % of
// their difference (R. G. Newcombe, Statistics in Medicine 17, 1998, page 873, method 10). It is below zero when the share is
// certainly smaller, and 0 when neither is certain.
func surplus(a, n, b, m float64) float64 {
	if n <= 0 || m <= 0 {
		return 0
	}
	p, q := a/n, b/m
	lowP, highP := wilson(a, n)
	lowQ, highQ := wilson(b, m)
	if p > q {
		return rounded(max(0, p-q-math.Hypot(p-lowP, highQ-q)))
	}
	return rounded(min(0, p-q+math.Hypot(highP-p, q-lowQ)))
}

// rounded makes equal what differs by how it was calculated only: of two values what the one gains the other loses.
func rounded(score float64) float64 { return math.Round(score*1e9) / 1e9 }
