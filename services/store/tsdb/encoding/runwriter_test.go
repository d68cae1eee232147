package encoding

import (
	"bytes"
	"math"
	"math/rand/v2"
	"slices"
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

// Counts of eight bits are written as the same counts of sixteen and of sixty-four are.
func TestNarrowCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	for round := range 400 {
		n := 1 + r.IntN(700)
		var hists []histogram.Histogram
		times := make([]int64, n)
		// Every kind of column: sparse, as chance makes them, about a mean, constant, with outliers, of no law.
		means := make([]float64, 40)
		for i := range means {
			means[i] = math.Exp(r.Float64()*8 - 3)
		}
		for i := range n {
			times[i] = int64(i)
			var h histogram.Histogram
			for k, mean := range means {
				count := poisson(r, mean)
				switch k % 8 {
				case 5:
					count = uint64(mean)
				case 6:
					count = r.Uint64N(uint64(mean) + 2)
				case 7:
					if r.IntN(100) == 0 {
						count += r.Uint64N(300)
					}
				}
				if count = min(count, 255); count > 0 {
					h.Add(histogram.Bin(k*7-60), count)
				}
			}
			hists = append(hists, h)
		}
		var written [3][]byte
		var w HistogramWriter
		for i, width := range []uint8{8, 16, 64} {
			w.Begin(n)
			w.widen(width)
			for k := range hists {
				w.Add(&hists[k])
			}
			if w.width != width {
				t.Fatalf("round %d: %d bits", round, w.width)
			}
			written[i] = w.Append(nil, times)
		}
		if !bytes.Equal(written[0], written[1]) || !bytes.Equal(written[0], written[2]) {
			t.Fatalf("round %d, %d records: %d, %d and %d bytes", round, n, len(written[0]), len(written[1]), len(written[2]))
		}
	}
}

// A few counts of no law, up to the greatest there are, are read as they were written: of few numbers it does not matter
// whether they look like chance, so that any of them may be written as what is left of a wide deviation.
func TestFewCounts(t *testing.T) {
	r := rand.New(rand.NewPCG(39, 40))
	var run HistogramRun
	for round := range 40_000 {
		n := 1 + r.IntN(20)
		times, hists := make([]int64, n), make([]histogram.Histogram, n)
		most := uint64(1) << r.IntN(9)
		if round%20 == 0 {
			most = 1 << r.IntN(64)
		}
		for i := range n {
			times[i] = int64(i)
			for bin := range histogram.Bin(3) {
				if count := r.Uint64N(most); count > 0 {
					hists[i].Add(bin, count)
				}
			}
		}
		if err := run.Open(AppendHistograms(nil, times, hists)); err != nil {
			t.Fatalf("round %d, %v: %v", round, hists, err)
		}
		got, err := run.Decode(nil)
		if err != nil {
			t.Fatalf("round %d, %v: %v", round, hists, err)
		}
		for i := range hists {
			if !got[i].Equal(&hists[i]) {
				t.Fatalf("round %d, record %d of %d: %v, want %v", round, i, n, got[i], hists[i])
			}
		}
	}
}

func TestNarrowSums(t *testing.T) {
	r := rand.New(rand.NewPCG(33, 34))
	for range 300 {
		column := make([]byte, 8*r.IntN(200))
		most, sum, squares := r.IntN(256), uint64(0), uint64(0)
		for i := range column {
			column[i] = byte(r.IntN(most + 1))
			sum += uint64(column[i])
			squares += uint64(column[i]) * uint64(column[i])
		}
		if got := sumNarrow(column); got != sum {
			t.Fatalf("%v: the sum %d, want %d", column, got, sum)
		}
		if got := squaresOf(column); got != squares {
			t.Fatalf("%v: the squares %d, want %d", column, got, squares)
		}
		for limit := range uint64(300) {
			if got, want := atLeast(column, limit), len(column) > 0 && uint64(slices.Max(column)) >= limit; got != want {
				t.Fatalf("%v: at least %d: %v", column, limit, got)
			}
		}
	}
}

// AddEncoded takes what Skip takes, and what it took is read back.
func FuzzHistogramWriter(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{6, 2, 1, 1, 1, 2, 3})
	f.Add([]byte{20, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
	f.Add([]byte{2, 2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{5, 2, 3, 0, 0, 0, 0, 0, 0, 0, 1, 200, 3})
	f.Add([]byte{5, 1, 1, 0, 0, 0, 0, 0, 0, 0x80, 3, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1})
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

// Records that differ are read back as they were written: each three bytes are one, its counts in three bins.
func FuzzHistogramRecords(f *testing.F) {
	f.Add([]byte{0, 40, 0, 0, 119, 0, 0})
	f.Add([]byte{9, 1, 2, 3, 200, 0, 7, 0, 0, 0, 255, 255, 255})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) < 4 || len(data) > 3*1024 {
			return
		}
		shift := data[0] % 57
		var times []int64
		var hists []histogram.Histogram
		for rest := data[1:]; len(rest) >= 3; rest = rest[3:] {
			var h histogram.Histogram
			for i, count := range rest[:3] {
				if count > 0 {
					h.Add(histogram.Bin(i), uint64(count)<<shift)
				}
			}
			times, hists = append(times, int64(len(times))), append(hists, h)
		}
		var run HistogramRun
		if err := run.Open(AppendHistograms(nil, times, hists)); err != nil {
			t.Fatal(err)
		}
		got, err := run.Decode(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range hists {
			if !got[i].Equal(&hists[i]) {
				t.Fatalf("record %d of %d: %v, want %v", i, len(hists), got[i], hists[i])
			}
		}
	})
}
