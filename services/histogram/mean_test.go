package histogram

import (
	"math"
	"testing"
)

// How far the mean of whole numbers, such as milliseconds, is off: a value counts as the middle of its bin, and whole
// numbers of two digits stand at the bin's beginning. docs/api/inputs.md says these figures.
func TestMeanOfWholeNumbers(t *testing.T) {
	off := func(from, to int) float64 {
		var h Histogram
		sum := 0.0
		for n := from; n <= to; n++ {
			_ = h.Insert(float64(n), 1)
			sum += float64(n)
		}
		return h.Mean()*float64(to-from+1)/sum - 1
	}
	for _, c := range []struct {
		from, to int
		want     float64
	}{{10, 10, 0.05}, {99, 99, 0.00505}, {109, 109, -0.0367}, {10, 99, 0.0092}, {100, 999, 0.00091}, {1, 1000, 0.00109}} {
		if got := off(c.from, c.to); math.Abs(got-c.want) > 0.01*math.Abs(c.want) {
			t.Errorf("%d to %d: %.5f, documented is %.5f", c.from, c.to, got, c.want)
		}
	}
	for n := 1; n <= 10_000; n++ {
		if got := off(n, n); got > 0.05+1e-12 || got <= -0.05 {
			t.Errorf("%d is off by %g", n, got)
		}
	}
}
