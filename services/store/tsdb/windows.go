package tsdb

// Merging histograms over stretches of time, without reading each: the rollups in a block are checkpoints. An hour that
// lies in one stretch is one record; only at the stretches' ends are its minutes read, and of the minutes at the ends
// the seconds. The answer is exact at any alignment.

import (
	"context"
	"math"
	"sync"

	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"
)

// Windows adds the histograms of [from+i*width, from+(i+1)*width) to into[i], making it when it is nil; times in ms. It
// returns how many histograms it merged, rollups counting as one each.
func (s *Series) Windows(ctx context.Context, from, width int64, into []*histogram.Dense) (merged int, err error) {
	w := windowings.Get().(*windowing)
	defer func() {
		copy(into, w.into[:len(into)])
		clear(w.into)
		w.given = nil
		for _, d := range w.spare {
			if d.Room() > 1<<16 {
				w.spare = nil
				break
			}
		}
		if cap(w.chunk)+cap(w.bytes) < 4<<20 && cap(w.list)+cap(w.decoded.times) < 1<<14 { // one huge series must not be paid for, for ever
			windowings.Put(w)
		}
	}()
	w.from, w.width, w.to, w.into, w.merged = from, width, from+width*int64(len(into)), append(w.into[:0], into...), 0
	w.windows, w.given = len(into), into
	for i := range s.histograms {
		if err := ctx.Err(); err != nil {
			return w.merged, err
		}
		one := &s.histograms[i]
		if one.maxTime < w.from || one.minTime >= w.to {
			continue
		}
		switch {
		case len(one.deleted) > 0:
			err = w.each(s.histograms[i : i+1])
		case one.block == nil:
			err = w.memory(one)
		default:
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
	windows         int
	merged          int
	// The windows, and behind them what is moved from a window to the one before: see frames.
	into  []*histogram.Dense
	given []*histogram.Dense // the windows as the caller gave them
	moves []int              // the windows to which the latter goes, -1 for none
	spare []*histogram.Dense
	run   encoding.HistogramRun
	index []int
	times []int64
	// What frames are read into: they are used one after the other, and those of one track before those of the next.
	list         []frame
	chunk, bytes []byte
	decoded      batch[histogram.Histogram] // of a frame of rows
}

// stretch is time of which everything is still to be merged, both ends in it.
type stretch struct {
	from, to int64
	// It was merged into the window behind the one in which it lies, as a part of a longer record.
	move bool
}

var windowings = sync.Pool{New: func() any { return &windowing{} }}

// at is the number of the window that holds t; -1 before the first, windows behind the last.
func (w *windowing) at(t int64) int {
	switch {
	case t < w.from:
		return -1
	case t >= w.to:
		return w.windows
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

// memory merges what is not in a block yet: counts go from the frames into the windows, and no histogram is made of them.
func (w *windowing) memory(one *source[histogram.Histogram]) error {
	frames, samples, err := one.load()
	if err != nil {
		return err
	}
	for _, f := range frames {
		if f.maxTime < w.from || f.minTime >= w.to {
			continue
		}
		if f.encoding != encodingHistograms {
			if err := decodeHistograms(f, &w.decoded); err != nil {
				return err
			}
			w.samples(w.decoded)
			continue
		}
		if err := w.run.Open(f.bytes); err != nil {
			return errFrame
		}
		w.index = w.index[:0]
		for _, relative := range w.run.Times() {
			at := w.at(f.minTime + relative)
			if at == w.windows {
				at = -1
			}
			if at >= 0 {
				w.merged++
			}
			w.index = append(w.index, at)
		}
		if err := w.run.AddWindows(w.index, w.into); err != nil {
			return errFrame
		}
	}
	w.samples(samples)
	return nil
}

// samples merges histograms that are decoded already.
func (w *windowing) samples(all batch[histogram.Histogram]) {
	for k, t := range all.times {
		i := w.at(t)
		if i < 0 || i == w.windows {
			continue
		}
		if w.into[i] == nil {
			w.into[i] = &histogram.Dense{}
		}
		w.into[i].Merge(&all.values[k])
		w.merged++
	}
}

// block merges what a block has, from its hours down to its seconds.
func (w *windowing) block(one *source[histogram.Histogram]) error {
	b, record := one.block, one.record
	todo := []stretch{{from: max(w.from, one.minTime), to: min(w.to-1, one.maxTime)}} // ascending
	needed := w.needed(record)
	for track := trackHour; track >= trackRaw && len(todo) > 0; track-- {
		if record.lengths[track] == 0 {
			if track == trackRaw { // the samples were let go: a record at an end goes where it begins
				for track = trackMinute; track < trackHour && record.lengths[track] == 0; {
					track++
				}
				return w.track(one, track, todo)
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
		var left []stretch
		if err := w.frames(one, frames, track, todo, &left); err != nil {
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

func (w *windowing) read(b *block, record *blockSeries, track int) (_ []frame, err error) {
	w.list, w.chunk, err = b.framesInto(w.chunk, w.list, record, track)
	return w.list, err
}

func (w *windowing) track(one *source[histogram.Histogram], track int, todo []stretch) error {
	frames, err := w.read(one.block, one.record, track)
	if err != nil {
		return err
	}
	return w.frames(one, frames, track, todo, nil)
}

// frames merges the records of a track that lie in todo. What is to be done with finer ones is put into left, unless that
// is nil: then a record goes where it begins.
//
// A record in which one window ends and the next begins is merged into the latter, and what of it was before, of finer
// records, is taken from there and merged into the former: on average that is half of the finer records, and none when
// the window ends where one of them does. Of samples only those before the end are read. A record is the sum of the finer
// ones of its block, so that this is exact; when those cannot be read it has been told, and up to one record is in the
// window behind its own.
func (w *windowing) frames(one *source[histogram.Histogram], frames []frame, track int, todo []stretch, left *[]stretch) error {
	length := max(1, trackWidth[track])
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
		// What a frame's header says is mostly enough to know that nothing of it goes anywhere as it is.
		times, known := w.regular(f, length)
		if !known {
			if err := w.open(one.block, frames, todo[0].to); err != nil {
				return err
			}
			times = w.run.Times()
		}
		used := false
		w.index, w.moves = w.index[:0], w.moves[:0]
		wanted := todo
		for _, relative := range times {
			t := f.minTime + relative
			// What the record stands for, as far as there can be samples of it.
			from, to := max(t, one.record.minTime), min(t+length-1, one.record.maxTime)
			for len(wanted) > 0 && wanted[0].to < from {
				wanted = wanted[1:]
			}
			at := -1
			if len(wanted) > 0 && wanted[0].from <= to {
				at = w.place(wanted[0], from, to, left)
			}
			if at >= 0 {
				w.merged++
				used = true
			}
			w.index = append(w.index, at)
		}
		if !used {
			frames = frames[1:]
			continue
		}
		if known {
			if err := w.open(one.block, frames, todo[0].to); err != nil {
				return err
			}
			if w.run.Len() != len(w.index) {
				return errFrame
			}
		}
		frames = frames[1:]
		err := w.run.AddWindows(w.index, w.into)
		w.move()
		if err != nil {
			return errFrame
		}
	}
	return nil
}

// regular is the times of a frame's records, relative to the first, when its header tells them: those of sums stand where
// their widths say, so that as many as have room between the first and the last stand everywhere.
func (w *windowing) regular(f *frame, length int64) (times []int64, known bool) {
	if length == 1 || f.count == 0 || f.maxTime-f.minTime != int64(f.count-1)*length {
		return nil, false
	}
	w.times = encoding.AppendRegular(w.times[:0], 0, length, int(f.count))
	return w.times, true
}

// open makes w.run of the first of the frames, which it reads if that was not done yet.
func (w *windowing) open(b *block, frames []frame, until int64) error {
	if frames[0].bytes == nil {
		// As far as the stretch goes; of seconds that is a minute or two.
		var err error
		if w.bytes, err = b.fillInto(w.bytes, frames, until); err != nil {
			return err
		}
	}
	if err := w.run.Open(frames[0].bytes); err != nil {
		return errFrame
	}
	return nil
}

// place is where the record of a stretch from to to, which wanted begins in or before, is to be added: at w.into, or
// nowhere when it is -1.
func (w *windowing) place(wanted stretch, from, to int64, left *[]stretch) int {
	first := w.at(from)
	if wanted.move {
		if to > wanted.to && left != nil {
			*left = append(*left, stretch{from, wanted.to, true})
			return -1
		}
		return w.moving(first)
	}
	last := w.at(to)
	switch {
	case first == last || left == nil:
		if first == w.windows {
			return -1
		}
		return first
	case last == w.windows:
		*left = append(*left, stretch{from: from, to: w.to - 1})
		return -1
	case last == first+1:
		*left = append(*left, stretch{from, w.from + int64(last)*w.width - 1, true})
		return last
	}
	*left = append(*left, stretch{from: from, to: to})
	return -1
}

// moving is the place in w.into of what is moved to window first from the one behind it.
func (w *windowing) moving(first int) int {
	if k := len(w.moves) - 1; k >= 0 && w.moves[k] == first { // they ascend
		return w.windows + k
	}
	w.moves = append(w.moves, first)
	if len(w.into) < w.windows+len(w.moves) {
		if len(w.spare) < len(w.moves) {
			w.spare = append(w.spare, &histogram.Dense{})
		}
		w.into = append(w.into, w.spare[len(w.moves)-1])
	}
	return w.windows + len(w.moves) - 1
}

// move does what moving has begun.
func (w *windowing) move() {
	for k, first := range w.moves {
		moved := w.into[w.windows+k]
		if moved.Empty() {
			continue
		}
		if first >= 0 {
			if w.into[first] == nil {
				w.into[first] = &histogram.Dense{}
			}
			w.into[first].MergeDense(moved)
		}
		if from := w.into[first+1]; from != nil {
			if from.SubtractDense(moved); w.given[first+1] == nil && from.Empty() {
				w.into[first+1] = nil // as if nothing had ever been in it
			}
		}
		moved.Reset()
	}
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
