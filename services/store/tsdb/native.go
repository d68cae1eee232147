package tsdb

// Native histograms of one series, frame encoding 6. All of a frame have the same schema, zero threshold, custom bounds
// and counter reset hint, and buckets on the same sides of zero; their buckets are the union of all, so that each bucket is
// a column of numbers over time, which differences make small. u and v are uvarint and varint:
//
//	byte counter reset hint · v schema · 8 bytes zero threshold
//	u number of custom bounds, each 8 bytes
//	twice, positive and negative: u number of buckets, each: v index minus the previous one's
//	columns, each u length and encoding.AppendNumbers: sums over the times, counts, zero counts, then each bucket;
//	all but the first over the times 0, 1, 2, …

import (
	"encoding/binary"
	"math"
	"slices"

	"cistern/services/store/tsdb/encoding"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

type nativeHistogram = promhistogram.FloatHistogram

// gaugeHint marks a histogram that is no running total.
const gaugeHint = promhistogram.GaugeType

// indexes is where the buckets of spans lie.
func indexes(spans []promhistogram.Span) []int32 {
	var list []int32
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

func encodeNatives(times []int64, hists []*nativeHistogram) []byte {
	first := hists[0]
	dst := []byte{byte(first.CounterResetHint)}
	dst = binary.AppendVarint(dst, int64(first.Schema))
	dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(first.ZeroThreshold))
	dst = binary.AppendUvarint(dst, uint64(len(first.CustomValues)))
	for _, bound := range first.CustomValues {
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(bound))
	}
	var columns [][]float64
	side := func(spans func(*nativeHistogram) []promhistogram.Span, buckets func(*nativeHistogram) []float64) {
		var union []int32
		for _, h := range hists {
			union = append(union, indexes(spans(h))...)
		}
		slices.Sort(union)
		union = slices.Compact(union)
		dst = binary.AppendUvarint(dst, uint64(len(union)))
		last := int32(0)
		for _, at := range union {
			dst = binary.AppendVarint(dst, int64(at)-int64(last))
			last = at
		}
		base := len(columns)
		for range union {
			columns = append(columns, make([]float64, len(hists)))
		}
		for row, h := range hists {
			values := buckets(h)
			k := 0
			for i, at := range indexes(spans(h)) {
				for union[k] < at {
					k++
				}
				if i < len(values) {
					columns[base+k][row] = values[i]
				}
			}
		}
	}
	for _, get := range []func(*nativeHistogram) float64{
		func(h *nativeHistogram) float64 { return h.Sum },
		func(h *nativeHistogram) float64 { return h.Count },
		func(h *nativeHistogram) float64 { return h.ZeroCount },
	} {
		values := make([]float64, len(hists))
		for i, h := range hists {
			values[i] = get(h)
		}
		columns = append(columns, values)
	}
	side(func(h *nativeHistogram) []promhistogram.Span { return h.PositiveSpans }, func(h *nativeHistogram) []float64 { return h.PositiveBuckets })
	side(func(h *nativeHistogram) []promhistogram.Span { return h.NegativeSpans }, func(h *nativeHistogram) []float64 { return h.NegativeBuckets })
	counter := make([]int64, len(times))
	for i := range counter {
		counter[i] = int64(i)
	}
	var scratch []byte
	for i, values := range columns {
		over := counter
		if i == 0 {
			over = times
		}
		scratch = encoding.AppendNumbers(scratch[:0], over, values)
		dst = binary.AppendUvarint(dst, uint64(len(scratch)))
		dst = append(dst, scratch...)
	}
	return dst
}

// maxBuckets is far above what any client sends: a damaged frame must not eat memory.
const maxBuckets = 1 << 16

func readNatives(src []byte, times []int64, hists []*nativeHistogram) ([]int64, []*nativeHistogram, error) {
	r := entryReader{rest: src}
	shape := nativeHistogram{CounterResetHint: promhistogram.CounterResetHint(r.byte()), Schema: int32(r.varint())}
	shape.ZeroThreshold = math.Float64frombits(binary.LittleEndian.Uint64(r.take8()))
	custom := r.uvarint()
	if custom > uint64(len(r.rest)/8) {
		return times, hists, errFrame
	}
	for range custom {
		shape.CustomValues = append(shape.CustomValues, math.Float64frombits(binary.LittleEndian.Uint64(r.take8())))
	}
	var sides [2][]int32
	for i := range sides {
		n := r.uvarint()
		if n > uint64(len(r.rest)) || n > maxBuckets {
			return times, hists, errFrame
		}
		last := int64(0)
		for range n {
			last += r.varint()
			if last != int64(int32(last)) {
				return times, hists, errFrame
			}
			sides[i] = append(sides[i], int32(last))
		}
	}
	shape.PositiveSpans, shape.NegativeSpans = spansOf(sides[0]), spansOf(sides[1])
	start := len(hists)
	var scratchTimes []int64
	var values []float64
	for i := range 3 + len(sides[0]) + len(sides[1]) {
		run := r.take(r.uvarint())
		if r.bad {
			return times, hists, errFrame
		}
		var err error
		scratchTimes, values, err = encoding.DecodeNumbers(run, scratchTimes[:0], values[:0])
		if err != nil {
			return times, hists, err
		}
		if i == 0 {
			if len(values)*(len(sides[0])+len(sides[1])) > 64<<20/8 {
				return times, hists, errFrame
			}
			times = append(times, scratchTimes...)
			for range values {
				one := shape
				one.PositiveBuckets = make([]float64, len(sides[0]))
				one.NegativeBuckets = make([]float64, len(sides[1]))
				hists = append(hists, &one)
			}
		}
		if len(values) != len(hists)-start {
			return times, hists, errFrame
		}
		for row, v := range values {
			h := hists[start+row]
			switch k := i - 3; {
			case i == 0:
				h.Sum = v
			case i == 1:
				h.Count = v
			case i == 2:
				h.ZeroCount = v
			case k < len(sides[0]):
				h.PositiveBuckets[k] = v
			default:
				h.NegativeBuckets[k-len(sides[0])] = v
			}
		}
	}
	return times, hists, nil
}

// appendNative encodes one native histogram for the journal: uvarint length, then as a frame of one.
func appendNative(dst []byte, h *nativeHistogram) []byte {
	one := encodeNatives([]int64{0}, []*nativeHistogram{h})
	dst = binary.AppendUvarint(dst, uint64(len(one)))
	return append(dst, one...)
}

func readNative(r *entryReader) *nativeHistogram {
	_, hists, err := readNatives(r.take(r.uvarint()), nil, nil)
	if err != nil || len(hists) != 1 {
		r.bad = true
		return nil
	}
	return hists[0]
}

func newestNative(newest, _ *nativeHistogram) *nativeHistogram { return newest }
