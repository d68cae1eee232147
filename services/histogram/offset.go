package histogram

// The sum of the values, beside the bins: how far it is from what the bins say. It is kept in whole numbers of a power of
// ten, so that adding and taking away are exact in any order, as counts are, while what is added spans fifteen digits; and it is small
// where it is written down. Quantiles and counts know nothing of it.

import "math"

// Offset is how much more the values add up to than they would if each stood in the middle of its bin. The zero value says
// that nothing is known but the bins, which is the same as that the middles are right.
type Offset struct {
	number float64 // whole
	unit   int16   // number × 10^unit
}

// OffsetOf is number × 10^unit; nothing of what is no number.
func OffsetOf(number float64, unit int) Offset {
	if number == 0 || number-number != 0 {
		return Offset{}
	}
	return Offset{number, int16(unit)}
}

// Unit is the power of ten of which o is a whole number.
func (o Offset) Unit() int { return int(o.unit) }

// In is o as a number of 10^unit, whole when unit is not greater than o's.
func (o Offset) In(unit int) float64 {
	if up := int(o.unit) - unit; up >= 0 {
		return o.number * power(up)
	}
	return o.number / power(unit-int(o.unit))
}

// powers are those of ten that a number has exactly.
var powers = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22}

// power is 10^n, of n from 0 on.
func power(n int) float64 {
	if n < len(powers) {
		return powers[n]
	}
	return math.Pow10(n)
}

// Value is o as a number.
func (o Offset) Value() float64 { return o.In(0) }

// Add adds another.
func (o *Offset) Add(other Offset) {
	switch {
	case other.number == 0:
		return
	case o.number == 0:
		*o = other
		return
	case o.unit == other.unit: // nearly always
		o.number += other.number
	case o.unit > other.unit:
		o.number = o.In(int(other.unit)) + other.number
		o.unit = other.unit
	default:
		o.number += other.In(int(o.unit))
	}
	// Nothing, or more than numbers can be: the middles then.
	if o.number == 0 || o.number-o.number != 0 {
		*o = Offset{}
	}
}

// Subtract takes another away.
func (o *Offset) Subtract(other Offset) { o.Add(Offset{-other.number, other.unit}) }

// Half is how far n values in the middle of the bin are from its bound that is nearer to zero: half the width of the bin
// for each, below zero for bins below zero.
func (b Bin) Half(n uint64) Offset {
	switch {
	case b > 0:
		return Offset{5 * float64(n), b.halfUnit()}
	case b < 0:
		return Offset{-5 * float64(n), (-b).halfUnit()}
	}
	return Offset{}
}

// halfUnit is the power of ten of which half the width of a positive bin is five.
func (b Bin) halfUnit() int16 { return int16((int(b)-1)/perDecade + minExponent - 2) }

// near is the bound of the bin that is nearer to zero.
func (b Bin) near() float64 {
	if b < 0 {
		return -lower[-b]
	}
	return lower[b]
}

// halves is how far the values are from their bins' bounds nearer to zero when they stand in the middles: of the bins above zero,
// and of those below.
func (c cellView) halves() (above, below Offset) {
	for i := 0; i < len(c.counts); {
		// A decade at a time: its bins are of the same width.
		bin, n := int(c.bin(i)), 0.0
		last := bin
		switch {
		case bin > 0:
			last = bin + perDecade - 1 - (bin-1)%perDecade
		case bin < 0:
			last = bin + (-bin-1)%perDecade
		}
		start := bin
		if c.bins == nil {
			for ; i < len(c.counts) && bin <= last; i, bin = i+1, bin+1 {
				n += float64(c.counts[i])
			}
		} else {
			for ; i < len(c.counts) && int(c.bins[i]) <= last; i++ {
				n += float64(c.counts[i])
			}
		}
		switch half := Bin(start).Half(1); {
		case n == 0:
		case start > 0:
			above.Add(Offset{n * half.number, half.unit})
		case start < 0:
			below.Add(Offset{n * half.number, half.unit})
		}
	}
	return above, below
}

// excess is how far the values are from their bins' bounds nearer to zero, all together: nothing for numbers of two digits.
// It is never more than the bins allow, whatever the offset says.
func (c cellView) excess() Offset {
	above, below := c.halves()
	e := c.offset
	e.Add(above)
	e.Add(below)
	most, least, over, under := Offset{2 * above.number, above.unit}, Offset{2 * below.number, below.unit}, e, e
	over.Subtract(most)
	under.Subtract(least)
	switch {
	case over.number > 0:
		return most
	case under.number < 0:
		return least
	}
	return e
}

// middles is the sum of the values if each stood in the middle of its bin.
func (c cellView) middles() float64 {
	sum := 0.0
	for i, n := range c.counts {
		if n > 0 {
			sum += c.bin(i).Middle() * float64(n)
		}
	}
	return sum
}

func (c cellView) sum() float64 {
	if c.offset.number == 0 {
		return c.middles()
	}
	// Bounds are what is exact: of a hundred times 10 ms the sum is a second, and not nearly one.
	sum := 0.0
	for i, n := range c.counts {
		if n > 0 {
			sum += c.bin(i).near() * float64(n)
		}
	}
	return sum + c.excess().Value()
}

