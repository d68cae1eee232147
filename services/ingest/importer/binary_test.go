package importer

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/ingest/ingesttest"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// binaryBody is a request of a version; of the present one its histogram has a sum.
func binaryBody(t testing.TB, now int64, magic string) []byte {
	key := func(labels ...tsdb.Label) []byte {
		k, err := tsdb.AppendKey(nil, labels)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	body := []byte(magic)
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
	if magic == samplesMagic {
		h.SetSum(0.0861)
	}
	body = h.Append(binary.AppendVarint(binary.AppendVarint(body, 1), 0))
	body = binary.AppendVarint(binary.AppendVarint(body, 1), 5)
	return binary.LittleEndian.AppendUint64(body, 0)
}

func TestBinaryImport(t *testing.T) {
	s, h := testStore(t)
	now := time.Now().UnixMilli()
	body := binaryBody(t, now, samplesMagic)
	w := ingesttest.Post(h, "/api/v1/import", body, "Content-Type", samplesType)
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"accepted":2,"rejectedCount":1`) {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if got := ingesttest.Numbers(t, s)["[{__name__ g}]"]; got != "gauge 2.5" {
		t.Errorf("%q", got)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil || len(found) != 2 {
		t.Fatal(len(found), err)
	}
	defer release()
	if whole, err := found[1].Whole(t.Context(), now-5000, now+5000); err != nil || whole.Count() != 7 || math.Abs(whole.Sum()-0.0861) > 1e-15 {
		t.Errorf("%v %v: %v", whole, err, whole.Sum())
	}
	for cut := range len(body) {
		if w := ingesttest.Post(h, "/api/v1/import", body[:cut], "Content-Type", samplesType); w.Code != http.StatusBadRequest {
			t.Fatalf("cut at %d: %d %s", cut, w.Code, w.Body)
		}
	}
}

func FuzzBinary(f *testing.F) {
	f.Add(binaryBody(f, 1_790_000_000_000, samplesMagic))
	f.Add(binaryBody(f, 1_790_000_000_000, noSumsMagic))
	f.Fuzz(func(t *testing.T, body []byte) { _, _ = decodeBinary(body) })
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
