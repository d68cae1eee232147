package api

import (
	"encoding/json"
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

type overColumn struct {
	Time, Within       int64
	Count, Over, Total float64
}

func (f *fixture) over(t *testing.T, from, to int64, step, limit string) []overColumn {
	t.Helper()
	w := f.get("/api/v1/histogram/over", "query", "latency", "start", fmt.Sprint(from), "end", fmt.Sprint(to), "step", step, "limit", limit)
	var answer struct{ Columns []overColumn }
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatal(w.Code, w.Body)
	}
	return answer.Columns
}

// Against the measurements themselves: what is beyond a bound of a bin is exact, before and after a flush. A limit that divides a
// bin is off by less than is said, and not by nothing.
func TestOverIsExactAgainstTheMeasurements(t *testing.T) {
	f := newFixture(t)
	r := rand.New(rand.NewPCG(7, 8))
	const seconds, step = 300, 60
	windows := make([][]float64, seconds/step)
	for i := range seconds {
		values := make([]float64, 40)
		for k := range values {
			values[k] = 0.2 * math.Exp(0.5*r.NormFloat64())
			if k == 0 {
				values[k] = 0.3 // which is not under 0.3
			}
		}
		windows[i/step] = append(windows[i/step], values...)
		half := len(values) / 2
		f.put(t, sample(t, i, "latency", values[:half], "host", "a"), sample(t, i, "latency", values[half:], "host", "b"))
	}
	divided := 0
	check := func() {
		t.Helper()
		for _, limit := range []float64{0.3, 0.05, 1.2, 0.305, 0.2777} {
			columns := f.over(t, began.Unix(), began.Unix()+seconds, fmt.Sprint(step), fmt.Sprint(limit))
			if len(columns) != len(windows) {
				t.Fatalf("%g: %v", limit, columns)
			}
			total := 0.0
			bin, _ := histogram.BinOf(limit)
			from, to := bin.Bounds()
			for i, column := range columns {
				above, inside := 0, int64(0)
				for _, v := range windows[i] {
					if v >= limit {
						above++
					}
					if limit != from && v >= from && v < to {
						inside++
					}
				}
				total += column.Over
				off := math.Abs(column.Over - float64(above))
				if column.Count != float64(len(windows[i])) || column.Total != total || column.Within != inside || off > 0 && off >= float64(inside) {
					t.Errorf("above %g in window %d: %+v, want %d, and %d in the bin", limit, i, column, above, inside)
				}
				divided += int(inside)
			}
		}
	}
	check()
	if _, err := f.store.Flush(); err != nil {
		t.Fatal(err)
	}
	check()
	if divided == 0 {
		t.Error("no limit divided a bin")
	}
	// Both limits in one bin leave the values of it in doubt once.
	both := f.get("/api/v1/histogram/over", "query", "latency", "start", at(0), "end", at(seconds), "step", fmt.Sprint(seconds), "above", "0.302", "below", "0.306")
	one := f.over(t, began.Unix(), began.Unix()+seconds, fmt.Sprint(seconds), "0.302")
	var answer struct{ Columns []overColumn }
	if err := json.Unmarshal(both.Body.Bytes(), &answer); err != nil || len(answer.Columns) != 1 || len(one) != 1 || answer.Columns[0].Within != one[0].Within {
		t.Error(both.Body, one)
	}
}

// BenchmarkObjective counts what was over a limit in 28 days, day by day, of twenty series with one histogram a minute each.
func BenchmarkObjective(b *testing.B) {
	const series, days = 20, 28
	end := time.Now().Unix() / 86_400 * 86_400
	start := end - days*86_400
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(9, 10))
	for at := start; at < end; at += 60 {
		var batch []tsdb.Sample
		for k := range series {
			key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "latency"}, {Name: "host", Value: fmt.Sprint(k)}})
			if err != nil {
				b.Fatal(err)
			}
			h := &histogram.Histogram{}
			for range 40 {
				_ = h.Insert(0.1*math.Exp(0.5*r.NormFloat64()), 1)
			}
			batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: at * 1000, Histogram: h})
		}
		if _, err := s.Ingest(b.Context(), "bench", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	mux := http.NewServeMux()
	New(s, "bench").Register(mux)
	target := fmt.Sprintf("/api/v1/histogram/over?query=latency&start=%d&end=%d&step=86400&limit=0.3", start, end)
	var took []time.Duration
	for b.Loop() {
		answer := httptest.NewRecorder()
		from := time.Now()
		if mux.ServeHTTP(answer, httptest.NewRequest("GET", target, nil)); answer.Code != http.StatusOK {
			b.Fatal(answer.Body)
		}
		took = append(took, time.Since(from))
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds()*1000, "p50-ms")
	b.ReportMetric(took[len(took)*99/100].Seconds()*1000, "p99-ms")
}
