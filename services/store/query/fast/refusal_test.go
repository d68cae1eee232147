package fast

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Whoever asks for far too much of very many names is refused before they are all found and named, whoever would evaluate it; and
// how many they are is still answered afterwards.
func TestRefusedEarly(t *testing.T) {
	const names, limit = 60_000, 27 << 20 // as storaged has it for one query of a process of 108 MiB
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }, HeadBytes: 1 << 30, SeriesPerSecond: 1 << 30, SeriesBurst: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := &histogram.Histogram{}
	if err := h.Insert(0.5, 1); err != nil {
		t.Fatal(err)
	}
	batch := make([]tsdb.Sample, names)
	for i := range batch {
		batch[i] = tsdb.Sample{Kind: tsdb.Gauge, Time: now.Add(-time.Minute).UnixMilli(), Value: 1}
		if i%2 == 1 {
			batch[i].Kind, batch[i].Histogram = tsdb.Histogram, h
		}
		if batch[i].Key, err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: fmt.Sprintf("names.of.requests.%d", i)}}); err != nil {
			t.Fatal(err)
		}
	}
	if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(len(rejected), err)
	}
	batch = nil
	p := parser.NewParser(parser.Options{})
	e := &Engine{Store: s, Parser: p, Rest: only(promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p}))}
	ctx := bounded(t, limit, 10_000_000)
	b := budget.From(ctx)
	instant := func(text string) Query { return Query{Text: text, Start: now, End: now, Lookback: 5 * time.Minute} }
	ranged := func(text string) Query {
		return Query{Text: text, Start: now.Add(-time.Hour), End: now, Step: time.Second, Lookback: 5 * time.Minute}
	}
	for _, q := range []Query{
		instant(`max_over_time({__name__=~"names.*"}[30m:1s])`),
		ranged(`{__name__=~"names.*"}`),
		ranged(`avg_over_time({__name__=~"names.*"}[1m])`),
		ranged(`round({__name__=~"names.*"}, 5) > 1`),
		ranged(`sort(deriv({__name__=~"names.*"}[1m]))`),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := e.Exec(ctx, q)
		runtime.ReadMemStats(&after)
		var exceeded *budget.Exceeded
		if !errors.As(err, &exceeded) {
			t.Errorf("%s: %v", q.Text, err)
		}
		if allocated := after.TotalAlloc - before.TotalAlloc; allocated > limit/8 {
			t.Errorf("%s: %d bytes were allocated until it was refused", q.Text, allocated)
		}
		if left := b.Charged(); left != 0 {
			t.Errorf("%s: %d bytes stay charged", q.Text, left)
		}
		answer, err := e.Exec(ctx, instant(`count({__name__=~"names.*"})`))
		if err != nil {
			t.Fatal(err)
		}
		if v, ok := answer.Value.(promql.Vector); !ok || len(v) != 1 || v[0].F != names {
			t.Errorf("after %s: %v", q.Text, answer.Value)
		}
		answer.Close()
	}
}

// Whatever a query was granted when it had plenty is enough for it: none is refused for what it might have needed. Some series are timers,
// some have nothing in the time, and of some there is only the mark of their end.
func TestWhatFitsIsNotRefused(t *testing.T) {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }, SeriesPerSecond: 1 << 30, SeriesBurst: 1 << 30})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	h := &histogram.Histogram{}
	if err := h.Insert(0.5, 1); err != nil {
		t.Fatal(err)
	}
	for part := range 2 {
		var batch []tsdb.Sample
		for i := range 900 {
			name := fmt.Sprintf("n%d", i)
			if i%3 == 1 {
				name = fmt.Sprintf("t%d", i)
			}
			key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "i", Value: fmt.Sprint(i)}, {Name: "job", Value: fmt.Sprint(i % 7)}})
			if err != nil {
				t.Fatal(err)
			}
			one := tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: now.Add(time.Duration(part-2) * 10 * time.Minute).UnixMilli(), Value: float64(i)}
			switch i % 3 {
			case 0:
				one.Value = math.Float64frombits(value.StaleNaN)
			case 1:
				one.Kind, one.Histogram = tsdb.Histogram, h
			}
			batch = append(batch, one)
		}
		if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(len(rejected), err)
		}
		if part == 0 {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := parser.NewParser(parser.Options{})
	e := &Engine{Store: s, Parser: p, Rest: func(samples int) *promql.Engine {
		return promql.NewEngine(promql.EngineOpts{MaxSamples: samples, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p})
	}}
	for _, text := range []string{`{__name__=~"n.*"}`, `max_over_time({__name__=~"n.*"}[1m])`, `min_over_time({__name__=~"n.*"}[2m:5s])`, `rate({__name__=~"n.*"}[5m])`,
		`deriv({__name__=~"n.*"}[5m])`, `count({__name__=~"[nt].*"})`, `sum by (job) (sum_over_time({__name__=~"[nt].*"}[1m]))`, `round({__name__=~"n.*"}) > 890`} {
		for _, step := range []time.Duration{5 * time.Second, 7 * time.Minute} {
			q := Query{Text: text, Start: now.Add(-15 * time.Minute), End: now, Step: step, Lookback: 5 * time.Minute}
			exec := func(limit int64) (granted int64, err error) {
				pool := budget.New(budget.Limits{Pool: limit, Query: limit, Points: 10_000_000, Running: 1, Waiting: 1})
				ctx, b, err := pool.Admit(t.Context(), "test")
				if err != nil {
					t.Fatal(err)
				}
				defer b.End()
				answer, err := e.Exec(ctx, q)
				if err == nil {
					answer.Close()
				}
				return pool.Status().Bytes, err
			}
			enough, err := exec(4 << 30)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if _, err := exec(enough); err != nil {
				t.Errorf("%s every %v was granted %d bytes, and does not fit into them: %v", text, step, enough, err)
			}
		}
	}
}
