package histogram

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Both forms give the same answers at the ends of what bins hold, and neither has a bin behind the last.
func TestAnswersAtTheLimits(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	ends := []Bin{MaxBin, MaxBin - 1, MaxBin - 90, 1, 2, 0, -1, -2, -MaxBin + 1, -MaxBin}
	limits := []float64{math.Inf(-1), -1e128, -9.95e127, -1e-128, -1e-129, 0, 5e-324, 1e-128, 1.05e-128, 1, 9.9e127, 9.95e127, math.Nextafter(1e128, 0), 1e128, math.Inf(1)}
	same := func(what string, a, b float64) {
		t.Helper()
		if math.Float64bits(a) != math.Float64bits(b) && !(math.IsNaN(a) && math.IsNaN(b)) {
			t.Errorf("%s: dense %v, sparse %v", what, a, b)
		}
	}
	for range 300 {
		var d Dense
		var h Histogram
		for range 1 + r.IntN(3) {
			bin, n := ends[r.IntN(len(ends))], uint64(1+r.IntN(3))
			if r.IntN(8) == 0 {
				n = math.MaxUint64 - uint64(r.IntN(2))
			}
			d.Add(bin, n)
			h.Add(bin, n)
		}
		if !d.Histogram().Equal(&h) {
			t.Fatalf("%v, want %v", d.Histogram(), h)
		}
		for i, limit := range limits {
			same("above", d.CountAbove(limit), h.CountAbove(limit))
			same("below", d.CountBelow(limit), h.CountBelow(limit))
			same("inverse", d.InverseQuantiles(limit)[0], h.InverseQuantiles(limit)[0])
			for _, to := range limits[i:] {
				same("between", d.CountBetween(limit, to), h.CountBetween(limit, to))
			}
		}
		qs := []float64{0, 1e-300, 0.25, 0.5, math.Nextafter(1, 0), 1}
		dense, sparse := d.Quantiles(qs...), h.Quantiles(qs...)
		for i := range qs {
			same("quantile", dense[i], sparse[i])
			if i > 0 && !(sparse[i] >= sparse[i-1]) {
				t.Errorf("%v of %v: the quantiles fall: %v", qs, h, sparse)
			}
		}
		same("mean", d.Mean(), h.Mean())
		same("deviation", d.StdDev(), h.StdDev())
		_ = d.Modes(ModeOptions{})
		var again Histogram
		if rest, err := again.Decode(h.Append(nil)); err != nil || len(rest) > 0 || !again.Equal(&h) {
			t.Fatalf("%v comes back as %v: %v", h, again, err)
		}
		if rest, err := again.DecodeReference(h.AppendReference(nil)); err != nil || len(rest) > 0 || !again.Equal(&h) {
			t.Fatalf("%v comes back as %v: %v", h, again, err)
		}
		text, _ := h.AppendText(nil)
		if err := again.ParseText(string(text)); err != nil || !again.Equal(&h) {
			t.Fatalf("%v comes back as %v: %v", h, again, err)
		}
	}
}
