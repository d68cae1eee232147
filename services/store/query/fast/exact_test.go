package fast

import (
	"context"
	"fmt"
	"math"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// The rate of Cistern's histograms is exact also where Prometheus' engine evaluates it, wherever offsets and @ move its
// range to: for 20 minutes there are 180 measurements in each minute, all in its first ten seconds, so that to extrapolate
// them would give other numbers; and nothing before or behind.
func TestExactWhereverTheRangeIs(t *testing.T) {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	const seconds = 1200
	var batch []tsdb.Sample
	for i := range int64(seconds) {
		if i%60 >= 10 {
			continue
		}
		h := &histogram.Histogram{}
		if err := h.Insert(float64(1+i%50), 18); err != nil {
			t.Fatal(err)
		}
		batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: now.UnixMilli() - (seconds-i)*1000, Histogram: h})
	}
	if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	p := parser.NewParser(parser.Options{})
	e := &Engine{Store: s, Parser: p,
		Rest: only(promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: p}))}
	middle := now.Add(-10 * time.Minute)
	unix := func(d time.Duration) string { return fmt.Sprint(middle.Add(d).Unix()) }
	for _, text := range []string{
		`rate(h[1m])`,
		`histogram_count(rate(h[1m]))`,
		`histogram_count(rate(h[1m] @ ` + unix(0) + `))`,
		`histogram_count(rate(h[1m] @ ` + unix(0) + ` offset 5m))`,
		`histogram_count(rate(h[1m] @ ` + unix(time.Hour) + ` offset 1h))`,
		`histogram_count(rate(h[1m] @ ` + unix(-time.Hour) + ` offset -1h))`,
		`histogram_count(rate(h[1m] @ end() offset -5m))`,
		`max_over_time(histogram_count(rate(h[1m]))[3m:30s])`,
		`max_over_time(histogram_count(rate(h[1m] offset -5m))[3m:30s])`,
		`max_over_time(histogram_count(rate(h[1m] offset -1h))[3m:30s] offset 1h)`,
		`max_over_time(histogram_count(rate(h[1m]))[3m:30s] offset -5m)`,
		`max_over_time(histogram_count(rate(h[1m] offset 1h))[3m:30s] offset -1h)`,
		`max_over_time(histogram_count(rate(h[1m]))[3m:30s] @ ` + unix(-time.Hour) + ` offset -1h)`,
		`histogram_count(increase(h[1m] @ ` + unix(-time.Hour) + ` offset -1h)) / 60`,
	} {
		for _, q := range []Query{
			{Text: text, Start: middle, End: middle, Lookback: 5 * time.Minute},
			{Text: text, Start: middle, End: middle.Add(time.Minute), Step: time.Minute, Lookback: 5 * time.Minute},
		} {
			answer, err := e.Exec(context.Background(), q)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			var values []float64
			switch v := answer.Value.(type) {
			case promql.Vector:
				for _, one := range v {
					if one.H != nil {
						one.F = one.H.Count
					}
					values = append(values, one.F)
				}
			case promql.Matrix:
				for _, one := range v {
					for _, p := range one.Floats {
						values = append(values, p.F)
					}
					for _, p := range one.Histograms {
						values = append(values, p.H.Count)
					}
				}
			}
			wanted := 1
			if q.Step != 0 {
				wanted = 2
			}
			if len(values) != wanted {
				t.Errorf("%s: %v", text, values)
			}
			for _, v := range values {
				if math.Abs(v-3) > 1e-9 {
					t.Errorf("%s by %s: %v, want 3 a second", text, answer.By, v)
				}
			}
			answer.Close()
		}
	}
}
