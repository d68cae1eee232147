// Package convert turns histograms of other kinds into Cistern's log-linear ones, and back.
//
// Buckets that are laid out differently cannot be converted without a guess about where in them the values are. Such a
// conversion says that it is approximate: some bucket's count was divided among several, or was put at the end of a
// bucket without end. Counts stay exact always: a count is divided by largest remainders, so that each part is less than
// one from its share and the parts' sum is the count. The shares are
//
//   - from log-linear bins: linear, as in their quantiles;
//   - from exponential buckets (Prometheus', OTLP's, DDSketch's, vmrange): by the logarithm;
//   - from classic and custom buckets: linear, as PromQL takes them;
//   - from llquantize: by how many whole numbers there are.
//
// A bucket from or up to zero is taken to begin at a 10,000th of its other bound; a bucket around zero with bounds of
// the same size is zero. What is in a bucket without end is put into the bin next to its bound, except that a first
// bucket that ends above zero is taken to begin at zero. Which end of a bucket belongs to it (the lower of a bin, the
// upper of most others) is left out of account: a value that is exactly on a bound may come to the other side of it.
package convert

import (
	"errors"
	"math"
	"slices"

	"cistern/services/histogram"
)

var (
	// ErrTooMany is for histograms whose counts' sum is beyond what the other kind can hold.
	ErrTooMany = errors.New("the histogram has more values than the other kind can count")
	// ErrNegative is for histograms with negative values where the other kind has none.
	ErrNegative = errors.New("the histogram has negative values, the other kind has no place for them")
)

// smallest is the lower bound of the smallest positive bin, beyond is the upper one of the largest.
const (
	smallest = 1e-128
	beyond   = 1e128
	// nearZero is where a bucket from zero is taken to begin, as a share of its other bound.
	nearZero = 1e-4
)

// Bucket is a bucket of any kind. From may be -Inf, To may be +Inf.
type Bucket struct {
	From, To float64
	Count    uint64
}

// Share is how a bucket is filled.
type Share int

const (
	Linear Share = iota
	Geometric
	wholes // by whole numbers
)

// apportion divides n by weights, by largest remainders, calling give with each part that is not zero.
func apportion(n uint64, weights []float64, give func(i int, part uint64)) {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	parts, rest := make([]uint64, len(weights)), n
	order, remainders := make([]int, len(weights)), make([]float64, len(weights))
	for i, w := range weights {
		ideal := float64(n) * (w / total)
		whole := math.Floor(ideal)
		if whole >= float64(rest) { // also where a float64 is no longer exact
			parts[i] = rest
		} else {
			parts[i] = uint64(whole)
		}
		rest -= parts[i]
		order[i], remainders[i] = i, ideal-whole
	}
	if rest > 0 {
		slices.SortStableFunc(order, func(a, b int) int {
			switch {
			case remainders[a] > remainders[b]:
				return -1
			case remainders[a] < remainders[b]:
				return 1
			}
			return 0
		})
		for _, i := range order {
			if rest == 0 {
				break
			}
			if weights[i] > 0 {
				parts[i]++
				rest--
			}
		}
		parts[order[0]] += rest // only where a float64 is no longer exact
	}
	for i, part := range parts {
		if part > 0 {
			give(i, part)
		}
	}
}

// filler makes a log-linear histogram of buckets.
type filler struct {
	dense       histogram.Dense
	approximate bool
	total       uint64
	overflow    bool
}

func (f *filler) done() (*histogram.Histogram, bool, error) {
	if f.overflow {
		return nil, false, ErrTooMany
	}
	return f.dense.Histogram(), f.approximate, nil
}

// add puts a bucket's count into the bins that it covers.
func (f *filler) add(b Bucket, share Share) {
	n := b.Count
	if n == 0 {
		return
	}
	if f.total += n; f.total < n {
		f.overflow = true
	}
	f.put(b.From, b.To, n, share)
}

func (f *filler) put(from, to float64, n uint64, share Share) {
	if n == 0 {
		return
	}
	switch {
	case math.IsInf(from, -1) && math.IsInf(to, 1), from == -to:
		f.approximate = f.approximate || to > smallest
		f.dense.Add(0, n)
	case math.IsInf(from, -1) && to > 0:
		f.approximate = true
		f.put(0, to, n, Linear)
	case math.IsInf(from, -1):
		f.end(to, -1, n)
	case math.IsInf(to, 1):
		f.end(from, 1, n)
	case from < 0 && to > 0:
		f.approximate = true
		apportion(n, []float64{-from, to}, func(i int, part uint64) {
			if i == 0 {
				f.put(from, 0, part, Linear)
			} else {
				f.put(0, to, part, Linear)
			}
		})
	case to <= 0:
		f.side(-to, -from, n, share, -1)
	default:
		f.side(from, to, n, share, 1)
	}
}

// end puts values beyond a bound into the bin next to it.
func (f *filler) end(bound float64, direction int, n uint64) {
	f.approximate = true
	bin := binOf(math.Abs(bound))
	if (bound < 0) == (direction > 0) && bin > 0 {
		// Towards zero: the bin before the bound's.
		if from, _ := bin.Bounds(); from == math.Abs(bound) {
			bin--
		}
	}
	if bound < 0 || bound == 0 && direction < 0 {
		bin = -bin
	}
	f.dense.Add(bin, n)
}

// binOf is the bin of a value that is not negative, the last one for what is too large.
func binOf(v float64) histogram.Bin {
	bin, ok := histogram.BinOf(v)
	if !ok {
		return histogram.MaxBin
	}
	return bin
}

