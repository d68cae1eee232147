package fast

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// The same samples in a store that keeps them, in one that has minutes only, and in one that has hours only. In ranges of whole
// records most functions say the same; a counter's growth differs by what it grew in a record, also when it began again.
func TestRollupsSayWhatSamplesSaid(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	const day = 24 * time.Hour
	first := now.Truncate(day).Add(-40 * day)
	type variant struct {
		width  time.Duration
		engine *Engine
	}
	var variants []variant
	var stores []*tsdb.Store
	clock := first
	p := parser.NewParser(parser.Options{})
	for _, v := range []struct{ width, raw, minute time.Duration }{{time.Millisecond, 100 * day, 100 * day}, {time.Minute, day, 100 * day}, {time.Hour, day, 2 * day}} {
		s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return clock }, Retention: v.raw, RetentionMinute: v.minute, RetentionHour: 100 * day})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		stores = append(stores, s)
		rest := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p})
		variants = append(variants, variant{v.width, &Engine{Store: s, Parser: p, Rest: only(rest)}})
	}
	const series = 6
	var value [series]float64
	for minute := range 2 * 24 * 60 {
		var batch []tsdb.Sample
		for i := range series {
			key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "m"}, {Name: "i", Value: fmt.Sprint(i)}})
			if err != nil {
				t.Fatal(err)
			}
			if i == 1 && (minute < 90 || minute > 2000) || i == 2 && minute/50%3 == 1 { // it begins and ends within an hour; it has gaps
				continue
			}
			for range 1 + r.IntN(5) { // not as many in every minute
				one := tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: clock.UnixMilli() + r.Int64N(60_000)}
				if i < 3 {
					one.Value = math.Round(r.NormFloat64() * 100)
				}
				batch = append(batch, one)
			}
		}
		slices.SortStableFunc(batch, func(a, b tsdb.Sample) int { return cmp.Compare(a.Time, b.Time) })
		for k := range batch {
			i := int(batch[k].Key[len(batch[k].Key)-1] - '0')
			if i < 3 {
				continue
			}
			if i == 5 {
				batch[k].Kind = tsdb.Counter
			}
			if more := float64(r.IntN(20)); i > 3 && r.IntN(1500) == 0 { // the first does not begin again
				value[i] = more
			} else {
				value[i] += more
			}
			batch[k].Value = value[i]
		}
		for _, s := range stores {
			if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
				t.Fatal(rejected, err)
			}
		}
		clock = clock.Add(time.Minute)
		if minute%700 == 350 { // in the middle of an hour
			for _, s := range stores {
				if _, err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	end := clock
	clock = clock.Add(6 * day)
	for _, s := range stores {
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if err := s.Compact(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	for _, v := range variants[1:] {
		if got := v.engine.Store.(*tsdb.Store).Granularity(first.UnixMilli(), end.UnixMilli()); got != v.width {
			t.Fatalf("%v, want %v", got, v.width)
		}
	}
	ask := func(e *Engine, off bool, text string, at time.Time) map[string]float64 {
		t.Helper()
		e.Off = off
		answer, err := e.Exec(context.Background(), Query{Text: text, Start: at, End: at, Lookback: 5 * time.Minute})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		defer answer.Close()
		found := map[string]float64{}
		for _, one := range answer.Value.(promql.Vector) {
			found[one.Metric.Get("i")] = one.F
		}
		return found
	}
	// Whoever evaluates it, at whatever times, says the same.
	for range 80 {
		v := variants[r.IntN(3)]
		window := []string{"1h", "2h", "30m", "5m", "90m", "1m", "61s"}[r.IntN(7)]
		function := []string{"rate", "increase", "delta", "irate", "idelta", "sum_over_time", "avg_over_time", "count_over_time", "min_over_time", "max_over_time", "last_over_time"}[r.IntN(11)]
		text := fmt.Sprintf("%s(m[%s]%s)", function, window, []string{"", " offset 7m", " offset -2h"}[r.IntN(3)])
		switch r.IntN(3) {
		case 0:
			text = "sum(" + text + ")"
		case 1:
			text = "sum by (i) (m offset 3m)"
		}
		q := Query{Text: text, Start: first.Add(time.Duration(r.Int64N(int64(48 * time.Hour)))), Step: []time.Duration{time.Minute, 7 * time.Minute, time.Hour, 15 * time.Second}[r.IntN(4)],
			Lookback: []time.Duration{5 * time.Minute, 65 * time.Minute}[r.IntN(2)]}
		q.Start = q.Start.Truncate([]time.Duration{time.Millisecond, time.Hour}[r.IntN(2)])
		q.End = q.Start.Add(time.Duration(r.IntN(100)) * q.Step)
		var answers [2]promql.Matrix
		for i := range answers {
			v.engine.Off = i == 1
			answer, err := v.engine.Exec(context.Background(), q)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			answers[i] = answer.Value.(promql.Matrix)
			defer answer.Close()
		}
		alike := len(answers[0]) == len(answers[1])
		for i := 0; alike && i < len(answers[0]); i++ {
			a, b := answers[0][i], answers[1][i]
			alike = labels.Equal(a.Metric, b.Metric) && slices.EqualFunc(a.Floats, b.Floats, func(x, y promql.FPoint) bool {
				return x.T == y.T && math.Abs(x.F-y.F) <= 1e-9*max(1, math.Abs(y.F))
			})
		}
		if !alike {
			t.Fatalf("%s at %v, %v, by %v:\n%v\nwant\n%v", text, q.Start, q.Step, v.width, answers[0], answers[1])
		}
	}
	for round := range 60 {
		hours := []int{1, 2, 6, 24}[r.IntN(4)]
		at := first.Add(time.Duration(hours+r.IntN(48-hours))*time.Hour - time.Millisecond)
		for _, function := range []string{"min", "max", "sum", "count", "avg", "last", "present"} {
			selector := `m{i=~"0|1|2"}`
			if function == "last" || round%2 == 0 {
				selector = "m"
			}
			for _, form := range []string{"%s_over_time(%s[%dh])", "%s_over_time(%s[%dh] @ end())", "max_over_time(%s_over_time(%s[%dh])[1ms:1ms])"} {
				text := fmt.Sprintf(form, function, selector, hours)
				want := ask(variants[0].engine, false, text, at)
				for _, v := range variants[1:] {
					for _, off := range []bool{false, true} {
						got := ask(v.engine, off, text, at)
						if len(got) != len(want) {
							t.Fatalf("%s at %v by %v: %v, want %v", text, at, v.width, got, want)
						}
						for i, x := range want {
							if math.Abs(got[i]-x) > 1e-9*max(1, math.Abs(x)) {
								t.Fatalf("%s at %v by %v, %v: %v for %s, want %v", text, at, v.width, off, got[i], i, x)
							}
						}
					}
				}
			}
		}
		if hours < 6 {
			continue
		}
		for _, form := range []string{"increase(m[%dh])", "rate(m[%dh]) * %[1]d * 3600", "increase(m[%dh] @ end())"} {
			text := fmt.Sprintf(form, hours)
			want := ask(variants[0].engine, false, text, at)
			for _, v := range variants[1:] {
				got := ask(v.engine, round%3 == 0, text, at)
				for i := range 3 {
					k := fmt.Sprint(3 + i)
					// A record's worth at each end; 60 samples an hour of 9.5 each at most are 180 times as many.
					if most := 2 * 180 * 9.5 * v.width.Hours() * 1.2; math.Abs(got[k]-want[k]) > max(most, 0.01*want[k]) {
						t.Errorf("%s at %v by %v: %v for %s, want %v", text, at, v.width, got[k], k, want[k])
					}
				}
			}
		}
	}
}

// What adds up in a range that is shorter than a record is not what was measured in the whole of it.
func TestRangesShorterThanARecord(t *testing.T) {
	const day = 24 * time.Hour
	clock := now.Truncate(day).Add(-40 * day)
	first := clock
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return clock }, Retention: day, RetentionMinute: 2 * day, RetentionHour: 100 * day})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := map[string][]byte{}
	for _, name := range []string{"g", "h"} {
		if keys[name], err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: name}}); err != nil {
			t.Fatal(err)
		}
	}
	h := &histogram.Histogram{}
	if err := h.Insert(7, 10); err != nil {
		t.Fatal(err)
	}
	for range 12 * 60 {
		if rejected, err := s.Ingest(context.Background(), "test", []tsdb.Sample{{Key: keys["g"], Kind: tsdb.Gauge, Time: clock.UnixMilli(), Value: 2},
			{Key: keys["h"], Kind: tsdb.Histogram, Time: clock.UnixMilli(), Histogram: h}}, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
		clock = clock.Add(time.Minute)
	}
	clock = clock.Add(10 * day)
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := s.Compact(context.Background()); err != nil {
		t.Fatal(err)
	}
	p := parser.NewParser(parser.Options{})
	rest := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, Parser: p})
	for _, off := range []bool{false, true} {
		e := &Engine{Store: s, Parser: p, Rest: only(rest), Off: off}
		for text, want := range map[string]float64{
			`histogram_count(rate(h[5m]))`: 0, `histogram_count(sum_over_time(h[5m]))`: 0, `sum_over_time(g[5m])`: 0, `count_over_time(g[5m])`: 0,
			`histogram_count(sum(increase(h[5m])))`: 0, `avg_over_time(g[5m])`: 2,
			`histogram_count(rate(h[2h]) * 7200)`: 1200, `histogram_count(sum(increase(h[1h])))`: 600, `histogram_count(sum_over_time(h[1h]))`: 600,
			`sum_over_time(g[1h])`: 120, `count_over_time(g[2h])`: 120, `avg_over_time(g[1h])`: 2,
		} {
			answer, err := e.Exec(context.Background(), Query{Text: text, Start: first.Add(6 * time.Hour), End: first.Add(6 * time.Hour), Lookback: 5 * time.Minute})
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got := 0.0
			for _, one := range answer.Value.(promql.Vector) {
				got += one.F
			}
			if math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %v, want %v", text, got, want)
			}
			answer.Close()
		}
	}
}
