package convert

// Layouts whose bounds are powers of a base: OpenTelemetry's exponential histograms, Prometheus' native ones, DDSketch.

import (
	"fmt"
	"math"
	"slices"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Exponential is OpenTelemetry's exponential histogram: bucket i of Positive holds what is greater than base^(Offset+i)
// and at most base^(Offset+i+1), where base is 2^(2^-Scale); Negative holds the same of the values' magnitudes.
type Exponential struct {
	Scale              int32
	ZeroCount          uint64
	ZeroThreshold      float64 // magnitudes up to this are counted as zero
	Positive, Negative ExponentialBuckets
}

// ExponentialBuckets is consecutive buckets.
type ExponentialBuckets struct {
	Offset int32
	Counts []uint64
}

// Scales that OpenTelemetry's data model has.
const minScale, maxScale = -10, 20

// power is 2^(index/2^scale), which may be infinite.
func power(index int64, scale int32) float64 {
	return math.Exp2(math.Ldexp(float64(index), int(-scale)))
}

// FromExponential converts an exponential histogram; what it counts as zero is put into the zero bin.
func FromExponential(e *Exponential) (h *histogram.Histogram, approximate bool, err error) {
	if e.Scale < minScale || e.Scale > maxScale {
		return nil, false, fmt.Errorf("%w: a scale of %d, not from %d to %d", ErrBuckets, e.Scale, minScale, maxScale)
	}
	buckets := []Bucket{{0, 0, e.ZeroCount}}
	for i, n := range e.Positive.Counts {
		if n > 0 {
			at := int64(e.Positive.Offset) + int64(i)
			buckets = append(buckets, finite(power(at, e.Scale), power(at+1, e.Scale), n))
		}
	}
	for i, n := range e.Negative.Counts {
		if n > 0 {
			at := int64(e.Negative.Offset) + int64(i)
			b := finite(power(at, e.Scale), power(at+1, e.Scale), n)
			buckets = append(buckets, Bucket{-b.To, -b.From, n})
		}
	}
	h, approximate, err = FromBuckets(buckets, Geometric)
	return h, approximate || e.ZeroCount > 0 && e.ZeroThreshold >= 1e-128, err
}

// finite keeps bounds within what doubles can name.
func finite(from, to float64, n uint64) Bucket {
	return Bucket{min(from, math.MaxFloat64), min(to, math.MaxFloat64), n}
}

// ToExponential converts to a scale; at most maxBuckets buckets of each sign are made, the scale being lowered until they
// suffice.
func ToExponential(h *histogram.Histogram, scale int32, maxBuckets int) (e *Exponential, approximate bool, err error) {
	if scale < minScale || scale > maxScale || maxBuckets < 2 {
		return nil, false, fmt.Errorf("%w: a scale of %d, not from %d to %d, or fewer than two buckets", ErrBuckets, scale, minScale, maxScale)
	}
	negative, positive := sides(h)
	e = &Exponential{}
	for ; ; scale-- {
		e.Scale = scale
		need := max(width(positive, scale), width(negative, scale))
		if need <= int64(maxBuckets) || scale == minScale {
			break
		}
	}
	for i, bin := range h.Bins {
		if bin == 0 {
			e.ZeroCount = h.Counts[i]
		}
	}
	var a, b bool
	e.Positive, a = exponentialSide(positive, e.Scale)
	e.Negative, b = exponentialSide(negative, e.Scale)
	return e, a || b, nil
}

// sides are the negative bins, mirrored, and the positive ones.
func sides(h *histogram.Histogram) (negative, positive *histogram.Histogram) {
	negative, positive = &histogram.Histogram{}, &histogram.Histogram{}
	for i, bin := range h.Bins {
		if bin > 0 {
			positive.Add(bin, h.Counts[i])
		}
	}
	for i, bin := range slices.Backward(h.Bins) {
		if bin < 0 {
			negative.Add(-bin, h.Counts[i])
		}
	}
	return negative, positive
}

// reach is the first and the last bucket that positive bins lie in.
func reach(h *histogram.Histogram, scale int32) (first, last int64) {
	from, _ := h.Bins[0].Bounds()
	_, to := h.Bins[len(h.Bins)-1].Bounds()
	first = int64(math.Floor(math.Ldexp(math.Log2(from), int(scale))))
	last = int64(math.Ceil(math.Ldexp(math.Log2(to), int(scale)))) - 1
	return first, max(first, last)
}

func width(h *histogram.Histogram, scale int32) int64 {
	if len(h.Bins) == 0 {
		return 0
	}
	first, last := reach(h, scale)
	return last - first + 1
}

func exponentialSide(h *histogram.Histogram, scale int32) (b ExponentialBuckets, approximate bool) {
	if len(h.Bins) == 0 {
		return b, false
	}
	first, last := reach(h, scale)
	bounds := make([]float64, 0, last-first)
	for i := first + 1; i <= last; i++ {
		bounds = append(bounds, power(i, scale))
	}
	b.Offset = int32(first)
	b.Counts, approximate = Between(h, bounds, Geometric)
	return b, approximate
}

// FromNative converts a native histogram of Prometheus, exponential or with custom buckets. Fractions of counts are
// rounded so that the total is the rounded one. What it counts as zero is put into the zero bin.
func FromNative(n *promhistogram.FloatHistogram) (h *histogram.Histogram, approximate bool, err error) {
	if err := n.Validate(); err != nil {
		return nil, false, fmt.Errorf("%w: %w", ErrBuckets, err)
	}
	var buckets []Bucket
	var counts []float64
	shape := Geometric
	if n.UsesCustomBuckets() {
		shape = Linear
	}
	for it := n.AllBucketIterator(); it.Next(); {
		at := it.At()
		b := Bucket{From: at.Lower, To: at.Upper}
		switch {
		case at.Lower < 0 && at.Upper > 0 && !n.UsesCustomBuckets(): // the zero bucket
			b.From, b.To = 0, 0
			approximate = approximate || at.Count > 0 && n.ZeroThreshold >= 1e-128
		case math.IsInf(at.Lower, -1) && at.Upper > 0 && n.UsesCustomBuckets():
			b.From = 0
		case math.IsInf(at.Lower, -1) && math.IsInf(at.Upper, 1):
			b.From, b.To = 0, 0 // no bounds at all
			approximate = true
		}
		buckets, counts = append(buckets, b), append(counts, at.Count)
	}
	rounded, err := whole(counts)
	if err != nil {
		return nil, false, err
	}
	for i, c := range counts {
		buckets[i].Count = rounded[i]
		approximate = approximate || c != float64(rounded[i])
	}
	h, shared, err := FromBuckets(buckets, shape)
	return h, approximate || shared, err
}

// ToNative converts to Prometheus' exponential layout of a schema, -4 to 8: 2^schema buckets for each power of two. Its
// sum is that of the bins' middles.
func ToNative(h *histogram.Histogram, schema int32) (n *promhistogram.Histogram, approximate bool, err error) {
	if !promhistogram.IsExponentialSchema(schema) {
		return nil, false, fmt.Errorf("%w: the schema %d, not from -4 to 8", ErrBuckets, schema)
	}
	n = &promhistogram.Histogram{Schema: schema, Count: h.Count(), Sum: h.Sum(), ZeroThreshold: 1e-128}
	for i, bin := range h.Bins {
		if bin == 0 {
			n.ZeroCount = h.Counts[i]
		}
	}
	negative, positive := sides(h)
	var a, b bool
	n.PositiveSpans, n.PositiveBuckets, a = nativeSide(positive, schema)
	n.NegativeSpans, n.NegativeBuckets, b = nativeSide(negative, schema)
	return n, a || b, nil
}

func nativeSide(h *histogram.Histogram, schema int32) (spans []promhistogram.Span, deltas []int64, approximate bool) {
	b, approximate := exponentialSide(h, schema)
	spans, deltas = compact(b.Offset+1, b.Counts) // Prometheus counts from the upper bound
	return spans, deltas, approximate
}

// compact leaves out what is empty: spans and differences of the counts.
func compact(offset int32, counts []uint64) (spans []promhistogram.Span, deltas []int64) {
	next, last := int32(0), int64(0)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		if at := offset + int32(i); len(spans) == 0 || at != next {
			spans = append(spans, promhistogram.Span{Offset: at - next})
			next = at
		}
		spans[len(spans)-1].Length++
		deltas = append(deltas, int64(n)-last)
		last = int64(n)
		next++
	}
	return spans, deltas
}

