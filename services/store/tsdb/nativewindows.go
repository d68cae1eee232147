package tsdb

// How much running totals of native histograms grew in stretches of time, without reading each of them: the rollups in a
// block are checkpoints. Where it is known that a total did not begin again, what was measured between two records is their
// difference; everything else is read one by one.

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/value"
)

// NativeWindows calls use with what the series' native histograms measured in [from+i*width, from+(i+1)*width), for each i
// below n in which there is something, ascending; one i may come several times. Times are in ms. Gauge histograms count as
// they are, running totals by their growth; a total's value before the first window is sought for as long as back says. What
// use is given is valid until it returns. It returns how many histograms were read.
func (s *Series) NativeWindows(ctx context.Context, from, width, back int64, n int, use func(i int, grown *nativeHistogram)) (read int, err error) {
	w := &nativeWindows{ctx: ctx, from: from, width: width, to: from + width*int64(n), use: use, window: -1}
	begin := from - back
	var places []*source[*nativeHistogram]
	checkpoints := true
	for i := range s.natives {
		if one := &s.natives[i]; one.maxTime >= begin && one.minTime < w.to {
			places = append(places, one)
			checkpoints = checkpoints && len(one.deleted) == 0 && !one.rolledUp()
		}
	}
	slices.SortStableFunc(places, func(a, b *source[*nativeHistogram]) int { return cmp.Compare(a.minTime, b.minTime) })
	for i := 1; i < len(places); i++ {
		checkpoints = checkpoints && places[i-1].maxTime < places[i].minTime
	}
	if !checkpoints {
		it := s.Natives(begin, w.to-1)
		for it.Next() {
			t, h := it.At()
			if err := w.add(t, h, false); err != nil {
				return w.read, err
			}
		}
		w.flush()
		return w.read, it.Err()
	}
	for _, one := range places {
		if err := w.place(one, max(begin, one.minTime), min(w.to-1, one.maxTime)); err != nil {
			it := iterator[*nativeHistogram]{}
			if it.fail(one, err); it.err != nil {
				return w.read, it.err
			}
		}
	}
	w.flush()
	return w.read, nil
}

// nativeWindows adds up what comes, ascending in time.
type nativeWindows struct {
	ctx             context.Context
	from, width, to int64
	use             func(i int, grown *nativeHistogram)
	read            int

	window int              // of what is in base and last; -1 before the first
	base   *nativeHistogram // where the total stood when the window began; nil when it began again since, at nothing
	last   *nativeHistogram // the latest
}

// add takes the next histogram. sure says that it is no reset, and that none was since the last one that was added.
func (w *nativeWindows) add(t int64, h *nativeHistogram, sure bool) error {
	if w.read++; w.read%256 == 0 && w.ctx.Err() != nil {
		return context.Cause(w.ctx)
	}
	if math.Float64bits(h.Sum) == value.StaleNaN {
		return nil
	}
	if at := w.at(t); at != w.window {
		w.flush()
		w.window = at
	}
	if h.CounterResetHint == gaugeHint {
		if w.window >= 0 {
			w.use(w.window, h)
		}
		return nil
	}
	switch {
	case w.last == nil:
		w.base = h // what it had before nobody knows
	case !sure && isReset(w.last, h):
		w.grown()
		w.base = nil
	}
	w.last = h
	return nil
}

// at is the number of the window of a time; -1 before the first.
func (w *nativeWindows) at(t int64) int {
	if t < w.from {
		return -1
	}
	return int((t - w.from) / w.width)
}

// flush ends a window: the next one begins where the total stands.
func (w *nativeWindows) flush() {
	w.grown()
	w.base = w.last
}

// grown hands on how much the total has grown since base.
func (w *nativeWindows) grown() {
	if w.last == nil || w.window < 0 || w.base == w.last {
		return
	}
	grown := w.last
	if w.base != nil {
		grown = w.last.Copy()
		if _, _, _, err := grown.Sub(w.base); err != nil {
			grown = w.last
		}
	}
	w.use(w.window, grown)
}

// place adds what a place has in [from, to].
func (w *nativeWindows) place(one *source[*nativeHistogram], from, to int64) error {
	p := nativePlace{w: w, source: one}
	if one.block == nil {
		frames, samples, err := one.load()
		if err != nil {
			return err
		}
		for i, t := range samples.times {
			if t >= from && t <= to {
				if err := w.add(t, samples.values[i], false); err != nil {
					return err
				}
			}
		}
		p.frames[trackRaw] = frames
		return p.each(from, to)
	}
	for _, track := range []int{trackRaw, trackMinute, trackHour} {
		var err error
		if p.frames[track], err = one.block.frames(one.record, track); err != nil {
			return err
		}
	}
	if len(p.frames[trackMinute])+len(p.frames[trackHour]) == 0 {
		return p.each(from, to)
	}
	for first := true; from <= to; first = false {
		end := w.from - 1 // of the window that from is in, or of what lies before the first
		if i := w.at(from); i >= 0 {
			end = w.from + int64(i+1)*w.width - 1
		}
		end = min(end, to)
		if err := p.stretch(from, end, first); err != nil {
			return err
		}
		from = end + 1
	}
	return nil
}

