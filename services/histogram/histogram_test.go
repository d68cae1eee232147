package histogram

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/openhistogram/circonusllhist"
)

// randomValue spreads over many decades, both signs, exact bounds and zero.
func randomValue(r *rand.Rand) float64 {
	v := math.Pow(10, r.Float64()*60-30)
	switch r.IntN(8) {
	case 0:
		v = -v
	case 1:
		v = lower[1+r.IntN(int(MaxBin))]
	case 2:
		v = math.Nextafter(lower[1+r.IntN(int(MaxBin))], 0)
	case 3:
		return 0
	}
	return v
}

func TestBinBounds(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		v := randomValue(r)
		bin, ok := BinOf(v)
		if !ok {
			t.Fatalf("%g has no bin", v)
		}
		from, to := bin.Bounds()
		inside := v >= from && v < to
		if v < 0 {
			inside = v > from && v <= to
		} else if bin == 0 {
			inside = math.Abs(v) < 1e-128
		}
		if !inside {
			t.Fatalf("%g is in bin %s, [%g, %g)", v, bin, from, to)
		}
		mantissa, exponent := bin.Parts()
		if back, err := FromParts(mantissa, exponent); err != nil || back != bin {
			t.Fatalf("%s: %d %d gives %s, %v", bin, mantissa, exponent, back, err)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e128, -1e200} {
		if _, ok := BinOf(v); ok {
			t.Errorf("%g has a bin", v)
		}
	}
	for bin := Bin(1); bin <= MaxBin; bin++ {
		if got, ok := BinOf(lower[bin]); !ok || got != bin {
			t.Fatalf("the lower bound of %s is in %s", bin, got)
		}
	}
}

// The reference rounds its bounds by floating-point arithmetic; a value in the middle of a bin must agree. Its Go
// version does not keep negative bins in the order of their values, so only the others are compared.
func TestQuantilesAsTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for round := range 50 {
		ours, reference := &Histogram{}, circonusllhist.New(circonusllhist.NoLocks())
		var accumulator Accumulator
		for range 1 + r.IntN(2000) {
			v := math.Abs(randomValue(r))
			if bin, _ := BinOf(v); bin != 0 {
				v = bin.Middle()
			}
			if err := ours.Insert(v, 1); err != nil {
				t.Fatal(err)
			}
			if err := accumulator.Insert(v, 1); err != nil {
				t.Fatal(err)
			}
			if err := reference.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		if taken := accumulator.Take(); !taken.Equal(ours) {
			t.Fatalf("round %d: the accumulator differs", round)
		}
		if again := accumulator.Take(); again.Count() != 0 {
			t.Fatalf("round %d: Take left %d behind", round, again.Count())
		}
		qs := []float64{0, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1}
		want, err := reference.ApproxQuantile(qs)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range ours.Quantiles(qs...) {
			if math.Abs(got-want[i]) > 1e-9*math.Abs(want[i]) {
				t.Fatalf("round %d: q=%g is %g, the reference says %g", round, qs[i], got, want[i])
			}
		}
		if got := reference.ApproxSum(); math.Abs(ours.Sum()-got) > 1e-9*math.Abs(got) {
			t.Fatalf("round %d: sum %g, the reference says %g", round, ours.Sum(), got)
		}
	}
}

func TestMergeAndSubtract(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		a, b, both := &Histogram{}, &Histogram{}, &Histogram{}
		for range r.IntN(100) {
			v := math.Round(r.Float64()*100) / 10
			_ = both.Insert(v, 1)
			if r.IntN(2) == 0 {
				_ = a.Insert(v, 1)
			} else {
				_ = b.Insert(v, 1)
			}
		}
		sum := a.Clone()
		sum.Merge(b)
		if !sum.Equal(both) {
			t.Fatalf("%v + %v = %v, want %v", a, b, sum, both)
		}
		sum.Subtract(b)
		if !sum.Equal(a) {
			t.Fatalf("%v - %v = %v, want %v", both, b, sum, a)
		}
		back := &Histogram{}
		rest, err := back.Decode(append(both.Append(nil), 7, 7))
		if err != nil || len(rest) != 2 || !back.Equal(both) {
			t.Fatalf("%v encodes to %v, %v", both, back, err)
		}
		text, err := json.Marshal(both)
		if err != nil {
			t.Fatal(err)
		}
		parsed := &Histogram{}
		if err := json.Unmarshal(text, parsed); err != nil || !parsed.Equal(both) {
			t.Fatalf("%s parses to %v, %v", text, parsed, err)
		}
	}
}

