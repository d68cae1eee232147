package tsdb

// One native histogram by itself, as the journal and the head have it. u and v are uvarint and varint:
//
//	byte 128 + counter reset hint, + 4 when all counts are whole numbers, + 8 when the bounds are those of Cistern's bins ·
//	v schema · 8 bytes zero threshold · u number of custom bounds, each 8 bytes; or, of Cistern's bins, a byte: 1 for
//	histogram.UsualBounds, 2 for histogram.AllBounds · 8 bytes sum · the count · the zero count
//	twice, positive and negative: u number of spans, each: v offset, u length; u number of buckets, their counts
//
// Whole counts are u, those of buckets v, minus the one before; other counts are 8 bytes each.

import (
	"encoding/binary"
	"math"
	"slices"

	"cistern/services/histogram"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

const (
	nativeRow      = 0x80
	nativeRowWhole = 4
	nativeRowBins  = 8
	nativeRowHint  = 3
)

// wholeCount says whether a count is a whole number that a uvarint gives back to the bit.
func wholeCount(v float64) bool {
	return v >= 0 && v < 1<<53 && v == math.Trunc(v) && !(v == 0 && math.Signbit(v))
}

// ownBounds is which bounds of Cistern's bins a histogram has: 0 for others. Those of recording rules over Cistern's histograms
// have them, which would be 15 KiB in each row.
func ownBounds(custom []float64) byte {
	for which, known := range [...][]float64{1: histogram.UsualBounds(), 2: nil} {
		if which == 2 && len(custom) > len(histogram.UsualBounds()) {
			known = histogram.AllBounds()
		}
		if len(known) == len(custom) && len(known) > 0 && (&known[0] == &custom[0] || slices.Equal(known, custom)) {
			return byte(which)
		}
	}
	return 0
}

// nativeRowRoom is how long a row is at most.
func nativeRowRoom(h *nativeHistogram) int {
	return 100 + 8*len(h.CustomValues) + 10*(len(h.PositiveBuckets)+len(h.NegativeBuckets)) + 2*binary.MaxVarintLen64*(len(h.PositiveSpans)+len(h.NegativeSpans))
}

func appendNativeRow(dst []byte, h *nativeHistogram) []byte {
	whole := wholeCount(h.Count) && wholeCount(h.ZeroCount)
	for _, list := range [...][]float64{h.PositiveBuckets, h.NegativeBuckets} {
		for _, n := range list {
			whole = whole && wholeCount(n)
		}
	}
	form := byte(nativeRow) | byte(h.CounterResetHint)&nativeRowHint
	if whole {
		form |= nativeRowWhole
	}
	bins := ownBounds(h.CustomValues)
	if bins != 0 {
		form |= nativeRowBins
	}
	dst = append(dst, form)
	dst = binary.AppendVarint(dst, int64(h.Schema))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(h.ZeroThreshold))
	if bins != 0 {
		dst = append(dst, bins)
	} else {
		dst = binary.AppendUvarint(dst, uint64(len(h.CustomValues)))
		for _, bound := range h.CustomValues {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(bound))
		}
	}
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(h.Sum))
	for _, n := range [...]float64{h.Count, h.ZeroCount} {
		if whole {
			dst = binary.AppendUvarint(dst, uint64(n))
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(n))
		}
	}
	dst = appendSide(dst, h.PositiveSpans, h.PositiveBuckets, whole)
	return appendSide(dst, h.NegativeSpans, h.NegativeBuckets, whole)
}

func appendSide(dst []byte, spans []promhistogram.Span, buckets []float64, whole bool) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(spans)))
	for _, s := range spans {
		dst = binary.AppendVarint(dst, int64(s.Offset))
		dst = binary.AppendUvarint(dst, uint64(s.Length))
	}
	dst = binary.AppendUvarint(dst, uint64(len(buckets)))
	last := int64(0)
	for _, n := range buckets {
		if whole {
			dst = binary.AppendVarint(dst, int64(n)-last)
			last = int64(n)
		} else {
			dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(n))
		}
	}
	return dst
}

// nativeMemory holds what native histograms point to. It is used again when nobody has them any more.
type nativeMemory struct {
	hists  []nativeHistogram
	floats []float64
	spans  []promhistogram.Span
}

func (m *nativeMemory) again() { m.hists, m.floats, m.spans = m.hists[:0], m.floats[:0], m.spans[:0] }

func (m *nativeMemory) takeFloats(n int) []float64 {
	m.floats = room(m.floats, n, 2048)
	start := len(m.floats)
	m.floats = m.floats[:start+n]
	return m.floats[start : start+n : start+n]
}

func (m *nativeMemory) takeSpans(n int) []promhistogram.Span {
	m.spans = room(m.spans, n, 512)
	start := len(m.spans)
	m.spans = m.spans[:start+n]
	return m.spans[start : start+n : start+n]
}

