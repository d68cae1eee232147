package encoding

// Numbers over times.
//
// A run: uvarint number of samples n; byte form; when n > 0 the times, then the values.
//
//	form: bits 0 and 1: how the times are stored, bits 2 and 3: how the values are, bits 4 and 5: the order of differences
//	times 0, regular: varint first, uvarint interval
//	times 1: varint first, uvarint usual interval, then residuals: zigzag of each interval minus the usual
//	values 0, constant: 8 bytes
//	values 1, decimals: byte: exponent e in bits 0 to 3, 16 when there are exceptions, 32 when the residuals are about a
//	  mean; for exceptions: uvarint how many, each: uvarint index minus the previous one's, 8 bytes; then the whole numbers
//	  m of which each value is m / 10^e: by order, varint first m (0 and above: of m, of its first difference), varint mean
//	  of the residuals when there is one, and the residuals: zigzag of each minus the mean
//	values 2, any: the bits of each exclusive-or those of the one before: byte 16·(zero bytes above) + zero bytes below,
//	  or 128 when all are zero, and the bytes in between
//	values 3, constant decimal: byte e, varint m
//
// Residuals are in groups of up to 128 (group.go). A value is taken as a decimal only when dividing gives back every one
// of its bits. Exceptions are NaN, infinities and minus zero; among them Prometheus' mark of a series' end.

import (
	"encoding/binary"
	"math"
	"math/bits"
	"sync"
)

const (
	timesRegular = 0
	timesGroups  = 1

	valuesConstant = 0
	valuesDecimal  = 1
	valuesAny      = 2
	valuesSame     = 3

	withExceptions = 16
	withMean       = 32

	maxExponent = 15
	maxWhole    = 1 << 53
)

var powers = [maxExponent + 1]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

type scratch struct {
	whole     []int64
	residuals []uint64
	odd       []int
	cells     []uint64
	places    []int32
}

// table is n zeroes.
func (s *scratch) table(n int) []uint64 {
	if cap(s.cells) < n {
		s.cells = make([]uint64, n)
		return s.cells
	}
	cells := s.cells[:n]
	clear(cells)
	if n > 1<<20 { // one huge run must not be paid for, for ever
		s.cells = nil
	}
	return cells
}

var scratches = sync.Pool{New: func() any { return &scratch{} }}

func (s *scratch) room(n int) {
	if cap(s.whole) < n {
		s.whole, s.residuals = make([]int64, n), make([]uint64, n)
	}
	s.whole, s.residuals, s.odd = s.whole[:n], s.residuals[:n], s.odd[:0]
}

// AppendNumbers appends a run to dst. times, in ms, ascend strictly and are as many as values; at most MaxRun.
func AppendNumbers(dst []byte, times []int64, values []float64) []byte {
	n := len(times)
	dst = binary.AppendUvarint(dst, uint64(n))
	form := len(dst)
	dst = append(dst, 0)
	if n == 0 {
		return dst
	}
	s := scratches.Get().(*scratch)
	defer scratches.Put(s)
	s.room(n)
	dst, timesForm := appendTimes(dst, times, s)
	dst, valuesForm := appendValues(dst, values, s)
	dst[form] = timesForm | valuesForm<<2
	return dst
}

func appendTimes(dst []byte, times []int64, s *scratch) ([]byte, byte) {
	dst = binary.AppendVarint(dst, times[0])
	if len(times) == 1 {
		return append(dst, 0), timesRegular
	}
	interval := times[1] - times[0]
	regular := true
	for i := 2; i < len(times); i++ {
		if times[i]-times[i-1] != interval {
			regular = false
			break
		}
	}
	if regular {
		return binary.AppendUvarint(dst, uint64(interval)), timesRegular
	}
	// The mean is off where there is a gap; that of the middle half's is not, and is found without sorting.
	n := len(times)
	interval = (times[n-1-n/4] - times[n/4]) / int64(max(1, n-1-n/4-n/4))
	if even := (interval + 500) / 1000 * 1000; even > 0 && interval-even < 20 && even-interval < 20 {
		interval = even
	}
	dst = binary.AppendUvarint(dst, uint64(interval))
	for i := 1; i < n; i++ {
		s.residuals[i-1] = zigzag(times[i] - times[i-1] - interval)
	}
	return appendGroups(dst, s.residuals[:n-1]), timesGroups
}

