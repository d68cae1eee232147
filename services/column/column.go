// Package column is the compressed form of a run of samples of one series, in memory and in blocks. Runs are from some
// tens to some thousand samples; one is decoded as a whole.
//
// Residuals. Whatever is stored ends as whole numbers that are small most of the time, in groups of up to 128 (a
// histogram's columns: of up to 512). A group is one byte, mode (two bits) and width w (six), then bits from the lowest
// on, padded to a byte at the end of the group:
//
//	0 Rice (Golomb's code for powers of two; R. F. Rice, JPL 79-22): the number shifted right by w as so many zeros and
//	  a one, then its w low bits. From 20 zeros on it is an escape: a one, six bits length-1, the number itself
//	1 fixed: w bits each; w = 0 is all zeros
//	2 sparse: w is not used; byte count of those that are not zero, for each: byte index (of groups above 256: two), uvarint
//	3 full: 64 bits each
//
// The encoder takes what is shortest. Rice's code is within a few hundredths of a bit of the entropy where numbers are
// geometrically distributed, and two tenths where they are Poisson or normal, which is what differences of counters and
// gauges are; see the benchmarks.
package column

import (
	"encoding/binary"
	"errors"
	"math/bits"
)

// MaxRun is the most samples of a run.
const MaxRun = 1 << 16

// ErrDamaged is what bytes that no run encodes to are refused with.
var ErrDamaged = errors.New("these bytes are not a column")

const (
	modeRice = iota
	modeFixed
	modeSparse
	modeFull

	groupSize = 128
	escape    = 20
)

// bitWriter appends bits, the lowest first.
type bitWriter struct {
	bytes []byte
	word  uint64
	used  uint
}

func (w *bitWriter) write(v uint64, n uint) {
	w.word |= v << w.used
	if w.used+n >= 64 {
		w.bytes = binary.LittleEndian.AppendUint64(w.bytes, w.word)
		n, v = w.used+n-64, v>>(64-w.used) // a shift by 64 is zero in Go
		w.word, w.used = v, n
		if n == 0 {
			w.word = 0
		}
		return
	}
	w.used += n
}

