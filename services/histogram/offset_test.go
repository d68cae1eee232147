package histogram

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// decimals are values as senders write them, whole × 10^unit, with at most so many digits; and what they add up to.
func decimals(r *rand.Rand, n, digits int, negative bool) (h *Histogram, sum *big.Rat) {
	var a Accumulator
	sum = &big.Rat{}
	unit := -r.IntN(5)
	for range n {
		whole := float64(r.IntN(int(math.Pow10(1 + r.IntN(digits)))))
		if negative && r.IntN(2) == 0 {
			whole = -whole
		}
		count := uint64(1 + r.IntN(20))
		bin, ok := BinOf(whole / math.Pow10(-unit))
		if !ok {
			panic(whole)
		}
		a.RecordDecimal(bin, count, whole, unit)
		one := new(big.Rat).SetFrac(big.NewInt(int64(whole)*int64(count)), new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(-unit)), nil))
		sum.Add(sum, one)
	}
	return a.Take(), sum
}

// The sum of numbers of six digits is the sum of the numbers, in any unit and of both signs.
func TestSumOfDecimals(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 2000 {
		digits := 1 + r.IntN(6)
		h, want := decimals(r, 1+r.IntN(40), digits, r.IntN(3) == 0)
		exact, _ := want.Float64()
		low, _ := h.Bins[0].Bounds()
		_, high := h.Bins[len(h.Bins)-1].Bounds()
		if math.Abs(h.Sum()-exact) > 1e-15*max(-low, high)*float64(h.Count()) {
			t.Fatalf("%v: %v, want %s", h, h.Sum(), want.FloatString(9))
		}
	}
}

// A hundred times 10 ms are a second, to the last bit; the mean of any number of milliseconds is that number, and that of
// values spread evenly over decades is theirs.
func TestMeanOfMilliseconds(t *testing.T) {
	timer := func(from, to, each int) (h *Histogram, mean float64) {
		var a Accumulator
		sum, n := 0.0, 0.0
		for ms := from; ms <= to; ms++ {
			bin, _ := BinOf(float64(ms))
			a.RecordDecimal(bin.Shift(-3), uint64(each), float64(ms), -3)
			sum, n = sum+float64(ms), n+1
		}
		return a.Take(), sum / n / 1000
	}
	if h, _ := timer(10, 10, 100); h.Sum() != 1 || h.Mean() != 0.010 || h.StdDev() != 0 || h.Count() != 100 {
		t.Errorf("sum %v, mean %v, standard deviation %v of %d", h.Sum(), h.Mean(), h.StdDev(), h.Count())
	}
	for _, span := range [][2]int{{10, 99}, {100, 999}, {1, 1000}} {
		if h, want := timer(span[0], span[1], 3); math.Abs(h.Mean()/want-1) > 1e-13 {
			t.Errorf("%v: the mean is %v, want %v", span, h.Mean(), want)
		}
	}
	for ms := 1; ms <= 10_000; ms++ {
		if h, want := timer(ms, ms, 1+ms%7); math.Abs(h.Mean()/want-1) > 1e-15 {
			t.Errorf("%d ms: the mean is %v", ms, h.Mean())
		}
	}
}

// What has more than six digits is off by half of the sixth digit of the greatest value at most, and in no direction: far
// less than by the bins' middles.
func TestSumOfManyDigits(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	total, exact := &Histogram{}, 0.0
	for second := range 500 {
		var a Accumulator
		sum, most := 0.0, 0.0
		for range 1 + second%50 {
			v := math.Exp(r.NormFloat64()*1.3) * 0.02
			whole := math.Round(v * 1e12)
			bin, _ := BinOf(v)
			a.RecordDecimal(bin, 1, whole, -12)
			sum, most = sum+whole/1e12, max(most, v)
		}
		h := a.Take()
		if off := math.Abs(h.Sum() - sum); off > 0.5001*math.Pow10(int(math.Floor(math.Log10(most)))-5) {
			t.Fatalf("second %d: the sum is off by %g, the greatest value is %g", second, off, most)
		}
		total.Merge(h)
		exact += sum
	}
	if off := total.Sum()/exact - 1; math.Abs(off) > 1e-7 {
		t.Errorf("the sum of 500 seconds is off by %g", off)
	}
}

