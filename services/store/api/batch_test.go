package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"

	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/value"
)

type batchAnswer struct {
	Time    float64
	Results []struct {
		Set       string
		Labels    []map[string]string
		Unit      string
		PerSecond bool
		Values    []*float64
		NaN       []int `json:"nan"`
		Inf       []int `json:"inf"`
		NInf      []int `json:"ninf"`
		Error     string
		ErrorType string
		Later     bool
	}
}

func (f *fixture) batch(t testing.TB, body any) (int, batchAnswer) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/query_batch", bytes.NewReader(text)))
	var a batchAnswer
	if w.Code == http.StatusOK {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			t.Fatal(err, w.Body)
		}
	}
	return w.Code, a
}

type query struct {
	Query string `json:"query"`
	Known string `json:"known,omitempty"`
}

func TestBatch(t *testing.T) {
	f := newFixture(t)
	f.put(t, sample(t, 10, "load", 1.5, "host", "a"), sample(t, 10, "load", 2.0, "host", `b"ü`), sample(t, 10, "odd", math.Inf(1), "n", "1"),
		sample(t, 10, "odd", math.Inf(-1), "n", "2"), sample(t, 10, "time", []float64{1, 2}))
	ask := func(queries ...query) batchAnswer {
		t.Helper()
		code, a := f.batch(t, map[string]any{"queries": queries, "time": began.Unix() + 11})
		if code != 200 || len(a.Results) != len(queries) {
			t.Fatal(code, a)
		}
		return a
	}
	a := ask(query{Query: "load"}, query{Query: "nothing"}, query{Query: "odd"}, query{Query: "1+1"}, query{Query: "time"}, query{Query: "odd * 0"},
		query{Query: "load{"}, query{Query: "load[5m]"}, query{Query: " "}, query{Query: "histogram_count(time)"})
	if got := a.Results[0]; !reflect.DeepEqual(got.Labels, []map[string]string{{"__name__": "load", "host": "a"}, {"__name__": "load", "host": `b"ü`}}) ||
		*got.Values[0] != 1.5 || *got.Values[1] != 2 {
		t.Errorf("%+v", got)
	}
	if got := a.Results[1]; len(got.Values) != 0 || got.Labels == nil || got.Error != "" {
		t.Errorf("%+v", got)
	}
	if got := a.Results[2]; got.Values[0] != nil || !reflect.DeepEqual(got.Inf, []int{0}) || !reflect.DeepEqual(got.NInf, []int{1}) {
		t.Errorf("%+v", got)
	}
	if got := a.Results[3]; len(got.Labels) != 1 || len(got.Labels[0]) != 0 || *got.Values[0] != 2 {
		t.Errorf("%+v", got)
	}
	if got := a.Results[4]; len(got.Values) != 0 || got.Error != "" {
		t.Errorf("a histogram: %+v", got)
	}
	if got := a.Results[5]; !reflect.DeepEqual(got.NaN, []int{0, 1}) {
		t.Errorf("%+v", got)
	}
	for i, want := range map[int]string{6: "parse error", 7: "gives a range vector", 8: "is missing"} {
		if got := a.Results[i]; got.ErrorType != "bad_data" || !strings.Contains(got.Error, want) {
			t.Errorf("%+v", got)
		}
	}
	if got := a.Results[9]; len(got.Values) != 1 || *got.Values[0] != 2 {
		t.Errorf("%+v", got)
	}

	// The series that are known are not named again; others are.
	again := ask(query{"load", a.Results[0].Set}, query{"nothing", a.Results[1].Set}, query{"odd", a.Results[0].Set})
	if again.Results[0].Labels != nil || again.Results[1].Labels != nil || again.Results[2].Labels == nil || len(again.Results[0].Values) != 2 {
		t.Errorf("%+v", again)
	}
	f.put(t, sample(t, 11, "load", 3.0, "host", "c"), sample(t, -200, "old", 4.0, "n", "1"), sample(t, -289, "older", 5.0, "n", "1"), sample(t, -288, "older", 6.0, "n", "2"),
		sample(t, 9, "ended", 7.0), sample(t, 11, "ended", math.Float64frombits(value.StaleNaN)))
	more := ask(query{"load", a.Results[0].Set})
	if len(more.Results[0].Labels) != 3 || more.Results[0].Set == a.Results[0].Set {
		t.Errorf("%+v", more)
	}
	// As single queries say it.
	for _, expression := range []string{"load", "sum(load)", "load > 2", "rate(load[1m])", "absent(x)", "old", "older", "load offset 1s", "ended", "{host=~\".+\"}"} {
		single := f.get("/api/v1/query", "query", expression, "time", fmt.Sprint(began.Unix()+11))
		var want struct {
			Data struct {
				Result []struct {
					Metric map[string]string
					Value  [2]any
				}
			}
		}
		if err := json.Unmarshal(single.Body.Bytes(), &want); err != nil {
			t.Fatal(err)
		}
		got := ask(query{Query: expression}).Results[0]
		if len(got.Labels) != len(want.Data.Result) {
			t.Errorf("%s: %+v, %s", expression, got, single.Body)
			continue
		}
		for _, one := range want.Data.Result {
			if i := slices.IndexFunc(got.Labels, func(l map[string]string) bool { return reflect.DeepEqual(l, one.Metric) }); i < 0 || fmt.Sprint(*got.Values[i]) != one.Value[1] {
				t.Errorf("%s: %+v, %v", expression, got, one)
			}
		}
	}
}

