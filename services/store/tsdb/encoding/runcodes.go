package encoding

// Writing the columns of a run of histograms: which code each group of counts takes, and the code itself.

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// tally is a summary that says more.
type tally struct {
	sum, squares uint64 // only when no number has more than 16 bits
	most         uint64
	used         uint64 // numbers that are not zero
}

// tallyOf fills group with a column's numbers.
func tallyOf(column []uint16, group []uint64) tally {
	var sum, squares, most, used uint64
	group = group[:len(column)]
	for len(column) >= 4 {
		c, g := (*[4]uint16)(column), (*[4]uint64)(group)
		v0, v1, v2, v3 := uint64(c[0]), uint64(c[1]), uint64(c[2]), uint64(c[3])
		g[0], g[1], g[2], g[3] = v0, v1, v2, v3
		sum += (v0 + v1) + (v2 + v3)
		squares += (v0*v0 + v1*v1) + (v2*v2 + v3*v3)
		most = max(most, max(max(v0, v1), max(v2, v3))) // not one after the other
		used += (-v0>>63 + -v1>>63) + (-v2>>63 + -v3>>63)
		column, group = column[4:], group[4:]
	}
	for i, c := range column {
		v := uint64(c)
		group[i] = v
		sum += v
		squares += v * v
		most = max(most, v)
		used += -v >> 63
	}
	return tally{sum, squares, most, used}
}

func tallyWide(group []uint64) (s tally) {
	for _, v := range group {
		s.sum += v
		s.most = max(s.most, v)
		s.used += -v>>63 | v>>63
	}
	if s.most < 1<<16 {
		for _, v := range group {
			s.squares += v * v
		}
	}
	return s
}

// appendGroup writes a group of counts. Most are distributed as chance makes them, which their sum and the sum of their
// squares tell: for these the code is chosen without trying others. What is not goes to appendCounts, which weighs.
func (w *HistogramWriter) appendGroup(dst []byte, group []uint64, s *tally) []byte {
	n := uint64(len(group))
	switch {
	case s.most == 0:
		return append(dst, modeFixed<<6)
	case s.most >= 1<<16 || n < 2:
	case 4*s.used < n:
		if s.most < 1<<10 {
			// Without a branch that nobody can foresee.
			k := uint(0)
			for i, v := range group {
				w.places[k%maxGroup], w.values[k%maxGroup] = uint16(i), v
				k += uint(-v >> 63)
			}
			if sparse, ok := w.appendSparse(dst, len(group), s); ok {
				return sparse
			}
			return appendFixed(dst, group, s.most)
		}
	case s.sum < aboutFrom*n:
		if usual(n, s.sum, s.squares) {
			if code, c, _ := suggest(float64(s.sum)/float64(n), counted); code > 0 && (s.most < c.numbers || n >= 64) {
				return c.append(append(dst, byte(modeCode<<6|code)), group, s.most, 0)
			}
		}
	case 2*s.used > n:
		mean := (s.sum + n/2) / n
		about := w.about[:n]
		sum, most := uint64(0), uint64(0)
		for i, c := range group {
			v := zigzag(int64(c) - int64(mean))
			about[i] = v
			sum += v
			most = max(most, v)
		}
		if sum >= s.sum {
			break
		}
		if n >= 64 && !normal(n, sum, s.sum, s.squares) {
			break
		}
		if code, c, k := suggest(float64(sum)/float64(n), zigzags); code > 0 && (most>>k < c.numbers || n >= 64) {
			dst = binary.AppendUvarint(append(dst, byte(modeCode<<6|code)), mean)
			return c.append(dst, about, most, k)
		}
	}
	return appendCounts(dst, group, w.about[:])
}

// usual says whether the variance of n numbers is about their mean, as Poisson's law has it. Few numbers say little
// about that; with them it must only not be much greater.
func usual(n, sum, squares uint64) bool {
	variance, mean := n*squares-sum*sum, n*sum // times n·n both
	if n < 64 {
		return variance < 3*mean
	}
	return 5*variance > 3*mean && 5*variance < 9*mean
}

// normal says whether n numbers are about normal, by the sum of their zigzag deviations from their mean, their own, and the
// sum of their squares.
func normal(n, zigzags, sum, squares uint64) bool {
	// The square of normal numbers' mean deviation is 0.64 of the mean square. The former is half of a zigzag number
	// and a quarter; the sums are of n deviations, and n times that of their squares.
	deviations := (float64(zigzags) + float64(n)/2) / 2
	share := deviations * deviations / float64(n*squares-sum*sum)
	return share > 0.52 && share < 0.78
}

// appendFixed writes a group in mode fixed.
func appendFixed(dst []byte, group []uint64, most uint64) []byte {
	head := byte(modeFixed<<6 | bits.Len64(most))
	return appendBody(append(dst, head), group, plan{head: head})
}

// appendSparse writes a group of n numbers most of which are zero, in mode sparse; the others are in places and values. It
// writes nothing, and says so, when all the numbers as they are, are shorter.
func (w *HistogramWriter) appendSparse(dst []byte, n int, s *tally) ([]byte, bool) {
	used := s.used
	zeros := uint64(n) - used
	gap, value := uint(0), uint(0)
	for gap < 7 && zeros>>(gap+1) >= used {
		gap++
	}
	less := s.sum - used
	for value < 7 && less>>sparseValues[value+1] >= used {
		value++
	}
	start, width := len(dst), uint(bits.Len64(s.most))
	dst = append(dst, byte(modeSparse<<6|gap|value<<3))
	dst = binary.AppendUvarint(dst, used)
	out := bitWriter{bytes: dst}
	next, low := uint64(0), sparseValues[value]
	gapMask, lowMask := uint64(1)<<gap-1, uint64(1)<<low-1
	values := w.values[:used]
	for i, at := range w.places[:used] {
		zeros, v := uint64(at)-next, values[i]-1
		next = uint64(at) + 1
		q, p := zeros>>gap, v>>low
		if q >= escape || p >= escape || q+p > 24 {
			writeRice(&out, zeros, gap)
			writeRice(&out, v, low)
			continue
		}
		first := uint(q) + 1 + gap
		both := (1<<q | (zeros&gapMask)<<(q+1)) | (1<<p|(v&lowMask)<<(p+1))<<first
		out.write(both, first+uint(p)+1+low)
	}
	dst = out.finish()
	if bytes := (int(width)*n + 7) / 8; len(dst)-start > bytes+1 {
		return dst[:start], false
	}
	return dst, true
}

// append writes values, of which most is the greatest. Now and then one of hundreds needs the escape; whether another code
// would be shorter for that is not worth weighing.
func (c *code) append(dst []byte, values []uint64, most uint64, k uint) []byte {
	if most>>k < c.numbers {
		return c.appendFast(dst, values, k)
	}
	return c.appendSlow(dst, values, k)
}

// appendSlow is append for values some of which may need the escape.
func (c *code) appendSlow(dst []byte, values []uint64, k uint) []byte {
	out := bitWriter{bytes: dst}
	c.write(&out, values, k)
	return out.finish()
}

// appendFast writes values none of which needs the escape: first the k low bits of each, then the words.
func (c *code) appendFast(dst []byte, values []uint64, k uint) []byte {
	at := len(dst)
	// Words of codeBits at most, and eight bytes that the last step may touch.
	dst = slices.Grow(dst, (len(values)*int(codeBits+k)+7)/8+16)
	buffer := dst[:cap(dst)]
	word, used := uint64(0), uint(0)
	if k > 0 {
		mask := uint64(1)<<k - 1
		i := 0
		for ; i+4 <= len(values); i += 4 { // at most 40 bits, and 7 that are left
			v := (*[4]uint64)(values[i:])
			four := v[0]&mask | (v[1]&mask)<<(k&63) | (v[2]&mask)<<(2*k&63) | (v[3]&mask)<<(3*k&63)
			word |= four << (used & 63)
			used += 4 * k
			binary.LittleEndian.PutUint64(buffer[at:], word)
			at += int(used / 8)
			word >>= used &^ 7 & 63
			used &= 7
		}
		for ; i < len(values); i++ {
			word |= (values[i] & mask) << (used & 63)
			used += k
			binary.LittleEndian.PutUint64(buffer[at:], word)
			at += int(used / 8)
			word >>= used &^ 7 & 63
			used &= 7
		}
	}
	words := &c.fast
	i := 0
	for ; i+4 <= len(values); i += 4 {
		v := (*[4]uint64)(values[i:])
		for _, one := range v {
			w := words[one>>(k&63)&31]
			word |= uint64(w&0xfff) << (used & 63)
			used += uint(w >> 12)
		}
		binary.LittleEndian.PutUint64(buffer[at:], word)
		at += int(used / 8)
		word >>= used &^ 7 & 63
		used &= 7
	}
	for ; i < len(values); i++ {
		w := words[values[i]>>(k&63)&31]
		word |= uint64(w&0xfff) << (used & 63)
		used += uint(w >> 12)
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