func appendValues(dst []byte, values []float64, s *scratch) ([]byte, byte) {
	first := math.Float64bits(values[0])
	constant := true
	for _, v := range values {
		if math.Float64bits(v) != first {
			constant = false
			break
		}
	}
	if constant {
		if e, ok := decimals(values[:1], s); ok && len(s.odd) == 0 {
			return binary.AppendVarint(append(dst, byte(e)), s.whole[0]), valuesSame
		}
		return binary.LittleEndian.AppendUint64(dst, first), valuesConstant
	}
	if e, ok := decimals(values, s); ok {
		return appendDecimals(dst, values, e, s)
	}
	previous := uint64(0)
	for _, v := range values {
		now := math.Float64bits(v)
		x := now ^ previous
		previous = now
		if x == 0 {
			dst = append(dst, 128)
			continue
		}
		above, below := bits.LeadingZeros64(x)/8, bits.TrailingZeros64(x)/8
		dst = append(dst, byte(above<<4|below))
		x >>= 8 * below
		for range 8 - above - below {
			dst = append(dst, byte(x))
			x >>= 8
		}
	}
	return dst, valuesAny
}

// decimals fills s.whole with the numbers that give the values when divided by 10^e.
func decimals(values []float64, s *scratch) (e int, ok bool) {
	for {
		power := powers[e]
		failed := false
		s.odd = s.odd[:0]
		last := int64(0)
		for i, v := range values {
			scaled := v * power
			if !(scaled < maxWhole && scaled > -maxWhole) || v == 0 && math.Signbit(v) {
				if !math.IsNaN(v) && !math.IsInf(v, 0) && v != 0 {
					return 0, false
				}
				s.odd = append(s.odd, i)
				s.whole[i] = last
				if len(s.odd) > 2+len(values)/8 {
					return 0, false
				}
				continue
			}
			whole := int64(math.RoundToEven(scaled))
			if float64(whole)/power != v {
				failed = true
				break
			}
			s.whole[i], last = whole, whole
		}
		if !failed {
			return e, true
		}
		// The exponent that this value needs is at least the next; most values of a series need the same.
		if e++; e > maxExponent {
			return 0, false
		}
	}
}

func appendDecimals(dst []byte, values []float64, e int, s *scratch) ([]byte, byte) {
	flags := len(dst)
	dst = append(dst, byte(e))
	if len(s.odd) > 0 {
		dst[flags] |= withExceptions
		dst = binary.AppendUvarint(dst, uint64(len(s.odd)))
	}
	last := 0
	for _, i := range s.odd {
		dst = binary.AppendUvarint(dst, uint64(i-last))
		dst = binary.LittleEndian.AppendUint64(dst, math.Float64bits(values[i]))
		last = i
	}
	order, mean := differences(s.whole)
	rest := s.whole
	for range order {
		dst = binary.AppendVarint(dst, rest[0])
		for i := len(rest) - 1; i > 0; i-- {
			rest[i] -= rest[i-1]
		}
		rest = rest[1:]
	}
	if order < 2 {
		mean = centre(rest, mean)
	}
	if mean != 0 {
		dst[flags] |= withMean
		dst = binary.AppendVarint(dst, mean)
	}
	residuals := s.residuals[:len(rest)]
	for i, m := range rest {
		residuals[i] = zigzag(m - mean)
	}
	return appendGroups(dst, residuals), valuesDecimal | byte(order)<<2
}

