package api

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"cistern/services/store/tsdb"

	dto "github.com/prometheus/client_model/go"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
	"google.golang.org/protobuf/encoding/protodelim"
)

func (f *fixture) federate(accept string, matches ...string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	r := httptest.NewRequest("GET", "/federate?"+url.Values{"match[]": matches}.Encode(), nil)
	r.Header.Set("Accept", accept)
	f.mux.ServeHTTP(w, r)
	return w
}

// forFederation is a store with a sample of each kind; now is its own.
func forFederation(t *testing.T) *fixture {
	f := newFixture(t)
	f.put(t, sample(t, 0, "up", 1.0, "job", "a"), sample(t, 5, "up", 0.5, "job", "a"), sample(t, 5, "up", 1.0, "job", "b", "instance", "i"))
	f.put(t, sample(t, 5, "ended", math.Float64frombits(value.StaleNaN)), sample(t, 5, "http.requests", 7.0))
	f.put(t, nativeSample(t, 5, native(promhistogram.UnknownCounterReset, 10, 20)), sample(t, 5, "latency", []float64{1}))
	custom := sample(t, 5, "custom", 0.0)
	custom.Kind, custom.Native = tsdb.NativeHistogram, &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, Count: 6, Sum: 9, CustomValues: []float64{1, 2, 4},
		PositiveSpans: []promhistogram.Span{{Offset: 0, Length: 1}, {Offset: 1, Length: 2}}, PositiveBuckets: []float64{1, 2, 3}}
	f.put(t, custom)
	a := New(f.store, "test")
	a.now = func() time.Time { return began.Add(10 * time.Second) }
	f.mux = http.NewServeMux()
	a.Register(f.mux)
	return f
}

const everything = `{__name__=~".+"}`

func TestFederation(t *testing.T) {
	f := forFederation(t)
	ms := fmt.Sprint(began.UnixMilli() + 5000)
	w := f.federate("text/plain;version=1.0.0;escaping=allow-utf-8", `up`, everything)
	want := "# TYPE custom histogram\n" +
		"custom_bucket{instance=\"\",le=\"1.0\"} 1 T\ncustom_bucket{instance=\"\",le=\"2.0\"} 1 T\ncustom_bucket{instance=\"\",le=\"4.0\"} 3 T\ncustom_bucket{instance=\"\",le=\"+Inf\"} 6 T\n" +
		"custom_sum{instance=\"\"} 9 T\ncustom_count{instance=\"\"} 6 T\n" +
		"# TYPE \"http.requests\" untyped\n{\"http.requests\",instance=\"\"} 7 T\n" +
		"# TYPE native histogram\nnative_bucket{instance=\"\",le=\"2.0\"} 10 T\nnative_bucket{instance=\"\",le=\"4.0\"} 30 T\nnative_bucket{instance=\"\",le=\"+Inf\"} 30 T\n" +
		"native_sum{instance=\"\"} 75 T\nnative_count{instance=\"\"} 30 T\n" +
		"# TYPE up untyped\nup{job=\"a\",instance=\"\"} 0.5 T\nup{instance=\"i\",job=\"b\"} 1 T\n"
	if got := strings.ReplaceAll(w.Body.String(), ms, "T"); w.Code != 200 || strings.ReplaceAll(got, ".0\"", "\"") != strings.ReplaceAll(want, ".0\"", "\"") {
		t.Errorf("%d %s", w.Code, got)
	}
	if !strings.Contains(w.Header().Get(leftOutHeader), "1 histograms of one second each") {
		t.Error(w.Header())
	}
	w = f.federate("application/openmetrics-text;version=1.0.0", `up`)
	if !strings.Contains(w.Header().Get("Content-Type"), "openmetrics") || !strings.HasSuffix(w.Body.String(), "# EOF\n") || !strings.Contains(w.Body.String(), `up{job="a",instance=""} 0.5`) {
		t.Error(w.Header(), w.Body)
	}
	// Protobuf holds native histograms as they are.
	w = f.federate("application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;escaping=allow-utf-8", everything)
	families := map[string]*dto.MetricFamily{}
	for {
		one := &dto.MetricFamily{}
		if err := protodelim.UnmarshalFrom(w.Body, one); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		families[one.GetName()] = one
	}
	if h := families["native"].GetMetric()[0].GetHistogram(); len(families) != 4 || h.GetSchema() != 0 || h.GetSampleCountFloat() != 30 || fmt.Sprint(h.GetPositiveCount()) != "[10 20]" || h.GetPositiveSpan()[0].GetOffset() != 1 {
		t.Error(families)
	}
	for query, want := range map[string]string{"": "match[]: is missing", "match[]=%7B%7D": "would be everything", "match[]=a{": "parse error"} {
		w := httptest.NewRecorder()
		f.mux.ServeHTTP(w, httptest.NewRequest("GET", "/federate?"+query, nil))
		if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestSyntaxTree(t *testing.T) {
	f := newFixture(t)
	for query, want := range map[string]string{
		`sum by (job) (rate(a{b!="c"}[5m] offset 1m))`: `{"expr":{"args":[{"anchored":false,"matchers":[{"name":"b","type":"!=","value":"c"},{"name":"__name__","type":"=","value":"a"}],` +
			`"name":"a","offset":60000,"offsetExpr":null,"range":300000,"rangeExpr":null,"smoothed":false,"startOrEnd":null,"timestamp":null,"type":"matrixSelector"}],` +
			`"func":{"argTypes":["matrix"],"name":"rate","returnType":"vector","variadic":0},"type":"call"},"grouping":["job"],"op":"sum","param":null,"type":"aggregation","without":false}`,
		`-(1)`: `{"expr":{"expr":{"type":"numberLiteral","val":"1"},"type":"parenExpr"},"op":"-","type":"unaryExpr"}`,
		`topk(3, max_over_time(a[1h:1m] @ end()))`: `"startOrEnd":"end","step":60000,"stepExpr":null,"timestamp":null,"type":"subquery"`,
		`a / on (x) group_left (y) b`:              `"matching":{"card":"many-to-one","fillValues":{"lhs":null,"rhs":null},"include":["y"],"labels":["x"],"on":true}`,
		`label_replace(a, "x", "y", "", "")`:       `{"type":"stringLiteral","val":"x"}`,
	} {
		got := f.body(t, "/api/v1/parse_query", "query", query)
		if !strings.Contains(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("%s: %s", query, got)
		}
	}
	for query, want := range map[string]string{"": "is missing", "sum(": "parse error", strings.Repeat("(", 400) + "1" + strings.Repeat(")", 400): "nested deeper than 250"} {
		if w := f.get("/api/v1/parse_query", "query", query); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%.20s: %d %s", query, w.Code, w.Body)
		}
	}
}

func TestStatusOfSettings(t *testing.T) {
	f := newFixture(t)
	mux := http.NewServeMux()
	a := New(f.store, "test")
	a.Settings = func() Settings {
		return Settings{YAML: "data: x\n", Flags: map[string]string{"storage.tsdb.retention.time": "400d"}}
	}
	a.Register(mux)
	f.mux = mux
	for path, want := range map[string]string{
		"config": `{"status":"success","data":{"yaml":"data: x\n"}}`, "flags": `"query.lookback-delta":"5m"`, "runtimeinfo": `"storageRetention":"400d"`} {
		if got := f.body(t, "/api/v1/status/"+path); !strings.Contains(got, want) {
			t.Errorf("%s: %s", path, got)
		}
	}
}