// Place is where in their bins the values stand on average, all together: 0 at the bound nearer to zero, 1 at the other one, in the
// middle where that is not known.
func (h *Histogram) Place() float64 {
	if n := len(h.Bins); h.Offset.number == 0 || n == 0 || h.Bins[0] < 0 && h.Bins[n-1] > 0 {
		return 0.5
	}
	halves, below := h.cells().halves()
	halves.Add(below)
	if halves.number == 0 {
		return 0.5
	}
	return h.Excess().Value() / (2 * halves.Value())
}

// At is the value that stands at a place in the bin: 0 at its bound nearer to zero, 1 at the other one.
func (b Bin) At(place float64) float64 {
	if place == 0.5 {
		return b.Middle()
	}
	return b.near() + 2*place*b.Half(1).Value()
}

// decimalOffset is that of n values number × 10^unit, which is in bin.
func decimalOffset(bin Bin, n uint64, number float64, unit int) Offset {
	mantissa, exponent := bin.Parts()
	middle := float64(10*mantissa + 5) // × 10^(exponent-2)
	switch {
	case mantissa == 0:
		return Offset{}
	case mantissa < 0:
		middle -= 10
	}
	// In the smaller one of both powers of ten.
	if up := unit - (exponent - 2); up > 0 {
		number, unit = number*power(up), exponent-2
	} else if up < 0 {
		middle *= power(-up)
	}
	return OffsetOf((number-middle)*float64(n), unit)
}

// Decimal is v, which is in bin, with six digits: number × 10^unit.
func (b Bin) Decimal(v float64) (number float64, unit int) {
	_, exponent := b.Parts()
	unit = exponent + 1 - sumDigits
	if unit > 0 {
		return math.RoundToEven(v / math.Pow10(unit)), unit
	}
	return math.RoundToEven(v * math.Pow10(-unit)), unit
}

// sumDigits is how many digits of the greatest value what is measured keeps in its sum. More would have to be written down
// for every second, and say nothing: of a second's sum the error is at most half of the last digit, and in both directions.
const sumDigits = 6

// round makes the offset one that has sumDigits digits of the greatest value.
func (h *Histogram) round() {
	if h.Offset.number == 0 || len(h.Bins) == 0 {
		return
	}
	finest := widest(h.Bins[0], h.Bins[len(h.Bins)-1]) + 2 - sumDigits
	if h.Offset.Unit() >= finest {
		return
	}
	e := h.Excess()
	h.SetExcess(OffsetOf(math.RoundToEven(e.In(finest)), finest))
}

// widest is the power of ten that the wider one of two bins spans.
func widest(first, last Bin) int {
	wide := max(first, -first, last, -last)
	return (int(wide)-1)/perDecade + minExponent - 1
}

// Excess is how far the values are from their bins' bounds nearer to zero, all together, as the bins allow it.
func (h *Histogram) Excess() Offset { return h.cells().excess() }

// SetExcess sets the offset by that.
func (h *Histogram) SetExcess(e Offset) {
	above, below := h.cells().halves()
	e.Subtract(above)
	e.Subtract(below)
	h.Offset = e
}

// SetSum says what the values add up to. Of what the bins do not allow the nearest that they do is taken.
func (h *Histogram) SetSum(sum float64) {
	h.Offset = Offset{}
	if len(h.Bins) == 0 || sum-sum != 0 {
		return
	}
	bounds, size := 0.0, 0.0
	for i, bin := range h.Bins {
		one := bin.near() * float64(h.Counts[i])
		bounds, size = bounds+one, size+math.Abs(one)
	}
	// As finely as the sum can tell: what is beyond the fifteenth digit of what was added up is noise.
	bin, ok := BinOf(size)
	if !ok || bin == 0 {
		return
	}
	_, exponent := bin.Parts()
	unit := max(exponent-14, widest(h.Bins[0], h.Bins[len(h.Bins)-1])-maxPlaces)
	scale := func(v float64) float64 {
		if unit > 0 {
			return v / math.Pow10(unit)
		}
		return v * math.Pow10(-unit)
	}
	if math.Abs(scale(sum-h.cells().middles())) < 1 { // nothing that the bins do not say
		return
	}
	h.SetExcess(OffsetOf(math.RoundToEven(scale(sum-bounds)), unit))
	h.SetExcess(h.Excess())
}

// RecordDecimal counts the value number × 10^unit, which is in bin, n times and keeps what it adds to the sum. number is whole.
func (h *Histogram) RecordDecimal(bin Bin, n uint64, number float64, unit int) {
	h.Add(bin, n)
	h.Offset.Add(decimalOffset(bin, n, number, unit))
	h.round()
}

// Record counts a value n times and keeps what it adds to the sum, to six digits.
func (a *Accumulator) Record(v float64, n uint64) error {
	bin, ok := BinOf(v)
	if !ok {
		return ErrNoBin
	}
	number, unit := bin.Decimal(v)
	a.RecordDecimal(bin, n, number, unit)
	return nil
}

// RecordDecimal is Histogram.RecordDecimal.
func (a *Accumulator) RecordDecimal(bin Bin, n uint64, number float64, unit int) {
	a.Add(bin, n)
	a.offset.Add(decimalOffset(bin, n, number, unit))
}
