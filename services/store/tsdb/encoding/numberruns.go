package encoding

// Reading runs of numbers; their form is at the head of numbers.go.

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

// DecodeNumbers appends a run's samples to times and values. src is one run and nothing else.
func DecodeNumbers(src []byte, times []int64, values []float64) ([]int64, []float64, error) {
	r := numberRuns.Get().(*NumberRun)
	defer numberRuns.Put(r)
	if err := r.Open(src, 0); err != nil {
		return times, values, err
	}
	startTimes, startValues := len(times), len(values)
	times, values = r.AppendTimes(times), grow(values, r.N)
	if err := r.Values(values[startValues:]); err != nil {
		return times[:startTimes], values[:startValues], err
	}
	return times, values, nil
}

var numberRuns = sync.Pool{New: func() any { return &NumberRun{} }}

// NumberRun is a run that is read in two steps, its times first, and without writing down times that are regular. It may
// be used again for another run; its zero value is ready for one. The bytes must stay as they are until the values are read.
type NumberRun struct {
	N int // samples
	// When Interval is not 0 the i-th sample is at First + i·Interval, and Times is empty. One sample alone is at First.
	First, Interval int64
	Times           []int64
	// Rising says, when the values were read, that none is less than the one before and all are ordinary numbers. When
	// it is false nothing is known.
	Rising bool

	src       []byte // the values
	form      byte
	decimals  decimalRun
	residuals []uint64
}

// Open reads a run's times and adds base to them. src is one run and nothing else.
func (r *NumberRun) Open(src []byte, base int64) error {
	n, size := binary.Uvarint(src)
	if size <= 0 || n > MaxRun || len(src) == size {
		return ErrDamaged
	}
	form, src := src[size], src[size+1:]
	r.N, r.First, r.Interval, r.Times, r.Rising, r.src, r.form = int(n), 0, 0, r.Times[:0], false, src, form>>2
	if n == 0 {
		if r.src = nil; len(src) > 0 {
			return ErrDamaged
		}
		return nil
	}
	if cap(r.residuals) < r.N {
		r.residuals = make([]uint64, r.N)
	}
	var err error
	r.First, r.Interval, r.Times, r.src, err = readTimes(src, r.N, form&3, base, r.residuals, r.Times)
	return err
}

// MayBeNaN says whether a value may be no number, without reading them. It is for an open run.
func (r *NumberRun) MayBeNaN() bool {
	switch r.form & 3 {
	case valuesSame:
		return false
	case valuesConstant:
		if len(r.src) >= 8 {
			v := math.Float64frombits(binary.LittleEndian.Uint64(r.src))
			return v != v
		}
	case valuesDecimal:
		return len(r.src) == 0 || r.src[0]&withExceptions != 0
	}
	return true
}

// AppendTimes appends the times.
func (r *NumberRun) AppendTimes(times []int64) []int64 {
	if len(r.Times) > 0 {
		return append(times, r.Times...)
	}
	return AppendRegular(times, r.First, r.Interval, r.N)
}

// AppendRegular appends first, first + interval, …, n of them.
func AppendRegular(times []int64, first, interval int64, n int) []int64 {
	start := len(times)
	times = grow(times, n)
	out := times[start:]
	for i := range out {
		out[i] = first
		first += interval
	}
	return times
}

// readTimes reads times and adds base to them: regular ones as the first and the interval, others into times; what follows
// them is the rest. residuals has room for n.
func readTimes(src []byte, n int, form byte, base int64, residuals []uint64, times []int64) (first, interval int64, _ []int64, rest []byte, err error) {
	first, size := binary.Varint(src)
	if size <= 0 {
		return 0, 0, times, nil, ErrDamaged
	}
	src = src[size:]
	step, size := binary.Uvarint(src)
	if size <= 0 || step > math.MaxInt64 {
		return 0, 0, times, nil, ErrDamaged
	}
	src = src[size:]
	switch form {
	case timesRegular:
		if above, _ := bits.Mul64(step, uint64(n-1)); above > 0 || n > 1 && step == 0 ||
			step*uint64(n-1) > uint64(math.MaxInt64)-uint64(first) { // as far as there is from first to the greatest
			return 0, 0, times, nil, ErrDamaged
		}
		if n > 1 {
			interval = int64(step)
		}
		return base + first, interval, times, src, nil
	case timesGroups:
		residuals = residuals[:n-1]
		if src, err = readGroups(src, residuals); err != nil {
			return 0, 0, times, nil, err
		}
		start := len(times)
		times = grow(times, n)
		out, at := times[start:], first
		out[0] = base + first
		for i, v := range residuals {
			next := at + int64(step) + unzigzag(v)
			if next <= at {
				return 0, 0, times[:start], nil, ErrDamaged
			}
			at = next
			out[i+1] = base + at
		}
		return base + first, 0, times, src, nil
	}
	return 0, 0, times, nil, ErrDamaged
}