func TestCountAbove(t *testing.T) {
	h := &Histogram{}
	for _, v := range []float64{0, 1, 1.55, 2, 3, -4} {
		_ = h.Insert(v, 2)
	}
	for _, c := range []struct{ limit, want float64 }{{-10, 12}, {-1, 10}, {0, 8}, {1.5, 6}, {1.55, 5}, {1.6, 4}, {3, 2}, {3.1, 0}} {
		if got := h.CountAbove(c.limit); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("above %g: %g, want %g", c.limit, got, c.want)
		}
		if got := h.CountBelow(c.limit); math.Abs(got-(12-c.want)) > 1e-9 {
			t.Errorf("below %g: %g, want %g", c.limit, got, 12-c.want)
		}
	}
	if q := (&Histogram{}).Quantile(0.5); !math.IsNaN(q) {
		t.Errorf("the median of nothing is %g", q)
	}
}

// What was emptied is used for other values, far from those before: by all ways of counting.
func TestAccumulatorIsUsedAgain(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 9))
	var a Accumulator
	for round := range 2000 {
		want := &Histogram{}
		middle := int(MaxBin) - r.IntN(2*int(MaxBin))
		near := func() Bin {
			width := []int{1, 50, 5000}[r.IntN(3)]
			return Bin(min(max(middle+r.IntN(2*width)-width, -int(MaxBin)), int(MaxBin)))
		}
		for range r.IntN(10) {
			switch r.IntN(3) {
			case 0:
				bin, n := near(), 1+r.Uint64N(3)
				want.Add(bin, n)
				a.Add(bin, n)
			case 1:
				want.Add(0, 1)
				a.Add(0, 1)
			default:
				var values []float64
				for range 1 + r.IntN(5) {
					bin := near()
					want.Add(bin, 1)
					values = append(values, bin.Middle())
				}
				if refused := a.BulkInsert(values); refused > 0 {
					t.Fatal(refused)
				}
			}
		}
		if got := a.Take(); !got.Equal(want) {
			t.Fatalf("round %d: %v, want %v", round, got, want)
		}
	}
}

func TestCountsDoNotWrap(t *testing.T) {
	var a Accumulator
	for range 3 {
		a.Add(5, math.MaxUint64/2)
	}
	a.Add(6, 1<<32-1)
	a.Add(6, 1)
	h := a.Take()
	if h.Counts[0] != math.MaxUint64 || h.Counts[1] != 1<<32 {
		t.Fatalf("%v", h)
	}
}

// Many bins are encoded by chunks, few one by one, whatever is shorter; both are read back, and Skip ends where they do.
func TestEncoding(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	for round := range 500 {
		want := &Histogram{}
		first, step := r.IntN(2*int(MaxBin))-int(MaxBin), 1+r.IntN(1+round%20)
		for bin := first; bin <= int(MaxBin) && len(want.Bins) < round; bin += 1 + r.IntN(step) {
			want.Add(Bin(bin), 1+r.Uint64N(1<<r.IntN(63)))
		}
		if round%9 == 0 {
			want.Add(MaxBin, 1)
			want.Add(-MaxBin, 1)
		}
		encoded := want.Append(nil)
		got := &Histogram{}
		if rest, err := got.Decode(append(encoded, 9, 9)); err != nil || len(rest) != 2 || !got.Equal(want) {
			t.Fatalf("round %d: %v, %d bytes are left\n%v\n%v", round, err, len(rest), got, want)
		}
		if rest, err := Skip(append(encoded, 9)); err != nil || len(rest) != 1 {
			t.Fatalf("round %d: %v, %d bytes are left", round, err, len(rest))
		}
		for cut := range encoded {
			if _, err := got.Decode(encoded[:cut]); err == nil {
				t.Fatalf("round %d: the first %d of %d bytes are read", round, cut, len(encoded))
			}
			if _, err := Skip(encoded[:cut]); err == nil {
				t.Fatalf("round %d: the first %d of %d bytes are skipped", round, cut, len(encoded))
			}
		}
	}
	mask := func(bits uint64) string { return string(binary.LittleEndian.AppendUint64(nil, bits)) }
	for what, encoded := range map[string]string{
		"no bins by chunks":      "\x01",
		"a chunk without bins":   "\x03\x00" + mask(0) + "\x01",
		"more bins than there":   "\x03\x00" + mask(3) + "\x01\x01",
		"the same chunk again":   "\x05\x00" + mask(1) + "\x00" + mask(2) + "\x01\x01",
		"a bin below the least":  "\x03" + string(binary.AppendVarint(nil, int64(-MaxBin)/64-1)) + mask(1<<63) + "\x01",
		"a bin above the most":   "\x03" + string(binary.AppendVarint(nil, int64(MaxBin)/64)) + mask(2) + "\x01",
		"a count of zero":        "\x05\x00" + mask(3) + "\x01\x00",
		"a step of zero":         "\x04\x02\x00\x01\x01",
		"a bin above, by a step": "\x04" + string(binary.AppendVarint(nil, int64(MaxBin))) + "\x01\x01\x01",
	} {
		if _, err := (&Histogram{}).Decode([]byte(encoded)); !errors.Is(err, ErrEncoding) {
			t.Errorf("%s is read: %v", what, err)
		}
		if _, err := Skip([]byte(encoded)); !errors.Is(err, ErrEncoding) {
			t.Errorf("%s is skipped: %v", what, err)
		}
	}
}

