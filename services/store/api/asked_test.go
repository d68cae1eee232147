package api

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// What does not notice that its time is up is answered all the same, and what it holds stays charged until it has ended.
func TestAnsweredAtTheDeadline(t *testing.T) {
	a := New(newFixture(t).store, "test")
	one, err := a.enter(httptest.NewRequest("GET", "/api/v1/query?timeout=0.05", nil))
	if err != nil {
		t.Fatal(err)
	}
	busy, discarded := make(chan struct{}), make(chan int, 1)
	_, err = timely(one, func(ctx context.Context) (int, error) {
		if err := one.budget.Charge(ctx, 1<<20, "rows"); err != nil {
			return 0, err
		}
		<-busy
		return 7, nil
	}, func(n int) { discarded <- n })
	if known := classify(err); known.kind != "timeout" || known.status != http.StatusServiceUnavailable || !strings.Contains(known.Error(), "within 50ms, which is its timeout") {
		t.Error(err)
	}
	one.end()
	if now := a.pool.Status(); now.Running != 1 || now.Bytes == 0 || now.Refused["deadline"] != 1 {
		t.Errorf("%+v", now)
	}
	close(busy)
	if n := <-discarded; n != 7 {
		t.Error(n)
	}
	for end := time.Now().Add(10 * time.Second); a.pool.Status().Running > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("its place was not given back")
		}
	}
	if now := a.pool.Status(); now.Bytes != 0 {
		t.Errorf("%+v", now)
	}
}

// The answer comes within a tenth of a second after the deadline. Half of them are looked at: a test that runs beside others
// is not always given a processor.
func TestHowLongAfterTheDeadline(t *testing.T) {
	a := New(newFixture(t).store, "test")
	var late []time.Duration
	busy := make(chan struct{})
	defer close(busy)
	for range 11 {
		one, err := a.enter(httptest.NewRequest("GET", "/api/v1/query?timeout=0.02", nil))
		if err != nil {
			t.Fatal(err)
		}
		_, err = timely(one, func(context.Context) (int, error) { <-busy; return 0, nil }, func(int) {})
		deadline, _ := one.ctx.Deadline()
		late = append(late, time.Since(deadline))
		if err == nil {
			t.Fatal("what never ends was answered")
		}
		one.end()
	}
	slices.Sort(late)
	if middle := late[len(late)/2]; middle > 100*time.Millisecond {
		t.Errorf("answered %v after the deadline", middle)
	}
}

// An error of ours in one query does not end the process.
func TestPanicInAQuery(t *testing.T) {
	a := New(newFixture(t).store, "test")
	one, err := a.enter(httptest.NewRequest("GET", "/api/v1/query", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer one.end()
	if _, err := timely(one, func(context.Context) (int, error) { panic("broken") }, func(int) {}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Error(err)
	}
}

// Every kind of request gives back what it was charged.
func TestNothingStaysCharged(t *testing.T) {
	f := newFixture(t)
	a := New(f.store, "test")
	f.mux = http.NewServeMux()
	a.Register(f.mux)
	f.latency(t)
	for second := range 100 {
		f.put(t, sample(t, second, "x", float64(second), "i", "1"))
	}
	times := []string{"start", at(0), "end", at(60), "step", "5"}
	for _, path := range []string{"query", "query_range", "columns", "series", "labels", "label/i/values", "histogram/quantiles", "histogram/modes", "histogram/distribution",
		"histogram/heatmap", "histogram/over", "status/tsdb", "sizes", "query_exemplars", "metrics", "metadata", "why"} {
		for _, query := range []string{"x", "latency", "rate(x[1m])", "x +", "deriv(x[1m]) * 2", "max_over_time(x[1y:1ms])", "latency * on() x"} {
			w := f.get("/api/v1/"+path, append(times, "query", query, "match[]", query, "label", "i", "limit", "1")...)
			if w.Code >= 500 {
				t.Errorf("%s of %s: %d %s", path, query, w.Code, w.Body)
			}
		}
	}
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/query_batch", strings.NewReader(`{"queries":[{"query":"x"},{"query":"deriv(x[1m])"},{"query":"max_over_time(x[1y:1ms])"},{"query":"latency"},{"query":"count(latency)"}]}`)))
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "limits.query_points") {
		t.Error(w.Code, w.Body)
	}
	if now := a.pool.Status(); now.Running != 0 || now.Bytes != 0 || now.Waiting != 0 {
		t.Errorf("%+v", now)
	}
	if now := a.pool.Status(); now.Refused["query_points"] == 0 {
		t.Errorf("%+v", now)
	}
}
