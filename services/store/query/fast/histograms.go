package fast

// Cistern's histograms over windows: the merged histogram of (t-window, t], from the store's checkpoints. The time is
// cut into slices that windows are made of, so that overlapping windows share them: the next window is the one before
// plus the slices that come in minus those that go out. All that is whole numbers, so it stays exact.

import (
	"context"
	"slices"

	"cistern/services/histogram"
	"cistern/services/store/query/adapter"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/util/annotations"
)

const (
	denseBytes          = 96
	floatHistogramBytes = 160 + 24 // and its place in a row and in a point
)

// maxSlices bounds how finely a range is cut; what would need more is walked through histogram by histogram.
const maxSlices = 12_000

// windows is the merged histograms of the series for each step, nil where there is nothing; nil at all when all are.
func (r *run) windows(n *node, list []*tsdb.Series) ([]*promhistogram.FloatHistogram, error) {
	switch n.function {
	case rate, increase, sumOver:
	default:
		return nil, errUnfit
	}
	for i, one := range list {
		if some := one.Within(n.window); some != one {
			list = slices.Clone(list)
			list[i] = some
		}
	}
	slice, stride, width := n.window, int64(0), int64(1)
	if r.at.n > 1 {
		slice = gcd(r.at.step, n.window)
		stride, width = r.at.step/slice, n.window/slice
	}
	count := int64(r.at.n-1)*stride + width
	from := r.at.start - n.offset - n.window + 1
	w := hopping{run: r, node: n, hists: make([]*promhistogram.FloatHistogram, r.at.n)}
	if count > maxSlices {
		return w.walk(list, from)
	}
	into := make([]*histogram.Dense, count)
	merged, err := adapter.Windows(r.ctx, list, from, slice, into)
	r.read.Add(int64(merged))
	if err != nil {
		return nil, err
	}
	dense := int64(0)
	for _, d := range into {
		if d != nil {
			dense += denseBytes + 8*int64(d.Room())
		}
	}
	if err := r.hold(dense, "histograms in parts of the ranges"); err != nil {
		return nil, err
	}
	defer r.let(dense)
	var running histogram.Histogram
	next, gone := int64(0), int64(0)
	for i := range w.hists {
		first := int64(i) * stride
		if first >= next { // nothing is shared with the window before
			running.Reset()
			next, gone = first, first
		}
		for ; gone < first; gone++ {
			if into[gone] != nil {
				running.Subtract(into[gone].Histogram())
				into[gone] = nil
			}
		}
		for ; next < first+width; next++ {
			if into[next] != nil {
				running.Merge(into[next].Histogram())
			}
		}
		if err := w.put(i, &running); err != nil {
			return nil, err
		}
	}
	return w.result(), nil
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// hopping collects the windows of one result.
type hopping struct {
	run   *run
	node  *node
	hists []*promhistogram.FloatHistogram
	any   bool
}

func (w *hopping) put(i int, h *histogram.Histogram) error {
	if len(h.Bins) == 0 {
		return nil
	}
	one := &promhistogram.FloatHistogram{}
	adapter.Fill(one, h, promhistogram.GaugeType)
	if w.node.function == rate {
		one.Div(float64(w.node.window) / 1000)
	}
	w.hists[i], w.any = one, true
	return w.run.hold(floatHistogramBytes+8*int64(cap(one.PositiveBuckets)+cap(one.PositiveSpans)), "histograms of the results")
}

func (w *hopping) result() []*promhistogram.FloatHistogram {
	if !w.any {
		return nil
	}
	return w.hists
}

// walk adds each histogram when it comes into the window and takes it out when it leaves.
func (w *hopping) walk(list []*tsdb.Series, from int64) ([]*promhistogram.FloatHistogram, error) {
	to := w.run.at.end() - w.node.offset
	running := make([]histogram.Histogram, 1)
	type walker struct {
		it   *tsdb.HistogramIterator
		more bool
	}
	begin := func() []walker {
		var all []walker
		for _, s := range list {
			it := s.Histograms(from, to)
			all = append(all, walker{it, it.Next()})
		}
		return all
	}
	coming, going := begin(), begin()
	for i := range w.hists {
		if w.run.ctx.Err() != nil {
			return nil, context.Cause(w.run.ctx)
		}
		end := w.run.at.at(i) - w.node.offset
		advance := func(walkers []walker, to int64, use func(*histogram.Histogram)) error {
			for k := range walkers {
				one := &walkers[k]
				for one.more {
					t, h := one.it.At()
					if t > to {
						break
					}
					use(&h)
					// A window may be of years: nobody may have to wait for all of it whom its answer does not reach any more.
					if w.run.read.Add(1)%1024 == 0 && w.run.ctx.Err() != nil {
						return context.Cause(w.run.ctx)
					}
					one.more = one.it.Next()
				}
				if err := one.it.Err(); err != nil {
					return err
				}
			}
			return nil
		}
		if err := advance(coming, end, running[0].Merge); err != nil {
			return nil, err
		}
		if err := advance(going, end-w.node.window, running[0].Subtract); err != nil {
			return nil, err
		}
		if err := w.put(i, &running[0]); err != nil {
			return nil, err
		}
	}
	return w.result(), nil
}

// sumHistograms is sum by of a leaf whose series all hold histograms: a group's series are merged together.
func (r *run) sumHistograms(n *node, s *selected, members [][]int) ([]row, error) {
	rows, err := r.mergedGroups(n, s, members)
	if err != nil {
		return nil, err
	}
	kept := rows[:0]
	for _, one := range rows {
		if one.hists != nil {
			kept = append(kept, one)
		}
	}
	return kept, nil
}

// mergedGroups merges the series of each group; one in which nothing is has no histograms.
func (r *run) mergedGroups(n *node, s *selected, members [][]int) ([]row, error) {
	rows := make([]row, len(members))
	err := r.parallel(len(members), func(g int, _ *scratch) error {
		if len(members[g]) == 0 {
			return nil
		}
		list := make([]*tsdb.Series, len(members[g]))
		for i, k := range members[g] {
			list[i] = s.series[k]
		}
		hists, err := r.windows(n.inner, list)
		if err != nil || hists == nil {
			return err
		}
		rows[g] = row{labels: n.groupLabels(s.labels[members[g][0]], &labels.ScratchBuilder{}), hists: hists}
		return nil
	})
	return rows, err
}

// sumMixed is sum by of a leaf of which some series hold numbers and some histograms. Where a group has both at one time it has
// no sum, and a note says so, as in Prometheus.
func (r *run) sumMixed(n *node, s *selected, members [][]int) ([]row, error) {
	var ofNumbers, ofHistograms [][]int
	for _, list := range members {
		numbers, histograms := []int(nil), []int(nil)
		for _, k := range list {
			if s.series[k].HasHistograms() {
				histograms = append(histograms, k)
			} else {
				numbers = append(numbers, k)
			}
		}
		ofNumbers, ofHistograms = append(ofNumbers, numbers), append(ofHistograms, histograms)
	}
	totals, err := r.totals(n, s, ofNumbers)
	if err != nil {
		return nil, err
	}
	rows, err := r.mergedGroups(n, s, ofHistograms)
	if err != nil {
		return nil, err
	}
	kept, mixed := rows[:0], false
	for g := range members {
		one := row{labels: n.groupLabels(s.labels[members[g][0]], &labels.ScratchBuilder{}), hists: rows[g].hists}
		r.let(totals[g].besides())
		if t := totals[g]; t != nil && t.first >= 0 {
			values, ok := t.result()
			if !ok {
				return nil, errUnfit
			}
			one.values = values
		}
		for i, h := range one.hists {
			if h == nil || one.values == nil {
				continue
			}
			if !isAbsent(one.values[i]) {
				one.hists[i], one.values[i], mixed = nil, absent, true
			}
		}
		if !one.empty() {
			kept = append(kept, one)
		}
	}
	if mixed {
		r.notes.Add(annotations.NewMixedFloatsHistogramsAggWarning(n.position))
	}
	return kept, nil
}

// histogramsOnly says whether all series that match hold Cistern's histograms and nothing else; false when there is none.
func histogramsOnly(ctx context.Context, store tsdb.Querier, minTime, maxTime int64, matchers []*labels.Matcher) (bool, error) {
	list, release, err := store.Select(ctx, minTime, maxTime, matchers...)
	defer release()
	if err != nil || len(list) == 0 {
		return false, err
	}
	for _, s := range list {
		if s.HasNumbers() || s.HasNatives() {
			return false, nil
		}
	}
	return true, nil
}

// rolledUp says whether all series that match hold numbers and nothing else, rollups are all that is left of some, and, if
// whole, none of their records stands for more than width, in ms.
func rolledUp(ctx context.Context, store tsdb.Querier, minTime, maxTime int64, matchers []*labels.Matcher, whole bool, width int64) (any bool, err error) {
	list, release, err := store.Select(ctx, minTime, maxTime, matchers...)
	defer release()
	if err != nil {
		return false, err
	}
	for _, s := range list {
		if s.HasHistograms() || s.HasNatives() || whole && s.Within(width) != s {
			return false, nil
		}
		any = any || s.RolledUp(minTime, maxTime)
	}
	return any, nil
}
