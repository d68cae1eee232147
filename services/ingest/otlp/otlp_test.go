package otlp

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/ingest/seriesstate"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	common "go.opentelemetry.io/proto/otlp/common/v1"
	metrics "go.opentelemetry.io/proto/otlp/metrics/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// memory is a store that remembers, and refuses what is older than the second 100.
type memory struct {
	mu        sync.Mutex
	samples   []string
	rejected  map[tsdb.Reason]int
	metadata  []tsdb.Metadata
	exemplars []string
	reason    tsdb.Reason // of refusing; TooOld when it is ""
	err       error
}

func labelText(labels []tsdb.Label) string {
	var text []string
	for _, l := range labels {
		text = append(text, l.Name+"="+l.Value)
	}
	return strings.Join(text, ",")
}

func (m *memory) Ingest(_ context.Context, input string, batch []tsdb.Sample, d journal.Durability) (refused []tsdb.Rejection, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	if input != "otlp" || d != journal.Fsync {
		return nil, fmt.Errorf("input %q, durability %q", input, d)
	}
	for i, s := range batch {
		if s.Time < 100_000 {
			refused = append(refused, tsdb.Rejection{Index: i, Reason: cmp.Or(m.reason, tsdb.TooOld), Detail: "it is too old"})
			continue
		}
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, err
		}
		value := fmt.Sprintf("%g", s.Value)
		if math.Float64bits(s.Value) == math.Float64bits(stale) {
			value = "stale"
		}
		if s.Kind == tsdb.NativeHistogram {
			h := s.Native
			if err := h.Validate(); err != nil {
				return nil, err
			}
			value = fmt.Sprintf("schema %d hint %d count %g sum %g zero %g/%g bounds %v positive %v%v negative %v%v", h.Schema, h.CounterResetHint, h.Count, h.Sum,
				h.ZeroCount, h.ZeroThreshold, h.CustomValues, h.PositiveSpans, h.PositiveBuckets, h.NegativeSpans, h.NegativeBuckets)
			if math.Float64bits(h.Sum) == math.Float64bits(stale) {
				value = fmt.Sprintf("schema %d stale", h.Schema)
			}
		}
		m.samples = append(m.samples, fmt.Sprintf("%s %s %s %d", s.Kind, strings.TrimPrefix(labelText(labels), "__name__="), value, s.Time))
	}
	return refused, nil
}

func (m *memory) Describe(list []tsdb.Metadata) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.metadata = append(m.metadata, list...)
}

func (m *memory) Exemplify(_ context.Context, list []tsdb.Exemplar) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, e := range list {
		m.exemplars = append(m.exemplars, fmt.Sprintf("%s %g %d", labelText(e.Labels), e.Value, e.Time))
	}
}

func (m *memory) Reject(reason tsdb.Reason, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rejected == nil {
		m.rejected = map[tsdb.Reason]int{}
	}
	m.rejected[reason] += n
}

func handler(m *memory) (*Handler, *http.ServeMux) {
	h, mux := New(m, Defaults()), http.NewServeMux()
	h.now = func() time.Time { return time.Unix(777, 0) }
	h.Register(mux)
	return h, mux
}

func post(mux *http.ServeMux, content, encoding string, body []byte) *httptest.ResponseRecorder {
	r := httptest.NewRequest("POST", "/v1/metrics", bytes.NewReader(body))
	r.Header.Set("Content-Type", content)
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, r)
	return w
}

func gzipped(body []byte) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, _ = z.Write(body)
	_ = z.Close()
	return b.Bytes()
}

// around puts metrics into a request, of a resource with a name.
func around(list string) string {
	return `{"resourceMetrics":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"shop"}}]},
		"scopeMetrics":[{"metrics":[` + list + `]}]}]}`
}

func toProtobuf(t testing.TB, text string) []byte {
	t.Helper()
	data := &metrics.MetricsData{}
	if err := protojson.Unmarshal([]byte(text), data); err != nil {
		t.Fatal(err, text)
	}
	hexIdentifiers(data)
	body, err := proto.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return body
}

const at = `"timeUnixNano":"200000000000"`

