package tsdb

// Numbers whose samples were let go: their rollups stand in for them.

import (
	"errors"
	"math"
	"sort"

	"cistern/services/column"
)

// Aggregate says which of a rollup's columns stands for its samples.
type Aggregate uint8

// Default is the last value of a counter and the mean of a gauge.
const (
	Default Aggregate = iota
	Minimum
	Maximum
)

// decodeNumbersAs decodes samples, and rollups as the column that is wanted. The time of a record is the beginning of what it
// stands for: at 13:00 a query finds what was measured from then to 14:00, and so does a range that ends there.
func decodeNumbersAs(kind Kind, aggregate Aggregate) func(frame, *batch[float64]) error {
	return func(f frame, into *batch[float64]) error {
		if f.encoding != encodingRollup {
			return decodeNumbers(f, into)
		}
		r, err := decodeRollup(f)
		if err != nil {
			return err
		}
		into.times, into.values = into.times[:0], into.values[:0]
		for i, t := range r.Times {
			v := r.Last[i]
			switch {
			case aggregate == Minimum:
				v = r.Min[i]
			case aggregate == Maximum:
				v = r.Max[i]
			case kind != Counter && r.Count[i] > 0:
				v = r.Sum[i] / float64(r.Count[i])
			}
			into.times, into.values = append(into.times, t), append(into.values, v)
		}
		return nil
	}
}

func decodeRollup(f frame) (*column.Rollup, error) {
	if f.encoding != encodingRollup {
		return nil, unknownEncoding(f, "rollups")
	}
	r := &column.Rollup{}
	if err := column.DecodeRollups(f.bytes, r); err != nil || len(r.Times) == 0 || r.Times[0] != 0 || r.Times[len(r.Times)-1] != f.maxTime-f.minTime {
		return nil, errFrame
	}
	for i := range r.Times {
		r.Times[i] += f.minTime
	}
	return r, nil
}

// appendRollup puts b's records behind a's.
func appendRollup(a, b *column.Rollup) {
	a.Times, a.Count = append(a.Times, b.Times...), append(a.Count, b.Count...)
	a.Min, a.Max = append(a.Min, b.Min...), append(a.Max, b.Max...)
	a.Sum, a.Last = append(a.Sum, b.Sum...), append(a.Last, b.Last...)
}

// byTime puts records in order; those of the same time become one, the last of them giving Last.
func byTime(r *column.Rollup) *column.Rollup {
	order := make([]int, len(r.Times))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return r.Times[order[a]] < r.Times[order[b]] })
	sorted := &column.Rollup{}
	for _, i := range order {
		appendRollup(sorted, &column.Rollup{Times: r.Times[i : i+1], Min: r.Min[i : i+1], Max: r.Max[i : i+1],
			Sum: r.Sum[i : i+1], Last: r.Last[i : i+1], Count: r.Count[i : i+1]})
	}
	return coarser(sorted, 1)
}

// readRollups is a track's records of one place, empty when it has none.
func (s *source[V]) readRollups(track int) (*column.Rollup, error) {
	all := &column.Rollup{}
	frames, err := s.block.frames(s.record, track)
	for len(frames) > 0 && err == nil {
		if frames[0].bytes == nil {
			if err = s.block.fill(frames, math.MaxInt64); err != nil {
				break
			}
		}
		var r *column.Rollup
		if r, err = decodeRollup(frames[0]); err == nil {
			appendRollup(all, r)
			frames = frames[1:]
		}
	}
	if err == nil && len(s.deleted) > 0 {
		kept := &column.Rollup{}
		for i, t := range all.Times { // a record is deleted when all it stands for is
			gone := false
			for _, d := range s.deleted {
				gone = gone || d.covers(t, trackWidth[track])
			}
			if !gone {
				appendRollup(kept, &column.Rollup{Times: all.Times[i : i+1], Min: all.Min[i : i+1], Max: all.Max[i : i+1],
					Sum: all.Sum[i : i+1], Last: all.Last[i : i+1], Count: all.Count[i : i+1]})
			}
		}
		all = kept
	}
	return all, err
}

// noted tells the source's owner of damage, and returns it.
func (s *source[V]) noted(err error) error {
	if s.damage != nil && (errors.Is(err, errDamaged) || errors.Is(err, errFrame)) {
		s.damage(err)
	}
	return err
}

// mergeRollups is what a block stores of numbers that are rollups in one of its places at least.
func (s *Series) mergeRollups(b *builder, minTime, maxTime int64) (*seriesData, error) {
	var fine, coarse column.Rollup
	for i := range s.numbers {
		one := &s.numbers[i]
		if one.record.lengths[trackRaw] > 0 {
			it := newIterator(s.numbers[i:i+1], minTime, maxTime, decodeNumbers, newestNumber)
			for times, values, ok := it.NextBatch(); ok; times, values, ok = it.NextBatch() {
				appendRollup(&fine, rollup(times, values, trackWidth[trackMinute]))
			}
			if err := it.Err(); err != nil {
				return nil, err
			}
			continue
		}
		minutes, err := one.readRollups(trackMinute)
		if err != nil {
			return nil, one.noted(err)
		}
		appendRollup(&fine, minutes)
		if one.record.lengths[trackMinute] > 0 { // that all of them are deleted does not make the hours what is left
			continue
		}
		hours, err := one.readRollups(trackHour)
		if err != nil {
			return nil, one.noted(err)
		}
		appendRollup(&coarse, hours)
	}
	minutes := byTime(&fine)
	appendRollup(&coarse, coarser(minutes, trackWidth[trackHour]))
	hours := byTime(&coarse)
	if len(hours.Times) == 0 {
		return nil, nil
	}
	data := &seriesData{minTime: minTime, maxTime: maxTime}
	if !b.noMinute && len(minutes.Times) > 0 {
		data.frames[trackMinute] = rollupFrames(minutes)
	}
	data.frames[trackHour] = rollupFrames(hours)
	return data, nil
}
