package tsdb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/value"
)

// Whatever is let go, merged and late: no hour of a series loses its record, and the histograms of each day keep all their
// counts, while windows of any track add up to the same.
func TestRollupsLoseNothing(t *testing.T) {
	for seed := range uint64(4) {
		rollupsLoseNothing(t, seed)
	}
}

func rollupsLoseNothing(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 11))
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour, o.OutOfOrder = 3*day, 10*day, 1000*day, 30*day
	now.set(start.Truncate(8 * day))
	s := openStore(t, o)
	hours := map[int64]bool{}
	counts := map[int64]*histogram.Histogram{} // by day
	natives := map[int64]bool{}
	once := map[int64]float64{} // one sample for each time
	check := func() {
		t.Helper()
		singles, releaseSingles, err := s.Select(t.Context(), math.MinInt64/4, math.MaxInt64, equal(NameLabel, "once"))
		if err != nil || len(singles) != min(1, len(once)) {
			t.Fatal(len(singles), err)
		}
		for _, one := range singles {
			want := map[Aggregate]float64{Sum: 0, Count: float64(len(once)), Minimum: math.Inf(1), Maximum: math.Inf(-1)}
			for _, v := range once {
				want[Sum], want[Minimum], want[Maximum] = want[Sum]+v, min(want[Minimum], v), max(want[Maximum], v)
			}
			for aggregate, want := range want {
				got := 0.0
				first := true
				for it := one.NumbersAs(math.MinInt64/4, math.MaxInt64, aggregate); it.Next(); first = false {
					_, v := it.At()
					switch {
					case first:
						got = v
					case aggregate == Minimum:
						got = min(got, v)
					case aggregate == Maximum:
						got = max(got, v)
					default:
						got += v
					}
				}
				if got != want {
					t.Fatalf("seed %d: %d is %g, want %g", seed, aggregate, got, want)
				}
			}
		}
		releaseSingles()
		got := read(t, s, math.MinInt64/4, math.MaxInt64)
		found := map[int64]bool{}
		for at := range got.numbers[string(key(t, "g"))] {
			found[floorTo(at, 3600_000)] = true
		}
		for at := range hours {
			if !found[at] {
				t.Fatalf("seed %d: the hour %s has no number", seed, time.UnixMilli(at).UTC())
			}
		}
		if len(found) != len(hours) {
			t.Fatalf("seed %d: %d hours, want %d", seed, len(found), len(hours))
		}
		found = map[int64]bool{}
		for at := range got.natives[string(key(t, "n"))] {
			found[floorTo(at, 3600_000)] = true
		}
		for at := range natives {
			if !found[at] {
				t.Fatalf("seed %d: the hour %s has no native histogram", seed, time.UnixMilli(at).UTC())
			}
		}
		list, release, err := s.Select(t.Context(), math.MinInt64/4, math.MaxInt64, equal(NameLabel, "h"))
		if err != nil {
			t.Fatal(err)
		}
		defer release()
		for at, want := range counts {
			if len(list) != 1 {
				t.Fatalf("seed %d: %d series of histograms", seed, len(list))
			}
			for _, width := range []int64{3600_000, 2 * 3600_000, dayMillis} {
				into := make([]*histogram.Dense, dayMillis/width)
				if _, err := list[0].Windows(t.Context(), at, width, into); err != nil {
					t.Fatal(err)
				}
				var sum histogram.Dense
				for _, one := range into {
					if one != nil {
						sum.MergeDense(one)
					}
				}
				if !sum.Histogram().Equal(want) {
					t.Fatalf("seed %d: the day %s has %v, want %v", seed, time.UnixMilli(at).UTC(), sum.Histogram(), want)
				}
			}
		}
	}
	for range 120 {
		switch r.IntN(8) {
		case 0:
			mustFlush(t, s)
		case 1, 2:
			mustFlush(t, s)
			if err := s.tidy(); err != nil {
				t.Fatal(err)
			}
			check()
		case 3:
			now.advance(time.Duration(r.IntN(60)) * time.Hour)
		case 4:
			old := s
			memory = memory.Kill()
			o.FS = memory
			s = openStore(t, o)
			_ = old.Close()
		default:
			from, step := now.now().Add(-time.Duration(r.IntN(20*24))*time.Hour), time.Duration(1+r.IntN(90))*time.Second
			if r.IntN(2) == 0 {
				from = now.now().Add(-40 * time.Minute)
			}
			var batch []Sample
			for i := range 1 + r.IntN(400) {
				at := from.Add(time.Duration(i) * step).UnixMilli()
				if at > now.UnixMilli() {
					break
				}
				h := oneHistogram(float64(r.IntN(5)))
				batch = append(batch, Sample{Key: key(t, "g"), Kind: Gauge, Time: at, Value: float64(r.IntN(9))},
					Sample{Key: key(t, "h"), Kind: Histogram, Time: at, Histogram: h})
				if _, there := once[at]; !there {
					once[at] = float64(at / 1000 % 1009)
					batch = append(batch, Sample{Key: key(t, "once"), Kind: Gauge, Time: at, Value: once[at]})
				}
				if r.IntN(4) == 0 {
					_, one := someNatives(r, 1)
					batch = append(batch, Sample{Key: key(t, "n"), Kind: NativeHistogram, Time: at, Native: one[0]})
					natives[floorTo(at, 3600_000)] = true
				}
				hours[floorTo(at, 3600_000)] = true
				d := floorTo(at, dayMillis)
				if counts[d] == nil {
					counts[d] = &histogram.Histogram{}
				}
				counts[d].Merge(h)
			}
			if len(batch) > 0 { // some when samples were kept for longer: what the store has is to be rolled up all the same
				kept := s.retention.Swap(&Retention{1000 * day, 1000 * day, 1000 * day})
				mustIngest(t, s, batch...)
				s.retention.Store(kept)
			}
		}
	}
	mustFlush(t, s)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := Verify(memory, "/store", func(f Finding) { t.Errorf("seed %d: %+v", seed, f) }); err != nil {
		t.Error(err)
	}
}

// A counter whose hour ends with a stale marker, or that is not a number there, has the last value that it had.
func TestLastOfARollup(t *testing.T) {
	stale, nan := math.Float64frombits(value.StaleNaN), math.NaN()
	minute := int64(60_000)
	times := []int64{0, 1000, minute, minute + 1000, 2 * minute, 60 * minute, 61 * minute}
	for _, c := range []struct{ values, minutes, hours []float64 }{
		{[]float64{1, 2, 3, stale, stale, stale, 7}, []float64{2, 3, stale, stale, 7}, []float64{3, 7}},
		{[]float64{nan, 2, nan, stale, 5, nan, stale}, []float64{2, stale, 5, nan, stale}, []float64{5, stale}},
	} {
		fine := rollup(times, c.values, minute)
		for name, got := range map[string][]float64{"minutes": fine.Last, "hours": rollup(times, c.values, 60*minute).Last, "hours of minutes": coarser(fine, 60*minute).Last} {
			want := c.hours
			if name == "minutes" {
				want = c.minutes
			}
			if !slices.EqualFunc(got, want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
				t.Errorf("%s of %v: %v, want %v", name, c.values, got, want)
			}
		}
	}
}
