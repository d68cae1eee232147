package api

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
)

func (f *fixture) body(t *testing.T, path string, pairs ...string) string {
	t.Helper()
	w := f.get(path, pairs...)
	if w.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, w.Code, w.Body)
	}
	return strings.TrimSpace(w.Body.String())
}

func (f *fixture) latency(t *testing.T) {
	for i := range 4 {
		f.put(t, sample(t, i, "latency", []float64{0.1, 0.2, 3}, "host", "a"), sample(t, i, "latency", []float64{0.1}, "host", "b"))
	}
}

func TestNewHistogramRoutes(t *testing.T) {
	f := newFixture(t)
	f.latency(t)
	s := began.Unix()
	for _, c := range []struct{ path, more, want string }{
		{"quantiles", "step=2&q=1,0&q=0.5", fmt.Sprintf(`{"columns":[{"time":%d,"count":8,"quantiles":[3.1,0.1,0.11]},{"time":%d,"count":8,"quantiles":[3.1,0.1,0.11]}]}`, s, s+2)},
		{"inverse", "step=4&x=1&x=0.05", fmt.Sprintf(`{"columns":[{"time":%d,"count":16,"fractions":[0.75,0]}]}`, s)},
		{"over", "step=2&limit=1", fmt.Sprintf(`{"columns":[{"time":%d,"count":8,"over":2,"total":2,"within":0},{"time":%d,"count":8,"over":2,"total":4,"within":0}]}`, s, s+2)},
		{"over", "step=4&below=1", fmt.Sprintf(`{"columns":[{"time":%d,"count":16,"over":12,"total":12,"within":0}]}`, s)},
		{"over", "step=4&above=0.15&below=1", fmt.Sprintf(`{"columns":[{"time":%d,"count":16,"over":4,"total":4,"within":0}]}`, s)},
		{"heatmap", "step=4&rows=2&min=0&max=2", fmt.Sprintf(`{"start":%d,"end":%d,"step":4,"bounds":[0,1,2],"columns":[{"time":%d,"rows":[[0,12],[1,4]]}]}`, s, s+4, s)},
		{"distribution", "", fmt.Sprintf(`{"start":%d,"end":%d,"count":16,"sum":13.86,"mean":0.86625,"stddev":1.26144943913`, s, s+4)},
		{"modes", "", fmt.Sprintf(`{"columns":[{"time":%d,"count":16,"modes":[{"value":0.10500000000000001,"share":0.5},{"value":0.20500000000000002,"share":0.25},{"value":3.05,"share":0.25}]}]}`, s)},
	} {
		got := f.body(t, fmt.Sprintf("/api/v1/histogram/%s", c.path), pairs(fmt.Sprintf("query=latency&start=%d&end=%d&%s", s, s+4, c.more))...)
		if got != c.want && (c.path != "distribution" || !strings.HasPrefix(got, c.want) || !strings.HasSuffix(got, `"min":0.1,"max":3.1,"bins":[[0.1,0.11,8],[0.2,0.21,4],[3,3.1,4]]}`)) {
			t.Errorf("%s %s:\n got %s\nwant %s", c.path, c.more, got, c.want)
		}
	}
	for _, bad := range []string{"inverse?", "inverse?x=NaN&", "over?", "over?above=2&below=1&", "heatmap?rows=1&", "heatmap?min=3&max=1&", "heatmap?rows=x&",
		"modes?timeout=x&", "quantiles?q=0.5,2&"} {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("GET", fmt.Sprintf("/api/v1/histogram/%squery=latency&start=%d&end=%d", bad, s, s+4), nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"errors":[{"path":`) {
			t.Errorf("%s: %d %s", bad, w.Code, w.Body)
		}
	}
	w := f.get("/api/v1/histogram/distribution", "query", "latency", "start", "5", "end", "5")
	if w.Code != http.StatusBadRequest {
		t.Error(w.Code, w.Body)
	}
}

// pairs are the parameters of a query as get takes them.
func pairs(query string) []string {
	form, err := url.ParseQuery(query)
	if err != nil {
		panic(err)
	}
	var list []string
	for name, values := range form {
		for _, v := range values {
			list = append(list, name, v)
		}
	}
	return list
}

// native is a histogram with counts in the exponential buckets of schema 0: (1,2], (2,4], …
func native(hint promhistogram.CounterResetHint, counts ...float64) *promhistogram.FloatHistogram {
	h := &promhistogram.FloatHistogram{CounterResetHint: hint, ZeroThreshold: 1e-9, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: uint32(len(counts))}}, PositiveBuckets: counts}
	for i, n := range counts {
		h.Count += n
		h.Sum += n * 1.5 * math.Exp2(float64(i))
	}
	return h
}

func nativeSample(t *testing.T, second int, h *promhistogram.FloatHistogram) tsdb.Sample {
	one := sample(t, second, "native", 0.0)
	one.Kind, one.Native = tsdb.NativeHistogram, h
	return one
}

func TestNativeHistograms(t *testing.T) {
	f := newFixture(t)
	for i := range 5 {
		n := float64(i)
		f.put(t, nativeSample(t, i*10, native(promhistogram.UnknownCounterReset, 10*n, 20*n)))
	}
	if got := f.vector(t, `histogram_count(increase(native[50s]))`, 40); got != "map[] 120" {
		t.Errorf("%q", got)
	}
	if got := f.vector(t, `histogram_count(native)`, 40); got != "map[] 120" {
		t.Errorf("%q", got)
	}
	// As bins: approximately, and it says so. The first total is no growth.
	got := f.body(t, "/api/v1/histogram/over", "query", "native", "start", at(0), "end", at(50), "step", "50", "limit", "2")
	if got != fmt.Sprintf(`{"columns":[{"time":%s,"count":120,"over":80,"total":80,"within":0}],"approximate":true}`, at(0)) {
		t.Error(got)
	}
	got = f.body(t, "/api/v1/query", "query", "native", "time", at(10))
	if want := fmt.Sprintf(`{"status":"success","data":{"resultType":"vector","result":[{"metric":{"__name__":"native"},"histogram":[%s,{"count":"30","sum":"75","buckets":[[0,"1","2","10"],[0,"2","4","20"]]}]}]}}`, at(10)); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

type columnsReader struct {
	*bytes.Reader
	t *testing.T
}

func (r columnsReader) u() uint64 {
	n, err := binary.ReadUvarint(r)
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

func (r columnsReader) f() float64 {
	var b [8]byte
	if n, _ := r.Read(b[:]); n != 8 {
		r.t.Fatal("the answer ends early")
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b[:]))
}

func (r columnsReader) text() string {
	b := make([]byte, r.u())
	_, _ = r.Read(b)
	return string(b)
}

func (r columnsReader) header(kind byte) (start, step int64, n int) {
	b := make([]byte, 22)
	_, _ = r.Read(b)
	if string(b[:4]) != "CSC1" || b[4] != kind {
		r.t.Fatalf("%q", b)
	}
	return int64(binary.LittleEndian.Uint64(b[6:])), int64(binary.LittleEndian.Uint64(b[14:])), int(r.u())
}

func TestDescribedAndDeleted(t *testing.T) {
	f := newFixture(t)
	one := sample(t, 0, "c_total", 1.0, "job", "a")
	f.put(t, one, sample(t, 0, "c_total", 1.0, "job", "b"), sample(t, 0, "a.b", 1.0, "d.e", "x"))
	f.store.Describe([]tsdb.Metadata{{Name: "c_total", Type: "counter", Help: "how many", Unit: "1"}})
	f.store.Exemplify(t.Context(), []tsdb.Exemplar{{Key: one.Key, Labels: []tsdb.Label{{Name: "trace_id", Value: "t1"}}, Value: 0.5, Time: one.Time}})
	for got, want := range map[string]string{
		f.body(t, "/api/v1/metadata", "metric", "c_total"): `{"status":"success","data":{"c_total":[{"type":"counter","help":"how many","unit":"1"}]}}`,
		f.body(t, "/api/v1/metadata", "limit", "1"):        `{"status":"success","data":{"a.b":[{"type":"gauge","help":"","unit":""}]}}`,
		f.body(t, "/api/v1/query_exemplars", "query", `rate(c_total[5m]) / on() c_total{job="a"}`, "start", at(-10), "end", at(10)): fmt.Sprintf(
			`{"status":"success","data":[{"seriesLabels":{"__name__":"c_total","job":"a"},"exemplars":[{"labels":{"trace_id":"t1"},"value":"0.5","timestamp":%s}]}]}`, at(0)),
		// Grafana asks with milliseconds whether there are exemplars at all.
		f.body(t, "/api/v1/query_exemplars", "query", "test", "start", "1790000000000", "end", "1790001800000"): `{"status":"success","data":[]}`,
		f.body(t, "/api/v1/label/U__d_2e_e/values"):                                                             `{"status":"success","data":["x"]}`,
		f.body(t, "/api/v1/labels", "limit", "1"):                                                               `{"status":"success","data":["__name__"],"warnings":["results truncated due to limit"]}`,
		f.body(t, "/api/v1/series", "match[]", "c_total", "limit", "1"):                                         `{"status":"success","data":[{"__name__":"c_total","job":"a"}],"warnings":["results truncated due to limit"]}`,
		f.body(t, "/api/v1/query", "query", "c_total", "limit", "1")[:30]:                                       `{"status":"success","data":{"r`,
	} {
		if got != want {
			t.Errorf("got %s\nwant %s", got, want)
		}
	}
	if w := f.get("/admin/tsdb/delete_series", "match[]", "c_total"); w.Code != http.StatusMethodNotAllowed {
		t.Error("a GET deletes:", w.Code)
	}
	post := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("POST", path, nil))
		return w
	}
	if w := post("/admin/tsdb/delete_series"); w.Code != http.StatusBadRequest {
		t.Error(w.Code, w.Body)
	}
	if w := post("/admin/tsdb/delete_series?match[]=" + url.QueryEscape(`c_total{job="a"}`)); w.Code != http.StatusNoContent {
		t.Error(w.Code, w.Body)
	}
	if got := f.vector(t, "c_total", 1); got != "map[__name__:c_total job:b] 1" {
		t.Error(got)
	}
	for path, want := range map[string]string{"rules": "/api/thresholds", "alerts": "/api/alerts", "targets": "sent to it"} {
		if w := f.get("/api/v1/" + path); w.Code != http.StatusNotFound || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	for path, want := range map[string]string{"status/tsdb": `"seriesCountByMetricName":[{"name":"c_total","value":`, "status/runtimeinfo": `"corruptionCount":0`, "status/buildinfo": `"application":"cistern"`} {
		if got := f.body(t, "/api/v1/"+path); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
	if got := f.body(t, "/api/v1/query", "query", "sum(c_total)", "time", at(0), "stats", "all"); !strings.Contains(got, `"stats":{"`) {
		t.Error(got)
	}
}

func TestRollupsAreFound(t *testing.T) {
	var ahead atomic.Int64
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return began.Add(time.Duration(ahead.Load())) }, Retention: 24 * time.Hour,
		RetentionMinute: 48 * time.Hour, RetentionHour: 1000 * time.Hour, OutOfOrder: 100 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	from := began.Add(-12 * time.Hour).Truncate(time.Hour)
	one := sample(t, 0, "g", 0.0)
	for i := range 6 * 60 {
		one.Time, one.Value = from.Add(time.Duration(i)*time.Minute).UnixMilli(), float64(i%60)
		other := sample(t, 0, "h", []float64{1})
		other.Time = one.Time
		total := nativeSample(t, 0, native(promhistogram.UnknownCounterReset, float64(i), float64(i)))
		total.Time = one.Time
		if _, err := s.Ingest(context.Background(), "test", []tsdb.Sample{one, other, total}, journal.Buffered); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	ahead.Store(int64(100 * time.Hour))
	if err := s.Compact(t.Context()); err != nil || s.Granularity(0, math.MaxInt64) != time.Hour {
		t.Fatal(err, s.Granularity(0, math.MaxInt64))
	}
	f := &fixture{s, http.NewServeMux()}
	a := New(s, "test")
	a.Register(f.mux)
	ask := func(query string) string {
		return f.body(t, "/api/v1/query", "query", query, "time", fmt.Sprint(from.Add(150*time.Minute).Unix()))
	}
	for query, want := range map[string]string{"g": `"29.5"`, "max_over_time(g[2h])": `"59"`, "min_over_time(g[2h])": `"0"`, "sum(g)": `"29.5"`} {
		if got := ask(query); !strings.Contains(got, want) || !strings.Contains(got, "only rollups of 1h are left") {
			t.Errorf("%s: %s", query, got)
		}
	}
	// A Prometheus that reads from here says which function it evaluates.
	for function, want := range map[string]float64{"max_over_time": 59, "sum_over_time": 1770, "": 29.5} {
		w := f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{{StartTimestampMs: from.UnixMilli(), EndTimestampMs: from.UnixMilli() + 3600_000,
			Matchers: []*prompb.LabelMatcher{{Name: "__name__", Value: "g"}}, Hints: &prompb.ReadHints{Func: function, RangeMs: 3600_000}}}})
		raw, err := snappy.Decode(nil, w.Body.Bytes())
		var response prompb.ReadResponse
		if err != nil || response.Unmarshal(raw) != nil || len(response.Results) != 1 || len(response.Results[0].Timeseries) != 1 {
			t.Fatal(w.Code, err, response)
		}
		if list := response.Results[0].Timeseries[0].Samples; len(list) != 2 || list[0].Value != want {
			t.Errorf("%s: %v", function, list)
		}
	}
	// Histograms too: that a window holds a whole hour is said, and where all hours lie in one window each there is nothing to say.
	unix := func(minutes int) string { return fmt.Sprint(from.Unix() + int64(minutes)*60) }
	for _, c := range []struct {
		start, end int
		step       string
		told       bool
	}{{0, 180, "3600", false}, {0, 180, "300", true}, {30, 150, "3600", true}} {
		got := f.body(t, "/api/v1/histogram/over", "query", "h", "limit", "0", "start", unix(c.start), "end", unix(c.end), "step", c.step)
		if !strings.Contains(got, `"over":60`) || strings.Contains(got, "only rollups of 1h are left: each is in the window in which it begins") != c.told {
			t.Errorf("%+v: %s", c, got)
		}
	}
	// A running total's growth in the first window is told by the rollup before it.
	if got := f.body(t, "/api/v1/histogram/over", "query", "native", "limit", "0", "start", unix(120), "end", unix(240), "step", "3600"); strings.Count(got, `"over":120`) != 2 {
		t.Error(got)
	}
}

func (f *fixture) remoteRead(t *testing.T, request *prompb.ReadRequest) *httptest.ResponseRecorder {
	raw, err := request.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	f.mux.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/read", bytes.NewReader(snappy.Encode(nil, raw))))
	return w
}

func TestRemoteRead(t *testing.T) {
	f := newFixture(t)
	for i := range 300 {
		f.put(t, sample(t, i, "g", float64(i), "job", "a"))
		if i%10 == 0 {
			f.put(t, nativeSample(t, i, native(promhistogram.UnknownCounterReset, float64(i), float64(2*i))))
		}
	}
	query := func(name string) *prompb.Query {
		return &prompb.Query{StartTimestampMs: began.UnixMilli(), EndTimestampMs: began.UnixMilli() + 299_000, Matchers: []*prompb.LabelMatcher{{Name: "__name__", Value: name}}}
	}
	w := f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{query("g"), query("native")}})
	raw, err := snappy.Decode(nil, w.Body.Bytes())
	var response prompb.ReadResponse
	if err != nil || response.Unmarshal(raw) != nil || len(response.Results) != 2 || len(response.Results[0].Timeseries) != 1 {
		t.Fatal(w.Code, err, response)
	}
	if list := response.Results[0].Timeseries[0].Samples; len(list) != 300 || list[299].Value != 299 {
		t.Error(len(list))
	}
	if list := response.Results[1].Timeseries[0].Histograms; len(list) != 30 || list[29].ToFloatHistogram().Count != 870 {
		t.Error(list)
	}
	w = f.remoteRead(t, &prompb.ReadRequest{Queries: []*prompb.Query{query("g"), query("native")}, AcceptedResponseTypes: []prompb.ReadRequest_ResponseType{prompb.ReadRequest_STREAMED_XOR_CHUNKS}})
	counts := map[int64]int{}
	for rest := w.Body.Bytes(); len(rest) > 0; {
		size, n := binary.Uvarint(rest)
		frame := rest[n+4 : n+4+int(size)]
		rest = rest[n+4+int(size):]
		var one prompb.ChunkedReadResponse
		if err := one.Unmarshal(frame); err != nil {
			t.Fatal(err)
		}
		for _, s := range one.ChunkedSeries {
			for _, c := range s.Chunks {
				encoding := chunkenc.EncXOR
				if c.Type == prompb.Chunk_FLOAT_HISTOGRAM {
					encoding = chunkenc.EncFloatHistogram
				}
				chunk, err := chunkenc.FromData(encoding, c.Data)
				if err != nil {
					t.Fatal(err)
				}
				counts[one.QueryIndex] += chunk.NumSamples()
			}
		}
	}
	if counts[0] != 300 || counts[1] != 30 {
		t.Error(counts)
	}
	for _, bad := range []*prompb.ReadRequest{{Queries: []*prompb.Query{{StartTimestampMs: 2, EndTimestampMs: 1}}}, {Queries: []*prompb.Query{{EndTimestampMs: 1}}},
		{Queries: []*prompb.Query{{EndTimestampMs: 1, Matchers: []*prompb.LabelMatcher{{Type: prompb.LabelMatcher_RE, Name: "a", Value: "("}}}}}} {
		if w := f.remoteRead(t, bad); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "queries[0]") {
			t.Error(w.Code, w.Body)
		}
	}
}

func TestLive(t *testing.T) {
	f := newFixture(t)
	server := httptest.NewUnstartedServer(f.mux)
	server.Config.ReadTimeout, server.Config.WriteTimeout = 500*time.Millisecond, 500*time.Millisecond // the stream outlives them
	server.Start()
	defer server.Close()
	now := int(time.Since(began).Seconds())
	f.put(t, sample(t, now, "g", 1.0), sample(t, now, "latency", []float64{2}))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	request, _ := http.NewRequestWithContext(ctx, "GET", server.URL+"/api/v1/live?query="+url.QueryEscape(`{__name__=~"g|latency"}`), nil)
	response, err := http.DefaultClient.Do(request)
	if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatal(err, response)
	}
	defer response.Body.Close()
	var events []string
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		text, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if events = append(events, text); len(events) == 1 {
			f.put(t, sample(t, now+1, "g", 2.0))
			continue
		}
		break
	}
	want := fmt.Sprintf(`{"series":[{"metric":{"__name__":"g"},"values":[[%s,"2"]]}]}`, at(now+1))
	if len(events) != 2 || events[1] != want || !strings.Contains(events[0], `"histograms":[[`+at(now)+`,{"count":1,"sum":2.05,"bins":[[2,2.1,1]]}]]`) || !json.Valid([]byte(events[0])) {
		t.Errorf("%q", events)
	}
	if w := f.get("/api/v1/live", "query", "rate(x[5m])"); w.Code != http.StatusBadRequest {
		t.Error(w.Code, w.Body)
	}
}

