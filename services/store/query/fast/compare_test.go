package fast

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// What is evaluated here is what Prometheus' engine evaluates over the same store: regular counters out of several blocks
// and the head, some of them with resets, NaN, stale markers, gaps, late samples and irregular times.
func TestAsTheEngine(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }, OutOfOrder: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const series, samples = 40, 2600 // of two frames and more in a block
	keys, values := make([][]byte, series), make([]float64, series)
	for i := range keys {
		if keys[i], err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "c_total"}, {Name: "i", Value: fmt.Sprint(i)}, {Name: "job", Value: fmt.Sprint(i % 5)}}); err != nil {
			t.Fatal(err)
		}
		values[i] = float64(r.IntN(3) * r.IntN(1000))
	}
	first := now.UnixMilli() - samples*10_000
	for k := range samples {
		var batch []tsdb.Sample
		for i := range keys {
			at := first + int64(k)*10_000 + int64(i*7919%10_000)
			one := tsdb.Sample{Key: keys[i], Kind: tsdb.Counter, Time: at}
			values[i] += float64(r.IntN(1 + i*3))
			rare := r.IntN(150) == 0
			one.Value = values[i]
			switch i % 8 { // the first two are whole
			case 2:
				if rare {
					values[i], one.Value = 0, 0
				}
			case 3:
				if rare {
					one.Value = []float64{math.NaN(), absent, math.Inf(1)}[r.IntN(3)]
				}
			case 4:
				if k/100%3 == 1 {
					continue
				}
			case 5:
				one.Time += r.Int64N(3000)
			case 6:
				if rare {
					one.Time -= r.Int64N(20_000_000)
				}
			case 7:
				one.Value /= 10
			}
			if one.Time < first {
				one.Time = first
			}
			batch = append(batch, one)
		}
		if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
		if k == 1300 || k == 2400 {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := parser.NewParser(parser.Options{})
	rest := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
		NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }})
	quick, slow := &Engine{Store: s, Parser: p, Rest: only(rest)}, &Engine{Store: s, Parser: p, Rest: only(rest), Off: true}
	alone := 0
	for round := range 400 {
		window := []string{"5m", "1m", "47s", "10s", "1h", "7m13s"}[r.IntN(6)]
		offset := []string{"", "", " offset 3m", " offset -2m"}[r.IntN(4)]
		function := []string{"rate(", "rate(", "increase(", "delta(", "irate(", "max_over_time(", "count_over_time(", "quantile_over_time(0.9, ", "quantile_over_time(0, "}[r.IntN(9)]
		text := fmt.Sprintf("%sc_total[%s]%s)", function, window, offset)
		if r.IntN(8) == 0 {
			text = "c_total" + offset
		}
		switch r.IntN(6) {
		case 0:
			text = "sum by (job) (" + text + ")"
		case 1:
			text = "avg(" + text + ")"
		case 2:
			text = []string{"topk(3, ", "bottomk(2, ", "topk by (job) (1, ", "bottomk without (i) (2, "}[r.IntN(4)] + text + ")"
		}
		if r.IntN(4) == 0 {
			text = []string{"max_over_time(", "quantile_over_time(0.5, ", "avg_over_time(", "count_over_time(", "last_over_time(", "min_over_time("}[r.IntN(6)] +
				text + []string{"[10m:1m]", "[3m:7s]", "[10m:]", "[10m:1m] offset 90s", "[1h:10m]"}[r.IntN(5)] + ")"
		}
		q := Query{Text: text, Lookback: 5 * time.Minute, Step: []time.Duration{time.Minute, 10 * time.Second, 17 * time.Second, 30 * time.Second, time.Hour}[r.IntN(5)]}
		q.Start = now.Add(-time.Duration(r.Int64N(samples*10_000+600_000)) * time.Millisecond)
		q.End = q.Start.Add(time.Duration(r.IntN(300)) * q.Step)
		got, err := quick.Exec(context.Background(), q)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got.By == "fast" { // a mean of infinities is not
			alone++
		}
		want, err := slow.Exec(context.Background(), q)
		if err != nil || want.By != "engine" {
			t.Fatalf("%s: %s %v", text, want.By, err)
		}
		a, b := got.Value.(promql.Matrix), want.Value.(promql.Matrix)
		if len(a) != len(b) {
			t.Fatalf("round %d, %s from %v: %d series, want %d", round, text, q.Start, len(a), len(b))
		}
		for i := range a {
			if a[i].Metric.Hash() != b[i].Metric.Hash() || len(a[i].Floats) != len(b[i].Floats) {
				t.Fatalf("round %d, %s: %v with %d points, want %v with %d", round, text, a[i].Metric, len(a[i].Floats), b[i].Metric, len(b[i].Floats))
			}
			for k, x := range a[i].Floats {
				y := b[i].Floats[k]
				if x.T != y.T || x.F != y.F && !(x.F != x.F && y.F != y.F) && !(math.Abs(x.F-y.F) <= 1e-9*math.Abs(y.F)) {
					t.Fatalf("round %d, %s, %v: %v at %d, want %v at %d", round, text, a[i].Metric, x.F, x.T, y.F, y.T)
				}
			}
		}
		got.Close()
		want.Close()
	}
	if alone < 300 {
		t.Errorf("only %d of the queries were evaluated here alone", alone)
	}
}
