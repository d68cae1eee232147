package tsdb

// The numbers of the head's series that are in no frame yet. They lie in pieces of eight words: a series has little room
// that it does not need, growing copies nothing, and what one series has sealed the next one takes. There are no pointers
// in them, so that the garbage collector passes them over.

import "math"

const (
	pieceWords = 8
	slabPieces = 1024
)

type piece [pieceWords]uint64

// pieces is where the series of a head take theirs from.
type pieces struct {
	slabs []*[slabPieces]piece
	next  uint32 // the first that nobody has had yet
	free  uint32 // plus one, the last that was given back; in its first word is the one before it. 0 for none
}

func (p *pieces) at(number uint32) *piece { return &p.slabs[number/slabPieces][number%slabPieces] }

// take gives a piece out, and says by how many bytes the head grew.
func (p *pieces) take() (number uint32, grown int) {
	if p.free != 0 {
		number = p.free - 1
		p.free = uint32(p.at(number)[0])
		return number, 0
	}
	if p.next%slabPieces == 0 {
		p.slabs = append(p.slabs, new([slabPieces]piece))
	}
	p.next++
	return p.next - 1, pieceWords * 8
}

func (p *pieces) give(numbers []uint32) {
	for _, number := range numbers {
		p.at(number)[0] = uint64(p.free)
		p.free = number + 1
	}
}

// openRun is numbers in the order of their times. The last one's time is the series'; most series are regular, and the
// others' times follow from it. Of the rest each number has its step behind it: five of them fill a piece, so that adding
// one touches no more memory than adding to a regular run.
type openRun struct {
	pieces [runPieces]uint32
	step   uint32 // ms, when it is always the same
	count  uint8
	uneven bool // the steps are written down
}

const (
	unevenNumbers = 5
	runPieces     = sealPoints / unevenNumbers
	unevenPoints  = runPieces * unevenNumbers // of so many an uneven run is sealed
)

// append adds a number behind the others, the last of which is of the time last, and says by how many bytes the head grew.
// It may refuse that: the run is then to be sealed first.
func (r *openRun) append(t int64, v float64, last int64, p *pieces) (grown int, ok bool) {
	step := uint64(t - last)
	switch n := r.count; {
	case n == 0:
	case step > math.MaxUint32 || n == sealPoints || r.uneven && n == unevenPoints:
		return 0, false
	case r.uneven:
	case n == 1:
		r.step = uint32(step)
	case uint32(step) != r.step:
		if n >= unevenPoints {
			return 0, false
		}
		grown = r.loosen(last, p)
	}
	return grown + r.put(v, uint32(step), p), true
}

// put adds a number for which there is room.
func (r *openRun) put(v float64, step uint32, p *pieces) (grown int) {
	number, place := r.count/pieceWords, r.count%pieceWords
	if r.uneven {
		number, place = r.count/unevenNumbers, r.count%unevenNumbers
	}
	if place == 0 {
		r.pieces[number], grown = p.take()
	}
	words := p.at(r.pieces[number])
	words[place] = math.Float64bits(v)
	if r.uneven {
		word := &words[unevenNumbers+place/2]
		if place%2 == 0 {
			*word = uint64(step)
		} else {
			*word |= uint64(step) << 32
		}
	}
	r.count++
	return grown
}

// loosen makes a regular run an uneven one.
func (r *openRun) loosen(last int64, p *pieces) (grown int) {
	var times [sealPoints]int64
	var values [sealPoints]float64
	_, kept := r.read(last, p, times[:0], values[:0])
	r.clear(p)
	r.uneven = true
	for _, v := range kept {
		grown += r.put(v, r.step, p)
	}
	return grown
}

// latest is the last value. There must be one.
func (r *openRun) latest(p *pieces) float64 {
	at := r.count - 1
	if r.uneven {
		return math.Float64frombits(p.at(r.pieces[at/unevenNumbers])[at%unevenNumbers])
	}
	return math.Float64frombits(p.at(r.pieces[at/pieceWords])[at%pieceWords])
}

// read appends the numbers to times and values.
func (r *openRun) read(last int64, p *pieces, times []int64, values []float64) ([]int64, []float64) {
	first, step, t := len(times), r.step, int64(0)
	rest := int(r.count)
	for _, number := range r.inUse() {
		words, n := p.at(number), min(rest, pieceWords)
		if r.uneven {
			n = min(rest, unevenNumbers)
		}
		for i := range n {
			if r.uneven {
				step = uint32(words[unevenNumbers+i/2] >> (i % 2 * 32))
			}
			t += int64(step)
			times, values = append(times, t), append(values, math.Float64frombits(words[i]))
		}
		rest -= n
	}
	for i := range times[first:] {
		times[first+i] += last - t
	}
	return times, values
}

// inUse is the pieces that hold it.
func (r *openRun) inUse() []uint32 {
	if r.uneven {
		return r.pieces[:(int(r.count)+unevenNumbers-1)/unevenNumbers]
	}
	return r.pieces[:(int(r.count)+pieceWords-1)/pieceWords]
}

// clear gives the pieces back.
func (r *openRun) clear(p *pieces) {
	p.give(r.inUse())
	r.count, r.uneven = 0, false
}
