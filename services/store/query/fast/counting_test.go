package fast

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// mixture has counters, gauges with few values, and timers, some of which come late or pause, in a block and in memory.
func mixture(t *testing.T) *Engine {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for part := range 2 {
		var batch []tsdb.Sample
		for i := range 30 {
			for k := part * 180; k < part*180+180; k++ {
				if i%5 == 1 && k%90 < 45 || i%7 == 2 && k > 100 {
					continue
				}
				one := tsdb.Sample{Kind: tsdb.Counter, Time: now.UnixMilli() - int64(360-k)*10_000, Value: float64(k * i)}
				name := []string{"c_total", "g", "tm"}[i%3]
				switch name {
				case "g":
					one.Kind, one.Value = tsdb.Gauge, float64(k/60%3)
				case "tm":
					one.Kind, one.Histogram = tsdb.Histogram, &histogram.Histogram{}
					if err := one.Histogram.Insert(float64(1+k%9), uint64(1+i)); err != nil {
						t.Fatal(err)
					}
				}
				if one.Key, err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}, {Name: "i", Value: fmt.Sprint(i)}, {Name: "job", Value: fmt.Sprint(i % 4)}}); err != nil {
					t.Fatal(err)
				}
				batch = append(batch, one)
			}
		}
		if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
		if part == 0 {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	p := parser.NewParser(parser.Options{})
	return &Engine{Store: s, Parser: p, Rest: only(promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }}))}
}

// lines are an answer's series in words, and its notes.
func lines(a Answer) []string {
	var list []string
	switch v := a.Value.(type) {
	case promql.Vector:
		for _, s := range v {
			list = append(list, s.String())
		}
	case promql.Matrix:
		for _, s := range v {
			list = append(list, s.String())
		}
	}
	slices.Sort(list)
	warnings, infos := a.Notes.AsStrings("", 0, 0)
	return append(append(list, warnings...), infos...)
}

// What is counted without looking at histograms, and what is summed up of several types at once, is what the engine says; and
// nothing stays charged when the answer is closed.
func TestCountingAsTheEngine(t *testing.T) {
	quick := mixture(t)
	slow := *quick
	slow.Off = true
	for text, by := range map[string]string{
		`count(tm)`: "fast", `group by (job) (tm)`: "fast", `count by (job) ({__name__=~"tm|g"})`: "fast", `count without (i) ({__name__=~".+"})`: "fast",
		`count(tm offset 7m)`: "fast", `count(count by (job) (tm)) > 2`: "fast", `topk(2, count by (job) (tm))`: "fast",
		`absent(tm)`: "fast", `absent(tm{i="2"})`: "fast", `absent(gone{a="b",c=~"d"})`: "fast", `absent(gone{a="b",a="c"})`: "fast", `absent(sum(gone))`: "fast",
		`sum(absent(g{i="1"}))`: "fast", `absent(absent(gone))`: "fast", `absent(c_total > 1e9)`: "engine", `absent(g{i="16"})`: "fast",
		`count_over_time(tm[1m])`: "fast", `sum by (job) (count_over_time({__name__=~"tm|g"}[2m]))`: "fast", `count_over_time(tm[1m]) > 5`: "fast",
		`count_values("v", g)`: "fast", `count_values by (job) ("v", g)`: "fast", `count_values without (i) ("job", g)`: "fast", `count_values("v", c_total / 0)`: "fast",
		`sum(count_values("v", g))`: "fast", `count_values("v", round(g))`: "fast", `count_values without (v) ("v", g)`: "engine", `count_values("v", tm)`: "engine",
		`topk(1, count_values("v", deriv(g[5m])))`: "fast",
		`sum({__name__=~"g|c_total"})`:             "fast", `avg by (job) ({__name__=~"tm|g"})`: "engine", `min(tm)`: "engine", `sum(tm)`: "engine",
		`max_over_time(count(tm)[10m:1m])`: "fast", `max_over_time(count_values("v", g)[10m:])`: "fast",
	} {
		for _, q := range []Query{hour(text), {Text: text, Start: now, End: now, Lookback: 5 * time.Minute}} {
			ctx := bounded(t, 64<<20, 100_000)
			got, err := quick.Exec(ctx, q)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if got.By != by && q.Step != 0 {
				t.Errorf("%s is evaluated by %q, want %q", text, got.By, by)
			}
			want, err := slow.Exec(context.Background(), q)
			if err != nil {
				t.Errorf("%s: %v", text, err)
				continue
			}
			if a, b := lines(got), lines(want); !slices.Equal(a, b) {
				t.Errorf("%s by %s:\n%s\nwant\n%s", text, got.By, strings.Join(a, "\n"), strings.Join(b, "\n"))
			}
			want.Close()
			got.Close()
			got.Close() // once is enough
			if left := budget.From(ctx).Charged(); left != 0 {
				t.Errorf("%s by %s: %d bytes stay charged", text, got.By, left)
			}
		}
	}
}

// The sum of numbers and histograms: the engine's, but that rates of histograms are exact.
func TestSumOfSeveralTypes(t *testing.T) {
	quick := mixture(t)
	slow := *quick
	slow.Off = true
	for _, text := range []string{`sum by (__name__) (sum_over_time({__name__=~"tm|g"}[2m]))`, `sum by (job) (sum_over_time({__name__=~"tm|g"}[2m]))`, `sum(sum_over_time({__name__=~"tm|g"}[2m]))`,
		`sum by (i) (sum_over_time({__name__=~"tm|g"}[1m]))`} {
		ctx := bounded(t, 64<<20, 100_000)
		got, err := quick.Exec(ctx, hour(text))
		if err != nil || got.By != "fast" {
			t.Errorf("%s: %s %v", text, got.By, err)
			continue
		}
		want, err := slow.Exec(context.Background(), hour(text))
		if err != nil {
			t.Fatal(err)
		}
		counts := func(a Answer) (all []string) {
			for _, s := range a.Value.(promql.Matrix) {
				for _, p := range s.Floats {
					all = append(all, fmt.Sprint(s.Metric, p.T, p.F))
				}
				for _, p := range s.Histograms {
					all = append(all, fmt.Sprint(s.Metric, p.T, p.H.Count))
				}
			}
			warnings, infos := a.Notes.AsStrings("", 0, 0)
			return append(append(all, warnings...), infos...)
		}
		if a, b := counts(got), counts(want); !slices.Equal(a, b) {
			t.Errorf("%s:\n%s\nwant\n%s", text, strings.Join(a, "\n"), strings.Join(b, "\n"))
		}
		got.Close()
		if left := budget.From(ctx).Charged(); left != 0 {
			t.Errorf("%s: %d bytes stay charged", text, left)
		}
	}
}
