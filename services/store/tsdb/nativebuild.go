package tsdb

// What a block stores of native histograms.

import (
	"math"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// natives is numbers for native histograms. A running total's rollup is its last value, that of the others their sum.
func (b *builder) natives(it *NativeIterator) (*seriesData, error) {
	n := newNativeBuilder(b)
	var times []int64
	var hists []*nativeHistogram
	seal := func() {
		n.add(times, hists, false)
		if !b.noRaw && len(times) > 0 {
			n.frames = append(n.frames, nativeFrames(times, hists)...)
		}
		times, hists = times[:0], hists[:0]
	}
	for it.Next() {
		t, h := it.At()
		times, hists = append(times, t), append(hists, h)
		if len(times) == frameNatives {
			seal()
		}
	}
	seal()
	if err := it.Err(); err != nil {
		return nil, err
	}
	return n.data()
}

// framedNatives is natives for frames that are as a block wants them: they are not encoded again.
func (b *builder) framedNatives(frames []frame) (*seriesData, error) {
	n := newNativeBuilder(b)
	n.frames = frames
	var batch batch[*nativeHistogram]
	for _, f := range frames {
		// The last histogram is still needed when the next frame is read.
		n.memory[0], n.memory[1] = n.memory[1], n.memory[0]
		n.memory[0].again()
		rising, err := decodeNativesInto(f, &n.memory[0], &batch)
		if err != nil {
			return nil, err
		}
		n.add(batch.times, batch.values, rising)
	}
	return n.data()
}

// nativeBuilder makes rollups while the histograms come.
type nativeBuilder struct {
	*builder
	times  []int64
	frames []frame
	last   *nativeHistogram
	rolled [len(numberTracks)]nativeRollup
	memory [2]nativeMemory
}

func newNativeBuilder(b *builder) *nativeBuilder {
	n := &nativeBuilder{builder: b}
	for i, track := range numberTracks {
		n.rolled[i].width = trackWidth[track]
	}
	return n
}

// add adds histograms, of which rising says that none but maybe the first is a reset. The last of them must stay as it is
// until the next call.
func (n *nativeBuilder) add(times []int64, hists []*nativeHistogram, rising bool) {
	for i, h := range hists {
		clean := h.CounterResetHint != gaugeHint && math.Float64bits(h.Sum) != value.StaleNaN &&
			(rising && i > 0 || n.last == nil || !isReset(n.last, h))
		for k := range n.rolled {
			n.rolled[k].add(times[i], h, clean)
		}
		n.last = h
	}
	n.times = append(n.times, times...)
}

// isReset says whether a running total began again between two histograms.
func isReset(before, h *nativeHistogram) bool {
	return h.CounterResetHint == promhistogram.CounterReset || h.DetectReset(before)
}

func (n *nativeBuilder) data() (*seriesData, error) {
	if len(n.times) == 0 {
		return nil, nil
	}
	data := &seriesData{minTime: n.times[0], maxTime: n.times[len(n.times)-1]}
	want := n.wanted(n.times)
	if want[trackRaw] {
		data.samples = uint64(len(n.times))
		data.frames[trackRaw] = n.frames
	}
	for k, track := range numberTracks {
		if want[track] {
			frames, err := n.rolled[k].frames(!n.noRaw)
			if err != nil {
				return nil, err
			}
			data.frames[track] = frames
		}
	}
	return data, nil
}

// nativeRollup is the records of one width: rows, which are small, until it is known whether they are wanted.
type nativeRollup struct {
	width int64
	at    int64
	open  *nativeHistogram // nil when there is none; the latest that was added, or a sum
	added bool             // open is a sum
	ok    bool             // nothing of it was a reset
	rows  rowEncoder
	clean []bool
	row   []byte
}

func (r *nativeRollup) add(t int64, h *nativeHistogram, clean bool) {
	at := floorTo(t, r.width)
	if r.open == nil || at != r.at {
		r.close()
		r.at, r.open, r.added, r.ok = at, h, false, clean
		return
	}
	r.ok = r.ok && clean
	if h.CounterResetHint == gaugeHint && r.open.CounterResetHint == gaugeHint {
		if !r.added {
			r.open, r.added = r.open.Copy(), true
		}
		if sum, _, _, err := r.open.Add(h); err == nil {
			r.open = sum
			return
		}
	}
	r.open, r.added = h, false
}

func (r *nativeRollup) close() {
	if r.open == nil {
		return
	}
	r.row = appendNativeRow(r.row[:0], r.open)
	r.rows.append(r.at, r.row)
	r.clean = append(r.clean, r.ok)
	r.open = nil
}

// frames ends the rollup. Only where the samples are there as well is it known what was a reset.
func (r *nativeRollup) frames(known bool) ([]frame, error) {
	r.close()
	var memory nativeMemory
	times, hists, err := memory.decodeNativeRows(&r.rows, nil, nil)
	if err != nil {
		return nil, err
	}
	var frames []frame
	for from, to := 0, 0; from < len(hists); from = to {
		clean := known
		for to = from; to < len(hists) && to < from+frameNatives && sameLayout(hists[from], hists[to]); to++ {
			clean = clean && r.clean[to]
		}
		flag := byte(0)
		if clean {
			flag = 1
		}
		bytes := append([]byte{flag}, encodeNatives(relative(times[from:to]), hists[from:to])...)
		frames = append(frames, makeFrame(encodingTotals, times[from:to], bytes))
	}
	return frames, nil
}
