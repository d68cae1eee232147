package histogram

// What is asked of a histogram. A bin's values count as its arithmetic middle in moments, and in sums and means where the
// bins are all that is known (offset.go), and as evenly spread over the bin in quantiles and in counts above and below. So
// the sums and means of bins, and the quantiles, are those of circonusllhist, in Go and in C. Its Go library has nothing else; libcircllhist's standard deviation is the same as here,
// its k-th moment is divided by the count to the power of k, not by the count, and its counts above and below leave out
// the bin that the limit is in.

import (
	"math"
	"math/bits"
	"slices"
)

// cellView is the counts of either form: bins names the bins, or they are first, first+1 and so on. Counts of zero are
// as if they were not there.
type cellView struct {
	bins   []Bin
	first  Bin
	counts []uint64
	offset Offset
}

func (c *cellView) bin(i int) Bin {
	if c.bins != nil {
		return c.bins[i]
	}
	return Bin(int(c.first) + i)
}

func (h *Histogram) cells() cellView {
	return cellView{bins: h.Bins, counts: h.Counts, offset: h.Offset}
}

func (c cellView) count() uint64 {
	var total, all uint64
	for _, n := range c.counts {
		total += n
		all |= n
	}
	if bits.Len64(all)+bits.Len(uint(len(c.counts))) <= 64 {
		return total
	}
	total = 0
	for _, n := range c.counts {
		total = plus(total, n)
	}
	return total
}

// total is count as what shares and means are of: also right where count stops.
func (c cellView) total() float64 {
	if n := c.count(); n < math.MaxUint64 {
		return float64(n)
	}
	total := 0.0
	for _, n := range c.counts {
		total += float64(n)
	}
	return total
}

func (c cellView) mean() float64 { return c.sum() / c.total() }

// moment is the mean of the k-th power of the distance from about.
func (c cellView) moment(k int, about float64) float64 {
	total := c.total()
	if total == 0 || k < 0 {
		return math.NaN()
	}
	sum := 0.0
	for i, n := range c.counts {
		if n == 0 {
			continue
		}
		power, base := 1.0, c.bin(i).Middle()-about
		for e := k; e > 0; e >>= 1 {
			if e&1 == 1 {
				power *= base
			}
			base *= base
		}
		sum += power * (float64(n) / total)
	}
	return sum
}

// rawMoment is moment about zero; the first is the mean.
func (c cellView) rawMoment(k int) float64 {
	if k == 1 {
		return c.mean()
	}
	return c.moment(k, 0)
}

// centralMoment is about the mean of the middles: they stand for the values, and the same value many times spreads nowhere.
func (c cellView) centralMoment(k int) float64 {
	if k == 1 && c.count() > 0 {
		return 0
	}
	return c.moment(k, c.middles()/c.total())
}

func (c cellView) stdDev() float64 { return math.Sqrt(c.centralMoment(2)) }

// share is which part of an evenly filled bin is greater than from and not greater than to.
func (b Bin) share(from, to float64) float64 {
	low, high := b.Bounds()
	if low == high { // zero
		if from < low && low <= to {
			return 1
		}
		return 0
	}
	if from <= low && high <= to {
		return 1
	}
	return max(0, (min(to, high)-max(from, low))/(high-low))
}

// place is the bin that v is in, or one beyond all bins.
func place(v float64) int {
	bin, ok := BinOf(v)
	switch {
	case ok:
		return int(bin)
	case v > 0:
		return int(MaxBin) + 1
	}
	return -int(MaxBin) - 1
}

func (c cellView) between(from, to float64) float64 {
	if math.IsNaN(from) || math.IsNaN(to) {
		return math.NaN()
	}
	low, high := place(from), place(to)
	start := 0
	if c.bins != nil {
		start, _ = slices.BinarySearchFunc(c.bins, low, func(bin Bin, low int) int { return int(bin) - low })
	} else {
		start = max(0, low-int(c.first))
	}
	sum := 0.0
	for i := start; i < len(c.counts); i++ {
		bin := int(c.bin(i))
		if bin > high {
			break
		}
		n := float64(c.counts[i])
		// Where there is no count there may be no bin: a Dense has room behind the last.
		if (bin == low || bin == high) && n > 0 {
			n *= Bin(bin).share(from, to)
		}
		sum += n
	}
	return sum
}

func (c cellView) above(limit float64) float64 { return c.between(limit, math.Inf(1)) }

func (c cellView) below(limit float64) float64 { return c.total() - c.above(limit) }

func (c cellView) inverse(limits []float64) []float64 {
	answers := make([]float64, len(limits))
	total := c.total()
	for k, limit := range limits {
		answers[k] = c.between(math.Inf(-1), limit) / total
	}
	return answers
}

