package adapter

import (
	"testing"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// Every bin keeps its own bucket, whatever it is; and the engine finds the result sound.
func TestNativeForm(t *testing.T) {
	for _, values := range [][]float64{{0}, {1e-9, 1, 9.9e11}, {0, 0.0012, 0.0012, 0.0013, 7}, {-3, 0, 3}, {1e-50, 1}, {1e100}, {-1e-100, -1e100}} {
		h := &histogram.Histogram{}
		for _, v := range values {
			if err := h.Insert(v, 1); err != nil {
				t.Fatal(err)
			}
		}
		var native promhistogram.FloatHistogram
		Fill(&native, h, promhistogram.GaugeType)
		if err := native.Validate(); err != nil {
			t.Errorf("%v: %v", values, err)
		}
		i := 0
		for it := native.AllBucketIterator(); it.Next(); {
			b := it.At()
			if b.Count == 0 {
				continue
			}
			from, to := h.Bins[i].Bounds()
			inside := b.Lower == from && b.Upper == to
			if h.Bins[i] == 0 {
				inside = b.Upper == 0 && b.Lower <= 0
			}
			if !inside || b.Count != float64(h.Counts[i]) {
				t.Errorf("%v: bin %s is in the bucket (%g, %g] with %g", values, h.Bins[i], b.Lower, b.Upper, b.Count)
			}
			i++
		}
		if i != len(h.Bins) {
			t.Errorf("%v: %d buckets of %d", values, i, len(h.Bins))
		}
	}
}
