package api

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// BenchmarkHistogramQueries asks for windows of an hour and a half: of a week of one histogram a minute, and of a day and a
// week of one a second.
func BenchmarkHistogramQueries(b *testing.B) {
	const window = 5400
	for _, c := range []struct {
		name             string
		every, n, values int
	}{{"week of minutes", 60, 7 * 1440, 120_000}, {"day of seconds", 1, 86_400, 2000}, {"week of seconds", 1, 7 * 86_400, 2000}} {
		b.Run(c.name, func(b *testing.B) {
			end := time.Now().Unix() / window * window
			start := end - int64(c.every*c.n)
			s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			var base histogram.Accumulator
			r := rand.New(rand.NewPCG(1, 2))
			for range 1_000_000 {
				_ = base.Insert(0.02*math.Exp(1.3*r.NormFloat64()), 1)
			}
			shape := base.Take()
			key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "latency"}})
			if err != nil {
				b.Fatal(err)
			}
			for i := range c.n {
				h := &histogram.Histogram{}
				for k, bin := range shape.Bins {
					mean := float64(shape.Counts[k]) * float64(c.values) / 1e6
					h.Add(bin, uint64(max(0, math.Floor(mean+math.Sqrt(mean)*r.NormFloat64()+r.Float64()))))
				}
				at := (start + int64(i*c.every)) * 1000
				if _, err := s.Ingest(b.Context(), "bench", []tsdb.Sample{{Key: key, Kind: tsdb.Histogram, Time: at, Histogram: h}}, journal.Buffered); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := s.Flush(); err != nil {
				b.Fatal(err)
			}
			mux := http.NewServeMux()
			New(s, "bench").Register(mux)
			for _, q := range []struct {
				route, more string
				shift       int64
			}{{"quantiles", "&q=0.5&q=0.9&q=0.99", 0}, {"heatmap", "", 0}, {"quantiles", "&q=0.5&q=0.9&q=0.99", 1237}} {
				b.Run(fmt.Sprintf("%s+%d", q.route, q.shift), func(b *testing.B) {
					target := fmt.Sprintf("/api/v1/histogram/%s?query=latency&start=%d&end=%d&step=%d%s", q.route, start+q.shift, end-1, window, q.more)
					least, all, runs := time.Duration(math.MaxInt64), time.Duration(0), 0
					for b.Loop() {
						answer := httptest.NewRecorder()
						before := cpu()
						if mux.ServeHTTP(answer, httptest.NewRequest("GET", target, nil)); answer.Code != http.StatusOK {
							b.Fatal(answer.Body)
						}
						spent := cpu() - before
						least, all, runs = min(least, spent), all+spent, runs+1
					}
					// What does not depend on who else uses the machine, or little.
					b.ReportMetric(all.Seconds()*1000/float64(runs), "CPU-ms/op")
					b.ReportMetric(least.Seconds()*1000, "least-CPU-ms")
				})
			}
		})
	}
}

// cpu is what this process has used.
func cpu() time.Duration {
	var now syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &now)
	return time.Duration(now.Utime.Nano() + now.Stime.Nano())
}