// Values reads the values into out, which has room for N and no more.
func (r *NumberRun) Values(out []float64) error {
	waiting, err := r.begin(out)
	if waiting {
		err = r.readDecimals()
	}
	return r.end(err)
}

// ValuesOfTwo is Values of two runs at once, which takes less time than one after the other: a processor waits for the
// words of one while it looks up those of the other.
func ValuesOfTwo(r, other *NumberRun, out, outOther []float64) error {
	waiting, err := r.begin(out)
	waitingOther, errOther := other.begin(outOther)
	a, b := &r.decimals, &other.decimals
	for waiting && waitingOther && len(a.out) > 0 && len(b.out) > 0 {
		if len(r.src) == 0 || len(other.src) == 0 {
			return ErrDamaged
		}
		values, others := a.group[:min(groupSize, len(a.out))], b.group[:min(groupSize, len(b.out))]
		if r.src, other.src, _, _, err = readTwoBodies(r.src[1:], other.src[1:], r.src[0], other.src[0], values, others, len(values), len(others)); err != nil {
			return err
		}
		a.add(values)
		b.add(others)
	}
	if waiting {
		err = r.readDecimals()
	}
	if waitingOther {
		errOther = other.readDecimals()
	}
	if err = r.end(err); err != nil {
		return err
	}
	return other.end(errOther)
}

// readDecimals reads what is left of the decimals.
func (r *NumberRun) readDecimals() (err error) {
	d := &r.decimals
	for len(d.out) > 0 {
		values := d.group[:min(groupSize, len(d.out))]
		if r.src, err = readGroup(r.src, values, len(values)); err != nil {
			return err
		}
		d.add(values)
	}
	d.putExceptions()
	r.Rising = d.order == 1 && d.odd == 0 && d.firsts[0] >= 0 && d.firsts[0] < maxWhole && d.steps < 1<<40 && r.N < 1<<20
	return nil
}

func (r *NumberRun) end(err error) error {
	if err != nil || len(r.src) != 0 {
		return ErrDamaged
	}
	return nil
}

func grow[V any](list []V, n int) []V {
	if need := len(list) + n; need > cap(list) {
		bigger := make([]V, len(list), max(need, 2*cap(list)))
		copy(bigger, list)
		list = bigger
	}
	return list[:len(list)+n]
}

// begin reads all values but decimals, of which residuals are waiting then.
func (r *NumberRun) begin(out []float64) (waiting bool, err error) {
	src, n := r.src, r.N
	if n == 0 {
		return false, nil
	}
	switch r.form & 3 {
	case valuesConstant:
		if len(src) < 8 {
			return false, ErrDamaged
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(src))
		for i := range out {
			out[i] = v
		}
		r.src, r.Rising = src[8:], v-v == 0
		return false, nil
	case valuesSame:
		if len(src) == 0 || src[0] > maxExponent {
			return false, ErrDamaged
		}
		m, size := binary.Varint(src[1:])
		if size <= 0 {
			return false, ErrDamaged
		}
		v := float64(m) / powers[src[0]]
		for i := range out {
			out[i] = v
		}
		r.src, r.Rising = src[1+size:], true
		return false, nil
	case valuesAny:
		if len(src) < n { // a byte each at least
			return false, ErrDamaged
		}
		previous := uint64(0)
		for i := range out {
			if len(src) == 0 {
				return false, ErrDamaged
			}
			control := src[0]
			src = src[1:]
			if control != 128 {
				above, below := int(control>>4), int(control&15)
				length := 8 - above - below
				if above > 7 || length <= 0 || len(src) < length {
					return false, ErrDamaged
				}
				x := load(src, 0)
				x &= 1<<(8*length) - 1 // by 64 is all ones
				previous ^= x << (8 * below)
				src = src[length:]
			}
			out[i] = math.Float64frombits(previous)
		}
		r.src = src
		return false, nil
	case valuesDecimal:
		r.src, err = r.decimals.open(src, out, int(r.form>>2))
		return err == nil, err
	}
	return false, ErrDamaged
}

