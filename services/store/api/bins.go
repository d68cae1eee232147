package api

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
	const most = len(boundText{}.text) + maxDigits + len("],") // what a bin may take, or be written beyond what it takes
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

const maxDigits = 20

var (
	tens = func() (powers [maxDigits]uint64) {
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

// putUint writes v into b, which has maxDigits bytes at least, and returns how many digits it has.
func putUint(b []byte, v uint64) int {
	n := (bits.Len64(v|1) * 1233) >> 12 // of two numbers with as many bits the digits differ by one at most
	if v >= tens[n%maxDigits] || n == 0 {
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

// pieces are what answers are collected in. A week's heatmap is one: each piece wakes the client, which finds little, and
// sleeps again. They have their room from the start: growing to it leaves so much garbage that the pool is emptied.
var pieces = sync.Pool{New: func() any { return &out{b: make([]byte, 0, onePiece+piece), least: onePiece} }}

const onePiece = 1 << 20

// maxKept is how much memory of one answer or window is kept for the next: one that is huge must not be paid for, for
// ever.
const maxKept = 2 << 20

var (
	denses  = sync.Pool{New: func() any { return &histogram.Dense{} }}
	sparses = sync.Pool{New: func() any { return &histogram.Histogram{} }}
)

func emptyDense() *histogram.Dense { return denses.Get().(*histogram.Dense) }

// window is window i in the form that is asked, until the next one is. One at a time stays in the processor's cache, and
// leaves the collector nothing.
func (m *merged) window(i int) *histogram.Histogram {
	if m.sparse == nil {
		m.sparse = sparses.Get().(*histogram.Histogram)
	}
	d := m.windows[i]
	m.sparse.Reset()
	if room := d.Room() + 1; cap(m.sparse.Bins) < room || cap(m.sparse.Counts) < room {
		m.sparse.Bins, m.sparse.Counts = make([]histogram.Bin, 0, room), make([]uint64, 0, room)
	}
	d.Into(m.sparse)
	return m.sparse
}

// done ends the request.
func (m *merged) done() {
	m.recycle()
	m.asked.end()
}

// recycle lets the windows' memory be used again.
func (m *merged) recycle() {
	for _, d := range m.windows {
		if d != nil && d.Room() <= maxRoom {
			d.Reset()
			denses.Put(d)
		}
	}
	if h := m.sparse; h != nil && cap(h.Bins) <= 2*maxRoom {
		sparses.Put(h)
	}
	m.windows, m.sparse = nil, nil
}

// maxRoom is how many bins a window may have memory for that is kept.
const maxRoom = 4096
