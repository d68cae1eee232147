package api

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

type changedAnswer struct {
	Compared, Of, Changed int
	Series                []struct {
		Metric               map[string]string
		Measure              string
		Before, After, Score float64
	}
	Began, Ended struct {
		Count  int
		Series []map[string]string
	}
	Baseline struct{ Start, End float64 }
}

// changing is a fixture in which one series in a hundred changes ten minutes after the beginning.
func changing(t testing.TB, series int) *fixture {
	f := newFixture(t)
	for second := 0; second < 720; second += 6 {
		for i := range series {
			v := float64(10 + (second/6*7+i)%5)
			if second >= 600 && i%100 == 7 {
				v += 100
			}
			f.put(t, sample(t, second, "x", v, "i", fmt.Sprint(i)))
		}
		if second >= 600 {
			f.put(t, sample(t, second, "new", 1.0))
		}
	}
	return f
}

func TestChanged(t *testing.T) {
	f := changing(t, 200)
	for _, more := range [][]string{nil, {"limit", "1"}} {
		var answer changedAnswer
		text := f.body(t, "/api/v1/changed", append([]string{"query", `{__name__!=""}`, "start", at(600), "end", at(720)}, more...)...)
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Compared != 201 || answer.Of != 201 || answer.Changed != 2 || len(answer.Series) != 2-len(more)/2 || answer.Began.Count != 1 || answer.Began.Series[0]["__name__"] != "new" || answer.Ended.Count != 0 {
			t.Errorf("%s", text)
		}
		if one := answer.Series[0]; one.Metric["i"] != "107" && one.Metric["i"] != "7" || one.Measure != "value" || one.Before != 12 || one.After != 112 || one.Score < 50 {
			t.Errorf("%+v", one)
		}
		if s := float64(began.Unix()); answer.Baseline.Start != s+120 || answer.Baseline.End != s+600 {
			t.Errorf("%+v", answer.Baseline)
		}
	}
	// The same hours last week: there was nothing, so everything began.
	var answer changedAnswer
	if err := json.Unmarshal([]byte(f.body(t, "/api/v1/changed", "query", "x", "start", at(600), "end", at(720), "against", "week")), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Compared != 200 || answer.Changed != 0 || answer.Began.Count != 200 || len(answer.Began.Series) != changedNamed {
		t.Errorf("%+v", answer)
	}
	for _, bad := range []struct{ more, path string }{{"query=x&start=5", "end"}, {"query=x&start=5&end=6", "end"}, {"query=x&start=5&end=9999999", "end"}, {"query=x&start=5&end=99&against=x", "against"},
		{"query=x&start=5&end=99&limit=100000", "limit"}, {"start=5&end=99", "query"}} {
		if bad.path == "end" && strings.Contains(bad.more, "9999999") {
			bad.more += "&against=week"
		}
		w := f.get("/api/v1/changed", pairs(bad.more)...)
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), fmt.Sprintf(`"errors":[{"path":%q`, bad.path)) {
			t.Errorf("%s: %d %s", bad.more, w.Code, w.Body)
		}
	}
}

// As a stream it ends with the same answer; what fails is said in it.
func TestChangedAsAStream(t *testing.T) {
	f := changing(t, 100)
	ask := func(query string) (events []string) {
		r := httptest.NewRequest("GET", fmt.Sprintf("/api/v1/changed?query=%s&start=%s&end=%s", query, at(600), at(720)), nil)
		r.Header.Set("Accept", "text/event-stream")
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, r)
		if got := w.Header().Get("Content-Type"); got != "text/event-stream" {
			t.Fatal(got, w.Body)
		}
		for lines := bufio.NewScanner(w.Body); lines.Scan(); {
			events = append(events, lines.Text())
		}
		return events
	}
	events := ask("x")
	last := events[len(events)-2]
	if events[len(events)-3] != "event: done" || "data: "+f.body(t, "/api/v1/changed", "query", "x", "start", at(600), "end", at(720)) != last {
		t.Errorf("%q", events)
	}
	f.mux = http.NewServeMux()
	a := NewWith(f.store, "test", Options{Limits: Limits(DefaultMemory, 1<<20, 8<<10, 0)})
	a.Register(f.mux)
	if events := ask("x"); events[0] != "event: problem" || !strings.Contains(events[1], "limits.query_mib") {
		t.Errorf("%q", events)
	}
	if now := a.pool.Status(); now.Running != 0 || now.Bytes != 0 {
		t.Errorf("%+v", now)
	}
}
