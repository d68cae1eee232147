package conformance

// What Grafana's Prometheus data source asks, in its order: saving the data source, the query builder, a dashboard.

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"cistern/services/store/tsdb"
)

func TestGrafana(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 3))
	p := newPair(t, samples(random), random)
	p.cistern.Describe([]tsdb.Metadata{{Name: "c_total", Type: "counter", Help: "things", Unit: ""}})
	var example []byte
	for _, l := range samples(rand.New(rand.NewPCG(1, 3))) {
		if l.labels.Get("__name__") == "c_total" {
			example = keyOf(t, l.labels)
		}
	}
	p.cistern.Exemplify(t.Context(), []tsdb.Exemplar{{Key: example, Labels: []tsdb.Label{{Name: "traceID", Value: "abc"}}, Value: 1, Time: end.UnixMilli() - 60_000}})
	from, to := end.Unix()-3600, end.Unix()
	ask := func(method, path string, form url.Values) json.RawMessage {
		t.Helper()
		r := httptest.NewRequest(method, "/api/v1/"+path+"?"+form.Encode(), nil)
		if method == "POST" {
			r = httptest.NewRequest(method, "/api/v1/"+path, strings.NewReader(form.Encode()))
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		w := httptest.NewRecorder()
		p.mux.ServeHTTP(w, r)
		var body struct {
			Status string
			Data   json.RawMessage
		}
		if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil || w.Code != http.StatusOK || body.Status != "success" || w.Header().Get("Content-Type") != "application/json" {
			t.Fatalf("%s %s: %d %.500s", method, path, w.Code, w.Body)
		}
		return body.Data
	}
	span := func(more ...string) url.Values {
		form := url.Values{"start": {fmt.Sprint(from)}, "end": {fmt.Sprint(to)}}
		for i := 0; i < len(more); i += 2 {
			form.Add(more[i], more[i+1])
		}
		return form
	}
	has := func(data json.RawMessage, wanted ...string) {
		t.Helper()
		for _, want := range wanted {
			if !strings.Contains(string(data), want) {
				t.Errorf("no %s in %.600s", want, data)
			}
		}
	}
	// "Save & test", and what it may ask of which server.
	has(ask("POST", "query", url.Values{"query": {"1+1"}, "time": {fmt.Sprint(to)}}), `"resultType":"scalar"`, `"2"`)
	has(ask("GET", "status/buildinfo", nil), `"version":"3.`)
	// Whether there are exemplars at all: with milliseconds, which only say "much later" to Prometheus.
	has(ask("POST", "query_exemplars", url.Values{"query": {"test"}, "start": {fmt.Sprint(from * 1000)}, "end": {fmt.Sprint(to * 1000)}}), `[]`)
	// The query builder.
	has(ask("GET", "label/__name__/values", span("limit", "40000")), `"c_total"`, `"nh"`, `"a.b/c"`)
	has(ask("GET", "metadata", url.Values{"limit": {"5000"}}), `"c_total":[{"type":"counter","help":"things"`)
	has(ask("POST", "labels", span("match[]", `c_total`)), `["__name__","instance","job"]`)
	has(ask("GET", "label/job/values", span("match[]", `c_total{instance="i1"}`)), `["j0","j1","j2"]`)
	has(ask("GET", "label/U__label_20_with_2e_dots/values", span("match[]", `{"a.b/c"}`)), `["ü"]`)
	has(ask("POST", "series", span("match[]", `{__name__=~"lat.*",job="j0"}`)), `{"__name__":"lat_bucket","instance":"i0","job":"j0","le":"+Inf"}`)
	has(ask("POST", "format_query", url.Values{"query": {`sum(rate(c_total[5m]))by(job)`}}), `sum by (job) (rate(c_total[5m]))`)
	// A dashboard: a graph, a table, a stat, a heatmap of classic buckets and of native histograms, exemplars.
	has(ask("POST", "query_range", span("step", "15", "query", `sum by (job) (rate(c_total[1m0s]))`)), `"resultType":"matrix"`, `{"job":"j2"}`)
	has(ask("POST", "query", url.Values{"time": {fmt.Sprintf("%d.781", to)}, "query": {`topk(3, c_total)`}}), `"resultType":"vector"`)
	has(ask("POST", "query_range", span("step", "60", "query", `sum by (le) (increase(lat_bucket[1m]))`)), `{"le":"+Inf"}`)
	has(ask("POST", "query_range", span("step", "60", "query", `sum(rate(nh[5m]))`)), `"histograms":[[`, `"buckets":[[`)
	has(ask("POST", "query_range", span("step", "60", "query", `histogram_quantile(0.95, sum by (le) (rate(lat_bucket[5m])))`)), `"values":[[`)
	has(ask("POST", "query_exemplars", span("query", `rate(c_total[5m])`)), `"seriesLabels"`, `"traceID":"abc"`)
	has(ask("GET", "status/tsdb", nil), `"headStats"`, `"seriesCountByMetricName"`)
	// What the pages of Prometheus, Perses and editors of queries ask besides.
	has(ask("GET", "status/flags", nil), `"query.lookback-delta":"5m"`)
	has(ask("GET", "status/config", nil), `"yaml":`)
	has(ask("POST", "parse_query", url.Values{"query": {`sum(rate(c_total[5m]))by(job)`}}), `"type":"aggregation"`, `"grouping":["job"]`, `"range":300000`)
	// A mistake in the editor: the message goes beside it.
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query?query="+url.QueryEscape("sum(rate(c_total)"), nil))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"errorType":"bad_data"`) || !strings.Contains(w.Body.String(), "parse error") {
		t.Error(w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	p.mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/rules", nil))
	if w.Code != http.StatusNotFound {
		t.Error(w.Code, w.Body)
	}
}
