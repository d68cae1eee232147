package tsdb

// The numbers of the head's series that are in no frame yet. They lie in pieces of eight words: a series has room for
// seven words at most that it does not need, growing copies nothing, and what one series has sealed the next one takes.
// There are no pointers in them, so that the garbage collector passes them over.

import "math"

const (
	pieceWords = 8
	slabPieces = 1024
	runPieces  = sealPoints / pieceWords
)

type piece [pieceWords]uint64

// pieces is where the series of a head take theirs from.
type pieces struct {
	slabs []*[slabPieces]piece
	next  uint32   // the first that nobody has had yet
	free  []uint32 // what was given back
}

func (p *pieces) at(number uint32) *piece { return &p.slabs[number/slabPieces][number%slabPieces] }

// take gives a piece out, and says by how many bytes the head grew.
func (p *pieces) take() (number uint32, grown int) {
	if n := len(p.free); n > 0 {
		number, p.free = p.free[n-1], p.free[:n-1]
		return number, 0
	}
	if p.next%slabPieces == 0 {
		p.slabs = append(p.slabs, new([slabPieces]piece))
	}
	p.next++
	return p.next - 1, pieceWords * 8
}

// openRun is numbers in the order of their times. Most series are regular: the time of the last is the series', and the
// others are step before each other. Otherwise each value has its time behind it.
type openRun struct {
	pieces  [runPieces]uint32
	step    uint32 // ms
	count   uint8
	written bool // the times are
}

// words is how many the numbers take.
func (r *openRun) words() int {
	if r.written {
		return 2 * int(r.count)
	}
	return int(r.count)
}

// append adds a number behind the others, the last of which is of the time last, and says by how many bytes the head grew.
// It may refuse that: the run is then to be sealed first.
func (r *openRun) append(t int64, v float64, last int64, p *pieces) (grown int, ok bool) {
	step := t - last
	switch {
	case r.count == 0 || r.written || step == int64(r.step):
	case r.count == 1 && step <= math.MaxUint32:
		r.step = uint32(step)
	case r.count < sealPoints/4: // a frame would be mostly header
		grown = r.write(last, p)
	default: // a gap, most likely: what comes may be regular again
		return 0, false
	}
	at := r.words()
	if at == sealPoints {
		return 0, false
	}
	if at%pieceWords == 0 {
		var more int
		r.pieces[at/pieceWords], more = p.take()
		grown += more
	}
	words := p.at(r.pieces[at/pieceWords])
	words[at%pieceWords] = math.Float64bits(v)
	if r.written {
		words[at%pieceWords+1] = uint64(t)
	}
	r.count++
	return grown, true
}

// write gives each value its time. There is room for them: the numbers are fewer than a quarter of what fits.
func (r *openRun) write(last int64, p *pieces) (grown int) {
	n := int(r.count)
	for i := (n + pieceWords - 1) / pieceWords; i < (2*n+pieceWords-1)/pieceWords; i++ {
		var more int
		r.pieces[i], more = p.take()
		grown += more
	}
	for i := n - 1; i >= 0; i-- {
		value := r.word(i, p)
		words := p.at(r.pieces[2*i/pieceWords])
		words[2*i%pieceWords], words[2*i%pieceWords+1] = value, uint64(last-int64(n-1-i)*int64(r.step))
	}
	r.written = true
	return grown
}

func (r *openRun) word(i int, p *pieces) uint64 {
	return p.at(r.pieces[i/pieceWords])[i%pieceWords]
}

// latest is the last value. There must be one.
func (r *openRun) latest(p *pieces) float64 {
	if r.written {
		return math.Float64frombits(r.word(2*int(r.count)-2, p))
	}
	return math.Float64frombits(r.word(int(r.count)-1, p))
}

// read appends the numbers to times and values.
func (r *openRun) read(last int64, p *pieces, times []int64, values []float64) ([]int64, []float64) {
	n := int(r.count)
	for i := range n {
		if r.written {
			times, values = append(times, int64(r.word(2*i+1, p))), append(values, math.Float64frombits(r.word(2*i, p)))
			continue
		}
		times = append(times, last-int64(n-1-i)*int64(r.step))
		values = append(values, math.Float64frombits(r.word(i, p)))
	}
	return times, values
}

// clear gives the pieces back.
func (r *openRun) clear(p *pieces) {
	for i := (r.words() + pieceWords - 1) / pieceWords; i > 0; i-- {
		p.free = append(p.free, r.pieces[i-1])
	}
	r.count, r.written = 0, false
}
