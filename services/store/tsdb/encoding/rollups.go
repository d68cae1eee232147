package encoding

// Rollups: runs of numbers for each figure of a window.

import "encoding/binary"

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
