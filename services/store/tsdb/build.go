package tsdb

// What a block stores of a series: its samples in frames, and their rollups. A rollup is kept beside the samples where
// one of its records stands for thirty of them or more: then it costs little and saves a lot. Where the samples are let
// go (retain.go) it is made in any case.

import (
	"cistern/services/histogram"
	"cistern/services/store/tsdb/encoding"
)

// worthwhile is how many samples a record of a rollup must stand for to be kept beside them, and how many records there
// must be: reading fewer samples is as quick. It is a little less than thirty, so that of one sample a minute half hours
// are kept even though the first and the last are not whole and some samples are missing.
const (
	worthwhile  = 28
	enoughTimes = 12
)

// numberTracks are the rollups that series other than histograms have.
var numberTracks = [...]int{trackMinute, trackHour}

// builder makes seriesData; its memory is reused.
type builder struct {
	times  []int64
	values []float64
	hists  []histogram.Histogram
	coder  coder
	copies copies
	minute histogram.Histogram
	rolled [tracks]histogramRollup
	// Which tracks are wanted, whatever they cost.
	always [tracks]bool
	// Without the samples.
	noRaw bool
	// Without the minutes.
	noMinute bool
}

func floorTo(t, width int64) int64 {
	r := t % width
	if r < 0 {
		r += width
	}
	return t - r
}

// wanted says which tracks to make of samples at these times.
func (b *builder) wanted(times []int64) (want [tracks]bool) {
	want[trackRaw] = !b.noRaw
	for track := trackMinute; track < tracks; track++ {
		if b.always[track] {
			want[track] = true
			continue
		}
		if len(times) < worthwhile*enoughTimes || track < trackHour && b.noMinute {
			continue
		}
		records, last := 0, int64(-1<<63)
		for _, t := range times {
			if at := floorTo(t, trackWidth[track]); at != last {
				records, last = records+1, at
			}
		}
		want[track] = records >= enoughTimes && len(times) >= worthwhile*records
	}
	return want
}

// numbers builds what a block stores of the numbers that it yields; nil when there are none.
func (b *builder) numbers(it *NumberIterator) (*seriesData, error) {
	b.times, b.values = b.times[:0], b.values[:0]
	for {
		times, values, ok := it.NextBatch()
		if !ok {
			break
		}
		b.times, b.values = append(b.times, times...), append(b.values, values...)
	}
	if err := it.Err(); err != nil || len(b.times) == 0 {
		return nil, err
	}
	data := &seriesData{minTime: b.times[0], maxTime: b.times[len(b.times)-1]}
	want := b.wanted(b.times)
	if want[trackRaw] {
		data.samples = uint64(len(b.times))
		for from := 0; from < len(b.times); from += frameNumbers {
			to := min(from+frameNumbers, len(b.times))
			data.frames[trackRaw] = append(data.frames[trackRaw], numberFrame(b.times[from:to], b.values[from:to]))
		}
	}
	for _, track := range numberTracks {
		if want[track] {
			data.frames[track] = rollupFrames(rollup(b.times, b.values, trackWidth[track]))
		}
	}
	return data, nil
}

// rollup is the records of a width that numbers make. NaN, which a stale marker is too, makes a record, but is in no
// minimum, maximum, sum or count, and is the last only of a record of nothing else: a counter that ended within an hour has
// the value there that it ended with.
func rollup(times []int64, values []float64, width int64) *encoding.Rollup {
	r := &encoding.Rollup{}
	for i, t := range times {
		at, v := floorTo(t, width), values[i]
		n := len(r.Times) - 1
		if n < 0 || r.Times[n] != at {
			r.Times = append(r.Times, at)
			r.Min, r.Max, r.Sum, r.Last = append(r.Min, v), append(r.Max, v), append(r.Sum, 0), append(r.Last, v)
			r.Count = append(r.Count, 0)
			n++
		}
		if v != v {
			if r.Count[n] == 0 {
				r.Last[n] = v
			}
			continue
		}
		r.Last[n] = v
		if r.Count[n] == 0 {
			r.Min[n], r.Max[n] = v, v
		}
		r.Min[n], r.Max[n] = min(r.Min[n], v), max(r.Max[n], v)
		r.Sum[n] += v
		r.Count[n]++
	}
	return r
}

