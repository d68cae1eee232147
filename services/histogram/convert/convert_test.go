package convert

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"cistern/services/histogram"

	"github.com/DataDog/sketches-go/ddsketch"
	"github.com/DataDog/sketches-go/ddsketch/mapping"
	"github.com/DataDog/sketches-go/ddsketch/store"
	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// sample is a log-normal histogram with zeros and negative values.
func sample(r *rand.Rand, signs bool) *histogram.Histogram {
	h := &histogram.Histogram{}
	for range 1 + r.IntN(3000) {
		v := 0.01 * math.Exp((0.2+2*r.Float64())*r.NormFloat64())
		if signs {
			v *= float64(r.IntN(5)/2 - 1) // -1, 0, 1
		}
		_ = h.Insert(v, 1+r.Uint64N(3))
	}
	return h
}

// near says whether the quantiles of two histograms differ by a share of at most off.
func near(t *testing.T, name string, got, want *histogram.Histogram, off float64) {
	t.Helper()
	if got.Count() != want.Count() {
		t.Fatalf("%s: %d values became %d", name, want.Count(), got.Count())
	}
	qs := []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99}
	for i, q := range got.Quantiles(qs...) {
		if w := want.Quantiles(qs...)[i]; math.Abs(q-w) > off*math.Abs(w)+1e-12 {
			t.Fatalf("%s: quantile %g is %g, was %g", name, qs[i], q, w)
		}
	}
}

// There and back again, the total is the same and quantiles are off by a bucket of either layout at most.
func TestThereAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		h := sample(r, true)
		for schema := int32(0); schema <= 8; schema++ {
			native, approximate, err := ToNative(h, schema)
			if err != nil || !approximate {
				t.Fatal(err)
			}
			if err := native.Validate(); err != nil {
				t.Fatalf("Prometheus refuses it: %v", err)
			}
			back, _, err := FromNative(native.ToFloat(nil))
			if err != nil {
				t.Fatal(err)
			}
			near(t, fmt.Sprint("native ", schema), back, h, math.Exp2(math.Exp2(-float64(schema)))-1+0.21)
		}
		e, _, err := ToExponential(h, 20, 160)
		if err != nil || len(e.Positive.Counts) > 160 || len(e.Negative.Counts) > 160 {
			t.Fatal(err, len(e.Positive.Counts))
		}
		back, _, err := FromExponential(e)
		if err != nil {
			t.Fatal(err)
		}
		near(t, "exponential", back, h, math.Exp2(math.Exp2(-float64(e.Scale)))-1+0.21)

		s, _, err := ToDDSketch(h, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		if back, _, err = FromDDSketch(s); err != nil {
			t.Fatal(err)
		}
		near(t, "DDSketch", back, h, 0.24)

		bounds := []float64{-1, -0.1, -0.01, 0, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10}
		classic, approximate, err := ToClassic(h, bounds)
		if err != nil || approximate { // all of these are bounds of bins
			t.Fatal(err, approximate)
		}
		for i, b := range bounds {
			if b != 0 && math.Abs(float64(classic.Cumulative[i])-h.CountBelow(b)) > 1e-6 {
				t.Fatalf("up to %g there are %d, want %g", b, classic.Cumulative[i], h.CountBelow(b))
			}
		}
		if back, approximate, err = FromClassic(classic); err != nil || !approximate || back.Count() != h.Count() {
			t.Fatal(err, back)
		}
		again, approximate, err := ToClassic(back, bounds)
		if err != nil || approximate || !slices.Equal(again.Cumulative[1:], classic.Cumulative[1:]) {
			t.Fatalf("%v: %v became %v", err, classic.Cumulative, again.Cumulative)
		}
		custom, _, err := ToCustom(h, bounds)
		if err != nil {
			t.Fatal(err)
		}
		if err := custom.Validate(); err != nil {
			t.Fatalf("Prometheus refuses it: %v", err)
		}
		if fromCustom, _, err := FromNative(custom.ToFloat(nil)); err != nil || !fromCustom.Equal(back) {
			t.Fatalf("%v: custom and classic buckets differ", err)
		}

		positive := sample(r, false)
		ranges, left, _ := ToVMRanges(positive)
		if back, _, err = FromVMRanges(ranges); err != nil || left != 0 {
			t.Fatal(err, left)
		}
		near(t, "vmrange", back, positive, math.Pow(10, 1.0/18)-1+0.21)
	}
}

