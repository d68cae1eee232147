package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// about says whether two numbers agree within a part in a thousand million.
func about(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) || math.IsNaN(a) && math.IsNaN(b)
}

// The statistics of the values themselves, each moved to the middle of its bin, are what the counts must give.
func TestStatisticsAreThoseOfTheMiddles(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	for range 100 {
		h := &Histogram{}
		var middles []float64
		for range 1 + r.IntN(500) {
			v := r.NormFloat64() * math.Pow10(r.IntN(3))
			bin, _ := BinOf(v)
			h.Add(bin, 1)
			middles = append(middles, bin.Middle())
		}
		n := float64(len(middles))
		moment := func(k int, about float64) float64 {
			sum := 0.0
			for _, v := range middles {
				sum += math.Pow(v-about, float64(k))
			}
			return sum / n
		}
		mean := moment(1, 0)
		deviation := math.Sqrt(moment(2, mean))
		for name, pair := range map[string][2]float64{
			"mean": {h.Mean(), mean}, "deviation": {h.StdDev(), deviation},
			"moment 2": {h.Moment(2), moment(2, 0)}, "moment 3": {h.Moment(3), moment(3, 0)},
			"central 3": {h.CentralMoment(3), moment(3, mean)},
			"skewness":  {h.Skewness(), moment(3, mean) / math.Pow(deviation, 3)},
			"kurtosis":  {h.Kurtosis(), moment(4, mean) / math.Pow(deviation, 4)},
		} {
			if math.Abs(pair[0]-pair[1]) > 1e-6*(1e-3+math.Abs(pair[1])) {
				t.Fatalf("%s is %g, want %g of %v", name, pair[0], pair[1], middles)
			}
		}
		for _, q := range []float64{0.1, 0.5, 0.93} {
			if back := h.InverseQuantile(h.Quantile(q))[0]; math.Abs(back-q) > 1e-9 && !slices.Contains(h.Bins, 0) {
				t.Fatalf("the share below the quantile %g is %g", q, back)
			}
		}
		if between := h.CountBetween(-1, 2); !about(between, h.CountBelow(2)-h.CountBelow(-1)) {
			t.Fatalf("between -1 and 2: %g", between)
		}
		if h.Min() > slices.Min(middles) || h.Max() < slices.Max(middles) {
			t.Fatalf("from %g to %g: %v", h.Min(), h.Max(), middles)
		}
	}
	for name, v := range map[string]float64{"mean": (&Histogram{}).Mean(), "deviation": (&Histogram{}).StdDev(), "moment": (&Histogram{}).Moment(2),
		"share": (&Histogram{}).InverseQuantile(3)[0]} {
		if !math.IsNaN(v) {
			t.Errorf("the %s of nothing is %g", name, v)
		}
	}
}

func TestDenseAnswersAsSparse(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	var dense, second Dense
	for range 200 {
		sparse := &Histogram{}
		dense.Reset()
		second.Reset()
		for range r.IntN(400) {
			v := math.Exp(r.NormFloat64()*2) * float64(1-2*r.IntN(2))
			if r.IntN(100) == 0 {
				v = randomValue(r)
			}
			n := r.Uint64N(5)
			_ = sparse.Insert(v, n)
			if r.IntN(2) == 0 {
				_ = dense.Insert(v, n)
			} else {
				_ = second.Insert(v, n)
			}
		}
		dense.Merge(second.Histogram())
		second.Reset()
		second.MergeDense(&dense)
		for _, d := range []*Dense{&dense, &second} {
			if got := d.Histogram(); !got.Equal(sparse) || d.Count() != sparse.Count() {
				t.Fatalf("%v, want %v", got, sparse)
			}
		}
		if len(sparse.Bins) == 0 {
			continue
		}
		if !slices.Equal(dense.Quantiles(0, 0.3, 1), sparse.Quantiles(0, 0.3, 1)) || dense.CountAbove(1) != sparse.CountAbove(1) ||
			dense.CountBetween(-2, 1.23) != sparse.CountBetween(-2, 1.23) || dense.Mean() != sparse.Mean() {
			t.Fatal("the answers differ")
		}
	}
	var far Dense // zero and a millisecond, in both signs, are far apart
	for _, v := range []float64{0, 1e-3, -1e-3} {
		_ = far.Insert(v, 1)
	}
	if n := len(far.positive.counts) + len(far.negative.counts); n > 300 || far.Count() != 3 {
		t.Errorf("%d counters for three bins", n)
	}
	for _, bin := range []Bin{-MaxBin, MaxBin} {
		var d Dense
		d.Add(bin, 1)
		d.Add(-bin, math.MaxUint64)
		d.Add(-bin, 1)
		if h := d.Histogram(); len(h.Bins) != 2 || d.Count() != math.MaxUint64 || h.Counts[slices.Index(h.Bins, -bin)] != math.MaxUint64 {
			t.Fatalf("%v", h)
		}
	}
}

