package fast

import (
	"context"
	"fmt"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// BenchmarkRate is the sum by job of the rates of 1,000 counters over a day, out of a block.
func BenchmarkRate(b *testing.B) {
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(9, 9))
	const series, samples = 1000, 8640
	for i := range series {
		key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "c_total"}, {Name: "instance", Value: fmt.Sprint(i)}, {Name: "job", Value: fmt.Sprint(i % 8)}})
		if err != nil {
			b.Fatal(err)
		}
		var batch []tsdb.Sample
		v := 0.0
		for k := range samples {
			if mean := float64(i % 200); mean > 0 {
				v += float64(int(max(0, mean+r.NormFloat64()*mean/2)))
			}
			batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Counter, Time: now.UnixMilli() - int64(samples-k)*10_000 + int64(i*7919%10_000), Value: v})
		}
		if rejected, err := s.Ingest(context.Background(), "bench", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			b.Fatal(rejected, err)
		}
	}
	if _, err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	e := &Engine{Store: s, Parser: parser.NewParser(parser.Options{})}
	q := Query{Text: "sum by (job) (rate(c_total[5m]))", Start: now.Add(-1430 * time.Minute), End: now, Step: time.Minute, Lookback: 5 * time.Minute}
	asked(b, e, q, "fast")
}

// asked reports how much of the processor a query takes, which does not depend on who else uses the machine.
func asked(b *testing.B, e *Engine, q Query, by string) {
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		found, err := e.Exec(context.Background(), q)
		if err != nil || found.By != by {
			b.Fatal(found.By, err)
		}
		if found.Close != nil {
			found.Close()
		}
	}
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(spent)/float64(b.N)/1e6, "CPU-ms/op")
}

// BenchmarkNatives is quantiles of native histograms, one a second for eight hours, out of memory and out of a block: in windows that
// do not overlap, and in those of a graph, which do.
func BenchmarkNatives(b *testing.B) {
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{Now: func() time.Time { return now }})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "n"}})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(9, 9))
	const samples, buckets = 8 * 3600, 130
	total := &promhistogram.FloatHistogram{Schema: 3, ZeroThreshold: 1e-128, PositiveSpans: []promhistogram.Span{{Offset: -60, Length: buckets}}, PositiveBuckets: make([]float64, buckets)}
	var batch []tsdb.Sample
	for k := range samples {
		total = total.Copy()
		for range 50 {
			total.PositiveBuckets[min(buckets-1, max(0, int(65+r.NormFloat64()*20)))]++
			total.Count++
			total.Sum += r.Float64()
		}
		if batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.NativeHistogram, Time: now.UnixMilli() - int64(samples-k)*1000, Native: total}); len(batch) == 1000 || k == samples-1 {
			if rejected, err := s.Ingest(context.Background(), "bench", batch, journal.Buffered); err != nil || len(rejected) > 0 {
				b.Fatal(rejected, err)
			}
			batch = batch[:0]
		}
	}
	p := parser.NewParser(parser.Options{})
	rest := only(promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p}))
	here, engine := &Engine{Store: s, Parser: p, Rest: rest}, &Engine{Store: s, Parser: p, Rest: rest, Off: true}
	for _, place := range []string{"memory", "block"} {
		if place == "block" {
			if _, err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		for _, q := range []Query{
			{Text: "histogram_quantile(0.9, increase(n[90m]))", Start: now.Add(-6 * time.Hour), End: now, Step: 90 * time.Minute, Lookback: 5 * time.Minute},
			{Text: "histogram_quantile(0.9, rate(n[5m]))", Start: now.Add(-6 * time.Hour), End: now, Step: time.Minute, Lookback: 5 * time.Minute},
		} {
			b.Run(place+"/"+q.Text, func(b *testing.B) { asked(b, here, q, "mixed") })
			b.Run(place+"/"+q.Text+" by the engine", func(b *testing.B) { asked(b, engine, q, "engine") })
		}
	}
}
