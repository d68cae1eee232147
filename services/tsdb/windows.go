package tsdb

// Merging histograms over stretches of time, without reading each: the rollups in a block are checkpoints. An hour that
// lies in one stretch is one record; only at the stretches' ends are its minutes read, and of the minutes at the ends
// the seconds. The answer is exact at any alignment.

import (
	"context"
	"errors"
	"math"
	"sync"

	"cistern/services/column"
	"cistern/services/histogram"
)

// Windows adds the histograms of [from+i*width, from+(i+1)*width) to into[i], making it when it is nil; times in ms. It
// returns how many histograms it merged, rollups counting as one each.
func (s *Series) Windows(ctx context.Context, from, width int64, into []*histogram.Dense) (merged int, err error) {
	w := windowings.Get().(*windowing)
	defer func() {
		w.into = nil
		if cap(w.chunk)+cap(w.bytes[0])+cap(w.bytes[1]) < 4<<20 { // one huge series must not be paid for, for ever
			windowings.Put(w)
		}
	}()
	w.from, w.width, w.to, w.into, w.merged = from, width, from+width*int64(len(into)), into, 0
	for i := range s.histograms {
		if err := ctx.Err(); err != nil {
			return w.merged, err
		}
		one := &s.histograms[i]
		if one.maxTime < w.from || one.minTime >= w.to {
			continue
		}
		if one.block == nil || len(one.deleted) > 0 {
			err = w.each(s.histograms[i : i+1])
		} else {
			err = w.block(one)
		}
		if err != nil {
			it := iterator[histogram.Histogram]{}
			if it.fail(one, err); it.err != nil {
				return w.merged, it.err
			}
		}
	}
	return w.merged, nil
}

// SpanOf is the time, in ms, in which histograms of any of the series lie; the first is greater when there are none.
func SpanOf(list []*Series) (minTime, maxTime int64) {
	minTime, maxTime = math.MaxInt64, math.MinInt64
	for _, s := range list {
		for i := range s.histograms {
			minTime, maxTime = min(minTime, s.histograms[i].minTime), max(maxTime, s.histograms[i].maxTime)
		}
	}
	return minTime, maxTime
}

type windowing struct {
	from, width, to int64
	into            []*histogram.Dense
	merged          int
	// Two frames are merged together: waiting says that the first is ready.
	runs    [2]column.HistogramRun
	indexes [2][]int
	waiting bool
	// What frames are read into: they are used one after the other, and those of one track before those of the next. Of the
	// two the second is read into while a frame of the first waits, and so in turn.
	chunk []byte
	bytes [2][]byte
	turn  int
}

var windowings = sync.Pool{New: func() any { return &windowing{} }}

// at is the number of the window that holds t; -1 before the first, len(into) behind the last.
func (w *windowing) at(t int64) int {
	switch {
	case t < w.from:
		return -1
	case t >= w.to:
		return len(w.into)
	}
	return int((t - w.from) / w.width)
}

// each merges the samples one by one.
func (w *windowing) each(sources []source[histogram.Histogram]) error {
	it := newIterator(sources, w.from, w.to-1, decodeHistograms, sumOfHistograms)
	for it.Next() {
		t, h := it.At()
		i := w.at(t)
		if w.into[i] == nil {
			w.into[i] = &histogram.Dense{}
		}
		w.into[i].Merge(&h)
		w.merged++
	}
	return it.Err()
}

// block merges what a block has, from its hours down to its seconds.
func (w *windowing) block(one *source[histogram.Histogram]) error {
	b, record := one.block, one.record
	// What is still to be merged: stretches of time, ascending, both ends in them.
	todo := []interval{{max(w.from, one.minTime), min(w.to-1, one.maxTime)}}
	needed := w.needed(record)
	for track := trackHour; track >= trackRaw && len(todo) > 0; track-- {
		if record.lengths[track] == 0 {
			if track == trackRaw { // the samples were let go: a record at an end goes where it begins
				for track = trackMinute; track < trackHour && record.lengths[track] == 0; {
					track++
				}
				return w.track(one, track, todo, nil)
			}
			continue
		}
		if track != trackRaw && !needed[track] {
			continue
		}
		frames, err := w.read(b, record, track)
		if err != nil {
			return err
		}
		var left []interval
		rest := &left
		if err := w.frames(one, frames, track, todo, rest); err != nil {
			return err
		}
		todo = left
	}
	return nil
}

