package fast

// rate and increase of native histograms that are running totals, as Prometheus' engine has them: the last one of a window
// less the first, extrapolated to the window's ends. What is anything else, in any window, is for the engine.

import (
	"slices"

	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// nativeRows is the rows of a leaf of which some series hold native histograms.
func (r *run) nativeRows(n *node, s *selected) ([]row, error) {
	if n.function != rate && n.function != increase || len(n.then) > 0 {
		return nil, errUnfit
	}
	for _, one := range s.series {
		if !one.HasNatives() || one.HasNumbers() || one.HasHistograms() {
			return nil, errUnfit
		}
	}
	rows := make([]row, len(s.series))
	err := r.parallel(len(rows), func(i int, _ *scratch) error {
		hists, err := r.grownNatives(n, s.series[i])
		rows[i] = row{labels: s.labels[i], hists: hists}
		return err
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(one row) bool { return one.empty() }), nil
}

func (r *run) grownNatives(n *node, s *tsdb.Series) ([]*promhistogram.FloatHistogram, error) {
	perSecond, seconds := n.function == rate, float64(n.window)/1000
	hists := make([]*promhistogram.FloatHistogram, r.at.n)
	w := window{width: n.window}
	read, plain, err := s.NativeRanges(r.ctx, r.at.start-n.offset, r.at.step, n.window, r.at.n, func(i int, one tsdb.NativeRange) error {
		if one.Last.UsesCustomBuckets() != one.First.UsesCustomBuckets() {
			return errUnfit
		}
		grown := one.Last.CopyToSchema(min(one.Last.Schema, one.First.Schema))
		if _, _, reconciled, err := grown.Sub(one.First); err != nil || reconciled {
			return errUnfit // there are notes of that
		}
		grown.CounterResetHint = promhistogram.GaugeType
		grown.Compact(0)
		end := r.at.at(i) - n.offset
		x := w.extent(spacing{one.LastTime - one.FirstTime, one.FirstTime - (end - n.window), end - one.LastTime, one.Count}, seconds, perSecond)
		factor := x.factor
		if grown.Count > 0 && one.First.Count >= 0 {
			// It was not below nothing before.
			if zero := x.between * (one.First.Count / grown.Count); zero < x.toStart {
				factor = w.factor(x.between, zero, x.toEnd, seconds, perSecond)
			}
		}
		hists[i] = grown.Mul(factor)
		return r.hold(floatHistogramBytes+8*int64(cap(grown.PositiveBuckets)+cap(grown.NegativeBuckets)+cap(grown.PositiveSpans)+cap(grown.NegativeSpans)), "histograms of the results")
	})
	r.read.Add(int64(read))
	if err == nil && !plain {
		err = errUnfit
	}
	return hists, err
}
