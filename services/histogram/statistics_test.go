package histogram

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openhistogram/circonusllhist"
)

// The reference's bounds are not exact: it adds 1e-13 to the two digits. Values that are not as near as that to a bound
// have the same bin there; all bounds themselves have it, too.
func TestBinsAsTheReference(t *testing.T) {
	binOf := func(v float64) string {
		h := circonusllhist.New(circonusllhist.NoLocks(), circonusllhist.NoLookup(), circonusllhist.Size(0))
		_ = h.RecordValue(v)
		return strings.Join(h.DecStrings(), "")
	}
	ours := func(v float64) string {
		var h Histogram
		_ = h.Insert(v, 1)
		return strings.Join(h.Strings(), "")
	}
	for bin := Bin(1); bin <= MaxBin; bin++ {
		from, to := bin.Bounds()
		for _, v := range []float64{from, from * (1 + 1e-13), bin.Middle(), to * (1 - 1e-13), -from, -bin.Middle()} {
			got, ok := BinOf(v)
			if want := Bin(math.Copysign(float64(bin), v)); !ok || got != want {
				t.Fatalf("%g is in %s, not %s", v, got, want)
			}
		}
		below, _ := BinOf(math.Nextafter(from, 0))
		if below != bin-1 {
			t.Fatalf("just below %g is %s", from, below)
		}
		for _, v := range []float64{from, from * (1 + 1e-12), bin.Middle(), -bin.Middle(), to * (1 - 1e-12)} {
			if want := binOf(v); ours(v) != want {
				t.Fatalf("%g is %s, the reference has %s", v, ours(v), want)
			}
		}
	}
	r := rand.New(rand.NewPCG(21, 22))
	for range 300_000 {
		v := math.Pow(10, r.Float64()*40-20)
		if got, want := ours(v), binOf(v); got != want {
			bin, _ := BinOf(v)
			from, to := bin.Bounds()
			if min(math.Abs(v-from), math.Abs(v-to)) > 1e-13*v {
				t.Fatalf("%g is %s, the reference has %s", v, got, want)
			}
		}
	}
}

// randomHistogram has up to n values that are not negative, as the reference's Go library orders negative bins wrongly.
func randomHistogram(r *rand.Rand, n int, negative bool) *Histogram {
	h := &Histogram{}
	middle, width := r.Float64()*8-4, r.Float64()*2
	for range 1 + r.IntN(n) {
		v := math.Pow(10, middle+width*r.NormFloat64())
		switch r.IntN(20) {
		case 0:
			v = 0
		case 1, 2:
			if negative {
				v = -v
			}
		}
		bin, _ := BinOf(v)
		h.Add(bin, 1+r.Uint64N(1<<uint(r.IntN(30))))
	}
	return h
}

func TestThousandsOfHistogramsAsTheReference(t *testing.T) {
	r := rand.New(rand.NewPCG(23, 24))
	near := func(got, want float64) bool {
		return got == want || math.Abs(got-want) <= 1e-12*math.Abs(want) || math.IsNaN(got) && math.IsNaN(want)
	}
	qs := make([]float64, 20)
	for range 5000 {
		h := randomHistogram(r, 300, false)
		reference, err := circonusllhist.NewFromStrings(h.Strings(), false)
		if err != nil {
			t.Fatal(err)
		}
		// The reference's own way in from text loses digits (1.1 × 10 is 11.000000000000002, 1.9 × 10 is 19); its
		// records do not.
		reference.FullReset()
		for i, bin := range h.Bins {
			_ = reference.RecordValues(bin.Middle(), int64(h.Counts[i]))
		}
		total := float64(h.Count())
		for i := range qs {
			qs[i] = r.Float64()
			if i%4 == 0 { // just at the end of a bin
				below := uint64(0)
				for k := range r.IntN(len(h.Bins)) {
					below += h.Counts[k]
				}
				qs[i] = float64(below) / total
			}
		}
		qs[0], qs[1] = 0, 1
		slices.Sort(qs)
		want, err := reference.ApproxQuantile(qs)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range h.Quantiles(qs...) {
			if !near(got, want[i]) {
				t.Fatalf("q=%g is %g, the reference says %g", qs[i], got, want[i])
			}
		}
		if got, want := h.Mean(), reference.ApproxMean(); !near(got, want) {
			t.Fatalf("mean %g, the reference says %g", got, want)
		}
		if got, want := h.Count(), reference.Count(); got != want {
			t.Fatalf("count %d, the reference says %d", got, want)
		}
		// There and back.
		for i, v := range h.Quantiles(qs...) {
			inside := qs[i] > 0 && qs[i] < 1
			if bin, _ := BinOf(v); inside && bin != 0 && !(math.Abs(h.InverseQuantiles(v)[0]-qs[i]) < 1e-9) {
				// At a bound with empty bins around, several values have the same share.
				from, to := bin.Bounds()
				if math.Min(math.Abs(v-from), math.Abs(v-to)) > 1e-9*math.Abs(v) {
					t.Fatalf("q=%g is %g, whose share is %g", qs[i], v, h.InverseQuantiles(v)[0])
				}
			}
		}
	}
}

