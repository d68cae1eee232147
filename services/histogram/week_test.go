package histogram_test

// A week of one histogram a minute, as it is stored, into 112 of 1h30: from the column form here, from circonusllhist's
// serialised form there. The histograms are the same.

import (
	"bytes"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"

	"github.com/openhistogram/circonusllhist"
)

const (
	weekRecords = 7 * 24 * 60
	weekWindows = 112
)

// week is 10,080 histograms of about 120,000 log-normal values each, in about 275 bins, whose median has a day's rhythm.
var week = sync.OnceValue(func() []histogram.Histogram {
	r := rand.New(rand.NewPCG(11, 12))
	hists := make([]histogram.Histogram, weekRecords)
	const values = 119_048
	for i := range hists {
		middle := math.Log(0.05) + 0.2*math.Sin(2*math.Pi*float64(i)/1440)
		h := &hists[i]
		first, _ := histogram.BinOf(1e-4)
		last, _ := histogram.BinOf(1e3)
		share := func(v float64) float64 { return 0.5 * (1 + math.Erf((math.Log(v)-middle)/(0.85*math.Sqrt2))) }
		for bin := first; bin <= last; bin++ {
			from, to := bin.Bounds()
			expected := values * (share(to) - share(from))
			if expected < 0.01 {
				continue
			}
			if n := math.Round(expected + math.Sqrt(expected)*r.NormFloat64()); n >= 1 {
				h.Add(bin, uint64(n))
			}
		}
	}
	return hists
})

func weekWindow() []int {
	window := make([]int, weekRecords)
	for i := range window {
		window[i] = i / (weekRecords / weekWindows)
	}
	return window
}

// weekColumns is the week in runs of 1,440.
func weekColumns() (runs [][]byte) {
	hists := week()
	for from := 0; from < weekRecords; from += 1440 {
		times := make([]int64, 1440)
		for i := range times {
			times[i] = int64(from+i) * 60_000
		}
		runs = append(runs, encoding.AppendHistograms(nil, times, hists[from:from+1440]))
	}
	return runs
}

func mergeWeek(tb testing.TB, run *encoding.HistogramRun, runs [][]byte, window []int) []*histogram.Dense {
	into := make([]*histogram.Dense, weekWindows)
	for i, src := range runs {
		if err := run.Open(src); err != nil {
			tb.Fatal(err)
		}
		if err := run.AddWindows(window[i*1440:][:run.Len()], into); err != nil {
			tb.Fatal(err)
		}
	}
	return into
}

func weekSerialised(tb testing.TB) (all [][]byte) {
	for i := range week() {
		all = append(all, week()[i].AppendReference(nil))
	}
	return all
}

func mergeWeekReference(tb testing.TB, all [][]byte, window []int) []*circonusllhist.Histogram {
	into := make([]*circonusllhist.Histogram, weekWindows)
	for i, text := range all {
		h, err := circonusllhist.DeserializeWithOptions(bytes.NewReader(text), circonusllhist.NoLocks())
		if err != nil {
			tb.Fatal(err)
		}
		if into[window[i]] == nil {
			into[window[i]] = circonusllhist.New(circonusllhist.NoLocks())
		}
		into[window[i]].Merge(h)
	}
	return into
}

func TestMergeWeekAsTheReference(t *testing.T) {
	ours := mergeWeek(t, &encoding.HistogramRun{}, weekColumns(), weekWindow())
	theirs := mergeWeekReference(t, weekSerialised(t), weekWindow())
	bins := 0
	for _, h := range week() {
		bins += len(h.Bins)
	}
	t.Logf("%d bins in a histogram", bins/weekRecords)
	for i := range ours {
		var text bytes.Buffer
		var back histogram.Histogram
		if err := theirs[i].Serialize(&text); err != nil {
			t.Fatal(err)
		}
		if _, err := back.DecodeReference(text.Bytes()); err != nil || !back.Equal(ours[i].Histogram()) {
			t.Fatalf("window %d differs: %v", i, err)
		}
	}
}

func BenchmarkMergeWeek(b *testing.B) {
	runs, window := weekColumns(), weekWindow()
	run := &encoding.HistogramRun{}
	for b.Loop() {
		mergeWeek(b, run, runs, window)
	}
}

func BenchmarkMergeWeekReference(b *testing.B) {
	all, window := weekSerialised(b), weekWindow()
	for b.Loop() {
		mergeWeekReference(b, all, window)
	}
}