func FuzzDecode(f *testing.F) {
	h := &Histogram{}
	for _, v := range []float64{-3, 0, 0.0012, 0.0012, 55, 1e99} {
		_ = h.Insert(v, 3)
	}
	f.Add(h.Append(nil))
	f.Add([]byte{0})
	f.Add([]byte{4, 1, 1, 1, 1})
	f.Add([]byte{5, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 200, 3})
	f.Add([]byte{255, 255, 255, 255, 255, 255, 255, 255, 255, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &Histogram{}
		rest, err := h.Decode(data)
		if after, skipErr := Skip(data); (err == nil) != (skipErr == nil) || len(after) != len(rest) {
			t.Fatalf("%v and %d, Skip says %v and %d", err, len(rest), skipErr, len(after))
		}
		if err != nil {
			return
		}
		back := &Histogram{}
		if _, err := back.Decode(h.Append(nil)); err != nil || !back.Equal(h) || len(rest) > len(data) {
			t.Fatalf("%v became %v: %v", h, back, err)
		}
		h.Quantiles(0, 0.5, 1)
	})
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"bins":{"0.0012":4,"-1e3":1,"0":2}}`))
	f.Add([]byte(`{"bins":{"NaN":4}}`))
	f.Add([]byte(`{"bins":{"1e500":4}}`))
	f.Add([]byte(`{"bins":{"1":-4}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		h := &Histogram{}
		if json.Unmarshal(data, h) != nil {
			return
		}
		for i, bin := range h.Bins {
			if !bin.Valid() || h.Counts[i] == 0 || i > 0 && h.Bins[i-1] >= bin {
				t.Fatalf("%s gives %v", data, h)
			}
		}
	})
}

// Skip takes what Decode takes, and ends where it ends.
func FuzzSkip(f *testing.F) {
	h := &Histogram{}
	_ = h.Insert(3, 4)
	_ = h.Insert(300, 1e9)
	f.Add(h.Append(nil))
	f.Add([]byte{2, 1, 0, 1, 1})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var h Histogram
		rest, err := h.Decode(bytes)
		after, skipErr := Skip(bytes)
		if (err == nil) != (skipErr == nil) || len(rest) != len(after) {
			t.Fatalf("%v, %v; %d and %d bytes are left", err, skipErr, len(rest), len(after))
		}
	})
}

// Zero and each sign are apart: what lies between them costs nothing.
func TestDenseIsSmall(t *testing.T) {
	var d Dense
	want := &Histogram{}
	for _, v := range []float64{0, 0.001, -0.001, 0.0012, 0} {
		bin, _ := BinOf(v)
		d.Add(bin, 2)
		want.Add(bin, 2)
	}
	var other Dense
	other.Merge(d.Histogram())
	other.MergeDense(&d)
	want.Merge(want.Clone())
	if !other.Histogram().Equal(want) || other.Count() != 20 || other.Quantile(0.5) != want.Quantile(0.5) {
		t.Fatalf("%v, want %v", other.Histogram(), want)
	}
	if n := len(other.positive.counts) + len(other.negative.counts); n > 400 {
		t.Fatalf("%d counters for five values", n)
	}
}
