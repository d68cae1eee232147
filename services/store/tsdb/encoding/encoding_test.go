package encoding

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/histogram"
)

func same(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }

func roundTrip(t *testing.T, times []int64, values []float64) int {
	t.Helper()
	run := AppendNumbers([]byte("before"), times, values)[6:]
	gotTimes, gotValues, err := DecodeNumbers(run, []int64{7}, []float64{8})
	if err != nil || !slices.Equal(gotTimes[1:], times) || !slices.EqualFunc(gotValues[1:], values, same) {
		t.Fatalf("%v\n%v\n%v\n%v\n%v", err, times, gotTimes, values, gotValues)
	}
	return len(run)
}

func TestNumbersKeepEveryBit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	nasty := []float64{0, math.Copysign(0, -1), 1, -1, 0.1, 1e-300, 5e-324, math.MaxFloat64, math.Inf(1), math.Inf(-1), math.NaN(),
		math.Float64frombits(0x7ff0000000000002), 1 << 53, 1<<53 + 2, -(1 << 53), 1<<53 - 1, 1e15, 1e16, 123456789.123456789, 0.1 + 0.2, 1e22, 4.35, 0.29}
	for range 4000 {
		n := r.IntN(300)
		if r.IntN(40) == 0 {
			n = r.IntN(3000)
		}
		var times []int64
		var values []float64
		at, v := r.Int64N(1<<42)-1<<41, math.Round(r.NormFloat64()*1000)
		irregular, shape, digits := r.IntN(3), r.IntN(7), math.Pow10(r.IntN(6))
		for range n {
			switch {
			case irregular == 0:
				at += 10_000
			case irregular == 1 || r.IntN(20) > 0:
				at += 9_990 + r.Int64N(20)
			default:
				at += 1 + r.Int64N(1<<r.IntN(45))
			}
			switch shape {
			case 0:
				v = nasty[r.IntN(len(nasty))]
			case 1:
				v += float64(r.IntN(50))
			case 2:
				v = math.Round(v*digits+r.NormFloat64()*20) / digits
			case 3:
				v = r.NormFloat64()
			case 4:
				v = math.Float64frombits(r.Uint64())
			case 5:
				if r.IntN(30) == 0 {
					v++
				}
			case 6:
				if r.IntN(50) == 0 {
					v = nasty[r.IntN(len(nasty))]
				} else {
					v = math.Round(r.NormFloat64() * 30)
				}
			}
			times, values = append(times, at), append(values, v)
		}
		roundTrip(t, times, values)
	}
	roundTrip(t, []int64{math.MinInt64 / 4, 0, math.MaxInt64 / 4}, nasty[:3])
	for _, a := range nasty {
		for _, b := range nasty {
			roundTrip(t, []int64{-5, 7, 8}, []float64{a, b, a})
		}
	}
}

// What a run says of itself holds at its edges: infinities are not ordinary numbers, and no samples have no bytes.
func TestRunsOfInfinitiesAndOfNothing(t *testing.T) {
	for _, v := range []float64{math.Inf(1), math.Inf(-1), math.NaN(), 1e300} {
		var r NumberRun
		out := make([]float64, 3)
		if err := r.Open(AppendNumbers(nil, []int64{1, 2, 3}, []float64{v, v, v}), 0); err != nil {
			t.Fatal(err)
		}
		if err := r.Values(out); err != nil || r.Rising != (v == 1e300) {
			t.Errorf("%v: rising %v, %v", v, r.Rising, err)
		}
	}
	damaged := AppendNumbers(nil, []int64{1, 2, 3}, []float64{4, 5, 6})
	damaged[0] = 0
	if _, _, err := DecodeNumbers(damaged, nil, nil); err == nil {
		t.Error("a run of no samples may be followed by anything")
	}
	if times, values, err := DecodeNumbers(AppendNumbers(nil, nil, nil), nil, nil); err != nil || len(times)+len(values) > 0 {
		t.Error(times, values, err)
	}
}

func TestGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		values := make([]uint64, 1+r.IntN(128))
		width := r.IntN(65)
		for i := range values {
			values[i] = r.Uint64() >> (64 - width)
			if r.IntN(3) == 0 {
				values[i] >>= r.IntN(64)
			}
		}
		group := appendGroup(nil, values, kind(r.IntN(2)))
		got := make([]uint64, len(values))
		rest, err := readGroup(append(slices.Clone(group), 1, 2, 3), got, len(values))
		if err != nil || len(rest) != 3 || !slices.Equal(got, values) {
			t.Fatalf("%v: %v\n%v\n%v", err, rest, values, got)
		}
		part := got[:1+r.IntN(len(got))]
		clear(part)
		if _, err := readGroup(group, part, len(values)); err != nil || !slices.Equal(part, values[:len(part)]) {
			t.Fatalf("%v\n%v\n%v", err, values, part)
		}
	}
}