var translations = []struct {
	name, metrics string
	want          []string
	rejected      map[tsdb.Reason]int
}{
	{"gauge", `{"name":"a.b","gauge":{"dataPoints":[{"asDouble":1.5,` + at + `},{"asInt":"-7","attributes":[{"key":"x.y","value":{"stringValue":"z"}}],` + at + `}]}}`,
		[]string{"gauge a.b,job=shop 1.5 200000", "gauge a.b,job=shop,x.y=z -7 200000"}, nil},
	{"no time is now", `{"name":"a","gauge":{"dataPoints":[{"asDouble":1}]}}`, []string{"gauge a,job=shop 1 777000"}, nil},
	{"not finite", `{"name":"a","gauge":{"dataPoints":[{"asDouble":"NaN",` + at + `},{"asDouble":"-Infinity",` + at + `}]}}`,
		[]string{"gauge a,job=shop NaN 200000", "gauge a,job=shop -Inf 200000"}, nil},
	{"counter", `{"name":"http.requests","sum":{"isMonotonic":true,"aggregationTemporality":2,"dataPoints":[{"asInt":"5",` + at + `}]}}`,
		[]string{"counter http.requests,job=shop 5 200000"}, nil},
	{"up and down", `{"name":"q","sum":{"aggregationTemporality":"AGGREGATION_TEMPORALITY_CUMULATIVE","dataPoints":[{"asInt":5,` + at + `}]}}`,
		[]string{"gauge q,job=shop 5 200000"}, nil},
	{"delta", `{"name":"d","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[{"asInt":"5",` + at + `},{"asInt":"2","timeUnixNano":"201000000000"},{"asInt":"1",` + at + `},
		{"asInt":"-1","timeUnixNano":"202000000000"},{"asDouble":"NaN","timeUnixNano":"202000000000"}]}}`,
		[]string{"counter d,job=shop 5 200000", "counter d,job=shop 7 201000"}, map[tsdb.Reason]int{OldDelta: 1, tsdb.BadValue: 2}},
	{"delta, up and down", `{"name":"d","sum":{"aggregationTemporality":1,"dataPoints":[{"asInt":"5",` + at + `},{"asInt":"-2","timeUnixNano":"201000000000"}]}}`,
		[]string{"gauge d,job=shop 5 200000", "gauge d,job=shop 3 201000"}, nil},
	{"no temporality", `{"name":"d","sum":{"dataPoints":[{"asInt":"5"}]}},{"name":"h","histogram":{"dataPoints":[{"count":"0"}]}},
		{"name":"e","exponentialHistogram":{"dataPoints":[{"count":"0"}]}}`, nil, map[tsdb.Reason]int{NoTemporality: 3}},
	{"no data, no value, no name", `{"name":"a"},{"name":"b","gauge":{"dataPoints":[{}]}},{"gauge":{"dataPoints":[{"asInt":"1"}]}}`,
		nil, map[tsdb.Reason]int{NoData: 1, tsdb.BadValue: 1, tsdb.BadName: 1}},
	{"ended", `{"name":"a","gauge":{"dataPoints":[{"flags":1,` + at + `}]}},{"name":"s","summary":{"dataPoints":[{"flags":1,` + at + `}]}},
		{"name":"d","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[{"flags":1,` + at + `}]}},
		{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[{"flags":1,` + at + `}]}},
		{"name":"e","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[{"flags":1,"scale":20,` + at + `}]}}`,
		[]string{"gauge a,job=shop stale 200000", "counter s_count,job=shop stale 200000", "counter s_sum,job=shop stale 200000", "counter d,job=shop stale 200000",
			"native_histogram h,job=shop schema -53 stale 200000", "native_histogram e,job=shop schema 8 stale 200000"}, nil},
	{"explicit", `{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[{"count":"6","sum":12.5,"min":1,"max":9,"bucketCounts":["1","2","0","3"],"explicitBounds":[1,2.5,5],` + at + `}]}}`,
		[]string{"native_histogram h,job=shop schema -53 hint 0 count 6 sum 12.5 zero 0/0 bounds [1 2.5 5] positive [{0 2} {1 1}][1 2 3] negative [][] 200000"}, nil},
	{"explicit, delta, no buckets", `{"name":"h","histogram":{"aggregationTemporality":1,"dataPoints":[{"count":"6","sum":12,` + at + `}]}}`,
		[]string{"native_histogram h,job=shop schema -53 hint 0 count 6 sum 12 zero 0/0 bounds [] positive [{0 1}][6] negative [][] 200000"}, nil},
	{"bad explicit", `{"name":"h","histogram":{"aggregationTemporality":2,"dataPoints":[
		{"count":"3","bucketCounts":["1","2"],"explicitBounds":[1,2]},
		{"count":"4","bucketCounts":["1","2"],"explicitBounds":[1]},
		{"count":"3","bucketCounts":["1","1","1"],"explicitBounds":[2,1]},
		{"count":"3","bucketCounts":["1","1","1"],"explicitBounds":[1,"NaN"]}]}}`,
		nil, map[tsdb.Reason]int{tsdb.BadHistogram: 4}},
	// The bucket i of OpenTelemetry is the bucket i+1 of Prometheus.
	{"exponential", `{"name":"e","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[{"count":"10","sum":3,"scale":3,"zeroCount":"1","zeroThreshold":0.001,
		"positive":{"offset":-2,"bucketCounts":["1","0","2"]},"negative":{"offset":4,"bucketCounts":["6"]},` + at + `}]}}`,
		[]string{"native_histogram e,job=shop schema 3 hint 0 count 10 sum 3 zero 1/0.001 bounds [] positive [{-1 1} {1 1}][1 2] negative [{5 1}][6] 200000"}, nil},
	// Two steps finer: four buckets are one. -5…-1, 0, 1 are -2 (one), -1 (four) and 0 (two).
	{"downscaled", `{"name":"e","exponentialHistogram":{"aggregationTemporality":1,"dataPoints":[{"count":"28","scale":10,"positive":{"offset":-5,"bucketCounts":["1","2","3","4","5","6","7"]},` + at + `}]}}`,
		[]string{"native_histogram e,job=shop schema 8 hint 0 count 28 sum 0 zero 0/0 bounds [] positive [{-1 3}][1 14 13] negative [][] 200000"}, nil},
	{"very fine", `{"name":"e","exponentialHistogram":{"aggregationTemporality":1,"dataPoints":[{"count":"3","scale":2000000000,"positive":{"offset":-1,"bucketCounts":["1","2"]},` + at + `}]}}`,
		[]string{"native_histogram e,job=shop schema 8 hint 0 count 3 sum 0 zero 0/0 bounds [] positive [{0 2}][1 2] negative [][] 200000"}, nil},
	{"bad exponential", `{"name":"e","exponentialHistogram":{"aggregationTemporality":2,"dataPoints":[{"count":"1","scale":-5,"positive":{"bucketCounts":["1"]}},
		{"count":"2","positive":{"bucketCounts":["1"]}},{"count":"1","zeroCount":"1","zeroThreshold":-1},{"count":"1","scale":8,"positive":{"offset":2147483647,"bucketCounts":["1"]}}]}}`,
		nil, map[tsdb.Reason]int{BadScale: 1, tsdb.BadHistogram: 3}},
	{"summary", `{"name":"s","summary":{"dataPoints":[{"count":"4","sum":10,"quantileValues":[{"quantile":0.5,"value":2},{"quantile":1,"value":"NaN"},{"quantile":2,"value":1}],` + at + `}]}}`,
		[]string{"counter s_count,job=shop 4 200000", "counter s_sum,job=shop 10 200000", "gauge s,job=shop,quantile=0.5 2 200000", "gauge s,job=shop,quantile=1 NaN 200000"},
		map[tsdb.Reason]int{tsdb.BadValue: 1}},
	{"attributes", `{"name":"a","gauge":{"dataPoints":[{"asInt":"1","attributes":[{"key":"b","value":{"boolValue":true}},{"key":"d","value":{"doubleValue":2.5}},{"key":"i","value":{"intValue":"3"}},
		{"key":"job","value":{"stringValue":"mine"}},{"key":"l","value":{"arrayValue":{"values":[{"stringValue":"x\"y"},{"intValue":"1"},{}]}}},
		{"key":"m","value":{"kvlistValue":{"values":[{"key":"k","value":{"bytesValue":"AQI="}}]}}},{"key":"n","value":{}},{"key":"o"}],` + at + `}]}}`,
		[]string{`gauge a,b=true,d=2.5,exported_job=mine,i=3,job=shop,l=["x\"y",1,null],m={"k":"AQI="} 1 200000`}, nil},
	{"bad attributes", `{"name":"a","gauge":{"dataPoints":[{"asInt":"1","attributes":[{"key":"b","value":{"boolValue":true}},{"key":"b","value":{"boolValue":true}}]},
		{"asInt":"1","attributes":[{"key":"","value":{"boolValue":true}}]},{"asInt":"1","attributes":[{"key":"__name__","value":{"boolValue":true}}]},
		{"asInt":"1","attributes":[{"key":"l","value":{"stringValue":"` + strings.Repeat("x", 3000) + `"}}]},
		{"asInt":"1","attributes":[` + strings.Repeat(`{"key":"b"},`, 1000) + `{}]}]}}`,
		nil, map[tsdb.Reason]int{tsdb.BadLabel: 3, tsdb.LabelTooLong: 1, tsdb.TooManyLabels: 1}},
	{"a long name", `{"name":"` + strings.Repeat("n", 1<<20) + `","summary":{"dataPoints":[{},{}]}}`, nil, map[tsdb.Reason]int{tsdb.LabelTooLong: 2}},
	{"too old", `{"name":"a","gauge":{"dataPoints":[{"asInt":"1","timeUnixNano":"1"}]}}`, nil, nil},
}

