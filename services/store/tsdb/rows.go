package tsdb

// Histograms of one series as they grow in the head, frame encoding 2: for each the change of the step between times
// (varint, ms; the first time is the clock's) and the histogram as package histogram encodes it.

import (
	"encoding/binary"

	"cistern/services/histogram"
)

type rowEncoder struct {
	bytes      []byte
	count      uint32
	time, step int64
}

// append adds a histogram, encoded.
func (e *rowEncoder) append(t int64, encoded []byte) {
	step := t - e.time
	e.room(binary.MaxVarintLen64 + len(encoded))
	e.bytes = binary.AppendVarint(e.bytes, step-e.step)
	e.bytes = append(e.bytes, encoded...)
	e.time, e.step = t, step
	if e.count == 0 { // the first "step" is the time itself
		e.step = 0
	}
	e.count++
}

// room makes room for n bytes more, and for little beyond: there are very many series with few rows each.
func (e *rowEncoder) room(n int) {
	need := len(e.bytes) + n
	if need <= cap(e.bytes) {
		return
	}
	want := need + need/8
	if need > 1<<10 {
		want = need + need/4
	}
	// As much as the allocator gives for that.
	e.bytes = append(append([]byte(nil), make([]byte, want)...)[:0], e.bytes...)
}

// appendHistogram is append for what is not encoded yet.
func (e *rowEncoder) appendHistogram(t int64, h *histogram.Histogram) {
	e.append(t, nil)
	e.bytes = h.Append(e.bytes)
}

// nextRow reads the time of a row; its histogram is at the front of rest. first says that no row was before.
func nextRow(rows []byte, first bool, t, step int64) (rest []byte, _, _ int64, err error) {
	change, size := binary.Varint(rows)
	if size <= 0 {
		return nil, 0, 0, errFrame
	}
	if first { // the first "step" is the time itself
		return rows[size:], change, 0, nil
	}
	step += change
	return rows[size:], t + step, step, nil
}

// decodeRows appends a frame's histograms; they share two arrays, which no other frame uses.
func decodeRows(frame []byte, count int, times []int64, hists []histogram.Histogram) (_ []int64, _ []histogram.Histogram, err error) {
	// Every bin and every count takes a byte at least, and most take one: rarely do these grow.
	all := histogram.Histogram{Bins: make([]histogram.Bin, 0, len(frame)/2), Counts: make([]uint64, 0, len(frame)/2)}
	var t, step int64
	for i := range count {
		if frame, t, step, err = nextRow(frame, i == 0, t, step); err != nil {
			return times, hists, err
		}
		start := len(all.Bins)
		if frame, err = all.DecodeBehind(frame); err != nil {
			return times, hists, errFrame
		}
		end := len(all.Bins)
		times = append(times, t)
		hists = append(hists, histogram.Histogram{Bins: all.Bins[start:end:end], Counts: all.Counts[start:end:end], Offset: all.Offset})
	}
	return times, hists, nil
}
