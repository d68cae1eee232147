package histogram

import (
	"math"
	"testing"

	"cistern/services/platform/golden"
)

// goldenHistogram has zero, bins of both signs, far apart, and counts of one byte and of many. It must never change.
func goldenHistogram() *Histogram {
	h := &Histogram{}
	for _, one := range []struct {
		value float64
		count uint64
	}{{0, 7}, {-1.5, 1}, {-2e-9, 300}, {0.0012, 4}, {0.0013, 1}, {1, 1}, {99, 1 << 40}, {1e100, 2}} {
		if err := h.Insert(one.value, one.count); err != nil {
			panic(err)
		}
	}
	return h
}

// A histogram that another version wrote, alone, is read: in its binary form and as JSON.
func TestGolden(t *testing.T) {
	golden.Check(t, "histogram", func(t *testing.T) golden.Files {
		h := goldenHistogram()
		text, err := h.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"histogram.bin": h.Append(nil), "histogram.json": text}
	}, func(t *testing.T, files golden.Files) {
		want := goldenHistogram()
		var binary, text Histogram
		if rest, err := binary.Decode(files["histogram.bin"]); err != nil || len(rest) != 0 || !binary.Equal(want) {
			t.Errorf("%v %v, want %v (%v, %d bytes are left)", binary, &binary, want, err, len(rest))
		}
		if err := text.UnmarshalJSON(files["histogram.json"]); err != nil || !text.Equal(want) {
			t.Errorf("%v, want %v (%v)", &text, want, err)
		}
	})
}

// So is one with a sum.
func TestGoldenSum(t *testing.T) {
	make := func() *Histogram {
		var a Accumulator
		for whole, n := range map[float64]uint64{10: 100, 104: 3, 12345: 1, -7: 2, 0: 4, 99: 1 << 30} {
			bin, _ := BinOf(whole)
			a.RecordDecimal(bin.Shift(-3), n, whole, -3)
		}
		return a.Take()
	}
	const sum = 1 + 0.312 + 12.345 - 0.014 + 0.099*(1<<30)
	golden.Check(t, "summed", func(t *testing.T) golden.Files {
		h := make()
		text, err := h.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"histogram.bin": h.Append(nil), "histogram.json": text}
	}, func(t *testing.T, files golden.Files) {
		want := make()
		var binary, text Histogram
		if rest, err := binary.Decode(files["histogram.bin"]); err != nil || len(rest) != 0 || !binary.Equal(want) || binary.Sum() != want.Sum() {
			t.Errorf("%v: %v, want %v (%v, %d bytes are left)", &binary, binary.Sum(), want.Sum(), err, len(rest))
		}
		if err := text.UnmarshalJSON(files["histogram.json"]); err != nil || !text.Equal(want) || math.Abs(text.Sum()/sum-1) > 1e-14 || math.Abs(want.Sum()/sum-1) > 1e-14 {
			t.Errorf("%v: %v and %v, want %v (%v)", &text, text.Sum(), want.Sum(), sum, err)
		}
	})
}