// Each as protobuf, as JSON, and gzipped: the same. What is wrong is counted by reason, what is around it is kept.
func TestTranslations(t *testing.T) {
	good := `{"name":"good","gauge":{"dataPoints":[{"asInt":"1",` + at + `}]}}`
	for _, c := range translations {
		text := around(good + "," + c.metrics + "," + good)
		for _, content := range []string{typeJSON, typeProtobuf} {
			body := []byte(text)
			if content == typeProtobuf {
				body = toProtobuf(t, text)
			}
			for _, encoding := range []string{"", "gzip"} {
				m := &memory{}
				_, mux := handler(m)
				if encoding == "gzip" {
					body = gzipped(body)
				}
				w := post(mux, content, encoding, body)
				if w.Code != 200 || w.Header().Get("Content-Type") != content {
					t.Fatalf("%s: %d %s", c.name, w.Code, w.Body)
				}
				want := append(append([]string{"gauge good,job=shop 1 200000"}, c.want...), "gauge good,job=shop 1 200000")
				if !slices.Equal(m.samples, want) {
					t.Errorf("%s, %s: %q, want %q", c.name, content, m.samples, want)
				}
				if !maps.Equal(m.rejected, c.rejected) {
					t.Errorf("%s, %s: refused %v, want %v", c.name, content, m.rejected, c.rejected)
				}
			}
		}
	}
}

