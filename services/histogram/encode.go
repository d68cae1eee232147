package histogram

// One histogram as bytes, in journal entries, in the head and in Cistern's own import. Layout, version-less because what
// holds it carries a version:
//
//	uvarint  twice the number of bins n; and one when they are given by chunks
//	one by one:
//	  varint   first bin                          (n > 0)
//	  uvarint  bin - previous bin, n-1 times      (never 0)
//	by chunks of 64, chunk c being the bins from 64·c on (n > 0):
//	  varint   first chunk;   8 bytes, little-endian, which of its bins are meant, the lowest bit the first (never 0)
//	  uvarint  chunk - previous chunk (never 0);  8 bytes as above; until there are n bins
//	uvarint  count, n times                     (never 0)
//
// Of one whose sum is known a byte 1 comes before that, n is not 0, and behind it:
//
//	uvarint  k + 16·number: what the values are beyond their bins' bounds nearer to zero is number × 10^(w-k), 10^w being the
//	         width of the bin furthest from zero; the number is zigzag when there are bins below zero
//
// A timer's few bins are shorter one by one; the hundreds of a busy one by chunks, which are also read without asking
// of every bin whether it is the next. Blocks lay the same numbers out by column; see tsdb.

import (
	"encoding/binary"
	"errors"
	"math"
	"math/bits"
	"slices"
)

// ErrEncoding is what bytes that no histogram encodes to are refused with.
var ErrEncoding = errors.New("these bytes are not a histogram")

const (
	// ChunkBins is how many bins a chunk has.
	ChunkBins = 64
	maxBins   = uint64(2*int(MaxBin) + 1)
	// A chunk takes nine bytes, its number being one of a byte nearly always.
	chunkBytes = 9
	// summed stands before a histogram whose sum is known: no head is the same.
	summed = 1
	// maxPlaces is how many digits behind those of the widest bin's bounds a sum may be written with.
	maxPlaces = 15
)

// Append encodes h behind buffer.
func (h *Histogram) Append(buffer []byte) []byte {
	if h.Offset == (Offset{}) || len(h.Bins) == 0 {
		return h.appendBins(buffer)
	}
	return h.appendExcess(h.appendBins(append(buffer, summed)))
}

// appendExcess writes what the values are beyond the bounds of their bins.
func (h *Histogram) appendExcess(buffer []byte) []byte {
	e := h.Excess()
	unit, places := widest(h.Bins[0], h.Bins[len(h.Bins)-1]), 0
	number := 0.0
	if e.number != 0 {
		places = min(max(unit-e.Unit(), 0), maxPlaces)
		number = math.RoundToEven(e.In(unit - places))
	}
	for places > 0 && (math.Abs(number) > maxNumber || math.Mod(number, 10) == 0) {
		places--
		number = math.RoundToEven(number / 10)
	}
	whole := uint64(min(math.Abs(number), maxNumber))
	if h.Bins[0] < 0 {
		if whole <<= 1; number < 0 {
			whole--
		}
	}
	return binary.AppendUvarint(buffer, whole<<4|uint64(places))
}

// maxNumber is the greatest number of a sum.
const maxNumber = 1 << 53

// ReadExcess reads what stands behind the counts of a histogram whose sum is known: its Excess, perhaps more than its bins allow.
// first and last are its outermost bins.
func ReadExcess(buffer []byte, first, last Bin) (e Offset, rest []byte, err error) {
	value, size := binary.Uvarint(buffer)
	if size <= 0 || value>>4 > 2*maxNumber {
		return e, nil, ErrEncoding
	}
	unit := widest(first, last) - int(value&15)
	number := float64(value >> 4)
	if first < 0 {
		number = float64(int64(value>>5) ^ -int64(value>>4&1))
	}
	return OffsetOf(number, unit), buffer[size:], nil
}

// Summed says whether the sum of the encoded histogram is known.
func Summed(encoded []byte) bool { return len(encoded) > 0 && encoded[0] == summed }

