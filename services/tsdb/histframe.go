package tsdb

// Histograms of one series, one after the other. Two encodings of a frame:
//
// 2, rows, which grow in the head: for each histogram the change of the step between times (varint, ms) and the
// histogram as package histogram encodes it.
//
// 3, columns, in blocks: four columns, each as uvarint length and bytes, so that a reader takes only what it needs and
// like stands next to like:
//
//	times:  varint, the first time, then the change of the step
//	sizes:  uvarint, the number of bins
//	bins:   varint, the first bin minus the previous histogram's first bin; uvarint steps to the others
//	counts: uvarint
//
// Cumulative checkpoints and rollups will be frames of further encodings beside these; see frame.

import (
	"encoding/binary"

	"cistern/services/histogram"
)

type rowEncoder struct {
	bytes      []byte
	count      uint16
	time, step int64
}

func (e *rowEncoder) append(t int64, h *histogram.Histogram) {
	step := t - e.time
	e.bytes = binary.AppendVarint(e.bytes, step-e.step)
	e.bytes = h.Append(e.bytes)
	e.time, e.step = t, step
	if e.count == 0 { // the first "step" is the time itself
		e.step = 0
	}
	e.count++
}

func decodeRows(frame []byte, count int, times []int64, hists []histogram.Histogram) ([]int64, []histogram.Histogram, error) {
	var t, step int64
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
		var h histogram.Histogram
		rest, err := h.Decode(frame[size:])
		if err != nil {
			return times, hists, errFrame
		}
		frame = rest
		times, hists = append(times, t), append(hists, h)
	}
	return times, hists, nil
}

func encodeColumns(times []int64, hists []histogram.Histogram) []byte {
	var columns [4][]byte
	var last, step int64
	previous := int64(0)
	for i, h := range hists {
		now := times[i] - last
		columns[0] = binary.AppendVarint(columns[0], now-step)
		last, step = times[i], now
		if i == 0 {
			step = 0
		}
		columns[1] = binary.AppendUvarint(columns[1], uint64(len(h.Bins)))
		for k, bin := range h.Bins {
			if k == 0 {
				columns[2] = binary.AppendVarint(columns[2], int64(bin)-previous)
				previous = int64(bin)
			} else {
				columns[2] = binary.AppendUvarint(columns[2], uint64(int(bin)-int(h.Bins[k-1])))
			}
			columns[3] = binary.AppendUvarint(columns[3], h.Counts[k])
		}
	}
	var frame []byte
	for _, column := range columns {
		frame = binary.AppendUvarint(frame, uint64(len(column)))
		frame = append(frame, column...)
	}
	return frame
}

// decodeColumns appends a frame's histograms; they share two arrays, which no other frame uses.
func decodeColumns(frame []byte, count int, times []int64, hists []histogram.Histogram) ([]int64, []histogram.Histogram, error) {
	var columns [4][]byte
	for i := range columns {
		length, size := binary.Uvarint(frame)
		if size <= 0 || length > uint64(len(frame)-size) {
			return times, hists, errFrame
		}
		columns[i], frame = frame[size:size+int(length)], frame[size+int(length):]
	}
	// Every bin has at least a byte in its column, so these cannot be made to grow beyond the frame's size.
	bins, counts := make([]histogram.Bin, 0, len(columns[2])), make([]uint64, 0, len(columns[3]))
	var t, step, first int64
	for i := range count {
		change, size := binary.Varint(columns[0])
		n, sizeN := binary.Uvarint(columns[1])
		if size <= 0 || sizeN <= 0 || n > uint64(len(columns[2])) || n > uint64(len(columns[3])) {
			return times, hists, errFrame
		}
		columns[0], columns[1] = columns[0][size:], columns[1][sizeN:]
		step += change
		t += step
		if i == 0 {
			step = 0
		}
		start, bin := len(bins), int64(0)
		for k := range n {
			var size int
			if k == 0 {
				var change int64
				change, size = binary.Varint(columns[2])
				bin = first + change
				first = bin
			} else {
				var up uint64
				up, size = binary.Uvarint(columns[2])
				if up == 0 || up > 1<<16 {
					return times, hists, errFrame
				}
				bin += int64(up)
			}
			number, sizeC := binary.Uvarint(columns[3])
			if size <= 0 || sizeC <= 0 || bin < -int64(histogram.MaxBin) || bin > int64(histogram.MaxBin) {
				return times, hists, errFrame
			}
			columns[2], columns[3] = columns[2][size:], columns[3][sizeC:]
			bins, counts = append(bins, histogram.Bin(bin)), append(counts, number)
		}
		end := len(bins)
		times = append(times, t)
		hists = append(hists, histogram.Histogram{Bins: bins[start:end:end], Counts: counts[start:end:end]})
	}
	return times, hists, nil
}
