package encoding

// Sums of stretches of records, out of columns that never become counts. A window over histograms wants nothing else, and
// at a window's end that is some dozen records of each of hundreds of columns: what is done once for a column matters
// more than what is done for each number.
//
// Words of codes are looked up three at a time and put into bytes, which are summed eight at a time; of a sparse group
// what is not zero is added where it stands. Other groups, and those in which something is behind an escape, are read as
// counts (HistogramRun.next).

import (
	"encoding/binary"
	"math/bits"

	"cistern/services/histogram"
)

// words is what the next codeBits bits are: six bits how many bits they are that make whole words, two how many words, up
// to three, none for the escape; then the words' numbers, a byte each.
type words [codeTable]uint32

type readingKind uint8

const (
	readCounts readingKind = iota // anything: by HistogramRun.next
	readSparse
	readWords // of counts
	readAbout // words and lower bits of zigzag numbers about a mean
)

// reading is how a group is read, by its first byte.
type reading struct {
	kind  readingKind
	k     uint8 // lower bits
	words *words
	code  *code
}

var readings [256]reading

func init() {
	var made [len(codes)]words
	for i := range made {
		made[i].make(&codes[i])
	}
	for w := uint(0); w < 64; w++ {
		readings[modeSparse<<6|w].kind = readSparse
		c, k, ok := (*code)(nil), uint(0), false
		if w > 0 {
			c, k, ok = ofCode(w)
		}
		if !ok {
			continue
		}
		r := &readings[modeCode<<6|w]
		*r = reading{kind: readWords, k: uint8(k), code: c}
		if w >= firstNormal {
			r.kind = readAbout
		}
		for i := range codes {
			if c == &codes[i] {
				r.words = &made[i]
			}
		}
	}
}

func (t *words) make(c *code) {
	for at := range t {
		used, n, numbers := uint32(0), uint32(0), uint32(0)
		for n < 3 {
			e := c.table[at>>used]
			length := e >> 24 & 15
			if e < one || used+length > codeBits { // an escape, or bits that are not there
				break
			}
			numbers |= e >> 8 & 0xff << (8 * n)
			used, n = used+length, n+1
		}
		t[at] = used | n<<6 | numbers<<8
	}
}

// room is what read may write behind the numbers that it was asked for.
const room = 16

// read puts the numbers of the first wanted of n words, which begin at the bit at, into numbers. It returns the bit behind
// them when all are wanted, and otherwise one that is not before that; ok is false when there is an escape. Behind the end
// of src are zeros: the caller looks whether it went there.
func (g *reading) read(src []byte, at uint, n, wanted int, numbers *[maxGroup + room]byte) (behind uint, ok bool) {
	t, i := g.words, 0
	// Five looks take at most 50 bits of the 57 that are there, and are fifteen words.
	for i < wanted && i+15 <= n {
		word, before := load(src, at/8)>>(at%8), i
		e := t[word%codeTable]
		word >>= e & 63
		bits := e & 63
		binary.LittleEndian.PutUint32(numbers[i:], e>>8)
		i += int(e >> 6 & 3)
		e = t[word%codeTable]
		word >>= e & 63
		bits += e & 63
		binary.LittleEndian.PutUint32(numbers[i:], e>>8)
		i += int(e >> 6 & 3)
		e = t[word%codeTable]
		word >>= e & 63
		bits += e & 63
		binary.LittleEndian.PutUint32(numbers[i:], e>>8)
		i += int(e >> 6 & 3)
		e = t[word%codeTable]
		word >>= e & 63
		bits += e & 63
		binary.LittleEndian.PutUint32(numbers[i:], e>>8)
		i += int(e >> 6 & 3)
		e = t[word%codeTable]
		bits += e & 63
		binary.LittleEndian.PutUint32(numbers[i:], e>>8)
		if i += int(e >> 6 & 3); i == before {
			return at, false
		}
		at += uint(bits)
	}
	for i < wanted {
		word, before := load(src, at/8)>>(at%8), i
		for looks := 5; looks > 0 && i+3 <= n; looks-- {
			e := t[word%codeTable]
			binary.LittleEndian.PutUint32(numbers[i:], e>>8)
			word >>= e & 63
			at += uint(e & 63)
			i += int(e >> 6 & 3)
		}
		if i+3 <= n && i > before {
			continue
		}
		if i+3 <= n {
			return at, false
		}
		word = load(src, at/8) >> (at % 8)
		for ; i < n; i++ {
			e := g.code.table[word%codeTable]
			if e < one {
				return at, false
			}
			numbers[i] = byte(e >> 8)
			used := uint(e >> 24 % 16)
			word >>= used
			at += used
		}
	}
	return at, true
}

