package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// with is the fixture's store under other settings.
func (f *fixture) with(o Options) *fixture {
	other := &fixture{f.store, http.NewServeMux()}
	NewWith(f.store, "test", o).Register(other.mux)
	return other
}

func TestSubqueryWithoutAStep(t *testing.T) {
	f := newFixture(t)
	for second := range 601 {
		f.put(t, sample(t, second, "x", float64(second)))
	}
	if got := f.vector(t, "count_over_time(x[10m:])", 600); !strings.HasSuffix(got, " 10") {
		t.Errorf("%s, want one a minute", got)
	}
	o := DefaultOptions(DefaultMemory)
	o.Interval = 10 * time.Second
	if got := f.with(o).vector(t, "count_over_time(x[10m:])", 600); !strings.HasSuffix(got, " 60") {
		t.Errorf("%s, want one in ten seconds", got)
	}
}

func TestExperimental(t *testing.T) {
	f := newFixture(t)
	for second := range 601 {
		f.put(t, sample(t, second, "x", float64(second)))
	}
	functions, durations := DefaultOptions(DefaultMemory), DefaultOptions(DefaultMemory)
	functions.ExperimentalFunctions, durations.DurationExpressions = true, true
	for query, o := range map[string]Options{"mad_over_time(x[5m])": functions, "count_over_time(x[2 * 1m])": durations} {
		if w := f.get("/api/v1/query", "query", query, "time", at(600)); w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
		if w := f.with(o).get("/api/v1/query", "query", query, "time", at(600)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"value"`) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

// Who has asked: by the socket nginx says it, over the network nobody can say to be another.
func TestCallers(t *testing.T) {
	for _, c := range []struct{ remote, user, from, want string }{
		{"@", "ann", "192.0.2.1", "user ann"}, {"@", "", "192.0.2.1", "192.0.2.1"}, {"", "", "", "this machine"},
		{"192.0.2.7:1234", "ann", "192.0.2.1", "192.0.2.7"}, {"[2001:db8::1]:1", "", "", "2001:db8::1"},
	} {
		r := httptest.NewRequest("GET", "/", nil)
		r.RemoteAddr = c.remote
		r.Header.Set("X-Cistern-User", c.user)
		r.Header.Set("X-Forwarded-For", c.from)
		if got := callerOf(r); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