func (w *bitWriter) finish() []byte {
	for ; w.used > 0; w.used -= min(8, w.used) {
		w.bytes = append(w.bytes, byte(w.word))
		w.word >>= 8
	}
	w.word = 0
	return w.bytes
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// riceCost is the bits that w-bit Rice needs.
func riceCost(values []uint64, w uint) int {
	total := len(values) * int(w+1)
	for _, v := range values {
		if q := v >> w; q < escape {
			total += int(q)
		} else {
			total += escape + 6 + bits.Len64(v) - int(w)
		}
	}
	return total
}

// appendGroup encodes up to 512 numbers.
func appendGroup(dst []byte, values []uint64) []byte {
	var or, sum uint64
	zeros := 0
	for _, v := range values {
		or |= v
		sum += v // may wrap: then the guess is a bad one, and fixed width is taken
		if v == 0 {
			zeros++
		}
	}
	width := bits.Len64(or)
	if width == 0 {
		return append(dst, modeFixed<<6)
	}
	mode, w, cost := modeFull, uint(0), 64*len(values)
	if width < 64 {
		mode, w, cost = modeFixed, uint(width), width*len(values)
	}
	guess := uint(0)
	if mean := sum / uint64(len(values)); mean > 0 {
		guess = uint(bits.Len64(mean)) - 1
	}
	least := max(guess, 1) - 1
	if least < 54 && or>>least < escape { // no number needs the escape: the three sums are all there is to the costs
		var shifted [3]uint64
		for _, v := range values {
			v >>= least
			shifted[0] += v
			shifted[1] += v >> 1
			shifted[2] += v >> 2
		}
		for i, q := range shifted {
			if c := len(values)*(int(least)+i+1) + int(q); c < cost {
				mode, w, cost = modeRice, least+uint(i), c
			}
		}
	} else {
		for k := least; k <= least+2 && k < 57; k++ {
			if c := riceCost(values, k); c < cost {
				mode, w, cost = modeRice, k, c
			}
		}
	}
	indexBits, sparse := 8, 1<<30
	if len(values) > 256 {
		indexBits = 16
	}
	if 2*zeros > len(values) && len(values)-zeros < 256 {
		sparse = 8
		for _, v := range values {
			if v != 0 {
				sparse += indexBits + 8*((bits.Len64(v)+6)/7)
			}
		}
	}
	if sparse < cost {
		return appendSparse(dst, values, len(values)-zeros)
	}
	dst = append(dst, byte(mode)<<6|byte(w))
	out := bitWriter{bytes: dst}
	switch mode {
	case modeFull:
		for _, v := range values {
			dst = binary.LittleEndian.AppendUint64(dst, v)
		}
		return dst
	case modeFixed:
		for _, v := range values {
			out.write(v, w)
		}
	default:
		mask := uint64(1)<<w - 1
		for _, v := range values {
			q := uint(v >> w)
			if n := q + 1 + w; v>>w < escape && out.used+n < 64 {
				out.word |= (1<<q | (v&mask)<<(q+1)) << out.used
				out.used += n
				continue
			}
			if v>>w >= escape {
				out.write(1<<escape, escape+1)
				n := uint(bits.Len64(v))
				out.write(uint64(n-1), 6)
				out.write(v, n)
				continue
			}
			if q+1+w <= 64 {
				out.write(1<<q|(v&mask)<<(q+1), q+1+w)
				continue
			}
			out.write(1<<q, q+1)
			out.write(v&mask, w)
		}
	}
	return out.finish()
}

// appendSparse is a group of which few, fewer than 256, are not zero.
func appendSparse(dst []byte, values []uint64, few int) []byte {
	dst = append(dst, modeSparse<<6, byte(few))
	for i, v := range values {
		if v == 0 {
			continue
		}
		if len(values) > 256 {
			dst = binary.LittleEndian.AppendUint16(dst, uint16(i))
		} else {
			dst = append(dst, byte(i))
		}
		dst = binary.AppendUvarint(dst, v)
	}
	return dst
}

// tail loads up to eight bytes from the end of src.
func tail(src []byte, at uint) uint64 {
	var word uint64
	if at >= uint(len(src)) {
		return 0
	}
	for i, b := range src[at:min(at+8, uint(len(src)))] {
		word |= uint64(b) << (8 * i)
	}
	return word
}

func load(src []byte, at uint) uint64 {
	if at+8 <= uint(len(src)) {
		return binary.LittleEndian.Uint64(src[at:])
	}
	return tail(src, at)
}

// readGroup decodes a group into values, all of it or its first ones, and returns what follows the group. When only a
// part is wanted, what follows is not known and nil.
func readGroup(src []byte, values []uint64, size int) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, ErrDamaged
	}
	mode, w := src[0]>>6, uint(src[0]&63)
	src = src[1:]
	switch mode {
	case modeFull:
		if len(src) < 8*size {
			return nil, ErrDamaged
		}
		for i := range values {
			values[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
		return src[8*size:], nil
	case modeSparse:
		clear(values)
		if len(src) == 0 {
			return nil, ErrDamaged
		}
		n := int(src[0])
		src = src[1:]
		for range n {
			var i int
			if size > 256 {
				if len(src) < 2 {
					return nil, ErrDamaged
				}
				i, src = int(binary.LittleEndian.Uint16(src)), src[2:]
			} else {
				if len(src) < 1 {
					return nil, ErrDamaged
				}
				i, src = int(src[0]), src[1:]
			}
			v, length := binary.Uvarint(src)
			if length <= 0 || i >= size {
				return nil, ErrDamaged
			}
			src = src[length:]
			if i < len(values) {
				values[i] = v
			}
		}
		return src, nil
	case modeFixed:
		length := (int(w)*size + 7) / 8
		if len(src) < length {
			return nil, ErrDamaged
		}
		if w == 0 {
			clear(values)
			return src, nil
		}
		mask := uint64(1)<<w - 1
		if w <= 57 {
			for i := range values {
				at := uint(i) * w
				values[i] = load(src, at/8) >> (at % 8) & mask
			}
		} else {
			for i := range values {
				at := uint(i) * w
				v := load(src, at/8) >> (at % 8)
				if at%8+w > 64 {
					v |= load(src, at/8+8) << (64 - at%8)
				}
				values[i] = v & mask
			}
		}
		return src[length:], nil
	}
	// Rice. word holds the next have bits; the bits behind them are zero or the right ones.
	mask := uint64(1)<<w - 1
	next, word, have := uint(0), uint64(0), uint(0)
	for i := range values {
		if have < 40 {
			if next+8 <= uint(len(src)) {
				word |= binary.LittleEndian.Uint64(src[next:]) << have
			} else {
				word |= tail(src, next) << have
			}
			bytes := (63 - have) / 8
			next += bytes
			have += 8 * bytes
			word &= 1<<have - 1
		}
		q := uint(bits.TrailingZeros64(word))
		if n := q + 1 + w; q < escape && n <= have {
			values[i] = uint64(q)<<w | word>>(q+1)&mask
			word >>= n
			have -= n
			continue
		}
		at := 8*next - have
		values[i], at = readLong(src, at, w)
		if at > 8*uint(len(src)) {
			return nil, ErrDamaged
		}
		next, word, have = at/8, 0, 0
		if skip := at % 8; skip > 0 { // begin in the middle of a byte
			word, have = load(src, next)>>skip, 64-skip
			next += 8
		}
	}
	at := 8*next - have
	if at > 8*uint(len(src)) {
		return nil, ErrDamaged
	}
	if len(values) < size {
		return nil, nil
	}
	return src[(at+7)/8:], nil
}

// readLong reads one number of Rice's code at a place, of any length, and returns the place behind it; that is behind
// the end when there is none.
func readLong(src []byte, at, w uint) (uint64, uint) {
	q := uint(bits.TrailingZeros64(load64(src, at)))
	if q > escape {
		return 0, 8*uint(len(src)) + 1
	}
	at += q + 1
	if q < escape {
		return uint64(q)<<w | load64(src, at)&(1<<w-1), at + w
	}
	n := uint(load64(src, at)&63) + 1
	v := load64(src, at+6)
	if n < 64 {
		v &= 1<<n - 1
	}
	return v, at + 6 + n
}

// load64 is all 64 bits at a place.
func load64(src []byte, at uint) uint64 {
	v := load(src, at/8) >> (at % 8)
	if s := at % 8; s > 0 {
		v |= load(src, at/8+8) << (64 - s)
	}
	return v
}

func appendGroups(dst []byte, values []uint64) []byte {
	for len(values) > 0 {
		n := min(groupSize, len(values))
		dst = appendGroup(dst, values[:n])
		values = values[n:]
	}
	return dst
}

func readGroups(src []byte, values []uint64) ([]byte, error) {
	for len(values) > 0 {
		n := min(groupSize, len(values))
		var err error
		if src, err = readGroup(src, values[:n], n); err != nil {
			return nil, err
		}
		values = values[n:]
	}
	return src, nil
}
