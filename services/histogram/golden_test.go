package histogram

import (
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