// Where the bounds are the same nothing is approximate.
func TestSameBoundsAreExact(t *testing.T) {
	h := &histogram.Histogram{}
	r := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		_ = h.Insert(1e-9*float64(10+r.IntN(999_990)), 1)
	}
	l := &LLQuantize{Factor: 10, Low: 1, High: 5, Steps: 100}
	approximate, err := l.ToLLQuantize(h, 1e-9)
	if err != nil || approximate {
		t.Fatal(err, approximate)
	}
	back, approximate, err := FromLLQuantize(l, 1e-9)
	if err != nil || approximate || !back.Equal(h) {
		t.Fatalf("%v, %v: %v, want %v", err, approximate, back, h)
	}
	buckets, err := ParseDTrace("  nfs read latency\n"+l.String()+"\n", 1e-9)
	if err != nil {
		t.Fatal(err)
	}
	if back, approximate, err = FromBuckets(buckets, Linear); err != nil || approximate || !back.Equal(h) {
		t.Fatalf("%v, %v: %v, want %v", err, approximate, back, h)
	}
}

func TestDTraceRows(t *testing.T) {
	l := &LLQuantize{Factor: 10, Low: 0, High: 2, Steps: 20}
	bounds, err := l.Bounds()
	if err != nil || len(bounds) != 1+9+18+18 || bounds[0] != 1 || bounds[10] != 15 || bounds[len(bounds)-1] != 1000 {
		t.Fatalf("%v: %v", err, bounds)
	}
	text := `
           value  ------------- Distribution ------------- count
             < 1 |@@@@@@                                   1
               1 |                                         0
               3 |@@@@@@@@@@@                              2
               5 |                                         0
          >= 1000 |@@@@@@                                   1
`
	buckets, err := ParseDTrace(text, 1)
	want := []Bucket{{0, 1, 1}, {1, 3, 0}, {3, 5, 2}, {5, 1000, 0}, {1000, math.Inf(1), 1}}
	if err != nil || !slices.Equal(buckets, want) {
		t.Fatalf("%v: %v, want %v", err, buckets, want)
	}
	quantize := "              -4 |@ 1\n              -2 |@ 2\n              -1 |@ 3\n               0 |@ 4\n               1 |@ 5\n               2 | 0\n"
	if buckets, err = ParseDTrace(quantize, 1); err != nil || len(buckets) != 6 || buckets[4] != (Bucket{1, 2, 5}) {
		t.Fatalf("%v: %v", err, buckets)
	}
	if h, _, err := FromBuckets(buckets, Linear); err != nil || h.Count() != 15 {
		t.Fatalf("%v: %v", err, h)
	}
	for _, bad := range []string{"2 | 1\n1 | 1", ">= 5 | 1\n6 | 1", "x | 1", "1 | 1\n< 2 | 1"} {
		if buckets, err := ParseDTrace(bad, 1); err == nil {
			t.Errorf("%q: %v", bad, buckets)
		}
	}
}

