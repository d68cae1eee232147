package tsdb

// The first and the last native histogram of ranges of time, and how many there are: all that rate and increase need of a
// running total which did not begin again. Where a block's rollups say so, what lies between is not read; elsewhere each
// frame is looked at once.

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sort"

	"github.com/prometheus/prometheus/model/value"
)

// NativeRange is what a range holds: two histograms at least.
type NativeRange struct {
	First, Last         *nativeHistogram
	FirstTime, LastTime int64
	Count               int
}

// NativeRanges calls use with what the series has in (end-width, end], for end = first + i*step and each i below n, ascending.
// Times are in ms. Ranges with less than two histograms are left out. plain is false, and the rest is not looked at, when
// something in a range is no running total that grows, or not to be had without reading all of it: the caller does that then.
func (s *Series) NativeRanges(ctx context.Context, first, step, width int64, n int, use func(i int, r NativeRange) error) (read int, plain bool, err error) {
	w := nativeRanges{ctx: ctx}
	if plain, err = w.gather(s, first-width+1, first+step*int64(n-1)); plain && err == nil {
		plain, err = w.each(first, step, width, n, use)
	}
	if errors.Is(err, errDamaged) || errors.Is(err, errFrame) {
		return w.read, false, nil // whoever reads all of it leaves out what is damaged, and tells
	}
	return w.read, plain, err
}

// nativeRanges is the frames of the places, ascending in time.
type nativeRanges struct {
	ctx   context.Context
	parts []nativePart
	read  int
	// What was decoded last: the beginnings and the ends of ranges that overlap are not far from each other.
	recent [8]nativeDecoded
	next   int
}

// nativePart is one frame, or what the place has decoded already.
type nativePart struct {
	place            *nativePlace
	frame            int // -1: decoded
	decoded          batch[*nativeHistogram]
	minTime, maxTime int64
	before, count    int // histograms
	within, joined   verdict
}

// verdict is whether a total only grew.
type verdict int8

const (
	unknown verdict = iota
	grew
	other
)

type nativeDecoded struct {
	part   int // counted from one
	batch  batch[*nativeHistogram]
	rising bool
}

func (w *nativeRanges) gather(s *Series, from, to int64) (plain bool, err error) {
	var places []*source[*nativeHistogram]
	for i := range s.natives {
		if one := &s.natives[i]; one.maxTime >= from && one.minTime <= to {
			if len(one.deleted) > 0 || one.rolledUp() {
				return false, nil
			}
			places = append(places, one)
		}
	}
	slices.SortStableFunc(places, func(a, b *source[*nativeHistogram]) int { return cmp.Compare(a.minTime, b.minTime) })
	total := 0
	for i, one := range places {
		if i > 0 && places[i-1].maxTime >= one.minTime {
			return false, nil
		}
		p := &nativePlace{source: one}
		if one.block == nil {
			frames, samples, err := one.load()
			if err != nil {
				return false, err
			}
			if count := len(samples.times); count > 0 {
				w.parts = append(w.parts, nativePart{place: p, frame: -1, decoded: samples, minTime: samples.times[0], maxTime: samples.times[count-1], before: total, count: count})
				total += count
			}
			p.frames[trackRaw] = frames
		} else {
			for _, track := range []int{trackRaw, trackMinute, trackHour} {
				if p.frames[track], err = one.block.frames(one.record, track); err != nil {
					return false, err
				}
			}
		}
		for k, f := range p.frames[trackRaw] {
			if f.maxTime < from || f.minTime > to {
				continue
			}
			if count := len(w.parts); count > 0 && w.parts[count-1].maxTime >= f.minTime {
				return false, nil
			}
			w.parts = append(w.parts, nativePart{place: p, frame: k, minTime: f.minTime, maxTime: f.maxTime, before: total, count: int(f.count)})
			total += int(f.count)
		}
	}
	return true, nil
}

