package encoding

import (
	"math"
	"math/rand/v2"
	"testing"

	"cistern/services/histogram"
)

// someSums are records of which some have no sum.
func someSums(r *rand.Rand, n int) (times []int64, hists []histogram.Histogram) {
	unknown := r.IntN(3)
	for i := range n {
		var a histogram.Accumulator
		for range 1 + r.IntN(5) {
			whole := float64(1 + r.IntN(int(math.Pow10(1+r.IntN(5)))))
			if r.IntN(20) == 0 {
				whole = -whole
			}
			bin, _ := histogram.BinOf(whole)
			a.RecordDecimal(bin.Shift(-3), uint64(1+r.IntN(400)), whole, -3)
		}
		h := *a.Take()
		if unknown == 1 && r.IntN(3) == 0 || unknown == 2 && i < n/2 {
			h.Offset = histogram.Offset{}
		}
		times, hists = append(times, int64(i)*1000), append(hists, h)
	}
	return times, hists
}

// A run keeps its records' sums: each by itself, and those of stretches, while it is written and when it is read.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	for range 60 {
		n := 1 + r.IntN(700)
		times, hists := someSums(r, n)
		var w HistogramWriter
		w.Begin(n)
		for i := range hists {
			if r.IntN(2) == 0 {
				w.Add(&hists[i])
				continue
			}
			encoded := hists[i].Append(nil)
			if rest, err := w.AddEncoded(append(encoded, 1)); err != nil || len(rest) != 1 {
				t.Fatal(err)
			}
		}
		run := w.Append(nil, times)
		from := r.IntN(n)
		to := from + 1 + r.IntN(n-from)
		want := &histogram.Histogram{}
		for i := from; i < to; i++ {
			want.Merge(&hists[i])
		}
		if got := w.Sum(from, to); got.Sum() != want.Sum() {
			t.Fatalf("written: %v, want %v", got.Sum(), want.Sum())
		}
		var reader HistogramRun
		if err := reader.Open(run); err != nil {
			t.Fatal(err)
		}
		got, err := reader.Decode(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i := range hists {
			if !got[i].Equal(&hists[i]) || got[i].Sum() != hists[i].Sum() {
				t.Fatalf("record %d: %v, want %v", i, got[i].Sum(), hists[i].Sum())
			}
		}
		var dense histogram.Dense
		if err := reader.AddRange(from, to, &dense); err != nil || dense.Sum() != want.Sum() {
			t.Fatalf("read: %v, want %v (%v)", dense.Sum(), want.Sum(), err)
		}
		width := 1 + r.IntN(n)
		windows, into := make([]int, n), make([]*histogram.Dense, n/width+1)
		sums := make([]histogram.Histogram, len(into))
		for i := range windows {
			if windows[i] = i / width; r.IntN(7) == 0 {
				windows[i] = -1
				continue
			}
			sums[windows[i]].Merge(&hists[i])
		}
		into[0] = &histogram.Dense{}
		into[0].Merge(&hists[0])
		sums[0].Merge(&hists[0])
		if err := reader.AddWindows(windows, into); err != nil {
			t.Fatal(err)
		}
		for i := range into {
			if got := into[i]; got != nil && got.Sum() != sums[i].Sum() {
				t.Fatalf("window %d: %v, want %v", i, got.Sum(), sums[i].Sum())
			}
		}
	}
}

// Without sums a run is what it was, and whole numbers of two digits cost nine bytes for all records.
func TestSumsCost(t *testing.T) {
	times, hists := someSums(rand.New(rand.NewPCG(73, 74)), 300)
	plain := make([]histogram.Histogram, len(hists))
	for i := range hists {
		plain[i] = histogram.Histogram{Bins: hists[i].Bins, Counts: hists[i].Counts}
	}
	run := AppendHistograms(nil, times, plain)
	for i := range plain {
		for k, bin := range plain[i].Bins {
			half := bin.Half(plain[i].Counts[k])
			plain[i].Offset.Subtract(half)
		}
	}
	if got := AppendHistograms(nil, times, plain); len(got) > len(run)+9 {
		t.Errorf("%d bytes, without sums %d", len(got), len(run))
	}
	var r HistogramRun
	if err := r.Open(run); err != nil || r.offsets.known {
		t.Errorf("a run without sums has some (%v)", err)
	}
}

// Damaged sums are told, or are other sums; nothing else happens.
func FuzzSums(f *testing.F) {
	times, hists := someSums(rand.New(rand.NewPCG(75, 76)), 20)
	f.Add(AppendHistograms(nil, times, hists))
	times, hists = someSums(rand.New(rand.NewPCG(77, 78)), 200)
	f.Add(AppendHistograms(nil, times, hists))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var r HistogramRun
		if r.Open(bytes) != nil {
			return
		}
		var all histogram.Dense
		hists, err := r.Decode(nil)
		if r.AddRange(0, r.Len(), &all) == nil && err == nil {
			for i := range hists {
				if sum := hists[i].Sum(); sum != sum {
					t.Fatalf("record %d has no sum", i)
				}
			}
			if sum := all.Sum(); sum != sum {
				t.Fatal("all have no sum")
			}
		}
	})
}
