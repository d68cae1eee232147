package api

import (
	"bytes"
	"math"
	"strconv"
	"strings"
	"testing"

	"cistern/services/histogram"
	"cistern/services/platform/golden"
)

// columnsQueries are those whose answers the golden files are, by their names. They must never change.
var columnsQueries = map[string][]string{
	"series": {"/api/v1/columns", "query", "last_over_time(g[1s])", "start", at(-1), "end", at(2), "step", "1"},
	"table":  {"/api/v1/histogram/quantiles", "query", "latency", "start", at(0), "end", at(10), "step", "5", "q", "0", "q", "1", "format", "columns"},
	"bins":   {"/api/v1/histogram/heatmap", "query", "latency", "start", at(0), "end", at(10), "step", "5", "format", "columns"},
	"rows":   {"/api/v1/histogram/heatmap", "query", "latency", "start", at(0), "end", at(10), "step", "5", "format", "columns", "rows", "2", "min", "0", "max", "2"},
}

func columnsAnswers(t *testing.T) golden.Files {
	t.Helper()
	f := newFixture(t)
	f.latency(t)
	f.put(t, sample(t, 0, "g", 1.5, "host", "a"), sample(t, 2, "g", math.Inf(1), "host", "a"))
	if w := f.get("/api/v1/columns", "query", "latency", "start", at(0), "end", at(1), "step", "1"); w.Code != 422 || !strings.Contains(w.Body.String(), "heatmap") {
		t.Error(w.Code, w.Body)
	}
	files := golden.Files{"start": strconv.AppendInt(nil, began.UnixMilli()-1000, 10)}
	for name, query := range columnsQueries {
		w := f.get(query[0], query[1:]...)
		if w.Code != 200 || w.Header().Get("Content-Type") != columnsType {
			t.Fatal(query, w.Code, w.Header(), w.Body)
		}
		files[name] = w.Body.Bytes()
	}
	return files
}

func checkColumns(t *testing.T, files golden.Files) {
	t.Helper()
	read := func(name string) columnsReader { return columnsReader{bytes.NewReader(files[name]), t} }
	r := read("series")
	start, step, n := r.header(kindSeries)
	if strconv.FormatInt(start, 10) != string(files["start"]) || step != 1000 || n != 4 || r.u() != 1 || r.u() != 2 || r.text() != "__name__" || r.text() != "g" || r.text() != "host" || r.text() != "a" {
		t.Fatal(start, step, n)
	}
	if a, b, c, d := r.f(), r.f(), r.f(), r.f(); a == a || b != 1.5 || c == c || !math.IsInf(d, 1) || r.Len() != 0 {
		t.Fatal(a, b, c, d, r.Len())
	}
	r = read("table")
	if _, _, n := r.header(kindTable); n != 2 || r.u() != 3 || r.text() != "count" || r.f() != 16 || !math.IsNaN(r.f()) || r.text() != "q0" || r.f() != 0.1 {
		t.Fatal("table")
	}
	r = read("bins")
	if _, _, n := r.header(kindBins); n != 2 || r.u() != 1 || r.u() != 0 || r.u() != 3 {
		t.Fatal("bins")
	}
	bin := -int(histogram.MaxBin)
	for _, want := range [][2]float64{{0.1, 8}, {0.2, 4}, {3, 4}} {
		bin += int(r.u())
		if from, _ := histogram.Bin(bin).Bounds(); from != want[0] || r.u() != uint64(want[1]) {
			t.Fatal(from, want)
		}
	}
	r = read("rows")
	if _, _, n := r.header(kindRows); n != 2 || r.u() != 2 || r.f() != 0 || r.f() != 1 || r.f() != 2 || r.u() != 1 || r.u() != 0 || r.f() != 12 || r.f() != 4 || r.Len() != 0 {
		t.Fatal("rows")
	}
}

func TestColumns(t *testing.T) { checkColumns(t, columnsAnswers(t)) }

// Answers that other versions gave are read as they were: a page that was loaded before an update asks the store after it.
func TestGoldenColumns(t *testing.T) { golden.Check(t, "columns", columnsAnswers, checkColumns) }
