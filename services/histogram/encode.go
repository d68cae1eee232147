package histogram

// One histogram as bytes, in journal entries and in the head. Layout, version-less because what holds it carries one:
//
//	uvarint  number of bins n
//	varint   first bin                          (n > 0)
//	uvarint  bin - previous bin, n-1 times      (never 0)
//	uvarint  count, n times                     (never 0)
//
// Blocks lay the same numbers out by column; see tsdb.

import (
	"encoding/binary"
	"errors"
)

// ErrEncoding is what bytes that no histogram encodes to are refused with.
var ErrEncoding = errors.New("these bytes are not a histogram")

// Append encodes h behind buffer.
func (h *Histogram) Append(buffer []byte) []byte {
	buffer = binary.AppendUvarint(buffer, uint64(len(h.Bins)))
	for i, bin := range h.Bins {
		if i == 0 {
			buffer = binary.AppendVarint(buffer, int64(bin))
		} else {
			buffer = binary.AppendUvarint(buffer, uint64(int(bin)-int(h.Bins[i-1])))
		}
	}
	for _, n := range h.Counts {
		buffer = binary.AppendUvarint(buffer, n)
	}
	return buffer
}

// Decode replaces h by what the front of buffer holds, keeping h's memory, and returns the rest of buffer.
func (h *Histogram) Decode(buffer []byte) ([]byte, error) {
	h.Reset()
	return h.DecodeBehind(buffer)
}

// DecodeBehind is Decode and puts the bins behind those that h has, so that many share two arrays; h is then no
// histogram itself. On an error nothing is added.
func (h *Histogram) DecodeBehind(buffer []byte) (rest []byte, err error) {
	start := len(h.Bins)
	defer func() {
		if err != nil {
			h.Bins, h.Counts = h.Bins[:start], h.Counts[:start]
		}
	}()
	n, size := binary.Uvarint(buffer)
	if size <= 0 || n > uint64(2*int(MaxBin)+1) || n > uint64(len(buffer)) {
		return nil, ErrEncoding
	}
	buffer = buffer[size:]
	bin := int64(0)
	for i := range n {
		var size int
		if i == 0 {
			bin, size = binary.Varint(buffer)
		} else {
			var step uint64
			step, size = binary.Uvarint(buffer)
			if step == 0 || step > uint64(2*int(MaxBin)) {
				return nil, ErrEncoding
			}
			bin += int64(step)
		}
		if size <= 0 || bin < int64(-MaxBin) || bin > int64(MaxBin) {
			return nil, ErrEncoding
		}
		h.Bins = append(h.Bins, Bin(bin))
		buffer = buffer[size:]
	}
	for range n {
		count, size := binary.Uvarint(buffer)
		if size <= 0 || count == 0 {
			return nil, ErrEncoding
		}
		h.Counts = append(h.Counts, count)
		buffer = buffer[size:]
	}
	return buffer, nil
}

// Skip checks that a histogram stands at the front of buffer, as Append writes it, and returns what follows it. It
// accepts exactly what Decode does.
func Skip(buffer []byte) (rest []byte, err error) {
	n, size := binary.Uvarint(buffer)
	if size <= 0 || n > uint64(2*int(MaxBin)+1) || n > uint64(len(buffer)) {
		return nil, ErrEncoding
	}
	buffer = buffer[size:]
	if n == 0 {
		return buffer, nil
	}
	bin, size := binary.Varint(buffer)
	if size <= 0 || bin < int64(-MaxBin) || bin > int64(MaxBin) {
		return nil, ErrEncoding
	}
	buffer = buffer[size:]
	for left := n - 1; left > 0; {
		// Nearly always eight steps are eight bytes, neither zero nor with the bit that says that more follow.
		if left >= 8 && len(buffer) >= 8 {
			if word := binary.LittleEndian.Uint64(buffer); plain(word) {
				const pairs = 0x00ff00ff00ff00ff
				bin += int64((word&pairs + word>>8&pairs) * 0x0001000100010001 >> 48)
				left, buffer = left-8, buffer[8:]
				continue
			}
		}
		step, size := binary.Uvarint(buffer)
		if size <= 0 || step == 0 || step > uint64(2*int(MaxBin)) {
			return nil, ErrEncoding
		}
		bin += int64(step)
		left, buffer = left-1, buffer[size:]
	}
	if bin > int64(MaxBin) { // and so none before: they ascend, by at most 46,080 each
		return nil, ErrEncoding
	}
	for left := n; left > 0; {
		if left >= 8 && len(buffer) >= 8 && plain(binary.LittleEndian.Uint64(buffer)) {
			left, buffer = left-8, buffer[8:]
			continue
		}
		count, size := binary.Uvarint(buffer)
		if size <= 0 || count == 0 {
			return nil, ErrEncoding
		}
		left, buffer = left-1, buffer[size:]
	}
	return buffer, nil
}

// plain says whether each of eight bytes is a number from 1 to 127 in one byte.
func plain(word uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (word|(word-ones))&tops == 0
}