func (h *Histogram) appendBins(buffer []byte) []byte {
	chunks, last := 0, 0
	for i, bin := range h.Bins {
		if c := int(bin) >> 6; i == 0 || c != last {
			chunks, last = chunks+1, c
		}
	}
	if n := len(h.Bins); chunkBytes*chunks < n {
		buffer = h.appendChunks(binary.AppendUvarint(buffer, uint64(2*n+1)))
	} else {
		buffer = binary.AppendUvarint(buffer, uint64(2*n))
		for i, bin := range h.Bins {
			if i == 0 {
				buffer = binary.AppendVarint(buffer, int64(bin))
			} else {
				buffer = binary.AppendUvarint(buffer, uint64(int(bin)-int(h.Bins[i-1])))
			}
		}
	}
	for _, n := range h.Counts {
		buffer = binary.AppendUvarint(buffer, n)
	}
	return buffer
}

func (h *Histogram) appendChunks(buffer []byte) []byte {
	for i, last := 0, 0; i < len(h.Bins); {
		chunk, mask := int(h.Bins[i])>>6, uint64(0)
		if i == 0 {
			buffer = binary.AppendVarint(buffer, int64(chunk))
		} else {
			buffer = binary.AppendUvarint(buffer, uint64(chunk-last))
		}
		for last = chunk; i < len(h.Bins) && int(h.Bins[i])>>6 == chunk; i++ {
			mask |= 1 << (h.Bins[i] & 63)
		}
		buffer = binary.LittleEndian.AppendUint64(buffer, mask)
	}
	return buffer
}

// Head is what stands before the bins of an encoded histogram: how many there are, and how they are given.
type Head struct {
	Bins   int
	Chunks bool
	Summed bool // ReadExcess reads what is behind the counts
}

// ReadHead reads the head at the front of buffer, and returns what follows it.
func ReadHead(buffer []byte) (head Head, rest []byte, err error) {
	if Summed(buffer) {
		head.Summed, buffer = true, buffer[1:]
	}
	form, size := binary.Uvarint(buffer)
	n := form / 2
	// Each bin has a count, of a byte at least.
	if size <= 0 || n > maxBins || n > uint64(len(buffer)-size) || form == 1 || n == 0 && head.Summed {
		return Head{}, nil, ErrEncoding
	}
	head.Bins, head.Chunks = int(n), form&1 != 0
	return head, buffer[size:], nil
}

// Chunk is bins of an encoded histogram: those from 64·Number on whose bits Mask has.
type Chunk struct {
	Number int
	Mask   uint64
}

// ReadChunk reads the chunk at the front of buffer; before is the one before it, without bins for the first. All bins of a
// chunk that it returns are valid.
func ReadChunk(buffer []byte, before Chunk) (chunk Chunk, rest []byte, err error) {
	var size int
	if before.Mask == 0 {
		var number int64
		if number, size = binary.Varint(buffer); size <= 0 || number < int64(-MaxBin)>>6 || number > int64(MaxBin)>>6 {
			return chunk, nil, ErrEncoding
		}
		chunk.Number = int(number)
	} else {
		var step uint64
		if step, size = binary.Uvarint(buffer); size <= 0 || step == 0 || step > maxBins {
			return chunk, nil, ErrEncoding
		}
		chunk.Number = before.Number + int(step)
	}
	if len(buffer) < size+8 {
		return chunk, nil, ErrEncoding
	}
	chunk.Mask = binary.LittleEndian.Uint64(buffer[size:])
	first, last := chunk.Number*ChunkBins+bits.TrailingZeros64(chunk.Mask), chunk.Number*ChunkBins+63-bits.LeadingZeros64(chunk.Mask)
	if chunk.Mask == 0 || first < int(-MaxBin) || last > int(MaxBin) {
		return chunk, nil, ErrEncoding
	}
	return chunk, buffer[size+8:], nil
}

// Decode replaces h by what the front of buffer holds, keeping h's memory, and returns the rest of buffer.
func (h *Histogram) Decode(buffer []byte) ([]byte, error) {
	h.Reset()
	return h.DecodeBehind(buffer)
}

