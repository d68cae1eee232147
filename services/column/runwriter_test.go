package column

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"cistern/services/histogram"
)

// Encoded records make the run that the histograms make, and their sums are the histograms' sums.
func TestHistogramWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	var w HistogramWriter
	for round := range 200 {
		n := 1 + r.IntN(100)
		var times []int64
		var hists []histogram.Histogram
		w.Begin(n)
		for i := range n {
			h := histogram.Histogram{}
			first, step := r.IntN(400)-200, 1+r.IntN(2)*r.IntN(200)
			for k := range r.IntN(90) {
				h.Add(histogram.Bin(first+k*step), 1+poisson(r, float64(k%40)))
			}
			if round%10 == 0 && r.IntN(20) == 0 { // more than sixteen bits
				h.Add(histogram.Bin(r.IntN(50)), 1<<r.IntN(64))
			}
			if round%50 == 1 && r.IntN(30) == 0 {
				h.Add(histogram.MaxBin, math.MaxUint64)
				h.Add(-histogram.MaxBin, 3)
			}
			times, hists = append(times, int64(i)), append(hists, h)
			encoded := h.Append(nil)
			if rest, err := w.AddEncoded(append(encoded, 7)); err != nil || len(rest) != 1 {
				t.Fatalf("%v, %d bytes are left", err, len(rest))
			}
		}
		if got, want := w.Append(nil, times), AppendHistograms(nil, times, hists); !bytes.Equal(got, want) {
			t.Fatalf("round %d: %d bytes, want %d", round, len(got), len(want))
		}
		from := r.IntN(n)
		to := from + r.IntN(n-from) + 1
		var want histogram.Histogram
		for i := from; i < to; i++ {
			want.Merge(&hists[i])
		}
		if got := w.Sum(from, to); !got.Equal(&want) {
			t.Fatalf("round %d\n%v\n%v", round, got, want)
		}
	}
}

// AddEncoded takes what Skip takes, and what it took is read back.
func FuzzHistogramWriter(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{3, 2, 1, 1, 1, 2, 3})
	f.Add([]byte{10, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Add([]byte{1, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, row []byte) {
		var w HistogramWriter
		w.Begin(2)
		rest, err := w.AddEncoded(row)
		after, skipErr := histogram.Skip(row)
		if (err == nil) != (skipErr == nil) || len(rest) != len(after) {
			t.Fatalf("%v and %d, Skip says %v and %d", err, len(rest), skipErr, len(after))
		}
		if err != nil {
			return
		}
		var want histogram.Histogram
		if _, err := want.Decode(row); err != nil {
			t.Fatal(err)
		}
		w.Add(&want)
		var run HistogramRun
		if err := run.Open(w.Append(nil, []int64{0, 1})); err != nil {
			t.Fatal(err)
		}
		got, err := run.Decode(nil)
		if err != nil || !got[0].Equal(&want) || !got[1].Equal(&want) {
			t.Fatalf("%v: %v, want %v", err, got, want)
		}
	})
}