// needed is the tracks of a series that are worth reading, besides the samples. The windows' ends say how fine it must be: a
// track into whose records they all fall is enough. What is coarser spares the reading of what is finer only where a window
// is longer than a frame of that; otherwise each of these frames has a window's end in it and is read whole in any case.
func (w *windowing) needed(record *blockSeries) (needed [tracks]bool) {
	finest := trackHour
	for finest > trackRaw && (record.lengths[finest] == 0 || w.from%trackWidth[finest] != 0 || w.width%trackWidth[finest] != 0) {
		finest--
	}
	needed[finest] = true
	for last, track := finest, finest+1; track < tracks; track++ {
		span := int64(rawSpan)
		if last != trackRaw {
			span = trackWidth[last] * int64(rollupRecords[last])
		}
		if record.lengths[track] > 0 && trackWidth[track] <= w.width && w.width > span {
			needed[track], last = true, track
		}
	}
	return needed
}

// rawSpan is how long a frame of one histogram a second is, in ms.
const rawSpan = 300_000

func (w *windowing) read(b *block, record *blockSeries, track int) (frames []frame, err error) {
	frames, w.chunk, err = b.framesInto(w.chunk, record, track)
	return frames, err
}

func (w *windowing) track(one *source[histogram.Histogram], track int, todo, _ []interval) error {
	frames, err := w.read(one.block, one.record, track)
	if err != nil {
		return err
	}
	return w.frames(one, frames, track, todo, nil)
}

// frames merges the records of a track that lie in todo. Those that lie in several windows are left: their time is put
// into left, unless that is nil.
func (w *windowing) frames(one *source[histogram.Histogram], frames []frame, track int, todo []interval, left *[]interval) error {
	length := max(1, trackWidth[track])
	w.waiting = false
	for len(frames) > 0 && len(todo) > 0 {
		f := &frames[0]
		for len(todo) > 0 && todo[0].to < f.minTime {
			todo = todo[1:]
		}
		if len(todo) == 0 {
			break
		}
		if f.maxTime+length-1 < todo[0].from {
			frames = frames[1:]
			continue
		}
		if f.bytes == nil {
			// As far as the stretch goes; of seconds that is a minute or two.
			var err error
			w.turn = 1 - w.turn
			if w.bytes[w.turn], err = one.block.fillInto(w.bytes[w.turn], frames, todo[0].to); err != nil {
				return errors.Join(err, w.finish())
			}
		}
		run, index := &w.runs[0], w.indexes[0][:0]
		if w.waiting {
			run, index = &w.runs[1], w.indexes[1][:0]
		}
		if err := run.Open(f.bytes); err != nil {
			return errors.Join(errFrame, w.finish())
		}
		wanted := todo
		for _, relative := range run.Times() {
			t := f.minTime + relative
			// What the record stands for, as far as there can be samples of it.
			from, to := max(t, one.record.minTime), min(t+length-1, one.record.maxTime)
			for len(wanted) > 0 && wanted[0].to < from {
				wanted = wanted[1:]
			}
			at := -1
			if len(wanted) > 0 && wanted[0].from <= to {
				first, last := w.at(from), w.at(to)
				switch {
				case first == last:
					at = first
				case left != nil:
					*left = append(*left, interval{from, to})
				default:
					at = first
				}
			}
			if at == len(w.into) {
				at = -1
			}
			if at >= 0 {
				w.merged++
			}
			index = append(index, at)
		}
		frames = frames[1:]
		if !w.waiting {
			w.indexes[0], w.waiting = index, true
			continue
		}
		w.indexes[1], w.waiting = index, false
		if err := column.AddWindowsOfTwo(&w.runs[0], &w.runs[1], w.indexes[0], w.indexes[1], w.into); err != nil {
			return errFrame
		}
	}
	return w.finish()
}

// finish merges the frame that waits for another.
func (w *windowing) finish() error {
	if !w.waiting {
		return nil
	}
	w.waiting = false
	if err := w.runs[0].AddWindows(w.indexes[0], w.into); err != nil {
		return errFrame
	}
	return nil
}

// Whole is one histogram of everything in [minTime, maxTime].
func (s *Series) Whole(ctx context.Context, minTime, maxTime int64) (*histogram.Histogram, error) {
	into := []*histogram.Dense{nil}
	width := maxTime - minTime + 1
	if width <= 0 || maxTime > math.MaxInt64/2 {
		return &histogram.Histogram{}, nil
	}
	if _, err := s.Windows(ctx, minTime, width, into); err != nil || into[0] == nil {
		return &histogram.Histogram{}, err
	}
	return into[0].Histogram(), nil
}
