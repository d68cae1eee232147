// Package convert turns histograms of other layouts into log-linear ones and back.
//
// Where the layouts' bounds differ, a conversion is approximate and says so: the counts of a bucket are shared out over
// what it overlaps, as if its values were spread evenly, over the values (linear buckets) or over their logarithms
// (geometric ones). Totals stay exact, and no value leaves the bucket that it was in: it is put off by the width of a
// bucket of the coarser layout at most. So the error of a quantile is at most one bucket of either layout. What a layout
// cannot tell (values below or above all of its bounds) is put at the bound.
package convert

import (
	"errors"
	"fmt"
	"math"
	"sort"

	"cistern/services/histogram"
)

// Bucket is how many values lie between two bounds, of which at most one may be infinite. Which of the bounds is in it
// makes no difference here.
type Bucket struct {
	From, To float64
	Count    uint64
}

// Shape says how the values within a bucket are taken to be spread.
type Shape uint8

// Linear is evenly; Geometric is evenly by their logarithms, as far as the bucket does not begin at zero.
const (
	Linear Shape = iota
	Geometric
)

// ErrBuckets is what buckets that cannot be are refused with.
var ErrBuckets = errors.New("these are no histogram's buckets")

// ratio is how many values of a bucket lie below x, as a share. 0 <= from < x < to.
func (s Shape) ratio(from, x, to float64) float64 {
	if s == Geometric && from > 0 {
		return math.Log(x/from) / math.Log(to/from)
	}
	return (x - from) / (to - from)
}

// share is n times a ratio, whole, and at most n.
func share(n uint64, ratio float64) uint64 {
	part := math.Round(float64(n) * min(max(ratio, 0), 1))
	if part >= float64(n) {
		return n
	}
	return uint64(part)
}

// FromBuckets is the log-linear histogram of buckets; approximate says whether any of them, with values in it, was shared
// out. Bounds beyond 1e128 are taken as that.
func FromBuckets(buckets []Bucket, shape Shape) (h *histogram.Histogram, approximate bool, err error) {
	var sum histogram.Dense
	for _, b := range buckets {
		if !(b.From <= b.To) || math.IsInf(b.From, 0) && math.IsInf(b.To, 0) {
			return nil, false, fmt.Errorf("%w: one reaches from %g to %g", ErrBuckets, b.From, b.To)
		}
		if b.Count == 0 {
			continue
		}
		if math.IsInf(b.To, 1) {
			b.To, approximate = b.From, true
		} else if math.IsInf(b.From, -1) {
			b.From, approximate = b.To, true
		}
		if b.From < 0 && b.To > 0 {
			below := share(b.Count, -b.From/(b.To-b.From))
			if math.IsInf(b.To-b.From, 0) {
				below = b.Count / 2
			}
			spread(&sum, Bucket{0, -b.From, below}, Linear, -1)
			spread(&sum, Bucket{0, b.To, b.Count - below}, Linear, 1)
			approximate = true
			continue
		}
		sign := 1
		if b.To <= 0 && b.From < 0 {
			b.From, b.To, sign = -b.To, -b.From, -1
		}
		if spread(&sum, b, shape, sign) {
			approximate = true
		}
	}
	return sum.Histogram(), approximate, nil
}

// binAt is the bin of a positive value; of a bound where bins meet it is the upper one, or the lower one when it is the
// end of what is looked at.
func binAt(v float64, end bool) histogram.Bin {
	bin, ok := histogram.BinOf(v)
	if !ok {
		return histogram.MaxBin
	}
	if end && bin > 0 {
		if from, _ := bin.Bounds(); from == v {
			bin--
		}
	}
	return bin
}

// spread adds a bucket with 0 <= From <= To, and says whether it overlaps several bins.
func spread(sum *histogram.Dense, b Bucket, shape Shape, sign int) (several bool) {
	bottom, top := binAt(b.From, false), binAt(b.To, b.To > b.From)
	top = max(top, bottom)
	left := b.Count
	for bin := top; bin > bottom && left > 0; bin-- {
		from, _ := bin.Bounds()
		below := min(left, share(b.Count, shape.ratio(b.From, from, b.To)))
		if left > below {
			sum.Add(histogram.Bin(sign)*bin, left-below)
		}
		left = below
	}
	if left > 0 {
		sum.Add(histogram.Bin(sign)*bottom, left)
	}
	return top > bottom || bottom == histogram.MaxBin && !(b.To <= 1e128)
}