// coarser is the records of a greater width that records make.
func coarser(fine *encoding.Rollup, width int64) *encoding.Rollup {
	r := &encoding.Rollup{}
	for i, t := range fine.Times {
		at := floorTo(t, width)
		n := len(r.Times) - 1
		if n < 0 || r.Times[n] != at {
			r.Times = append(r.Times, at)
			r.Min, r.Max, r.Sum = append(r.Min, fine.Min[i]), append(r.Max, fine.Max[i]), append(r.Sum, fine.Sum[i])
			r.Last, r.Count = append(r.Last, fine.Last[i]), append(r.Count, fine.Count[i])
			continue
		}
		if fine.Count[i] == 0 {
			if r.Count[n] == 0 {
				r.Last[n] = fine.Last[i]
			}
			continue
		}
		r.Last[n] = fine.Last[i]
		if r.Count[n] == 0 {
			r.Min[n], r.Max[n] = fine.Min[i], fine.Max[i]
		}
		r.Min[n], r.Max[n] = min(r.Min[n], fine.Min[i]), max(r.Max[n], fine.Max[i])
		r.Sum[n] += fine.Sum[i]
		r.Count[n] += fine.Count[i]
	}
	return r
}

func rollupFrames(r *encoding.Rollup) []frame {
	var frames []frame
	for from := 0; from < len(r.Times); from += frameRollups {
		to := min(from+frameRollups, len(r.Times))
		part := encoding.Rollup{Times: relative(r.Times[from:to]), Min: r.Min[from:to], Max: r.Max[from:to],
			Sum: r.Sum[from:to], Last: r.Last[from:to], Count: r.Count[from:to]}
		frames = append(frames, makeFrame(encodingRollup, r.Times[from:to], encoding.AppendRollups(nil, &part)))
	}
	return frames
}

// histograms is numbers for histograms.
func (b *builder) histograms(it *HistogramIterator) (*seriesData, error) {
	data := &seriesData{}
	b.roll()
	b.times, b.hists = b.times[:0], b.hists[:0]
	var all []int64
	seal := func() {
		if n := len(b.times); n > 0 && !b.noRaw {
			data.frames[trackRaw] = append(data.frames[trackRaw], histogramFrame(b.times, b.hists))
		}
		b.times, b.hists = b.times[:0], b.hists[:0]
	}
	for it.Next() {
		t, h := it.At()
		if boundary(len(b.times), b.times, t) {
			seal()
		}
		b.times, b.hists = append(b.times, t), append(b.hists, h)
		all = append(all, t)
		b.rolled[trackMinute].add(t, &h)
	}
	seal()
	clear(b.hists[:cap(b.hists)])
	if err := it.Err(); err != nil || len(all) == 0 {
		return nil, err
	}
	data.minTime, data.maxTime = all[0], all[len(all)-1]
	want := b.wanted(all)
	if want[trackRaw] {
		data.samples = uint64(len(all))
	}
	for track := trackMinute; track < tracks; track++ {
		if frames := b.rolled[track].frames(); want[track] {
			data.frames[track] = frames
		}
	}
	return data, nil
}

// boundary says whether a frame of n histograms ends before time t: it has its size, or is long enough and a new five
// minutes begin, so that frames begin where windows do. Of one histogram a minute frames are hours, from the first whole
// hour on, because that is what a window's end then splits.
func boundary(n int, times []int64, t int64) bool {
	return n == frameHistograms || n >= sealHistograms/2 && ends(n, times[0], times[n-1], t)
}

// ends says whether n histograms, half of sealHistograms at least, from first to last, make a frame when the next is
// that of t.
func ends(n int, first, last, t int64) bool {
	const fine, coarse = 300_000, 3_600_000
	return n >= sealHistograms && floorTo(last, fine) != floorTo(t, fine) || last-first < coarse && floorTo(last, coarse) != floorTo(t, coarse)
}

