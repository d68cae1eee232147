package encoding

// Groups: up to 512 numbers of 64 bits. A group is one byte, mode (two bits) and parameter w (six), then bits from the
// lowest of a byte on, padded to a byte at the end of the group.
//
//	0 Rice (Golomb's code for powers of two; R. F. Rice, JPL 79-22), w up to 56: the number shifted right by w as so many
//	  zeros and a one, then its w low bits. 20 zeros and a one are an escape: six bits length-1, the number itself
//	1 fixed: w bits each; w = 0 is all zeros
//	2 sparse, w = g + 8·i: uvarint how many are not zero; for each, in Rice's code with g, how many zeros are before it,
//	  then, with sparseValues[i], itself minus one
//	3 w = 0: 64 bits each. Otherwise a code of codes.go, first k low bits of each number, then what is left of each as a
//	  word, the escape being followed by six bits length-1 and the number: w from 1 on the codes of Poisson, then those of
//	  normal numbers, with k = 0; then, by k from 1 and for each the four codes of halves, 4·(k-1)+j

import (
	"encoding/binary"
	"math/bits"
)

const (
	modeRice = iota
	modeFixed
	modeSparse
	modeCode

	groupSize = 128
	maxGroup  = 512
	escape    = 20
	maxRice   = 56

	firstNormal = 1 + codesPoisson
	firstHalf   = firstNormal + codesNormal
	maxHalf     = 10 // the greatest k: 21 + 4·9 + 3 is the last w, 60
)

var sparseValues = [8]uint{0, 1, 2, 4, 6, 9, 13, 20}

// plan is how a group is to be written: its first byte, and what it comes to.
type plan struct {
	head byte
	cost int // bits
}

func (p *plan) offer(mode, w uint, cost int) {
	if cost < p.cost {
		*p = plan{byte(mode<<6 | w), cost}
	}
}

// summary is what decides about a group, in one pass.
type summary struct {
	sum   uint64 // may wrap: or tells
	or    uint64
	zeros int
}

func summarise(values []uint64) (s summary) {
	for _, v := range values {
		s.sum += v
		s.or |= v
		if v == 0 {
			s.zeros++
		}
	}
	return s
}

// kind is what the numbers of a group are, which decides between codes.
type kind uint8

const (
	counted kind = iota // from zero up
	zigzags             // zigzag numbers about their mean
)

// planGroup finds the shortest way to write values.
func planGroup(values []uint64, s summary, what kind) plan {
	n := len(values)
	width := uint(bits.Len64(s.or))
	best := plan{modeCode << 6, 64 * n}
	if width < 64 {
		best = plan{byte(modeFixed<<6 | width), int(width) * n}
	}
	if width == 0 || n < 2 {
		return best
	}
	if used := n - s.zeros; 2*s.zeros > n {
		w, cost := planSparse(values, used, s)
		best.offer(modeSparse, w, cost)
		if 4*used < n { // nothing else comes near
			return best
		}
	}
	riceLimit := uint(maxRice)
	if what == counted {
		riceLimit = riceAbout - 1
	}
	mean := float64(s.sum) / float64(n)
	guess := uint(max(bits.Len64(s.sum/uint64(n)), 1)) - 1
	least := max(guess, 1) - 1
	if width <= 50 && s.or>>least < escape { // no number needs the escape: the three sums are all there is to the costs
		var shifted [3]uint64
		for _, v := range values {
			v >>= least
			shifted[0] += v
			shifted[1] += v >> 1
			shifted[2] += v >> 2
		}
		for i, q := range shifted {
			if w := least + uint(i); w <= riceLimit {
				best.offer(modeRice, w, n*int(w+1)+int(q))
			}
		}
	} else { // some are far from the rest: these must not choose for all
		lengths := 0
		for _, v := range values {
			lengths += bits.Len64(v)
		}
		usual := uint(lengths / n)
		sum, most := uint64(0), uint64(1)<<min(usual+4, 50)
		for _, v := range values {
			if v < most {
				sum += v
			}
		}
		mean = float64(sum) / float64(n)
		for w := max(usual, 2) - 2; w <= usual+1 && w <= riceLimit; w++ {
			best.offer(modeRice, w, riceCost(values, w))
		}
	}
	if w, c, k := suggest(mean, what); w > 0 {
		best.offer(modeCode, w, c.cost(values, k))
	}
	return best
}

