package tsdb

// Native histograms of one series, frame encodings 6 and 8. All of a frame have the same schema, zero threshold, custom bounds
// and counter reset hint, and buckets on the same sides of zero; their buckets are the union of all, so that each bucket is
// a column of numbers over time, which differences make small. u and v are uvarint and varint:
//
//	byte counter reset hint · v schema · 8 bytes zero threshold
//	u number of custom bounds, each 8 bytes
//	twice, positive and negative: u number of buckets, each: v index minus the previous one's
//	columns, each u length and encoding.AppendNumbers: sums over the times, counts, zero counts, then each bucket;
//	all but the first over the times 0, 1, 2, …
//
// Encoding 8 is that of rollups, and has a byte before the same: 1 when no histogram of which a record is the last was a reset
// of a running total or the mark of its end, compared with the one before in the block, else 0. So what was measured
// between two records is their difference.

import (
	"encoding/binary"
	"math"
	"slices"
	"sync"

	"cistern/services/store/tsdb/encoding"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

type nativeHistogram = promhistogram.FloatHistogram

// gaugeHint marks a histogram that is no running total.
const gaugeHint = promhistogram.GaugeType

// appendIndexes appends where the buckets of spans lie.
func appendIndexes(list []int32, spans []promhistogram.Span) []int32 {
	at := int32(0)
	for _, s := range spans {
		at += s.Offset
		for range s.Length {
			list = append(list, at)
			at++
		}
	}
	return list
}

func spansOf(list []int32) []promhistogram.Span {
	var spans []promhistogram.Span
	next := int32(0)
	for i, at := range list {
		if i > 0 && at == next {
			spans[len(spans)-1].Length++
		} else {
			spans = append(spans, promhistogram.Span{Offset: at - next, Length: 1})
		}
		next = at + 1
	}
	return spans
}

// sameLayout says whether two can share a frame. One without buckets below (above) zero must not get empty ones from
// those that have some: its zero bucket would reach below (above) zero for PromQL then.
func sameLayout(a, b *nativeHistogram) bool {
	return a.CounterResetHint == b.CounterResetHint && a.Schema == b.Schema &&
		(len(a.PositiveBuckets) == 0) == (len(b.PositiveBuckets) == 0) &&
		(len(a.NegativeBuckets) == 0) == (len(b.NegativeBuckets) == 0) &&
		math.Float64bits(a.ZeroThreshold) == math.Float64bits(b.ZeroThreshold) &&
		slices.EqualFunc(a.CustomValues, b.CustomValues, func(x, y float64) bool { return math.Float64bits(x) == math.Float64bits(y) })
}

// nativeFrames encodes histograms, ascending in time, as few frames as their layouts allow.
func nativeFrames(times []int64, hists []*nativeHistogram) []frame {
	var frames []frame
	for len(hists) > 0 {
		n := 1
		for n < len(hists) && n < frameNatives && sameLayout(hists[0], hists[n]) {
			n++
		}
		frames = append(frames, makeFrame(encodingNatives, times[:n], encodeNatives(relative(times[:n]), hists[:n])))
		times, hists = times[n:], hists[n:]
	}
	return frames
}

// nativeScratch is the memory of encodeNatives.
type nativeScratch struct {
	union   []int32
	cells   []float64
	columns [][]float64
	counter []int64
	bytes   []byte
}

var nativeScratches = sync.Pool{New: func() any { return &nativeScratch{} }}

// column is one more column of n numbers, all 0.
func (s *nativeScratch) column(n int) []float64 {
	s.cells = room(s.cells, n, 32<<10)
	start := len(s.cells)
	s.cells = s.cells[:start+n]
	cells := s.cells[start : start+n : start+n]
	clear(cells)
	s.columns = append(s.columns, cells)
	return cells
}

// side adds the columns of the buckets on one side of zero.
func (s *nativeScratch) side(dst []byte, hists []*nativeHistogram, spans func(*nativeHistogram) []promhistogram.Span, buckets func(*nativeHistogram) []float64) []byte {
	s.union = s.union[:0]
	var last []promhistogram.Span
	for i, h := range hists {
		if list := spans(h); i == 0 || !slices.Equal(list, last) { // mostly those of the one before
			s.union, last = appendIndexes(s.union, list), list
		}
	}
	slices.Sort(s.union)
	s.union = slices.Compact(s.union)
	dst = binary.AppendUvarint(dst, uint64(len(s.union)))
	at := int32(0)
	for _, next := range s.union {
		dst = binary.AppendVarint(dst, int64(next)-int64(at))
		at = next
	}
	base := len(s.columns)
	for range s.union {
		s.column(len(hists))
	}
	for row, h := range hists {
		values, at, i, k := buckets(h), int32(0), 0, 0
		for _, span := range spans(h) {
			at += span.Offset
			for range span.Length {
				for s.union[k] < at {
					k++
				}
				if i < len(values) {
					s.columns[base+k][row] = values[i]
				}
				i++
				at++
			}
		}
	}
	return dst
}

func encodeNatives(times []int64, hists []*nativeHistogram) []byte {
	first := hists[0]
	dst := []byte{byte(first.CounterResetHint)}
	dst = binary.AppendVarint(dst, int64(first.Schema))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(first.ZeroThreshold))
	dst = binary.AppendUvarint(dst, uint64(len(first.CustomValues)))
	for _, bound := range first.CustomValues {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(bound))
	}
	s := nativeScratches.Get().(*nativeScratch)
	defer nativeScratches.Put(s)
	s.cells, s.columns, s.counter = s.cells[:0], s.columns[:0], s.counter[:0]
	sums, counts, zeros := s.column(len(hists)), s.column(len(hists)), s.column(len(hists))
	for i, h := range hists {
		sums[i], counts[i], zeros[i] = h.Sum, h.Count, h.ZeroCount
		s.counter = append(s.counter, int64(i))
	}
	dst = s.side(dst, hists, func(h *nativeHistogram) []promhistogram.Span { return h.PositiveSpans }, func(h *nativeHistogram) []float64 { return h.PositiveBuckets })
	dst = s.side(dst, hists, func(h *nativeHistogram) []promhistogram.Span { return h.NegativeSpans }, func(h *nativeHistogram) []float64 { return h.NegativeBuckets })
	for i, values := range s.columns {
		over := s.counter
		if i == 0 {
			over = times
		}
		s.bytes = encoding.AppendNumbers(s.bytes[:0], over, values)
		dst = binary.AppendUvarint(dst, uint64(len(s.bytes)))
		dst = append(dst, s.bytes...)
	}
	return dst
}