// sumBytes is the sum of bytes each of which is less than 32.
func sumBytes(numbers []byte) uint64 {
	const even = 0x00ff00ff00ff00ff
	lanes := uint64(0) // four, of sixteen bits each: enough for maxGroup numbers
	for len(numbers) >= 8 {
		word := binary.LittleEndian.Uint64(numbers)
		lanes += word&even + word>>8&even
		numbers = numbers[8:]
	}
	sum := lanes * 0x0001000100010001 >> 48
	for _, n := range numbers {
		sum += uint64(n)
	}
	return sum
}

// sumAbout is the sum of counts out of the zigzag numbers about a mean whose k lower bits stand in src from the bit at on
// and whose words numbers has; ok is false when a count is below zero.
func sumAbout(src []byte, at uint, numbers []byte, mean uint64, k uint) (sum uint64, ok bool) {
	all, mask := uint64(0), uint64(1)<<k-1
	each := len(numbers)
	if k > 0 {
		each = int(57 / k)
	}
	for len(numbers) > 0 {
		low := load(src, at/8) >> (at % 8)
		some := numbers[:min(each, len(numbers))]
		for _, number := range some {
			v := uint64(number)<<(k&63) | low&mask
			low >>= k & 63
			c := (v>>1 ^ -(v & 1)) + mean
			sum += c
			all |= c
		}
		numbers = numbers[len(some):]
		at += k * uint(len(some))
	}
	return sum, all < 1<<63
}

// sumsAbout is sumAbout of the first none, one, two … numbers, which sums has room for.
func sumsAbout(src []byte, at uint, numbers []byte, mean uint64, k uint, sums []uint64) (ok bool) {
	all, mask, sum := uint64(0), uint64(1)<<k-1, uint64(0)
	sums[0] = 0
	sums = sums[1:]
	for len(numbers) >= 4 && len(sums) >= 4 { // k is maxHalf at most: four are at hand at once
		low := load(src, at/8) >> (at % 8)
		a, b := uint64(numbers[0])<<(k&63)|low&mask, uint64(numbers[1])<<(k&63)|low>>(k&63)&mask
		c, d := uint64(numbers[2])<<(k&63)|low>>(2*k&63)&mask, uint64(numbers[3])<<(k&63)|low>>(3*k&63)&mask
		a, b = (a>>1^-(a&1))+mean, (b>>1^-(b&1))+mean
		c, d = (c>>1^-(c&1))+mean, (d>>1^-(d&1))+mean
		all |= a | b | c | d
		b += a
		sums[0], sums[1] = sum+a, sum+b
		c += b
		d += c
		sums[2], sums[3] = sum+c, sum+d
		sum += d
		numbers, sums = numbers[4:], sums[4:]
		at += 4 * k
	}
	for i, number := range numbers {
		v := uint64(number)<<(k&63) | load(src, at/8)>>(at%8)&mask
		v = (v>>1 ^ -(v & 1)) + mean
		sum += v
		all |= v
		sums[i] = sum
		at += k
	}
	return all < 1<<63
}

