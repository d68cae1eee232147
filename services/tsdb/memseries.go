package tsdb

// One series in the head: sealed frames, the frame that grows, and what came late.

import (
	"slices"
	"sort"

	"cistern/services/histogram"
)

type memSeries struct {
	key     string
	ref     uint32
	kind    Kind
	defined bool // its definition is in the journal since this head began
	// has: a sample was accepted; last is the latest time of one.
	has              bool
	minTime, maxTime int64

	frames  []frame
	numbers *xorEncoder // of numbers; nil between frames
	rows    *rowEncoder // of histograms
	// pending is the histogram of the latest second, to which more may be added. Shares nothing.
	pendingTime int64
	pending     *histogram.Histogram

	lateNumbers    batch[float64] // in the order in which they came
	lateHistograms batch[histogram.Histogram]
	count          uint32
	began          int64 // first time of the growing frame
}

// overhead is about what a series costs besides its samples: the struct, its map and index entries.
const overhead = 400

// touch notes a time, and says whether it is later than all before.
func (s *memSeries) touch(t int64) bool {
	if !s.has {
		s.has, s.minTime, s.maxTime = true, t, t
		return true
	}
	s.minTime = min(s.minTime, t)
	if t > s.maxTime {
		s.maxTime = t
		return true
	}
	return false
}

// appendNumber adds a number and returns by how many bytes the series grew, about.
func (s *memSeries) appendNumber(t int64, v float64) int {
	s.count++
	if !s.touch(t) {
		s.lateNumbers.times, s.lateNumbers.values = append(s.lateNumbers.times, t), append(s.lateNumbers.values, v)
		return 16
	}
	if s.numbers == nil {
		s.numbers, s.began = &xorEncoder{}, t
	}
	before := len(s.numbers.bytes)
	s.numbers.append(t, v)
	grown := len(s.numbers.bytes) - before
	if s.numbers.count == frameNumbers {
		s.frames = append(s.frames, s.growingNumbers())
		s.numbers = nil
	}
	return grown
}

// growingNumbers is the growing frame as it is now, its bytes copied to measure.
func (s *memSeries) growingNumbers() frame {
	return frame{encodingXOR, uint32(s.numbers.count), s.began, s.numbers.time, slices.Clone(s.numbers.bytes)}
}

// appendHistogram adds a second's histogram, to what that second has already.
func (s *memSeries) appendHistogram(t int64, h *histogram.Histogram) int {
	s.count++
	switch {
	case s.touch(t):
		grown := 0
		if s.pending != nil {
			grown = s.sealPending()
		}
		s.pendingTime, s.pending = t, h.Clone()
		return grown + 10*len(h.Bins)
	case s.pending != nil && t == s.pendingTime:
		before := len(s.pending.Bins)
		s.pending.Merge(h)
		s.count--
		return 10 * (len(s.pending.Bins) - before)
	}
	s.lateHistograms.times = append(s.lateHistograms.times, t)
	s.lateHistograms.values = append(s.lateHistograms.values, *h.Clone())
	return 64 + 10*len(h.Bins)
}

func (s *memSeries) sealPending() int {
	if s.rows == nil {
		s.rows, s.began = &rowEncoder{}, s.pendingTime
	}
	before := len(s.rows.bytes)
	s.rows.append(s.pendingTime, s.pending)
	grown := len(s.rows.bytes) - before - 10*len(s.pending.Bins)
	s.pending = nil
	if s.rows.count == frameHistograms {
		s.frames = append(s.frames, s.growingRows())
		s.rows = nil
	}
	return grown
}

func (s *memSeries) growingRows() frame {
	return frame{encodingRows, uint32(s.rows.count), s.began, s.rows.time, slices.Clone(s.rows.bytes)}
}