func TestResourceAndScope(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	attribute := func(k, v string) string { return fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, k, v) }
	w := post(mux, "application/json; charset=utf-8", "", []byte(`{"resourceMetrics":[{"resource":{"attributes":[`+strings.Join([]string{
		attribute("service.namespace", "eu"), attribute("service.name", "shop"), attribute("service.instance.id", "i-1"),
		attribute("host.name", "web1"), attribute("k8s.pod.name", "pod"), attribute("telemetry.sdk.language", "go"), attribute("process.pid", "1")}, ",")+`]},
		"scopeMetrics":[{"schemaUrl":"s:1","scope":{"name":"lib","version":"1.2","attributes":[`+strings.Join([]string{
		attribute("mascot", "newt"), attribute("name", "not the scope's"), attribute("mascot", "again"), attribute("empty", "")}, ",")+`]},"futureField":[1,{}],"metrics":[{"name":"a","unit":"ms","description":"What it is.","sum":{"isMonotonic":true,"aggregationTemporality":2,
		"dataPoints":[{"asInt":1,`+at+`,"attributes":[`+attribute("host.name", "other")+`,`+attribute("instance", "mine")+`,`+attribute("otel_scope_mascot", "own")+`],
		"exemplars":[{"timeUnixNano":"199000000000","asDouble":0.5,"traceId":"5B8EFFF798038103D269B633813FC60C","spanId":"eee19b7ec3c1b174",
		"filteredAttributes":[`+attribute("user", "ann")+`]}]}]}}]}]}]}`))
	if w.Code != 200 || strings.TrimSpace(w.Body.String()) != "{}" {
		t.Fatal(w.Code, w.Body)
	}
	want := []string{"counter a,exported_instance=mine,exported_otel_scope_mascot=own,host.name=other,instance=i-1,job=eu/shop,k8s.pod.name=pod,otel_scope_mascot=newt,otel_scope_name=lib,otel_scope_schema_url=s:1,otel_scope_version=1.2 1 200000",
		"gauge target_info,host.name=web1,instance=i-1,job=eu/shop,k8s.pod.name=pod,process.pid=1,telemetry.sdk.language=go 1 200000"}
	if !slices.Equal(m.samples, want) {
		t.Errorf("%q", m.samples)
	}
	if want := []string{"trace_id=5b8efff798038103d269b633813fc60c,span_id=eee19b7ec3c1b174,user=ann 0.5 199000"}; !slices.Equal(m.exemplars, want) {
		t.Errorf("%q", m.exemplars)
	}
	if want := []tsdb.Metadata{{Name: "a", Type: "counter", Unit: "ms", Help: "What it is."},
		{Name: "target_info", Type: "info", Help: "What sent metrics: the attributes of its resource."}}; !slices.Equal(m.metadata, want) {
		t.Errorf("%q", m.metadata)
	}
}

