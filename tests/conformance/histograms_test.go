package conformance

// Cistern's own histograms: the fast path against the engine, and the histogram routes against merging one by one.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/api"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

type second struct {
	t int64 // ms
	h *histogram.Histogram
}

// latencies is a store with histograms of a few series, in blocks and in memory, some late, with gaps.
func latencies(t *testing.T, random *rand.Rand) (*tsdb.Store, map[string][]second) {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return end.Add(time.Minute) }, OutOfOrder: 6 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	all := map[string][]second{}
	var batch []tsdb.Sample
	for at := begin.UnixMilli(); at < end.UnixMilli(); at += 1000 {
		for i := range 4 {
			if random.IntN(20) == 0 || i == 3 && (at/600_000)%2 == 0 {
				continue
			}
			h := &histogram.Histogram{}
			for range 1 + random.IntN(20) {
				_ = h.Insert(0.05*math.Exp(random.NormFloat64()*0.7)*float64(i+1), 1)
			}
			host := fmt.Sprintf("h%d", i)
			key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "latency"}, {Name: "host", Value: host}, {Name: "zone", Value: fmt.Sprint(i % 2)}})
			if err != nil {
				t.Fatal(err)
			}
			all[host] = append(all[host], second{at, h})
			batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: at, Histogram: h})
		}
		if len(batch) > 2000 {
			late := batch[:len(batch)/50]
			if _, err := s.Ingest(context.Background(), "test", batch[len(late):], journal.Buffered); err != nil {
				t.Fatal(err)
			}
			if random.IntN(3) == 0 {
				if _, err := s.Flush(); err != nil {
					t.Fatal(err)
				}
			}
			batch = append(batch[:0], late...)
			for i := range late { // what was late enough comes for good
				if late[i].Time < at-1_200_000 {
					t.Fatal("a sample is kept back too long")
				}
			}
			if _, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil {
				t.Fatal(err)
			}
			batch = batch[:0]
		}
	}
	if _, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil {
		t.Fatal(err)
	}
	return s, all
}

func TestCisternHistograms(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 2))
	g := generator{random}
	s, all := latencies(t, random)
	p := parser.NewParser(parser.Options{})
	rest := promql.NewEngine(promql.EngineOpts{MaxSamples: 10_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, Parser: p,
		EnableAtModifier: true, EnableNegativeOffset: true, NoStepSubqueryIntervalFn: func(int64) int64 { return 1000 }})
	by := map[string]int{}
	for range 150 {
		one := g.one("rate", "rate", "increase", "sum_over_time") + "(latency" + g.one("", `{zone="1"}`, `{host=~"h[12]"}`) + "[" +
			g.one("1m", "5m", "90s", "47s", "30m", "1001ms") + "]" + g.one("", "", " offset 3m") + ")"
		if random.IntN(3) > 0 {
			one = "sum" + g.one("", " by (zone)", " without (host)") + " (" + one + ")"
		}
		one = g.one("histogram_quantile(0.99, ", "histogram_quantile(0.3712, ", "histogram_count(", "histogram_avg(", "histogram_fraction(0.05, 0.1, ", "sum(", "(") + one + ")"
		q := fast.Query{Text: one, Start: begin.Add(time.Duration(random.Int64N(int64(2 * time.Hour)))).Truncate(100 * time.Millisecond), Lookback: 5 * time.Minute}
		q.End = q.Start
		if random.IntN(3) > 0 {
			q.Step = []time.Duration{time.Minute, 15 * time.Second, 47 * time.Second, 700 * time.Millisecond, 10 * time.Minute}[random.IntN(5)]
			q.End = q.Start.Add(min(time.Duration(random.Int64N(int64(time.Hour))), 300*q.Step))
		}
		var replies [2]reply
		for i, off := range []bool{false, true} {
			e := &fast.Engine{Store: s, Rest: func(int) *promql.Engine { return rest }, Parser: p, Off: off}
			answer, err := e.Exec(context.Background(), q)
			if err != nil {
				t.Fatal(one, err)
			}
			replies[i] = replyOf(answer.Value)
			if q.Step == 0 {
				// PromQL does not say in which order an instant answer is, and a window that is empty for one series shows it.
				slices.SortStableFunc(replies[i].list, func(a, b result) int { return strings.Compare(a.labels, b.labels) })
			}
			if !off {
				by[answer.By]++
			}
			answer.Close()
		}
		if complaint := differ(replies[0], replies[1]); complaint != "" {
			t.Errorf("%s from %d to %d by %s: %s", one, q.Start.UnixMilli(), q.End.UnixMilli(), q.Step, complaint)
		}
	}
	t.Logf("evaluated by %v", by)
	if by["engine"] > 0 {
		t.Error("some were left to the engine")
	}

	// The routes, against merging one by one.
	mux := http.NewServeMux()
	api.New(s, "test").Register(mux)
	for range 40 {
		step := 1 + random.Int64N(2000)
		start := begin.Unix() + random.Int64N(7200)
		n := 1 + random.Int64N(30)
		r := httptest.NewRequest("GET", fmt.Sprintf("/api/v1/histogram/heatmap?query=latency&start=%d&end=%d&step=%d", start, start+n*step, step), nil)
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, r)
		var body struct {
			Columns []struct {
				Time float64
				Bins [][3]float64
			}
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
			t.Fatal(err, w.Body)
		}
		want := map[int64]*histogram.Histogram{}
		for _, list := range all {
			for _, one := range list {
				if i := (one.t/1000 - start) / step; one.t/1000 >= start && i < n {
					if want[start+i*step] == nil {
						want[start+i*step] = &histogram.Histogram{}
					}
					want[start+i*step].Merge(one.h)
				}
			}
		}
		if len(body.Columns) != len(want) {
			t.Fatalf("from %d by %d: %d columns, want %d", start, step, len(body.Columns), len(want))
		}
		for _, c := range body.Columns {
			h := want[int64(c.Time)]
			same := h != nil && len(h.Bins) == len(c.Bins)
			for i := range c.Bins {
				if same {
					from, to := h.Bins[i].Bounds()
					same = c.Bins[i] == [3]float64{from, to, float64(h.Counts[i])}
				}
			}
			if !same {
				t.Fatalf("from %d by %d: the column at %v differs", start, step, c.Time)
			}
		}
	}
}