// sumShort makes r.sums of the sums of the first none, one, two … records, which are in r.column.
func (r *HistogramRun) sumShort() {
	for i, s := range r.stretches {
		r.sums[i] = r.column[s.to] - r.column[s.from]
	}
}

// sumCounts makes r.sums of a column of counts.
func (r *HistogramRun) sumCounts(column []uint64) {
	for i, s := range r.stretches {
		if s.to-s.from >= shortStretch {
			r.sums[i] = total(column[s.from:s.to])
			continue
		}
		sum := uint64(0)
		for _, c := range column[s.from:s.to] {
			sum += c
		}
		r.sums[i] = sum
	}
}

// sumSparse adds to sums what a sparse group of n counts has in each of stretches, all of which lie before wanted. It
// returns the bit behind the group, or one in it when the rest is not wanted; ok is false where it is none, or has numbers
// whose sums might not fit.
func sumSparse(src []byte, at uint, w uint, n, wanted int, stretches []stretch, sums []uint64) (behind uint, ok bool) {
	used, length := binary.Uvarint(src[at/8:])
	if length <= 0 || used > uint64(n) {
		return 0, false
	}
	r := bitReader{src: src, at: at + 8*uint(length)}
	gap, value := w%8, sparseValues[w/8]
	place, i := uint64(0), 0
	for range used {
		var zeros, less uint64
		// Nearly always both fit what is at hand, and neither is an escape.
		word := r.peek()
		q := uint(bits.TrailingZeros64(word))
		rest := word >> ((q + 1 + gap) & 63)
		p := uint(bits.TrailingZeros64(rest))
		if bits := q + 1 + gap + p + 1 + value; q < escape && p < escape && bits <= 57 {
			zeros = uint64(q)<<gap | word>>(q+1)&(1<<gap-1)
			less = uint64(p)<<value | rest>>(p+1)&(1<<value-1)
			r.at += bits
		} else {
			var okZeros, okLess bool
			zeros, okZeros = r.rice(gap)
			if less, okLess = r.rice(value); !okZeros || !okLess || less >= 1<<46 {
				return 0, false
			}
		}
		if zeros >= uint64(n)-place || r.over() {
			return 0, false
		}
		if place += zeros; place >= uint64(wanted) {
			return r.at, true
		}
		for i < len(stretches) && int(place) >= stretches[i].to {
			i++
		}
		if i < len(stretches) && int(place) >= stretches[i].from {
			sums[i] += less + 1
		}
		place++
	}
	return r.at, true
}

// target is where a stretch's sums go: the counts of into, the first of which is that of the bin first.
type target struct {
	counts []uint64
	first  histogram.Bin
}

// shortStretch is up to how many records a stretch may have, on average, for the sums of all the records before each to be
// made: for longer ones they are more work than they spare.
const shortStretch = 10

// addSums adds r.stretches of a run whose columns are one group each.
func (r *HistogramRun) addSums(into []*histogram.Dense) error {
	n, wanted, indexed := len(r.times), len(r.times), len(r.ends) > 0
	if indexed {
		wanted = r.stretches[len(r.stretches)-1].to
	}
	// Of windows of a few records each, the difference of two sums is less work than each window's own.
	r.short = len(r.stretches) > 2 && r.stretches[len(r.stretches)-1].to < shortStretch*len(r.stretches)
	r.targets = append(r.targets[:0], make([]target, len(r.stretches))...)
	defer clear(r.targets) // nobody's windows are to be kept from the collector
	r.sums = append(r.sums[:0], make([]uint64, len(r.stretches))...)
	src, start, targets := r.columns, uint32(0), r.targets[:len(r.sums)]
	for k, bin := range r.bins {
		if indexed {
			src = r.columns[start:r.ends[k]]
			start = r.ends[k]
		}
		rest, ok := r.sumColumn(src, n, wanted)
		if !ok { // by other means, or with numbers that need it: or it is damaged, which next says
			column := r.column[:wanted]
			var or uint64
			var err error
			if rest, or, err = r.next(k, src, column); err != nil {
				return err
			}
			if bits.Len64(or) > 46 { // MaxRun of these might not fit
				r.addColumn(k, column, or, into)
				src = rest
				continue
			}
			r.sumCounts(column)
		}
		src = rest
		if r.offsets.known {
			half, middles := r.offsets.halves[k], r.offsets.middles[:len(r.sums)]
			for i, sum := range r.sums {
				middles[i] += half * float64(sum)
			}
		}
		for i, sum := range r.sums {
			if sum == 0 {
				continue
			}
			t := &targets[i]
			if at := uint(int(bin) - int(t.first)); at < uint(len(t.counts)) {
				if t.counts[at] += sum; t.counts[at] < sum {
					t.counts[at] = 1<<64 - 1
				}
				continue
			}
			r.put(i, bin, sum, into)
		}
	}
	if !indexed && len(src) > 0 {
		return ErrDamaged
	}
	return nil
}