func TestPartialSuccess(t *testing.T) {
	text := around(`{"name":"old","gauge":{"dataPoints":[{"asInt":"1","timeUnixNano":"1"},{"asInt":"2",` + at + `}]}},{"name":"bad","gauge":{"dataPoints":[{}]}}`)
	const want = "2 data points were refused (bad_value: 1, too_old: 1), the others were stored; the first: old: it is too old"
	_, mux := handler(&memory{})
	w := post(mux, typeJSON, "", []byte(text))
	var answer struct {
		PartialSuccess struct{ RejectedDataPoints, ErrorMessage string }
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || w.Code != 200 {
		t.Fatal(err, w.Code, w.Body)
	}
	if answer.PartialSuccess.RejectedDataPoints != "2" || answer.PartialSuccess.ErrorMessage != want {
		t.Errorf("%+v", answer)
	}
	w = post(mux, typeProtobuf, "", toProtobuf(t, text))
	expect := append([]byte{0x0a, byte(4 + len(want)), 0x08, 2, 0x12, byte(len(want))}, want...)
	if w.Code != 200 || !bytes.Equal(w.Body.Bytes(), expect) {
		t.Errorf("%d %q, want %q", w.Code, w.Body.Bytes(), expect)
	}
	if w = post(mux, typeProtobuf, "", nil); w.Code != 200 || w.Body.Len() != 0 {
		t.Errorf("an empty request: %d %q", w.Code, w.Body)
	}
}

// Totals go on over requests; a request that was not stored has not been added, one that comes twice is not twice.
func TestDeltas(t *testing.T) {
	m := &memory{}
	h, mux := handler(m)
	now := time.Unix(1000, 0)
	h.now = func() time.Time { return now }
	send := func(value, second int) int {
		text := around(fmt.Sprintf(`{"name":"d","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[{"asInt":%d,"timeUnixNano":"%d000000000"}]}}`, value, second))
		return post(mux, typeJSON, "", []byte(text)).Code
	}
	send(5, 200)
	m.err = errors.New("the pool is full")
	if code := send(3, 210); code != 503 {
		t.Errorf("%d", code)
	}
	m.err = nil
	send(3, 210)
	send(3, 210)
	send(1, 205)
	send(2, 220)
	want := []string{"counter d,job=shop 5 200000", "counter d,job=shop 8 210000", "counter d,job=shop 10 220000"}
	if !slices.Equal(m.samples, want) || m.rejected[OldDelta] != 2 {
		t.Errorf("%q, refused %v", m.samples, m.rejected)
	}
	now = now.Add(seriesstate.ForgetAfter + 2*seriesstate.SweepEvery)
	m.samples = nil
	send(4, 230)
	if !slices.Equal(m.samples, []string{"counter d,job=shop 4 230000"}) || h.totals.table.Len() != 1 {
		t.Errorf("%q", m.samples)
	}
	for i := range maxTotals {
		h.totals.table.Set(fmt.Sprint(i), running{}, now)
	}
	if post(mux, typeJSON, "", []byte(around(`{"name":"one.more","sum":{"aggregationTemporality":1,"dataPoints":[{"asInt":1}]}}`))); m.rejected[tsdb.SeriesLimit] != 1 {
		t.Errorf("refused %v", m.rejected)
	}
}

func TestBadRequests(t *testing.T) {
	deep := `{"arrayValue":{"values":[`
	nested := around(`{"name":"a","gauge":{"dataPoints":[{"attributes":[{"key":"x","value":` + strings.Repeat(deep, 100) + strings.Repeat(`]}}`, 100) + `}]}]}}`)
	value := protowire.AppendTag(nil, 5, protowire.BytesType)
	for range 100 { // array_value 5 { values 1 }
		value = protowire.AppendBytes(protowire.AppendTag(nil, 5, protowire.BytesType), protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), value))
	}
	inner := value
	for _, field := range []protowire.Number{2, 7, 1, 5, 2, 2, 1} { // value, attributes, data_points, gauge, metrics, scope_metrics, resource_metrics
		inner = protowire.AppendBytes(protowire.AppendTag(nil, field, protowire.BytesType), inner)
	}
	bomb := gzipped(make([]byte, maxMessage+1))
	empties := protowire.AppendBytes(protowire.AppendTag(nil, 1, protowire.BytesType), bytes.Repeat([]byte{0x12, 0}, maxParts))
	for _, c := range []struct {
		name, content, encoding string
		body                    []byte
		status, code            int
	}{
		{"garbage", typeProtobuf, "", []byte("garbage"), 400, invalidArgument},
		{"a cut message", typeProtobuf, "", []byte{0x0a, 0x05, 0x12}, 400, invalidArgument},
		{"invalid UTF-8", typeProtobuf, "", []byte{0x0a, 7, 0x12, 5, 0x12, 3, 0x0a, 1, 0xff}, 400, invalidArgument},
		{"too deep", typeProtobuf, "", inner, 400, invalidArgument},
		{"too many parts", typeProtobuf, "", empties, 413, resourceExhausted},
		{"a bomb", typeProtobuf, "gzip", bomb, 413, resourceExhausted},
		{"too large", typeProtobuf, "", make([]byte, maxCompressed+1), 413, resourceExhausted},
		{"no gzip", typeProtobuf, "gzip", []byte("x"), 400, invalidArgument},
		{"cut gzip", typeProtobuf, "gzip", bomb[:100], 400, invalidArgument},
		{"another encoding", typeProtobuf, "zstd", nil, 415, unimplemented},
		{"no JSON", typeJSON, "", []byte("garbage"), 400, invalidArgument},
		{"cut JSON", typeJSON, "", []byte(`{"resourceMetrics":[`), 400, invalidArgument},
		{"other JSON", typeJSON, "", []byte(`{"resourceMetrics":7}`), 400, invalidArgument},
		{"deep JSON", typeJSON, "", []byte(nested), 400, invalidArgument},
		{"many parts in JSON", typeJSON, "", []byte(`{"resourceMetrics":[` + strings.Repeat("{},", maxParts) + "{}]}"), 413, resourceExhausted},
		{"another type", "text/plain", "", nil, 415, unimplemented},
		{"no type", "", "", nil, 415, unimplemented},
	} {
		m := &memory{}
		_, mux := handler(m)
		w := post(mux, c.content, c.encoding, c.body)
		if w.Code != c.status || len(m.samples) > 0 || m.rejected["malformed_body"] != 1 {
			t.Errorf("%s: %d %.200q, refused %v", c.name, w.Code, w.Body, m.rejected)
			continue
		}
		if c.content == typeProtobuf {
			if b := w.Body.Bytes(); len(b) < 4 || b[0] != 0x08 || int(b[1]) != c.code || b[2] != 0x12 {
				t.Errorf("%s: %q", c.name, b)
			}
			continue
		}
		var status struct {
			Code    int
			Message string
		}
		if err := json.Unmarshal(w.Body.Bytes(), &status); err != nil || status.Code != c.code || status.Message == "" {
			t.Errorf("%s: %v %s", c.name, err, w.Body)
		}
	}
}

