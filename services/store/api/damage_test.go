package api

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/store/tsdb"
)

// What is damaged is left out, the rest is answered, and every route that reads samples says so.
func TestDamageIsTold(t *testing.T) {
	folder := t.TempDir()
	s, err := tsdb.Open(folder, tsdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{store: s}
	for i := range 600 {
		f.put(t, sample(t, i, "g", float64(i%7)), sample(t, i, "latency", []float64{0.1, 0.2}))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	blocks, _ := filepath.Glob(filepath.Join(folder, "blocks", "*.block"))
	for _, name := range blocks {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for i := 90; i < len(text)*3/4; i += 50 { // the samples of both series
			text[i] ^= 0xff
		}
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err = tsdb.Open(folder, tsdb.Options{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	fresh := &fixture{s, http.NewServeMux()}
	New(s, "test").Register(fresh.mux)
	for _, c := range [][]string{
		{"/api/v1/query", "query", "g", "time", at(599)}, {"/api/v1/query", "query", "sum(rate(g[5m]))", "time", at(599)},
		{"/api/v1/query_range", "query", "deriv(g[5m])", "start", at(0), "end", at(599), "step", "60"},
		{"/api/v1/query", "query", "histogram_count(sum(increase(latency[5m])))", "time", at(599)},
		{"/api/v1/histogram/quantiles", "query", "latency", "start", at(7), "end", at(599), "step", "47"},
	} {
		if got := fresh.body(t, c[0], c[1:]...); !strings.Contains(got, `"warnings":["block`) {
			t.Errorf("%v: %s", c, got)
		}
	}
}
