package histogram

// The bins as the bounds of Prometheus' native histograms with custom bounds: a bucket for each bin, so that nothing is
// re-binned.

import "sync"

// All histograms have the same bounds, because Prometheus' engine reduces two with different bounds to those that both have,
// which would lose what they do not share. The usual ones go from 0 over 1e-9 to 1e12 (a nanosecond to 31,000 years; a
// byte to a terabyte); a histogram with anything outside uses all bounds there are. Buckets are stored sparsely, so
// unused bounds cost nothing but the comparison of two shared slices.
var (
	usualBounds = sync.OnceValue(func() []float64 {
		first, last := UsualBins()
		return bounds(first, last, false)
	})
	allBounds = sync.OnceValue(func() []float64 { return bounds(1, MaxBin, true) })
)

// UsualBins are the first and the last bin of UsualBounds that hold numbers above 0.
func UsualBins() (first, last Bin) {
	first, _ = BinOf(1e-9)
	last, _ = BinOf(9.9e11)
	return first, last
}

// UsualBounds are the upper bounds of zero, what lies between zero and the first usual bin, and the usual bins. The slice is
// always the same one, and must not be changed.
func UsualBounds() []float64 { return usualBounds() }

// AllBounds are those of all bins, negative ones first. The slice is always the same one, and must not be changed.
func AllBounds() []float64 { return allBounds() }

// bounds is the upper bounds of: the negative bins (if wanted), zero, what lies between zero and first, first … last.
// Negative bins keep their own order; the bucket before first stays empty when first is the smallest bin of all.
func bounds(first, last Bin, negative bool) []float64 {
	var list []float64
	if negative {
		for bin := -last; bin <= -first; bin++ {
			_, to := bin.Bounds()
			list = append(list, to)
		}
	}
	list = append(list, 0)
	for bin := first; bin <= last; bin++ {
		from, to := bin.Bounds()
		if bin == first {
			list = append(list, from)
		}
		list = append(list, to)
	}
	return list
}