// The bounds of llquantize are those by which DTrace counts: for each value, the bucket number that its rule gives.
func TestLLQuantizeBounds(t *testing.T) {
	for _, l := range []LLQuantize{{Factor: 10, Low: 0, High: 4, Steps: 20}, {Factor: 2, Low: 0, High: 9, Steps: 4}, {Factor: 10, Low: 3, High: 5, Steps: 10}, {Factor: 8, Low: 1, High: 3, Steps: 64}} {
		bounds, err := l.Bounds()
		if err != nil {
			t.Fatal(err)
		}
		this, bucket := int64(1), 1
		for range l.Low {
			this *= int64(l.Factor)
		}
		for order := l.Low; order <= l.High; order++ {
			next := this * int64(l.Factor)
			step := next / min(next, int64(l.Steps))
			for v := this; v < next; v++ {
				at, _ := slices.BinarySearch(bounds, v+1)
				if want := bucket + int((v-this)/step); at != want {
					t.Fatalf("%+v: %d is in bucket %d, want %d", l, v, at, want)
				}
			}
			bucket += int((next - this) / step)
			this = next
		}
	}
	for _, bad := range []LLQuantize{{Factor: 1, High: 3, Steps: 10}, {Factor: 10, High: 40, Steps: 10}, {Factor: 10, Low: 2, High: 1, Steps: 10}, {Factor: 10, High: 3}, {Factor: 1 << 30, High: 0, Steps: 1 << 30}} {
		if _, err := bad.Bounds(); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}

func TestDDSketchIsTheirs(t *testing.T) {
	mapping, err := mapping.NewLogarithmicMapping(0.01)
	if err != nil {
		t.Fatal(err)
	}
	theirs := ddsketch.NewDDSketch(mapping, store.NewSparseStore(), store.NewSparseStore())
	want := &histogram.Histogram{}
	r := rand.New(rand.NewPCG(5, 6))
	for range 10_000 {
		v := math.Exp(2*r.NormFloat64()) * float64(r.IntN(5)/2-1)
		_ = theirs.Add(v)
		_ = want.Insert(v, 1)
	}
	content := func(s store.Store) map[int]float64 {
		into := map[int]float64{}
		s.ForEach(func(i int, n float64) bool { into[i] += n; return false })
		return into
	}
	ours := &DDSketch{Gamma: 1.01 / 0.99, Zero: theirs.GetZeroCount(), Positive: content(theirs.GetPositiveValueStore()), Negative: content(theirs.GetNegativeValueStore())}
	for i := range ours.Positive {
		if low := math.Pow(ours.Gamma, float64(i)); math.Abs(low-mapping.LowerBound(i)) > 1e-9*low {
			t.Fatalf("bucket %d begins at %g, theirs at %g", i, low, mapping.LowerBound(i))
		}
	}
	h, approximate, err := FromDDSketch(ours)
	if err != nil || !approximate {
		t.Fatal(err)
	}
	near(t, "theirs", h, want, 0.03)
	back, _, err := ToDDSketch(h, 0.01)
	if err != nil {
		t.Fatal(err)
	}
	for q := 0.05; q < 1; q += 0.1 {
		value, err := theirs.GetValueAtQuantile(q)
		if got := want.Quantile(q); err != nil || math.Abs(got-value) > 0.12*math.Abs(value) {
			t.Errorf("quantile %g is %g, theirs %g", q, got, value)
		}
	}
	total := back.Zero
	for _, side := range []map[int]float64{back.Positive, back.Negative} {
		for _, n := range side {
			total += n
		}
	}
	if total != 10_000 {
		t.Errorf("%g values are left of 10000", total)
	}
}

func TestFractionsAndNonsense(t *testing.T) {
	n := &promhistogram.FloatHistogram{Schema: 0, ZeroCount: 0.4, ZeroThreshold: 0.001, Count: 3.2,
		PositiveSpans: []promhistogram.Span{{Offset: 0, Length: 3}}, PositiveBuckets: []float64{0.5, 0.5, 1.8}}
	h, approximate, err := FromNative(n)
	if err != nil || !approximate || h.Count() != 3 {
		t.Fatalf("%v, %v: %v", err, approximate, h)
	}
	n.PositiveBuckets[1] = -1
	if _, _, err := FromNative(n); err == nil {
		t.Error("a negative count is taken")
	}
	for _, c := range []Classic{{[]float64{1, 2}, []uint64{3, 2, 5}}, {[]float64{2, 1}, []uint64{1, 2, 3}}, {[]float64{1}, []uint64{1}}, {[]float64{math.NaN()}, []uint64{1, 1}}} {
		if h, _, err := FromClassic(c); err == nil {
			t.Errorf("%v: %v", c, h)
		}
	}
	for _, name := range []string{"1...x", "2...1", "NaN...1", "7"} {
		if h, _, err := FromVMRanges([]VMRange{{name, 1}}); err == nil {
			t.Errorf("%s: %v", name, h)
		}
	}
	h, approximate, err = FromBuckets([]Bucket{{5, math.Inf(1), 3}, {math.Inf(-1), -2, 1}, {-1, 3, 8}, {1e200, 1e300, 2}, {0, 0, 4}, {1, 1, math.MaxUint64}}, Linear)
	if err != nil || !approximate || h.CountNearby(5) != 3 || h.CountNearby(-2) != 1 || h.CountNearby(1) < math.MaxUint64 {
		t.Errorf("%v, %v: %v", err, approximate, h)
	}
	if _, _, err := FromExponential(&Exponential{Scale: 99}); err == nil {
		t.Error("a scale of 99 is taken")
	}
	e := &Exponential{Scale: 20, Positive: ExponentialBuckets{Offset: math.MaxInt32 - 1, Counts: []uint64{1, 2, 3}}}
	if h, _, err := FromExponential(e); err != nil || h.Count() != 6 {
		t.Errorf("%v: %v", err, h)
	}
}

// No bucket's values are lost or made, whatever the buckets are.
func FuzzBuckets(f *testing.F) {
	f.Add(1.0, 2.5, uint64(7), 0.3, true)
	f.Add(-1e-130, 1e300, uint64(1)<<60, -3.0, false)
	f.Fuzz(func(t *testing.T, from, to float64, n uint64, bound float64, geometric bool) {
		shape := Linear
		if geometric {
			shape = Geometric
		}
		h, _, err := FromBuckets([]Bucket{{from, to, n}}, shape)
		if err != nil {
			return
		}
		if h.Count() != n {
			t.Fatalf("%d values from %g to %g became %d", n, from, to, h.Count())
		}
		if math.IsNaN(bound) {
			return
		}
		counts, _ := Between(h, []float64{bound}, shape)
		if counts[0]+counts[1] != n {
			t.Fatalf("%d and %d of %d", counts[0], counts[1], n)
		}
		_, _ = ParseDTrace(strings.Repeat(fmt.Sprintf("%d | %d\n", int64(from), n), 2), to)
	})
}

func FuzzParseDTrace(f *testing.F) {
	f.Add("< 1 |@@ 3\n 1 |@ 2\n 2 | 0\n>= 10 | 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		buckets, err := ParseDTrace(text, 1)
		if err != nil {
			return
		}
		if _, _, err := FromBuckets(buckets, Linear); err != nil {
			t.Fatalf("%v: %v", err, buckets)
		}
	})
}