// differences finds the order of differences that is smallest, by the sum of their lengths, and about which mean.
func differences(m []int64) (order int, mean int64) {
	n := len(m)
	sum := 0.0
	for _, v := range m {
		sum += float64(v)
	}
	level := int64(sum / float64(n))
	// A counter's steps, by the middle half: it may have been reset, and one such step moves the mean of all.
	drift := (m[n-1-n/4] - m[n/4]) / int64(max(1, n-1-n/4-n/4))
	var cost [3]int
	before, beforeStep := m[0], m[min(1, n-1)]-m[0]
	cost[0] = bits.Len64(zigzag(m[0] - level))
	for _, v := range m[1:] {
		step := v - before
		cost[0] += bits.Len64(zigzag(v - level))
		cost[1] += bits.Len64(zigzag(step - drift))
		cost[2] += bits.Len64(zigzag(step - beforeStep))
		before, beforeStep = v, step
	}
	switch {
	case cost[2] < cost[0] && cost[2] < cost[1] && n > 2:
		return 2, 0
	case cost[1] < cost[0]:
		return 1, drift
	}
	return 0, level
}

// centre is the mean of those residuals that are near a guess of it, or 0 when they are as near to that.
func centre(residuals []int64, guess int64) int64 {
	n := len(residuals)
	if n == 0 {
		return 0
	}
	about, zero := 0, 0
	for _, v := range residuals {
		about += bits.Len64(zigzag(v - guess))
		zero += bits.Len64(zigzag(v))
	}
	if zero <= about {
		return 0
	}
	most := uint64(1) << min(about/n+4, 46) // MaxRun of these do not overflow
	sum, near := int64(0), int64(0)
	for _, v := range residuals {
		if d := v - guess; zigzag(d) < most {
			sum += d
			near++
		}
	}
	if near == 0 {
		return guess
	}
	return guess + int64(math.Round(float64(sum)/float64(near)))
}

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

// Rollup is records of a width of time: what the numbers in each came to. All columns are as long as Times.
type Rollup struct {
	Times               []int64 // where each record begins
	Min, Max, Sum, Last []float64
	Count               []uint64
}

// AppendRollups appends records, whose times ascend strictly: uvarint length and a run over the times for Sum, then for
// each of Min, Max, Last and Count uvarint length and a run over 0, 1, 2, ….
func AppendRollups(dst []byte, r *Rollup) []byte {
	n := len(r.Times)
	index, counts := make([]int64, n), make([]float64, n)
	for i := range index {
		index[i], counts[i] = int64(i), float64(r.Count[i])
	}
	var run []byte
	for i, column := range [][]float64{r.Sum, r.Min, r.Max, r.Last, counts} {
		times := index
		if i == 0 {
			times = r.Times
		}
		run = AppendNumbers(run[:0], times, column)
		dst = binary.AppendUvarint(dst, uint64(len(run)))
		dst = append(dst, run...)
	}
	return dst
}

// DecodeRollups appends records to r.
func DecodeRollups(src []byte, r *Rollup) error {
	var times []int64
	var counts []float64
	before := len(r.Times)
	for i, column := range []*[]float64{&r.Sum, &r.Min, &r.Max, &r.Last, &counts} {
		length, size := binary.Uvarint(src)
		if size <= 0 || length > uint64(len(src)-size) {
			return ErrDamaged
		}
		run := src[size : size+int(length)]
		src = src[size+int(length):]
		var err error
		if i == 0 {
			r.Times, *column, err = DecodeNumbers(run, r.Times, *column)
		} else {
			times, *column, err = DecodeNumbers(run, times[:0], *column)
		}
		if err != nil {
			return err
		}
	}
	for _, n := range counts {
		if !(n >= 0 && n <= maxWhole) {
			return ErrDamaged
		}
		r.Count = append(r.Count, uint64(n))
	}
	n := len(r.Times)
	if len(src) != 0 || len(r.Sum) != n || len(r.Min) != n || len(r.Max) != n || len(r.Last) != n || len(r.Count) != n || n < before {
		return ErrDamaged
	}
	return nil
}