// ToCustom converts to a native histogram of Prometheus with custom buckets; bounds are as in Classic.
func ToCustom(h *histogram.Histogram, bounds []float64) (n *promhistogram.Histogram, approximate bool, err error) {
	if k := len(bounds); k > 0 && math.IsInf(bounds[k-1], 1) {
		bounds = bounds[:k-1]
	}
	if !ascending(bounds) {
		return nil, false, fmt.Errorf("%w: the bounds do not ascend", ErrBuckets)
	}
	counts, approximate := Between(h, bounds, Linear)
	n = &promhistogram.Histogram{Schema: promhistogram.CustomBucketsSchema, Count: h.Count(), Sum: h.Sum(), CustomValues: bounds}
	n.PositiveSpans, n.PositiveBuckets = compact(0, counts)
	return n, approximate, nil
}

// DDSketch is the content of a DataDog sketch with a logarithmic mapping: bucket i of Positive holds what is at least
// Gamma^(i-Offset) and less than Gamma^(i+1-Offset), Negative the same of the magnitudes. Gamma is (1+a)/(1-a) for the
// relative accuracy a.
type DDSketch struct {
	Gamma, Offset      float64
	Zero               float64
	Positive, Negative map[int]float64
}

// FromDDSketch converts a sketch. Fractions of counts are rounded so that the total is the rounded one.
func FromDDSketch(s *DDSketch) (h *histogram.Histogram, approximate bool, err error) {
	if !(s.Gamma > 1) || math.IsInf(s.Gamma, 1) || math.IsNaN(s.Offset) || math.IsInf(s.Offset, 0) {
		return nil, false, fmt.Errorf("%w: a sketch of gamma %g and offset %g", ErrBuckets, s.Gamma, s.Offset)
	}
	buckets, counts := []Bucket{{}}, []float64{s.Zero}
	for sign, side := range map[float64]map[int]float64{1: s.Positive, -1: s.Negative} {
		indexes := make([]int, 0, len(side))
		for i := range side {
			indexes = append(indexes, i)
		}
		slices.Sort(indexes)
		for _, i := range indexes {
			b := finite(math.Pow(s.Gamma, float64(i)-s.Offset), math.Pow(s.Gamma, float64(i)+1-s.Offset), 0)
			if sign < 0 {
				b.From, b.To = -b.To, -b.From
			}
			buckets, counts = append(buckets, b), append(counts, side[i])
		}
	}
	rounded, err := whole(counts)
	if err != nil {
		return nil, false, err
	}
	for i, c := range counts {
		buckets[i].Count = rounded[i]
		approximate = approximate || c != float64(rounded[i])
	}
	h, shared, err := FromBuckets(buckets, Geometric)
	return h, approximate || shared, err
}

