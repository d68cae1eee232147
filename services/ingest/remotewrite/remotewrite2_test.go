package remotewrite

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/ingesttest"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	writev2 "github.com/prometheus/prometheus/prompb/io/prometheus/write/v2"
)

const contentType2 = "application/x-protobuf;proto=io.prometheus.write.v2.Request"

func encode2(t testing.TB, symbols *writev2.SymbolsTable, series ...writev2.TimeSeries) []byte {
	t.Helper()
	message, err := (&writev2.Request{Symbols: symbols.Symbols(), Timeseries: series}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return message
}

func series2(symbols *writev2.SymbolsTable, now int64) []writev2.TimeSeries {
	refs := func(pairs ...string) []uint32 {
		var list []uint32
		for _, text := range pairs {
			list = append(list, symbols.Symbolize(text))
		}
		return list
	}
	custom := &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, CustomValues: []float64{1, 2.5}, Count: 3, Sum: 4,
		PositiveSpans: []promhistogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []float64{1, 2}}
	return []writev2.TimeSeries{
		{LabelsRefs: refs("__name__", "jobs.done", "job", "node"), Samples: []writev2.Sample{{Value: 1, Timestamp: now - 1000, StartTimestamp: now - 5000}, {Value: 2.5, Timestamp: now}},
			Metadata:  writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_COUNTER, HelpRef: symbols.Symbolize("What was done."), UnitRef: symbols.Symbolize("jobs")},
			Exemplars: []writev2.Exemplar{{LabelsRefs: refs("trace_id", "abc"), Value: 3, Timestamp: now}}},
		{LabelsRefs: refs("__name__", "latency"), Histograms: []writev2.Histogram{writev2.FromFloatHistogram(now-5000, now, custom)}},
		{LabelsRefs: refs("__name__", "size_bucket", "le", "5"), Samples: []writev2.Sample{{Value: 7, Timestamp: now}},
			Metadata: writev2.Metadata{Type: writev2.Metadata_METRIC_TYPE_HISTOGRAM, HelpRef: symbols.Symbolize("Sizes.")}},
	}
}

func TestRemoteWrite2(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	symbols := writev2.NewSymbolTable()
	good := series2(&symbols, now)
	w := ingesttest.Post(h, "/api/v1/write", snappy.Encode(nil, encode2(t, &symbols, good...)), "Content-Type", contentType2)
	if w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	written := func(want ...string) {
		t.Helper()
		for i, name := range []string{"Samples", "Histograms", "Exemplars"} {
			if got := w.Header().Get("X-Prometheus-Remote-Write-" + name + "-Written"); got != want[i] {
				t.Errorf("%s written: %s, want %s", name, got, want[i])
			}
		}
	}
	written("3", "1", "1")
	got := ingesttest.Numbers(t, s)
	if got["[{__name__ jobs.done} {job node}]"] != "counter 1 2.5" || got["[{__name__ size_bucket} {le 5}]"] != "counter 7" || len(got) != 3 {
		t.Errorf("%v", got)
	}
	if m := s.Metadata(); m["jobs.done"] != (tsdb.Metadata{Name: "jobs.done", Type: "counter", Unit: "jobs", Help: "What was done."}) || m["size"].Help != "Sizes." {
		t.Errorf("%+v", m)
	}
	if sets := s.Exemplars(t.Context(), 0, math.MaxInt64); len(sets) != 1 || sets[0].Exemplars[0].Labels[0].Value != "abc" {
		t.Errorf("%+v", sets)
	}

	// One of each fault, and a good sample among them.
	now++
	one := []writev2.Sample{{Value: 1, Timestamp: now}}
	refs := good[0].LabelsRefs
	many := []uint32{}
	for range tsdb.MaxLabels + 1 {
		many = append(many, refs[:2]...)
	}
	bad := []writev2.TimeSeries{
		{LabelsRefs: []uint32{refs[0], 9999}, Samples: one},
		{LabelsRefs: refs[:3], Samples: one},
		{LabelsRefs: many, Samples: one},
		{LabelsRefs: refs[2:], Samples: one},
		{Samples: one},
		{LabelsRefs: []uint32{refs[0], symbols.Symbolize(strings.Repeat("x", 5000))}, Samples: one},
		{LabelsRefs: []uint32{refs[0], symbols.Symbolize("\xff")}, Samples: one},
		{LabelsRefs: good[1].LabelsRefs, Histograms: []writev2.Histogram{{Timestamp: now, Schema: 99}}},
		{LabelsRefs: append(append([]uint32{}, refs[2:]...), refs[:2]...), Samples: one}, // not in order: kept
	}
	w = ingesttest.Post(h, "/api/v1/write", snappy.Encode(nil, encode2(t, &symbols, bad...)), "Content-Type", contentType2)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "8 samples were refused") || !strings.Contains(w.Body.String(), "does not have") {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	written("1", "0", "0")
	if got := ingesttest.Numbers(t, s); got["[{__name__ jobs.done} {job node}]"] != "counter 1 2.5 1" || len(got) != 3 {
		t.Errorf("%v", got)
	}

	for name, message := range map[string][]byte{"no protobuf": {0xff}, "a first symbol": {4<<3 | 2, 1, 'x'}} {
		w = ingesttest.Post(h, "/api/v1/write", snappy.Encode(nil, message), "Content-Type", contentType2)
		if w.Code != http.StatusBadRequest {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		written("0", "0", "0")
	}
}

// Exactly what Prometheus' own decoder sees is what arrives.
func FuzzRemoteWrite2(f *testing.F) {
	symbols := writev2.NewSymbolTable()
	series := series2(&symbols, 1_790_000_000_000)
	f.Add(encode2(f, &symbols, series...))
	f.Add([]byte{5<<3 | 2, 4, 1 << 3, 1, 1 << 3, 0})
	f.Fuzz(func(t *testing.T, message []byte) {
		var d decoder
		if d.remoteWrite2(message) != nil {
			return
		}
		var request writev2.Request
		if request.Unmarshal(message) != nil { // it looks into fields that we pass over
			return
		}
		n := 0
		var b labels.ScratchBuilder
		for _, one := range request.Timeseries {
			if len(one.LabelsRefs) > 2*tsdb.MaxLabels {
				n += max(1, len(one.Samples)+len(one.Histograms))
				continue
			}
			if _, err := one.ToLabels(&b, request.Symbols); err != nil {
				n += max(1, len(one.Samples)+len(one.Histograms))
				continue
			}
			n += len(one.Samples) + len(one.Histograms)
		}
		for _, s := range d.samples {
			_, _ = tsdb.ParseKey(string(s.Key))
		}
		if got := len(d.samples) + len(d.rejected); got < n {
			t.Fatalf("%d samples, Prometheus sees %d", got, n)
		}
	})
}
