package tsdb

import (
	"fmt"
	"math"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
)

// BenchmarkIngest is the store's part of remote write: batches of 10,000 samples out of 100,000 series, journalled.
func BenchmarkIngest(b *testing.B) {
	now := time.Now()
	s, err := Open(b.TempDir(), Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const series, size = 100_000, 10_000
	keys := make([][]byte, series)
	for i := range keys {
		keys[i] = key(b, "http_requests_total", "instance", fmt.Sprintf("host-%d:9100", i/100), "job", "node", "path", fmt.Sprintf("/p/%d", i%100))
	}
	batch := make([]Sample, size)
	n := 0
	for b.Loop() {
		if n%series == 0 {
			now = now.Add(10 * time.Second)
		}
		for i := range batch {
			batch[i] = Sample{Key: keys[(n+i)%series], Kind: Counter, Time: now.UnixMilli(), Value: float64(n / 7)}
		}
		n += size
		if _, err := s.Ingest(b.Context(), "bench", batch, journal.Interval); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "samples/s")
}

// BenchmarkHistogramDay reads a day of one-second histograms out of a block: what a heatmap of it costs.
func BenchmarkHistogramDay(b *testing.B) {
	now := time.Now()
	s, err := Open(b.TempDir(), Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	k := key(b, "latency")
	for i := range 86_400 {
		h := &histogram.Histogram{}
		for n := range 40 {
			_ = h.Insert(0.01*math.Exp(math.Sin(float64(i*40+n))), 1)
		}
		at := now.Add(time.Duration(i-86_400) * time.Second).UnixMilli()
		if _, err := s.Ingest(b.Context(), "bench", []Sample{{Key: k, Kind: Histogram, Time: at, Histogram: h}}, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		found, release, err := s.Select(b.Context(), 0, math.MaxInt64)
		if err != nil {
			b.Fatal(err)
		}
		sum := histogram.Histogram{}
		it := found[0].Histograms(0, math.MaxInt64)
		for it.Next() {
			_, h := it.At()
			sum.Merge(&h)
		}
		release()
	}
	b.ReportMetric(float64(s.Status().Blocks[0].Bytes)/86_400, "bytes/histogram")
}
