package otlp

// Differences of histograms, of several senders, late ones, repeated ones, and over a restart: what rate and increase make
// of the totals is what was sent.

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// increase is what PromQL counts in all numbers of a series: what it grew, and after a fall what it grew from zero.
func increase(values []float64) (sum float64) {
	for i := 1; i < len(values); i++ {
		if sum += values[i] - values[i-1]; values[i] < values[i-1] {
			sum += values[i-1]
		}
	}
	return sum
}

func deltaSum(value, start, end int) string {
	return fmt.Sprintf(`{"name":"d","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[{"asInt":%d,"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000"}]}}`, value, start, end)
}

// deltaExponential is a histogram of count values in one bucket.
func deltaExponential(scale, offset, count, start, end int) string {
	return fmt.Sprintf(`{"name":"e","exponentialHistogram":{"aggregationTemporality":1,"dataPoints":[{"count":%d,"sum":%d,"scale":%d,"positive":{"offset":%d,"bucketCounts":[%d]},
		"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000"}]}}`, count, count, scale, offset, count, start, end)
}

func deltaExplicit(bounds string, counts []int, start, end int) string {
	text, n := []string{}, 0
	for _, c := range counts {
		text, n = append(text, fmt.Sprint(c)), n+c
	}
	return fmt.Sprintf(`{"name":"h","histogram":{"aggregationTemporality":1,"dataPoints":[{"count":%d,"sum":%d,"explicitBounds":[%s],"bucketCounts":[%s],
		"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000"}]}}`, n, n, bounds, strings.Join(text, ","), start, end)
}

func TestDeltasBeginAtZero(t *testing.T) {
	m := &memory{}
	_, mux := handler(m)
	for _, one := range []string{deltaSum(5, 200, 210), deltaSum(3, 210, 220), deltaExponential(0, 3, 4, 200, 210), deltaExplicit("1,2", []int{1, 0, 2}, 200, 210)} {
		if w := post(mux, typeJSON, "", []byte(around(one))); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "{}" {
			t.Fatal(w.Code, w.Body)
		}
	}
	want := []string{
		"counter d,job=shop 0 200001", "counter d,job=shop 5 210000", "counter d,job=shop 8 220000",
		"native_histogram e,job=shop schema 0 hint 0 count 0 sum 0 zero 0/0 bounds [] positive [][] negative [][] 200001",
		"native_histogram e,job=shop schema 0 hint 0 count 4 sum 4 zero 0/0 bounds [] positive [{4 1}][4] negative [][] 210000",
		"native_histogram h,job=shop schema -53 hint 0 count 0 sum 0 zero 0/0 bounds [1 2] positive [][] negative [][] 200001",
		"native_histogram h,job=shop schema -53 hint 0 count 3 sum 3 zero 0/0 bounds [1 2] positive [{0 1} {1 1}][1 2] negative [][] 210000",
	}
	if !slices.Equal(m.samples, want) {
		t.Errorf("%s", strings.Join(m.samples, "\n"))
	}
}

// What was measured at a coarser scale, or in other buckets, is in the total too.
func TestDeltaHistogramsAdd(t *testing.T) {
	m := &memory{}
	h, mux := handler(m)
	for _, one := range []string{
		deltaExponential(3, 8, 4, 200, 210), // (2, 2.18]
		deltaExponential(3, 9, 1, 210, 220),
		deltaExponential(0, 5, 2, 220, 230), // (32, 64]
		deltaExplicit("1,2", []int{1, 0, 2}, 200, 210), deltaExplicit("1,2", []int{1, 5, 2}, 210, 220), deltaExplicit("1,3", []int{9, 1, 1}, 220, 230),
	} {
		post(mux, typeJSON, "", []byte(around(one)))
	}
	last := map[string]string{}
	for _, s := range m.samples {
		name, rest, _ := strings.Cut(strings.TrimPrefix(s, "native_histogram "), ",")
		if !strings.HasSuffix(rest, "0001") {
			last[name] = rest
		}
	}
	if want := "job=shop schema 0 hint 0 count 7 sum 7 zero 0/0 bounds [] positive [{2 1} {3 1}][5 2] negative [][] 230000"; last["e"] != want {
		t.Error(last["e"])
	}
	if want := "job=shop schema -53 hint 0 count 11 sum 11 zero 0/0 bounds [1 3] positive [{0 3}][9 1 1] negative [][] 230000"; last["h"] != want {
		t.Error(last["h"])
	}
	// Other bounds begin with a zero of their own, so that it cannot be missed that the total began anew.
	if at := slices.IndexFunc(m.samples, func(s string) bool { return strings.Contains(s, "count 0 sum 0") && strings.Contains(s, "[1 3]") }); at < 0 {
		t.Errorf("%q", m.samples)
	}
	if h.totals.table.Weight() < 500 {
		t.Error(h.totals.table.Weight())
	}
}

