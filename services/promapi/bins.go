package promapi

// Windows as they are sent: hundreds of bins each, a megabyte for a week's heatmap, and the memory for that, which is used
// again: what a query leaves to the collector costs a third of it.

import (
	"math/bits"
	"slices"
	"strconv"
	"sync"

	"cistern/services/histogram"
)

// boundText is "[lower,upper," of a bin, so long that it is copied without asking how long.
type boundText struct {
	text   [31]byte
	length uint8 // 0: it does not fit
}

// boundTexts are those of first, the bin of a nanosecond, and of the bins behind it, up to many years; written once.
var boundTexts = sync.OnceValues(func() (first histogram.Bin, texts []boundText) {
	first, _ = histogram.BinOf(1e-9)
	last, _ := histogram.BinOf(9.9e12)
	texts = make([]boundText, int(last)-int(first)+1)
	for i := range texts {
		t := &texts[i]
		if text := appendBounds(nil, first+histogram.Bin(i)); len(text) <= len(t.text) {
			t.length = uint8(copy(t.text[:], text))
		}
	}
	return first, texts
})

func appendBounds(b []byte, bin histogram.Bin) []byte {
	from, to := bin.Bounds()
	return append(appendFloat(append(appendFloat(append(b, '['), from), ','), to), ',')
}

// appendBins writes the bins that h has: [[lower,upper,count],…].
func appendBins(b []byte, h *histogram.Histogram) []byte {
	first, texts := boundTexts()
	b = append(b, `"bins":[`...)
	const most = len(boundText{}.text) + mostDigits + len("],") // what a bin may take, or be written beyond what it takes
	for i, bin := range h.Bins {
		at := uint(int(bin) - int(first))
		if at >= uint(len(texts)) || texts[at].length == 0 {
			b = appendBounds(b, bin)
			b = append(strconv.AppendUint(b, h.Counts[i], 10), ']', ',')
			continue
		}
		if cap(b)-len(b) < most {
			b = slices.Grow(b, max(most*(len(h.Bins)-i), most))
		}
		n := len(b)
		free := b[n : n+most]
		*(*[31]byte)(free) = texts[at].text
		end := int(texts[at].length)
		end += putUint(free[end:], h.Counts[i])
		free[end], free[end+1] = ']', ','
		b = b[:n+end+2]
	}
	if len(h.Bins) > 0 {
		b = b[:len(b)-1] // the last comma
	}
	return append(b, ']')
}

const mostDigits = 20

var (
	tens = func() (powers [mostDigits]uint64) {
		powers[0] = 1
		for i := range powers[1:] {
			powers[i+1] = powers[i] * 10
		}
		return powers
	}()
	twoDigits = func() (text [100][2]byte) {
		for i := range text {
			text[i] = [2]byte{byte('0' + i/10), byte('0' + i%10)}
		}
		return text
	}()
)

// putUint writes v into b, which has mostDigits bytes at least, and returns how many digits it has.
func putUint(b []byte, v uint64) int {
	n := (bits.Len64(v|1) * 1233) >> 12 // of two numbers with as many bits the digits differ by one at most
	if v >= tens[n%mostDigits] || n == 0 {
		n++
	}
	at := n
	for v >= 100 {
		rest := v / 100
		at -= 2
		*(*[2]byte)(b[at:]) = twoDigits[v-rest*100]
		v = rest
	}
	if v >= 10 {
		*(*[2]byte)(b[at-2:]) = twoDigits[v]
	} else {
		b[at-1] = byte('0' + v)
	}
	return n
}

// pieces are what answers are collected in.
var pieces = sync.Pool{New: func() any { return &out{b: make([]byte, 0, 2*piece)} }}

// mostKept is how much memory of one answer or window is kept for the next: one that is huge must not be paid for, for
// ever.
const mostKept = 1 << 20

var denses = sync.Pool{New: func() any { return &histogram.Dense{} }}

func emptyDense() *histogram.Dense { return denses.Get().(*histogram.Dense) }

// keepDense lets windows be used again.
func keepDense(list []*histogram.Dense) {
	for _, d := range list {
		if d != nil && d.Room() <= 4096 {
			d.Reset()
			denses.Put(d)
		}
	}
}

// sparseOf is the windows in the form that is asked; nil for those that are empty.
func sparseOf(list []*histogram.Dense) []*histogram.Histogram {
	windows, total := make([]*histogram.Histogram, len(list)), 0
	for _, d := range list {
		total += d.Used()
	}
	all := make([]histogram.Histogram, len(list))
	bins, counts := make([]histogram.Bin, total), make([]uint64, total)
	for i, d := range list {
		if n := d.Used(); n > 0 {
			h := &all[i]
			h.Bins, h.Counts = bins[:0:n], counts[:0:n]
			d.Into(h)
			windows[i] = h
			bins, counts = bins[n:], counts[n:]
		}
	}
	return windows
}
