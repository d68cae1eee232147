package tsdb

// One series out of many places: frames of several blocks and of the head, late samples among them. Sources overlap in
// time only where samples came late, so they are opened one after the other as time gets to them, and where there is
// only one its samples are handed on as they were decoded.

import (
	"errors"
	"sort"

	"cistern/services/histogram"
)

// source is one place that holds samples of a series, ascending in time.
type source[V any] struct {
	minTime, maxTime int64
	// What there is in memory: frames, which ascend and do not overlap, or samples that are decoded already.
	frames  []frame
	samples batch[V]
	// read gives the same of what must be read or made first; nil when it is in memory.
	read func() ([]frame, batch[V], error)
	// Of a block: where its other tracks are, and what was deleted from it.
	block   *block
	record  *blockSeries
	width   int64 // how long a record stands for
	deleted []interval
	damage  func(error) // told when the block turns out to be damaged
}

// load gives the frames or the samples of the place.
func (s *source[V]) load() ([]frame, batch[V], error) {
	if s.read != nil {
		return s.read()
	}
	return s.frames, s.samples, nil
}

type cursor[V any] struct {
	source  *source[V]
	frames  []frame
	decoded batch[V]
	at      int
	rank    int // of two sources the higher one is newer
}

// iterator walks through the samples of a series in [minTime, maxTime].
type iterator[V any] struct {
	sources          []source[V]
	waiting          []int // of the sources, ascending by minTime
	active           []*cursor[V]
	minTime, maxTime int64
	decode           func(frame, *batch[V]) error
	combine          func(newest V, other V) V
	merged           batch[V]
	now              batch[V] // what Next walks through
	at               int
	err              error
}

func newIterator[V any](sources []source[V], minTime, maxTime int64, decode func(frame, *batch[V]) error, combine func(V, V) V) *iterator[V] {
	it := &iterator[V]{sources: sources, minTime: minTime, maxTime: maxTime, decode: decode, combine: combine, at: -1}
	for i, s := range sources {
		if s.maxTime >= minTime && s.minTime <= maxTime {
			it.waiting = append(it.waiting, i)
		}
	}
	sort.SliceStable(it.waiting, func(a, b int) bool { return sources[it.waiting[a]].minTime < sources[it.waiting[b]].minTime })
	return it
}

// fail notes what is wrong with a source: damage leaves the source out and is logged, anything else ends the iteration.
func (it *iterator[V]) fail(s *source[V], err error) {
	if s.damage != nil && (errors.Is(err, errDamaged) || errors.Is(err, errFrame)) {
		s.damage(err)
		return
	}
	it.err = err
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
		for len(c.frames) > 0 && c.frames[0].maxTime < it.minTime {
			c.frames = c.frames[1:]
		}
		if len(c.frames) == 0 || c.frames[0].minTime > it.maxTime {
			return false
		}
		if c.frames[0].bytes == nil {
			if err := c.source.block.fill(c.frames, it.maxTime); err != nil {
				it.fail(c.source, err)
				return false
			}
		}
		c.at = 0
		if err := it.decode(c.frames[0], &c.decoded); err != nil {
			it.fail(c.source, err)
			return false
		}
		if len(c.source.deleted) > 0 {
			withoutDeleted(&c.decoded, c.source.width, c.source.deleted)
		}
		c.frames = c.frames[1:]
	}
}

// settle refills the active cursors and opens the sources whose time has come. It returns the earliest time there is.
func (it *iterator[V]) settle() (earliest int64, found bool) {
	kept := it.active[:0]
	for _, c := range it.active {
		if it.fill(c) {
			kept = append(kept, c)
		}
	}
	clear(it.active[len(kept):])
	it.active = kept
	for it.err == nil {
		found = false
		for _, c := range it.active {
			if t := c.decoded.times[c.at]; !found || t < earliest {
				earliest, found = t, true
			}
		}
		// A source that begins before that may hold an earlier sample.
		if len(it.waiting) == 0 || found && it.sources[it.waiting[0]].minTime > earliest {
			return earliest, found && earliest <= it.maxTime
		}
		rank := it.waiting[0]
		s := &it.sources[rank]
		it.waiting = it.waiting[1:]
		frames, samples, err := s.load()
		if err != nil {
			it.fail(s, err)
			continue
		}
		if len(samples.times) > 0 && len(s.deleted) > 0 {
			withoutDeleted(&samples, s.width, s.deleted)
		}
		c := &cursor[V]{source: s, frames: frames, decoded: samples, rank: rank}
		if it.fill(c) {
			it.active = append(it.active, c)
		}
	}
	return 0, false
}