// Record takes six digits of what is no decimal.
func TestRecord(t *testing.T) {
	var a Accumulator
	for _, v := range []float64{0.0105, 0.0105, 123.456, 1e-7, 0, 3} {
		if err := a.Record(v, 1); err != nil {
			t.Fatal(err)
		}
	}
	if h := a.Take(); math.Abs(h.Sum()-126.477) > 0.0006 || h.Count() != 6 {
		t.Errorf("%v of %d", h.Sum(), h.Count())
	}
	if a.Record(math.NaN(), 1) == nil || a.Record(1e128, 1) == nil || a.Count() != 0 {
		t.Error("something was recorded that no bin holds")
	}
}

// Sums add up to the same, to the last bit, in whatever order and form histograms are merged; and taking one away leaves what
// was there before. Some of them have no sum.
func TestMergingSums(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for range 300 {
		list := make([]*Histogram, 2+r.IntN(12))
		for i := range list {
			list[i], _ = decimals(r, 1+r.IntN(10), 5, r.IntN(4) == 0)
			if r.IntN(4) == 0 {
				list[i].Offset = Offset{}
			}
		}
		want := &Histogram{}
		for _, h := range list {
			want.Merge(h)
		}
		for range 4 {
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
			cut := r.IntN(len(list))
			left, right, dense, other := &Histogram{}, &Histogram{}, &Dense{}, &Dense{}
			for i, h := range list {
				if i < cut {
					left.Merge(h)
					dense.Merge(h)
				} else {
					right.Merge(h)
					other.Merge(h)
				}
			}
			before := left.Sum()
			left.Merge(right)
			dense.MergeDense(other)
			if left.Sum() != want.Sum() || dense.Sum() != want.Sum() || dense.Histogram().Sum() != want.Sum() {
				t.Fatalf("%v, %v and %v, want %v", left.Sum(), dense.Sum(), dense.Histogram().Sum(), want.Sum())
			}
			left.Subtract(right)
			dense.SubtractDense(other)
			if left.Sum() != before || dense.Sum() != before {
				t.Fatalf("%v and %v are left of %v", left.Sum(), dense.Sum(), before)
			}
		}
	}
}

// A histogram without a sum, as all were, is written as it was, and its values count as the middles of their bins.
func TestNoSum(t *testing.T) {
	h := &Histogram{}
	_ = h.Insert(10, 3)
	_ = h.Insert(2000, 1)
	if want := 3*10.5 + 2050; h.Sum() != want {
		t.Errorf("%v, want %v", h.Sum(), want)
	}
	if old := h.Append(nil); Summed(old) || old[0] != 4 {
		t.Errorf("% x", old)
	}
	known := &Histogram{}
	known.RecordDecimal(h.Bins[0], 3, 10, 0)
	known.Merge(h)
	if want := 30 + h.Sum(); known.Sum() != want {
		t.Errorf("%v, want %v", known.Sum(), want)
	}
}

// Sums are written and read back, whatever the bins; and what can be read is what Skip accepts.
func TestSumsEncoded(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for i := range 2000 {
		h, _ := decimals(r, 1+r.IntN(1+i%300), 1+r.IntN(6), r.IntN(3) == 0)
		encoded := h.Append([]byte{7})[1:]
		rest, err := Skip(append(bytes.Clone(encoded), 1, 2, 3))
		if err != nil || !bytes.Equal(rest, []byte{1, 2, 3}) {
			t.Fatalf("%x: %v, %x is left", encoded, err, rest)
		}
		var got Histogram
		if rest, err := got.Decode(encoded); err != nil || len(rest) > 0 || !got.Equal(h) || got.Sum() != h.Sum() {
			t.Fatalf("%v, %v: %v, want %v", err, &got, got.Sum(), h.Sum())
		}
		if again := got.Append(nil); !bytes.Equal(again, encoded) {
			t.Fatalf("%x is written as %x", encoded, again)
		}
		for cut := range encoded {
			if _, err := got.Decode(encoded[:cut]); err == nil {
				t.Fatalf("%x can be read", encoded[:cut])
			}
			if _, err := Skip(encoded[:cut]); err == nil {
				t.Fatalf("%x is accepted", encoded[:cut])
			}
		}
	}
	if _, err := Skip([]byte{1, 0}); err == nil {
		t.Error("nothing has a sum")
	}
	// What whole milliseconds cost: a byte in front and one behind.
	var a Accumulator
	bin, _ := BinOf(10)
	a.RecordDecimal(bin.Shift(-3), 100, 10, -3)
	if h := a.Take(); len(h.Append(nil)) != len((&Histogram{Bins: h.Bins, Counts: h.Counts}).Append(nil))+2 {
		t.Errorf("% x", h.Append(nil))
	}
}