func TestAccumulatorTakesAnything(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	var a, bulk Accumulator
	for round := range 300 {
		want := &Histogram{}
		var values []float64
		refused := 0
		for range r.IntN(300) {
			v := math.Exp(r.NormFloat64())
			switch r.IntN(20 + round%3*100) {
			case 0:
				v = randomValue(r)
			case 1:
				v = math.NaN()
				refused++
			}
			values = append(values, v)
			if want.Insert(v, 1) == nil {
				_ = a.Insert(v, 1)
			}
		}
		if got := bulk.InsertAll(values); got != refused || bulk.Count() != want.Count() || a.Count() != want.Count() {
			t.Fatalf("%d refused, want %d; counts %d, %d, %d", got, refused, bulk.Count(), a.Count(), want.Count())
		}
		if one, all := a.Take(), bulk.Take(); !one.Equal(want) || !all.Equal(want) {
			t.Fatalf("round %d\n%v\n%v\n%v", round, one, all, want)
		}
	}
	if len(a.window) > maxWindow {
		t.Fatalf("the window has %d bins", len(a.window))
	}
}

func TestModes(t *testing.T) {
	r := rand.New(rand.NewPCG(17, 18))
	for _, c := range []struct {
		name  string
		draw  func() float64
		modes []float64
	}{
		{"one hump over a decade's bound", func() float64 { return 0.01 * math.Exp(0.5*r.NormFloat64()) }, []float64{0.01}},
		{"hits and misses", func() float64 {
			if r.IntN(4) == 0 {
				return 8e-3 * math.Exp(0.3*r.NormFloat64())
			}
			return 1e-4 * math.Exp(0.4*r.NormFloat64())
		}, []float64{1e-4, 8e-3}},
		{"zeros and negatives", func() float64 {
			switch r.IntN(3) {
			case 0:
				return 0
			case 1:
				return -50 * math.Exp(0.2*r.NormFloat64())
			}
			return 3 * math.Exp(0.2*r.NormFloat64())
		}, []float64{-50, 0, 3}},
		{"evenly spread over a decade", func() float64 { return math.Pow(10, r.Float64()) }, nil},
		{"one value", func() float64 { return 7 }, []float64{7}},
	} {
		var a Accumulator
		for range 20_000 {
			_ = a.Insert(c.draw(), 1)
		}
		h := a.Take()
		modes := h.Modes()
		var at []float64
		total := uint64(0)
		for _, m := range modes {
			at = append(at, m.At)
			total += m.Count
			if m.From > m.At || m.To < m.At {
				t.Errorf("%s: %+v", c.name, m)
			}
		}
		slices.Sort(at)
		if c.modes == nil {
			if len(at) != 1 {
				t.Errorf("%s: %v", c.name, at)
			}
			continue
		}
		if !slices.EqualFunc(at, c.modes, func(a, b float64) bool { return math.Abs(a-b) <= 0.2*math.Abs(b) }) {
			t.Errorf("%s: %v, want %v", c.name, at, c.modes)
		}
		if math.Abs(float64(total)-20_000) > 200 {
			t.Errorf("%s: the modes hold %d of 20000", c.name, total)
		}
	}
	if modes := (&Histogram{}).Modes(); len(modes) != 0 {
		t.Errorf("nothing has modes: %v", modes)
	}
	h := &Histogram{}
	h.Add(1, 1)
	h.Add(MaxBin, math.MaxUint64)
	h.Add(-MaxBin, 3)
	if modes := h.Modes(); len(modes) == 0 || !(modes[0].At > 9e127) {
		t.Errorf("%v", modes)
	}
}