// poisson draws a number with the given mean.
func poisson(r *rand.Rand, mean float64) uint64 {
	if mean > 50 {
		return uint64(max(0, math.Round(mean+math.Sqrt(mean)*r.NormFloat64())))
	}
	limit, p, n := math.Exp(-mean), r.Float64(), uint64(0)
	for p > limit {
		p *= r.Float64()
		n++
	}
	return n
}

// seconds is histograms of n values each, log-normal, one a second.
func seconds(r *rand.Rand, records, n int, sigma float64) (times []int64, hists []histogram.Histogram) {
	for i := range records {
		var a histogram.Accumulator
		for range n {
			_ = a.Insert(0.01*math.Exp(sigma*r.NormFloat64()), 1)
		}
		times, hists = append(times, int64(i)*1000), append(hists, *a.Take())
	}
	return times, hists
}

func TestHistograms(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var run HistogramRun
	for round := range 300 {
		n := r.IntN(80)
		if round%20 == 0 { // with an index of columns, and more than one group
			n = r.IntN(1100)
		}
		var times []int64
		var hists []histogram.Histogram
		at := int64(0)
		for range n {
			at += 1000 * int64(1+r.IntN(2))
			h := histogram.Histogram{}
			if steady := round % 3; steady == 0 {
				for range r.IntN(60) {
					h.Add(histogram.Bin(r.IntN(100)-50), 1+r.Uint64N(1<<r.IntN(20)))
				}
			} else {
				for bin := range 20 {
					h.Add(histogram.Bin(bin*steady-10), poisson(r, float64(bin*bin*bin)/float64(8*steady)))
				}
			}
			if r.IntN(50) == 0 {
				h.Add(histogram.MaxBin, math.MaxUint64)
			}
			times, hists = append(times, at), append(hists, h)
		}
		bytes := AppendHistograms(nil, times, hists)
		if err := run.Open(bytes); err != nil || run.Len() != n || !slices.Equal(run.Times(), times) {
			t.Fatalf("%v: %v, want %v", err, run.Times(), times)
		}
		got, err := run.Decode(nil)
		if err != nil || !slices.EqualFunc(got, hists, func(a, b histogram.Histogram) bool { return a.Equal(&b) }) {
			t.Fatalf("%v: other histograms", err)
		}
		if n == 0 {
			continue
		}
		from := r.IntN(n)
		to := from + r.IntN(n-from) + 1
		var dense histogram.Dense
		want := histogram.Histogram{}
		for i := from; i < to; i++ {
			want.Merge(&hists[i])
		}
		if err := run.AddRange(from, to, &dense); err != nil || want.Count() < math.MaxUint64 && !dense.Histogram().Equal(&want) {
			t.Fatalf("%v\n%v\n%v", err, dense.Histogram(), want)
		}
		window := make([]int, n)
		into, wants := make([]*histogram.Dense, 4), make([]histogram.Histogram, 4)
		saturated := false
		for i := range window {
			if window[i] = r.IntN(5) - 1; window[i] >= 0 {
				wants[window[i]].Merge(&hists[i])
			}
			saturated = saturated || hists[i].Count() == math.MaxUint64
		}
		if err := run.AddWindows(window, into); err != nil {
			t.Fatal(err)
		}
		for k := range into {
			if into[k] == nil {
				into[k] = &histogram.Dense{}
			}
			if !saturated && !into[k].Histogram().Equal(&wants[k]) {
				t.Fatalf("window %d\n%v\n%v", k, into[k].Histogram(), wants[k])
			}
		}
	}
}

func TestRollups(t *testing.T) {
	a := Rollup{Times: []int64{0, 60_000}, Min: []float64{1, math.NaN()}, Max: []float64{2, 3}, Sum: []float64{3, 0.1},
		Last: []float64{2, math.Inf(1)}, Count: []uint64{6, 0}}
	var b Rollup
	if err := DecodeRollups(AppendRollups(nil, &a), &b); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(a.Times, b.Times) || !slices.EqualFunc(a.Min, b.Min, same) || !slices.EqualFunc(a.Max, b.Max, same) ||
		!slices.EqualFunc(a.Sum, b.Sum, same) || !slices.EqualFunc(a.Last, b.Last, same) || !slices.Equal(a.Count, b.Count) {
		t.Fatalf("%+v", b)
	}
}

