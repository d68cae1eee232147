package fast

// From the samples of one series to a row of results, with the semantics of PromQL: windows are open on the left, a
// stale marker is no sample to a function and ends a series for a selector.

import (
	"math"
	"slices"

	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/util/kahansum"
)

// absent stands in a row for no result: the bits of a stale marker, which no result can be.
var absent = math.Float64frombits(value.StaleNaN)

func isAbsent(v float64) bool { return math.Float64bits(v) == value.StaleNaN }

// steps is when results are wanted.
type steps struct {
	start, step int64 // ms
	n           int
}

func (s steps) at(i int) int64 { return s.start + int64(i)*s.step }
func (s steps) end() int64     { return s.at(s.n - 1) }

// scratch is memory that is used again for each series.
type scratch struct {
	numbers tsdb.NumberMemory // what times and values are a part of
	times   []int64
	values  []float64
	row     []float64
	resets  []int
	queue   []int
	sorting []float64
	charged int64       // bytes
	ended   func() bool // whether the query's time is up; nil: it never is
}

// withoutStale takes stale markers out, in place.
func withoutStale(times []int64, values []float64) ([]int64, []float64) {
	kept := 0
	for i, v := range values {
		if isAbsent(v) {
			continue
		}
		if kept != i {
			times[kept], values[kept] = times[i], v
		}
		kept++
	}
	return times[:kept], values[:kept]
}

func anyStale(values []float64) bool {
	for _, v := range values {
		if isAbsent(v) {
			return true
		}
	}
	return false
}

// evaluate fills the row, which is as long as there are steps, and says whether there is anything in it.
func (n *node) evaluate(at steps, lookback int64, s *scratch) (any bool) {
	times, values, row := s.times, s.values, s.row
	for i := range row {
		row[i] = absent
	}
	if n.function == latest {
		return latestRow(times, values, row, at, n.offset, lookback)
	}
	counter := n.function == rate || n.function == increase
	s.resets = s.resets[:0]
	if !counter || falls(values, s) { // nearly no counter has any stale marker, and one pass tells
		if anyStale(values) {
			times, values = withoutStale(times, values)
		}
		if counter {
			s.resets = s.resets[:0]
			falls(values, s)
			s.resets = slices.DeleteFunc(s.resets, func(i int) bool { return !(values[i] < values[i-1]) })
		}
	}
	if len(times) == 0 {
		return false
	}
	w := window{times: times, values: values, row: row, at: at, offset: n.offset, width: n.window, ended: s.ended}
	switch n.function {
	case rate, increase, delta:
		return w.extrapolated(counter, n.function == rate, s.resets)
	case irate, idelta:
		return w.each(func(lo, hi int) float64 { return w.instant(hi, n.function == irate) }, 2)
	case sumOver:
		return w.each(w.sum, 1)
	case avgOver:
		return w.each(w.average, 1)
	case minOver:
		return w.extreme(s, func(a, b float64) bool { return a < b })
	case maxOver:
		return w.extreme(s, func(a, b float64) bool { return a > b })
	case countOver:
		return w.each(func(lo, hi int) float64 { return float64(hi - lo) }, 1)
	case quantileOver:
		return w.quantiles(n.param, s)
	default:
		return w.each(func(lo, hi int) float64 { return values[hi-1] }, 1)
	}
}

