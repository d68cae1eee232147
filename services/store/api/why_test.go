package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestWhy(t *testing.T) {
	f := newFixture(t)
	f.latency(t)
	want := `{"inside":2,"outside":14,"series":2,"of":1,"labels":[{"label":"host","score":0,"of":2,"values":[{"value":"a","inside":2,"outside":10,"score":0},{"value":"b","inside":0,"outside":4,"score":0}]}]}`
	got := f.body(t, "/api/v1/why", "query", "latency", "start", at(2), "end", at(4), "from", at(0), "until", at(4), "above", "1")
	if got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	// With more of it the difference is certain.
	for i := range 100 {
		f.put(t, sample(t, 10+i, "latency", []float64{0.1, 0.1, 3}, "host", "a"), sample(t, 10+i, "latency", []float64{0.1, 0.1, 0.1}, "host", "b", "site", "x"))
	}
	var answer struct {
		Inside, Outside float64
		Of              int
		Labels          []struct {
			Label  string
			Score  float64
			Values []struct {
				Value           string
				Inside, Outside float64
				Score           float64
			}
		}
	}
	// Without from and until what lies around the box is what is above and below it.
	got = f.body(t, "/api/v1/why", "query", "latency", "start", at(10), "end", at(110), "above", "1", "below", "10")
	if err := json.Unmarshal([]byte(got), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Inside != 100 || answer.Outside != 500 || answer.Of != 2 || len(answer.Labels) != 2 || answer.Labels[0].Label != "host" || answer.Labels[0].Score < 0.5 {
		t.Errorf("%s", got)
	}
	if v := answer.Labels[0].Values[0]; v.Value != "a" || v.Inside != 100 || v.Outside != 200 || v.Score != answer.Labels[0].Score {
		t.Errorf("%s", got)
	}
	if v := answer.Labels[1].Values[0]; v.Value != "" || v.Inside != 100 { // those without a site
		t.Errorf("%s", got)
	}
	for _, bad := range []struct{ more, path string }{{"query=latency", "start"}, {"start=5&end=9", "query"}, {"query=latency&start=9&end=5", "end"}, {"query=latency&start=5&end=9&from=6", "from"},
		{"query=latency&start=5&end=9&until=8", "until"}, {"query=latency&start=5&end=9&above=x", "above"}, {"query=latency&start=5&end=9&above=2&below=1", "below"}, {"query=rate(x[1m])&start=5&end=9", "query"}} {
		w := f.get("/api/v1/why", pairs(bad.more)...)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), fmt.Sprintf(`"errors":[{"path":%q`, bad.path)) {
			t.Errorf("%s: %d %s", bad.more, w.Code, w.Body)
		}
	}
	// Native histograms are converted, and the answer says so.
	for i := range 5 {
		n := float64(i)
		f.put(t, nativeSample(t, i*10, native(0, 10*n, 20*n)))
	}
	got = f.body(t, "/api/v1/why", "query", "native", "start", at(0), "end", at(50), "above", "2")
	if got != `{"inside":80,"outside":40,"series":1,"of":0,"labels":[],"approximate":true}` {
		t.Error(got)
	}
}

// What one query may take holds here as well.
func TestWhyHasABudget(t *testing.T) {
	f := newFixture(t)
	f.mux = http.NewServeMux()
	a := NewWith(f.store, "test", Options{Limits: Limits(DefaultMemory, 1<<20, 64<<10, 0), Interval: time.Minute})
	a.Register(f.mux)
	for i := range 1000 {
		f.put(t, sample(t, 0, "latency", []float64{1}, "i", fmt.Sprint(i)))
	}
	w := f.get("/api/v1/why", "query", "latency", "start", at(0), "end", at(60))
	if w.Code != http.StatusUnprocessableEntity || !strings.Contains(w.Body.String(), "limits.query_mib") {
		t.Error(w.Code, w.Body)
	}
	if now := a.pool.Status(); now.Running != 0 || now.Bytes != 0 {
		t.Errorf("%+v", now)
	}
}