// nativePlace is a place that is read.
type nativePlace struct {
	w      *nativeWindows
	source *source[*nativeHistogram]
	frames [tracks][]frame
	// What was decoded last of each track.
	open    [tracks]*frame
	decoded [tracks]batch[*nativeHistogram]
	rising  [tracks]bool
}

// decode makes p.decoded of a frame.
func (p *nativePlace) decode(track, i int) error {
	f := &p.frames[track][i]
	if p.open[track] == f {
		return nil
	}
	if err := p.fill(track, i, f.minTime); err != nil {
		return err
	}
	// The memory is the histograms' own: some outlive the frame.
	p.open[track], p.decoded[track] = nil, batch[*nativeHistogram]{}
	rising, err := decodeNativesInto(*f, &nativeMemory{}, &p.decoded[track])
	if err != nil {
		return err
	}
	p.open[track], p.rising[track] = f, rising
	return nil
}

func (p *nativePlace) fill(track, i int, until int64) error {
	if p.frames[track][i].bytes != nil {
		return nil
	}
	return p.source.block.fill(p.frames[track][i:], until)
}

// each adds the samples in [from, to], all that may matter.
func (p *nativePlace) each(from, to int64) error {
	frames := p.frames[trackRaw]
	for i := sort.Search(len(frames), func(i int) bool { return frames[i].maxTime >= from }); i < len(frames) && frames[i].minTime <= to; i++ {
		if err := p.fill(trackRaw, i, to); err != nil {
			return err
		}
		if err := p.decode(trackRaw, i); err != nil {
			return err
		}
		d := &p.decoded[trackRaw]
		for k, t := range d.times {
			if t < from || t > to {
				continue
			}
			// Of those that rise the last in each window is enough.
			if p.rising[trackRaw] && k > 0 && k+1 < len(d.times) && d.times[k-1] >= from && d.times[k+1] <= to && p.w.at(d.times[k+1]) == p.w.at(t) {
				continue
			}
			if err := p.w.add(t, d.values[k], p.rising[trackRaw] && k > 0); err != nil {
				return err
			}
		}
	}
	return nil
}

// stretch adds what lies in [from, to], which is in one window.
func (p *nativePlace) stretch(from, to int64, first bool) error {
	clean, err := p.clean(from, to)
	if err != nil {
		return err
	}
	if !clean {
		return p.each(from, to)
	}
	if first { // whether its first one is a reset nobody has looked at
		t, h, err := p.firstIn(from, to)
		if err != nil || h == nil {
			return err
		}
		if err := p.w.add(t, h, false); err != nil {
			return err
		}
	}
	t, h, err := p.lastIn(from, to)
	if err != nil || h == nil {
		return err
	}
	return p.w.add(t, h, true)
}

// clean says whether it is known that no running total began again, or ended, in [from, to].
func (p *nativePlace) clean(from, to int64) (bool, error) {
	for _, track := range []int{trackHour, trackMinute} {
		frames := p.frames[track]
		if len(frames) == 0 {
			continue
		}
		width := trackWidth[track]
		i := sort.Search(len(frames), func(i int) bool { return frames[i].maxTime+width > from })
		clean := true
		for ; i < len(frames) && frames[i].minTime <= to && clean; i++ {
			if frames[i].encoding != encodingTotals {
				clean = false
				break
			}
			if err := p.fill(track, i, to); err != nil {
				return false, err
			}
			clean = len(frames[i].bytes) > 0 && frames[i].bytes[0] == 1
		}
		if clean {
			return true, nil
		}
	}
	return false, nil
}

// firstIn is the first histogram in [from, to]; nil when there is none.
func (p *nativePlace) firstIn(from, to int64) (int64, *nativeHistogram, error) {
	frames := p.frames[trackRaw]
	i := sort.Search(len(frames), func(i int) bool { return frames[i].maxTime >= from })
	if i == len(frames) {
		return 0, nil, nil
	}
	if err := p.decode(trackRaw, i); err != nil {
		return 0, nil, err
	}
	d := &p.decoded[trackRaw]
	k := sort.Search(len(d.times), func(k int) bool { return d.times[k] >= from })
	if k == len(d.times) || d.times[k] > to {
		return 0, nil, nil
	}
	return d.times[k], d.values[k], nil
}

// lastIn is the last histogram in [from, to], out of a rollup's record where one ends there.
func (p *nativePlace) lastIn(from, to int64) (int64, *nativeHistogram, error) {
	for _, track := range []int{trackHour, trackMinute, trackRaw} {
		width := max(1, trackWidth[track])
		frames := p.frames[track]
		if len(frames) == 0 || (to+1)%width != 0 && to < p.source.maxTime {
			continue
		}
		i := sort.Search(len(frames), func(i int) bool { return frames[i].minTime > to }) - 1
		if i < 0 {
			continue
		}
		if err := p.decode(track, i); err != nil {
			return 0, nil, err
		}
		d := &p.decoded[track]
		k := sort.Search(len(d.times), func(k int) bool { return d.times[k] > to }) - 1
		if k >= 0 && d.times[k] >= from {
			return d.times[k], d.values[k], nil
		}
		if track == trackRaw {
			break
		}
	}
	return 0, nil, nil
}