func (c cellView) quantiles(qs []float64) []float64 {
	answers := make([]float64, len(qs))
	count := c.count()
	total := float64(count)
	if count == math.MaxUint64 {
		total = c.total()
	}
	last := len(c.counts) - 1
	for last >= 0 && c.counts[last] == 0 {
		last--
	}
	i, below, upTo := -1, 0.0, 0.0
	sum, before := uint64(0), 0.0
	for k, q := range qs {
		if total == 0 || !(q >= 0 && q <= 1) {
			answers[k] = math.NaN()
			continue
		}
		if q < before {
			i, below, upTo, sum = -1, 0, 0, 0
		}
		before = q
		wanted := q * total
		if count < 1<<53 { // the same in whole numbers, which are quicker to add up
			for need := max(1, uint64(math.Ceil(wanted))); sum < need && i < last; {
				i++
				sum += c.counts[i]
			}
			upTo = float64(sum)
			below = float64(sum - c.counts[i])
		}
		for upTo == 0 || upTo < wanted && i < last {
			i++
			below = upTo
			upTo += float64(c.counts[i])
		}
		from, to := c.bin(i).Bounds()
		switch {
		case wanted <= below:
			answers[k] = from
		case wanted >= upTo:
			answers[k] = to
		default:
			answers[k] = from + (to-from)*(wanted-below)/(upTo-below)
		}
	}
	return answers
}

// Count is how many values h holds.
func (h *Histogram) Count() uint64 { return h.cells().count() }

// Sum is the sum of the values as far as it was recorded; others count as the middle of their bin, which is at most 5 % off for
// each.
func (h *Histogram) Sum() float64 { return h.cells().sum() }

// Mean is Sum over Count; NaN for an empty histogram.
func (h *Histogram) Mean() float64 { return h.cells().mean() }

// StdDev is the standard deviation of the values (of all of them, not of a sample), each taken as the middle of its bin;
// NaN for an empty histogram.
func (h *Histogram) StdDev() float64 { return h.cells().stdDev() }

// Moment is the k-th raw moment: Mean, or the mean of the values' k-th powers, each value taken as the middle of its bin. NaN for
// an empty histogram and a negative k.
func (h *Histogram) Moment(k int) float64 { return h.cells().rawMoment(k) }

// CentralMoment is the mean of the k-th powers of the middles' distances from their mean.
func (h *Histogram) CentralMoment(k int) float64 { return h.cells().centralMoment(k) }

// CountAbove is about how many values are greater than limit: exact when limit is a bound of a bin, otherwise the bin
// that holds limit is taken to be evenly filled. CountBelow is the rest.
func (h *Histogram) CountAbove(limit float64) float64 { return h.cells().above(limit) }

// CountBelow is about how many values are not greater than limit; see CountAbove.
func (h *Histogram) CountBelow(limit float64) float64 { return h.cells().below(limit) }

// CountBetween is about how many values are greater than from and not greater than to; see CountAbove.
func (h *Histogram) CountBetween(from, to float64) float64 { return h.cells().between(from, to) }

// CountCut is how many values are in bins that from and to divide: CountBetween of them is off by less than this. It is 0
// where both are bounds of bins.
func (h *Histogram) CountCut(from, to float64) uint64 {
	first, n := h.cut(from)
	second, more := h.cut(to)
	if first == second {
		return max(n, more)
	}
	return n + more
}

// cut is the bin that limit divides, and its count.
func (h *Histogram) cut(limit float64) (Bin, uint64) {
	bin, ok := BinOf(limit)
	if !ok || bin == 0 {
		return 0, 0
	}
	if from, to := bin.Bounds(); limit == from || limit == to {
		return bin, 0
	}
	i, found := slices.BinarySearch(h.Bins, bin)
	if !found {
		return bin, 0
	}
	return bin, h.Counts[i]
}

// InverseQuantiles answers several at once, in any order: the share of the values that are not greater than a limit, 0
// to 1; see CountAbove. NaN for an empty histogram.
func (h *Histogram) InverseQuantiles(limits ...float64) []float64 { return h.cells().inverse(limits) }

// Quantiles answers several at once, each q from 0 to 1, soonest in ascending order: the value below which the share q of
// the values lies, each bin taken to be evenly filled, as OpenHistogram defines it. All are NaN for an empty histogram,
// and for a q outside 0..1.
func (h *Histogram) Quantiles(qs ...float64) []float64 { return h.cells().quantiles(qs) }

// Quantile is Quantiles for one.
func (h *Histogram) Quantile(q float64) float64 { return h.Quantiles(q)[0] }
