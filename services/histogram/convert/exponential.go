package convert

// Buckets whose bounds grow by a factor: Prometheus' native histograms, OTLP's exponential ones, DDSketch.

import (
	"errors"
	"fmt"
	"math"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// powerOfTwo is 2^(i × 2^-scale): the i-th bound of a scale.
func powerOfTwo(i int, scale int32) float64 {
	if scale <= 0 {
		return math.Ldexp(1, min(max(i<<-scale, -5000), 5000))
	}
	whole, part := i>>scale, i&(1<<scale-1)
	return math.Ldexp(math.Exp2(math.Ldexp(float64(part), -int(scale))), whole)
}

func powersOfTwo(scale int32) grid {
	return grid{
		at:   func(v float64) int { return int(math.Floor(math.Ldexp(math.Log2(v), int(scale)))) },
		edge: func(i int) float64 { return powerOfTwo(i, scale) },
	}
}

// FromPrometheus makes a log-linear histogram of a native one with exponential or custom buckets. Values that were NaN, which
// only its count has, are left out, and the result is approximate then.
func FromPrometheus(native *promhistogram.Histogram) (h *histogram.Histogram, approximate bool, err error) {
	if err := native.Validate(); err != nil {
		return nil, false, err
	}
	var f filler
	share := Geometric
	if native.UsesCustomBuckets() {
		share = Linear
	}
	for it := native.PositiveBucketIterator(); it.Next(); {
		b := it.At()
		f.add(Bucket{b.Lower, b.Upper, b.Count}, share)
	}
	if !native.UsesCustomBuckets() {
		for it := native.NegativeBucketIterator(); it.Next(); {
			b := it.At()
			f.add(Bucket{b.Lower, b.Upper, b.Count}, share)
		}
		f.add(Bucket{-native.ZeroThreshold, native.ZeroThreshold, native.ZeroCount}, share)
	}
	f.approximate = f.approximate || f.total < native.Count // the rest was NaN
	return f.done()
}

// FromPrometheusFloat is FromPrometheus for counts that need not be whole: their sum is rounded and divided by largest
// remainders, and the result approximate, when they are not.
func FromPrometheusFloat(native *promhistogram.FloatHistogram) (h *histogram.Histogram, approximate bool, err error) {
	if err := native.Validate(); err != nil {
		return nil, false, err
	}
	share := Geometric
	if native.UsesCustomBuckets() {
		share = Linear
	}
	var buckets []Bucket
	var counts []float64
	sum, whole := 0.0, true
	for it := native.AllBucketIterator(); it.Next(); {
		b := it.At()
		if !(b.Count >= 0 && b.Count < 1<<63) {
			return nil, false, errors.New("a bucket's count must be a number from 0 on, below 2^63")
		}
		buckets, counts = append(buckets, Bucket{From: b.Lower, To: b.Upper}), append(counts, b.Count)
		sum += b.Count
		whole = whole && b.Count == math.Trunc(b.Count)
	}
	if sum >= 1<<63 {
		return nil, false, ErrTooMany
	}
	if whole {
		for i, n := range counts {
			buckets[i].Count = uint64(n)
		}
	} else {
		apportion(uint64(math.Round(sum)), counts, func(i int, part uint64) { buckets[i].Count = part })
	}
	var f filler
	f.approximate = !whole || math.IsNaN(native.Sum) && sum < native.Count // the rest was NaN
	for _, b := range buckets {
		f.add(b, share)
	}
	return f.done()
}

// ToPrometheus makes a native histogram with exponential buckets of a schema from -4 to 8; 5 has about as many buckets
// as there are bins. What is in the zero bin is in the zero bucket.
func ToPrometheus(h *histogram.Histogram, schema int32) (native *promhistogram.Histogram, approximate bool, err error) {
	if !promhistogram.IsExponentialSchema(schema) {
		return nil, false, promhistogram.InvalidSchemaError(schema)
	}
	n, err := total(h, math.MaxInt64)
	if err != nil {
		return nil, false, err
	}
	positive, negative, zero, approximate := powersOfTwo(schema).sides(h)
	native = &promhistogram.Histogram{Schema: schema, Count: n, Sum: h.Sum(), ZeroCount: zero, ZeroThreshold: smallest}
	// Prometheus numbers its buckets by their upper bound.
	native.PositiveSpans, native.PositiveBuckets = spans(positive, 1)
	native.NegativeSpans, native.NegativeBuckets = spans(negative, 1)
	return native, approximate, native.Validate()
}

// spans lays counts out as Prometheus does: stretches without gaps, each count less the one before it.
func spans(counts map[int]uint64, shift int) (list []promhistogram.Span, deltas []int64) {
	next, last := 0, int64(0)
	for _, i := range sorted(counts) {
		at := i + shift
		if len(list) > 0 && at == next {
			list[len(list)-1].Length++
		} else {
			list = append(list, promhistogram.Span{Offset: int32(at - next), Length: 1})
		}
		deltas = append(deltas, int64(counts[i])-last)
		next, last = at+1, int64(counts[i])
	}
	return list, deltas
}

// ToPrometheusCustom makes a native histogram with custom buckets that end at the bounds; without any, at those of the
// bins that h has, which is exact. The bounds are kept, not copied.
func ToPrometheusCustom(h *histogram.Histogram, bounds []float64) (native *promhistogram.Histogram, approximate bool, err error) {
	if bounds == nil {
		bounds = Bounds(h)
	}
	n, err := total(h, math.MaxInt64)
	if err != nil {
		return nil, false, err
	}
	counts, approximate, err := ToBuckets(h, bounds)
	if err != nil {
		return nil, false, err
	}
	used := map[int]uint64{}
	for i, n := range counts {
		if n > 0 {
			used[i] = n
		}
	}
	native = &promhistogram.Histogram{Schema: promhistogram.CustomBucketsSchema, Count: n, Sum: h.Sum(), CustomValues: bounds}
	native.PositiveSpans, native.PositiveBuckets = spans(used, 0)
	return native, approximate, native.Validate()
}

// OTLP is the data point of an OTLP exponential histogram: bucket i of a side is from 2^(i × 2^-Scale), i counted from
// the side's offset, to the next one's; the negative side mirrors it.
type OTLP struct {
	Scale              int32
	ZeroThreshold      float64
	ZeroCount          uint64
	Positive, Negative OTLPBuckets
	Sum                float64
}

// OTLPBuckets is one side.
type OTLPBuckets struct {
	Offset int32
	Counts []uint64
}

const (
	minScale, maxScale = -10, 20
	// finestScale is as fine as ToOTLP goes: its buckets are half as wide as the narrowest bin.
	finestScale = 7
	// usualOTLPBuckets is how many buckets a side has by OpenTelemetry's default.
	usualOTLPBuckets = 160
)

// FromOTLP makes a log-linear histogram of an OTLP one.
func FromOTLP(point *OTLP) (h *histogram.Histogram, approximate bool, err error) {
	if point.Scale < minScale || point.Scale > maxScale {
		return nil, false, fmt.Errorf("the scale %d is not from %d to %d", point.Scale, minScale, maxScale)
	}
	if !(point.ZeroThreshold >= 0) || math.IsInf(point.ZeroThreshold, 0) {
		return nil, false, errors.New("the zero threshold must be a number from 0 on")
	}
	var f filler
	for i, n := range point.Positive.Counts {
		if n > 0 {
			at := int(point.Positive.Offset) + i
			f.add(Bucket{powerOfTwo(at, point.Scale), powerOfTwo(at+1, point.Scale), n}, Geometric)
		}
	}
	for i, n := range point.Negative.Counts {
		if n > 0 {
			at := int(point.Negative.Offset) + i
			f.add(Bucket{-powerOfTwo(at+1, point.Scale), -powerOfTwo(at, point.Scale), n}, Geometric)
		}
	}
	f.add(Bucket{-point.ZeroThreshold, point.ZeroThreshold, point.ZeroCount}, Geometric)
	return f.done()
}

// ToOTLP makes an OTLP histogram of the finest scale, up to 7, with which neither side has more than most buckets; 0 is
// 160.
func ToOTLP(h *histogram.Histogram, most int) (point *OTLP, approximate bool, err error) {
	if most == 0 {
		most = usualOTLPBuckets
	}
	if most < 2 {
		return nil, false, errors.New("an OTLP histogram needs at least two buckets on a side")
	}
	if _, err := total(h, math.MaxUint64); err != nil {
		return nil, false, err
	}
	scale := int32(finestScale)
	for _, sign := range []histogram.Bin{1, -1} {
		low, high := math.Inf(1), 0.0
		for i, bin := range h.Bins {
			if bin *= sign; bin > 0 && h.Counts[i] > 0 {
				from, to := bin.Bounds()
				low, high = min(low, from), max(high, to)
			}
		}
		for ; high > 0 && scale > minScale; scale-- {
			if first, last := powersOfTwo(scale).span(low, high); last-first < most {
				break
			}
		}
	}
	point = &OTLP{Scale: scale, ZeroThreshold: smallest, Sum: h.Sum()}
	var positive, negative map[int]uint64
	positive, negative, point.ZeroCount, approximate = powersOfTwo(scale).sides(h)
	point.Positive, point.Negative = row(positive), row(negative)
	return point, approximate, nil
}

func row(counts map[int]uint64) OTLPBuckets {
	keys := sorted(counts)
	if len(keys) == 0 {
		return OTLPBuckets{}
	}
	first := keys[0]
	list := make([]uint64, keys[len(keys)-1]-first+1)
	for i, n := range counts {
		list[i-first] = n
	}
	return OTLPBuckets{Offset: int32(first), Counts: list}
}

// DDSketch is the bins of one of DataDog's sketches with a logarithmic mapping: bin i is from Gamma^(i-Offset) to
// Gamma^(i+1-Offset); the negative ones mirror that. Gamma is (1+α)/(1-α) for a relative accuracy of α.
type DDSketch struct {
	Gamma, Offset      float64
	Zero               uint64
	Positive, Negative map[int]uint64
}

func (d *DDSketch) grid() grid {
	log := math.Log(d.Gamma)
	return grid{
		at:   func(v float64) int { return int(math.Floor(math.Log(v)/log + d.Offset)) },
		edge: func(i int) float64 { return math.Exp((float64(i) - d.Offset) * log) },
	}
}

// FromDDSketch makes a log-linear histogram of a sketch.
func FromDDSketch(d *DDSketch) (h *histogram.Histogram, approximate bool, err error) {
	if !(d.Gamma > 1) || math.IsInf(d.Gamma, 0) || !(math.Abs(d.Offset) < 1e9) {
		return nil, false, errors.New("a sketch's gamma must be a number above 1, its offset one of less than a thousand million")
	}
	var f filler
	g := d.grid()
	for i, n := range d.Positive {
		if from, to := g.edge(i), g.edge(i+1); from < to {
			f.add(Bucket{from, to, n}, Geometric)
		} else if n > 0 {
			f.add(Bucket{from, math.Inf(1), n}, Geometric)
		}
	}
	for i, n := range d.Negative {
		if from, to := g.edge(i), g.edge(i+1); from < to {
			f.add(Bucket{-to, -from, n}, Geometric)
		} else if n > 0 {
			f.add(Bucket{math.Inf(-1), -from, n}, Geometric)
		}
	}
	f.add(Bucket{0, 0, d.Zero}, Geometric)
	return f.done()
}

// ToDDSketch makes a sketch of a relative accuracy from 0.001 to 0.5, with the offset 0.
func ToDDSketch(h *histogram.Histogram, accuracy float64) (d *DDSketch, approximate bool, err error) {
	if !(accuracy >= 0.001 && accuracy <= 0.5) {
		return nil, false, errors.New("the accuracy must be from 0.001 to 0.5")
	}
	if _, err := total(h, math.MaxUint64); err != nil {
		return nil, false, err
	}
	d = &DDSketch{Gamma: (1 + accuracy) / (1 - accuracy)}
	d.Positive, d.Negative, d.Zero, approximate = d.grid().sides(h)
	return d, approximate, nil
}