// A total has a bounded number of buckets, whatever comes.
func TestTotalsAreBounded(t *testing.T) {
	var total *promhistogram.FloatHistogram
	random := rand.New(rand.NewPCG(1, 2))
	n := 0.0
	for range 2000 {
		h := &promhistogram.FloatHistogram{Schema: 8, Count: 1, Sum: 1, PositiveSpans: []promhistogram.Span{{Offset: random.Int32N(200_000) - 100_000, Length: 1}}, PositiveBuckets: []float64{1}}
		total, n = merged(total, h), n+1
		if err := total.Validate(); err != nil || len(total.PositiveBuckets) > maxTotalBuckets || total.Count != n {
			t.Fatal(err, len(total.PositiveBuckets), total.Count)
		}
	}
}

// A long interval begins further back than samples may be late; its zero is stored all the same.
func TestLongIntervals(t *testing.T) {
	now := time.Unix(100_000, 0)
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }, OutOfOrder: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mux := http.NewServeMux()
	New(s, Defaults()).Register(mux)
	if w := post(mux, typeJSON, "", []byte(around(deltaSum(5, 10_000, 99_000)))); w.Code != 200 || strings.TrimSpace(w.Body.String()) != "{}" {
		t.Fatal(w.Code, w.Body)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil || len(found) != 1 {
		t.Fatal(err, found)
	}
	defer release()
	times, values, err := found[0].AppendNumbers(0, math.MaxInt64, nil, nil)
	if got := fmt.Sprint(times, values, err); got != "[10000001 99000000] [0 5] <nil>" {
		t.Error(got)
	}
}

func TestTotalsThatAreTooMany(t *testing.T) {
	m := &memory{}
	o := Defaults()
	o.TotalsBytes = 1000
	mux := http.NewServeMux()
	New(m, o).Register(mux)
	for i := range 20 {
		post(mux, typeJSON, "", []byte(around(fmt.Sprintf(`{"name":"d%d","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[{"asInt":1,"timeUnixNano":"200000000000"}]}}`, i))))
	}
	if n := m.rejected[tsdb.SeriesLimit]; n < 5 || n > 18 {
		t.Error(m.rejected)
	}
	// A series that is there goes on.
	if w := post(mux, typeJSON, "", []byte(around(`{"name":"d0","sum":{"isMonotonic":true,"aggregationTemporality":1,"dataPoints":[{"asInt":1,"timeUnixNano":"201000000000"}]}}`))); strings.TrimSpace(w.Body.String()) != "{}" {
		t.Error(w.Body)
	}
}

