package histogram

import (
	"encoding/json"
	"fmt"
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

// Where counts stop, the answers stay what they say: no share above 1, no number below 0, the whole range of quantiles.
func TestAnswersWhereCountsStop(t *testing.T) {
	var h Histogram
	h.Add(binFrom(t, 10, 0), math.MaxUint64)
	h.Add(binFrom(t, 20, 0), math.MaxUint64)
	h.Add(binFrom(t, 30, 0), math.MaxUint64)
	if n := h.Count(); n != math.MaxUint64 {
		t.Errorf("%d values", n)
	}
	for limit, want := range map[float64]float64{0.5: 0, 1.5: 1, 2.5: 2, 3.5: 3} {
		if got := h.CountBelow(limit); math.Abs(got-want*math.MaxUint64) > 1e5 {
			t.Errorf("%g values below %g", got, limit)
		}
		if got := h.InverseQuantiles(limit)[0]; math.Abs(got-want/3) > 1e-9 {
			t.Errorf("the share %g below %g", got, limit)
		}
	}
	for q, want := range map[float64]float64{0: 1, 0.5: 2.05, 1: 3.1} {
		if got := h.Quantile(q); math.Abs(got-want) > 1e-9 {
			t.Errorf("the quantile %g is %g, want %g", q, got, want)
		}
	}
	if mean := h.Mean(); math.Abs(mean-2.05) > 1e-9 {
		t.Errorf("the mean is %g", mean)
	}
	if deviation := h.StdDev(); math.Abs(deviation-math.Sqrt(2.0/3)) > 1e-9 {
		t.Errorf("the deviation is %g", deviation)
	}
	for _, m := range h.Modes(ModeOptions{Smoothing: -1}) {
		if math.Abs(m.Share-1.0/3) > 1e-9 {
			t.Errorf("%+v", m)
		}
	}
}

// binFrom is a bin that there is.
func binFrom(t *testing.T, mantissa, exponent int) Bin {
	t.Helper()
	bin, err := FromParts(mantissa, exponent)
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

// Quantiles are the same in any order, with what is none of them in between.
func TestQuantilesInAnyOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(73, 74))
	for range 200 {
		var h Histogram
		for range 1 + r.IntN(20) {
			_ = h.Insert(math.Exp(4*r.NormFloat64())*float64(r.IntN(3)-1), 1+r.Uint64N(5)<<uint(r.IntN(2)*55))
		}
		qs := []float64{0.9, 0, 1, math.NaN(), 0.5, 0.5, -1, 0.1, 2, r.Float64(), 1, r.Float64(), 0}
		for i, got := range h.Quantiles(qs...) {
			if want := h.Quantile(qs[i]); math.Float64bits(got) != math.Float64bits(want) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%v: the quantile %v is %v, want %v", h, qs[i], got, want)
			}
		}
	}
}

// A bin that JSON names twice adds up, however it is written; nothing of it is lost, in whatever order.
func TestJSONBinsAddUp(t *testing.T) {
	for text, want := range map[string]string{
		`{"bins":{"0.0012":4,"0.0012":3,"1.2e-3":2,"5":1}}`:            `{"bins":{"1.2e-3":9,"5.0e0":1}}`,
		`{"bins":{"5":1},"bins":{"5":2}, "more":[{}]}`:                 `{"bins":{"5.0e0":3}}`,
		" {\t\"bins\" : { \"5\" : 1 ,\r\n\"\\u0035\":2 , \"-1\":0} } ": `{"bins":{"5.0e0":3}}`,
		`{"bins":{}}`:                       `{"bins":{}}`,
		`{"bins":{"5":9007199254740992}}`:   `{"bins":{"5.0e0":9007199254740992}}`,
		`{"bins":{"3":1,"-2":2,"1":3}}`:     `{"bins":{"-2.0e0":2,"1.0e0":3,"3.0e0":1}}`,
		`{"bins":{"5":1.0}}`:                "",
		`{"bins":{"5":-1}}`:                 "",
		`{"bins":{"5":"1"}}`:                `{"bins":{"5.0e0":1}}`,
		`{"bins":{"5":{"6":1}}}`:            "",
		`{"bins":{"5":null}}`:               "",
		`{"bins":{"5":9007199254740993}}`:   "",
		`{"bins":{"five":1}}`:               "",
		`{"bins":{"inf":1}}`:                "",
		`{"bins":[1]}`:                      "",
		`{"bins":null}`:                     "",
		`{"bins":1}`:                        "",
		`{}`:                                "",
		`{"bins":{"5":1}`:                   "",
		`{"bins":{"5":1,"0x10":1,"1_0":1}}`: "",
	} {
		var h Histogram
		err := json.Unmarshal([]byte(text), &h)
		got, _ := json.Marshal(&h)
		if want == "" && err == nil || want != "" && (err != nil || string(got) != want) {
			t.Errorf("%s: %s %v, want %s", text, got, err, want)
		}
	}
	text := []byte(`{"bins":{`)
	for bin := MaxBin; bin >= -MaxBin; bin-- {
		text = fmt.Appendf(text, "%q:1,", bin.String())
	}
	text = append(text[:len(text)-1], "}}"...)
	var h Histogram
	if err := json.Unmarshal(text, &h); err != nil || h.Count() != 2*uint64(MaxBin)+1 {
		t.Fatal(err)
	}
}
