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
// others' times follow from it. Of the rest each step is written down, in pieces of their own.
type openRun struct {
	values [sealPoints / pieceWords]uint32
	steps  [sealPoints / pieceSteps]uint32
	step   uint32 // ms, when it is always the same
	count  uint8
	uneven bool // the steps are written down
}

// pieceSteps is how many steps are in a piece, two to a word.
const pieceSteps = 2 * pieceWords

// append adds a number behind the others, the last of which is of the time last, and says by how many bytes the head grew.
// It may refuse that: the run is then to be sealed first.
func (r *openRun) append(t int64, v float64, last int64, p *pieces) (grown int, ok bool) {
	at, step := uint(r.count), uint64(t-last)
	switch {
	case at == 0:
	case at == sealPoints || step > math.MaxUint32:
		return 0, false
	case at == 1:
		r.step = uint32(step)
	case !r.uneven && uint32(step) != r.step:
		r.uneven = true
		for i := range at {
			grown += r.setStep(i, r.step, p)
		}
	}
	if at%pieceWords == 0 {
		var more int
		r.values[at/pieceWords], more = p.take()
		grown += more
	}
	p.at(r.values[at/pieceWords])[at%pieceWords] = math.Float64bits(v)
	if r.uneven {
		grown += r.setStep(at, uint32(step), p)
	}
	r.count++
	return grown, true
}

// setStep writes down the step to a number from the one before it. They come in order.
func (r *openRun) setStep(at uint, step uint32, p *pieces) (grown int) {
	if at%pieceSteps == 0 {
		r.steps[at/pieceSteps], grown = p.take()
	}
	word := &p.at(r.steps[at/pieceSteps])[at%pieceSteps/2]
	if at%2 == 0 {
		*word = uint64(step)
	} else {
		*word |= uint64(step) << 32
	}
	return grown
}

// latest is the last value. There must be one.
func (r *openRun) latest(p *pieces) float64 {
	at := uint(r.count) - 1
	return math.Float64frombits(p.at(r.values[at/pieceWords])[at%pieceWords])
}

// read appends the numbers to times and values.
func (r *openRun) read(last int64, p *pieces, times []int64, values []float64) ([]int64, []float64) {
	first, n := len(times), uint(r.count)
	for at := range n {
		values = append(values, math.Float64frombits(p.at(r.values[at/pieceWords])[at%pieceWords]))
		times = append(times, last)
	}
	for at := int(n) - 1; at > 0; at-- {
		step := r.step
		if r.uneven {
			step = uint32(p.at(r.steps[at/pieceSteps])[at%pieceSteps/2] >> (at % 2 * 32))
		}
		times[first+at-1] = times[first+at] - int64(step)
	}
	return times, values
}

// inUse is the pieces that hold it.
func (r *openRun) inUse() (values, steps []uint32) {
	n := int(r.count)
	values = r.values[:(n+pieceWords-1)/pieceWords]
	if r.uneven {
		steps = r.steps[:(n+pieceSteps-1)/pieceSteps]
	}
	return values, steps
}

// clear gives the pieces back.
func (r *openRun) clear(p *pieces) {
	values, steps := r.inUse()
	p.give(steps)
	p.give(values)
	r.count, r.uneven = 0, false
}