// Several senders of one series, in any order, with repetitions: everything is counted once.
func TestSeveralSenders(t *testing.T) {
	for seed := range uint64(20) {
		random := rand.New(rand.NewPCG(seed, 7))
		m := &memory{}
		_, mux := handler(m)
		type one struct{ value, start, end int }
		var all []one
		sent := 0.0
		for sender := range 3 {
			for at := 200 + sender; at < 400; at += 10 {
				v := 1 + random.IntN(9)
				all, sent = append(all, one{v, at, at + 10}), sent+float64(v)
			}
		}
		slices.SortStableFunc(all, func(a, b one) int { return a.end - b.end })
		for i := range all { // late by some places
			if j := i + random.IntN(3); j < len(all) {
				all[i], all[j] = all[j], all[i]
			}
		}
		for i, d := range all {
			post(mux, typeJSON, "", []byte(around(deltaSum(d.value, d.start, d.end))))
			if random.IntN(3) == 0 { // again
				d = all[max(0, i-random.IntN(3))]
				post(mux, typeJSON, "", []byte(around(deltaSum(d.value, d.start, d.end))))
			}
		}
		byTime := map[int]float64{}
		for _, s := range m.samples {
			var v float64
			var at int
			if _, err := fmt.Sscanf(s, "counter d,job=shop %g %d", &v, &at); err != nil {
				t.Fatal(err, s)
			}
			if _, twice := byTime[at]; twice {
				t.Fatal("two totals of one time", m.samples)
			}
			byTime[at] = v
		}
		var values []float64
		for at := range 500_000 {
			if v, ok := byTime[at]; ok {
				values = append(values, v)
			}
		}
		if got := increase(values); got != sent || m.rejected[OldDelta] == 0 {
			t.Errorf("seed %d: %g were counted of %g, refused %v", seed, got, sent, m.rejected)
		}
	}
}

// After a restart totals go on where they were, an interval that was stored before is not added again, and what was
// measured meanwhile is.
func TestDeltasOverRestart(t *testing.T) {
	fs := vfs.NewMemory()
	now := time.Unix(1000, 0)
	open := func(orderly *tsdb.Store) (*tsdb.Store, *http.ServeMux) {
		if orderly != nil {
			if err := orderly.Close(); err != nil {
				t.Fatal(err)
			}
		}
		s, err := tsdb.Open("/s", tsdb.Options{FS: fs, Now: func() time.Time { return now }})
		if err != nil {
			t.Fatal(err)
		}
		h, mux := New(s, Defaults()), http.NewServeMux()
		h.now = func() time.Time { return now }
		h.totals.began = now
		h.Register(mux)
		return s, mux
	}
	s, mux := open(nil)
	upDown := func(value, start, end int) string {
		return fmt.Sprintf(`{"name":"u","sum":{"aggregationTemporality":1,"dataPoints":[{"asInt":%d,"startTimeUnixNano":"%d000000000","timeUnixNano":"%d000000000"}]}}`, value, start, end)
	}
	send := func(want string, metrics ...string) {
		t.Helper()
		for _, one := range metrics {
			if w := post(mux, typeJSON, "", []byte(around(one))); w.Code != 200 || !strings.Contains(w.Body.String(), want) {
				t.Fatal(w.Code, w.Body)
			}
		}
	}
	send("{}", deltaSum(5, 900, 910), deltaSum(4, 910, 920), deltaExponential(2, 3, 4, 900, 910), deltaExplicit("1,2", []int{1, 0, 2}, 900, 910), upDown(7, 900, 910))
	s, mux = open(s)
	send("otlp_old_delta: 1", deltaSum(4, 910, 920), deltaExponential(2, 3, 4, 900, 910))
	send("{}", deltaSum(3, 915, 925), deltaSum(2, 925, 935), deltaExponential(2, 3, 6, 910, 920), deltaExplicit("1,2", []int{1, 0, 2}, 910, 920), upDown(-2, 910, 920))
	numbers, counts := map[string][]float64{}, map[string][]float64{}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range found {
		name := one.Labels()[0].Value
		for it := one.Numbers(0, math.MaxInt64); it.Next(); {
			_, v := it.At()
			numbers[name] = append(numbers[name], v)
		}
		for it := one.Natives(0, math.MaxInt64); it.Next(); {
			_, h := it.At()
			counts[name] = append(counts[name], h.Count)
		}
	}
	release()
	if got := fmt.Sprint(numbers, counts); got != "map[d:[0 5 9 12 14] u:[7 5]] map[e:[0 4 10] h:[0 3 6]]" {
		t.Error(got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
