package api

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/value"
)

// Times are seconds after began, which is a whole minute not long ago.
var began = time.Now().Add(-20 * time.Minute).Truncate(time.Minute)

type fixture struct {
	store *tsdb.Store
	mux   *http.ServeMux
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	f := &fixture{s, http.NewServeMux()}
	New(s, "test").Register(f.mux)
	return f
}

func (f *fixture) put(t testing.TB, samples ...tsdb.Sample) {
	t.Helper()
	rejected, err := f.store.Ingest(context.Background(), "test", samples, journal.Buffered)
	if err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

func sample(t testing.TB, second int, name string, content any, pairs ...string) tsdb.Sample {
	t.Helper()
	labels := []tsdb.Label{{Name: tsdb.NameLabel, Value: name}}
	for i := 0; i < len(pairs); i += 2 {
		labels = append(labels, tsdb.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	key, err := tsdb.AppendKey(nil, labels)
	if err != nil {
		t.Fatal(err)
	}
	one := tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: began.Add(time.Duration(second) * time.Second).UnixMilli()}
	switch v := content.(type) {
	case float64:
		one.Value = v
	case []float64:
		one.Kind, one.Histogram = tsdb.Histogram, &histogram.Histogram{}
		for _, x := range v {
			if err := one.Histogram.Insert(x, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return one
}

func (f *fixture) get(path string, pairs ...string) *httptest.ResponseRecorder {
	form := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		form.Add(pairs[i], pairs[i+1])
	}
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest("GET", path+"?"+form.Encode(), nil))
	return w
}

func at(second int) string { return fmt.Sprint(began.Unix() + int64(second)) }

// vector runs an instant query and returns "labels value" lines.
func (f *fixture) vector(t *testing.T, query string, second int) string {
	t.Helper()
	w := f.get("/api/v1/query", "query", query, "time", at(second))
	var answer struct {
		Data struct {
			Result []struct {
				Metric map[string]string
				Value  [2]any
			}
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", query, w.Code, w.Body)
	}
	var lines []string
	for _, one := range answer.Data.Result {
		lines = append(lines, fmt.Sprintf("%v %v", one.Metric, one.Value[1]))
	}
	return strings.Join(lines, "\n")
}

func TestNumbers(t *testing.T) {
	f := newFixture(t)
	for i := range 120 {
		f.put(t, sample(t, i, "c_total", float64(i*10), "host", "a"), sample(t, i, "c_total", float64(i*5), "host", "b"))
		if i == 60 {
			if _, err := f.store.Flush(); err != nil { // half in a block
				t.Fatal(err)
			}
		}
	}
	f.put(t, sample(t, 10, "gone", 1.0), sample(t, 20, "gone", math.Float64frombits(value.StaleNaN)))
	for query, want := range map[string]string{
		`sum(rate(c_total[1m]))`:                  "map[] 15",
		`c_total{host="a"}`:                       "map[__name__:c_total host:a] 1190",
		`count_over_time(c_total{host=~"b"}[2m])`: "map[host:b] 120",
		`gone`: "",
	} {
		if got := f.vector(t, query, 119); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
	if got := f.vector(t, "gone", 15); got != "map[__name__:gone] 1" {
		t.Errorf("before its end: %q", got)
	}
	w := f.get("/api/v1/query_range", "query", `c_total{host="a"}`, "start", at(0), "end", at(2), "step", "1")
	want := fmt.Sprintf(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"__name__":"c_total","host":"a"},"values":[[%s,"0"],[%s,"10"],[%s,"20"]]}]}}`,
		at(0), at(1), at(2))
	if w.Body.String() != want {
		t.Errorf("%s\nwant %s", w.Body, want)
	}
}

func TestHistogramsInPromQL(t *testing.T) {
	f := newFixture(t)
	for i := range 60 {
		f.put(t, sample(t, i, "latency", []float64{0.011, 0.012, 0.5, 2}, "host", "a"), sample(t, i, "latency", []float64{0.011, 9}, "host", "b"))
	}
	for query, want := range map[string]string{
		`histogram_count(latency)`:                                                   "map[host:a] 4\nmap[host:b] 2",
		`histogram_count(sum(sum_over_time(latency[1m])))`:                           "map[] 360",
		`histogram_count(sum(rate(latency[30s])))`:                                   "map[] 6",
		`round(sum(histogram_count(increase(latency[30s]))))`:                        "map[] 180",
		`round(10000 * histogram_quantile(0.4, sum(latency)))`:                       "map[] 124",
		`histogram_quantile(1, sum(latency))`:                                        "map[] 9.1",
		`histogram_fraction(1, +Inf, sum(latency))`:                                  "map[] 0.3333333333333333",
		`round(10000 * histogram_quantile(0.25, sum(rate(latency{host="b"}[30s]))))`: "map[] 115",
	} {
		if got := f.vector(t, query, 59); got != want {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}

func TestHistogramRoutes(t *testing.T) {
	f := newFixture(t)
	for i := range 4 {
		f.put(t, sample(t, i, "latency", []float64{0.1, 0.2, 3}, "host", "a"), sample(t, i, "latency", []float64{0.1}, "host", "b"))
	}
	f.put(t, sample(t, 9, "latency", []float64{5}, "host", "a"), sample(t, 0, "number", 3.0))
	s := began.Unix()
	for _, c := range []struct{ path, more, want string }{
		{"heatmap", "step=2", fmt.Sprintf(`{"start":%d,"end":%d,"step":2,"columns":[{"time":%d,"bins":[[0.1,0.11,4],[0.2,0.21,2],[3,3.1,2]]},{"time":%d,"bins":[[0.1,0.11,4],[0.2,0.21,2],[3,3.1,2]]},{"time":%d,"bins":[[5,5.1,1]]}]}`, s, s+9, s, s+2, s+8)},
		{"quantiles", "step=10&q=1&q=0", fmt.Sprintf(`{"columns":[{"time":%d,"count":17,"quantiles":[5.1,0.1]}]}`, s)},
		{"over", "step=5&limit=1.5", fmt.Sprintf(`{"columns":[{"time":%d,"count":16,"over":4,"total":4,"within":0},{"time":%d,"count":1,"over":1,"total":5,"within":0}]}`, s, s+5)},
		{"heatmap", "step=10&query=number", fmt.Sprintf(`{"start":%d,"end":%d,"step":10,"columns":[]}`, s, s+9)},
	} {
		query := "query=latency"
		if strings.Contains(c.more, "query=") {
			query = ""
		}
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/api/v1/histogram/%s?start=%s&end=%s&%s&%s", c.path, at(0), at(9), query, c.more), nil))
		if got := strings.TrimSpace(w.Body.String()); got != c.want {
			t.Errorf("%s %s:\n got %s\nwant %s", c.path, c.more, got, c.want)
		}
	}
	for _, bad := range []string{"heatmap?query=latency", "heatmap?query=rate(x[5m])&start=1&end=2", "quantiles?query=latency&start=1&end=2&q=2",
		"over?query=latency&start=1&end=2", "heatmap?query=latency&start=2&end=1", "heatmap?query=latency&start=0&end=1e9&step=1",
		"heatmap?query=latency&start=NaN&end=1", "heatmap?query={}&start=1&end=2"} {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/histogram/"+bad, nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"code":"invalid_request"`) {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
}

func TestErrorsHavePrometheusEnvelope(t *testing.T) {
	f := newFixture(t)
	for _, c := range []struct{ path, kind string }{
		{"query?query=foo{", "bad_data"}, {"query?query=1&time=x", "bad_data"}, {"query_range?query=1&start=1&end=2&step=0", "bad_data"},
		{"query_range?query=1&start=0&end=100000&step=1", "bad_data"}, {"query_range?query=1", "bad_data"}, {"series", "bad_data"},
		{"labels?match[]={", "bad_data"}, {"format_query", "bad_data"}, {"query?query=up&timeout=0", "timeout"},
		{"query?query=1&timeout=x", "bad_data"},
	} {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+c.path, nil))
		if w.Code < 400 || !strings.Contains(w.Body.String(), `"errorType":"`+c.kind+`"`) || !strings.Contains(w.Body.String(), `"status":"error"`) {
			t.Errorf("%s: %d %s", c.path, w.Code, w.Body)
		}
	}
	// A client that has left.
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query?query=up", nil).WithContext(ctx))
	if !strings.Contains(w.Body.String(), `"errorType":"canceled"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestLists(t *testing.T) {
	f := newFixture(t)
	f.put(t, sample(t, 0, "up", 1.0, "job", "a"), sample(t, 0, "up", 1.0, "job", "b"), sample(t, 5, "latency", []float64{1}, "job", "a"), sample(t, 7, "cistern_x", 1.0))
	post := func(path, form string) string {
		r := httptest.NewRequest("POST", path, strings.NewReader(form))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, r)
		return strings.TrimSpace(w.Body.String())
	}
	for got, want := range map[string]string{
		f.get("/api/v1/labels").Body.String():                                                 `{"status":"success","data":["__name__","job"]}`,
		f.get("/api/v1/label/__name__/values").Body.String():                                  `{"status":"success","data":["cistern_x","latency","up"]}`,
		f.get("/api/v1/label/job/values", "match[]", "latency").Body.String():                 `{"status":"success","data":["a"]}`,
		f.get("/api/v1/label/job/values", "start", at(60)).Body.String():                      `{"status":"success","data":["a","b"]}`,
		post("/api/v1/series", "match[]=up%7Bjob%3D%22b%22%7D"):                               `{"status":"success","data":[{"__name__":"up","job":"b"}]}`,
		f.get("/api/v1/metadata", "metric", "latency").Body.String():                          `{"status":"success","data":{"latency":[{"type":"histogram","help":"","unit":""}]}}`,
		f.get("/api/v1/format_query", "query", "sum(up)by(job)").Body.String():                `{"status":"success","data":"sum by (job) (up)"}`,
		strings.TrimSpace(f.get("/api/v1/metrics", "match", "LAT").Body.String()):             fmt.Sprintf(`{"metrics":[{"name":"latency","type":"histogram","series":1,"firstTime":%s,"lastTime":%s}],"total":1,"oldest":%s}`, at(0), at(5), at(0)),
		strings.TrimSpace(f.get("/api/v1/metrics", "of", "own").Body.String()):                `{"metrics":[{"name":"cistern_x","type":"gauge","series":1,"firstTime":` + at(0) + `,"lastTime":` + at(7) + `}],"total":1,"oldest":` + at(0) + `}`,
		strings.TrimSpace(f.get("/api/v1/metrics", "of", "sent", "limit", "1").Body.String()): fmt.Sprintf(`{"metrics":[{"name":"latency","type":"histogram","series":1,"firstTime":%s,"lastTime":%s}],"total":2,"oldest":%s}`, at(0), at(5), at(0)),
		strings.TrimSpace(f.get("/api/v1/metrics", "of", "all").Body.String())[:20]:           `{"type":"about:blank`,
		strings.TrimSpace(f.get("/api/v1/metrics", "limit", "x").Body.String())[:20]:          `{"type":"about:blank`,
	} {
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
}

func BenchmarkQuantileDay(b *testing.B) {
	f := newFixture(b)
	values := make([]float64, 200)
	var batch []tsdb.Sample
	day := began.Add(-24*time.Hour).Unix() - began.Unix()
	for i := range 86_400 {
		for k := range values {
			values[k] = 0.01 * math.Exp(math.Sin(float64(i*200+k)))
		}
		if batch = append(batch, sample(b, int(day)+i, "latency", values)); len(batch) == 1000 {
			f.put(b, batch...)
			batch = batch[:0]
		}
	}
	if _, err := f.store.Flush(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		w := f.get("/api/v1/histogram/quantiles", "query", "latency", "start", at(int(day)), "end", at(-1), "step", "900", "q", "0.99")
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// Beyond 1678 and 2262 a time.Duration, and the engine's nanoseconds, come round again.
// Steps and times that are no whole numbers of seconds are what they say, though 1.001 is a little less in binary.
func TestFractionsOfSeconds(t *testing.T) {
	f := newFixture(t)
	for i := range 25 {
		f.put(t, sample(t, i, "g", float64(i)), sample(t, i, "h", []float64{1}))
	}
	if got := f.body(t, "/api/v1/query_range", "query", "g", "start", at(0), "end", at(23), "step", "1.001"); strings.Count(got, "[1") != 23 || !strings.Contains(got, "["+at(22)+`.022,"22"]`) {
		t.Error(got)
	}
	if got := f.body(t, "/api/v1/histogram/quantiles", "query", "h", "start", at(0), "end", at(23), "step", "1.001"); !strings.Contains(got, at(22)+".022") || strings.Count(got, "time") != 23 {
		t.Error(got)
	}
	if got := f.body(t, "/api/v1/query", "query", "g", "time", at(25), "lookback_delta", "1.001"); !strings.Contains(got, `"24"`) {
		t.Error(got)
	}
	var moments []tsdb.Sample
	for i := range int64(300) {
		one := sample(t, 30, "late", float64(i))
		one.Time += i
		moments = append(moments, one)
	}
	f.put(t, moments...)
	for i, one := range moments {
		code, got := f.batch(t, map[string]any{"queries": []query{{Query: "late"}}, "time": float64(one.Time) / 1000})
		if code != 200 || len(got.Results[0].Values) != 1 || *got.Results[0].Values[0] != float64(i) {
			t.Error(code, i, got)
		}
	}
}

func TestFarTimes(t *testing.T) {
	f := newFixture(t)
	f.latency(t)
	if w := f.get("/api/v1/histogram/distribution", "query", "latency", "start", "-9000000000", "end", "100000000000"); !strings.Contains(w.Body.String(), `"count":16,`) {
		t.Error(w.Code, w.Body)
	}
	if w := f.get("/api/v1/histogram/quantiles", "query", "latency", "start", "-100000000000", "end", "100000000000", "step", "850000"); w.Code != http.StatusBadRequest {
		t.Error(w.Code, "for 235294 windows")
	}
	for _, path := range []string{"/api/v1/query?time=100000000000&", "/api/v1/query_range?start=-100000000000&end=1&step=100000000&", "/api/v1/columns?start=0&end=100000000000&step=100000000&",
		"/api/v1/query?time=1e12&", "/api/v1/query?time=5001-01-01T00:00:00Z&", "/api/v1/query?query=x+@+1e12&", "/api/v1/query?query=max_over_time(x[5m:1m]+@+-9e15)&", "/api/v1/series?end=1e12&match[]=x&"} {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("GET", path+"query=time()", nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "too far away") {
			t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
		}
	}
}

func TestFormatsDeepExpressionsInTime(t *testing.T) {
	f := newFixture(t)
	w := f.get("/api/v1/format_query", "query", strings.Repeat("sum(", 1000)+"a"+strings.Repeat(")", 1000))
	if want := `"data":"sum(sum(`; w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
		t.Errorf("%d %.100s", w.Code, w.Body)
	}
}

func TestHeadOfStatus(t *testing.T) {
	f := newFixture(t)
	f.put(t, sample(t, 0, "up", 1.0), sample(t, 5, "up", 1.0))
	want := fmt.Sprintf(`"minTime":%d,"maxTime":%d`, began.UnixMilli(), began.UnixMilli()+5000)
	if got := f.body(t, "/api/v1/status/tsdb"); !strings.Contains(got, want) || !strings.Contains(got, `"numSeries":1`) {
		t.Errorf("%s, want %s", got, want)
	}
}