func TestTooManyAtOnce(t *testing.T) {
	f := newFixture(t)
	a := New(f.store, "test")
	mux := http.NewServeMux()
	a.Register(mux)
	for range running {
		if _, _, err := a.pool.Admit(t.Context(), "others"); err != nil {
			t.Fatal(err)
		}
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/query?query=1&timeout=0.3", nil))
	if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "waiting for other queries") {
		t.Error(w.Code, w.Body)
	}
	for range waiting {
		go func() { _, _, _ = a.pool.Admit(t.Context(), "others") }()
	}
	for a.pool.Status().Waiting < waiting {
		time.Sleep(time.Millisecond)
	}
	for _, path := range []string{"query?query=1", "labels?", "histogram/heatmap?query=x&start=1&end=2&step=1", "columns?query=x&start=1&end=2&step=1"} {
		w = httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", "/api/v1/"+path, nil))
		if w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "too many queries") || w.Header().Get("Retry-After") == "" {
			t.Error(path, w.Code, w.Body)
		}
	}
}

// FuzzParameters asks every route anything: it must answer, and an error must say what was wrong.
func FuzzParameters(f *testing.F) {
	store, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	h := &histogram.Histogram{}
	_ = h.Insert(1.5, 3)
	key, _ := tsdb.AppendKey(nil, []tsdb.Label{{Name: "__name__", Value: "x"}})
	number, _ := tsdb.AppendKey(nil, []tsdb.Label{{Name: "__name__", Value: "n"}})
	batch := []tsdb.Sample{{Key: key, Kind: tsdb.Histogram, Time: began.UnixMilli(), Histogram: h}, {Key: number, Time: began.UnixMilli(), Value: 3}}
	if _, err := store.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	New(store, "test").Register(mux)
	routes := []string{"query", "query_range", "series", "labels", "label/x/values", "metadata", "query_exemplars", "status/tsdb", "format_query",
		"histogram/quantiles", "histogram/inverse", "histogram/over", "histogram/heatmap", "histogram/distribution", "histogram/modes", "columns", "metrics"}
	for i, seed := range []string{"query=rate(n[5m])&start=%d&end=%d&step=60", "query=x&start=%d&end=%d&step=1&q=0.5&x=1&limit=1&rows=3", "query=sum(x)&time=%d&stats=all&end=%d",
		"match[]={__name__=~\".*\"}&start=%d&end=%d&limit=1", "query=histogram_quantile(0.9,rate(x[1m]))&start=%d&end=%d&step=1e9&timeout=5&lookback_delta=1h"} {
		f.Add(i, fmt.Sprintf(seed, began.Unix(), began.Unix()+100))
	}
	f.Fuzz(func(t *testing.T, route int, query string) {
		form, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		if form.Get("timeout") == "" {
			form.Set("timeout", "2")
		}
		w := httptest.NewRecorder()
		path := "/api/v1/" + routes[uint(route)%uint(len(routes))]
		mux.ServeHTTP(w, httptest.NewRequest("GET", path+"?"+form.Encode(), nil))
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Fatalf("%s?%s: %d %s", path, query, w.Code, w.Body)
		}
		if strings.HasPrefix(w.Header().Get("Content-Type"), "application/") && strings.Contains(w.Header().Get("Content-Type"), "json") && !json.Valid(w.Body.Bytes()) {
			t.Fatalf("%s?%s: no JSON: %.500s", path, query, w.Body)
		}
	})
}

