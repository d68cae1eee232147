package encoding

// Columns of counts of eight bits, eight of which are looked at at once as a word of 64. What is written is what
// HistogramWriter.appendGroup writes of the same counts; columns are padded with zeros to whole words.

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

const (
	ones = 0x0101010101010101 // times a byte: it eight times
	tops = 0x80 * ones
	even = 0x00ff00ff00ff00ff
)

// sumNarrow is the sum of at most MaxRun counts.
func sumNarrow(column []byte) uint64 {
	sum := uint64(0)
	for len(column) >= 8 {
		// Four lanes, to each of which a word adds 510 at most.
		part := column[:min(len(column), 8*128)&^7]
		column = column[len(part):]
		lanes := uint64(0)
		for ; len(part) >= 8; part = part[8:] {
			word := binary.LittleEndian.Uint64(part)
			lanes += word&even + word>>8&even
		}
		sum += fourLanes(lanes)
	}
	for _, c := range column {
		sum += uint64(c)
	}
	return sum
}

// fourLanes is the sum of four numbers of sixteen bits.
func fourLanes(lanes uint64) uint64 {
	lanes = lanes&0x0000ffff0000ffff + lanes>>16&0x0000ffff0000ffff
	return lanes&0xffffffff + lanes>>32
}

// atLeast says whether one of the counts is limit or more.
func atLeast(column []byte, limit uint64) bool {
	if limit > 255 {
		return false
	}
	found := uint64(0)
	if limit <= 128 {
		for add := (128 - limit) * ones; len(column) >= 8; column = column[8:] {
			word := binary.LittleEndian.Uint64(column)
			found |= word | (word&^tops + add)
		}
	} else {
		for add := (256 - limit) * ones; len(column) >= 8; column = column[8:] {
			word := binary.LittleEndian.Uint64(column)
			found |= word & (word&^tops + add)
		}
	}
	return found&tops != 0
}

// appendNarrow writes a group of n counts.
func (w *HistogramWriter) appendNarrow(dst, column []byte, n int) []byte {
	var s tally
	lanes, all := uint64(0), uint64(0)
	for c := column; len(c) >= 8; c = c[8:] {
		word := binary.LittleEndian.Uint64(c)
		lanes += word&even + word>>8&even
		all |= word
		s.used += uint64(bits.OnesCount64((word&^tops + ^uint64(tops) | word) & tops))
	}
	s.sum = fourLanes(lanes)
	numbers := uint64(n)
	switch {
	case s.sum == 0:
		return append(dst, modeFixed<<6)
	case n < 2:
	case 4*s.used < numbers:
		s.most = w.pick(column)
		if sparse, ok := w.appendSparse(dst, n, &s); ok {
			return sparse
		}
		return appendFixed(dst, w.expand(column, n), s.most)
	case s.sum < aboutFrom*numbers:
		if usual(numbers, s.sum, squaresOf(column)) {
			if code, c, _ := suggest(float64(s.sum)/float64(n), counted); code > 0 {
				if n >= 64 || !atLeast(column, c.numbers) {
					return c.appendNarrow(append(dst, byte(modeCode<<6|code)), column, n, 0)
				}
			}
		}
	case 2*s.used > numbers && all&tops == 0: // so that zigzag numbers have eight bits
		mean := (s.sum + numbers/2) / numbers
		near := w.near[:len(column)]
		sum := w.centre(column, n, mean)
		if sum >= s.sum {
			break
		}
		if numbers >= 64 && !normal(numbers, sum, s.sum, squaresOf(column)) {
			break
		}
		if code, c, k := suggest(float64(sum)/float64(n), zigzags); code > 0 {
			if n >= 64 || !atLeast(near, c.numbers<<k) {
				return c.appendNarrow(binary.AppendUvarint(append(dst, byte(modeCode<<6|code)), mean), near, n, k)
			}
		}
	}
	group := w.expand(column, n)
	if all&tops != 0 {
		s = tallyWide(group)
		return w.appendGroup(dst, group, &s)
	}
	return appendCounts(dst, group, w.about[:])
}

// squaresOf is the sum of the counts' squares.
func squaresOf(column []byte) uint64 {
	sum := uint64(0)
	for ; len(column) >= 8; column = column[8:] {
		word := binary.LittleEndian.Uint64(column)
		if word&tops != 0 {
			for _, c := range column[:8] {
				sum += uint64(c) * uint64(c)
			}
			continue
		}
		// Four numbers in lanes of sixteen bits, times them the other way round: the highest lane of the product is the sum of
		// their squares, 4·127² at most, and the lanes below hold three products each and carry nothing.
		back := bits.ReverseBytes64(word)
		sum += (word&even*(back>>8&even))>>48 + (word>>8&even*(back&even))>>48
	}
	return sum
}

