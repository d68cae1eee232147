package api

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// BenchmarkWhy asks why of a box on the heatmap of 1,000 series over an hour, with a histogram every ten seconds: while all of
// it is in memory, and when it is in a block. ./build.sh bench why prints it.
func BenchmarkWhy(b *testing.B) {
	const series, every, hour = 1000, 10, 3600
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	start := time.Now().Unix()/hour*hour - 2*hour
	r := rand.New(rand.NewPCG(1, 2))
	keys := make([][]byte, series)
	for i := range keys {
		if keys[i], err = tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "latency"}, {Name: "host", Value: fmt.Sprint("h", i/20)}, {Name: "route", Value: fmt.Sprint("/r", i%20)},
			{Name: "version", Value: fmt.Sprint("v", r.IntN(4))}, {Name: "instance", Value: fmt.Sprint(i)}}); err != nil {
			b.Fatal(err)
		}
	}
	for at := start; at < start+hour; at += every {
		batch := make([]tsdb.Sample, series)
		for i := range batch {
			h := &histogram.Histogram{}
			for range 20 {
				_ = h.Insert(0.02*math.Exp(1.3*r.NormFloat64()), 1)
			}
			batch[i] = tsdb.Sample{Key: keys[i], Kind: tsdb.Histogram, Time: at * 1000, Histogram: h}
		}
		if _, err := s.Ingest(b.Context(), "bench", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	New(s, "bench").Register(mux)
	target := fmt.Sprintf("/api/v1/why?query=latency&from=%d&until=%d&start=%d&end=%d&above=0.1", start, start+hour, start+1307, start+2111)
	for _, where := range []string{"memory", "block"} {
		if where == "block" {
			if _, err := s.Flush(); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(where, func(b *testing.B) { reportP99(b, mux, target) })
	}
}

// reportP99 asks again and again, and reports the 99th percentile of what it took.
func reportP99(b *testing.B, mux http.Handler, target string) {
	var took []float64
	before := cpu()
	for b.Loop() {
		began := time.Now()
		answer := httptest.NewRecorder()
		if mux.ServeHTTP(answer, httptest.NewRequest("GET", target, nil)); answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
		took = append(took, time.Since(began).Seconds()*1000)
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)*99/100], "p99-ms")
	b.ReportMetric((cpu()-before).Seconds()*1000/float64(len(took)), "CPU-ms/op") // which does not depend on who else uses the machine, or little
}