func FuzzRemoteRead(f *testing.F) {
	store, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = store.Close() })
	number, _ := tsdb.AppendKey(nil, []tsdb.Label{{Name: "__name__", Value: "n"}})
	if _, err := store.Ingest(context.Background(), "test", []tsdb.Sample{{Key: number, Time: began.UnixMilli(), Value: 3}}, journal.Buffered); err != nil {
		f.Fatal(err)
	}
	mux := http.NewServeMux()
	New(store, "test").Register(mux)
	request := prompb.ReadRequest{Queries: []*prompb.Query{{EndTimestampMs: began.UnixMilli() + 1, Matchers: []*prompb.LabelMatcher{{Name: "__name__", Value: "n"}}}}}
	raw, _ := request.Marshal()
	f.Add(raw, true)
	f.Add(snappy.Encode(nil, raw), false)
	f.Fuzz(func(t *testing.T, body []byte, pack bool) {
		if pack {
			body = snappy.Encode(nil, body)
		}
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("POST", "/api/v1/read?timeout=2", bytes.NewReader(body)))
		if w.Code >= 500 && w.Code != http.StatusServiceUnavailable {
			t.Fatal(w.Code, w.Body)
		}
	})
}

func TestSizesRoute(t *testing.T) {
	f := newFixture(t)
	f.latency(t)
	body := f.body(t, "/api/v1/sizes", "label", "host")
	if !strings.HasPrefix(body, `{"sizes":[{"value":"a","series":1,"samples":0,"diskBytes":0,"memoryBytes":`) || !strings.Contains(body, `{"value":"b","series":1,`) {
		t.Error(body)
	}
	if w := f.get("/api/v1/sizes"); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "a label's name is needed") {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