// centre puts the zigzag numbers of n counts minus their mean, which are all below 128, into near, and returns their sum.
func (w *HistogramWriter) centre(column []byte, n int, mean uint64) uint64 {
	lanes := uint64(0)
	for at := 0; at+8 <= len(column) && at+8 <= len(w.near); at += 8 {
		// Each byte 128 more than it should be, so that none goes below zero: those that should have lack the top bit.
		more := binary.LittleEndian.Uint64(column[at:]) | tops
		more -= mean * ones
		// Zigzag is twice the number, with all bits turned over when it was below zero.
		word := more&^tops<<1 ^ (^more&tops>>7)*0xff
		if left := n - at; left < 8 {
			word &= 1<<(8*left) - 1
		}
		lanes += word&even + word>>8&even
		binary.LittleEndian.PutUint64(w.near[at:], word)
	}
	return fourLanes(lanes)
}

// expand is a group's counts, or what stands for them, with 64 bits each.
func (w *HistogramWriter) expand(column []byte, n int) []uint64 {
	group := w.group[:n]
	for i, c := range column[:n] {
		group[i] = uint64(c)
	}
	return group
}

// pick puts the counts that are not zero into values and their numbers into places, and returns the greatest.
func (w *HistogramWriter) pick(column []byte) (most uint64) {
	k := 0
	for at := 0; at+8 <= len(column); at += 8 {
		word := binary.LittleEndian.Uint64(column[at:])
		for left := (word&^tops + ^uint64(tops) | word) & tops; left != 0; left &= left - 1 {
			bit := bits.TrailingZeros64(left) - 7
			count := word >> (bit & 63) & 0xff
			w.places[k%maxGroup], w.values[k%maxGroup] = uint16(at+bit/8), count
			most = max(most, count)
			k++
		}
	}
	return most
}

// appendNarrow writes n numbers, padded with zeros to whole words: first the k low bits of each, at most 7, then what is
// left as words, two in one look where none of eight needs the escape.
func (c *code) appendNarrow(dst, column []byte, n int, k uint) []byte {
	at := len(dst)
	// An escape, the length of a number and it at most, and eight bytes that the last step may touch.
	dst = slices.Grow(dst, (n*int(codeBits+6+8+k)+7)/8+16)
	buffer := dst[:cap(dst)]
	word, used := uint64(0), uint(0)
	if k > 0 {
		one, two, four := uint64(1<<k-1)*0x0001000100010001, uint64(1<<(2*k)-1)*0x0000000100000001, uint64(1<<(4*k)-1)
		for left := n; left > 0; left -= 8 {
			// The bits of two numbers come to lie beside each other, then those of four, of eight. What moves is taken out of the
			// rest: from five bits on, a number's own would move into its lower ones.
			low := binary.LittleEndian.Uint64(column[n-left:])
			low = low&one | low>>((8-k)&63)&(one<<(k&63))
			low = low&two | low>>((16-2*k)&63)&(two<<(2*k&63))
			low = low&four | low>>((32-4*k)&63)&(four<<(4*k&63))
			size := k * uint(min(left, 8))
			word |= low & (1<<size - 1) << (used & 63)
			used += size
			binary.LittleEndian.PutUint64(buffer[at:], word)
			at += int(used / 8)
			word >>= used &^ 7 & 63
			used &= 7
		}
	}
	pairs, mask, most := &c.pairs, (0xff>>k)*uint64(ones), (128-c.numbers)*ones
	for ; n > 0; n -= 8 {
		eight := binary.LittleEndian.Uint64(column) >> (k & 63) & mask
		column = column[8:]
		if (eight&^tops+most|eight)&tops != 0 || n < 8 {
			for left := min(n, 8); left > 0; left-- {
				v := eight & 0xff
				eight >>= 8
				if v < c.numbers {
					one := c.fast[v&31]
					word |= uint64(one&0xfff) << (used & 63)
					used += uint(one >> 12)
				} else { // 24 bits at most
					one, length := c.fast[c.numbers&31], uint(bits.Len64(v|1))
					long := uint64(one&0xfff) | (uint64(length-1)|v<<6)<<(one>>12)
					word |= long << (used & 63)
					used += uint(one>>12) + 6 + length
				}
				binary.LittleEndian.PutUint64(buffer[at:], word)
				at += int(used / 8)
				word >>= used &^ 7 & 63
				used &= 7
			}
			continue
		}
		first, second := pairs[(eight&0x1f|eight>>3&0x3e0)%1024], pairs[(eight>>16&0x1f|eight>>19&0x3e0)%1024]
		third, fourth := pairs[(eight>>32&0x1f|eight>>35&0x3e0)%1024], pairs[(eight>>48&0x1f|eight>>51&0x3e0)%1024]
		// Forty bits at most, and seven that are left.
		four := uint64(first&pairWords) | uint64(second&pairWords)<<(first>>pairBits&63)
		word |= four << (used & 63)
		used += uint(first>>pairBits + second>>pairBits)
		binary.LittleEndian.PutUint64(buffer[at:], word)
		at += int(used / 8)
		word >>= used &^ 7 & 63
		used &= 7
		four = uint64(third&pairWords) | uint64(fourth&pairWords)<<(third>>pairBits&63)
		word |= four << (used & 63)
		used += uint(third>>pairBits + fourth>>pairBits)
		binary.LittleEndian.PutUint64(buffer[at:], word)
		at += int(used / 8)
		word >>= used &^ 7 & 63
		used &= 7
	}
	if used > 0 {
		buffer[at] = byte(word)
		at++
	}
	return buffer[:at]
}