// What is read from any bytes can be written and read again; nothing but an error comes of the others.
func FuzzDecodeNumbers(f *testing.F) {
	f.Add(AppendNumbers(nil, []int64{1, 2, 4}, []float64{1, 2, 4.5}))
	f.Add(AppendNumbers(nil, []int64{1000, 2000}, []float64{math.NaN(), 1e300}))
	f.Add([]byte{255, 255, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	r := rand.New(rand.NewPCG(9, 9))
	var times []int64
	var values []float64
	for i := range 40 {
		times, values = append(times, int64(i)*1000+r.Int64N(9)), append(values, math.Round(r.NormFloat64()*100)/10)
	}
	f.Add(AppendNumbers(nil, times, values))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var rollup Rollup
		_ = DecodeRollups(bytes, &rollup)
		times, values, err := DecodeNumbers(bytes, nil, nil)
		if err != nil {
			return
		}
		for i := 1; i < len(times); i++ {
			if times[i] <= times[i-1] {
				t.Fatalf("%v", times)
			}
		}
		again, back, err := DecodeNumbers(AppendNumbers(nil, times, values), nil, nil)
		if err != nil || !slices.Equal(again, times) || !slices.EqualFunc(back, values, same) {
			t.Fatalf("%v\n%v\n%v", err, values, back)
		}
	})
}

func FuzzHistogramRun(f *testing.F) {
	times, hists := seconds(rand.New(rand.NewPCG(7, 8)), 4, 30, 0.5)
	f.Add(AppendHistograms(nil, times, hists))
	times, hists = seconds(rand.New(rand.NewPCG(7, 8)), 140, 20, 0.1)
	f.Add(AppendHistograms(nil, times, hists))
	f.Add([]byte{2, 16, 0, 1, 1, 2, 0, 64})
	f.Fuzz(func(t *testing.T, bytes []byte) {
		var run HistogramRun
		if run.Open(bytes) != nil {
			return
		}
		n := run.Len()
		if n*len(run.Bins()) > 1<<18 {
			return // too slow for a fuzzer, no more
		}
		hists, err := run.Decode(nil)
		var sum histogram.Dense
		if added := run.AddRange(0, n, &sum); (added == nil) != (err == nil) {
			t.Fatalf("%v, but %v", err, added)
		}
		_ = run.AddRange(n/3, n/2, &histogram.Dense{})
		if windowed := run.AddWindows(make([]int, n), make([]*histogram.Dense, 1)); (windowed == nil) != (err == nil) {
			t.Fatalf("%v, but %v", err, windowed)
		}
		if err != nil {
			return
		}
		want := histogram.Histogram{}
		for i := range hists {
			want.Merge(&hists[i])
		}
		if got := sum.Histogram(); !got.Equal(&want) {
			t.Fatalf("%v, want %v", got, want)
		}
		var again HistogramRun
		if err := again.Open(AppendHistograms(nil, run.Times(), hists)); err != nil || !slices.Equal(again.Times(), run.Times()) {
			t.Fatalf("%v: %v", err, run.Times())
		}
		back, err := again.Decode(nil)
		if err != nil || !slices.EqualFunc(back, hists, func(a, b histogram.Histogram) bool { return a.Equal(&b) }) {
			t.Fatalf("%v: %v, want %v", err, back, hists)
		}
	})
}

