package remotewrite

import (
	"encoding/binary"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/ingesttest"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

func testStore(t testing.TB) (*tsdb.Store, http.Handler) {
	t.Helper()
	return ingesttest.Store(t, func(s *tsdb.Store, mux *http.ServeMux) { New(s, admission.New(s)).Register(mux) })
}

func labelsOf(pairs ...string) []prompb.Label {
	var list []prompb.Label
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, prompb.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func encode(t testing.TB, series ...prompb.TimeSeries) []byte {
	t.Helper()
	message, err := (&prompb.WriteRequest{Timeseries: series,
		Metadata: []prompb.MetricMetadata{{MetricFamilyName: "x", Help: "h"}}}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return snappy.Encode(nil, message)
}

// What Prometheus' own types encode is what arrives.
func TestRemoteWrite(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	good := prompb.TimeSeries{Labels: labelsOf("__name__", "up", "job", "node", "zone", ""),
		Samples:   []prompb.Sample{{Value: 1, Timestamp: now - 1000}, {Value: -2.5, Timestamp: now}},
		Exemplars: []prompb.Exemplar{{Labels: labelsOf("trace", "x"), Value: 3, Timestamp: now}}}
	total := prompb.TimeSeries{Labels: labelsOf("job", "node", "__name__", "requests_total"), // not in order
		Samples: []prompb.Sample{{Value: math.Inf(1), Timestamp: now}, {Value: math.NaN(), Timestamp: now + 1}}}
	if w := ingesttest.Post(h, "/api/v1/write", encode(t, good, total)); w.Code != http.StatusNoContent {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	// The good part of a batch with bad samples is kept, and 400 says what was refused.
	w := ingesttest.Post(h, "/api/v1/write", encode(t,
		prompb.TimeSeries{Labels: labelsOf("job", "nameless"), Samples: []prompb.Sample{{Value: 1, Timestamp: now}}},
		prompb.TimeSeries{Labels: labelsOf("__name__", "kept"), Samples: []prompb.Sample{{Value: 7, Timestamp: now}, {Value: 8, Timestamp: 1000}}},
		prompb.TimeSeries{Labels: labelsOf("__name__", "native"), Histograms: []prompb.Histogram{{Timestamp: now, Schema: 99}}},
		prompb.TimeSeries{Labels: labelsOf("__name__", "long", "x", strings.Repeat("x", 5000)), Samples: []prompb.Sample{{Value: 1, Timestamp: now}}},
	))
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "4 samples were refused") ||
		!strings.Contains(w.Body.String(), `"code":"samples_rejected"`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	got := ingesttest.Numbers(t, s)
	for labels, want := range map[string]string{
		"[{__name__ up} {job node}]":             "gauge 1 -2.5",
		"[{__name__ requests_total} {job node}]": "counter +Inf NaN",
		"[{__name__ kept}]":                      "gauge 7",
	} {
		if got[labels] != want {
			t.Errorf("%s: %q, want %q", labels, got[labels], want)
		}
	}
	if len(got) != 3 {
		t.Errorf("%v", got)
	}
	rejected := s.Status().Rejected
	for _, reason := range []tsdb.Reason{tsdb.BadName, tsdb.TooOld, tsdb.BadHistogram, tsdb.LabelTooLong} {
		if rejected[reason] != 1 {
			t.Errorf("%s: %d", reason, rejected[reason])
		}
	}
}

func TestRemoteWriteRefuses(t *testing.T) {
	_, h := testStore(t)
	bomb := append([]byte{0xff, 0xff, 0xff, 0xff, 0x0f}, 0) // says that it unpacks to 4 GiB
	for name, body := range map[string][]byte{
		"empty": {}, "not snappy": []byte("hello"), "cut": encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "up")})[:5],
		"not protobuf": snappy.Encode(nil, []byte{0xff, 0xff}), "group": snappy.Encode(nil, []byte{0x0b}),
	} {
		if w := ingesttest.Post(h, "/api/v1/write", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), `"code"`) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	if w := ingesttest.Post(h, "/api/v1/write", bomb); w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("bomb: %d %s", w.Code, w.Body)
	}
	if w := ingesttest.Post(h, "/api/v1/write", nil, "Content-Type", "application/x-protobuf;proto=io.prometheus.write.v3.Request"); w.Code != http.StatusUnsupportedMediaType {
		t.Errorf("version 3: %d %s", w.Code, w.Body)
	}
}

func FuzzRemoteWrite(f *testing.F) {
	message, _ := (&prompb.WriteRequest{Timeseries: []prompb.TimeSeries{{Labels: labelsOf("__name__", "a", "b", "c"),
		Samples: []prompb.Sample{{Value: 1, Timestamp: 2}}}}}).Marshal()
	f.Add(message)
	f.Add([]byte{0x0a, 0x80})
	f.Fuzz(func(t *testing.T, message []byte) {
		var d decoder
		if d.remoteWrite(message) != nil || len(d.samples) == 0 {
			return
		}
		// The labels are as they were sent; it is the store that makes keys of them, or refuses them.
		s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		now := time.Now().UnixMilli()
		for i := range d.samples {
			d.samples[i].Time = now
		}
		if _, err := s.Ingest(t.Context(), "fuzz", d.samples, journal.Buffered); err != nil {
			t.Fatal(err)
		}
		found, release, err := s.Select(t.Context(), 0, now)
		defer release()
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range found {
			if _, err := tsdb.ParseKey(one.Key); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// BenchmarkRemoteWrite is a whole request without the network: 10,000 samples of 100,000 series each, unpacked, decoded,
// journalled (interval, as the disk's fsync is not what is measured) and in the head.
func BenchmarkRemoteWrite(b *testing.B) {
	now := time.Now().UnixMilli()
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const series, size = 100_000, 10_000
	var bodies [][]byte
	for from := 0; from < series; from += size {
		var list []prompb.TimeSeries
		for i := from; i < from+size; i++ {
			list = append(list, prompb.TimeSeries{Labels: labelsOf("__name__", "http_requests_total", "instance", fmt.Sprintf("host-%d:9100", i/100),
				"job", "node", "path", fmt.Sprintf("/p/%d", i%100)), Samples: []prompb.Sample{{Value: float64(i), Timestamp: now}}})
		}
		bodies = append(bodies, encode(b, list...))
	}
	var d decoder
	n := 0
	for b.Loop() {
		message, err := snappy.Decode(nil, bodies[n%len(bodies)])
		if err != nil {
			b.Fatal(err)
		}
		if err := d.remoteWrite(message); err != nil {
			b.Fatal(err)
		}
		for i := range d.samples {
			d.samples[i].Time = now + int64(n/len(bodies))*10_000 - 3_600_000*24
		}
		n++
		if _, err := s.Ingest(b.Context(), "bench", d.samples, journal.Interval); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)*size/b.Elapsed().Seconds(), "samples/s")
}

// What can be taken later is asked for again; what cannot is not.
func TestOverload(t *testing.T) {
	for reason, code := range map[tsdb.Reason]int{tsdb.MemoryLimit: 503, tsdb.SeriesRate: 503, tsdb.TooOld: 400} {
		w := httptest.NewRecorder()
		answerRejected(w, []tsdb.Rejection{{Reason: tsdb.BadName}, {Reason: reason, Detail: "why"}}, make([]tsdb.Sample, 5), 5)
		if w.Code != code || (w.Header().Get("Retry-After") != "") != (code == 503) || !strings.Contains(w.Body.String(), "the other 3 were stored") {
			t.Errorf("%s: %d %s", reason, w.Code, w.Body)
		}
	}
}

// A reply names the first offender of each reason, by its series.
func TestRefusalsNameTheSeries(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	good, old := []prompb.Sample{{Value: 1, Timestamp: now}}, []prompb.Sample{{Value: 1, Timestamp: 1}}
	w := ingesttest.Post(h, "/api/v1/write", encode(t,
		prompb.TimeSeries{Labels: labelsOf("__name__", "up", "job", "a"), Samples: good},
		prompb.TimeSeries{Labels: labelsOf("__name__", "up", "job", "b"), Samples: old},
		prompb.TimeSeries{Labels: labelsOf("__name__", "up", "job", "c"), Samples: old},
		prompb.TimeSeries{Labels: labelsOf("__name__", strings.Repeat("n", 10<<20)), Samples: good},
		prompb.TimeSeries{Labels: labelsOf("__name__", "h"), Histograms: []prompb.Histogram{{Schema: 99, Timestamp: now}}}))
	if w.Code != http.StatusBadRequest || w.Body.Len() > 2000 {
		t.Fatalf("%d, %d bytes", w.Code, w.Body.Len())
	}
	for _, want := range []string{`up{job=\"b\"}: its time, 1970`, `the label \"__name__\" is too long`, `"h: a native histogram`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s is not in %s", want, w.Body)
		}
	}
	if got := ingesttest.Numbers(t, s); len(got) != 1 {
		t.Error(got)
	}
}

// What is not understood at all is counted too, whatever is wrong with it; an encoding that we do not know is no damage.
func TestUnreadableBodiesAreCounted(t *testing.T) {
	s, h := testStore(t)
	for i, c := range []struct {
		path, body, header, value string
		want                      int
	}{
		{"write", "x", "Content-Encoding", "zstd", 415},
		{"write", "x", "Content-Type", "application/x-protobuf;proto=other", 415},
		{"write", "\x80\x80\x80\x80\x08a", "Content-Encoding", "snappy", 413},
		{"write", "\x05ab", "Content-Encoding", "snappy", 400},
	} {
		if w := ingesttest.Post(h, "/api/v1/"+c.path, []byte(c.body), c.header, c.value); w.Code != c.want {
			t.Errorf("%s %q %s: %d %s", c.path, c.body, c.value, w.Code, w.Body)
		}
		if n := s.Status().Rejected["malformed_body"]; n != uint64(i+1) {
			t.Errorf("%s %q %s: counted %d, not %d", c.path, c.body, c.value, n, i+1)
		}
	}
}

// A label behind what it labels makes nothing of its series twice.
func TestLabelsBehindSamples(t *testing.T) {
	label := func(name, value string) []byte {
		raw, _ := (&prompb.Label{Name: name, Value: value}).Marshal()
		return append([]byte{tagLabel, byte(len(raw))}, raw...)
	}
	exemplar, _ := (&prompb.Exemplar{Labels: labelsOf("trace_id", "x"), Value: 1, Timestamp: 1}).Marshal()
	bad, _ := (&prompb.Histogram{Schema: 99}).Marshal()
	series := label("__name__", "a")
	series = append(append(series, tagExemplar, byte(len(exemplar))), exemplar...)
	series = append(append(series, tagHistogram, byte(len(bad))), bad...)
	series = append(series, label("b", "c")...)
	var d decoder
	if err := d.remoteWrite(append([]byte{0x0a, byte(len(series))}, series...)); err != nil {
		t.Fatal(err)
	}
	if len(d.exemplars) != 1 || len(d.rejected) != 1 || !strings.Contains(string(d.exemplars[0].Key), "b\x12\x01c") {
		t.Errorf("%d exemplars, %d rejected", len(d.exemplars), len(d.rejected))
	}
}

// A small request must not take a thousand times its size in memory: what is empty is two bytes long on the wire, and a symbol
// is used as often as one likes.
func TestBombs(t *testing.T) {
	_, h := testStore(t)
	field := func(number byte, content string) string {
		return string(append([]byte{number<<3 | delimited}, binary.AppendUvarint(nil, uint64(len(content)))...)) + content
	}
	name := field(1, field(1, "__name__")+field(2, "a"))
	long := strings.Repeat("x", tsdb.MaxLabelValue)
	symbols, refs := field(4, "")+field(4, "__name__")+field(4, long), "\x01\x02"
	for i := range 60 {
		symbols += field(4, fmt.Sprintf("l%d", i))
		refs += string([]byte{byte(3 + i), 2})
	}
	many := func(text string) string { return strings.Repeat(text, admission.MaxParts+1) }
	for what, c := range map[string]struct{ message, content string }{
		"samples":    {field(1, name+many(field(2, ""))), ""},
		"histograms": {field(1, name+many(field(4, ""))), ""},
		"exemplars":  {field(1, name+many(field(3, ""))), ""},
		"metadata":   {many(field(3, "")), ""},
		"symbols":    {many(field(4, "")), contentType2},
		"keys":       {symbols + strings.Repeat(field(5, field(1, refs)+field(2, "")), 2000), contentType2},
		"refused":    {field(4, "") + field(5, field(1, "\x01")+many(field(2, ""))), contentType2},
	} {
		if w := ingesttest.Post(h, "/api/v1/write", snappy.Encode(nil, []byte(c.message)), "Content-Type", c.content); w.Code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %.300s", what, w.Code, w.Body)
		}
	}
	// References without end and labels of exemplars are left out before they are kept.
	var d decoder
	if err := d.remoteWrite2([]byte(field(4, "") + field(5, field(1, many("\x00"))+field(2, "")))); err != nil || len(d.rejected) != 1 || cap(d.refs) > 1000 {
		t.Errorf("%v, %d refused, room for %d references", err, len(d.rejected), cap(d.refs))
	}
	if err := d.remoteWrite([]byte(field(1, name+field(3, many(field(1, "")))))); err != nil || len(d.exemplars) != 0 {
		t.Errorf("%v, %d exemplars", err, len(d.exemplars))
	}
}