// sumColumn makes r.sums of the column that src begins with, of whose n counts the first ones are wanted; rest is what
// follows it when all are. ok is false when it has to be read as counts.
func (r *HistogramRun) sumColumn(src []byte, n, wanted int) (rest []byte, ok bool) {
	if len(src) == 0 {
		return nil, false
	}
	g := &readings[src[0]]
	behind := uint(8)
	switch g.kind {
	case readCounts:
		return nil, false
	case readSparse:
		clear(r.sums)
		if behind, ok = sumSparse(src, behind, uint(src[0]&63), n, wanted, r.stretches, r.sums); !ok {
			return nil, false
		}
	case readWords:
		if behind, ok = g.read(src, behind, n, wanted, &r.numbers); !ok {
			return nil, false
		}
		if r.short {
			sum, sums := uint64(0), r.column[:wanted+1]
			sums[0] = 0
			for i, n := range r.numbers[:wanted] {
				sum += uint64(n)
				sums[i+1] = sum
			}
			r.sumShort()
			break
		}
		for i, s := range r.stretches {
			r.sums[i] = sumBytes(r.numbers[s.from:s.to])
		}
	case readAbout:
		mean, length := binary.Uvarint(src[1:])
		if length <= 0 || mean >= 1<<46 {
			return nil, false
		}
		k := uint(g.k)
		low := 8 + 8*uint(length)
		if behind, ok = g.read(src, low+k*uint(n), n, wanted, &r.numbers); !ok || behind > 8*uint(len(src)) {
			return nil, false
		}
		if r.short {
			if !sumsAbout(src, low, r.numbers[:wanted], mean, k, r.column[:wanted+1]) {
				return nil, false
			}
			r.sumShort()
			break
		}
		for i, s := range r.stretches {
			if r.sums[i], ok = sumAbout(src, low+k*uint(s.from), r.numbers[s.from:s.to], mean, k); !ok {
				return nil, false
			}
		}
	}
	if behind = (behind + 7) / 8; behind > uint(len(src)) || len(r.ends) > 0 && wanted == n && behind < uint(len(src)) {
		return nil, false
	}
	return src[behind:], true
}

// put adds a sum to the window of stretch i, in which the stretch's target has no room for it or none yet.
func (r *HistogramRun) put(i int, bin histogram.Bin, sum uint64, into []*histogram.Dense) {
	d := into[r.stretches[i].window]
	if d == nil {
		d = &histogram.Dense{}
		into[r.stretches[i].window] = d
	}
	d.Add(bin, sum)
	// All at once, unless they are spread so wide that the window may have few of them. Nobody else grows d until all of
	// the run is added, nor does what is within these bins.
	t := &r.targets[i]
	if last := r.bins[len(r.bins)-1]; bin > 0 && len(t.counts) == 0 && int(last)-int(bin) < 4*len(r.bins) {
		t.counts, t.first = d.Counts(bin, last), bin
	}
}
