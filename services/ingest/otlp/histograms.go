package otlp

// Histograms become native ones: explicit bounds are custom buckets, exponential ones are exponential. Both are what
// they were, but for scales finer than native histograms have, whose buckets are merged as the data model says. Differences
// become running totals: see totals.go.

import (
	"fmt"

	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
)

// maxBuckets bounds one histogram: sixteen times what SDKs make of an exponential one.
const maxBuckets = 2560

// temporality says whether histograms are differences; ok is false when they say neither.
func (t *translation) temporality(of metrics.AggregationTemporality) (isDelta, ok bool) {
	switch of {
	case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_CUMULATIVE:
		return false, true
	case metrics.AggregationTemporality_AGGREGATION_TEMPORALITY_DELTA:
		return true, true
	}
	t.reject(NoTemporality, "a histogram must be cumulative or delta")
	return false, false
}

func (t *translation) explicit(p *metrics.HistogramDataPoint, temporality metrics.AggregationTemporality) {
	isDelta, ok := t.temporality(temporality)
	if !ok {
		return
	}
	key, ok := t.key(p.GetAttributes(), t.name)
	if !ok {
		return
	}
	counts, bounds := p.GetBucketCounts(), p.GetExplicitBounds()
	h := &promhistogram.FloatHistogram{
		Schema: promhistogram.CustomBucketsSchema,
		Count:  float64(p.GetCount()), Sum: p.GetSum(), CustomValues: bounds,
	}
	if !unrecorded(p) {
		if len(counts) == 0 && len(bounds) == 0 { // a client that counts and sums only
			counts = []uint64{p.GetCount()}
		}
		switch {
		case len(counts) != len(bounds)+1:
			t.reject(tsdb.BadHistogram, fmt.Sprintf("%d bounds make %d buckets, not %d", len(bounds), len(bounds)+1, len(counts)))
			return
		case len(counts) > maxBuckets:
			t.reject(tsdb.BadHistogram, fmt.Sprintf("it has more than %d buckets", maxBuckets))
			return
		case total(counts) != p.GetCount():
			t.reject(tsdb.BadHistogram, fmt.Sprintf("its count is %d, its buckets hold %d", p.GetCount(), total(counts)))
			return
		}
		var s spans
		for i, n := range counts {
			s.add(int64(i), n)
		}
		h.PositiveSpans, h.PositiveBuckets = s.spans, s.buckets
	}
	if t.native(p, key, h, isDelta) {
		t.examples(key, p.GetExemplars())
	}
}

func (t *translation) exponential(p *metrics.ExponentialHistogramDataPoint, temporality metrics.AggregationTemporality) {
	isDelta, ok := t.temporality(temporality)
	if !ok {
		return
	}
	key, ok := t.key(p.GetAttributes(), t.name)
	if !ok {
		return
	}
	h := &promhistogram.FloatHistogram{
		Schema: min(p.GetScale(), promhistogram.ExponentialSchemaMax),
		Count:  float64(p.GetCount()), Sum: p.GetSum(),
		ZeroCount: float64(p.GetZeroCount()), ZeroThreshold: p.GetZeroThreshold(),
	}
	if unrecorded(p) {
		h.Schema = max(h.Schema, promhistogram.ExponentialSchemaMin)
		t.native(p, key, h, isDelta)
		return
	}
	positive, negative := p.GetPositive(), p.GetNegative()
	held := total(positive.GetBucketCounts()) + total(negative.GetBucketCounts()) + p.GetZeroCount()
	switch {
	case p.GetScale() < promhistogram.ExponentialSchemaMin:
		t.reject(BadScale, fmt.Sprintf("the scale %d is coarser than %d, the coarsest that can be kept", p.GetScale(), promhistogram.ExponentialSchemaMin))
		return
	case len(positive.GetBucketCounts())+len(negative.GetBucketCounts()) > maxBuckets:
		t.reject(tsdb.BadHistogram, fmt.Sprintf("it has more than %d buckets", maxBuckets))
		return
	case held != p.GetCount():
		t.reject(tsdb.BadHistogram, fmt.Sprintf("its count is %d, its buckets hold %d", p.GetCount(), held))
		return
	case !(h.ZeroThreshold >= 0 && h.ZeroThreshold < 1e300):
		t.reject(tsdb.BadHistogram, fmt.Sprintf("%g is no zero threshold", h.ZeroThreshold))
		return
	}
	shift := p.GetScale() - h.Schema
	h.PositiveSpans, h.PositiveBuckets = exponentialSpans(positive, shift)
	h.NegativeSpans, h.NegativeBuckets = exponentialSpans(negative, shift)
	if h.PositiveSpans == nil && h.NegativeSpans == nil && held != p.GetZeroCount() {
		t.reject(tsdb.BadHistogram, "its offset is out of range")
		return
	}
	if t.native(p, key, h, isDelta) {
		t.examples(key, p.GetExemplars())
	}
}

// exponentialSpans merges 2^shift buckets each. OpenTelemetry's bucket i begins at base^i, Prometheus' ends there.
func exponentialSpans(b *metrics.ExponentialHistogramDataPoint_Buckets, shift int32) ([]promhistogram.Span, []float64) {
	var s spans
	for i, n := range b.GetBucketCounts() {
		at := (int64(b.GetOffset())+int64(i))>>min(shift, 63) + 1
		if at != int64(int32(at)) {
			return nil, nil
		}
		s.add(at, n)
	}
	return s.spans, s.buckets
}

// spans gathers buckets in the order of their indexes; empty ones are left out.
type spans struct {
	spans   []promhistogram.Span
	buckets []float64
	last    int64
}

func (s *spans) add(at int64, n uint64) {
	if n == 0 {
		return
	}
	switch k := len(s.spans); {
	case k == 0:
		s.spans = append(s.spans, promhistogram.Span{Offset: int32(at), Length: 1})
	case at == s.last:
		s.buckets[len(s.buckets)-1] += float64(n)
		return
	case at == s.last+1:
		s.spans[k-1].Length++
	default:
		s.spans = append(s.spans, promhistogram.Span{Offset: int32(at - s.last - 1), Length: 1})
	}
	s.buckets, s.last = append(s.buckets, float64(n)), at
}

func total(counts []uint64) (sum uint64) {
	for _, n := range counts {
		sum += n
	}
	return sum
}
