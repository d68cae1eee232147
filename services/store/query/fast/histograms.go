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
	return w.run.hold(2 + len(one.PositiveBuckets) + len(one.PositiveSpans)) // a sample is 16 bytes
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
		if err := w.run.ctx.Err(); err != nil {
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
func (r *run) sumHistograms(n *node, s *selected) ([]row, error) {
	_, members := n.groups(s.labels)
	rows := make([]row, len(members))
	first := make([]int, len(members))
	err := r.parallel(len(members), func(g int, _ *scratch) error {
		list := make([]*tsdb.Series, len(members[g]))
		for i, k := range members[g] {
			list[i] = s.series[k]
		}
		hists, err := r.windows(n.inner, list)
		if err != nil || hists == nil {
			return err
		}
		first[g] = members[g][0]
		rows[g] = row{labels: n.groupLabels(s.labels[first[g]]), hists: hists}
		return nil
	})
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
