package tsdb

// One series out of many places: frames of several blocks and of the head, late samples among them. Sources overlap in
// time only where samples came late, so they are opened one after the other as time gets to them.

import (
	"sort"

	"cistern/services/histogram"
)

// source is one place that holds samples of a series, ascending in time.
type source[V any] struct {
	minTime, maxTime int64
	// load gives the frames, which ascend and do not overlap, or samples that are decoded already.
	load func() ([]frame, batch[V], error)
}

type cursor[V any] struct {
	frames  []frame
	decoded batch[V]
	at      int
	rank    int // of two sources the higher one is newer
}

// iterator walks through the samples of a series in [minTime, maxTime].
type iterator[V any] struct {
	waiting          []source[V] // ascending by minTime
	ranks            []int
	active           []*cursor[V]
	minTime, maxTime int64
	decode           func(frame, *batch[V]) error
	combine          func(newest V, other V) V
	time             int64
	value            V
	err              error
}

func newIterator[V any](sources []source[V], minTime, maxTime int64, decode func(frame, *batch[V]) error, combine func(V, V) V) *iterator[V] {
	it := &iterator[V]{minTime: minTime, maxTime: maxTime, decode: decode, combine: combine}
	order := make([]int, 0, len(sources))
	for i, s := range sources {
		if s.maxTime >= minTime && s.minTime <= maxTime {
			order = append(order, i)
		}
	}
	sort.SliceStable(order, func(a, b int) bool { return sources[order[a]].minTime < sources[order[b]].minTime })
	for _, i := range order {
		it.waiting, it.ranks = append(it.waiting, sources[i]), append(it.ranks, i)
	}
	return it
}

// fill makes c's present sample one at or after minTime; false at its end.
func (it *iterator[V]) fill(c *cursor[V]) bool {
	for {
		for c.at < len(c.decoded.times) {
			if c.decoded.times[c.at] >= it.minTime {
				return true
			}
			c.at++
		}
		for len(c.frames) > 0 && (c.frames[0].maxTime < it.minTime || c.frames[0].encoding >= encodingAddition) {
			c.frames = c.frames[1:]
		}
		if len(c.frames) == 0 || c.frames[0].minTime > it.maxTime {
			return false
		}
		c.at = 0
		if err := it.decode(c.frames[0], &c.decoded); err != nil {
			it.err = err
			return false
		}
		c.frames = c.frames[1:]
	}
}

// Next goes to the next sample; false at the end or on an error.
func (it *iterator[V]) Next() bool {
	for it.err == nil {
		earliest, found := int64(0), false
		for _, c := range it.active {
			if t := c.decoded.times[c.at]; !found || t < earliest {
				earliest, found = t, true
			}
		}
		// A source that begins before that may hold an earlier sample.
		if len(it.waiting) > 0 && (!found || it.waiting[0].minTime <= earliest) {
			frames, samples, err := it.waiting[0].load()
			if err != nil {
				it.err = err
				return false
			}
			c := &cursor[V]{frames: frames, decoded: samples, rank: it.ranks[0]}
			it.waiting, it.ranks = it.waiting[1:], it.ranks[1:]
			if it.fill(c) {
				it.active = append(it.active, c)
			}
			continue
		}
		if !found || earliest > it.maxTime {
			return false
		}
		return it.take(earliest)
	}
	return false
}

// take makes all samples at time t one, and steps over them.
func (it *iterator[V]) take(t int64) bool {
	it.time = t
	rank, any := -1, false
	kept := it.active[:0]
	for _, c := range it.active {
		alive := true
		for alive && c.decoded.times[c.at] == t {
			v := c.decoded.values[c.at]
			switch {
			case !any:
				it.value, rank, any = v, c.rank, true
			case c.rank >= rank:
				it.value, rank = it.combine(v, it.value), c.rank
			default:
				it.value = it.combine(it.value, v)
			}
			c.at++
			alive = it.fill(c)
		}
		if alive {
			kept = append(kept, c)
		}
	}
	clear(it.active[len(kept):])
	it.active = kept
	return it.err == nil
}

// At is the present sample. A histogram is shared: it must not be changed.
func (it *iterator[V]) At() (int64, V) { return it.time, it.value }

// Err is what ended the iteration early.
func (it *iterator[V]) Err() error { return it.err }

// NumberIterator walks through numbers.
type NumberIterator = iterator[float64]

// HistogramIterator walks through histograms.
type HistogramIterator = iterator[histogram.Histogram]

func newestNumber(newest, _ float64) float64 { return newest }

func sumOfHistograms(a, b histogram.Histogram) histogram.Histogram {
	sum := a.Clone()
	sum.Merge(&b)
	return *sum
}