// DecodeBehind is Decode and puts the bins behind those that h has, so that many share two arrays; h is then no
// histogram itself, but for its offset, which is that of the one that was decoded last. On an error nothing is added.
func (h *Histogram) DecodeBehind(buffer []byte) (rest []byte, err error) {
	start := len(h.Bins)
	defer func() {
		if err != nil {
			h.Bins, h.Counts = h.Bins[:start], h.Counts[:start]
		}
	}()
	head, buffer, err := ReadHead(buffer)
	if err != nil {
		return nil, err
	}
	if head.Chunks {
		if buffer, err = h.decodeChunks(buffer, head.Bins); err != nil {
			return nil, err
		}
	} else {
		bin := int64(0)
		for i := range head.Bins {
			var size int
			if i == 0 {
				bin, size = binary.Varint(buffer)
			} else {
				var step uint64
				step, size = binary.Uvarint(buffer)
				if step == 0 || step >= maxBins {
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
	}
	h.Counts = slices.Grow(h.Counts, head.Bins)
	for left := head.Bins; left > 0; {
		if left >= 8 && len(buffer) >= 8 {
			if word := binary.LittleEndian.Uint64(buffer); plain(word) {
				h.Counts = append(h.Counts, word&0xff, word>>8&0xff, word>>16&0xff, word>>24&0xff, word>>32&0xff, word>>40&0xff, word>>48&0xff, word>>56)
				left, buffer = left-8, buffer[8:]
				continue
			}
		}
		count, size := binary.Uvarint(buffer)
		if size <= 0 || count == 0 {
			return nil, ErrEncoding
		}
		h.Counts = append(h.Counts, count)
		left, buffer = left-1, buffer[size:]
	}
	h.Offset = Offset{}
	if head.Summed {
		var e Offset
		one := Histogram{Bins: h.Bins[start:], Counts: h.Counts[start:]}
		if e, buffer, err = ReadExcess(buffer, one.Bins[0], one.Bins[len(one.Bins)-1]); err != nil {
			return nil, err
		}
		one.SetExcess(e)
		h.Offset = one.Offset
	}
	return buffer, nil
}

// decodeChunks adds the n bins of the chunks at the front of buffer.
func (h *Histogram) decodeChunks(buffer []byte, n int) (rest []byte, err error) {
	at := len(h.Bins)
	h.Bins = slices.Grow(h.Bins, n)[:at+n]
	all := h.Bins[at:]
	var chunk Chunk
	for len(all) > 0 {
		if chunk, buffer, err = ReadChunk(buffer, chunk); err != nil {
			return nil, err
		}
		many := bits.OnesCount64(chunk.Mask)
		if many > len(all) {
			return nil, ErrEncoding
		}
		for i, mask := 0, chunk.Mask; i < many; i, mask = i+1, mask&(mask-1) {
			all[i] = Bin(chunk.Number*ChunkBins + bits.TrailingZeros64(mask))
		}
		all = all[many:]
	}
	return buffer, nil
}

// Skip checks that a histogram stands at the front of buffer, as Append writes it, and returns what follows it. It
// accepts exactly what Decode does.
func Skip(buffer []byte) (rest []byte, err error) {
	head, buffer, err := ReadHead(buffer)
	if err != nil {
		return nil, err
	}
	if head.Chunks {
		var chunk Chunk
		for left := head.Bins; left > 0; {
			if chunk, buffer, err = ReadChunk(buffer, chunk); err != nil {
				return nil, err
			}
			if left -= bits.OnesCount64(chunk.Mask); left < 0 {
				return nil, ErrEncoding
			}
		}
	} else if head.Bins > 0 {
		bin, size := binary.Varint(buffer)
		if size <= 0 || bin < int64(-MaxBin) || bin > int64(MaxBin) {
			return nil, ErrEncoding
		}
		buffer = buffer[size:]
		for range head.Bins - 1 {
			step, size := binary.Uvarint(buffer)
			if size <= 0 || step == 0 || step >= maxBins {
				return nil, ErrEncoding
			}
			if bin += int64(step); bin > int64(MaxBin) {
				return nil, ErrEncoding
			}
			buffer = buffer[size:]
		}
	}
	for left := head.Bins; left > 0; {
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
	if head.Summed {
		// Which bins there are does not say whether it can be read.
		_, buffer, err = ReadExcess(buffer, 0, 0)
	}
	return buffer, err
}

// plain says whether each of eight bytes is a number from 1 to 127 in one byte.
func plain(word uint64) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	return (word|(word-ones))&tops == 0
}
