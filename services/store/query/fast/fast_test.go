package fast

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

var now = time.Unix(1_789_948_800, 0)

// only is an engine for any number of samples.
func only(e *promql.Engine) func(int) *promql.Engine { return func(int) *promql.Engine { return e } }

// bounded is a context with a budget.
func bounded(t *testing.T, bytes, points int64) context.Context {
	t.Helper()
	ctx, b, err := budget.New(budget.Limits{Pool: bytes, Query: bytes, Points: points, Running: 1, Waiting: 1}).Admit(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.End)
	return ctx
}

// newEngine has 50 counters of an hour.
func newEngine(t *testing.T) *Engine {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	var batch []tsdb.Sample
	for i := range 50 {
		key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "c_total"}, {Name: "i", Value: fmt.Sprint(i)}, {Name: "job", Value: fmt.Sprint(i % 3)}})
		if err != nil {
			t.Fatal(err)
		}
		for k := range 360 {
			batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Counter, Time: now.UnixMilli() - int64(360-k)*10_000, Value: float64(k * i)})
		}
	}
	if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	p := parser.NewParser(parser.Options{})
	return &Engine{Store: s, Parser: p, Rest: func(samples int) *promql.Engine {
		return promql.NewEngine(promql.EngineOpts{MaxSamples: samples, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, Parser: p,
			NoStepSubqueryIntervalFn: func(int64) int64 { return 60_000 }})
	}}
}

func hour(text string) Query {
	return Query{Text: text, Start: now.Add(-time.Hour), End: now, Step: time.Minute, Lookback: 5 * time.Minute}
}

func TestWhoEvaluates(t *testing.T) {
	e := newEngine(t)
	for text, by := range map[string]string{
		`sum by (job) (rate(c_total[5m]))`:                 "fast",
		`100 * (sum(rate(c_total[5m] offset 1m)) / 3) > 2`: "fast",
		`max(c_total)`:                                              "fast",
		`avg_over_time(c_total[5m])`:                                "fast",
		`sum(sum by (job) (irate(c_total[5m])))`:                    "fast",
		`sum(rate(c_total[5m])) / sum(c_total)`:                     "fast",
		`sum(rate(c_total[5m])) < sum(c_total)`:                     "mixed",
		`abs(sum(rate(c_total[5m])) / sum(c_total))`:                "mixed",
		`topk(2, rate(c_total[5m]))`:                                "fast",
		`bottomk by (job) (2, c_total)`:                             "fast",
		`topk(0.5, c_total)`:                                        "engine",
		`histogram_quantile(0.9, sum by (job) (rate(c_total[5m])))`: "engine", // it has notes
		`c_total`:                               "fast",
		`count_over_time(c_total[5m])`:          "fast",
		`quantile_over_time(0.9, c_total[5m])`:  "fast",
		`quantile_over_time(2, c_total[5m])`:    "engine", // it has a warning
		`sum(c_total @ end())`:                  "engine",
		`max_over_time(sum(c_total)[5m:1m])`:    "fast",
		`avg_over_time(rate(c_total[1m])[5m:])`: "fast",
		`rate(sum(c_total)[5m:1m])`:             "engine",
		`deriv(c_total[5m])`:                    "engine",
		`time()`:                                "engine",
	} {
		answer, err := e.Exec(bounded(t, 16<<20, 10_000), hour(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if answer.By != by {
			t.Errorf("%s is evaluated by %q, want %q", text, answer.By, by)
		}
		answer.Close()
	}
}

func TestLimits(t *testing.T) {
	e := newEngine(t)
	for text, limit := range map[string]string{
		`rate(c_total[5m])`: budget.QuerySetting, `topk(1, rate(c_total[5m]))`: budget.QuerySetting, `sum by (i) (c_total)`: budget.QuerySetting,
		`deriv(c_total[5m])`: budget.QuerySetting, `c_total`: budget.QuerySetting, `max_over_time(nothing[5m:1ms])`: budget.PointsSetting,
		`max_over_time(sum(c_total)[1h:])`: budget.QuerySetting,
	} {
		var exceeded *budget.Exceeded
		if _, err := e.Exec(bounded(t, 16_000, 10_000), hour(text)); !errors.As(err, &exceeded) || !strings.Contains(err.Error(), limit) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if answer, err := e.Exec(context.Background(), Query{Text: `sum(c_total)`, Start: now, End: now, Lookback: time.Minute}); err != nil || answer.By != "fast" {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := e.Exec(ctx, hour(`sum(rate(c_total[5m]))`)); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	var bad BadQuery
	for _, text := range []string{`sum(`, `c_total[5m]`, `"text"`} {
		if _, err := e.Exec(context.Background(), hour(text)); !errors.As(err, &bad) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