func BenchmarkNumbers(b *testing.B) {
	r := rand.New(rand.NewPCG(9, 10))
	const n = 180
	// Entropies in bits a sample, of what each generator adds: normal of deviation s, in steps of 1: log2(s√(2πe)).
	for _, c := range []struct {
		name    string
		entropy float64
		next    func(v float64, i int) float64
	}{
		{"counter-poisson-100", math.Log2(10 * math.Sqrt(2*math.Pi*math.E)), func(v float64, _ int) float64 { return v + float64(poisson(r, 100)) }},
		{"gauge-walk-2-decimals", math.Log2(20 * math.Sqrt(2*math.Pi*math.E)), func(v float64, _ int) float64 { return math.Round(v*100+20*r.NormFloat64()) / 100 }},
		{"constant", 0, func(float64, int) float64 { return 42 }},
		{"flag", 0.286, func(v float64, _ int) float64 {
			if r.IntN(20) == 0 {
				return 1 - v
			}
			return v
		}},
		{"random-doubles", 52, func(float64, int) float64 { return r.Float64() }},
	} {
		var times []int64
		var values []float64
		v := 0.0
		for i := range n {
			v = c.next(v, i)
			times, values = append(times, int64(i)*10_000), append(values, v)
		}
		run := AppendNumbers(nil, times, values)
		b.Run(c.name+"/encode", func(b *testing.B) {
			for b.Loop() {
				run = AppendNumbers(run[:0], times, values)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/sample")
			b.ReportMetric(float64(len(run))/n, "B/sample")
			b.ReportMetric(c.entropy/8, "entropy-B/sample")
		})
		b.Run(c.name+"/decode", func(b *testing.B) {
			for b.Loop() {
				times, values, _ = DecodeNumbers(run, times[:0], values[:0])
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/sample")
		})
	}
}

func BenchmarkHistograms(b *testing.B) {
	r := rand.New(rand.NewPCG(11, 12))
	for _, c := range []struct {
		name    string
		records int
		sigma   float64
	}{{"60", 60, 0.5}, {"300", 300, 0.5}, {"wide-12", 12, 1.3}, {"wide-60", 60, 1.3}, {"wide-300", 300, 1.3}} {
		records, name := c.records, c.name
		times, hists := seconds(r, records, 2000, c.sigma)
		populated := 0
		for i := range hists {
			populated += len(hists[i].Bins)
		}
		bytes := AppendHistograms(nil, times, hists)
		b.Run(name+"/encode", func(b *testing.B) {
			for b.Loop() {
				bytes = AppendHistograms(bytes[:0], times, hists)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/histogram")
			b.ReportMetric(float64(len(bytes))/float64(populated), "B/bin")
			b.ReportMetric(float64(len(bytes))/float64(records), "B/histogram")
		})
		window, into := make([]int, records), make([]*histogram.Dense, 1)
		var run HistogramRun
		b.Run(name+"/sum", func(b *testing.B) {
			for b.Loop() {
				_ = run.Open(bytes)
				_ = run.AddWindows(window, into)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records*len(run.Bins())), "ns/cell")
		})
		b.Run(name+"/decode", func(b *testing.B) {
			for b.Loop() {
				_ = run.Open(bytes)
				_, _ = run.Decode(nil)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(records), "ns/histogram")
		})
	}
}

// Two runs of numbers read at once give what they give one after the other, whatever they hold, and the run says rightly
// which rise.
func TestTwoAtOnce(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	one := func() (times []int64, values []float64, bytes []byte) {
		n := r.IntN(700)
		shape, mean, scale := r.IntN(7), float64(r.IntN(300))/4, math.Pow(10, float64(r.IntN(4)))
		at, v := r.Int64N(1e12), 0.0
		for range n {
			at += 10_000
			if shape == 6 {
				at += r.Int64N(50)
			}
			switch shape {
			case 0:
				v = mean
			case 1:
				v = mean + math.Round(10*r.NormFloat64())
			case 2:
				v = r.NormFloat64()
			default:
				v += float64(poisson(r, mean))
			}
			put := v
			switch {
			case shape > 1 && r.IntN(200) == 0:
				v += 1e9 // behind an escape
			case shape == 4 && r.IntN(100) == 0:
				put = math.NaN()
			case shape == 5 && r.IntN(100) == 0:
				v = 0
			}
			if shape != 2 {
				put /= scale
			}
			times, values = append(times, at), append(values, put)
		}
		return times, values, AppendNumbers(nil, times, values)
	}
	rising := 0
	var a, b NumberRun
	for round := range 800 {
		timesA, valuesA, bytesA := one()
		timesB, valuesB, bytesB := one()
		if err := errors.Join(a.Open(bytesA, 7), b.Open(bytesB, 0)); err != nil {
			t.Fatal(err)
		}
		gotA, gotB := make([]float64, len(valuesA)), make([]float64, len(valuesB))
		if err := ValuesOfTwo(&a, &b, gotA, gotB); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if !slices.EqualFunc(gotA, valuesA, same) || !slices.EqualFunc(gotB, valuesB, same) || !slices.Equal(b.AppendTimes(nil), timesB) {
			t.Fatalf("round %d: other values", round)
		}
		for i, at := range a.AppendTimes(nil) {
			if at != timesA[i]+7 {
				t.Fatalf("round %d: time %d, want %d", round, at, timesA[i]+7)
			}
		}
		for _, run := range []struct {
			*NumberRun
			values []float64
		}{{&a, valuesA}, {&b, valuesB}} {
			for i, v := range run.values {
				if run.Rising && (v != v || i > 0 && v < run.values[i-1]) {
					t.Fatalf("round %d: it is said to rise: %v", round, run.values)
				}
			}
			if run.Rising {
				rising++
			}
		}
		// Damaged bytes are refused by both ways, or by none.
		if len(bytesA) > 4 {
			bad := slices.Clone(bytesA)
			bad[len(bad)-1-r.IntN(min(len(bad)-2, 40))] ^= byte(1 << r.IntN(8))
			if a.Open(bad, 0) == nil && b.Open(bytesB, 0) == nil {
				clear(gotB)
				two := ValuesOfTwo(&a, &b, make([]float64, a.N), gotB)
				if a.Open(bad, 0) != nil {
					t.Fatal("not twice the same")
				}
				alone := a.Values(make([]float64, a.N))
				if (two == nil) != (alone == nil) {
					t.Fatalf("round %d: %v, but alone %v", round, two, alone)
				}
			}
		}
	}
	if rising < 250 {
		t.Errorf("only %d runs rise", rising)
	}
}