func (w *nativeRanges) each(first, step, width int64, n int, use func(i int, r NativeRange) error) (plain bool, err error) {
	low, high := 0, -1 // the parts that a range begins and ends in
	for i := range n {
		end := first + step*int64(i)
		start := end - width + 1
		for low < len(w.parts) && w.parts[low].maxTime < start {
			low++
		}
		for high+1 < len(w.parts) && w.parts[high+1].minTime <= end {
			high++
		}
		if low > high {
			continue
		}
		a, firstTime, err := w.at(low, func(times []int64) int { return sort.Search(len(times), func(k int) bool { return times[k] >= start }) })
		if err != nil {
			return false, err
		}
		b, lastTime, err := w.at(high, func(times []int64) int {
			return sort.Search(len(times), func(k int) bool { return times[k] > end }) - 1
		})
		if err != nil {
			return false, err
		}
		count := w.parts[high].before + b - w.parts[low].before - a + 1
		if count < 2 {
			continue
		}
		for k := low; k <= high; k++ {
			if grows, err := w.grows(k, k > low); err != nil || !grows {
				return false, err
			}
		}
		r := NativeRange{FirstTime: firstTime, LastTime: lastTime, Count: count}
		if r.First, err = w.histogram(low, a); err != nil {
			return false, err
		}
		if r.Last, err = w.histogram(high, b); err != nil {
			return false, err
		}
		if err := use(i, r); err != nil {
			return false, err
		}
	}
	return true, nil
}

// at is a histogram's place in a part, which is sought in its times, and its time.
func (w *nativeRanges) at(part int, seek func(times []int64) int) (int, int64, error) {
	d, err := w.decode(part)
	if err != nil {
		return 0, 0, err
	}
	k := seek(d.batch.times)
	return k, d.batch.times[k], nil
}

func (w *nativeRanges) histogram(part, k int) (*nativeHistogram, error) {
	d, err := w.decode(part)
	if err != nil {
		return nil, err
	}
	return d.batch.values[k], nil
}

// decode is a part's histograms.
func (w *nativeRanges) decode(part int) (*nativeDecoded, error) {
	for i := range w.recent {
		if w.recent[i].part == part+1 {
			return &w.recent[i], nil
		}
	}
	if err := w.ctx.Err(); err != nil {
		return nil, context.Cause(w.ctx)
	}
	d := &w.recent[w.next]
	w.next = (w.next + 1) % len(w.recent)
	*d = nativeDecoded{}
	p := &w.parts[part]
	if p.frame < 0 {
		d.part, d.batch = part+1, p.decoded
		return d, nil
	}
	if err := p.place.fill(trackRaw, p.frame, p.maxTime); err != nil {
		return nil, err
	}
	w.read += p.count
	// The memory is the histograms' own: the first and the last of a range outlive the frame.
	rising, err := decodeNativesInto(p.place.frames[trackRaw][p.frame], &nativeMemory{}, &d.batch)
	if err == nil && len(d.batch.times) != p.count {
		err = errFrame
	}
	if err != nil {
		*d = nativeDecoded{}
		return nil, err
	}
	d.part, d.rising = part+1, rising
	return d, nil
}

// grows says whether a running total only grew within a part and, if joined, since the one before.
func (w *nativeRanges) grows(k int, joined bool) (bool, error) {
	p := &w.parts[k]
	if p.within == unknown {
		clean, err := p.place.clean(p.minTime, p.maxTime)
		if err != nil {
			return false, err
		}
		if clean {
			p.within = grew
			// The rollups of a block also know what was before, unless it was in another place.
			if k > 0 && w.parts[k-1].place == p.place {
				p.joined = grew
			}
		} else if p.within, err = w.look(k); err != nil {
			return false, err
		}
	}
	if p.within != grew || !joined {
		return p.within == grew, nil
	}
	if p.joined == unknown {
		p.joined = other
		before, err := w.histogram(k-1, w.parts[k-1].count-1)
		if err != nil {
			return false, err
		}
		h, err := w.histogram(k, 0)
		if err != nil {
			return false, err
		}
		if !isReset(before, h) {
			p.joined = grew
		}
	}
	return p.joined == grew, nil
}

// look compares the histograms of a part with each other.
func (w *nativeRanges) look(k int) (verdict, error) {
	d, err := w.decode(k)
	if err != nil {
		return unknown, err
	}
	for i, h := range d.batch.values {
		if h.CounterResetHint == gaugeHint || math.Float64bits(h.Sum) == value.StaleNaN || i > 0 && !d.rising && isReset(d.batch.values[i-1], h) {
			return other, nil
		}
	}
	return grew, nil
}
