package main

// Forced labels, by every way in.

import (
	"encoding/binary"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

var berlin = []string{labelsHeader, "site=berlin&a%20b=%C3%A4%26%3D"}

// Whatever a sender says of the site, by whatever protocol, what it sends has the site of its token.
func TestForcedLabelsByEveryWayIn(t *testing.T) {
	now := time.Now().UnixMilli()
	point := fmt.Sprintf(`"timeUnixNano":"%d"`, now*1e6)
	paris := `{"key":"site","value":{"stringValue":"paris"}}`
	otlp := func(resource, attributes, more string) []byte {
		return fmt.Appendf(nil, `{"resourceMetrics":[{"resource":{"attributes":[%s]},"scopeMetrics":[{"metrics":[{"name":"m.o","gauge":{"dataPoints":[{"asInt":"1",%s,"attributes":[%s]}]}}%s]}]}]}`,
			resource, point, attributes, more)
	}
	write1 := func(labels ...prompb.Label) []byte {
		raw, err := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{Labels: labels, Samples: []prompb.Sample{{Value: 1, Timestamp: now}},
			Exemplars: []prompb.Exemplar{{Labels: []prompb.Label{{Name: "trace_id", Value: "1"}}, Value: 1, Timestamp: now}}}}}).Marshal()
		if err != nil {
			t.Fatal(err)
		}
		return snappy.Encode(nil, raw)
	}
	symbols := writev2.NewSymbolTable()
	var refs []uint32
	for _, text := range []string{"__name__", "m", "host", "a", "site", "paris"} {
		refs = append(refs, symbols.Symbolize(text))
	}
	write2, err := (&writev2.Request{Timeseries: []writev2.TimeSeries{{LabelsRefs: refs, Samples: []writev2.Sample{{Value: 1, Timestamp: now}},
		Exemplars: []writev2.Exemplar{{LabelsRefs: []uint32{symbols.Symbolize("trace_id"), symbols.Symbolize("2")}, Value: 1, Timestamp: now}}}}, Symbols: symbols.Symbols()}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "m"}, {Name: "host", Value: "a"}, {Name: "site", Value: "paris"}})
	if err != nil {
		t.Fatal(err)
	}
	var bins histogram.Histogram
	_ = bins.Insert(0.5, 3)
	samples := append([]byte("CISTSMP2\x01\x03"), binary.AppendUvarint(nil, uint64(len(key)))...)
	samples = append(append(samples, key...), 1, 0)
	samples = bins.Append(binary.AppendVarint(samples, now))
	const json = "application/json"
	asked := map[string]bool{}
	for _, c := range []struct {
		r    request
		want string // the series, in which L is the forced labels
	}{
		{request{"POST", "/api/v1/import", json, []byte(`{"samples":[{"name":"m","value":1,"labels":{"site":"paris","host":"a"}},{"name":"m","value":1,"labels":{"host":"a","site":""}},{"name":"m","labels":{"host":"a"},"value":2}]}`)}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/import", json, []byte(`{"samples":[{"name":"m","labels":{"a b":"no","site":"berlin"},"histogram":{"bins":{"0.5":3}}}]}`)}, `m{L,S}`},
		{request{"POST", "/api/v1/import", "application/vnd.cistern.samples", samples}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/write", "", write1(prompb.Label{Name: "__name__", Value: "m"}, prompb.Label{Name: "host", Value: "a"}, prompb.Label{Name: "site", Value: "paris"})}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/write", "", write1(prompb.Label{Name: "site", Value: "paris"}, prompb.Label{Name: "host", Value: "a"}, prompb.Label{Name: "__name__", Value: "m"})}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/write", "", write1(prompb.Label{Name: "__name__", Value: "m"}, prompb.Label{Name: "host", Value: "a"}, prompb.Label{Name: "site", Value: ""})}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/write", "application/x-protobuf;proto=io.prometheus.write.v2.Request", snappy.Encode(nil, write2)}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/collectd", json, []byte(`[{"values":[7],"dstypes":["gauge"],"dsnames":["value"],"host":"a","plugin":"load","type":"load","meta":{"site":"paris"}}]`)}, `collectd.load.load{L,host="a",S}`},
		{request{"PUT", "/api/v1/trap", json, []byte(`{"m":{"_type":"n","_value":1,"_tags":["site:paris","host:a"]}}`)}, `m{L,host="a",S}`},
		{request{"POST", "/api/v1/trap/shop", json, []byte(`{"m":{"_type":"h","_value":[1,2],"_tags":["site:paris"]}}`)}, `m{L,check="shop",S}`},
		{request{"POST", "/write?db=d", "", []byte("m,site=paris,host=a v=1")}, `m_v{L,db="d",host="a",S}`},
		{request{"POST", "/api/v2/write?bucket=d&org=o", "", []byte("m,host=a v=1\nm,site=rome,host=a v=2")}, `m_v{L,db="d",host="a",S}`},
		{request{"POST", "/v1/metrics", json, otlp("", paris, "")}, `m.o{L,S}`},
		{request{"POST", "/api/v1/otlp/v1/metrics", json, otlp(paris+`,{"key":"service.name","value":{"stringValue":"shop"}},{"key":"zone","value":{"stringValue":"z"}}`, "", "")},
			`m.o{L,job="shop",S}` + "\n" + `target_info{L,job="shop",S,zone="z"}`},
	} {
		s, mux, h := inMemory(t)
		w := ask(h, c.r, berlin...)
		if w.Code >= 300 || strings.Contains(w.Body.String(), "refused") {
			t.Errorf("%s: %d %s", c.r.path, w.Code, w.Body)
		}
		want := strings.NewReplacer("L,", `a b="ä&=",`, "S", `site="berlin"`).Replace(c.want)
		if got := strings.Join(keysOf(t, s), "\n"); got != want {
			t.Errorf("%s %s %.100q:\n got %s\nwant %s", c.r.method, c.r.path, c.r.body, got, want)
		}
		for _, set := range s.store.Exemplars(t.Context(), 0, 1<<62) {
			if got := tsdb.FormatLabels(set.Labels); got != want {
				t.Errorf("%s: an exemplar of %s", c.r.path, got)
			}
		}
		_, pattern := mux.Handler(&http.Request{Method: c.r.method, URL: mustURL(t, c.r.path)})
		asked[pathOf(pattern)] = true
	}
	for path, does := range scopes {
		if does == labelled && !asked[path] {
			t.Errorf("%s was not tried", path)
		}
	}
}