func TestUnavailable(t *testing.T) {
	m := &memory{err: errors.New("the pool is full")}
	_, mux := handler(m)
	w := post(mux, typeJSON, "", []byte(around(`{"name":"a","gauge":{"dataPoints":[{"asInt":"1"}]}}`)))
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "the pool is full") || len(m.rejected) > 0 {
		t.Errorf("%d %s %v", w.Code, w.Body, m.rejected)
	}
}

// A value that is too long is not written out.
func TestLongAttributes(t *testing.T) {
	v := &common.AnyValue{Value: &common.AnyValue_IntValue{IntValue: 1}}
	for range 10 {
		list := &common.ArrayValue{}
		for range 10 {
			list.Values = append(list.Values, v)
		}
		v = &common.AnyValue{Value: &common.AnyValue_ArrayValue{ArrayValue: list}}
	}
	if n := len(text(v)); n > 1<<20 {
		t.Errorf("%d bytes", n)
	}
}

func FuzzMetrics(f *testing.F) {
	for _, c := range translations {
		if len(c.metrics) > 10_000 {
			continue
		}
		f.Add([]byte(around(c.metrics)), true)
		f.Add(toProtobuf(f, around(c.metrics)), false)
	}
	f.Fuzz(func(t *testing.T, body []byte, text bool) {
		m := &memory{}
		_, mux := handler(m)
		content := typeProtobuf
		if text {
			content = typeJSON
		}
		// 503 would be a key or a histogram that the store cannot take.
		if w := post(mux, content, "", body); w.Code == 503 {
			t.Fatal(w.Body)
		}
	})
}