// A sum that the bins do not allow is taken for the nearest one that they do.
func TestImpossibleSums(t *testing.T) {
	for sum, want := range map[float64]float64{0: 30, 30: 30, 31.5: 31.5, 32.25: 32.25, 33: 33, 1e9: 33, -1e100: 30, math.Inf(1): 31.5} {
		h := &Histogram{}
		_ = h.Insert(10, 3)
		h.SetSum(sum)
		if math.Abs(h.Sum()-want) > 1e-12 {
			t.Errorf("%v: %v, want %v", sum, h.Sum(), want)
		}
	}
	h := &Histogram{}
	_ = h.Insert(-10, 2)
	h.Offset = OffsetOf(-1000, 0)
	if h.Sum() != -22 {
		t.Error(h.Sum())
	}
	h.Offset = OffsetOf(1000, 0)
	if h.Sum() != -20 {
		t.Error(h.Sum())
	}
}

// JSON has the sum, and need not.
func TestSumInJSON(t *testing.T) {
	h := &Histogram{}
	bin, _ := BinOf(0.0123)
	h.RecordDecimal(bin, 4, 123, -4)
	text, err := json.Marshal(h)
	if err != nil || string(text) != `{"bins":{"1.2e-2":4},"sum":0.0492}` {
		t.Fatalf("%s %v", text, err)
	}
	var got Histogram
	if err := json.Unmarshal(text, &got); err != nil || got.Sum() != h.Sum() || !bytes.Equal(got.Append(nil), h.Append(nil)) {
		t.Errorf("%v: %v, want %v", err, got.Sum(), h.Sum())
	}
	if err := json.Unmarshal([]byte(`{"bins":{"1.2e-2":4}}`), &got); err != nil || got.Sum() != 4*0.0125 || got.Offset != (Offset{}) {
		t.Errorf("%v: %v", err, got.Sum())
	}
}

// What an accumulator has taken it begins anew with.
func TestTakeSum(t *testing.T) {
	var a Accumulator
	bin, _ := BinOf(99)
	a.RecordDecimal(bin, 1, 99, 0)
	a.Take()
	a.Add(bin, 1)
	if h := a.Take(); h.Sum() != 99.5 {
		t.Error(h.Sum())
	}
}

// Where values stand in their bins says their sum again, and is within them.
func TestPlace(t *testing.T) {
	r := rand.New(rand.NewPCG(19, 20))
	for range 500 {
		h, _ := decimals(r, 1+r.IntN(30), 1+r.IntN(6), false)
		if r.IntN(2) == 0 { // all below zero
			mirrored := &Histogram{Offset: OffsetOf(-h.Offset.number, h.Offset.Unit())}
			for i := len(h.Bins) - 1; i >= 0; i-- {
				mirrored.Add(-h.Bins[i], h.Counts[i])
			}
			h = mirrored
		}
		sum, place := 0.0, h.Place()
		for i, bin := range h.Bins {
			sum += bin.At(place) * float64(h.Counts[i])
		}
		if place < 0 || place > 1 || math.Abs(sum-h.Sum()) > 1e-12*math.Abs(h.Sum()) {
			t.Fatalf("%v: the sum is %v, want %v", place, sum, h.Sum())
		}
	}
	h := &Histogram{}
	_ = h.Insert(10, 1)
	if h.Place() != 0.5 || h.Bins[0].At(0.5) != 10.5 || h.Bins[0].At(0) != 10 || (-h.Bins[0]).At(0) != -10 {
		t.Error(h.Place())
	}
}
