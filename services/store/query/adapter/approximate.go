package adapter

// From native histograms to Cistern's bins. A bucket is spread over the bins that it covers, as its schema spaces
// buckets: evenly on the logarithm for exponential ones, evenly for custom ones. So the result is approximate, and
// answers that hold it say so.

import (
	"context"
	"math"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// maxSpread is over how many bins a bucket is spread; a wider one is taken to be in its middle.
const maxSpread = 2000

// Approximate adds a native histogram's counts to into's.
func Approximate(into *histogram.Histogram, h *promhistogram.FloatHistogram) {
	custom := promhistogram.IsCustomBucketsSchema(h.Schema)
	for it := h.AllBucketIterator(); it.Next(); {
		b := it.At()
		if !(b.Count > 0) || math.IsInf(b.Count, 0) {
			continue
		}
		spread(into, b.Lower, b.Upper, b.Count, custom)
	}
}

func spread(into *histogram.Histogram, from, to, count float64, even bool) {
	whole := uint64(math.Round(min(count, 1e18)))
	switch {
	case whole == 0:
		return
	case math.IsInf(from, -1) && math.IsInf(to, 1):
		into.Add(0, whole)
		return
	case math.IsInf(from, -1):
		from = to
	case math.IsInf(to, 1):
		to = from
	}
	if from <= 0 && to >= 0 && (from != 0 || to != 0) {
		// Across zero, or up to it: what is nearer to it than a bin of the other end is zero.
		if !even || from == -to {
			into.Add(0, whole)
			return
		}
		if from < 0 && to > 0 {
			below := math.Round(float64(whole) * -from / (to - from))
			spread(into, from, 0, below, even)
			spread(into, 0, to, float64(whole)-below, even)
			return
		}
		if from == 0 {
			from = to / 1000
		} else {
			to = from / 1000
		}
	}
	first, last := nearest(from), nearest(to)
	if last > first { // the upper end is often the lower bound of a bin that is not covered
		if bound, _ := last.Bounds(); bound >= to {
			last--
		}
	}
	if last <= first || last-first > maxSpread {
		middle := (from + to) / 2
		if !even && from*to > 0 {
			middle = math.Copysign(math.Sqrt(from*to), from)
		}
		into.Add(nearest(middle), whole)
		return
	}
	share := func(x float64) float64 {
		if even {
			return (x - from) / (to - from)
		}
		return (math.Log(math.Abs(x)) - math.Log(math.Abs(from))) / (math.Log(math.Abs(to)) - math.Log(math.Abs(from)))
	}
	given := uint64(0)
	for bin := first; bin <= last; bin++ {
		_, upper := bin.Bounds()
		upTo := whole
		if bin < last {
			upTo = uint64(math.Round(float64(whole) * min(1, max(0, share(min(upper, to))))))
		}
		if upTo > given {
			into.Add(bin, upTo-given)
			given = upTo
		}
	}
}

// nearest is the bin that holds v: what is too large for all of them is in the last.
func nearest(v float64) histogram.Bin {
	bin, ok := histogram.BinOf(v)
	switch {
	case ok:
		return bin
	case v > 0:
		return histogram.MaxBin
	}
	return -histogram.MaxBin
}

// NativeWindows adds what a series of native histograms measured in [from+i*width, from+(i+1)*width) to into[i], in
// Cistern's bins: gauge histograms as they are, running totals by their growth. A running total's value before the first
// window is sought for as long as back says, in ms.
func NativeWindows(ctx context.Context, s *tsdb.Series, from, width, back int64, into []*histogram.Dense) (read int, err error) {
	return s.NativeWindows(ctx, from, width, back, len(into), func(i int, grown *promhistogram.FloatHistogram) {
		var one histogram.Histogram
		Approximate(&one, grown)
		if into[i] == nil {
			into[i] = &histogram.Dense{}
		}
		into[i].Merge(&one)
	})
}