// framed is histograms for frames that are as a block wants them, with their sums by minute: nothing is encoded again.
func (b *builder) framed(frames []frame, minutes ...rowEncoder) (*seriesData, error) {
	if len(frames) == 0 {
		return nil, nil
	}
	data := &seriesData{minTime: frames[0].minTime, maxTime: frames[len(frames)-1].maxTime}
	for i := range frames {
		data.samples += uint64(frames[i].count)
	}
	data.frames[trackRaw] = frames
	b.roll()
	for _, part := range minutes {
		rest, at, step := part.bytes, int64(0), int64(0)
		for i := range part.count {
			var err error
			if rest, at, step, err = nextRow(rest, i == 0, at, step); err != nil {
				return nil, err
			}
			if rest, err = b.minute.Decode(rest); err != nil {
				return nil, errFrame
			}
			if at < floorTo(data.minTime, trackWidth[trackMinute]) || at > data.maxTime {
				continue
			}
			b.rolled[trackMinute].add(at, &b.minute)
		}
	}
	for track := trackMinute; track < tracks; track++ {
		frames := b.rolled[track].frames()
		if n := b.rolled[track].count; n >= enoughTimes && data.samples >= uint64(worthwhile*n) {
			data.frames[track] = frames
		}
	}
	return data, nil
}

// roll begins the rollups of a series: what is added to the minutes goes on to the others.
func (b *builder) roll() {
	for track := trackMinute; track < tracks; track++ {
		r := &b.rolled[track]
		r.begin(trackWidth[track], rollupRecords[track])
		if track < trackHour {
			r.coarser = &b.rolled[track+1]
		}
	}
}

// rollupRecords is how many records a frame of a rollup of histograms has at most: a third of an hour, eight hours, a day,
// three days. All of a frame is decoded when one of its records is needed, which costs about as much for each of its
// columns as fifty records more: few columns matter more than few records, but for the minutes, of which each end of a
// window needs a frame of its own.
var rollupRecords = [tracks]int{trackMinute: 20, trackTen: 48, trackHalf: 48, trackHour: 72}

// histogramRollup makes the frames of a rollup while its records come; its memory is reused from series to series.
type histogramRollup struct {
	width   int64
	records int              // in a frame, at most
	coarser *histogramRollup // gets each record that is whole; may be nil
	open    histogram.Dense
	sum     histogram.Histogram
	at      int64
	any     bool
	times   []int64 // of the records in run
	from    []int64
	run     encoding.HistogramWriter
	made    []frame
	count   int // of records
}

func (r *histogramRollup) begin(width int64, records int) {
	r.width, r.records, r.times, r.made, r.count, r.any = width, records, r.times[:0], nil, 0, false
	r.open.Reset()
}

// add adds what belongs to the record of a time: a histogram, or a part of one.
func (r *histogramRollup) add(t int64, h *histogram.Histogram) {
	if at := floorTo(t, r.width); !r.any || at != r.at {
		r.close()
		r.at, r.any = at, true
	}
	r.open.Merge(h)
}

func (r *histogramRollup) close() {
	if !r.any {
		return
	}
	// Frames begin at multiples of what they span, unless that would make many small ones.
	span := r.width * int64(r.records)
	if n := len(r.times); n == r.records || 2*n >= r.records && floorTo(r.times[n-1], span) != floorTo(r.at, span) {
		r.seal()
	}
	if len(r.times) == 0 {
		r.run.Begin(r.records)
	}
	r.open.Into(&r.sum)
	r.run.Add(&r.sum)
	if r.coarser != nil {
		r.coarser.add(r.at, &r.sum)
	}
	r.times = append(r.times, r.at)
	r.open.Reset()
	r.any = false
	r.count++
}

func (r *histogramRollup) seal() {
	if len(r.times) == 0 {
		return
	}
	r.from = r.from[:0]
	for _, t := range r.times {
		r.from = append(r.from, t-r.times[0])
	}
	r.made = append(r.made, makeFrame(encodingHistograms, r.times, r.run.Append(nil, r.from)))
	r.times = r.times[:0]
}

// frames ends the rollup: after that of the finer one, whose last record it gets.
func (r *histogramRollup) frames() []frame {
	r.close()
	r.seal()
	return r.made
}