// suggest is the code for numbers with a mean, when there is one for them.
func suggest(mean float64, what kind) (w uint, c *code, k uint) {
	if what == counted {
		// Twice the root of the mean, in steps of a half from 1 on: the limits between are a quarter off.
		for i := range uint(codesPoisson) {
			if limit := (1.25 + 0.5*float64(i)) / 2; mean < limit*limit {
				return 1 + i, &codes[i], 0
			}
		}
		return 0, nil, 0
	}
	// Zigzag numbers of deviation s have the mean 1.596·s - 1/2.
	deviation := (mean + 0.5) / 1.596
	if deviation < 3 {
		for i := range uint(codesNormal) {
			if i == codesNormal-1 || deviation*deviation < normalDeviations[i]*normalDeviations[i+1] {
				return firstNormal + i, &codes[codesPoisson+i], 0
			}
		}
	}
	for k = 1; k <= maxHalf; k++ {
		if deviation < 6 {
			j := uint(0)
			for deviation >= halfLimits[j] {
				j++
			}
			return firstHalf + 4*(k-1) + j, &codes[codesPoisson+codesNormal+j], k
		}
		deviation /= 2
	}
	return 0, nil, 0
}

// halfLimits are the deviations up to which each code of halves is taken.
var halfLimits = [codesHalf]float64{3.5676, 4.2426, 5.0454, 6.0001}

// ofCode is the code, and k, of a w.
func ofCode(w uint) (c *code, k uint, ok bool) {
	switch {
	case w < firstHalf:
		return &codes[w-1], 0, true
	case w < firstHalf+4*maxHalf:
		return &codes[codesPoisson+codesNormal+(w-firstHalf)%4], (w-firstHalf)/4 + 1, true
	}
	return nil, 0, false
}

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

func oneRiceCost(v uint64, w uint) int {
	if q := v >> w; q < escape {
		return int(q) + 1 + int(w)
	}
	return escape + 7 + bits.Len64(v)
}

// planSparse chooses the parameters by the means: of zeros before a number, and of the numbers.
func planSparse(values []uint64, used int, s summary) (w uint, cost int) {
	gap := uint(0)
	for gap < 7 && uint(s.zeros)>>(gap+1) >= uint(used) {
		gap++
	}
	less, i := uint64(0), uint(0)
	for _, v := range values {
		if v > 0 {
			less += min(v-1, 1<<40)
		}
	}
	for i < 7 && less>>sparseValues[i+1] >= uint64(used) {
		i++
	}
	cost = 8
	zeros := uint64(0)
	for _, v := range values {
		if v == 0 {
			zeros++
			continue
		}
		cost += oneRiceCost(zeros, gap) + oneRiceCost(v-1, sparseValues[i])
		zeros = 0
	}
	return gap + 8*i, cost
}

func writeRice(out *bitWriter, v uint64, w uint) {
	if v>>w >= escape {
		out.write(1<<escape, escape+1)
		n := uint(bits.Len64(v))
		out.write(uint64(n-1), 6)
		out.write(v, n)
		return
	}
	q := uint(v >> w)
	low := v & (1<<w - 1)
	if q+1+w <= 64 {
		out.write(1<<q|low<<(q+1), q+1+w)
		return
	}
	out.write(1<<q, q+1)
	out.write(low, w)
}

// appendBody writes a group without its first byte.
func appendBody(dst []byte, values []uint64, p plan) []byte {
	mode, w := uint(p.head>>6), uint(p.head&63)
	if mode == modeFixed && w == 0 {
		return dst
	}
	if mode == modeSparse {
		used := 0
		for _, v := range values {
			if v > 0 {
				used++
			}
		}
		dst = binary.AppendUvarint(dst, uint64(used))
	}
	out := bitWriter{bytes: dst}
	switch mode {
	case modeRice:
		mask := uint64(1)<<w - 1
		for _, v := range values {
			q := uint(v >> w)
			if n := q + 1 + w; v>>w < escape && out.used+n < 64 {
				out.word |= (1<<q | (v&mask)<<(q+1)) << out.used
				out.used += n
				continue
			}
			writeRice(&out, v, w)
		}
	case modeFixed:
		for _, v := range values {
			out.write(v, w)
		}
	case modeSparse:
		zeros := uint64(0)
		for _, v := range values {
			if v == 0 {
				zeros++
				continue
			}
			writeRice(&out, zeros, w%8)
			writeRice(&out, v-1, sparseValues[w/8])
			zeros = 0
		}
	case modeCode:
		if w == 0 {
			for _, v := range values {
				out.write(v, 64)
			}
			break
		}
		c, k, _ := ofCode(w)
		c.write(&out, values, k)
	}
	return out.finish()
}

func appendGroup(dst []byte, values []uint64, what kind) []byte {
	p := planGroup(values, summarise(values), what)
	return appendBody(append(dst, p.head), values, p)
}

// readGroup decodes a group of size numbers into values, all of it or its first ones, and returns what follows it; when
// only a part is wanted, nothing.
func readGroup(src []byte, values []uint64, size int) (rest []byte, err error) {
	if len(src) == 0 {
		return nil, ErrDamaged
	}
	rest, _, err = readBody(src[1:], src[0], values, size)
	return rest, err
}