// Counts that whole numbers hold, and those that only floating point does or that go no higher, give quantiles by the same
// steps.
func TestQuantilesByTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	for round := range 300 {
		h := randomHistogram(r, 60, true)
		for i := range h.Counts {
			h.Counts[i] = max(1, r.Uint64()>>(r.IntN(64)|(round%3*21)))
		}
		if len(h.Bins) == 0 {
			continue
		}
		total := uint64(0)
		for _, n := range h.Counts {
			total = plus(total, n)
		}
		if h.Count() != total {
			t.Fatalf("%v: count %d, want %d", h, h.Count(), total)
		}
		all := float64(total)
		if total == math.MaxUint64 { // the shares are of all the same
			all = 0
			for _, n := range h.Counts {
				all += float64(n)
			}
		}
		qs := []float64{0, 1e-9, r.Float64(), 0.5, r.Float64(), 0.99, 1 - 1e-12, 1}
		slices.Sort(qs)
		var d Dense
		d.Merge(h)
		sparse, dense := h.Quantiles(qs...), d.Quantiles(qs...)
		for k, q := range qs {
			wanted, below, upTo, i := q*all, 0.0, 0.0, -1
			for i < 0 || upTo < wanted && i < len(h.Bins)-1 {
				i++
				below = upTo
				upTo += float64(h.Counts[i])
			}
			from, to := h.Bins[i].Bounds()
			want := from + (to-from)*(wanted-below)/(upTo-below)
			switch {
			case wanted <= below:
				want = from
			case wanted >= upTo:
				want = to
			}
			if sparse[k] != want || dense[k] != want {
				t.Fatalf("%v: q=%g is %g, dense %g, want %g", h, q, sparse[k], dense[k], want)
			}
		}
	}
}

func TestMomentsAndCountsByTheirDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 26))
	for range 60 {
		h := randomHistogram(r, 100, true)
		var d Dense
		half := &Histogram{}
		for i, bin := range h.Bins { // in two ways
			if i%2 == 0 {
				d.Add(bin, h.Counts[i])
			} else {
				half.Add(bin, h.Counts[i])
			}
		}
		var other Dense
		other.Merge(half)
		d.MergeDense(&other)
		if !d.Histogram().Equal(h) {
			t.Fatalf("%v became %v", h, d.Histogram())
		}
		n, mean := float64(h.Count()), h.Mean()
		for k := range 5 {
			raw, central, scale := 0.0, 0.0, 0.0
			for i, bin := range h.Bins {
				raw += float64(h.Counts[i]) / n * math.Pow(bin.Middle(), float64(k))
				central += float64(h.Counts[i]) / n * math.Pow(bin.Middle()-mean, float64(k))
				scale += float64(h.Counts[i]) / n * math.Pow(math.Abs(bin.Middle())+math.Abs(mean), float64(k))
			}
			if math.Abs(h.Moment(k)-raw) > 1e-10*scale || math.Abs(h.CentralMoment(k)-central) > 1e-10*scale {
				t.Fatalf("moments %d: %g and %g, want %g and %g", k, h.Moment(k), h.CentralMoment(k), raw, central)
			}
			if h.Moment(k) != d.Moment(k) || h.CentralMoment(k) != d.CentralMoment(k) {
				t.Fatal("the dense form's moments differ")
			}
		}
		if want := math.Sqrt(h.CentralMoment(2)); math.Abs(h.StdDev()-want) > 1e-12*want {
			t.Fatalf("deviation %g, want %g", h.StdDev(), want)
		}
		limits := []float64{math.Inf(-1), -1, 0, 1e-200, h.Quantile(0.3), h.Quantile(0.9), 1e200, math.Inf(1)}
		for range 10 {
			bin := h.Bins[r.IntN(len(h.Bins))]
			from, to := bin.Bounds()
			exact := 0.0
			for i, other := range h.Bins {
				if other >= bin {
					exact += float64(h.Counts[i])
				}
			}
			if got := h.CountAbove(from); bin != 0 && got != exact {
				t.Fatalf("above the bound %g: %g, want %g", from, got, exact)
			}
			limits = append(limits, from, to, from+(to-from)*r.Float64())
		}
		for _, a := range limits {
			want := 0.0
			for i, bin := range h.Bins {
				switch from, to := bin.Bounds(); {
				case from >= a && !(bin == 0 && a == 0):
					want += float64(h.Counts[i])
				case to > a:
					want += float64(h.Counts[i]) * (to - a) / (to - from)
				}
			}
			if got := h.CountAbove(a); math.Abs(got-want) > 1e-12*n || got != d.CountAbove(a) || h.CountBelow(a) != d.CountBelow(a) {
				t.Fatalf("above %g: %g, want %g; dense %g", a, got, want, d.CountAbove(a))
			}
			for _, b := range limits {
				between := h.CountBetween(a, b)
				if want := max(0, h.CountAbove(a)-h.CountAbove(b)); math.Abs(between-want) > 1e-10*n || between != d.CountBetween(a, b) {
					t.Fatalf("between %g and %g: %g, want %g; dense %g", a, b, between, want, d.CountBetween(a, b))
				}
			}
		}
		if h.Mean() != d.Mean() || h.Sum() != d.Sum() || h.StdDev() != d.StdDev() || h.Count() != d.Count() ||
			!slices.Equal(h.Quantiles(0, 0.1, 0.5, 0.99, 1), d.Quantiles(0, 0.1, 0.5, 0.99, 1)) ||
			!slices.Equal(h.InverseQuantiles(limits...), d.InverseQuantiles(limits...)) ||
			!slices.Equal(h.Modes(ModeOptions{}), d.Modes(ModeOptions{})) {
			t.Fatal("the dense form's answers differ")
		}
	}
	empty := &Histogram{}
	for _, v := range []float64{empty.Mean(), empty.StdDev(), empty.Moment(1), empty.CentralMoment(1), empty.InverseQuantiles(1)[0], (&Dense{}).Quantile(0.5)} {
		if !math.IsNaN(v) {
			t.Errorf("%g of nothing", v)
		}
	}
	if empty.CountAbove(0) != 0 || empty.CountBetween(0, 1) != 0 || empty.Modes(ModeOptions{}) != nil {
		t.Error("nothing has values")
	}
}

