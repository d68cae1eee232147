package adapter

// From Cistern's histograms to those that the PromQL engine knows: native histograms with custom bounds, where every
// bin keeps its own bucket. Nothing is re-binned.

import (
	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

var usualFirst, usualLast = histogram.UsualBins()

// SharedBytes is how much of a histogram's size, as the engine counts it, are the bounds that it has in common with all others.
func SharedBytes() int64 { return 8 * int64(len(histogram.UsualBounds())) }

// usual says whether all bins are among the usual ones.
func usual(h *histogram.Histogram) bool {
	n := len(h.Bins)
	if n == 0 {
		return true
	}
	first := h.Bins[0]
	if first == 0 {
		if n == 1 {
			return true
		}
		first = h.Bins[1]
	}
	return first >= usualFirst && h.Bins[n-1] <= usualLast
}

// Fill makes to the native form of h. Its memory is reused; the bounds are shared and must not be changed.
func Fill(to *promhistogram.FloatHistogram, h *histogram.Histogram, hint promhistogram.CounterResetHint) {
	list := histogram.UsualBounds()
	offset := int(usualFirst) - 2 // bin usualFirst has slot 2, behind zero and the gap
	zero := 0
	if !usual(h) {
		list = histogram.AllBounds()
		zero = int(histogram.MaxBin)
		offset = -int(histogram.MaxBin) - 1
	}
	to.CounterResetHint, to.Schema, to.CustomValues = hint, promhistogram.CustomBucketsSchema, list
	to.ZeroThreshold, to.ZeroCount, to.NegativeSpans, to.NegativeBuckets = 0, 0, nil, nil
	to.PositiveSpans, to.PositiveBuckets = to.PositiveSpans[:0], to.PositiveBuckets[:0]
	to.Count, to.Sum = 0, 0
	next := 0 // the slot behind the last one
	for i, bin := range h.Bins {
		var at int
		switch {
		case bin > 0:
			at = int(bin) - offset
		case bin == 0:
			at = zero
		default:
			at = int(bin) + int(histogram.MaxBin)
		}
		n := float64(h.Counts[i])
		if last := len(to.PositiveSpans) - 1; last >= 0 && at == next {
			to.PositiveSpans[last].Length++
		} else {
			to.PositiveSpans = append(to.PositiveSpans, promhistogram.Span{Offset: int32(at - next), Length: 1})
		}
		to.PositiveBuckets = append(to.PositiveBuckets, n)
		to.Count += n
		to.Sum += bin.Middle() * n
		next = at + 1
	}
	if h.Offset != (histogram.Offset{}) {
		to.Sum = h.Sum()
	}
}
