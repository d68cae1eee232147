package encoding

// What the records of a run of histograms add up to: of each record how far its values are from the bounds of their bins that
// are nearer to zero, in whole numbers of one power of ten. Of whole milliseconds of two digits all are zero, and take nine
// bytes together. In memory a record has the distance from the bins' middles instead (histogram.Offset), which is nothing
// where only the bins are known, and adds up over records whether it is known of them or not.

import (
	"encoding/binary"
	"math"
	"slices"

	"cistern/services/histogram"
)

// summedLayout is of a run in which a sum is known.
const summedLayout = 1 << 5

// at is the count of record i in a column.
func (w *HistogramWriter) at(column uint16, i int) uint64 {
	switch at := int(column)*w.stride + i; w.width {
	case 8:
		return uint64(w.narrow[at])
	case 16:
		return uint64(w.cells[at])
	default:
		return w.wide[at]
	}
}

// noted ends a record, and says what its values are beyond the bounds of their bins, if known.
func (w *HistogramWriter) noted(e histogram.Offset, known bool) {
	if known || len(w.known) > 0 {
		for len(w.known) < w.n {
			w.excess, w.known = append(w.excess, histogram.Offset{}), append(w.known, false)
		}
		w.excess, w.known = append(w.excess, e), append(w.known, known)
	}
	w.n++
	w.sorted = false
}

// addOffset gives w.sum, the counts of the records from from (in it) to to (not in it), what is known of their sums.
func (w *HistogramWriter) addOffset(from, to int) {
	if len(w.known) == 0 || !slices.Contains(w.known[from:to], true) {
		return
	}
	var e histogram.Offset
	for _, one := range w.excess[from:to] {
		e.Add(one)
	}
	for i := from; i < to; i++ {
		if !w.known[i] { // it stands in the middles
			e.Add(w.middle(i))
		}
	}
	w.sum.SetExcess(e)
}

// middle is what the values of a record are beyond the bounds of their bins when they stand in the middles.
func (w *HistogramWriter) middle(i int) (e histogram.Offset) {
	for _, k := range w.filled() {
		if count := w.at(k, i); count > 0 {
			e.Add(w.binOf(k).Half(count))
		}
	}
	return e
}

// appendOffsets writes, when the sum of any record is known: varint the power of ten, uvarint length and a run of numbers over 0, 1, 2, ….
func (w *HistogramWriter) appendOffsets(dst []byte) []byte {
	for i, known := range w.known {
		if !known {
			w.excess[i], w.known[i] = w.middle(i), true
		}
	}
	unit, any := 0, false
	for _, o := range w.excess {
		if o != (histogram.Offset{}) && (!any || o.Unit() < unit) {
			unit, any = o.Unit(), true
		}
	}
	w.numbers, w.index = w.numbers[:0], w.index[:0]
	for i, o := range w.excess {
		w.index, w.numbers = append(w.index, int64(i)), append(w.numbers, o.In(unit))
	}
	for any && tenfold(w.numbers) {
		for i := range w.numbers {
			w.numbers[i] /= 10
		}
		unit++
	}
	w.run = AppendNumbers(w.run[:0], w.index, w.numbers)
	dst = binary.AppendVarint(dst, int64(unit))
	dst = binary.AppendUvarint(dst, uint64(len(w.run)))
	return append(dst, w.run...)
}

func tenfold(numbers []float64) bool {
	for _, v := range numbers {
		if math.Mod(v, 10) != 0 {
			return false
		}
	}
	return true
}

// runOffsets is a run's sums as they are read.
type runOffsets struct {
	known bool
	bytes []byte // the run of numbers,
	told  int    // of this power of ten
	// In 10^unit: what each record is beyond the bounds of its bins, what half the width of each column's bin is, and of
	// stretches what their counts are in the middles.
	unit    int
	numbers []float64
	halves  []float64
	middles []float64
	index   []int64
}

// open takes the sums off the front of src.
func (o *runOffsets) open(src []byte) (rest []byte, err error) {
	unit, size := binary.Varint(src)
	const limit = 1000 // no bin's digits are further away
	if size <= 0 || unit < -limit || unit > limit {
		return nil, ErrDamaged
	}
	length, more := binary.Uvarint(src[size:])
	if src = src[size:]; more <= 0 || length > uint64(len(src)-more) {
		return nil, ErrDamaged
	}
	o.known, o.told, o.bytes = true, int(unit), src[more:][:length]
	return src[more:][length:], nil
}

// read reads n records' sums, for columns of these bins.
func (o *runOffsets) read(n int, bins []histogram.Bin) (err error) {
	if o.index, o.numbers, err = DecodeNumbers(o.bytes, o.index[:0], o.numbers[:0]); err != nil {
		return err
	}
	if len(o.numbers) != n {
		return ErrDamaged
	}
	unit := o.told
	for _, bin := range bins {
		if half := bin.Half(1); half != (histogram.Offset{}) {
			unit = min(unit, half.Unit())
		}
	}
	if unit < o.told {
		scale := math.Pow10(o.told - unit)
		for i := range o.numbers {
			o.numbers[i] *= scale
		}
	}
	o.unit = unit
	o.halves = o.halves[:0]
	for _, bin := range bins {
		o.halves = append(o.halves, bin.Half(1).In(unit))
	}
	return nil
}

// stretched is what the stretches' sums are beyond the middles, once o.middles is what their counts are there.
func (o *runOffsets) stretched(s []stretch, into []*histogram.Dense) {
	for i := range s {
		number := -o.middles[i]
		for _, v := range o.numbers[s[i].from:s[i].to] {
			number += v
		}
		if d := into[s[i].window]; d != nil {
			d.AddOffset(histogram.OffsetOf(number, o.unit))
		}
	}
}
