package main

// Tokens that may only a part: no way of asking gets around a selector, no way of sending around forced labels, and no route is
// without a decision.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/admission"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/api"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

// inMemory is a server without a daemon around it.
func inMemory(t *testing.T) (*server, *routeTable, http.Handler) {
	t.Helper()
	store, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	c := defaults()
	c.Data = t.TempDir()
	s := &server{config: c, store: store, gate: admission.New(store), queries: api.New(store, "test")}
	s.readInputs()
	s.senders = s.openSenders()
	mux := s.table()
	return s, mux, s.scoped(mux)
}

func TestEveryRouteHasAScope(t *testing.T) {
	_, mux, _ := inMemory(t)
	there := map[string]bool{}
	for _, pattern := range mux.patterns {
		there[pathOf(pattern)] = true
		if _, known := scopes[pathOf(pattern)]; !known {
			t.Errorf("%s: scopes has no decision about what it does for a token with a selector or forced labels", pattern)
		}
	}
	for path := range scopes {
		if !there[path] {
			t.Errorf("%s: there is no such route any more", path)
		}
	}
}

// ask asks as nginx does; of a stream, for what is there at first.
func ask(h http.Handler, r request, headers ...string) *httptest.ResponseRecorder {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	method := r.method
	if method == "" {
		method = "GET"
	}
	one := httptest.NewRequest(method, r.path, bytes.NewReader(r.body)).WithContext(ctx)
	one.RemoteAddr = "@" // the Unix socket
	one.Header.Set("X-Forwarded-For", "192.0.2.7")
	if r.content != "" {
		one.Header.Set("Content-Type", r.content)
	}
	for i := 0; i < len(headers); i += 2 {
		one.Header.Add(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(&untilFlushed{w, cancel}, one)
	return w
}

type untilFlushed struct {
	*httptest.ResponseRecorder
	end func()
}

func (w *untilFlushed) Flush() { w.ResponseRecorder.Flush(); w.end() }

type request struct {
	method, path, content string
	body                  []byte
}

// Whatever is asked, refused or answered, tokens that are limited are refused where nothing was decided.
func TestUnknownRoutesRefuse(t *testing.T) {
	s, mux, h := inMemory(t)
	mux.HandleFunc("GET /api/v1/new", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("all of it")) })
	if w := ask(h, request{path: "/api/v1/new"}); w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	selector, labels := []string{selectorHeader, url.PathEscape(`{site="berlin"}`)}, []string{labelsHeader, "site=berlin"}
	for _, c := range []struct {
		r       request
		headers []string
		want    string
	}{
		{request{path: "/api/v1/new"}, selector, "cannot be limited to those"},
		{request{path: "/api/v1/new"}, labels, "takes no samples"},
		{request{path: "/api/v1/metrics"}, selector, "cannot be limited to those"},
		{request{path: "/api/v1/sizes?label=site"}, selector, "cannot be limited to those"},
		{request{path: "/api/v1/status/tsdb"}, selector, "cannot be limited to those"},
		{request{path: "/api/v1/status/storage"}, selector, "cannot be limited to those"},
		{request{path: "/api/v1/status/config"}, selector, "cannot be limited to those"},
		{request{path: "/metrics"}, selector, "cannot be limited to those"},
		{request{path: "/debug/pprof/"}, selector, "cannot be limited to those"},
		{request{method: "POST", path: "/api/v1/admin/tsdb/delete_series?match[]=g"}, selector, "cannot be limited to those"},
		{request{method: "POST", path: "/admin/flush"}, selector, "cannot be limited to those"},
		{request{method: "POST", path: "/api/v1/import", body: []byte(`{"samples":[]}`)}, selector, "cannot be limited to those"},
		{request{path: "/api/v1/query?query=up"}, labels, "takes no samples"},
		{request{path: "/federate?match[]=up"}, labels, "takes no samples"},
		{request{method: "POST", path: "/admin/write"}, labels, "takes no samples"},
		{request{path: "/api/v1/query?query=up"}, []string{selectorHeader, "%zz"}, "cannot be understood"},
		{request{path: "/api/v1/query?query=up"}, []string{selectorHeader, "%7B%7D"}, "it has no matcher"},
		{request{path: "/api/v1/query?query=up"}, []string{selectorHeader, ""}, "cannot be understood"},
		{request{path: "/api/v1/query?query=up"}, slices.Concat(selector, []string{selectorHeader, url.PathEscape(`{site=~".*"}`)}), "more than once"},
		{request{method: "POST", path: "/api/v1/import"}, slices.Concat(labels, labels), "more than once"},
		{request{method: "POST", path: "/api/v1/import"}, []string{labelsHeader, ""}, "is no label and its value"},
		{request{method: "POST", path: "/api/v1/import"}, []string{labelsHeader, "site"}, "is no label and its value"},
		{request{method: "POST", path: "/api/v1/import"}, []string{labelsHeader, "site="}, "cannot be forced"},
		{request{method: "POST", path: "/api/v1/import"}, []string{labelsHeader, "__name__=up"}, "cannot be forced"},
		{request{method: "POST", path: "/api/v1/import"}, []string{labelsHeader, "a=b&a=c"}, "is there twice"},
		{request{method: "POST", path: "/api/v1/import"}, []string{labelsHeader, "%ff=b"}, "must be UTF-8"},
	} {
		w := ask(h, c.r, c.headers...)
		if w.Code != http.StatusForbidden || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s %s %q: %d %s, want 403 %q", c.r.method, c.r.path, c.headers, w.Code, w.Body, c.want)
		}
	}
	// What has nothing of the store is answered to everybody.
	for _, path := range []string{"/api/v1/status/buildinfo", "/api/v1/format_query?query=up", "/-/healthy"} {
		if w := ask(h, request{path: path}, selector...); w.Code != http.StatusOK {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	if s.store.Status().Series != 0 {
		t.Error("something was stored")
	}
}

func TestSelectorsAreChecked(t *testing.T) {
	_, _, h := inMemory(t)
	check := func(text string) *httptest.ResponseRecorder {
		one := httptest.NewRequest("POST", "/admin/selector/check", strings.NewReader(fmt.Sprintf(`{"selector":%q}`, text)))
		one.RemoteAddr = "@"
		w := httptest.NewRecorder()
		h.ServeHTTP(w, one)
		return w
	}
	eleven := make([]string, 11)
	for i := range eleven {
		eleven[i] = fmt.Sprintf(`l%d="x"`, i)
	}
	for text, want := range map[string]string{
		`{site="berlin"}`: "", `up{site!="paris"}`: "", `{site=~"a|b",host!~"x.*"}`: "", `{"a.b"="c"}`: "", `{site!~"a"}`: "",
		`{`: "parse error", `{}`: "no matcher", ``: "parse error", `{site=~"("}`: "missing closing )", `{site=~"(?=a)"}`: "invalid or unsupported Perl syntax",
		`up[5m]`: "parse error", `up offset 5m`: "parse error", `up or vector(1)`: "parse error",
		"{" + strings.Join(eleven, ",") + "}": "11 matchers, 10 is the limit", `{a="` + strings.Repeat("x", 1000) + `"}`: "1000 is the limit",
	} {
		w := check(text)
		if want == "" && w.Code != http.StatusOK || want != "" && (w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want)) {
			t.Errorf("%.60s: %d %s, want %q", text, w.Code, w.Body, want)
		}
	}
}