// side is put for bounds that are not negative; sign says on which side of zero they are.
func (f *filler) side(from, to float64, n uint64, share Share, sign histogram.Bin) {
	if to <= smallest {
		f.dense.Add(0, n)
		return
	}
	if from == 0 {
		from, share, f.approximate = to*nearZero, Linear, true
	}
	if from < smallest || to > beyond {
		f.approximate = true
		from, to = min(max(from, smallest), beyond), min(max(to, smallest), beyond)
	}
	first, last := binOf(from), binOf(to)
	if low, _ := last.Bounds(); low == to && last > first {
		last--
	}
	if first == last {
		f.dense.Add(sign*first, n)
		return
	}
	weights := make([]float64, last-first+1)
	several := 0
	for i := range weights {
		low, high := (first + histogram.Bin(i)).Bounds()
		low, high = max(low, from), min(high, to)
		switch share {
		case Geometric:
			weights[i] = math.Log(high / low)
		case wholes:
			weights[i] = math.Ceil(high) - math.Ceil(low)
		default:
			weights[i] = high - low
		}
		if weights[i] > 0 {
			several++
		}
	}
	f.approximate = f.approximate || several > 1
	apportion(n, weights, func(i int, part uint64) { f.dense.Add(sign*(first+histogram.Bin(i)), part) })
}

// FromBuckets makes a histogram of buckets of any kind, which may overlap.
func FromBuckets(buckets []Bucket, share Share) (h *histogram.Histogram, approximate bool, err error) {
	var f filler
	for _, b := range buckets {
		if !(b.From < b.To) {
			return nil, false, errors.New("a bucket's lower bound must be below its upper one")
		}
		f.add(b, share)
	}
	return f.done()
}

// Bounds are the bounds of the bins that h has, ascending: the layout of classic or custom buckets that hold h exactly.
// Zero's bucket is from -1e-128 to 0.
func Bounds(h *histogram.Histogram) []float64 {
	var list []float64
	add := func(bound float64) {
		if n := len(list); n == 0 || list[n-1] < bound {
			list = append(list, bound)
		}
	}
	for i, bin := range h.Bins {
		if h.Counts[i] == 0 {
			continue
		}
		from, to := bin.Bounds()
		if bin == 0 {
			from = -smallest
		}
		add(from)
		add(to)
	}
	return list
}

// ToBuckets counts h's values in buckets that end at the bounds, which must ascend, and in one more behind the last.
func ToBuckets(h *histogram.Histogram, bounds []float64) (counts []uint64, approximate bool, err error) {
	for i, bound := range bounds {
		if math.IsNaN(bound) || i > 0 && bound <= bounds[i-1] {
			return nil, false, errors.New("bounds must ascend")
		}
	}
	if _, err := total(h, math.MaxUint64); err != nil {
		return nil, false, err
	}
	counts = make([]uint64, len(bounds)+1)
	for i, bin := range h.Bins {
		n := h.Counts[i]
		from, to := bin.Bounds()
		last, _ := slices.BinarySearch(bounds, to) // the first bound that is not below to
		first := last
		for first > 0 && bounds[first-1] > from {
			first--
		}
		if first == last || n == 0 {
			counts[first] += n
			continue
		}
		approximate = true
		weights := make([]float64, last-first+1)
		for k := range weights {
			low, high := from, to
			if k > 0 {
				low = bounds[first+k-1]
			}
			if first+k < last {
				high = bounds[first+k]
			}
			weights[k] = high - low
		}
		apportion(n, weights, func(k int, part uint64) { counts[first+k] += part })
	}
	return counts, approximate, nil
}

// total is the sum of h's counts, if it is not greater than most.
func total(h *histogram.Histogram, most uint64) (uint64, error) {
	sum := uint64(0)
	for _, n := range h.Counts {
		if sum += n; sum < n || sum > most {
			return 0, ErrTooMany
		}
	}
	return sum, nil
}

// grid is a layout of buckets of positive values without gaps: bucket i is from edge(i) to edge(i+1).
type grid struct {
	at   func(v float64) int // the bucket of v, or a neighbour of it
	edge func(i int) float64
}

func (g grid) find(v float64) int {
	i := g.at(v)
	for g.edge(i) > v {
		i--
	}
	for g.edge(i+1) <= v {
		i++
	}
	return i
}

// sides counts h's values in a grid, by their sign.
func (g grid) sides(h *histogram.Histogram) (positive, negative map[int]uint64, zero uint64, approximate bool) {
	positive, negative = map[int]uint64{}, map[int]uint64{}
	for i, bin := range h.Bins {
		n, into := h.Counts[i], positive
		switch {
		case n == 0:
			continue
		case bin == 0:
			zero += n
			continue
		case bin < 0:
			bin, into = -bin, negative
		}
		from, to := bin.Bounds()
		first, last := g.span(from, to)
		if first == last {
			into[first] += n
			continue
		}
		approximate = true
		weights := make([]float64, last-first+1)
		for k := range weights {
			weights[k] = min(to, g.edge(first+k+1)) - max(from, g.edge(first+k))
		}
		apportion(n, weights, func(k int, part uint64) { into[first+k] += part })
	}
	return positive, negative, zero, approximate
}

// span is the buckets that what lies between from and to covers.
func (g grid) span(from, to float64) (first, last int) {
	first, last = g.find(from), g.find(to)
	if last > first && g.edge(last) >= to {
		last--
	}
	return first, last
}

// sorted is the keys of a map in their order.
func sorted(counts map[int]uint64) []int {
	keys := make([]int, 0, len(counts))
	for i := range counts {
		keys = append(keys, i)
	}
	slices.Sort(keys)
	return keys
}