// What would be taken later is asked for again; a difference is added to its total once, however often it comes.
func TestOverload(t *testing.T) {
	for _, reason := range []tsdb.Reason{tsdb.MemoryLimit, tsdb.SeriesRate, tsdb.SenderSeriesRate, tsdb.InputSeriesRate} {
		m := &memory{rejected: map[tsdb.Reason]int{}, reason: reason}
		mux := http.NewServeMux()
		New(m, Defaults()).Register(mux)
		body := []byte(around(`{"name":"g","gauge":{"dataPoints":[{"timeUnixNano":"1","asInt":"1"},{"timeUnixNano":"200000000000","asInt":"2"}]}},
			{"name":"d","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"timeUnixNano":"200000000000","asInt":"5"}]}}`))
		w := post(mux, typeJSON, "", body)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), "1 of 3 samples") {
			t.Errorf("%s: %d %s", reason, w.Code, w.Body)
		}
		m.reason = "" // there is room again, but for what is too old
		w = post(mux, typeJSON, "", body)
		if w.Code != http.StatusOK || strings.Contains(strings.Join(m.samples, "\n"), "d 10") || !strings.Contains(w.Body.String(), "otlp_old_delta: 1") {
			t.Errorf("%s: %d %s %q", reason, w.Code, w.Body, m.samples)
		}
	}
}

// Each data point, of some bytes, has the resource's labels in its key.
func TestLabelsOfManyPoints(t *testing.T) {
	mux := http.NewServeMux()
	m := &memory{rejected: map[tsdb.Reason]int{}}
	New(m, Defaults()).Register(mux)
	long := strings.Repeat("x", tsdb.MaxLabelValue)
	var attributes []string
	for _, name := range DefaultPromote() {
		attributes = append(attributes, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, name, long))
	}
	body := `{"resourceMetrics":[{"resource":{"attributes":[` + strings.Join(attributes, ",") + `]},"scopeMetrics":[{"metrics":[{"name":"g","gauge":{"dataPoints":[` +
		strings.Repeat(`{"asInt":1},`, 5000) + `{"asInt":1}]}}]}]}]}`
	if w := post(mux, typeJSON, "", []byte(body)); w.Code != http.StatusRequestEntityTooLarge || len(m.samples) > 0 {
		t.Errorf("%d %.300s", w.Code, w.Body)
	}
}