// Any order of values and any way in count the same.
func TestWaysInAreTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(27, 28))
	var kept Accumulator
	for range 300 {
		var one, bulk Accumulator
		want := &Histogram{}
		values := make([]float64, r.IntN(500))
		for i := range values {
			values[i] = randomValue(r)
			if r.IntN(3) > 0 {
				values[i] = math.Exp(r.NormFloat64())
			}
			if r.IntN(50) == 0 {
				values[i] = []float64{math.NaN(), math.Inf(1), 1e130}[r.IntN(3)]
			}
		}
		refused := 0
		for _, v := range values {
			if err := want.Insert(v, 1); err != nil {
				refused++
			}
			_ = one.Insert(v, 1)
			_ = kept.Insert(v, 1)
		}
		if got := bulk.BulkInsert(values); got != refused || bulk.Count() != uint64(len(values)-refused) {
			t.Fatalf("refused %d, want %d; counted %d of %d", got, refused, bulk.Count(), len(values))
		}
		if one.Count() != bulk.Count() {
			t.Fatalf("%d and %d", one.Count(), bulk.Count())
		}
		for _, a := range []*Accumulator{&one, &bulk, &kept} {
			if got := a.Take(); !got.Equal(want) {
				t.Fatalf("%v, want %v", got, want)
			}
			if a.Count() != 0 || a.Take().Count() != 0 {
				t.Fatal("something is left")
			}
		}
		sum, other := want.Clone(), randomHistogram(r, 200, true)
		sum.Merge(other)
		check := &Histogram{}
		for _, from := range []*Histogram{want, other} {
			for i, bin := range from.Bins {
				check.Add(bin, from.Counts[i])
			}
		}
		if !sum.Equal(check) {
			t.Fatalf("%v + %v = %v", want, other, sum)
		}
	}
	if err := (&Accumulator{}).Insert(math.NaN(), 1); err != ErrNoBin {
		t.Error(err)
	}
}

func TestModes(t *testing.T) {
	r := rand.New(rand.NewPCG(29, 30))
	hills := func(n int, hills ...[3]float64) *Histogram { // middle, width in decades, share
		h := &Histogram{}
		for range n {
			u := r.Float64()
			for _, hill := range hills {
				if u -= hill[2]; u < 0 {
					_ = h.Insert(math.Copysign(math.Pow(10, math.Log10(math.Abs(hill[0]))+hill[1]*r.NormFloat64()), hill[0]), 1)
					break
				}
			}
		}
		return h
	}
	for _, c := range []struct {
		name  string
		hills [][3]float64
	}{
		{"one", [][3]float64{{0.05, 0.1, 1}}},
		{"a wide one", [][3]float64{{3, 0.8, 1}}},
		{"fast and slow", [][3]float64{{0.002, 0.1, 0.8}, {0.3, 0.15, 0.2}}},
		{"three", [][3]float64{{1e-5, 0.1, 0.5}, {1e-3, 0.1, 0.3}, {0.1, 0.1, 0.2}}},
		{"both signs", [][3]float64{{-20, 0.1, 0.6}, {7, 0.1, 0.4}}},
	} {
		for _, n := range []int{1000, 30_000, 300_000} {
			modes := hills(n, c.hills...).Modes(ModeOptions{})
			if len(modes) != len(c.hills) {
				t.Errorf("%s of %d: %+v", c.name, n, modes)
				continue
			}
			for i, hill := range c.hills {
				m := modes[i]
				away := math.Abs(math.Log10(m.Value / hill[0]))
				if !(away < 0.3*hill[1]+0.05) || math.Abs(m.Share-hill[2]) > 0.05 || !(m.From < m.Value && m.Value < m.To) {
					t.Errorf("%s of %d: %+v, want %v", c.name, n, m, hill)
				}
			}
		}
	}
	// A single value, zeros, and noise.
	h := &Histogram{}
	h.Add(0, 30)
	_ = h.Insert(12.3, 70)
	if modes := h.Modes(ModeOptions{}); len(modes) != 2 || modes[0].Share != 0.7 || math.Abs(modes[0].Value-12.5) > 0.6 || modes[1].Value != 0 || modes[1].Share != 0.3 {
		t.Errorf("%+v", modes)
	}
	many := 0
	for range 200 {
		h := hills(200, [3]float64{1, 0.3, 1})
		if len(h.Modes(ModeOptions{})) != 1 {
			many++
		}
	}
	if many > 6 {
		t.Errorf("%d of 200 times noise made a hill", many)
	}
	for range 300 {
		h := randomHistogram(r, 50, true)
		share := 0.0
		for _, m := range h.Modes(ModeOptions{Prominence: 1e-9, Smoothing: r.IntN(5) - 1}) {
			share += m.Share
			if math.IsNaN(m.Value) || math.IsNaN(m.From) || math.IsNaN(m.To) {
				t.Fatalf("%+v", m)
			}
		}
		if share > 1+1e-9 {
			t.Fatalf("the modes have %g of the values", share)
		}
	}
}