// NextBatch is the next samples, some at least; false at the end or on an error. They are valid until the next call.
func (it *iterator[V]) NextBatch() ([]int64, []V, bool) {
	earliest, ok := it.settle()
	if !ok || it.err != nil {
		return nil, nil, false
	}
	limit := it.maxTime // up to where nothing else comes in between
	if len(it.waiting) > 0 {
		limit = min(limit, it.sources[it.waiting[0]].minTime-1)
	}
	if len(it.active) == 1 {
		c := it.active[0]
		times := c.decoded.times[c.at:]
		n := len(times)
		if times[n-1] > limit {
			n = sort.Search(n, func(i int) bool { return times[i] > limit })
		}
		if n > 0 {
			values := c.decoded.values[c.at:]
			c.at += n
			return times[:n], values[:n], true
		}
	}
	it.merged.times, it.merged.values = it.merged.times[:0], it.merged.values[:0]
	for ok && len(it.merged.times) < 512 {
		it.merged.times = append(it.merged.times, earliest)
		it.merged.values = append(it.merged.values, it.take(earliest))
		earliest, ok = it.settle()
	}
	return it.merged.times, it.merged.values, it.err == nil
}

// take makes all samples at time t one, and steps over them.
func (it *iterator[V]) take(t int64) (value V) {
	rank, any := -1, false
	for _, c := range it.active {
		if c.at >= len(c.decoded.times) || c.decoded.times[c.at] != t {
			continue
		}
		v := c.decoded.values[c.at]
		c.at++
		switch {
		case !any:
			value, rank, any = v, c.rank, true
		case c.rank >= rank:
			value, rank = it.combine(v, value), c.rank
		default:
			value = it.combine(value, v)
		}
	}
	return value
}

// Next goes to the next sample; false at the end or on an error.
func (it *iterator[V]) Next() bool {
	if it.at++; it.at < len(it.now.times) {
		return true
	}
	var ok bool
	it.now.times, it.now.values, ok = it.NextBatch()
	it.at = 0
	return ok
}

// At is the present sample. A histogram is shared: it must not be changed.
func (it *iterator[V]) At() (int64, V) { return it.now.times[it.at], it.now.values[it.at] }

// Err is what ended the iteration early.
func (it *iterator[V]) Err() error { return it.err }

// NumberIterator walks through numbers.
type NumberIterator = iterator[float64]

// HistogramIterator walks through histograms.
type HistogramIterator = iterator[histogram.Histogram]

// NativeIterator walks through native histograms.
type NativeIterator = iterator[*nativeHistogram]

func newestNumber(newest, _ float64) float64 { return newest }

func sumOfHistograms(a, b histogram.Histogram) histogram.Histogram {
	sum := a.Clone()
	sum.Merge(&b)
	return *sum
}

// interval is a stretch of time, both ends in it, in ms.
type interval struct{ from, to int64 }

// covers says whether all of a width of time from t on is in it.
func (d interval) covers(t, width int64) bool { return t >= d.from && t <= d.to && t <= d.to-(width-1) }

// withoutDeleted takes out the records, which stand for a width of time, of which all is deleted.
func withoutDeleted[V any](b *batch[V], width int64, deleted []interval) {
	times, values := make([]int64, 0, len(b.times)), make([]V, 0, len(b.times)) // the old ones may be shared
	for i, t := range b.times {
		gone := false
		for _, d := range deleted {
			gone = gone || d.covers(t, width)
		}
		if !gone {
			times, values = append(times, t), append(values, b.values[i])
		}
	}
	b.times, b.values = times, values
}