// evaluateRegular is evaluate for rate, increase and delta of numbers at regular times that nothing interrupts; done is
// false for others. Where the steps are a multiple of the numbers' interval, each window lies about its numbers as the
// one before: all but those at the ends come from one short loop.
func (n *node) evaluateRegular(at steps, s *scratch) (any, done bool) {
	m := &s.numbers
	values, count := m.Values, int64(len(m.Values))
	if n.function != rate && n.function != increase || !m.Rising || count < 2 || len(m.Times) > 0 ||
		at.n > 1 && at.step%m.Interval != 0 {
		return false, false
	}
	// Of the i-th step the window holds the numbers from low + i·by to high + i·by, those that there are.
	by := at.step / m.Interval
	end := at.start - n.offset - m.First
	high := floorDiv(end, m.Interval) + 1
	low := floorDiv(end-n.window, m.Interval) + 1
	// The steps whose windows are whole, so that the numbers in them are as many and lie in them alike.
	from, to := int64(0), int64(at.n)
	if by > 0 {
		if low < 0 {
			from = min(to, (-low+by-1)/by)
		}
		to = max(from, min(to, floorDiv(count-high, by)+1))
	} else if low < 0 || high > count {
		to = 0
	}
	w := window{values: values, row: s.row, at: at, offset: n.offset, width: n.window}
	perSecond := n.function == rate
	seconds := float64(n.window) / 1000
	for i := range int64(at.n) {
		if i >= from && i < to {
			continue
		}
		lo, hi := max(0, low+i*by), min(count, high+i*by)
		if hi-lo < 2 {
			s.row[i] = absent
			continue
		}
		start := at.at(int(i)) - n.offset - n.window
		x := w.extent(spacing{(hi - 1 - lo) * m.Interval, m.First + lo*m.Interval - start, start + n.window - (m.First + (hi-1)*m.Interval), int(hi - lo)}, seconds, perSecond)
		s.row[i], any = w.grown(values[lo], values[hi-1]-values[lo], true, &x, seconds, perSecond), true
	}
	if from >= to {
		return any, true
	}
	if high-low < 2 {
		for i := from; i < to; i++ {
			s.row[i] = absent
		}
		return any, true
	}
	before := m.First + low*m.Interval - (end - n.window + m.First)
	x := w.extent(spacing{(high - 1 - low) * m.Interval, before, n.window - before - (high-1-low)*m.Interval, int(high - low)}, seconds, perSecond)
	row := s.row[from:to]
	lo, hi, stride := low+from*by, high-1+from*by, by
	far := 1.001 * x.toStart
	for i := range row {
		first := values[lo]
		grown := values[hi] - first
		if p := first * x.between; p > far*grown && p > 1e-290 && p < 1e300 { // as in window.grown
			row[i] = grown * x.factor
		} else {
			row[i] = w.grown(first, grown, true, &x, seconds, perSecond)
		}
		lo += stride
		hi += stride
	}
	return true, true
}

// floorDiv is a / b, rounded down; b is not less than 1.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// falls puts the places of values that are not at least the one before them into s.resets, and says whether any is no
// number: then not all of them are resets.
func falls(values []float64, s *scratch) (special bool) {
	if len(values) == 0 {
		return false
	}
	before := values[0]
	special = before != before
	for i, v := range values[1:] {
		if !(v >= before) {
			s.resets = append(s.resets, i+1)
			special = special || v != v
		}
		before = v
	}
	return special
}

func latestRow(times []int64, values, row []float64, at steps, offset, lookback int64) (any bool) {
	next := 0
	for i := range row {
		t := at.at(i) - offset
		for next < len(times) && times[next] <= t {
			next++
		}
		if next == 0 || times[next-1] <= t-lookback || isAbsent(values[next-1]) {
			continue
		}
		row[i], any = values[next-1], true
	}
	return any
}

// window slides over the samples of a series.
type window struct {
	times         []int64
	values, row   []float64
	at            steps
	offset, width int64
	lo, hi        int // the samples that are in it: [lo, hi)
	moved         int // how far hi went with the last step
	ended         func() bool
}

// slide moves it to the i-th step.
func (w *window) slide(i int) (end int64) {
	end = w.at.at(i) - w.offset
	start := end - w.width
	hi, lo, times := w.hi, w.lo, w.times
	// Of evenly spaced samples as many come in with each step as with the last, and as many go out.
	if at := hi + w.moved; at > 0 && at < len(times) && times[at-1] <= end && end < times[at] {
		hi = at
	} else {
		for hi < len(times) && times[hi] <= end {
			hi++
		}
		w.moved = hi - w.hi
	}
	if at := lo + w.moved; at > 0 && at < hi && times[at-1] <= start && start < times[at] {
		lo = at
	} else {
		for lo < hi && times[lo] <= start {
			lo++
		}
	}
	w.hi, w.lo = hi, lo
	return end
}

// each computes what depends on the samples of a window alone, when there are enough of them.
func (w *window) each(f func(lo, hi int) float64, least int) (any bool) {
	work := 0
	for i := range w.row {
		w.slide(i)
		if w.hi-w.lo < least {
			continue
		}
		// Windows may be long and many: nobody waits for them when the query's time is up.
		if work += w.hi - w.lo; work > 1<<20 && w.ended != nil {
			if work = 0; w.ended() {
				return any
			}
		}
		if v := f(w.lo, w.hi); !isAbsent(v) {
			w.row[i], any = v, true
		}
	}
	return any
}

// extrapolated is rate, increase and delta. The difference of the last and first sample, and what was lost by counter
// resets, is extended to the window's ends: all the way when the first (last) sample is no further from it than 1.1
// times the samples' mean distance, else by half that distance; and for a counter no further back than where it was 0.
func (w *window) extrapolated(counter, perSecond bool, resets []int) (any bool) {
	seconds := float64(w.width) / 1000
	// Of evenly spaced samples all windows are alike: what depends on their times alone is computed when it changes.
	var known spacing
	var x extent
	for i := range w.row {
		end := w.slide(i)
		lo, hi := w.lo, w.hi
		if hi-lo < 2 {
			continue
		}
		first, grown := w.values[lo], w.values[hi-1]-w.values[lo]
		for len(resets) > 0 && resets[0] <= lo {
			resets = resets[1:]
		}
		for _, at := range resets {
			if at >= hi {
				break
			}
			grown += w.values[at-1]
		}
		if now := (spacing{w.times[hi-1] - w.times[lo], w.times[lo] - (end - w.width), end - w.times[hi-1], hi - lo}); now != known {
			known = now
			x = w.extent(now, seconds, perSecond)
		}
		w.row[i], any = w.grown(first, grown, counter, &x, seconds, perSecond), true
	}
	return any
}

