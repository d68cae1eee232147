package tsdb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Whatever their times are like, numbers come back bit by bit as they were added, and none of the pieces is lost or given
// out twice.
func TestOpenRuns(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	steps := map[string]func() int64{
		"regular":       func() int64 { return 10_000 },
		"of one ms":     func() int64 { return 1 },
		"never regular": func() int64 { return 1 + r.Int64N(20_000) },
		"with gaps": func() int64 {
			if r.IntN(9) == 0 {
				return 30_000
			}
			return 10_000
		},
		"nearly regular": func() int64 { return 10_000 + r.Int64N(2) },
		"far apart":      func() int64 { return 1 << 32 },
		"as far as fits": func() int64 { return math.MaxUint32 },
		"sometimes far apart": func() int64 {
			if r.IntN(5) == 0 {
				return math.MaxUint32 + r.Int64N(3)
			}
			return 60_000
		},
	}
	var p pieces
	var c coder
	type known struct {
		memSeries
		times  []int64
		values []float64
		step   func() int64
	}
	series := map[string]*known{}
	for name, step := range steps {
		series[name] = &known{step: step}
	}
	counted := 0
	for round := range 500 {
		for name, s := range series {
			at, v := int64(-5_000), math.Float64frombits(r.Uint64())
			if n := len(s.times); n > 0 {
				at = s.times[n-1] + s.step()
			}
			s.times, s.values = append(s.times, at), append(s.values, v)
			before := cap(s.sealed)
			counted += s.appendNumber(at, v, &p, &c) - (cap(s.sealed) - before)
			if latest := s.open.latest(&p); math.Float64bits(latest) != math.Float64bits(v) {
				t.Fatalf("%s: the latest value is %v, not %v", name, latest, v)
			}
			if round%7 != 0 {
				continue
			}
			it := newIterator(s.numberSources(&p, math.MinInt64, math.MaxInt64, &copies{}), math.MinInt64, math.MaxInt64, decodeNumbers, newestNumber)
			var times []int64
			var values []float64
			for it.Next() {
				at, v := it.At()
				times, values = append(times, at), append(values, v)
			}
			same := slices.EqualFunc(values, s.values, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) })
			if err := it.Err(); err != nil || !same || !slices.Equal(times, s.times) {
				t.Fatalf("%s: %d numbers came back of %d, or others: %v", name, len(times), len(s.times), err)
			}
		}
	}
	taken := map[uint32]bool{}
	all := 0
	for ; p.free != 0; p.free = uint32(p.at(p.free - 1)[0]) {
		taken[p.free-1] = true
		all++
	}
	for _, s := range series {
		all += len(s.open.inUse())
		for _, number := range s.open.inUse() {
			taken[number] = true
		}
	}
	if all != len(taken) || all != int(p.next) || counted != all*pieceWords*8 {
		t.Fatalf("%d pieces were made and %d bytes counted; %d are somewhere, %d of them in one place only", p.next, counted, all, len(taken))
	}
	frames := func(name string) int { return len(series[name].frames()) }
	for _, name := range []string{"regular", "never regular", "with gaps"} {
		if n := frames(name); n < 499/sealPoints || n > 500/unevenPoints {
			t.Errorf("500 numbers make %d frames: %s", n, name)
		}
	}
}