// ToDDSketch converts to a sketch of a relative accuracy between 0 and 1, with an offset of 0.
func ToDDSketch(h *histogram.Histogram, accuracy float64) (s *DDSketch, approximate bool, err error) {
	if !(accuracy >= 1e-4 && accuracy < 1) {
		return nil, false, fmt.Errorf("%w: a relative accuracy of %g, not from 0.0001 to 1", ErrBuckets, accuracy)
	}
	s = &DDSketch{Gamma: (1 + accuracy) / (1 - accuracy), Positive: map[int]float64{}, Negative: map[int]float64{}}
	negative, positive := sides(h)
	for side, into := range map[*histogram.Histogram]map[int]float64{negative: s.Negative, positive: s.Positive} {
		for i, bin := range side.Bins { // each bin alone: the range of all may be long
			from, to := bin.Bounds()
			first := int(math.Floor(math.Log(from) / math.Log(s.Gamma)))
			var bounds []float64
			for k := first + 1; ; k++ {
				bound := math.Pow(s.Gamma, float64(k))
				if bound >= to {
					break
				}
				bounds = append(bounds, bound)
			}
			one := &histogram.Histogram{Bins: side.Bins[i : i+1], Counts: side.Counts[i : i+1]}
			counts, shared := Between(one, bounds, Geometric)
			approximate = approximate || shared
			for k, n := range counts {
				if n > 0 {
					into[first+k] += float64(n)
				}
			}
		}
	}
	for i, bin := range h.Bins {
		if bin == 0 {
			s.Zero = float64(h.Counts[i])
		}
	}
	return s, approximate, nil
}
