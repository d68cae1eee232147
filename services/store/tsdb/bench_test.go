package tsdb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"

	"github.com/prometheus/prometheus/model/labels"
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

// BenchmarkHistogramIngest is the store's part of taking histograms: of one series, sixty in a batch, and of a thousand
// series, one in a batch of each, with the flush.
func BenchmarkHistogramIngest(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	var bins, sums [512][]byte
	for i := range bins {
		var a histogram.Accumulator
		for range 2000 {
			_ = a.Record(0.02*math.Exp(1.3*r.NormFloat64()), 1)
		}
		h := a.Take()
		sums[i] = h.Append(nil)
		h.Offset = histogram.Offset{}
		bins[i] = h.Append(nil)
	}
	for _, c := range []struct {
		series, together, batches int
		encoded                   *[512][]byte
		name                      string
	}{{1, 60, 240, &bins, "1"}, {1, 60, 240, &sums, "1, sums"}, {1000, 1, 12, &bins, "1000"}, {1000, 1, 12, &sums, "1000, sums"}} {
		encoded := c.encoded
		b.Run(c.name, func(b *testing.B) {
			keys := make([][]byte, c.series)
			for i := range keys {
				keys[i] = key(b, "latency", "instance", fmt.Sprint("host-", i))
			}
			now := time.Now()
			n := 0
			for b.Loop() {
				s, err := Open(b.TempDir(), Options{Now: func() time.Time { return now }})
				if err != nil {
					b.Fatal(err)
				}
				var batch []Sample
				for i := range c.batches {
					batch = batch[:0]
					for j := range keys {
						for k := range c.together {
							at := now.Add(time.Duration((i-c.batches)*c.together+k) * time.Second).UnixMilli()
							batch = append(batch, Sample{Key: keys[j], Kind: Histogram, Time: at, Encoded: encoded[n%len(encoded)]})
							n++
						}
					}
					if _, err := s.Ingest(b.Context(), "bench", batch, journal.Buffered); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := s.Flush(); err != nil {
					b.Fatal(err)
				}
				s.Close()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/histogram")
		})
	}
}

// BenchmarkGrowth is what a sample costs and a series takes as series grow in number: it should stay flat.
func BenchmarkGrowth(b *testing.B) {
	for _, series := range []int{10_000, 100_000, 1_000_000, 5_000_000} {
		b.Run(fmt.Sprint(series), func(b *testing.B) {
			if testing.Short() && series > 1_000_000 {
				b.Skip("too many for a short run")
			}
			now := time.Now()
			s, err := Open(b.TempDir(), Options{Now: func() time.Time { return now }, HeadBytes: 12 << 30})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			const size = 10_000
			batch := make([]Sample, size)
			buffer := make([]byte, 0, 400*size)
			round := func() time.Duration {
				now = now.Add(10 * time.Second)
				var spent time.Duration
				for n := 0; n < series; n += size {
					buffer = buffer[:0]
					for i := range batch {
						start, id := len(buffer), n+i
						buffer, err = AppendKey(buffer, []Label{{NameLabel, "http_requests_total"}, {"cluster", "eu-west-1"},
							{"container", "app"}, {"instance", fmt.Sprintf("10.%d.%d.7:9100", id/100/256, id/100%256)}, {"job", "kubernetes-pods"},
							{"namespace", fmt.Sprintf("team-%d", id%50)}, {"path", fmt.Sprintf("/api/v1/%d", id%100)},
							{"pod", fmt.Sprintf("app-7d9f8b6c5-%06x", id/100)}, {"status", "200"}})
						if err != nil {
							b.Fatal(err)
						}
						batch[i] = Sample{Key: buffer[start:len(buffer):len(buffer)], Kind: Counter, Time: now.UnixMilli(), Value: float64(id + int(now.Unix()%100))}
					}
					begin := time.Now()
					if rejected, err := s.Ingest(b.Context(), "bench", batch, journal.Interval); err != nil || len(rejected) > 0 {
						b.Fatal(rejected, err)
					}
					spent += time.Since(begin)
				}
				return spent
			}
			first := round()
			for b.Loop() {
				spent := time.Duration(0)
				for range 3 {
					spent += round()
				}
				b.ReportMetric(float64(spent.Nanoseconds())/float64(3*series), "ns/sample")
			}
			b.ReportMetric(float64(first.Nanoseconds())/float64(series), "ns/new-series")
			runtime.GC()
			var memory runtime.MemStats
			runtime.ReadMemStats(&memory)
			b.ReportMetric(float64(memory.HeapAlloc)/float64(series), "heap-bytes/series")
			b.ReportMetric(float64(s.Status().HeadBytes)/float64(series), "counted-bytes/series")
			matcher := equal("pod", fmt.Sprintf("app-7d9f8b6c5-%06x", series/300))
			begin := time.Now()
			for range 20 {
				found, release, err := s.Select(b.Context(), 0, math.MaxInt64, equal(NameLabel, "http_requests_total"), matcher, labels.MustNewMatcher(labels.MatchRegexp, "path", "/api/v1/1.*"))
				release()
				if err != nil || len(found) == 0 {
					b.Fatal(len(found), err)
				}
			}
			b.ReportMetric(float64(time.Since(begin).Microseconds())/20, "µs/select")
			begin = time.Now()
			if _, err := s.Flush(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(time.Since(begin).Seconds(), "s/flush")
			b.ReportMetric(float64(s.Status().Blocks[0].Bytes)/float64(series), "block-bytes/series")
			begin = time.Now()
			for range 20 {
				found, release, err := s.Select(b.Context(), 0, math.MaxInt64, equal(NameLabel, "http_requests_total"), matcher, labels.MustNewMatcher(labels.MatchRegexp, "path", "/api/v1/1.*"))
				release()
				if err != nil || len(found) == 0 {
					b.Fatal(len(found), err)
				}
			}
			b.ReportMetric(float64(time.Since(begin).Microseconds())/20, "µs/select-block")
		})
	}
}