// spacing is where a window's samples are, in ms.
type spacing struct {
	between, before, behind int64
	samples                 int
}

// extent is what follows from a spacing: how far the samples reach, and by how much they are extended, in seconds; and by
// what their growth is multiplied then.
type extent struct {
	between, toStart, toEnd, factor float64
}

func (w *window) extent(now spacing, seconds float64, perSecond bool) (x extent) {
	x.between = float64(now.between) / 1000
	mean := x.between / float64(now.samples-1)
	near := mean * 1.1
	if x.toStart = float64(now.before) / 1000; x.toStart >= near {
		x.toStart = mean / 2
	}
	if x.toEnd = float64(now.behind) / 1000; x.toEnd >= near {
		x.toEnd = mean / 2
	}
	x.factor = w.factor(x.between, x.toStart, x.toEnd, seconds, perSecond)
	return x
}

// grown is the result of a window.
func (w *window) grown(first, grown float64, counter bool, x *extent, seconds float64, perSecond bool) float64 {
	if counter && grown > 0 && first >= 0 {
		// The division is spared where the counter was certainly not 0 so short a time before: nearly always. The limits are
		// far from where products overflow or lose digits.
		if p := first * x.between; !(p > 1.001*x.toStart*grown && p > 1e-290 && p < 1e300) {
			if zero := x.between * (first / grown); zero < x.toStart {
				return grown * w.factor(x.between, zero, x.toEnd, seconds, perSecond)
			}
		}
	}
	return grown * x.factor
}

// factor is by what the growth between samples is multiplied.
func (w *window) factor(between, before, behind, seconds float64, perSecond bool) float64 {
	factor := 1.0
	if between != 0 {
		factor = (between + before + behind) / between
	}
	if perSecond {
		factor /= seconds
	}
	return factor
}

// instant is irate and idelta: of the last two samples.
func (w *window) instant(hi int, perSecond bool) float64 {
	v, last := w.values[hi-1], w.values[hi-2]
	between := w.times[hi-1] - w.times[hi-2]
	if between == 0 {
		return absent
	}
	if !perSecond || !(v < last) {
		v -= last
	}
	if perSecond {
		v /= float64(between) / 1000
	}
	return v
}

func (w *window) sum(lo, hi int) float64 {
	sum, lost := 0.0, 0.0
	for _, v := range w.values[lo:hi] {
		sum, lost = kahansum.Inc(v, sum, lost)
	}
	if math.IsInf(sum, 0) {
		return sum
	}
	return sum + lost
}

func (w *window) average(lo, hi int) float64 {
	values := w.values[lo:hi]
	sum, lost, n := values[0], 0.0, float64(hi-lo)
	for i, v := range values[1:] {
		more, moreLost := kahansum.Inc(v, sum, lost)
		if math.IsInf(more, 0) {
			// The sum is too large for a number: from here on the mean itself is kept.
			mean, before := sum/float64(i+1), float64(i+1)
			lost /= before
			for k, v := range values[i+1:] {
				count := float64(i + 2 + k)
				share := (count - 1) / count
				mean, lost = kahansum.Inc(v/count, share*mean, share*lost)
			}
			return mean + lost
		}
		sum, lost = more, moreLost
	}
	return sum/n + lost/n
}

// extreme is the least or greatest value, NaN only when there is nothing else. The queue holds those that are still
// better than all behind them.
func (w *window) extreme(s *scratch, better func(a, b float64) bool) (any bool) {
	queue, head, next := s.queue[:0], 0, 0
	for i := range w.row {
		w.slide(i)
		if next < w.lo {
			next = w.lo
		}
		for ; next < w.hi; next++ {
			v := w.values[next]
			if v != v {
				continue
			}
			for len(queue) > head && better(v, w.values[queue[len(queue)-1]]) {
				queue = queue[:len(queue)-1]
			}
			queue = append(queue, next)
		}
		for head < len(queue) && queue[head] < w.lo {
			head++
		}
		switch {
		case w.lo == w.hi:
			continue
		case head < len(queue):
			w.row[i] = w.values[queue[head]]
		default:
			w.row[i] = math.NaN()
		}
		any = true
	}
	s.queue = queue
	return any
}
