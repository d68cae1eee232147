package convert

import (
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// random is a histogram of some decades, with zeros and, if wanted, negative values.
func random(r *rand.Rand, negative bool) *histogram.Histogram {
	var d histogram.Dense
	middle, width := r.Float64()*10-5, 0.1+r.Float64()
	for range 1 + r.IntN(400) {
		v := math.Pow(10, middle+width*r.NormFloat64())
		switch r.IntN(20) {
		case 0:
			v = 0
		case 1, 2, 3:
			if negative {
				v = -v
			}
		}
		bin, _ := histogram.BinOf(v)
		d.Add(bin, 1+r.Uint64N(1<<uint(r.IntN(20))))
	}
	return d.Histogram()
}

var qs = []float64{0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99}

// near says that the quantiles of two histograms are not further apart than a bucket that grows by factor, and a bin.
func near(t *testing.T, what string, got, want *histogram.Histogram, factor float64) {
	t.Helper()
	if got.Count() != want.Count() {
		t.Fatalf("%s: %d values became %d", what, want.Count(), got.Count())
	}
	for _, q := range qs {
		v := got.Quantile(q)
		// Each value stays in its bucket, so that the quantile does not pass the buckets of its neighbours in rank.
		few := 600 / float64(want.Count()) // what largest remainders may move
		low, high := want.Quantile(max(0, q-few)), want.Quantile(min(1, q+few))
		room := func(v, direction float64) float64 {
			if (v > 0) == (direction > 0) {
				return v * factor * 1.11
			}
			return v / factor / 1.11
		}
		if !(v >= room(low, -1)-1e-120 && v <= room(high, 1)+1e-120) {
			t.Fatalf("%s: q=%g is %g, was %g", what, q, v, want.Quantile(q))
		}
	}
}

func must[T any](v T, approximate bool, err error) func(t *testing.T) (T, bool) {
	return func(t *testing.T) (T, bool) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v, approximate
	}
}