// numberSources is a copy of the series as sources, which stays valid while the series goes on.
func (s *memSeries) numberSources() []source[float64] {
	var sources []source[float64]
	frames := s.frames[:len(s.frames):len(s.frames)]
	if s.numbers != nil {
		frames = append(frames, s.growingNumbers())
	}
	if len(frames) > 0 {
		sources = append(sources, loaded(frames, batch[float64]{}))
	}
	if len(s.lateNumbers.times) > 0 {
		sources = append(sources, loaded(nil, sortLate(s.lateNumbers, newestNumber)))
	}
	return sources
}

func (s *memSeries) histogramSources() []source[histogram.Histogram] {
	var sources []source[histogram.Histogram]
	frames := s.frames[:len(s.frames):len(s.frames)]
	if s.rows != nil {
		frames = append(frames, s.growingRows())
	}
	if len(frames) > 0 {
		sources = append(sources, loaded(frames, batch[histogram.Histogram]{}))
	}
	if s.pending != nil {
		sources = append(sources, loaded(nil, batch[histogram.Histogram]{
			[]int64{s.pendingTime}, []histogram.Histogram{*s.pending.Clone()}}))
	}
	if len(s.lateHistograms.times) > 0 {
		sources = append(sources, loaded(nil, sortLate(s.lateHistograms, sumOfHistograms)))
	}
	return sources
}

func loaded[V any](frames []frame, samples batch[V]) source[V] {
	s := source[V]{load: func() ([]frame, batch[V], error) { return frames, samples, nil }}
	if n := len(frames); n > 0 {
		s.minTime, s.maxTime = frames[0].minTime, frames[n-1].maxTime
	} else {
		s.minTime, s.maxTime = samples.times[0], samples.times[len(samples.times)-1]
	}
	return s
}

// sortLate copies late samples in the order of their times; those of the same time become one.
func sortLate[V any](late batch[V], combine func(newest, other V) V) batch[V] {
	order := make([]int, len(late.times))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return late.times[order[a]] < late.times[order[b]] })
	var sorted batch[V]
	for _, i := range order {
		if n := len(sorted.times); n > 0 && sorted.times[n-1] == late.times[i] {
			sorted.values[n-1] = combine(late.values[i], sorted.values[n-1])
			continue
		}
		sorted.times, sorted.values = append(sorted.times, late.times[i]), append(sorted.values, late.values[i])
	}
	return sorted
}

// blockFrames is the whole series as frames that ascend and do not overlap, as blocks hold them.
func (s *memSeries) blockFrames() ([]frame, error) {
	if s.kind == Histogram {
		it := newIterator(s.histogramSources(), s.minTime, s.maxTime, decodeHistograms, sumOfHistograms)
		return histogramFrames(it)
	}
	if len(s.lateNumbers.times) == 0 {
		frames := s.frames[:len(s.frames):len(s.frames)]
		if s.numbers != nil {
			frames = append(frames, s.growingNumbers())
		}
		return frames, nil
	}
	return numberFrames(newIterator(s.numberSources(), s.minTime, s.maxTime, decodeNumbers, newestNumber))
}

func numberFrames(it *NumberIterator) ([]frame, error) {
	var frames []frame
	s := memSeries{}
	for it.Next() {
		t, v := it.At()
		s.appendNumber(t, v)
	}
	frames = s.frames
	if s.numbers != nil {
		frames = append(frames, s.growingNumbers())
	}
	return frames, it.Err()
}

func histogramFrames(it *HistogramIterator) ([]frame, error) {
	var frames []frame
	var open batch[histogram.Histogram]
	seal := func() {
		if n := len(open.times); n > 0 {
			frames = append(frames, frame{encodingColumns, uint32(n), open.times[0], open.times[n-1], encodeColumns(open.times, open.values)})
			open.times, open.values = open.times[:0], open.values[:0]
		}
	}
	for it.Next() {
		t, h := it.At()
		open.times, open.values = append(open.times, t), append(open.values, h)
		if len(open.times) == frameHistograms {
			seal()
		}
	}
	seal()
	return frames, it.Err()
}
