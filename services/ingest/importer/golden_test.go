package importer

import (
	"math"
	"testing"

	"cistern/services/histogram"
	"cistern/services/platform/golden"
)

// Requests of senders that speak the binary form of other versions are read.
func TestGolden(t *testing.T) {
	const at = 1_790_000_000_000
	for set, magic := range map[string]string{"import": noSumsMagic, "import-3": samplesMagic} {
		golden.Check(t, set, func(t *testing.T) golden.Files { return golden.Files{"samples": binaryBody(t, at, magic)} }, func(t *testing.T, files golden.Files) {
			samples, err := decodeBinary(files["samples"])
			if err != nil || len(samples) != 3 {
				t.Fatalf("%d samples: %v", len(samples), err)
			}
			if s := samples[0]; s.Value != 2.5 || s.Time != at || string(s.Key) != "\x0a\x0d\x0a\x08__name__\x12\x01g" {
				t.Errorf("%+v", s)
			}
			want := 7 * 0.0125
			if magic == samplesMagic {
				want = 0.0861
			}
			var h histogram.Histogram
			if _, err := h.Decode(samples[1].Encoded); err != nil || h.Count() != 7 || math.Abs(h.Sum()-want) > 1e-15 || samples[1].Time != at {
				t.Errorf("%+v %v: %v", samples[1], err, h.Sum())
			}
			if s := samples[2]; s.Value != 0 || s.Time != at+5 || string(s.Key) != "\x0a\x09" { // the store refuses such a key
				t.Errorf("%+v", s)
			}
		})
	}
}

// A request of the version that knows no sums has none.
func TestSumOfNoSums(t *testing.T) {
	body := binaryBody(t, 1_790_000_000_000, samplesMagic)
	copy(body, noSumsMagic)
	if _, err := decodeBinary(body); err == nil {
		t.Error("it was taken")
	}
}
