// Package histogram is OpenHistogram's log-linear histogram: two significant decimal digits of a value choose its bin,
// so a bin is never wider than 10 % of what it holds, from 1e-128 to 1e127 and in both signs, and histograms merge
// without loss over time, series and machines.
package histogram

// A Bin and its bounds. The bin of 10..99 × 10^e is written as OpenHistogram writes it (1.2e-3 for 0.0012 ≤ x < 0.0013);
// in memory it is one number that orders as the values do.

import (
	"fmt"
	"math"
	"strconv"
)

// Bin identifies one bin. Positive bins are 1…MaxBin, zero is 0, negative bins mirror the positive ones; comparing two
// Bins compares the values they hold. Outside [-MaxBin, MaxBin] a Bin means nothing.
type Bin int16

const (
	minExponent = -128 // of the value's first digit: 1.2e-128 has -128
	maxExponent = 127
	perDecade   = 90
	// MaxBin is 9.9e127.
	MaxBin Bin = (maxExponent - minExponent + 1) * perDecade
)

// lower[i] is the lower bound of the positive bin i: the double nearest to the decimal number. One more entry closes
// the last bin. 184 KB, made once; every comparison with a bound goes through it, so that binning is exact.
var lower [MaxBin + 2]float64

// A cell is the values that have their exponent and the first cellBits bits of their mantissa in common: less than 0.8 %
// wide, while no bin is narrower than 1 %, so that a cell has one bound of a bin in it at most. cells[i] is the bin of a
// cell's smallest value; a value of the cell is in this bin or, from the next one's lower bound on, in the next. The
// cells go from the power of two below 1e-128, in bin 0, to the cell that ends the last bin. 218 KB, of which values
// that span few decades touch few: 2.5 KB for three.
var cells [(endBits-1-firstBits)>>cellShift + 1]uint16

const (
	cellBits  = 7
	cellShift = 52 - cellBits
	firstBits = (1023 - 426) << 52 // of 2^-426
	endBits   = 0x5a827748f9301d32 // of 1e128
	signBit   = 1 << 63
)

func init() {
	text := make([]byte, 0, 16)
	for i := Bin(1); i <= MaxBin; i++ {
		mantissa, exponent := int(i-1)%perDecade+10, int(i-1)/perDecade+minExponent
		text = strconv.AppendInt(text[:0], int64(mantissa), 10)
		text = append(text, 'e')
		text = strconv.AppendInt(text, int64(exponent-1), 10)
		lower[i], _ = strconv.ParseFloat(string(text), 64)
	}
	lower[MaxBin+1] = 1e128
	bin := 0
	for i := range cells {
		smallest := math.Float64frombits(firstBits + uint64(i)<<cellShift)
		for lower[bin+1] <= smallest {
			bin++
		}
		cells[i] = uint16(bin)
	}
}

// BinOf is the bin that holds v. Values nearer to zero than 1e-128 are in the zero bin; ok is false for NaN, infinities
// and anything from 1e128 on, which no bin holds.
func BinOf(v float64) (bin Bin, ok bool) {
	bits := math.Float64bits(v)
	above := bits&^signBit - firstBits
	if above >= endBits-firstBits {
		return 0, int64(above) < 0
	}
	i := int64(cells[above>>cellShift])
	// One more when the value reaches the next bound; their bits order as they do.
	i -= int64(math.Float64bits(lower[i+1])-1-bits&^signBit) >> 63
	negative := int64(bits) >> 63
	return Bin(i ^ negative - negative), true
}

// Shift is the bin of what b holds times 10^decades, exactly. What becomes too small is zero, what becomes too large the
// last bin.
func (b Bin) Shift(decades int) Bin {
	if b < 0 {
		return -(-b).Shift(decades)
	}
	shifted := int(b) + decades*perDecade
	switch {
	case b == 0 || shifted < 1:
		return 0
	case shifted > int(MaxBin):
		return MaxBin
	}
	return Bin(shifted)
}

// Valid says whether b names a bin.
func (b Bin) Valid() bool { return b >= -MaxBin && b <= MaxBin }

// Bounds are the values between which the bin lies: [lower, upper) for positive, (lower, upper] for negative bins, and
// 0, 0 for zero.
func (b Bin) Bounds() (from, to float64) {
	switch {
	case b > 0:
		return lower[b], lower[b+1]
	case b < 0:
		return -lower[-b+1], -lower[-b]
	}
	return 0, 0
}

// Middle is the arithmetic middle of the bin's bounds: what the bin's values count as in means and sums.
func (b Bin) Middle() float64 {
	from, to := b.Bounds()
	return from + (to-from)/2
}

// Parts are the two digits (10…99, negative for negative bins, 0 for zero) and the exponent of the first of them.
func (b Bin) Parts() (mantissa, exponent int) {
	if b == 0 {
		return 0, 0
	}
	i := b
	if b < 0 {
		i = -b
	}
	mantissa, exponent = int(i-1)%perDecade+10, int(i-1)/perDecade+minExponent
	if b < 0 {
		mantissa = -mantissa
	}
	return mantissa, exponent
}

// FromParts is the inverse of Parts.
func FromParts(mantissa, exponent int) (Bin, error) {
	if mantissa == 0 {
		return 0, nil
	}
	sign := Bin(1)
	if mantissa < 0 {
		mantissa, sign = -mantissa, -1
	}
	if mantissa < 10 || mantissa > 99 || exponent < minExponent || exponent > maxExponent {
		return 0, fmt.Errorf("%d × 10^%d is not a bin: two digits from 10 to 99 and an exponent from %d to %d make one",
			mantissa, exponent-1, minExponent, maxExponent)
	}
	return sign * Bin((exponent-minExponent)*perDecade+mantissa-10+1), nil
}

// String writes the bin as OpenHistogram does: +12e-004 is the bin of 0.0012, here in its shorter form 1.2e-3.
func (b Bin) String() string {
	mantissa, exponent := b.Parts()
	if mantissa == 0 {
		return "0"
	}
	text := make([]byte, 0, 10)
	if mantissa < 0 {
		text, mantissa = append(text, '-'), -mantissa
	}
	text = append(text, byte('0'+mantissa/10), '.', byte('0'+mantissa%10), 'e')
	return string(strconv.AppendInt(text, int64(exponent), 10))
}
