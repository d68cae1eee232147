package outputs

// What Prometheus' own types and checks make of what is sent.

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/prompb"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

// prometheus is a receiver made of Prometheus' own decoders and checks.
type prometheus struct {
	second bool // it knows 2.0
	mu     sync.Mutex
	got    []string
}

func (p *prometheus) take(list labels.Labels, time int64, value string) {
	p.got = append(p.got, fmt.Sprintf("%s %d %s", list, time, value))
}

func (p *prometheus) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	packed, _ := io.ReadAll(r.Body)
	message, err := snappy.Decode(nil, packed)
	fail := func(err error) bool {
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
		return err != nil
	}
	if fail(err) {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	builder := labels.NewScratchBuilder(8)
	if r.Header.Get("Content-Type") == "application/x-protobuf;proto=io.prometheus.write.v2.Request" {
		if !p.second {
			http.Error(w, "unsupported proto message", http.StatusUnsupportedMediaType)
			return
		}
		var request writev2.Request
		if fail(request.Unmarshal(message)) {
			return
		}
		samples, histograms := 0, 0
		for _, one := range request.Timeseries {
			list, err := one.ToLabels(&builder, request.Symbols)
			if fail(err) {
				return
			}
			for _, s := range one.Samples {
				p.take(list, s.Timestamp, fmt.Sprint(one.Metadata.Type, " ", s.Value))
				samples++
			}
			for _, h := range one.Histograms {
				if fail(h.ToFloatHistogram().Validate()) {
					return
				}
				p.take(list, h.Timestamp, fmt.Sprint(one.Metadata.Type, " ", h.ToFloatHistogram().Count))
				histograms++
			}
		}
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", strconv.Itoa(samples))
		w.Header().Set("X-Prometheus-Remote-Write-Histograms-Written", strconv.Itoa(histograms))
		w.WriteHeader(http.StatusNoContent)
		return
	}
	var request prompb.WriteRequest
	if fail(request.Unmarshal(message)) {
		return
	}
	for _, one := range request.Timeseries {
		list := one.ToLabels(&builder, nil)
		for _, s := range one.Samples {
			p.take(list, s.Timestamp, fmt.Sprint(s.Value))
		}
		for _, h := range one.Histograms {
			if fail(h.ToFloatHistogram().Validate()) {
				return
			}
			p.take(list, h.Timestamp, fmt.Sprint(h.ToFloatHistogram().Count))
		}
	}
	w.WriteHeader(http.StatusNoContent)
}

// Prometheus' own decoders take it; one that knows 1.0 only is spoken to so.
func TestToPrometheus(t *testing.T) {
	for _, second := range []bool{false, true} {
		to := &prometheus{second: second}
		server := httptest.NewServer(to)
		from := startSender(t, t.TempDir())
		from.set(t, toRemote(server.URL, "auto"))
		waitFor(t, "running", func() bool { return len(from.Streams()) == 1 })
		now := time.Now().Truncate(time.Second).UnixMilli()
		h := &histogram.Histogram{}
		_ = h.Insert(0.25, 7)
		_ = h.Insert(-3, 1)
		_ = h.Insert(0, 2)
		custom := &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, Count: 2.5, Sum: 4, CustomValues: []float64{1, 2},
			PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []float64{2, 0.5}}
		from.put(t, tsdb.Sample{Key: key(t, "a_total", "job", "a"), Kind: tsdb.Counter, Time: now, Value: 42}, tsdb.Sample{Key: key(t, "b"), Kind: tsdb.Histogram, Time: now, Histogram: h},
			tsdb.Sample{Key: key(t, "c"), Kind: tsdb.NativeHistogram, Time: now, Native: custom}, tsdb.Sample{Key: key(t, "d"), Kind: tsdb.Gauge, Time: now, Value: math.Inf(-1)})
		waitFor(t, "delivered", func() bool { return from.only().Sent == 4 })
		want := []string{`{__name__="a_total", job="a"} %d 42`, `{__name__="b"} %d 10`, `{__name__="c"} %d 2.5`, `{__name__="d"} %d -Inf`}
		if second {
			want = []string{`{__name__="a_total", job="a"} %d METRIC_TYPE_COUNTER 42`, `{__name__="b"} %d METRIC_TYPE_GAUGEHISTOGRAM 10`, `{__name__="c"} %d METRIC_TYPE_HISTOGRAM 2.5`, `{__name__="d"} %d METRIC_TYPE_GAUGE -Inf`}
		}
		to.mu.Lock()
		for i, one := range want {
			if one = fmt.Sprintf(one, now); i >= len(to.got) || to.got[i] != one {
				t.Errorf("%q lacks %s", to.got, one)
			}
		}
		to.mu.Unlock()
		if s := from.only(); s.Refused > 0 {
			t.Errorf("%+v", s)
		}
		speaks := map[bool]string{false: "remote write 1.0", true: "remote write 2.0"}[second]
		if said, err := from.Check(t.Context(), toRemote(server.URL, "auto")); err != nil || !strings.Contains(said, speaks) {
			t.Error(said, err)
		}
		if said, err := from.Check(t.Context(), toRemote(server.URL, "2.0")); (err == nil) != second {
			t.Error(said, err)
		}
		from.end()
		server.Close()
	}
}
