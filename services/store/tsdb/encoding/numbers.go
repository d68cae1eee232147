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
