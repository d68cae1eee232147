package export

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

var start = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func open(t testing.TB) *tsdb.Store {
	t.Helper()
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return start.Add(time.Hour) }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func fill(t testing.TB, s *tsdb.Store) {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	key := func(name string, host string) []byte {
		k, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: "__name__", Value: name}, {Name: "host", Value: host}, {Name: "odd.label", Value: "a\"b\\c\nd"}})
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	odd := []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1e300, 5e-324, math.Copysign(0, -1), 0.1}
	var batch []tsdb.Sample
	for i := range 50 {
		at := start.UnixMilli() + int64(i)*1000
		h := &histogram.Histogram{}
		for range r.IntN(20) + 1 {
			_ = h.Insert(r.NormFloat64()*math.Pow(10, float64(r.IntN(6)-3)), uint64(r.IntN(5)+1))
		}
		_ = h.Insert(0, 1)
		var summed histogram.Accumulator
		for range r.IntN(9) + 1 {
			_ = summed.Record(float64(r.IntN(300))/1000, 2)
		}
		native := &promhistogram.FloatHistogram{Schema: 1, Count: 3 + float64(i), Sum: 2.5, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 2}},
			PositiveBuckets: []float64{1, 2 + float64(i)}}
		batch = append(batch,
			tsdb.Sample{Key: key("requests_total", "a"), Kind: tsdb.Counter, Time: at + 7, Value: float64(i)},
			tsdb.Sample{Key: key("requests_total", "b"), Kind: tsdb.Counter, Time: at, Value: odd[i%len(odd)]},
			tsdb.Sample{Key: key("http.time", "a"), Kind: tsdb.Gauge, Time: at, Value: r.NormFloat64()},
			tsdb.Sample{Key: key("latency", "a"), Kind: tsdb.Histogram, Time: at, Histogram: h},
			tsdb.Sample{Key: key("latency", "b"), Kind: tsdb.Histogram, Time: at, Histogram: summed.Take()},
			tsdb.Sample{Key: key("native", "a"), Kind: tsdb.NativeHistogram, Time: at, Native: native})
	}
	if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

// dump is everything a store holds, as text.
func dump(t testing.TB, s *tsdb.Store) string {
	t.Helper()
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	slices.SortFunc(found, func(a, b *tsdb.Series) int { return strings.Compare(a.Key, b.Key) })
	var out strings.Builder
	for _, one := range found {
		fmt.Fprintf(&out, "%q %s\n", one.Labels(), one.Kind)
		numbers := one.Numbers(0, math.MaxInt64)
		for numbers.Next() {
			at, v := numbers.At()
			if math.IsNaN(v) {
				v = math.NaN() // text keeps no payload
			}
			fmt.Fprintf(&out, "%d %x\n", at, math.Float64bits(v))
		}
		histograms := one.Histograms(0, math.MaxInt64)
		for histograms.Next() {
			at, h := histograms.At()
			fmt.Fprintf(&out, "%d %v %v %.12g\n", at, h.Bins, h.Counts, h.Sum())
		}
		natives := one.Natives(0, math.MaxInt64)
		for natives.Next() {
			at, h := natives.At()
			fmt.Fprintf(&out, "%d %v\n", at, h)
		}
	}
	return out.String()
}

func TestThereAndBack(t *testing.T) {
	for _, format := range []string{OpenMetrics, Parquet} {
		s := open(t)
		fill(t, s)
		var file bytes.Buffer
		sum, err := Export(t.Context(), s, &file, format, 0, math.MaxInt64)
		if err != nil || sum.Series != 6 {
			t.Fatalf("%s: %+v %v", format, sum, err)
		}
		want := dump(t, s)
		if format == OpenMetrics {
			if sum.LeftOut != 50 || sum.Samples != 250 {
				t.Errorf("%+v", sum)
			}
			at := strings.Index(want, `{"__name__" "native"}`)
			want = want[:strings.LastIndex(want[:at], "\n")+1] + want[at+strings.Index(want[at:], "\n[")+1:]
		}
		other := open(t)
		back, err := Import(t.Context(), other, bytes.NewReader(file.Bytes()), int64(file.Len()), format)
		if err != nil || back.Samples != sum.Samples || back.Rejected != 0 {
			t.Fatalf("%s: %+v %v", format, back, err)
		}
		if got := dump(t, other); got != want {
			t.Fatalf("%s:\n%s\nwant\n%s", format, got, want)
		}
		for _, cut := range []int{0, 1, file.Len() / 2, file.Len() - 3} {
			if sum, err := Import(t.Context(), open(t), bytes.NewReader(file.Bytes()[:cut]), int64(cut), format); err == nil {
				t.Errorf("%s cut at %d was taken: %+v", format, cut, sum)
			}
		}
	}
	if _, err := Export(t.Context(), open(t), &bytes.Buffer{}, "csv", 0, 1); err == nil {
		t.Error("a format that is not there was taken")
	}
}

// What others wrote: counters, gauge histograms with any bounds, samples without a time.
func TestForeignText(t *testing.T) {
	at := float64(start.Unix())
	text := fmt.Sprintf(`# TYPE jobs counter
# HELP jobs how many
jobs_total{q="a"} 3 %[1]f
# TYPE queue gaugehistogram
queue_bucket{le="0.1"} 1 %[1]f
queue_bucket{le="5"} 4 %[1]f
queue_bucket{le="+Inf"} 5 %[1]f
queue_gcount 5 %[1]f
queue_gsum 20 %[1]f
# TYPE now gauge
now 4
# EOF
`, at)
	s := open(t)
	sum, err := Import(t.Context(), s, strings.NewReader(text), int64(len(text)), OpenMetrics)
	if err != nil || sum.Samples != 2 || sum.Rejected != 1 || !strings.Contains(sum.First, "without a time") {
		t.Fatalf("%+v %v", sum, err)
	}
	if got := dump(t, s); !strings.Contains(got, "counter") || !strings.Contains(got, "native_histogram") || !strings.Contains(got, "sum:20") {
		t.Fatal(got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("# TYPE a gaugehistogram\na_bucket{le=\"1\"} 2 3\na_gsum 1 3\n# EOF\n")
	f.Fuzz(func(t *testing.T, text string) {
		_, _ = Import(t.Context(), open(t), strings.NewReader(text), int64(len(text)), OpenMetrics)
	})
}