// maxBuckets is far above what any client sends: a damaged frame must not eat memory.
const maxBuckets = 1 << 16

// readNatives appends a frame's histograms, which share the memory. rising says that none of a running total's counts is less
// than in the one before, so that none of them is a reset but maybe the first; false says nothing.
func readNatives(src []byte, m *nativeMemory, times []int64, hists []*nativeHistogram) (_ []int64, _ []*nativeHistogram, rising bool, err error) {
	r := entryReader{rest: src}
	shape := nativeHistogram{CounterResetHint: promhistogram.CounterResetHint(r.byte()), Schema: int32(r.varint())}
	shape.ZeroThreshold = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
	custom := r.uvarint()
	if custom > uint64(len(r.rest)/8) {
		return times, hists, false, errFrame
	}
	for range custom {
		shape.CustomValues = append(shape.CustomValues, math.Float64frombits(binary.LittleEndian.Uint64(r.take8())))
	}
	var sides [2][]int32
	for i := range sides {
		n := r.uvarint()
		if n > uint64(len(r.rest)) || n > maxBuckets {
			return times, hists, false, errFrame
		}
		last := int64(0)
		for range n {
			last += r.varint()
			if last != int64(int32(last)) {
				return times, hists, false, errFrame
			}
			sides[i] = append(sides[i], int32(last))
		}
	}
	shape.PositiveSpans, shape.NegativeSpans = spansOf(sides[0]), spansOf(sides[1])
	start := len(hists)
	run := nativeRuns.Get().(*nativeColumn)
	defer nativeRuns.Put(run)
	rising = risingHint(shape.CounterResetHint)
	for i := range 3 + len(sides[0]) + len(sides[1]) {
		bytes := r.take(r.uvarint())
		if r.bad || run.Open(bytes, 0) != nil {
			return times, hists, false, errFrame
		}
		if i == 0 {
			if run.N*(len(sides[0])+len(sides[1])) > 64<<20/8 {
				return times, hists, false, errFrame
			}
			times = run.AppendTimes(times)
			m.hists = room(m.hists, run.N, run.N)
			for range run.N {
				m.hists = append(m.hists, shape)
				one := &m.hists[len(m.hists)-1]
				one.PositiveBuckets, one.NegativeBuckets = m.takeFloats(len(sides[0])), m.takeFloats(len(sides[1]))
				hists = append(hists, one)
			}
		}
		if run.N != len(hists)-start {
			return times, hists, false, errFrame
		}
		values := slices.Grow(run.values[:0], run.N)[:run.N]
		run.values = values
		if err := run.Values(values); err != nil {
			return times, hists, false, errFrame
		}
		rising = rising && (i == 0 || run.Rising)
		rows := hists[start:]
		switch k := i - 3; {
		case i == 0:
			for row, v := range values {
				rows[row].Sum = v
			}
		case i == 1:
			for row, v := range values {
				rows[row].Count = v
			}
		case i == 2:
			for row, v := range values {
				rows[row].ZeroCount = v
			}
		case k < len(sides[0]):
			for row, v := range values {
				rows[row].PositiveBuckets[k] = v
			}
		default:
			k -= len(sides[0])
			for row, v := range values {
				rows[row].NegativeBuckets[k] = v
			}
		}
	}
	return times, hists, rising, nil
}

// risingHint says whether histograms with a hint are no resets when none of their counts falls.
func risingHint(hint promhistogram.CounterResetHint) bool {
	return hint != gaugeHint && hint != promhistogram.CounterReset
}

// nativeColumn reads the columns of a frame.
type nativeColumn struct {
	encoding.NumberRun
	values []float64
}

var nativeRuns = sync.Pool{New: func() any { return &nativeColumn{} }}

func newestNative(newest, _ *nativeHistogram) *nativeHistogram { return newest }