// someSeries is what two sites and nobody have, from twenty minutes ago until in some minutes, half of it in a block.
type someSeries struct {
	began  time.Time
	series [][]tsdb.Label
}

func (all *someSeries) fill(t *testing.T, store *tsdb.Store, visible func([]tsdb.Label) bool) {
	t.Helper()
	for i := range 300 {
		at := all.began.Add(time.Duration(i) * 5 * time.Second).UnixMilli()
		var batch []tsdb.Sample
		for n, labels := range all.series {
			if !visible(labels) {
				continue
			}
			key, err := tsdb.AppendKey(nil, slices.Clone(labels))
			if err != nil {
				t.Fatal(err)
			}
			one := tsdb.Sample{Key: key, Kind: tsdb.Gauge, Time: at, Value: float64(i*(n+1)) + 0.5}
			switch labels[0].Value {
			case "requests_total":
				one.Kind = tsdb.Counter
			case "latency":
				one.Kind, one.Histogram = tsdb.Histogram, &histogram.Histogram{}
				_ = one.Histogram.Insert(float64(n+1)/10, uint64(1+i%3))
			case "native":
				one.Kind, one.Native = tsdb.NativeHistogram, &promhistogram.FloatHistogram{ZeroThreshold: 1e-9, Count: float64(i), Sum: float64(i * n),
					PositiveSpans: []promhistogram.Span{{Offset: int32(n), Length: 1}}, PositiveBuckets: []float64{float64(i)}}
			}
			batch = append(batch, one)
		}
		if rejected, err := store.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
		if i == 120 {
			if _, err := store.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	described := map[string]bool{}
	for n, labels := range all.series {
		if !visible(labels) {
			continue
		}
		key, _ := tsdb.AppendKey(nil, slices.Clone(labels))
		store.Exemplify(t.Context(), []tsdb.Exemplar{{Key: key, Labels: []tsdb.Label{{Name: "trace_id", Value: fmt.Sprint(n)}}, Value: 1, Time: all.began.UnixMilli() + 1000}})
		if name := labels[0].Value; !described[name] {
			described[name] = true
			store.Describe([]tsdb.Metadata{{Name: name, Type: "gauge", Help: "of " + name}})
		}
	}
}

func makeSeries() *someSeries {
	all := &someSeries{began: time.Now().Add(-20 * time.Minute).Truncate(time.Second)}
	add := func(pairs ...string) {
		labels := []tsdb.Label{{Name: tsdb.NameLabel, Value: pairs[0]}}
		for i := 1; i < len(pairs); i += 2 {
			labels = append(labels, tsdb.Label{Name: pairs[i], Value: pairs[i+1]})
		}
		all.series = append(all.series, labels)
	}
	for _, site := range []string{"berlin", "paris", ""} {
		for _, name := range []string{"requests_total", "load", "latency", "native"} {
			for _, host := range []string{"a", "b"} {
				pairs := []string{name, "host", host + site}
				if site != "" {
					pairs = append(pairs, "site", site, "of_"+site, "yes")
				}
				add(pairs...)
			}
		}
		add("only_"+site, "site", site, "host", "c")
	}
	return all
}

func form(path string, pairs ...string) request {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		values.Add(pairs[i], pairs[i+1])
	}
	return request{path: path + "?" + values.Encode()}
}

// questions is everything that can be asked, with attempts to see more.
func (all *someSeries) questions(t *testing.T) []request {
	t.Helper()
	start, end := fmt.Sprint(all.began.Unix()), fmt.Sprint(all.began.Unix()+1195)
	middle := fmt.Sprint(all.began.Unix() + 600)
	var list []request
	for _, query := range []string{
		`load`, `{site=~".+"}`, `{__name__=~".+"}`, `load{site="paris"}`, `load or load{site="paris"}`, `load{site="berlin"} or {site="paris"}`,
		`label_replace(load{site="paris"}, "site", "berlin", "", "")`, `label_replace(load, "site", "berlin", "host", ".*")`, `label_join(load, "all", ",", "site", "host")`,
		`count({__name__!=""})`, `count by (site) ({__name__=~".+"})`, `sum(load)`, `sum by (site) (rate(requests_total[5m]))`, `sum without (host) (load)`,
		`max_over_time(load[10m])`, `max_over_time(sum(load)[10m:1m])`, `max_over_time(rate(requests_total[2m])[5m:30s])`, `sum(sum_over_time(load[5m:]))`,
		`absent(load{site="paris"})`, `absent(load)`, `absent_over_time(only_paris[5m])`, `count(only_paris)`, `present_over_time(load[5m])`,
		`load @ ` + middle, `load offset 5m`, `load{site="paris"} offset 5m`, `sum(load @ start())`, `sum(load @ end())`, `rate(requests_total[5m] @ ` + middle + ` offset 1m)`,
		`load / on (host) group_left load`, `load and on () load{site="paris"}`, `load unless load{site="berlin"}`, `scalar(sum(load))`, `vector(scalar(load{site="paris"}))`,
		`topk(3, load)`, `bottomk(1, load)`, `quantile(0.5, load)`, `count_values("v", load)`, `group by (host) (load)`, `stddev(load)`, `count(load) by (of_paris, of_berlin)`,
		`sort_desc(load)`, `timestamp(load)`, `histogram_quantile(0.9, sum(rate(latency[5m])))`, `histogram_count(sum(sum_over_time(latency[5m])))`, `histogram_count(latency)`,
		`sum(histogram_count(increase(native[5m])))`, `histogram_sum(native)`, `native`, `quantile_over_time(0.5, load[5m])`, `avg(avg_over_time(load[5m]))`,
		`changes(load[5m])`, `deriv(load{site=~"paris|berlin"}[5m])`, `-load + 2 * load`, `load{site!="berlin"}`, `load{site=""}`, `{"\x01cistern counts"="",__name__="load"}`, `{site!~"ber.*"}  > 0`,
		`{host=~"a.*|b.*"}`, `sum by (site) (count_over_time({__name__=~"load|native|latency"}[5m]))`,
	} {
		list = append(list, form("/api/v1/query", "query", query, "time", end),
			form("/api/v1/query_range", "query", query, "start", start, "end", end, "step", "60"),
			form("/api/v1/columns", "query", query, "start", start, "end", end, "step", "60"))
		text := fmt.Sprintf(`{"queries":[{"query":%q},{"query":"load"},{"query":"load{site=\"paris\"}"}],"time":%s}`, query, end)
		list = append(list, request{"POST", "/api/v1/query_batch", "application/json", []byte(text)})
	}
	for _, selector := range []string{`load`, `{site=~".+"}`, `{__name__=~".+"}`, `load{site="paris"}`, `{site!="berlin",__name__=~".+"}`, `latency`, `native`, `only_paris`, `{host=~"a.*"}`} {
		list = append(list,
			form("/api/v1/series", "match[]", selector), form("/api/v1/series", "match[]", selector, "match[]", `{site="paris"}`, "start", start, "end", end),
			form("/api/v1/labels", "match[]", selector), form("/api/v1/labels", "match[]", selector, "match[]", `{of_paris="yes"}`),
			form("/api/v1/label/site/values", "match[]", selector), form("/api/v1/label/__name__/values", "match[]", selector, "match[]", `{site="paris"}`),
			form("/federate", "match[]", selector), form("/federate", "match[]", selector, "match[]", `{site="paris"}`),
			form("/api/v1/query_exemplars", "query", selector, "start", start, "end", end),
			form("/api/v1/query_exemplars", "query", `rate(requests_total[5m]) + on () `+selector, "start", start, "end", end),
			form("/api/v1/live", "query", selector), form("/api/v1/live", "match[]", selector),
			form("/api/v1/why", "query", selector, "start", middle, "end", end, "from", start, "above", "0.1"),
			form("/api/v1/why", "match[]", selector, "start", start, "end", end),
			form("/api/v1/changed", "query", selector, "start", middle, "end", end), form("/api/v1/changed", "match[]", selector, "start", middle, "end", end, "against", "week"))
		for what, more := range map[string][]string{"quantiles": {"q", "0.5"}, "inverse": {"x", "0.2"}, "over": {"limit", "0.1"}, "heatmap": nil, "modes": nil, "distribution": nil} {
			pairs := append([]string{"query", selector, "start", start, "end", end}, more...)
			if what != "distribution" {
				pairs = append(pairs, "step", "300")
			}
			list = append(list, form("/api/v1/histogram/"+what, pairs...), form("/api/v1/histogram/"+what, append(pairs, "format", "columns")...))
		}
	}
	list = append(list, form("/api/v1/labels"), form("/api/v1/labels", "start", start, "end", end), form("/api/v1/metadata"), form("/api/v1/metadata", "metric", "only_paris"),
		form("/api/v1/metadata", "limit", "2"))
	for _, label := range []string{"site", "host", "__name__", "of_paris", "of_berlin"} {
		list = append(list, form("/api/v1/label/"+label+"/values"), form("/api/v1/label/"+label+"/values", "start", start, "end", end))
	}
	for _, matcher := range []*prompb.LabelMatcher{{Name: "__name__", Value: "load"}, {Name: "site", Value: "paris"}, {Type: prompb.LabelMatcher_RE, Name: "site", Value: ".+"}, {Type: prompb.LabelMatcher_NEQ, Name: "host", Value: ""}} {
		query := &prompb.Query{StartTimestampMs: all.began.UnixMilli(), EndTimestampMs: all.began.UnixMilli() + 1_195_000, Matchers: []*prompb.LabelMatcher{matcher}}
		for _, types := range [][]prompb.ReadRequest_ResponseType{nil, {prompb.ReadRequest_STREAMED_XOR_CHUNKS}} {
			raw, err := (&prompb.ReadRequest{Queries: []*prompb.Query{query, {StartTimestampMs: 0, EndTimestampMs: query.EndTimestampMs, Matchers: []*prompb.LabelMatcher{{Name: "site", Value: "paris"}}}}, AcceptedResponseTypes: types}).Marshal()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, request{"POST", "/api/v1/read", "application/x-protobuf", snappy.Encode(nil, raw)})
		}
	}
	return list
}