func TestPrometheus(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		h := random(r, true)
		for schema := int32(-4); schema <= 8; schema++ {
			native, _ := must(ToPrometheus(h, schema))(t)
			if native.Count != h.Count() || native.Sum != h.Sum() {
				t.Fatalf("%d values, want %d", native.Count, h.Count())
			}
			back, approximate := must(FromPrometheus(native))(t)
			if !approximate && schema < 3 && len(h.Bins) > 1 {
				t.Fatalf("schema %d is not said to be approximate", schema)
			}
			near(t, "schema", back, h, math.Exp2(math.Exp2(-float64(schema))))
			float, _ := must(FromPrometheusFloat(native.ToFloat(nil)))(t)
			if !float.Equal(back) {
				t.Fatal("the two native forms differ")
			}
		}
		// Its own bounds: exact, there and back.
		custom, approximate := must(ToPrometheusCustom(h, nil))(t)
		back, approximateBack := must(FromPrometheus(custom))(t)
		if approximate || approximateBack || !back.Equal(h) {
			t.Fatalf("%v became %v, %t %t", h, back, approximate, approximateBack)
		}
		// Its quantiles as PromQL sees them lie in the same bins.
		if custom.Count != h.Count() {
			t.Fatal(custom.Count)
		}
		coarse, _ := must(ToPrometheusCustom(h, []float64{-10, -1, -0.1, 0, 0.1, 0.25, 1, 2.55, 10, 100}))(t)
		sum := uint64(0)
		for it := coarse.PositiveBucketIterator(); it.Next(); {
			b := it.At()
			sum += b.Count
			want := h.CountBetween(b.Lower, b.Upper)
			if b.Upper == 0 { // zeros are in the bucket that ends at zero
				want = h.CountBetween(b.Lower, 0)
			}
			if math.Abs(float64(b.Count)-want) > 1 {
				t.Fatalf("%v has %g", b, want)
			}
		}
		if sum != h.Count() {
			t.Fatalf("%d values, want %d", sum, h.Count())
		}
		scaled := native(t, h).ToFloat(nil).Mul(1.0 / 3)
		third, approximate := must(FromPrometheusFloat(scaled))(t)
		if third.Count() != uint64(math.Round(float64(h.Count())/3)) || !approximate && h.Count() > 3000 {
			t.Fatalf("a third of %d is %d, %t", h.Count(), third.Count(), approximate)
		}
	}
	// The bounds are Prometheus' own: what one bucket of it holds is in one here.
	n := &promhistogram.Histogram{Schema: 0, Count: 3, Sum: 4, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{3}}
	h, approximate := must(FromPrometheus(n))(t)
	if !approximate || h.Bins[0].String() != "1.1e0" && h.Bins[0].String() != "1.0e0" || h.Quantile(1) > 2 {
		t.Fatalf("%v", h)
	}
	for _, bad := range []*promhistogram.Histogram{
		{Schema: 0, Count: 3, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 2}}, PositiveBuckets: []int64{3}},
		{Schema: 0, Count: 4, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{3}},
		{Schema: 77},
		{Schema: -53, Count: 3, PositiveSpans: []promhistogram.Span{{Offset: 5, Length: 1}}, PositiveBuckets: []int64{3}, CustomValues: []float64{1}},
	} {
		if _, _, err := FromPrometheus(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if _, _, err := ToPrometheus(h, 9); err == nil {
		t.Error("schema 9 is taken")
	}
	full := &histogram.Histogram{Bins: []histogram.Bin{1, 2}, Counts: []uint64{math.MaxUint64, math.MaxUint64}}
	if _, _, err := ToPrometheus(full, 0); err != ErrTooMany {
		t.Error(err)
	}
	if _, _, err := ToBuckets(full, nil); err != ErrTooMany {
		t.Error(err)
	}
}

func native(t *testing.T, h *histogram.Histogram) *promhistogram.Histogram {
	n, _ := must(ToPrometheus(h, 3))(t)
	return n
}

func TestOTLP(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		h := random(r, true)
		most := 2 + r.IntN(300)
		point, _ := must(ToOTLP(h, most))(t)
		if len(point.Positive.Counts) > most || len(point.Negative.Counts) > most {
			t.Fatalf("%d and %d buckets, at most %d", len(point.Positive.Counts), len(point.Negative.Counts), most)
		}
		back, _ := must(FromOTLP(point))(t)
		near(t, "OTLP", back, h, math.Exp2(math.Exp2(-float64(point.Scale))))
	}
	for _, bad := range []*OTLP{{Scale: 21}, {Scale: -11}, {ZeroThreshold: math.NaN()}, {ZeroThreshold: -1}} {
		if _, _, err := FromOTLP(bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	for scale := int32(minScale); scale <= maxScale; scale++ { // no bound is out of reach
		for _, offset := range []int32{math.MinInt32, -5, 0, math.MaxInt32} {
			h, _ := must(FromOTLP(&OTLP{Scale: scale, Positive: OTLPBuckets{offset, []uint64{5, 6}}, Negative: OTLPBuckets{offset, []uint64{7}}, ZeroCount: 1}))(t)
			if h.Count() != 19 {
				t.Fatalf("%d values, want 19", h.Count())
			}
		}
	}
}

func TestClassic(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 500 {
		h := random(r, true)
		buckets, approximate := must(ToClassic(h, nil))(t)
		back, approximateBack := must(FromClassic(buckets))(t)
		if approximate || approximateBack || !back.Equal(h) {
			t.Fatalf("%v became %v", h, back)
		}
		h = random(r, false)
		var bounds []float64
		for v := 1e-9; v < 1e9; v *= 1.5 + r.Float64() {
			bounds = append(bounds, v)
		}
		buckets, _ = must(ToClassic(h, bounds))(t)
		if last := buckets[len(buckets)-1]; last.Cumulative != h.Count() || !math.IsInf(last.UpperBound, 1) {
			t.Fatalf("%v, want %d", last, h.Count())
		}
		for _, b := range buckets {
			if want := h.CountBelow(b.UpperBound); math.Abs(want-float64(b.Cumulative)) > 1 {
				t.Fatalf("%d up to %g, want %g", b.Cumulative, b.UpperBound, want)
			}
		}
		back, _ = must(FromClassic(buckets))(t)
		if back.Count() != h.Count() {
			t.Fatal("values are lost")
		}
		for _, b := range buckets { // what was in a bucket is in it still
			if got := back.CountBelow(b.UpperBound); math.Abs(got-float64(b.Cumulative)) > 1e-6*float64(h.Count()) && !inBin(b.UpperBound, back, float64(b.Cumulative)) {
				t.Fatalf("%g up to %g, want %d", got, b.UpperBound, b.Cumulative)
			}
		}
	}
	inf := math.Inf(1)
	for _, bad := range [][]ClassicBucket{nil, {{1, 1}}, {{1, 2}, {inf, 1}}, {{2, 1}, {1, 2}, {inf, 2}}, {{math.NaN(), 1}, {inf, 2}}} {
		if _, _, err := FromClassic(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	h, approximate := must(FromClassic([]ClassicBucket{{0, 3}, {inf, 3}}))(t)
	if !approximate || !slices.Equal(h.Bins, []histogram.Bin{0}) {
		t.Errorf("%v", h)
	}
	h, approximate = must(FromClassic([]ClassicBucket{{1, 0}, {10, 0}, {inf, 4}}))(t)
	if from, _ := h.Bins[0].Bounds(); !approximate || from != 10 || h.Counts[0] != 4 {
		t.Errorf("%v", h)
	}
}

// inBin says that the bin around a bound can hold the difference: within it, values are where nobody knows.
func inBin(bound float64, h *histogram.Histogram, want float64) bool {
	bin, _ := histogram.BinOf(bound)
	from, to := bin.Bounds()
	return h.CountBelow(from) <= want+1e-6 && want <= h.CountBelow(to)+1e-6
}

func TestVmrange(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 500 {
		h := random(r, false)
		buckets, _ := must(ToVmrange(h))(t)
		sum := uint64(0)
		for _, n := range buckets {
			sum += n
		}
		back, _ := must(FromVmrange(buckets))(t)
		if sum != h.Count() {
			t.Fatalf("%d values, want %d", sum, h.Count())
		}
		near(t, "vmrange", back, h, 1.14)
	}
	h := &histogram.Histogram{}
	for _, v := range []float64{0, 0.11, 0.12, 5e18, 5e-9} {
		_ = h.Insert(v, 2)
	}
	buckets, _ := must(ToVmrange(h))(t)
	if want := map[string]uint64{"0...1.000e-09": 2, "1.000e-01...1.136e-01": 1, "1.136e-01...1.292e-01": 3, "1.000e+18...+Inf": 2, "4.642e-09...5.275e-09": 2}; !maps.Equal(buckets, want) &&
		buckets["1.000e-01...1.136e-01"]+buckets["1.136e-01...1.292e-01"] != 4 {
		t.Errorf("%v", buckets)
	}
	for _, bad := range []string{"", "1", "1...", "...1", "2...1", "1...1", "-1...2", "1...NaN", "1...Inf", "0x1...2", "1...2...3"} {
		if _, _, err := FromVmrange(map[string]uint64{bad: 1}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	_ = h.Insert(-1, 1)
	if _, _, err := ToVmrange(h); err != ErrNegative {
		t.Error(err)
	}
}

func TestDDSketch(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 300 {
		h := random(r, true)
		accuracy := []float64{0.001, 0.01, 0.02, 0.2}[r.IntN(4)]
		sketch, _ := must(ToDDSketch(h, accuracy))(t)
		back, _ := must(FromDDSketch(sketch))(t)
		near(t, "DDSketch", back, h, sketch.Gamma)
	}
	// What sketches-go v1.4.8 made of 400 values each.
	text, err := os.ReadFile("testdata/ddsketch.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		DDSketch
		Values, Quantiles []float64
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		g := c.grid()
		mine := &DDSketch{Positive: map[int]uint64{}, Negative: map[int]uint64{}}
		exact := &histogram.Histogram{}
		for _, v := range c.Values {
			switch {
			case v > 0:
				mine.Positive[g.find(v)]++
			case v < 0:
				mine.Negative[g.find(-v)]++
			default:
				mine.Zero++
			}
			_ = exact.Insert(v, 1)
		}
		if !maps.Equal(mine.Positive, c.Positive) || !maps.Equal(mine.Negative, c.Negative) || mine.Zero != c.Zero {
			t.Fatalf("gamma %g: its bins are elsewhere: %v, %v", c.Gamma, mine, c.DDSketch)
		}
		h, _ := must(FromDDSketch(&c.DDSketch))(t)
		near(t, "sketches-go", h, exact, c.Gamma)
		for i, q := range []float64{0.05, 0.5, 0.9, 0.99} {
			// The sketch takes the value at a rank, and 400 values have gaps between ranks.
			if v, low, high := c.Quantiles[i], h.Quantile(q-0.01), h.Quantile(min(1, q+0.01)); v < low-0.1*math.Abs(low) || v > high+0.1*math.Abs(high) {
				t.Errorf("gamma %g, q=%g: from %g to %g, the sketch says %g", c.Gamma, q, low, high, v)
			}
		}
	}
	for _, bad := range []*DDSketch{{Gamma: 1}, {Gamma: math.NaN()}, {Gamma: 2, Offset: math.Inf(1)}} {
		if _, _, err := FromDDSketch(bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	for _, i := range []int{math.MinInt32, math.MaxInt32} {
		h, _ := must(FromDDSketch(&DDSketch{Gamma: 1.02, Positive: map[int]uint64{i: 3}, Negative: map[int]uint64{i: 3}}))(t)
		if h.Count() != 6 {
			t.Error(h)
		}
	}
}

// llBucket is the bucket of a value by the meaning of the parameters, one value at a time.
func llBucket(l *LLQuantize, v int64) int {
	bounds, _ := l.bounds()
	i, found := slices.BinarySearch(bounds, v)
	if found {
		i++
	}
	return i
}

func TestLLQuantize(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 300 {
		// Factor 10, 100 steps: exact for whole numbers, there, as text, and back.
		h := &histogram.Histogram{}
		l := &LLQuantize{Factor: 10, Low: 0, High: 6, Steps: 100}
		bounds, err := l.bounds()
		if err != nil {
			t.Fatal(err)
		}
		l.Counts = make([]uint64, len(bounds)+1)
		for range r.IntN(500) {
			v := int64(math.Exp(r.Float64() * 16))
			if v >= 10_000_000 {
				continue
			}
			_ = h.Insert(float64(v), 1)
			l.Counts[llBucket(l, v)]++
		}
		got, approximate := must(ToLLQuantize(h, 10, 0, 6, 100))(t)
		if approximate || !slices.Equal(got.Counts, l.Counts) {
			t.Fatalf("%v, want %v", got.Counts, l.Counts)
		}
		back, approximate := must(FromLLQuantize(l))(t)
		if approximate || !back.Equal(h) {
			t.Fatalf("%v, want %v", back, h)
		}
		back, approximate = must(FromLLQuantizeText(l.String()))(t)
		if approximate || !back.Equal(h) {
			t.Fatalf("%v, want %v, from %s", back, h, l)
		}
		// Any parameters: no value is lost, and each stays in its bucket.
		h = random(r, false)
		l, _ = must(ToLLQuantize(h, 2, r.IntN(3), 20+r.IntN(10), []int{2, 4, 8, 16}[r.IntN(4)]))(t)
		back, _ = must(FromLLQuantize(l))(t)
		text, _ := must(FromLLQuantizeText(l.String()))(t)
		if back.Count() != h.Count() || !text.Equal(back) {
			t.Fatalf("%d values became %d, by text %d", h.Count(), back.Count(), text.Count())
		}
	}
	l := &LLQuantize{Factor: 10, Low: 0, High: 1, Steps: 10}
	if bounds, err := l.bounds(); err != nil || !slices.Equal(bounds, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100}) {
		t.Fatal(bounds, err)
	}
	l.Counts = make([]uint64, 20)
	l.Counts[3], l.Counts[10], l.Counts[19] = 3, 1, 4
	const want = `
           value  ------------- Distribution ------------- count    
               2 |                                         0        
               3 |@@@@@@@@@@@@@@@                          3        
               4 |                                         0        
               5 |                                         0        
               6 |                                         0        
               7 |                                         0        
               8 |                                         0        
               9 |                                         0        
              10 |@@@@@                                    1        
              20 |                                         0        
              30 |                                         0        
              40 |                                         0        
              50 |                                         0        
              60 |                                         0        
              70 |                                         0        
              80 |                                         0        
              90 |                                         0        
          >= 100 |@@@@@@@@@@@@@@@@@@@@                     4        
`
	if got := l.String(); got != want {
		t.Errorf("%s is not %s", got, want)
	}
	blocks := strings.Replace(want, "@@@@@@@@@@@@@@@  ", "██████████████▌  ", 1)
	if h, _, err := FromLLQuantizeText(blocks); err != nil || h.Count() != 8 {
		t.Errorf("%v: %s", err, blocks)
	}
	if h, _, err := FromLLQuantizeText((&LLQuantize{Factor: 10, Low: 0, High: 1, Steps: 10, Counts: make([]uint64, 20)}).String()); err != nil || h.Count() != 0 {
		t.Error(err)
	}
	for _, bad := range []LLQuantize{{10, 3, 3, 10, nil}, {10, 0, 5, 9, nil}, {1, 0, 5, 10, nil}, {10, 5, 4, 10, nil}, {10, 0, 19, 10, nil}, {10, 0, 5, 90, nil}, {10, -1, 5, 10, nil}, {10, 0, 6, 10, nil}} {
		if _, _, err := FromLLQuantize(&bad); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
	for _, bad := range []string{"", "3 |@ 4", want + "200 | 0", strings.Replace(want, "           4 |", "           3 |", 1),
		strings.Replace(want, " 4        \n", " -4\n", 1), strings.Replace(want, "          >= 100", "             100", 1), want + want} {
		if _, err := ParseLLQuantize(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestApportion(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 20_000 {
		weights := make([]float64, 1+r.IntN(30))
		sum := 0.0
		for i := range weights {
			weights[i] = math.Exp(5 * r.NormFloat64())
			sum += weights[i]
		}
		n := r.Uint64() >> uint(r.IntN(64))
		total := uint64(0)
		apportion(n, weights, func(i int, part uint64) {
			total += part
			if ideal := float64(n) * weights[i] / sum; math.Abs(float64(part)-ideal) > 1+1e-12*float64(n) {
				t.Fatalf("%d of %d, want about %g", part, n, ideal)
			}
		})
		if total != n {
			t.Fatalf("%d became %d", n, total)
		}
	}
}

func FuzzParseLLQuantize(f *testing.F) {
	l := &LLQuantize{Factor: 10, Low: 0, High: 1, Steps: 10, Counts: make([]uint64, 20)}
	l.Counts[0], l.Counts[5] = 3, 4
	f.Add(l.String())
	f.Add("value  ------------- Distribution ------------- count\n < 1 | 0\n 1 |@@ 4\n 2 | 0\n")
	f.Fuzz(func(t *testing.T, text string) {
		rows, err := ParseLLQuantize(text)
		if err != nil {
			return
		}
		sum, overflow := uint64(0), false
		for _, b := range rows {
			sum += b.Count
			overflow = overflow || sum < b.Count
		}
		h, _, err := FromLLQuantizeText(text)
		if overflow != (err != nil) || err == nil && h.Count() != sum {
			t.Fatalf("%q: %d values, %v; want %d", text, h.Count(), err, sum)
		}
	})
}

func FuzzFromBuckets(f *testing.F) {
	f.Add(1.0, 2.0, uint64(100))
	f.Add(-1.0, 2.0, uint64(100))
	f.Add(math.Inf(-1), 0.0, uint64(1<<60))
	f.Add(1e-300, 1e300, uint64(1<<63))
	f.Fuzz(func(t *testing.T, from, to float64, n uint64) {
		for _, share := range []Share{Linear, Geometric} {
			h, _, err := FromBuckets([]Bucket{{from, to, n}}, share)
			if err != nil {
				if from < to {
					t.Fatal(err)
				}
				return
			}
			if h.Count() != n {
				t.Fatalf("%d became %d", n, h.Count())
			}
			for i, bin := range h.Bins {
				low, high := bin.Bounds()
				if h.Counts[i] > 0 && bin != 0 && (low > to || high < from) && math.Abs(from) < 1e127 && math.Abs(to) < 1e127 {
					t.Fatalf("%s is not between %g and %g", bin, from, to)
				}
			}
		}
	})
}

// Values that were NaN are in no bucket, only in a native histogram's count: without them the result is approximate.
func TestNotANumber(t *testing.T) {
	native := &promhistogram.Histogram{
		Schema: promhistogram.CustomBucketsSchema, CustomValues: []float64{1, 1.1}, Count: 3, Sum: math.NaN(),
		PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []int64{2},
	}
	h, approximate, err := FromPrometheus(native)
	if err != nil || h.Count() != 2 || !approximate {
		t.Errorf("%v %v %v", h, approximate, err)
	}
	h, approximate, err = FromPrometheusFloat(native.ToFloat(nil))
	if err != nil || h.Count() != 2 || !approximate {
		t.Errorf("%v %v %v", h, approximate, err)
	}
	native.Count, native.Sum = 2, 2.1
	if h, approximate, err = FromPrometheus(native); err != nil || h.Count() != 2 || approximate {
		t.Errorf("%v %v %v", h, approximate, err)
	}
}
