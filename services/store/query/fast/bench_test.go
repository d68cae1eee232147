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
	var before, after syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &before)
	for b.Loop() {
		found, err := e.Exec(context.Background(), q)
		if err != nil || found.By != "fast" {
			b.Fatal(found.By, err)
		}
		if found.Close != nil {
			found.Close()
		}
	}
	// What does not depend on who else uses the machine.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &after)
	spent := after.Utime.Nano() + after.Stime.Nano() - before.Utime.Nano() - before.Stime.Nano()
	b.ReportMetric(float64(spent)/float64(b.N)/1e6, "CPU-ms/op")
}