// readBody is readGroup for what follows the first byte. most has all bits that any of the values has, and perhaps more.
func readBody(src []byte, head byte, values []uint64, size int) (rest []byte, most uint64, err error) {
	mode, w := head>>6, uint(head&63)
	r := bitReader{src: src}
	switch {
	case mode == modeRice:
		if w > maxRice || !readRice(&r, values, w) {
			return nil, 0, ErrDamaged
		}
	case mode == modeFixed && w == 0:
		clear(values)
	case mode == modeFixed:
		if r.at = w * uint(size); r.over() {
			return nil, 0, ErrDamaged
		}
		unpack(src, 0, values, w)
		r.most = 1<<w - 1
	case mode == modeSparse:
		clear(values)
		used, length := binary.Uvarint(src)
		if length <= 0 || used > uint64(size) {
			return nil, 0, ErrDamaged
		}
		r.at = 8 * uint(length)
		place := uint64(0)
		for range used {
			zeros, ok := r.rice(w % 8)
			if !ok || zeros >= uint64(size)-place {
				return nil, 0, ErrDamaged
			}
			less, ok := r.rice(sparseValues[w/8])
			if place += zeros; !ok || r.over() {
				return nil, 0, ErrDamaged
			}
			if place >= uint64(len(values)) {
				return nil, r.most, nil
			}
			values[place] = less + 1
			r.most |= less + 1
			place++
		}
	case w == 0:
		if len(src) < 8*size {
			return nil, 0, ErrDamaged
		}
		for i := range values {
			values[i] = binary.LittleEndian.Uint64(src[8*i:])
		}
		return src[8*size:], 1<<64 - 1, nil
	default:
		c, k, ok := ofCode(w)
		if !ok {
			return nil, 0, ErrDamaged
		}
		if c.read(&r, values, size, k); r.over() {
			return nil, 0, ErrDamaged
		}
	}
	if len(values) < size {
		return nil, r.most, nil
	}
	if r.over() {
		return nil, 0, ErrDamaged
	}
	return r.rest(), r.most, nil
}

// readRice decodes values of Rice's code; false when the bytes end before or are none.
func readRice(r *bitReader, values []uint64, w uint) bool {
	mask := uint64(1)<<w - 1
	src, most := r.src, uint64(0)
	next, word, have := r.at/8, uint64(0), uint(0) // word holds the next have bits, and zeros or the right ones behind
	for i := range values {
		if have < 40 {
			word |= load(src, next) << have
			bytes := (63 - have) / 8
			next += bytes
			have += 8 * bytes
			word &= 1<<have - 1
		}
		q := uint(bits.TrailingZeros64(word))
		if n := q + 1 + w; q < escape && n <= have {
			v := uint64(q)<<w | word>>(q+1)&mask
			values[i] = v
			most |= v
			word >>= n
			have -= n
			continue
		}
		r.at = 8*next - have
		v, ok := r.rice(w)
		if !ok || r.over() {
			return false
		}
		values[i] = v
		most |= v
		next, word, have = r.at/8, 0, 0
		if skip := r.at % 8; skip > 0 { // begin in the middle of a byte
			word, have = load(src, next)>>skip, 64-skip
			next += 8
		}
	}
	r.at = 8*next - have
	r.most = most
	return !r.over()
}

// appendGroups writes residuals in groups of groupSize.
func appendGroups(dst []byte, values []uint64) []byte {
	for len(values) > 0 {
		n := min(groupSize, len(values))
		dst = appendGroup(dst, values[:n], zigzags)
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

// readTwoBodies is readBody of two groups, both at once when both are words of codes, as most are.
func readTwoBodies(src, other []byte, head, headOther byte, values, valuesOther []uint64, size, sizeOther int) (_, _ []byte, most, maxOther uint64, err error) {
	if head > modeCode<<6 && headOther > modeCode<<6 {
		c, k, ok := ofCode(uint(head & 63))
		d, l, okOther := ofCode(uint(headOther & 63))
		if ok && okOther {
			r, s := bitReader{src: src}, bitReader{src: other}
			readTwo(c, d, &r, &s, values, valuesOther, size, sizeOther, k, l)
			if r.over() || s.over() {
				return nil, nil, 0, 0, ErrDamaged
			}
			if len(values) == size {
				src = r.rest()
			} else {
				src = nil
			}
			if len(valuesOther) == sizeOther {
				other = s.rest()
			} else {
				other = nil
			}
			return src, other, r.most, s.most, nil
		}
	}
	if src, most, err = readBody(src, head, values, size); err != nil {
		return nil, nil, 0, 0, err
	}
	other, maxOther, err = readBody(other, headOther, valuesOther, sizeOther)
	return src, other, most, maxOther, err
}