// What a token with a selector is answered, whatever it asks, is what a store would answer that has nothing but the series
// which the selector matches.
func TestNothingGetsAroundASelector(t *testing.T) {
	all := makeSeries()
	questions := all.questions(t)
	whole, _, everything := inMemory(t)
	all.fill(t, whole.store, func([]tsdb.Label) bool { return true })
	answer := func(h http.Handler, r request, headers ...string) string {
		w := ask(h, r, headers...)
		return fmt.Sprint(w.Code, w.Header().Get("X-Cistern-Left-Out"), " ", w.Body)
	}
	asked, differs := map[string]bool{}, map[string]bool{}
	for _, selector := range []string{`{site="berlin"}`, `{site=~"ber.+",host!="bberlin"}`, `{site!="paris"}`, `{site!~"paris|rome"}`, `load{site=~"berlin|"}`, `{site="rome"}`} {
		matchers, err := whole.queries.ParseSelector(selector)
		if err != nil {
			t.Fatal(err)
		}
		part, _, only := inMemory(t)
		all.fill(t, part.store, func(labels []tsdb.Label) bool {
			for _, m := range matchers {
				at := slices.IndexFunc(labels, func(l tsdb.Label) bool { return l.Name == m.Name })
				if at < 0 && !m.Matches("") || at >= 0 && !m.Matches(labels[at].Value) {
					return false
				}
			}
			return true
		})
		header := []string{selectorHeader, url.PathEscape(selector)}
		for _, r := range questions {
			path, _, _ := strings.Cut(r.path, "?")
			if strings.HasPrefix(path, "/api/v1/label/") {
				path = "/api/v1/label/{name}/values"
			}
			got, want := answer(everything, r, header...), answer(only, r)
			for range 3 { // of now: a sample may have come while both were asked
				if got != want {
					got, want = answer(everything, r, header...), answer(only, r)
				}
			}
			asked[path] = true
			differs[path] = differs[path] || got != answer(everything, r)
			if got != want {
				t.Errorf("%s: %s %s %.200q:\n got %.1000s\nwant %.1000s", selector, r.method, r.path, r.body, got, want)
			}
		}
	}
	for path, does := range scopes {
		if does == narrowed && (!asked[path] || !differs[path]) {
			t.Errorf("%s was not asked, or a selector changes nothing of what it answers", path)
		}
	}
}