// Between counts the values of h between bounds, which ascend strictly: counts[0] is those up to bounds[0], counts[i]
// those from bounds[i-1] to bounds[i], the last those beyond all. Zero belongs to what ends at zero. approximate says
// whether a bin, with values in it, was shared out.
func Between(h *histogram.Histogram, bounds []float64, shape Shape) (counts []uint64, approximate bool) {
	counts = make([]uint64, len(bounds)+1)
	for i, bin := range h.Bins {
		n := h.Counts[i]
		from, to := bin.Bounds()
		at := sort.Search(len(bounds), func(i int) bool { return bounds[i] > from || bin == 0 && bounds[i] == 0 })
		below := uint64(0)
		for ; at < len(bounds) && bounds[at] < to; at++ {
			ratio := 0.0
			if bin > 0 {
				ratio = shape.ratio(from, bounds[at], to)
			} else {
				ratio = 1 - shape.ratio(-to, -bounds[at], -from)
			}
			upTo := max(below, share(n, ratio))
			counts[at] += upTo - below
			below = upTo
			if n > 0 {
				approximate = true
			}
		}
		counts[at] += n - below
	}
	return counts, approximate
}

// ascending says whether bounds are numbers that ascend strictly.
func ascending(bounds []float64) bool {
	for i, b := range bounds {
		if math.IsNaN(b) || i > 0 && bounds[i-1] >= b {
			return false
		}
	}
	return true
}

// whole turns counts that may be fractions, as sums and rates have them, into whole ones whose sum is the rounded sum.
func whole(counts []float64) ([]uint64, error) {
	rounded := make([]uint64, len(counts))
	sum, last := 0.0, uint64(0)
	for i, n := range counts {
		if !(n >= 0) || n > 1<<63 {
			return nil, fmt.Errorf("%w: one counts %g", ErrBuckets, n)
		}
		if n == math.Trunc(n) && sum == math.Trunc(sum) && n < 1<<53 { // exact, however large the sum
			rounded[i] = uint64(n)
			continue
		}
		if sum += n; sum > 1<<63 {
			return nil, fmt.Errorf("%w: they count more than 2^63", ErrBuckets)
		}
		next := uint64(math.Round(sum))
		rounded[i], last = next-last, next
	}
	return rounded, nil
}

// Classic is what the Prometheus client counts by `le`: Bounds are upper bounds, ascending; Cumulative how many values
// are not greater, with one more entry for +Inf, how many there are at all. (A bound of +Inf may end Bounds instead.)
type Classic struct {
	Bounds     []float64
	Cumulative []uint64
}

// FromClassic shares out classic buckets evenly. The first begins at zero when its bound is positive, as Prometheus takes
// it, otherwise all of it is put at the bound.
func FromClassic(c Classic) (h *histogram.Histogram, approximate bool, err error) {
	bounds := c.Bounds
	if n := len(bounds); n > 0 && math.IsInf(bounds[n-1], 1) {
		bounds = bounds[:n-1]
	}
	if len(c.Cumulative) != len(bounds)+1 || !ascending(bounds) {
		return nil, false, fmt.Errorf("%w: %d ascending bounds need %d counts", ErrBuckets, len(bounds), len(bounds)+1)
	}
	buckets := make([]Bucket, len(c.Cumulative))
	last := uint64(0)
	for i, n := range c.Cumulative {
		if n < last {
			return nil, false, fmt.Errorf("%w: up to the bound %d there are %d, up to the one before %d", ErrBuckets, i, n, last)
		}
		buckets[i] = between(bounds, i, n-last)
		last = n
	}
	return FromBuckets(buckets, Linear)
}

// between is the bucket i of those that upper bounds make.
func between(bounds []float64, i int, n uint64) Bucket {
	b := Bucket{From: math.Inf(-1), To: math.Inf(1), Count: n}
	if i < len(bounds) {
		b.To = bounds[i]
	}
	if i > 0 {
		b.From = bounds[i-1]
	} else if b.To > 0 {
		b.From = 0
	}
	return b
}

// ToClassic counts h's values up to bounds, which ascend strictly.
func ToClassic(h *histogram.Histogram, bounds []float64) (c Classic, approximate bool, err error) {
	if n := len(bounds); n > 0 && math.IsInf(bounds[n-1], 1) {
		bounds = bounds[:n-1]
	}
	if !ascending(bounds) {
		return c, false, fmt.Errorf("%w: the bounds do not ascend", ErrBuckets)
	}
	c.Bounds = bounds
	c.Cumulative, approximate = Between(h, bounds, Linear)
	for i := 1; i < len(c.Cumulative); i++ {
		c.Cumulative[i] += c.Cumulative[i-1]
	}
	return c, approximate, nil
}
