package histogram_test

// The costs that matter, beside the reference's in the same run:
//
//	go test -run '^$' -bench . ./histogram

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"cistern/services/column"
	"cistern/services/histogram"

	"github.com/openhistogram/circonusllhist"
)

// latencies is log-normal values about 10 ms; most are within a decade and a half.
func latencies(n int, sigma float64) []float64 {
	r := rand.New(rand.NewPCG(7, 8))
	values := make([]float64, n)
	for i := range values {
		values[i] = math.Exp(sigma*r.NormFloat64()) * 0.01
	}
	return values
}

const many = 1 << 14 // so many that the processor does not learn them

func BenchmarkInsert(b *testing.B) {
	values := latencies(many, 1)
	var a histogram.Accumulator
	for i := 0; b.Loop(); i++ {
		_ = a.Insert(values[i%many], 1)
	}
}

func BenchmarkInsertAll(b *testing.B) {
	values := latencies(many, 1)
	var a histogram.Accumulator
	for b.Loop() {
		a.InsertAll(values)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/many, "ns/value")
}

func BenchmarkReferenceInsert(b *testing.B) {
	values := latencies(many, 1)
	h := circonusllhist.New(circonusllhist.NoLocks())
	for i := 0; b.Loop(); i++ {
		_ = h.RecordValue(values[i%many])
	}
}

func BenchmarkBinOf(b *testing.B) {
	values := latencies(many, 1)
	sum := 0
	for i := 0; b.Loop(); i++ {
		bin, _ := histogram.BinOf(values[i%many])
		sum += int(bin)
	}
	_ = sum
}

func BenchmarkTake(b *testing.B) {
	values := latencies(2000, 1)
	var a histogram.Accumulator
	for b.Loop() {
		a.InsertAll(values)
		a.Take()
	}
}

// week is what a service of 2,000 values a second leaves in a week of minutes: about 275 bins each.
func week() []histogram.Histogram {
	const records = 10_080
	values := latencies(1<<20, 1.35)
	hists := make([]histogram.Histogram, records)
	var a histogram.Accumulator
	for i := range hists {
		at := i * 7919 % (len(values) - 4000)
		a.InsertAll(values[at : at+4000])
		hists[i] = *a.Take()
	}
	return hists
}

func BenchmarkMergeWeek(b *testing.B) {
	hists := week()
	populated := 0
	for i := range hists {
		populated += len(hists[i].Bins)
	}
	b.Run("column", func(b *testing.B) {
		var runs [][]byte
		size := 0
		for from := 0; from < len(hists); from += 60 {
			part := hists[from:min(from+60, len(hists))]
			times := make([]int64, len(part))
			for i := range times {
				times[i] = int64(i) * 60_000
			}
			runs = append(runs, column.AppendHistograms(nil, times, part))
			size += len(runs[len(runs)-1])
		}
		window := make([]int, 60)
		var run column.HistogramRun
		var sum histogram.Dense
		into := []*histogram.Dense{&sum}
		for b.Loop() {
			sum.Reset()
			for _, bytes := range runs {
				if err := run.Open(bytes); err != nil {
					b.Fatal(err)
				}
				if err := run.AddWindows(window[:run.Len()], into); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/week")
		b.ReportMetric(float64(size)/float64(populated), "B/bin")
		b.ReportMetric(float64(populated)/float64(len(hists)), "bins/histogram")
	})
	b.Run("memory", func(b *testing.B) {
		var sum histogram.Dense
		for b.Loop() {
			sum.Reset()
			for i := range hists {
				sum.Merge(&hists[i])
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/week")
	})
	b.Run("reference", func(b *testing.B) {
		var serialised [][]byte
		size := 0
		for i := range hists {
			bytes, err := hists[i].AppendReference(nil)
			if err != nil {
				b.Fatal(err)
			}
			serialised = append(serialised, bytes)
			size += len(bytes)
		}
		for b.Loop() {
			sum := circonusllhist.New(circonusllhist.NoLocks())
			for _, s := range serialised {
				h, err := circonusllhist.DeserializeWithOptions(bytes.NewReader(s), circonusllhist.NoLocks(), circonusllhist.NoLookup())
				if err != nil {
					b.Fatal(err)
				}
				sum.Merge(h)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/week")
		b.ReportMetric(float64(size)/float64(populated), "B/bin")
	})
}

func BenchmarkQuantiles(b *testing.B) {
	var a histogram.Accumulator
	a.InsertAll(latencies(4000, 0.9))
	h := a.Take()
	for b.Loop() {
		h.Quantiles(0.5, 0.9, 0.99, 0.999)
	}
}