// decimalRun is decimals while they are read, group by group, so that what is between is in the processor's nearest memory.
type decimalRun struct {
	order      int
	power      float64
	firsts     [2]int64
	mean       int64
	odd        uint64 // how many exceptions
	exceptions []byte
	all, out   []float64 // all values, and those that are still to come
	m, step    int64     // the last whole number, and the last step of second order
	steps      uint64    // all bits that any step has
	group      [groupSize]uint64
}

// open reads what is before the residuals, and returns them.
func (d *decimalRun) open(src []byte, out []float64, order int) ([]byte, error) {
	n := len(out)
	if len(src) == 0 || src[0] >= 64 || order > 2 || order > n {
		return nil, ErrDamaged
	}
	flags := src[0]
	d.order, d.power, d.firsts, d.mean, d.odd, d.all, d.steps = order, powers[flags&15], [2]int64{}, 0, 0, out, 0
	src = src[1:]
	if flags&withExceptions != 0 {
		var size int
		if d.odd, size = binary.Uvarint(src); size <= 0 || d.odd > uint64(len(src)/9) {
			return nil, ErrDamaged
		}
		src = src[size:]
	}
	d.exceptions = src
	last := uint64(0)
	for range d.odd {
		step, size := binary.Uvarint(src)
		if last += step; size <= 0 || len(src) < size+8 || last >= uint64(n) {
			return nil, ErrDamaged
		}
		src = src[size+8:]
	}
	for i := range order {
		v, size := binary.Varint(src)
		if size <= 0 {
			return nil, ErrDamaged
		}
		d.firsts[i], src = v, src[size:]
	}
	if flags&withMean != 0 {
		var size int
		if d.mean, size = binary.Varint(src); size <= 0 {
			return nil, ErrDamaged
		}
		src = src[size:]
	}
	d.m, d.step, d.out = d.firsts[0], d.firsts[1], out[order:]
	if order > 0 {
		out[0] = float64(d.m) / d.power
	}
	if order > 1 {
		d.m += d.step
		out[1] = float64(d.m) / d.power
	}
	return src, nil
}

// add makes values of residuals.
func (d *decimalRun) add(residuals []uint64) {
	out, m, mean, power := d.out[:len(residuals)], d.m, d.mean, d.power
	d.out = d.out[len(residuals):]
	switch {
	case d.order == 0 && power == 1:
		for i, v := range residuals {
			out[i] = float64(unzigzag(v) + mean)
		}
	case d.order == 0:
		for i, v := range residuals {
			out[i] = float64(unzigzag(v)+mean) / power
		}
	case d.order == 1:
		steps := uint64(0)
		if power == 1 {
			for i, v := range residuals {
				step := unzigzag(v) + mean
				steps |= uint64(step)
				m += step
				out[i] = float64(m)
			}
		} else {
			for i, v := range residuals {
				step := unzigzag(v) + mean
				steps |= uint64(step)
				m += step
				out[i] = float64(m) / power
			}
		}
		d.steps |= steps
	default:
		step := d.step
		for i, v := range residuals {
			step += unzigzag(v) + mean
			m += step
			out[i] = float64(m) / power
		}
		d.step = step
	}
	d.m = m
}

func (d *decimalRun) putExceptions() {
	exceptions, last := d.exceptions, uint64(0)
	for range d.odd {
		step, size := binary.Uvarint(exceptions)
		last += step
		d.all[last] = math.Float64frombits(binary.LittleEndian.Uint64(exceptions[size:]))
		exceptions = exceptions[size+8:]
	}
	d.all, d.out, d.exceptions = nil, nil, nil
}
