package export

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/value"
)

func keyOf(t testing.TB, name string, pairs ...string) []byte {
	t.Helper()
	set := []tsdb.Label{{Name: tsdb.NameLabel, Value: name}}
	for i := 0; i < len(pairs); i += 2 {
		set = append(set, tsdb.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	k, err := tsdb.AppendKey(nil, set)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// Every millisecond comes back as it was, one name can hold several kinds, and a name can look like a part of another one's
// histogram.
func TestOddSeriesThereAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	s := open(t)
	at := start.UnixMilli()
	var batch []tsdb.Sample
	for range 3000 {
		at += 1 + r.Int64N(1000)
		batch = append(batch, tsdb.Sample{Key: keyOf(t, "gauge"), Kind: tsdb.Gauge, Time: at, Value: 1})
	}
	h := &histogram.Histogram{}
	_ = h.Insert(3, 4)
	for _, one := range []tsdb.Sample{
		{Key: keyOf(t, "both", "host", "a"), Kind: tsdb.Gauge, Value: 1},
		{Key: keyOf(t, "both", "host", "b"), Kind: tsdb.Histogram, Histogram: h},
		{Key: keyOf(t, "both", "host", "c"), Kind: tsdb.Gauge, Value: 2},
		{Key: keyOf(t, "lat"), Kind: tsdb.Histogram, Histogram: h},
		{Key: keyOf(t, "lat_bucket", "le", "1"), Kind: tsdb.Counter, Value: 7},
		{Key: keyOf(t, "lat_gcount"), Kind: tsdb.Gauge, Value: 8},
		{Key: keyOf(t, "lat_gsum"), Kind: tsdb.Gauge, Value: 9},
		{Key: keyOf(t, "_total"), Kind: tsdb.Counter, Value: 10},
		{Key: keyOf(t, "größe", "ort", "Köln\n"), Kind: tsdb.Gauge, Value: 11},
	} {
		one.Time = start.UnixMilli()
		batch = append(batch, one)
	}
	if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	want := dump(t, s)
	for _, format := range []string{OpenMetrics, Parquet} {
		var file bytes.Buffer
		if _, err := Export(t.Context(), s, &file, format, 0, math.MaxInt64); err != nil {
			t.Fatal(err)
		}
		back := open(t)
		sum, err := Import(t.Context(), back, bytes.NewReader(file.Bytes()), int64(file.Len()), format)
		if err != nil || sum.Rejected > 0 {
			t.Errorf("%s: %+v %v", format, sum, err)
		}
		if got := dump(t, back); got != want {
			t.Errorf("%s: got %d bytes, want %d:\n%.3000s", format, len(got), len(want), got)
		}
	}
}

// That a series ended is kept by Parquet, and never becomes a value.
func TestStaleThereAndBack(t *testing.T) {
	s := open(t)
	for i, v := range []float64{1, math.Float64frombits(value.StaleNaN)} {
		batch := []tsdb.Sample{{Key: keyOf(t, "gauge"), Kind: tsdb.Gauge, Time: start.UnixMilli() + int64(i), Value: v}}
		if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(rejected, err)
		}
	}
	for format, want := range map[string]int{OpenMetrics: 1, Parquet: 2} {
		var file bytes.Buffer
		sum, err := Export(t.Context(), s, &file, format, 0, math.MaxInt64)
		if err != nil || sum.Samples != int64(want) || sum.LeftOut != int64(2-want) {
			t.Errorf("%s: %+v %v", format, sum, err)
		}
		back := open(t)
		if _, err := Import(t.Context(), back, bytes.NewReader(file.Bytes()), int64(file.Len()), format); err != nil {
			t.Error(format, err)
		}
		found, release, err := back.Select(t.Context(), 0, math.MaxInt64)
		if err != nil || len(found) != 1 {
			t.Fatal(format, len(found), err)
		}
		_, values, err := found[0].AppendNumbers(0, math.MaxInt64, nil, nil)
		if err != nil || len(values) != want || want == 2 && !value.IsStaleNaN(values[1]) {
			t.Errorf("%s: %v %v", format, values, err)
		}
		release()
	}
}
