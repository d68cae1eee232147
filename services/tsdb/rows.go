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
	e.bytes = binary.AppendVarint(e.bytes, step-e.step)
	e.bytes = append(e.bytes, encoded...)
	e.time, e.step = t, step
	if e.count == 0 { // the first "step" is the time itself
		e.step = 0
	}
	e.count++
}

// decodeRows appends a frame's histograms; they share two arrays, which no other frame uses.
func decodeRows(frame []byte, count int, times []int64, hists []histogram.Histogram) ([]int64, []histogram.Histogram, error) {
	// Every bin and every count takes a byte at least, and most take one: rarely do these grow.
	all := histogram.Histogram{Bins: make([]histogram.Bin, 0, len(frame)/2), Counts: make([]uint64, 0, len(frame)/2)}
	return decodeRowsInto(&all, frame, count, times, hists)
}

// decodeRowsInto is decodeRows into the two arrays of all, which are used from their beginning.
func decodeRowsInto(all *histogram.Histogram, frame []byte, count int, times []int64, hists []histogram.Histogram) ([]int64, []histogram.Histogram, error) {
	var t, step int64
	all.Reset()
	for i := range count {
		change, size := binary.Varint(frame)
		if size <= 0 {
			return times, hists, errFrame
		}
		step += change
		t += step
		if i == 0 {
			step = 0
		}
		start := len(all.Bins)
		rest, err := all.DecodeBehind(frame[size:])
		if err != nil {
			return times, hists, errFrame
		}
		frame = rest
		end := len(all.Bins)
		times = append(times, t)
		hists = append(hists, histogram.Histogram{Bins: all.Bins[start:end:end], Counts: all.Counts[start:end:end]})
	}
	return times, hists, nil
}
