package remotewrite

import (
	"bytes"
	"encoding/binary"
	"math"
	"net/http"
	"testing"
	"time"

	"cistern/services/ingest/ingesttest"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

// Native histograms, exemplars and metadata of remote write 1.0 arrive as they were sent.
func TestNativeHistograms(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	whole := &promhistogram.Histogram{Schema: 2, ZeroThreshold: 1e-128, Count: 6, Sum: 12.5,
		PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []int64{2, 2}}
	custom := &promhistogram.FloatHistogram{Schema: promhistogram.CustomBucketsSchema, CustomValues: []float64{1, 2.5}, Count: 3, Sum: 4,
		PositiveSpans: []promhistogram.Span{{Offset: 0, Length: 2}}, PositiveBuckets: []float64{1, 2}, CounterResetHint: promhistogram.GaugeType}
	body := encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "latency", "job", "x"),
		Histograms: []prompb.Histogram{prompb.FromIntHistogram(now, whole), prompb.FromFloatHistogram(now+1000, custom)},
		Exemplars:  []prompb.Exemplar{{Labels: labelsOf("trace_id", "abc"), Value: 3, Timestamp: now}}})
	if w := ingesttest.Post(h, "/api/v1/write", body); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil || len(found) != 1 {
		t.Fatal(len(found), err)
	}
	defer release()
	it := found[0].Natives(0, math.MaxInt64)
	for _, want := range []*promhistogram.FloatHistogram{whole.ToFloat(nil), custom} {
		if !it.Next() {
			t.Fatal(it.Err())
		}
		if _, got := it.At(); !got.Equals(want) || got.CounterResetHint != want.CounterResetHint {
			t.Errorf("%v, want %v", got, want)
		}
	}
	if sets := s.Exemplars(t.Context(), 0, math.MaxInt64); len(sets) != 1 || sets[0].Exemplars[0].Labels[0].Value != "abc" {
		t.Errorf("%+v", sets)
	}
	if m := s.Metadata()["x"]; m.Help != "h" {
		t.Errorf("%+v", m)
	}
}

// Labels out of order, and labels behind samples, are the same series.
func TestUnusualSeries(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	one, err := (&prompb.TimeSeries{Samples: []prompb.Sample{{Value: 1, Timestamp: now}}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	labels, err := (&prompb.TimeSeries{Labels: labelsOf("job", "j", "__name__", "up")}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	series := bytes.Join([][]byte{one, labels}, nil)
	var d decoder
	message := append(binary.AppendUvarint([]byte{0x0a}, uint64(len(series))), series...)
	if err := d.remoteWrite(message); err != nil || len(d.samples) != 1 {
		t.Fatalf("%v %v", err, d.samples)
	}
	if rejected, err := s.Ingest(t.Context(), "x", d.samples, Durability); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	if w := ingesttest.Post(h, "/api/v1/write", encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "up", "job", "j"),
		Samples: []prompb.Sample{{Value: 2, Timestamp: now + 1}}})); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := ingesttest.Numbers(t, s); len(got) != 1 || got["[{__name__ up} {job j}]"] != "gauge 1 2" {
		t.Fatalf("%v", got)
	}
}