// What inputs remember of a series between requests is of the series that is stored: two tokens that send the same are two series.
func TestForcedLabelsKeepStatesApart(t *testing.T) {
	s, _, h := inMemory(t)
	now := time.Now().Add(-time.Minute)
	for i, site := range []string{"berlin", "paris", "berlin", "paris", "berlin"} {
		from, to := now.Add(time.Duration(i)*time.Second).UnixNano(), now.Add(time.Duration(i+1)*time.Second).UnixNano()
		delta := fmt.Sprintf(`{"resourceMetrics":[{"scopeMetrics":[{"metrics":[{"name":"d","sum":{"aggregationTemporality":1,"isMonotonic":true,"dataPoints":[{"asDouble":%d,"startTimeUnixNano":"%d","timeUnixNano":"%d"}]}}]}]}]}`, i+1, from, to)
		if w := ask(h, request{"POST", "/v1/metrics", "application/json", []byte(delta)}, labelsHeader, "site="+site); w.Code != http.StatusOK || strings.Contains(w.Body.String(), "refused") {
			t.Fatal(w.Code, w.Body)
		}
		total := fmt.Sprintf(`{"h":{"_type":"H","_value":["H[1]=%d"],"_ts":%d}}`, (i+1)*10, to/1e6)
		if w := ask(h, request{"POST", "/api/v1/trap", "application/json", []byte(total)}, labelsHeader, "site="+site); w.Code != http.StatusOK {
			t.Fatal(w.Code, w.Body)
		}
	}
	for site, want := range map[string][2]string{"berlin": {"9", "40"}, "paris": {"6", "20"}} {
		newest := ask(h, form("/api/v1/query", "query", `last_over_time(d{site="`+site+`"}[5m])`))
		grown := ask(h, form("/api/v1/query", "query", `histogram_count(sum_over_time(h{site="`+site+`"}[5m]))`))
		if !strings.Contains(newest.Body.String(), `"`+want[0]+`"]`) || !strings.Contains(grown.Body.String(), `"`+want[1]+`"]`) {
			t.Errorf("%s: %s %s, want %s", site, newest.Body, grown.Body, want)
		}
	}
	if got := keysOf(t, s); !slices.Equal(got, []string{`d{site="berlin"}`, `d{site="paris"}`, `h{site="berlin"}`, `h{site="paris"}`}) {
		t.Error(got)
	}
}