// read reads a row; r is bad when it is none. What it holds is the memory's.
func (m *nativeMemory) read(r *entryReader) *nativeHistogram {
	m.hists = room(m.hists, 1, 64)
	m.hists = m.hists[:len(m.hists)+1]
	h := &m.hists[len(m.hists)-1]
	form := r.byte()
	if form&nativeRow == 0 || form&^(nativeRow|nativeRowWhole|nativeRowBins|nativeRowHint) != 0 {
		r.bad = true
		return nil
	}
	whole := form&nativeRowWhole != 0
	schema := r.varint()
	*h = nativeHistogram{CounterResetHint: promhistogram.CounterResetHint(form & nativeRowHint), Schema: int32(schema)}
	r.bad = r.bad || int64(h.Schema) != schema
	h.ZeroThreshold = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
	custom := uint64(0)
	if form&nativeRowBins == 0 {
		custom = r.uvarint()
	} else {
		switch r.byte() {
		case 1:
			h.CustomValues = histogram.UsualBounds()
		case 2:
			h.CustomValues = histogram.AllBounds()
		default:
			r.bad = true
		}
	}
	if r.bad || custom > uint64(len(r.rest)/8) {
		r.bad = true
		return nil
	}
	if custom > 0 {
		h.CustomValues = m.takeFloats(int(custom))
		for i := range h.CustomValues {
			h.CustomValues[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
		}
	}
	h.Sum = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
	for _, n := range [...]*float64{&h.Count, &h.ZeroCount} {
		if whole {
			*n = float64(r.uvarint())
		} else {
			*n = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
		}
	}
	h.PositiveSpans, h.PositiveBuckets = m.readSide(r, whole)
	h.NegativeSpans, h.NegativeBuckets = m.readSide(r, whole)
	if r.bad {
		return nil
	}
	return h
}

func (m *nativeMemory) readSide(r *entryReader, whole bool) (spans []promhistogram.Span, buckets []float64) {
	n := r.uvarint()
	if r.bad || n > uint64(len(r.rest)/2) {
		r.bad = true
		return nil, nil
	}
	if n > 0 {
		spans = m.takeSpans(int(n))
		for i := range spans {
			offset, length := r.varint(), r.uvarint()
			spans[i] = promhistogram.Span{Offset: int32(offset), Length: uint32(length)}
			r.bad = r.bad || offset != int64(int32(offset)) || length > maxBuckets
		}
	}
	n = r.uvarint()
	if r.bad || n > uint64(len(r.rest)) || !whole && n > uint64(len(r.rest)/8) {
		r.bad = true
		return nil, nil
	}
	if n == 0 {
		return spans, nil
	}
	buckets = m.takeFloats(int(n))
	if !whole {
		for i := range buckets {
			buckets[i] = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
		}
		return spans, buckets
	}
	last, rest := int64(0), r.rest
	for i := range buckets {
		v, size := int64(0), 0
		if len(rest) > 0 && rest[0] < 0x80 { // nearly all
			v, size = int64(rest[0]>>1)^-int64(rest[0]&1), 1
		} else if v, size = binary.Varint(rest); size <= 0 {
			r.bad = true
			return nil, nil
		}
		rest = rest[size:]
		last += v
		buckets[i] = float64(last)
	}
	r.rest = rest
	return spans, buckets
}

// nativeRowOf is a row of a histogram as the journal had it before there were rows.
func nativeRowOf(old []byte) ([]byte, error) {
	_, hists, _, err := readNatives(old, &nativeMemory{}, nil, nil)
	if err != nil || len(hists) != 1 {
		return nil, errFrame
	}
	return appendNativeRow(nil, hists[0]), nil
}

// standalone is a row as a histogram that shares no memory.
func standalone(row []byte) *nativeHistogram {
	var m nativeMemory
	h := m.read(&entryReader{rest: row})
	if h == nil {
		panic("a native histogram that was just encoded cannot be read")
	}
	return h
}

// decodeNativeRows is the histograms of rows, ascending in time, in the memory.
func (m *nativeMemory) decodeNativeRows(rows *rowEncoder, times []int64, hists []*nativeHistogram) ([]int64, []*nativeHistogram, error) {
	times, hists = slices.Grow(times, int(rows.count)), slices.Grow(hists, int(rows.count))
	rest, t, step := rows.bytes, int64(0), int64(0)
	for i := range rows.count {
		var err error
		if rest, t, step, err = nextRow(rest, i == 0, t, step); err != nil {
			return times, hists, err
		}
		r := entryReader{rest: rest}
		h := m.read(&r)
		if h == nil {
			return times, hists, errFrame
		}
		rest = r.rest
		times, hists = append(times, t), append(hists, h)
	}
	return times, hists, nil
}