func TestBadBatches(t *testing.T) {
	f := newFixture(t)
	for _, body := range []any{"x", map[string]any{"queries": 7}, map[string]any{"queries": make([]query, maxBatch+1)}, map[string]any{"queries": []query{}, "time": 1e12}, map[string]any{"queries": []query{}, "time": -1e10}} {
		if code, _ := f.batch(t, body); code != 400 {
			t.Errorf("%.40v: %d", body, code)
		}
	}
	if code, a := f.batch(t, map[string]any{"queries": []query{}}); code != 200 || len(a.Results) != 0 {
		t.Errorf("%d %+v", code, a)
	}
}

func BenchmarkBatch(b *testing.B) {
	f := newFixture(b)
	const rules, each = 500, 40
	queries := make([]query, rules)
	for r := range rules {
		for i := range each {
			f.put(b, sample(b, 10, "load", float64(i), "group", fmt.Sprintf("g%d", r), "instance", fmt.Sprintf("i%d", i)))
		}
		queries[r].Query = fmt.Sprintf(`load{group="g%d"}`, r)
	}
	body := map[string]any{"queries": queries, "time": began.Unix() + 11}
	_, a := f.batch(b, body)
	for r := range queries {
		queries[r].Known = a.Results[r].Set
	}
	for b.Loop() {
		if _, a = f.batch(b, body); a.Results[0].Labels != nil {
			b.Fatal("labels")
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/rules, "µs/rule")
}

// What values are measured in comes with the labels, and again when it is another.
func TestBatchHasUnits(t *testing.T) {
	f := newFixture(t)
	f.put(t, sample(t, 10, "wait", 1.5), sample(t, 9, "sent_bytes_total", 1.0), sample(t, 10, "sent_bytes_total", 2.0))
	ask := func(queries ...query) []string {
		t.Helper()
		_, a := f.batch(t, map[string]any{"queries": queries, "time": began.Unix() + 11})
		var said []string
		for i, one := range a.Results {
			said = append(said, fmt.Sprintf("%d %s %v", len(one.Labels), one.Unit, one.PerSecond))
			queries[i].Known = one.Set
		}
		return said
	}
	queries := []query{{Query: "wait"}, {Query: "rate(sent_bytes_total[1m])"}}
	if said := ask(queries...); !slices.Equal(said, []string{"1  false", "1 bytes true"}) {
		t.Errorf("%q", said)
	}
	if said := ask(queries...); !slices.Equal(said, []string{"0  false", "0  false"}) {
		t.Errorf("%q", said)
	}
	if err := f.store.SetMeanings([]tsdb.Meaning{{Name: "wait", Unit: "ms"}}); err != nil {
		t.Fatal(err)
	}
	if said := ask(queries...); !slices.Equal(said, []string{"1 milliseconds false", "0  false"}) {
		t.Errorf("%q", said)
	}
}
