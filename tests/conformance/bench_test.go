package conformance

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/api"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/util/teststorage"
)

var benchEnd = time.Unix(1_789_948_800, 0) // midnight

func benchStore(b *testing.B) *tsdb.Store {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return benchEnd.Add(time.Hour) }, OutOfOrder: 30 * 24 * time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// week is a store with one series of a histogram every so many seconds for a week, 2,000 measurements each.
func week(b *testing.B, every int64) *tsdb.Store {
	s := benchStore(b)
	random := rand.New(rand.NewPCG(1, 2))
	key, _ := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "latency"}, {Name: "host", Value: "a"}})
	var batch []tsdb.Sample
	flush := func() {
		if _, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
		batch = batch[:0]
	}
	from := benchEnd.Add(-7 * 24 * time.Hour).Unix()
	pool := make([]*histogram.Histogram, 300)
	for i := range pool {
		h := &histogram.Histogram{}
		for range 2000 {
			_ = h.Insert(0.01*math.Exp(random.NormFloat64()*0.6+math.Sin(float64(i)/48)), 1)
		}
		pool[i] = h
	}
	for t := from; t < benchEnd.Unix(); t += every {
		batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: t * 1000, Histogram: pool[random.IntN(len(pool))]})
		if len(batch) == 3600 {
			flush()
		}
		if t%86_400 == 0 {
			flush()
			if _, err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	flush()
	if _, err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	return s
}

var weekMuxes = map[int64]*http.ServeMux{} // by seconds between histograms

func benchWeek(b *testing.B, every int64) {
	mux := weekMuxes[every]
	if mux == nil {
		mux = http.NewServeMux()
		api.New(week(b, every), "test").Register(mux)
		weekMuxes[every] = mux
	}
	start, end := benchEnd.Add(-7*24*time.Hour).Unix(), benchEnd.Unix()
	for _, c := range []struct{ name, path string }{
		{"quantile", "histogram/quantiles?query=latency&q=0.5&q=0.99"},
		{"inverse", "histogram/inverse?query=latency&x=0.02"},
		{"heatmap", "histogram/heatmap?query=latency"},
		{"heatmapBinary", "histogram/heatmap?query=latency&format=columns"},
		{"promql", "query_range?query=" + url.QueryEscape("histogram_quantile(0.99, sum(rate(latency[90m])))")},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/api/v1/%s&start=%d&end=%d&step=5400", c.path, start, end), nil))
				if w.Code != http.StatusOK {
					b.Fatal(w.Body)
				}
			}
		})
	}
}

func BenchmarkWeekOfSeconds(b *testing.B) { benchWeek(b, 1) }
func BenchmarkWeekOfMinutes(b *testing.B) { benchWeek(b, 60) }

// BenchmarkRates compares with Prometheus' engine over Prometheus' own store: 1,000 counters, a day, every 10 s.
func BenchmarkRates(b *testing.B) {
	s := benchStore(b)
	prom := teststorage.New(b)
	defer prom.Close()
	from := benchEnd.Add(-24 * time.Hour).UnixMilli()
	random := rand.New(rand.NewPCG(1, 2))
	const series = 1000
	keys, refs, sets, values := make([][]byte, series), make([]storage.SeriesRef, series), make([]labels.Labels, series), make([]float64, series)
	for i := range series {
		list := []tsdb.Label{{Name: tsdb.NameLabel, Value: "x_total"}, {Name: "instance", Value: fmt.Sprintf("i%d", i)}, {Name: "job", Value: fmt.Sprintf("j%d", i%10)}}
		keys[i], _ = tsdb.AppendKey(nil, list)
		sets[i] = labels.FromStrings("__name__", "x_total", "instance", list[1].Value, "job", list[2].Value)
	}
	batch := make([]tsdb.Sample, series)
	for t := from; t <= benchEnd.UnixMilli(); t += 10_000 {
		app := prom.Appender(context.Background())
		for i := range series {
			if values[i] += float64(random.IntN(100)); random.IntN(5000) == 0 {
				values[i] = 0
			}
			batch[i] = tsdb.Sample{Key: keys[i], Kind: tsdb.Counter, Time: t, Value: values[i]}
			refs[i], _ = app.Append(refs[i], sets[i], t, values[i])
		}
		if err := app.Commit(); err != nil {
			b.Fatal(err)
		}
		if _, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
		if (t-from)%(2*3_600_000) == 0 {
			if _, err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := prom.Compact(context.Background()); err != nil {
		b.Fatal(err)
	}
	start := benchEnd.Add(-24 * time.Hour)
	p := parser.NewParser(parser.Options{})
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 50_000_000, Timeout: api.Timeout, LookbackDelta: 5 * time.Minute, Parser: p})
	ours := &fast.Engine{Store: s, Rest: func(int) *promql.Engine { return engine }, Parser: p}
	for _, query := range []string{`sum by (job) (rate(x_total[5m]))`, `topk(5, rate(x_total[5m]))`, `sum by (job) (x_total)`, `max_over_time(x_total[1h])`} {
		b.Run("cistern/"+query, func(b *testing.B) {
			for b.Loop() {
				found, err := ours.Exec(context.Background(), fast.Query{Text: query, Start: start, End: benchEnd, Step: time.Minute, Lookback: 5 * time.Minute})
				if err != nil {
					b.Fatal(err)
				}
				found.Close()
			}
		})
		b.Run("cisternEngine/"+query, func(b *testing.B) {
			ours.Off = true
			defer func() { ours.Off = false }()
			for b.Loop() {
				found, err := ours.Exec(context.Background(), fast.Query{Text: query, Start: start, End: benchEnd, Step: time.Minute, Lookback: 5 * time.Minute})
				if err != nil {
					b.Fatal(err)
				}
				found.Close()
			}
		})
		b.Run("prometheus/"+query, func(b *testing.B) {
			for b.Loop() {
				q, err := engine.NewRangeQuery(context.Background(), prom, nil, query, start, benchEnd, time.Minute)
				if err != nil {
					b.Fatal(err)
				}
				if r := q.Exec(context.Background()); r.Err != nil {
					b.Fatal(r.Err)
				}
				q.Close()
			}
		})
	}
}
