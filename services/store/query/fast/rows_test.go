package fast

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The increase of counters with gaps, resets, stale markers, NaN and infinities, window by window as it is defined, is
// what the sliding window finds.
func TestOddCounters(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	special := []float64{absent, math.NaN(), math.Inf(1), math.Inf(-1), 0, -3}
	for round := range 3000 {
		var times []int64
		var values []float64
		at, v := int64(1_000_000), 0.0
		for range r.IntN(60) {
			at += 10_000
			if r.IntN(10) == 0 {
				at += r.Int64N(200_000)
			}
			v += float64(r.IntN(5))
			if r.IntN(20) == 0 {
				v = 0
			}
			one := v
			if round%2 == 0 && r.IntN(12) == 0 {
				one = special[r.IntN(len(special))]
			}
			times, values = append(times, at), append(values, one)
		}
		grid := steps{start: 1_000_000 - r.Int64N(50_000), step: 1 + r.Int64N(60_000), n: 40}
		n := &node{function: increase, window: 1 + r.Int64N(300_000)}
		s := &scratch{times: slices.Clone(times), values: slices.Clone(values), row: make([]float64, grid.n)}
		n.evaluate(grid, 0, s)
		times, values = withoutStale(times, values)
		for i, got := range s.row {
			end := grid.at(i)
			var in, what []float64
			for k, at := range times {
				if at > end-n.window && at <= end {
					in, what = append(in, float64(at)), append(what, values[k])
				}
			}
			if len(in) < 2 {
				if !isAbsent(got) {
					t.Fatalf("round %d, step %d: %v of %d samples", round, i, got, len(in))
				}
				continue
			}
			last := len(in) - 1
			grown := what[last] - what[0]
			for k := 1; k <= last; k++ {
				if what[k] < what[k-1] {
					grown += what[k-1]
				}
			}
			between := (in[last] - in[0]) / 1000
			mean := between / float64(last)
			before, behind := (in[0]-float64(end-n.window))/1000, (float64(end)-in[last])/1000
			if before >= 1.1*mean {
				before = mean / 2
			}
			if behind >= 1.1*mean {
				behind = mean / 2
			}
			if grown > 0 && what[0] >= 0 {
				before = min(before, between*(what[0]/grown))
			}
			want := grown * (between + before + behind) / between
			if got != want && !(got != got && want != want) && !(math.Abs(got-want) <= 1e-9*math.Abs(want)) {
				t.Fatalf("round %d, step %d: %v, want %v of %v", round, i, got, want, what)
			}
		}
	}
}

// What evaluateRegular finds of regular counters, for windows that begin before them, end behind them or miss them, is bit
// by bit what the sliding window finds; and it leaves alone what is not regular or does not rise.
func TestRegularCounters(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	done := 0
	for round := range 20_000 {
		interval := int64(1 + r.IntN(20))
		count := 2 + r.IntN(80)
		s := &scratch{}
		m := &s.numbers
		m.First, m.Interval, m.Rising = 1_000_000+r.Int64N(1000), interval, true
		v := float64(r.IntN(3)) * r.Float64() * 100
		if r.IntN(10) == 0 {
			v = -v
		}
		for range count {
			m.Values = append(m.Values, v)
			v += float64(r.IntN(4)) * r.Float64()
		}
		grid := steps{start: 1_000_000 - r.Int64N(1500), step: interval * (1 + r.Int64N(6)), n: 1 + r.IntN(200)}
		n := &node{function: []function{rate, increase}[r.IntN(2)], window: 1 + r.Int64N(interval*12), offset: r.Int64N(40) - 20}
		if round%50 == 0 { // far away
			grid.start += 10_000_000 * (r.Int64N(3) - 1)
		}
		s.row = make([]float64, grid.n)
		any, ok := n.evaluateRegular(grid, s)
		if !ok {
			t.Fatalf("round %d: not done", round)
		}
		got := slices.Clone(s.row)
		s.times, s.values = m.AllTimes(), m.Values
		anyWanted := n.evaluate(grid, 0, s)
		if any != anyWanted || !slices.EqualFunc(got, s.row, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("round %d: %v %v, want %v %v of %+v over %+v, window %d", round, any, got, anyWanted, s.row, m, grid, n.window)
		}
		if any {
			done++
		}
		m.Times = nil
		for _, spoil := range []func(){func() { m.Rising = false }, func() { m.Rising, grid.step, grid.n = true, interval*2+1, 2 },
			func() { grid.step, m.Times = interval, s.times }} {
			if spoil(); interval > 1 {
				if _, ok := n.evaluateRegular(grid, s); ok {
					t.Fatalf("round %d: it was done", round)
				}
			}
		}
	}
	if done < 10_000 {
		t.Errorf("only %d of the rounds had any result", done)
	}
}
