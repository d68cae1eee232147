package tsdb

// One series in the head: sealed frames, the points that are in none yet, and what came late.

import (
	"slices"
	"sort"
	"unsafe"

	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

type point struct {
	time  int64
	value float64
}

type memSeries struct {
	// What each sample needs comes first, so that it lies together.
	key     string
	maxTime int64
	open    openRun // numbers behind sealedTo
	ref     uint32
	kind    Kind
	defined bool   // its definition is in the journal since this head began
	has     bool   // a sample was accepted; the times mean something
	own     bool   // only the appliance itself may write to it
	limits  uint32 // its list in the head's limits; 0 for none
	count   uint32

	minTime int64
	// sealedTo is the last time in sealed, which holds frames one behind the other: byte encoding, uvarint count, varint
	// least time minus the previous frame's greatest, uvarint greatest minus least, uvarint length, bytes.
	sealedTo int64
	sealed   []byte
	more     *moreSeries
}

// slabBytes is how much the head asks for at once for its series: whole pages of Go's allocator, which would round a small
// slab up by a fourteenth.
const slabBytes = 64 << 10

// moreSeries is what series have that hold more than numbers in the order of their times.
type moreSeries struct {
	// pending is the histogram of the latest second, encoded, to which more may be added; empty when there is none.
	pending     []byte
	pendingTime int64
	rows        rowEncoder // the seconds before it; of native histograms all that are in no frame
	began       int64      // time of the first row
	*rareSeries            // never nil; &nothing until own was called
}

// rareSeries is what many of those have none of either: a timer's that was never sealed.
type rareSeries struct {
	late       []point    // in the order in which they came
	minutes    rowEncoder // the sums of what was sealed, by minute; one may be there in parts
	sealedRows []frame    // histograms' sealed frames, each with memory of its own: they are too large to be moved about
	lateRows   batch[histogram.Histogram]

	lateNatives batch[*promhistogram.FloatHistogram]
}

// nothing is shared by those who have nothing rare. Nobody writes to it.
var nothing rareSeries

// extra is the series' more, and by how many bytes it grew by that.
func (s *memSeries) extra() (m *moreSeries, grown int) {
	if s.more == nil {
		s.more = &moreSeries{rareSeries: &nothing}
		grown = int(unsafe.Sizeof(moreSeries{}))
	}
	return s.more, grown
}

// own makes room for what is rare.
func (m *moreSeries) own() (grown int) {
	if m.rareSeries != &nothing {
		return 0
	}
	m.rareSeries = &rareSeries{}
	return int(unsafe.Sizeof(rareSeries{}))
}

// touch notes a time, and says whether it is later than all before.
func (s *memSeries) touch(t int64) bool {
	if !s.has {
		s.has, s.minTime, s.maxTime = true, t, t
		return true
	}
	if t > s.maxTime {
		s.maxTime = t
		return true
	}
	s.minTime = min(s.minTime, t)
	return false
}

// What is sealed at a time: small enough that points not sealed cost little, large enough that headers do.
const (
	sealPoints     = 32
	sealHistograms = 60
	sealNatives    = 30
)

// appendNumber adds a number and returns by how many bytes the series grew, about.
func (s *memSeries) appendNumber(t int64, v float64, p *pieces, c *coder) int {
	s.count++
	last := s.maxTime
	if !s.touch(t) {
		m, grown := s.extra()
		grown += m.own()
		m.late = append(m.late, point{t, v})
		return grown + 16
	}
	grown, ok := s.open.append(t, v, last, p)
	if !ok {
		grown = s.sealNumbers(last, p, c)
		more, _ := s.open.append(t, v, last, p)
		grown += more
	}
	return grown
}

// coder is the scratch memory of sealing; whoever changes the head holds it.
type coder struct {
	times   []int64
	values  []float64
	bytes   []byte
	tight   bool // memory is short
	memory  nativeMemory
	natives []*nativeHistogram
	run     encoding.HistogramWriter
	sum     histogram.Histogram
}

// sealNumbers makes a frame of the open run, the last of which is of the time last.
func (s *memSeries) sealNumbers(last int64, p *pieces, c *coder) int {
	c.times, c.values = s.open.read(last, p, c.times[:0], c.values[:0])
	s.open.clear(p)
	first := c.times[0]
	for i := range c.times {
		c.times[i] -= first
	}
	c.bytes = encoding.AppendNumbers(c.bytes[:0], c.times, c.values)
	return s.seal(frame{encoding: encodingNumbers, count: uint32(len(c.times)), minTime: first, maxTime: last, bytes: c.bytes})
}

// seal adds a frame behind the others; its bytes are copied.
func (s *memSeries) seal(f frame) int {
	before := cap(s.sealed)
	if need := len(s.sealed) + len(f.bytes) + 24; need > cap(s.sealed) {
		s.sealed = append(make([]byte, 0, need+need/4), s.sealed...)
	}
	s.sealed = f.append(s.sealed, s.sealedTo)
	s.sealedTo = f.maxTime
	return cap(s.sealed) - before
}

// appendHistogram adds a second's histogram, to what that second has already. It must be one that histogram.Skip accepts.
func (s *memSeries) appendHistogram(t int64, encoded []byte, c *coder) int {
	s.count++
	m, grown := s.extra()
	switch {
	case s.touch(t):
		if len(m.pending) > 0 {
			grown += s.sealPending()
			// Where memory is short frames are short too: rows take five times what a frame does.
			if n := int(m.rows.count); n == frameHistograms || n >= sealHistograms && c.tight || n >= sealHistograms/2 && ends(n, m.began, m.rows.time, t) {
				grown += s.sealRows(c)
			}
		}
		before := cap(m.pending)
		m.pendingTime, m.pending = t, append(m.pending[:0], encoded...)
		return grown + cap(m.pending) - before
	case len(m.pending) > 0 && t == m.pendingTime:
		before := cap(m.pending)
		var other histogram.Histogram
		mustDecode(&c.sum, m.pending)
		mustDecode(&other, encoded)
		c.sum.Merge(&other)
		m.pending = c.sum.Append(m.pending[:0])
		s.count--
		return grown + cap(m.pending) - before
	}
	grown += m.own()
	var late histogram.Histogram
	mustDecode(&late, encoded)
	m.lateRows.times = append(m.lateRows.times, t)
	m.lateRows.values = append(m.lateRows.values, late)
	return grown + 64 + 10*len(late.Bins)
}

// mustDecode decodes what was checked already.
func mustDecode(h *histogram.Histogram, encoded []byte) {
	if _, err := h.Decode(encoded); err != nil {
		panic(err)
	}
}

func (s *memSeries) sealPending() int {
	m := s.more
	if m.rows.count == 0 {
		m.began = m.pendingTime
	}
	before := cap(m.rows.bytes)
	m.rows.append(m.pendingTime, m.pending)
	m.pending = m.pending[:0]
	return cap(m.rows.bytes) - before
}

// sealRows makes a frame of the rows, as blocks have them: writing the block then copies it.
func (s *memSeries) sealRows(c *coder) (grown int) {
	m := s.more
	if m.rows.count == 0 {
		return 0
	}
	f, err := c.frame(&m.rows, 0, nil)
	if err != nil {
		panic(err) // they were just encoded
	}
	f.bytes = slices.Clone(f.bytes)
	grown = m.own()
	m.sealedRows = append(m.sealedRows, f)
	before := cap(m.minutes.bytes)
	c.sumUp(&m.minutes)
	// The rows' memory stays for the next.
	grown += len(f.bytes) + int(unsafe.Sizeof(f)) + cap(m.minutes.bytes) - before
	m.rows = rowEncoder{bytes: m.rows.bytes[:0]}
	return grown
}

// frame is rows, and when there is one a histogram behind them, as blocks have them. Its bytes and c.times, the records'
// times, are valid until the next call.
func (c *coder) frame(rows *rowEncoder, lastTime int64, last []byte) (f frame, err error) {
	n := int(rows.count)
	if len(last) > 0 {
		n++
	}
	c.times = c.times[:0]
	c.run.Begin(n)
	rest, t, step := rows.bytes, int64(0), int64(0)
	for range rows.count {
		if rest, t, step, err = nextRow(rest, len(c.times) == 0, t, step); err != nil {
			return f, err
		}
		if rest, err = c.run.AddEncoded(rest); err != nil {
			return f, errFrame
		}
		c.times = append(c.times, t)
	}
	if len(last) > 0 {
		if _, err := c.run.AddEncoded(last); err != nil {
			return f, errFrame
		}
		c.times = append(c.times, lastTime)
	}
	first := c.times[0]
	for i := range c.times {
		c.times[i] -= first
	}
	c.bytes = c.run.Append(c.bytes[:0], c.times)
	for i := range c.times {
		c.times[i] += first
	}
	return makeFrame(encodingHistograms, c.times, c.bytes), nil
}

// sumUp adds the sums of each minute of the run that was just made to minutes.
func (c *coder) sumUp(minutes *rowEncoder) {
	for from := 0; from < len(c.times); {
		at := floorTo(c.times[from], trackWidth[trackMinute])
		to := from + 1
		for to < len(c.times) && c.times[to] < at+trackWidth[trackMinute] {
			to++
		}
		minutes.appendHistogram(at, c.run.Sum(from, to))
		from = to
	}
}

// growingRows is the rows as a frame. They are only ever added to, until the frame is sealed and their memory is used
// again: who keeps the frame clones its bytes.
func (m *moreSeries) growingRows() frame {
	return frame{encoding: encodingRows, count: m.rows.count, minTime: m.began, maxTime: m.rows.time, bytes: m.rows.bytes}
}

// histogramFrames is all histograms but the late ones as frames, and their sums by minute in two parts, unless there are
// too few for these to be kept. The head is frozen.
func (s *memSeries) histogramFrames(c *coder) (frames []frame, minutes, last rowEncoder, err error) {
	m := s.more
	frames = s.frames()
	for i := range frames {
		if frames[i].encoding != encodingHistograms {
			return nil, minutes, last, errFrame
		}
	}
	few := s.count < worthwhile*enoughTimes
	if !few {
		minutes = m.minutes
	}
	if m.rows.count > 0 || len(m.pending) > 0 {
		f, err := c.frame(&m.rows, m.pendingTime, m.pending)
		if err != nil {
			return nil, minutes, last, err
		}
		f.bytes = slices.Clone(f.bytes)
		frames = append(frames, f)
		if !few {
			c.sumUp(&last)
		}
	}
	return frames, minutes, last, nil
}

// appendNative adds a native histogram, a row.
func (s *memSeries) appendNative(t int64, row []byte, c *coder) int {
	s.count++
	m, grown := s.extra()
	if !s.touch(t) {
		h := standalone(row)
		grown += m.own()
		m.lateNatives.times, m.lateNatives.values = append(m.lateNatives.times, t), append(m.lateNatives.values, h)
		return grown + 200 + 8*len(h.PositiveBuckets) + 8*len(h.NegativeBuckets)
	}
	if m.rows.count == 0 {
		m.began = t
	}
	before := cap(m.rows.bytes)
	m.rows.append(t, row)
	grown += cap(m.rows.bytes) - before
	if n := m.rows.count; n == frameNatives || n >= sealNatives && c.tight {
		grown += s.sealNativeRows(c)
	}
	return grown
}

// sealNativeRows makes frames of the rows, as blocks have them.
func (s *memSeries) sealNativeRows(c *coder) (grown int) {
	m := s.more
	grown = m.own()
	for _, f := range m.nativeFrames(c) {
		m.sealedRows = append(m.sealedRows, f)
		grown += len(f.bytes) + int(unsafe.Sizeof(f))
	}
	m.rows = rowEncoder{bytes: m.rows.bytes[:0]}
	return grown
}

// nativeFrames is the rows of native histograms as frames.
func (m *moreSeries) nativeFrames(c *coder) []frame {
	if m.rows.count == 0 {
		return nil
	}
	c.memory.again()
	times, hists, err := c.memory.decodeNativeRows(&m.rows, c.times[:0], c.natives[:0])
	if err != nil {
		panic(err) // they were just encoded
	}
	c.times, c.natives = times[:0], hists[:0]
	frames := nativeFrames(times, hists)
	for i := range frames {
		frames[i].bytes = slices.Clip(frames[i].bytes)
	}
	return frames
}

// frames is the sealed ones; they share the series' memory, which is only ever added to.
func (s *memSeries) frames() []frame {
	if s.more != nil && len(s.more.sealedRows) > 0 {
		return slices.Clone(s.more.sealedRows)
	}
	var list []frame
	last := int64(0)
	for r := (entryReader{rest: s.sealed}); len(r.rest) > 0 && !r.bad; {
		var f frame
		f.readHeader(&r, last)
		f.bytes = r.take(uint64(f.length))
		last = f.maxTime
		list = append(list, f)
	}
	return list
}

// copies is memory for copies of many series: one allocation holds what some hundred of them need.
type copies struct {
	times   []int64
	values  []float64
	frames  []frame
	sources []source[float64]
}

// again gives the memory for others, when nobody reads the copies any more.
func (c *copies) again() {
	c.times, c.values, c.frames, c.sources = c.times[:0], c.values[:0], c.frames[:0], c.sources[:0]
}

// room makes room for n more in list, which keeps what it has where it is.
func room[V any](list []V, n, more int) []V {
	if cap(list)-len(list) < n {
		return make([]V, 0, max(n, more))
	}
	return list
}

// numberSources is a copy of what the series has in [minTime, maxTime], and maybe a little more, as sources, which stay valid
// while the series goes on.
func (s *memSeries) numberSources(p *pieces, minTime, maxTime int64, c *copies) []source[float64] {
	c.sources = room(c.sources, 3, 200) // 32 KB
	first := len(c.sources)
	if len(s.sealed) > 0 && s.sealedTo >= minTime {
		if frames := s.framesWithin(minTime, maxTime, c); len(frames) > 0 {
			c.sources = append(c.sources, source[float64]{frames: frames, minTime: frames[0].minTime, maxTime: frames[len(frames)-1].maxTime})
		}
	}
	if n := int(s.open.count); n > 0 && s.maxTime >= minTime {
		c.times, c.values = room(c.times, n, 4096), room(c.values, n, 4096)
		from := len(c.times)
		c.times, c.values = s.open.read(s.maxTime, p, c.times, c.values)
		// What is not asked for makes way for the next series'.
		begin := from
		for begin < len(c.times)-1 && c.times[begin+1] <= minTime {
			begin++
		}
		to := from + copy(c.times[from:], c.times[begin:])
		copy(c.values[from:], c.values[begin:])
		c.times, c.values = c.times[:to], c.values[:to]
		tail := batch[float64]{c.times[from:to:to], c.values[from:to:to]}
		c.sources = append(c.sources, source[float64]{samples: tail, minTime: tail.times[0], maxTime: tail.times[len(tail.times)-1]})
	}
	if s.more != nil && len(s.more.late) > 0 {
		var late batch[float64]
		for _, p := range s.more.late {
			late.times, late.values = append(late.times, p.time), append(late.values, p.value)
		}
		c.sources = append(c.sources, loaded(nil, sortLate(late, newestNumber)))
	}
	return c.sources[first:len(c.sources):len(c.sources)]
}

// framesWithin is the sealed frames that have something in [minTime, maxTime].
func (s *memSeries) framesWithin(minTime, maxTime int64, c *copies) []frame {
	first := len(c.frames)
	last := int64(0)
	for r := (entryReader{rest: s.sealed}); len(r.rest) > 0 && !r.bad; {
		var f frame
		f.readHeader(&r, last)
		f.bytes = r.take(uint64(f.length))
		last = f.maxTime
		if f.maxTime < minTime || f.minTime > maxTime {
			continue
		}
		if len(c.frames) == cap(c.frames) { // those of this series move along
			c.frames = append(make([]frame, 0, max(256, 2*(len(c.frames)-first))), c.frames[first:]...)
			first = 0
		}
		c.frames = append(c.frames, f)
	}
	return c.frames[first:len(c.frames):len(c.frames)]
}

func (s *memSeries) histogramSources() []source[histogram.Histogram] {
	var sources []source[histogram.Histogram]
	if frames := s.frames(); len(frames) > 0 {
		sources = append(sources, loaded(frames, batch[histogram.Histogram]{}))
	}
	m := s.more
	if m == nil {
		return sources
	}
	if m.rows.count > 0 {
		f := m.growingRows()
		f.bytes = slices.Clone(f.bytes)
		sources = append(sources, loaded([]frame{f}, batch[histogram.Histogram]{}))
	}
	if len(m.pending) > 0 {
		var h histogram.Histogram
		mustDecode(&h, m.pending)
		sources = append(sources, loaded(nil, batch[histogram.Histogram]{[]int64{m.pendingTime}, []histogram.Histogram{h}}))
	}
	if len(m.lateRows.times) > 0 {
		sources = append(sources, loaded(nil, sortLate(m.lateRows, sumOfHistograms)))
	}
	return sources
}

func (s *memSeries) nativeSources() []source[*promhistogram.FloatHistogram] {
	var sources []source[*promhistogram.FloatHistogram]
	if frames := s.frames(); len(frames) > 0 {
		sources = append(sources, loaded(frames, batch[*promhistogram.FloatHistogram]{}))
	}
	m := s.more
	if m == nil {
		return sources
	}
	if m.rows.count > 0 {
		var memory nativeMemory
		times, hists, err := memory.decodeNativeRows(&m.rows, nil, nil)
		if err != nil {
			panic(err) // they were just encoded
		}
		sources = append(sources, loaded(nil, batch[*promhistogram.FloatHistogram]{times, hists}))
	}
	if len(m.lateNatives.times) > 0 {
		sources = append(sources, loaded(nil, sortLate(m.lateNatives, newestNative)))
	}
	return sources
}

func loaded[V any](frames []frame, samples batch[V]) source[V] {
	s := source[V]{frames: frames, samples: samples}
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