// Any expression, made by chance, shows no more than there is.
func TestRandomExpressionsUnderASelector(t *testing.T) {
	all := makeSeries()
	whole, _, everything := inMemory(t)
	all.fill(t, whole.store, func([]tsdb.Label) bool { return true })
	part, _, only := inMemory(t)
	all.fill(t, part.store, func(labels []tsdb.Label) bool {
		return slices.Contains(labels, tsdb.Label{Name: "site", Value: "berlin"})
	})
	r := rand.New(rand.NewPCG(7, 11))
	pick := func(list ...string) string { return list[r.IntN(len(list))] }
	selector := func() string {
		return pick("load", "requests_total", `{site=~".+",__name__="load"}`, `load{site="paris"}`, `load{site!="berlin"}`, "only_paris", "only_berlin", `{__name__=~"load|only_.*"}`) +
			pick("", "", " offset 1m", fmt.Sprintf(" @ %d", all.began.Unix()+600))
	}
	var vector func(depth int) string
	vector = func(depth int) string {
		if depth == 0 {
			return selector()
		}
		inner := vector(depth - 1)
		switch r.IntN(7) {
		case 0:
			return pick("sum", "count", "max", "avg", "group") + pick("", " by (site)", " without (host)") + "(" + inner + ")"
		case 1:
			return "(" + inner + pick(" or ", " and ", " unless ", " and on () ") + vector(depth-1) + ")"
		case 2:
			return `label_replace(` + inner + `, "site", "berlin", "host", "(.*)")`
		case 3:
			return pick("max_over_time", "count_over_time", "last_over_time", "rate") + "((" + inner + ")[5m:1m])"
		case 4:
			return "absent(" + inner + ")"
		case 5:
			return "topk(2, " + inner + ")"
		}
		return "(" + inner + " * 2)"
	}
	header := []string{selectorHeader, url.PathEscape(`{site="berlin"}`)}
	answered := 0
	for range 300 {
		one := form("/api/v1/query_range", "query", vector(1+r.IntN(3)), "start", fmt.Sprint(all.began.Unix()+300), "end", fmt.Sprint(all.began.Unix()+1195), "step", "120")
		got, want := ask(everything, one, header...), ask(only, one)
		if got.Code == http.StatusOK {
			answered++
		}
		if got.Code != want.Code || sortedSeries(t, got) != sortedSeries(t, want) {
			t.Errorf("%s:\n got %.500s\nwant %.500s", one.path, got.Body, want.Body)
		}
	}
	if answered < 200 {
		t.Errorf("only %d of 300 expressions can be evaluated", answered)
	}
}

// sortedSeries is an answer with its series in order: that of subqueries is by chance.
func sortedSeries(t *testing.T, w *httptest.ResponseRecorder) string {
	t.Helper()
	if w.Code != http.StatusOK {
		return w.Body.String()
	}
	var answer struct {
		Data struct{ Result []json.RawMessage }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, one := range answer.Data.Result {
		list = append(list, string(one))
	}
	slices.Sort(list)
	return strings.Join(list, "\n")
}

// keysOf is the series that a store has.
func keysOf(t *testing.T, s *server) []string {
	t.Helper()
	found, release, err := s.store.Select(t.Context(), 0, 1<<62)
	defer release()
	if err != nil {
		t.Fatal(err)
	}
	set := map[string]bool{}
	for _, one := range found {
		set[tsdb.FormatLabels(one.Labels())] = true
	}
	return slices.Sorted(maps.Keys(set))
}

func mustURL(t *testing.T, path string) *url.URL {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
