package encoding

// Bits, the lowest of a byte first.

import (
	"encoding/binary"
	"math/bits"
)

// bitWriter appends bits to bytes.
type bitWriter struct {
	bytes []byte
	word  uint64
	used  uint // bits of word, fewer than 64
}

// write appends the low n bits of v, which has no others; n is at most 64.
func (w *bitWriter) write(v uint64, n uint) {
	w.word |= v << w.used
	if w.used+n < 64 {
		w.used += n
		return
	}
	w.bytes = binary.LittleEndian.AppendUint64(w.bytes, w.word)
	w.word = v >> (64 - w.used) // a shift by 64 is zero in Go
	w.used += n - 64
}

// finish appends what is left and pads it to a byte.
func (w *bitWriter) finish() []byte {
	for ; w.used > 0; w.used -= min(8, w.used) {
		w.bytes = append(w.bytes, byte(w.word))
		w.word >>= 8
	}
	w.word = 0
	return w.bytes
}

// bitReader reads bits; behind the end it reads zeros and at grows beyond it, which over tells.
type bitReader struct {
	src []byte
	at  uint
	// A number that has all bits that numbers read so far have, and perhaps more.
	most uint64
}

// peek is the next bits, 57 or more of them.
func (r *bitReader) peek() uint64 { return load(r.src, r.at/8) >> (r.at % 8) }

// take reads n bits, at most 57.
func (r *bitReader) take(n uint) uint64 {
	v := r.peek() & (1<<n - 1)
	r.at += n
	return v
}

// long is a number behind an escape: six bits how many bits it has less one, and they.
func (r *bitReader) long() uint64 {
	n := uint(r.take(6)) + 1
	if n <= 57 {
		return r.take(n)
	}
	low := r.take(32)
	return low | r.take(n-32)<<32
}

// rice reads a number of Rice's code; ok is false where there is none.
func (r *bitReader) rice(w uint) (v uint64, ok bool) {
	q := uint(bits.TrailingZeros64(r.peek()))
	if q > escape {
		return 0, false
	}
	r.at += q + 1
	if q == escape {
		return r.long(), true
	}
	return uint64(q)<<w | r.take(w), true
}

func (r *bitReader) over() bool { return r.at > 8*uint(len(r.src)) }

// rest is what begins with the next whole byte.
func (r *bitReader) rest() []byte { return r.src[(r.at+7)/8:] }

// load is the eight bytes from at on; what would be behind the end is zero.
func load(src []byte, at uint) uint64 {
	if at+8 <= uint(len(src)) {
		return binary.LittleEndian.Uint64(src[at:])
	}
	return tail(src, at)
}

func tail(src []byte, at uint) uint64 {
	if at >= uint(len(src)) {
		return 0
	}
	if n := uint(len(src)); n >= 8 {
		return binary.LittleEndian.Uint64(src[n-8:]) >> (8 * (at + 8 - n))
	}
	var word uint64
	for i, b := range src[at:] {
		word |= uint64(b) << (8 * i)
	}
	return word
}

// unpack fills values with w bits each from the bit at on.
func unpack(src []byte, at uint, values []uint64, w uint) {
	mask := uint64(1)<<w - 1
	i := 0
	if w <= 7 && at%8 == 0 { // eight of them are w bytes
		for p := at / 8; i+8 <= len(values) && p+8 <= uint(len(src)); p += w {
			word := binary.LittleEndian.Uint64(src[p:])
			v := (*[8]uint64)(values[i:])
			for j := range v {
				v[j] = word & mask
				word >>= w & 63
			}
			i += 8
		}
		at += w * uint(i)
	}
	if w <= 57 {
		for ; i < len(values) && at/8+8 <= uint(len(src)); i++ {
			values[i] = binary.LittleEndian.Uint64(src[at/8:]) >> (at % 8) & mask
			at += w
		}
		for ; i < len(values); i++ {
			values[i] = tail(src, at/8) >> (at % 8) & mask
			at += w
		}
		return
	}
	for ; i < len(values); i++ {
		values[i] = (load(src, at/8)>>(at%8) | load(src, at/8+8)<<(64-at%8)) & mask // by 64 is zero
		at += w
	}
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }
