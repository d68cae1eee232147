package encoding

// Prefix codes for numbers as chance makes them. Counts of independent events are distributed as Poisson's law says,
// differences of many small steps normally; for these, Rice's code wastes a tenth to a quarter of a bit a number, a
// Huffman code made for the distribution a thirtieth. There are too few numbers in a group to send a code along, so
// here is one for each shape that occurs.
//
// A code is the lengths of its words, for 0, 1, 2, … and at last the escape, behind which any number can follow. The
// words are the canonical ones: ascending by length, then by number, each as the one before plus one, shifted to its
// length; they are written the highest bit first. The lengths, at most codeBits, are Huffman's for 99 parts of the
// distribution named and one part of a wider one (1.5 deviations more, or 1.7 times the deviation), so that the odd
// outlier is not dear.

import (
	"encoding/binary"
	"math/bits"
)

const (
	codeBits  = 10
	codeTable = 1 << codeBits
	pairBits  = 2 * codeBits
	pairWords = 1<<pairBits - 1
	one       = 1 << 28 // number, in a table

	// Counts of Poisson's distribution, with means from 1/4 on such that twice their roots are 1, 1.5, 2, … 7.
	codesPoisson = 13
	// Zigzag numbers of a normal distribution, deviations normalDeviations.
	codesNormal = 7
	// Their halves, quarters … of a greater deviation, on one side therefore: deviations 3·2^(1/8), 3·2^(3/8), …
	codesHalf = 4
)

var normalDeviations = [codesNormal]float64{0.35, 0.5, 0.7, 1, 1.4, 2, 2.8}

var codeLengths = [codesPoisson + codesNormal + codesHalf]string{
	"12344", "123455", "21345677", "222345677", "42223567899", "532233467899", "643223445789aa", "75433233455689aa",
	"8654333333456679aa", "a8654333333456688aaa", "a98654433333445677899a", "aaa8655433333445567789aaa",
	"aaaa8755443333444556678aaaa",

	"12344", "132455", "132455", "13245767", "222346587a9a", "23333445467999aa", "33333444455667788998",

	"22333456789aa", "22334445678aaaa", "2333344555678aaaa", "3333334455667778aaaa",
}

// code is one of them, made ready.
type code struct {
	numbers uint64     // how many numbers have words; the escape has the next
	words   []uint16   // bits in the order in which they are written, and their length in the four highest
	fast    [32]uint16 // words, so that no place needs to be checked
	// The words of two numbers below 32, the second from the sixth bit on, one behind the other, and from bit pairBits on
	// how long they are together.
	pairs [1024]uint32
	// What the next codeBits bits are: a byte how many bits the words that they hold have together, a byte the first
	// number, a byte the second when there are two whole words; four bits how many bits the first word has; then how many
	// numbers there are, none for the escape.
	table [codeTable]uint32
}

var codes [len(codeLengths)]code

func init() {
	for i := range codes {
		codes[i].make(codeLengths[i])
	}
}

func (c *code) make(lengths string) {
	c.numbers = uint64(len(lengths) - 1)
	c.words = make([]uint16, len(lengths))
	var single [codeTable]uint16 // number and length of the first word
	next := uint16(0)
	for length := 1; length <= codeBits; length++ {
		next <<= 1
		for number, l := range lengths {
			if l >= 'a' {
				l += '9' + 1 - 'a'
			}
			if int(l-'0') != length {
				continue
			}
			word := bits.Reverse16(next) >> (16 - length)
			c.words[number] = word | uint16(length)<<12
			for at := int(word); at < codeTable; at += 1 << length {
				single[at] = uint16(number<<4 | length)
			}
			next++
		}
	}
	copy(c.fast[:], c.words)
	for at := range c.pairs {
		first, second := uint32(c.fast[at%32]), uint32(c.fast[at/32])
		c.pairs[at] = first&0xfff | second&0xfff<<(first>>12) | (first>>12+second>>12)<<pairBits
	}
	for at := range c.table {
		number, length := uint32(single[at]>>4), uint32(single[at]&15)
		if uint64(number) == c.numbers {
			c.table[at] = length << 24
			continue
		}
		c.table[at] = length | number<<8 | one | length<<24
		after := single[at>>length]
		if n, l := uint32(after>>4), uint32(after&15); length+l <= codeBits && uint64(n) != c.numbers {
			c.table[at] = length + l | number<<8 | n<<16 | 2*one | length<<24
		}
	}
}

// cost is how many bits the values need, of each of which the k low bits are written as they are.
func (c *code) cost(values []uint64, k uint) int {
	total := int(k) * len(values)
	words := c.words
	for _, v := range values {
		if v >>= k; v < uint64(len(words)-1) {
			total += int(words[v] >> 12)
		} else {
			total += int(words[len(words)-1]>>12) + 6 + bits.Len64(v|1)
		}
	}
	return total
}

// write appends values: first the k low bits of each, then the words.
func (c *code) write(out *bitWriter, values []uint64, k uint) {
	if k > 0 {
		mask := uint64(1)<<k - 1
		for _, v := range values {
			out.write(v&mask, k)
		}
	}
	words := c.words
	for _, v := range values {
		v >>= k
		if v < uint64(len(words)-1) {
			word := words[v]
			out.write(uint64(word&0xfff), uint(word>>12))
			continue
		}
		word := words[len(words)-1]
		out.write(uint64(word&0xfff), uint(word>>12))
		n := uint(bits.Len64(v | 1))
		out.write(uint64(n-1), 6)
		out.write(v, n)
	}
}

// read decodes the first of size numbers into values and leaves r behind the last of them. What is behind the end of
// the bytes reads as zeros; the caller looks whether r is over.
func (c *code) read(r *bitReader, values []uint64, size int, k uint) {
	low := r.at
	r.at += k * uint(size)
	r.most |= 255<<k | 1<<k - 1
	c.readWords(r, values, 0, k)
	if k > 0 && !r.over() {
		mergeLow(r.src, low, values, k)
	}
}

// readWords is read from the i-th number on, without what stands in the k low bits.
func (c *code) readWords(r *bitReader, values []uint64, i int, k uint) {
	for i < len(values) {
		// Five looks take at most 50 bits of the 57 that are there.
		for i+2 <= len(values) {
			word, at := r.peek(), r.at
			for range 5 {
				e := c.table[word%codeTable]
				if e < one || uint(i+1) >= uint(len(values)) {
					break
				}
				values[i], values[i+1] = uint64(e>>8&0xff), uint64(e>>16&0xff)
				word >>= e % 64
				at += uint(e % 64)
				i += int(e / one)
			}
			if at == r.at { // an escape
				break
			}
			r.at = at
		}
		if i == len(values) {
			break
		}
		// An escape, or the last.
		e := c.table[r.peek()%codeTable]
		r.at += uint(e >> 24 % 16) // bits of the first word
		values[i] = uint64(e >> 8 & 0xff)
		if e < one {
			values[i] = r.long()
			r.most |= values[i] << k
		}
		i++
		if r.over() {
			return
		}
	}
}

// readTwo is read of two groups, of size and sizeOther numbers, and looks up words of both in turn: a look waits for the
// one before of the same group only. An escape makes no progress; it is read like the last words, by readWords.
func readTwo(c, d *code, r, s *bitReader, values, others []uint64, size, sizeOther int, k, l uint) {
	low, lowOther := r.at, s.at
	r.at += k * uint(size)
	s.at += l * uint(sizeOther)
	r.most |= 255<<k | 1<<k - 1
	s.most |= 255<<l | 1<<l - 1
	i, j := 0, 0
	for {
		looks := min(5, (len(values)-i)/2, (len(others)-j)/2)
		if looks <= 0 {
			break
		}
		word, other := r.peek(), s.peek()
		at, atOther := r.at, s.at
		for range looks { // at most 50 bits of the 57 that are there, and two numbers each
			e, f := c.table[word%codeTable], d.table[other%codeTable]
			v, w := (*[2]uint64)(values[i:]), (*[2]uint64)(others[j:])
			v[0], v[1] = uint64(e>>8&0xff), uint64(e>>16&0xff)
			w[0], w[1] = uint64(f>>8&0xff), uint64(f>>16&0xff)
			word >>= e % 64
			other >>= f % 64
			at += uint(e % 64)
			atOther += uint(f % 64)
			i += int(e / one)
			j += int(f / one)
		}
		if at == r.at {
			i = c.readEscape(r, values, i, k)
			at = r.at
		}
		if atOther == s.at {
			j = d.readEscape(s, others, j, l)
			atOther = s.at
		}
		r.at, s.at = at, atOther
		if r.over() || s.over() {
			return
		}
	}
	c.readWords(r, values, i, k)
	d.readWords(s, others, j, l)
	if r.over() || s.over() {
		return
	}
	if k > 0 {
		mergeLow(r.src, low, values, k)
	}
	if l > 0 {
		mergeLow(s.src, lowOther, others, l)
	}
}

// readEscape reads the i-th number, which follows an escape, and returns i+1.
func (c *code) readEscape(r *bitReader, values []uint64, i int, k uint) int {
	r.at += uint(c.table[r.peek()%codeTable] >> 24 % 16)
	values[i] = r.long()
	r.most |= values[i] << k
	return i + 1
}

// mergeLow puts the k bits each has from the bit at on below what values hold.
func mergeLow(src []byte, at uint, values []uint64, k uint) {
	mask := uint64(1)<<k - 1
	i := 0
	if k <= 7 && at%8 == 0 { // eight of them are k bytes
		for p := at / 8; i+8 <= len(values) && p+8 <= uint(len(src)); p += k {
			word := binary.LittleEndian.Uint64(src[p:])
			v := (*[8]uint64)(values[i:])
			for j := range v {
				v[j] = v[j]<<k | word&mask
				word >>= k & 63
			}
			i += 8
		}
	}
	at += k * uint(i)
	for ; i < len(values); i++ {
		values[i] = values[i]<<k | load(src, at/8)>>(at%8)&mask
		at += k
	}
}
