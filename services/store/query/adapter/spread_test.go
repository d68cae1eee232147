package adapter

import (
	"math"
	"math/rand/v2"
	"testing"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// anyNative is a native histogram of whole counts with buckets of any kind: exponential ones of any schema, up to the ends of
// what there is, or custom bounds, and zero, negative and unbounded buckets among them.
func anyNative(r *rand.Rand) *promhistogram.FloatHistogram {
	h := &promhistogram.FloatHistogram{}
	side := func(far int32) (spans []promhistogram.Span, buckets []float64) {
		for range r.IntN(4) {
			one := promhistogram.Span{Offset: r.Int32N(far), Length: 1 + r.Uint32N(6)}
			if len(spans) == 0 {
				one.Offset -= far / 2
			}
			spans = append(spans, one)
			for range one.Length {
				buckets = append(buckets, float64(r.IntN(1000)))
			}
		}
		return spans, buckets
	}
	if r.IntN(2) == 0 {
		h.Schema = int32(r.IntN(13)) - 4
		far := int32(math.Ldexp(40, int(h.Schema))) + 4
		if r.IntN(3) == 0 {
			far = int32(math.Ldexp(1100, int(h.Schema))) + 4
		}
		h.PositiveSpans, h.PositiveBuckets = side(far)
		h.NegativeSpans, h.NegativeBuckets = side(far)
		h.ZeroThreshold, h.ZeroCount = []float64{0, 1e-128, 0.001, 3}[r.IntN(4)], float64(r.IntN(50))
		return h
	}
	h.Schema = promhistogram.CustomBucketsSchema
	bound := []float64{-1e130, -50, -1, 0, 0.001, 1}[r.IntN(6)]
	for range 1 + r.IntN(12) {
		h.CustomValues = append(h.CustomValues, bound)
		bound += []float64{0.25, 1, 10, 1e6, 1e129}[r.IntN(5)] * (1 + r.Float64())
		if bound == h.CustomValues[len(h.CustomValues)-1] {
			break // too far away for so little to count
		}
	}
	h.PositiveSpans = []promhistogram.Span{{Offset: 0, Length: uint32(len(h.CustomValues) + 1)}} // the last has no upper bound
	for range len(h.CustomValues) + 1 {
		h.PositiveBuckets = append(h.PositiveBuckets, float64(r.IntN(1000)))
	}
	return h
}

func TestNothingIsLostOfANativeHistogram(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 24))
	for n := range 5000 {
		native := anyNative(r)
		want := native.ZeroCount
		for _, side := range [][]float64{native.PositiveBuckets, native.NegativeBuckets} {
			for _, count := range side {
				want += count
			}
		}
		h := &histogram.Histogram{}
		Approximate(h, native)
		if float64(h.Count()) != want {
			t.Fatalf("case %d: %v of %v are left of %v (schema %d, bounds %v)", n, h.Count(), want, native, native.Schema, native.CustomValues)
		}
	}
}
