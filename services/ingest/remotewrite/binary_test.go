package remotewrite

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/prompb"
)

func binaryBody(t testing.TB, now int64) []byte {
	key := func(labels ...tsdb.Label) []byte {
		k, err := tsdb.AppendKey(nil, labels)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	body := []byte(samplesMagic)
	body = binary.AppendUvarint(body, 3)
	for i, k := range [][]byte{key(tsdb.Label{Name: "__name__", Value: "g"}), key(tsdb.Label{Name: "__name__", Value: "h.x"}), {0x0a, 9}} {
		body = append(body, []byte{1, 3, 2}[i])
		body = binary.AppendUvarint(body, uint64(len(k)))
		body = append(body, k...)
	}
	body = binary.AppendUvarint(body, 3)
	body = binary.AppendVarint(binary.AppendVarint(body, 0), now)
	body = binary.LittleEndian.AppendUint64(body, math.Float64bits(2.5))
	h := &histogram.Histogram{}
	_ = h.Insert(0.012, 7)
	body = h.Append(binary.AppendVarint(binary.AppendVarint(body, 1), 0))
	body = binary.AppendVarint(binary.AppendVarint(body, 1), 5)
	return binary.LittleEndian.AppendUint64(body, 0)
}

func TestBinaryImport(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	body := binaryBody(t, now)
	w := post(h, "/api/v1/import", body, "Content-Type", samplesType)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"accepted":2,"rejectedCount":1`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := numbers(t, s)["[{__name__ g}]"]; got != "gauge 2.5" {
		t.Errorf("%q", got)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil || len(found) != 2 {
		t.Fatal(len(found), err)
	}
	defer release()
	if whole, err := found[1].Whole(t.Context(), now-5000, now+5000); err != nil || whole.Count() != 7 {
		t.Errorf("%v %v", whole, err)
	}
	for cut := range len(body) {
		if w := post(h, "/api/v1/import", body[:cut], "Content-Type", samplesType); w.Code != http.StatusBadRequest {
			t.Fatalf("cut at %d: %d %s", cut, w.Code, w.Body)
		}
	}
}

func FuzzBinary(f *testing.F) {
	f.Add(binaryBody(f, 1_790_000_000_000))
	f.Fuzz(func(t *testing.T, body []byte) { _, _ = decodeBinary(body) })
}

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
	if w := post(h, "/api/v1/write", body); w.Code != http.StatusNoContent {
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
	if sets := s.Exemplars(0, math.MaxInt64); len(sets) != 1 || sets[0].Exemplars[0].Labels[0].Value != "abc" {
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
	if w := post(h, "/api/v1/write", encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "up", "job", "j"),
		Samples: []prompb.Sample{{Value: 2, Timestamp: now + 1}}})); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := numbers(t, s); len(got) != 1 || got["[{__name__ up} {job j}]"] != "gauge 1 2" {
		t.Fatalf("%v", got)
	}
}

// BenchmarkHistogramImport is one series of one histogram a second, sixty to a request, until it is in a block.
func BenchmarkHistogramImport(b *testing.B) {
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: "__name__", Value: "h"}})
	if err != nil {
		b.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 2))
	var pool [][]byte
	for range 600 {
		var a histogram.Accumulator
		for range 2000 {
			_ = a.Insert(0.02*math.Exp(1.3*r.NormFloat64()), 1)
		}
		pool = append(pool, a.Take().Append(nil))
	}
	at, n := time.Now().Add(-300*24*time.Hour).UnixMilli()/1000*1000, 0
	var body []byte
	for b.Loop() {
		body = append(body[:0], samplesMagic...)
		body = binary.AppendUvarint(body, 1)
		body = append(body, 3)
		body = binary.AppendUvarint(body, uint64(len(key)))
		body = append(body, key...)
		body = binary.AppendUvarint(body, 60)
		for i := range 60 {
			body = binary.AppendVarint(body, 0)
			if i == 0 {
				body = binary.AppendVarint(body, at)
			} else {
				body = binary.AppendVarint(body, 1000)
			}
			body = append(body, pool[n%len(pool)]...)
			n++
		}
		at += 60_000
		samples, err := decodeBinary(body)
		if err != nil {
			b.Fatal(err)
		}
		if rejected, err := s.Ingest(b.Context(), "bench", samples, journal.Interval); err != nil || len(rejected) > 0 {
			b.Fatal(rejected, err)
		}
	}
	acknowledged := b.Elapsed()
	begin := time.Now()
	if _, err := s.Flush(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(acknowledged.Nanoseconds())/float64(n), "ns/histogram")
	b.ReportMetric(float64(time.Since(begin).Nanoseconds())/float64(n), "ns/histogram-flushed")
}
