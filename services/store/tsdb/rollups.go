package tsdb

// Numbers whose samples were let go: their rollups stand in for them.

import (
	"errors"
	"math"
	"slices"

	"cistern/services/store/tsdb/encoding"

	"github.com/prometheus/prometheus/model/value"
)

// Aggregate says what of a rollup's records stands for their samples.
type Aggregate uint8

const (
	// Default is the last value of a counter and the mean of a gauge.
	Default Aggregate = iota
	Minimum
	Maximum
	// Sum is what the samples of a record add up to.
	Sum
	// Count is how many they were, without those that were no numbers; a sample that is there itself is 1.
	Count
	// Last is the last value, of a gauge too.
	Last
	// Growth is for what adds up how much a counter has grown: Last, and a millisecond before it the greatest value when
	// that is not the last one. The counter began again within the record then, and had grown to that before. It does not
	// ask for the kind, because remote write 1.0 does not tell which series are counters.
	Growth
)

// decodeNumbersAs decodes samples, and rollups as the column that is wanted. The time of a record is the beginning of what it
// stands for: at 13:00 a query finds what was measured from then to 14:00, and so does a range that ends there.
func decodeNumbersAs(kind Kind, aggregate Aggregate) func(frame, *batch[float64]) error {
	return func(f frame, into *batch[float64]) error {
		if f.encoding != encodingRollup {
			err := decodeNumbers(f, into)
			if err == nil && aggregate == Count {
				count(into.values)
			}
			return err
		}
		r, err := decodeRollup(f)
		if err != nil {
			return err
		}
		standIn(r, kind, aggregate, into)
		return nil
	}
}

// count makes each value 1 that is no marker of a series' end.
func count(values []float64) {
	for i, v := range values {
		if math.Float64bits(v) != value.StaleNaN {
			values[i] = 1
		}
	}
}

// standIn is the numbers that stand for the records' samples.
func standIn(r *encoding.Rollup, kind Kind, aggregate Aggregate, into *batch[float64]) {
	into.times, into.values = into.times[:0], into.values[:0]
	for i, t := range r.Times {
		v := r.Last[i]
		switch {
		case aggregate == Minimum:
			v = r.Min[i]
		case aggregate == Maximum:
			v = r.Max[i]
		case r.Count[i] == 0: // nothing but NaN, or the marker of an end
			if aggregate == Count && math.Float64bits(v) != value.StaleNaN {
				v = 1
			}
		case aggregate == Sum:
			v = r.Sum[i]
		case aggregate == Count:
			v = float64(r.Count[i])
		case aggregate == Growth && r.Max[i] > v:
			into.times, into.values = append(into.times, t-1), append(into.values, r.Max[i])
		case aggregate == Default && kind != Counter:
			v = r.Sum[i] / float64(r.Count[i])
		}
		into.times, into.values = append(into.times, t), append(into.values, v)
	}
}

// numbersAs is where a series' numbers are, for what stands in for them.
func (s *Series) numbersAs(aggregate Aggregate) []source[float64] {
	groups := overlapping(s.numbers)
	if groups == nil && aggregate != Count {
		return s.numbers
	}
	if groups == nil {
		for i := range s.numbers {
			groups = append(groups, []int{i})
		}
	}
	list := make([]source[float64], 0, len(groups))
	for _, g := range groups {
		if len(g) == 1 {
			list = append(list, s.numbers[g[0]].as(aggregate))
		} else {
			list = append(list, joined(pick(s.numbers, g), s.Kind, aggregate))
		}
	}
	return list
}

// as is a place's numbers for what stands in for them.
func (s *source[V]) as(aggregate Aggregate) source[V] {
	one := *s
	switch {
	case s.rolledUp():
		if aggregate == Growth {
			one.minTime--
		}
	case aggregate == Count:
		one.read = func() ([]frame, batch[V], error) {
			frames, samples, err := s.load()
			samples.values = slices.Clone(samples.values) // they may be shared
			if values, ok := any(samples.values).([]float64); ok {
				count(values)
			}
			return frames, samples, err
		}
	}
	return one
}

// rolledUp says whether rollups are all that is left of a place.
func (s *source[V]) rolledUp() bool { return s.record != nil && s.record.lengths[trackRaw] == 0 }

// RolledUp says whether rollups are all that is left of some of the numbers in [minTime, maxTime].
func (s *Series) RolledUp(minTime, maxTime int64) bool {
	return slices.ContainsFunc(s.numbers, func(one source[float64]) bool {
		return one.maxTime >= minTime && one.minTime <= maxTime && one.rolledUp()
	})
}

// Within is the series without those records of rollups that stand for more than width, in ms: what adds up in a range must
// not find in a few minutes what was measured in an hour. It is the series itself when it has none.
func (s *Series) Within(width int64) *Series {
	numbers, histograms := notWider(s.numbers, width), notWider(s.histograms, width)
	if len(numbers) == len(s.numbers) && len(histograms) == len(s.histograms) {
		return s
	}
	some := *s
	some.numbers, some.histograms = numbers, histograms
	return &some
}

func notWider[V any](list []source[V], width int64) []source[V] {
	wider := func(one source[V]) bool { return one.width > width }
	if !slices.ContainsFunc(list, wider) {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), wider)
}

func decodeRollup(f frame) (*encoding.Rollup, error) {
	if f.encoding != encodingRollup {
		return nil, unknownEncoding(f, "rollups")
	}
	r := &encoding.Rollup{}
	if err := encoding.DecodeRollups(f.bytes, r); err != nil || len(r.Times) == 0 || r.Times[0] != 0 || r.Times[len(r.Times)-1] != f.maxTime-f.minTime {
		return nil, errFrame
	}
	for i := range r.Times {
		r.Times[i] += f.minTime
	}
	return r, nil
}

// one is a single record.
func one(r *encoding.Rollup, i int) *encoding.Rollup {
	return &encoding.Rollup{Times: r.Times[i : i+1], Min: r.Min[i : i+1], Max: r.Max[i : i+1], Sum: r.Sum[i : i+1], Last: r.Last[i : i+1], Count: r.Count[i : i+1]}
}

// appendRollup puts b's records behind a's.
func appendRollup(a, b *encoding.Rollup) {
	a.Times, a.Count = append(a.Times, b.Times...), append(a.Count, b.Count...)
	a.Min, a.Max = append(a.Min, b.Min...), append(a.Max, b.Max...)
	a.Sum, a.Last = append(a.Sum, b.Sum...), append(a.Last, b.Last...)
}

// readRollups is a track's records of one place, empty when it has none.
func (s *source[V]) readRollups(track int) (*encoding.Rollup, error) {
	all := &encoding.Rollup{}
	frames, err := s.block.frames(s.record, track)
	for len(frames) > 0 && err == nil {
		if frames[0].bytes == nil {
			if err = s.block.fill(frames, math.MaxInt64); err != nil {
				break
			}
		}
		var r *encoding.Rollup
		if r, err = decodeRollup(frames[0]); err == nil {
			appendRollup(all, r)
			frames = frames[1:]
		}
	}
	if err == nil && len(s.deleted) > 0 {
		kept := &encoding.Rollup{}
		for i, t := range all.Times { // a record is deleted when all it stands for is
			gone := false
			for _, d := range s.deleted {
				gone = gone || d.covers(t, trackWidth[track])
			}
			if !gone {
				appendRollup(kept, one(all, i))
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
	var fine, coarse []rolled
	for i := range s.numbers {
		one := &s.numbers[i]
		part := rolled{&encoding.Rollup{}, trackWidth[trackMinute], one.record.minTime, one.record.maxTime}
		if one.record.lengths[trackRaw] > 0 {
			it := newIterator(s.numbers[i:i+1], minTime, maxTime, decodeNumbers, newestNumber)
			for times, values, ok := it.NextBatch(); ok; times, values, ok = it.NextBatch() {
				appendRollup(part.Rollup, rollup(times, values, trackWidth[trackMinute]))
			}
			if err := it.Err(); err != nil {
				return nil, err
			}
			fine = append(fine, part)
			continue
		}
		var err error
		if part.Rollup, err = one.readRollups(trackMinute); err != nil {
			return nil, one.noted(err)
		}
		fine = append(fine, part)
		if one.record.lengths[trackMinute] > 0 { // that all of them are deleted does not make the hours what is left
			continue
		}
		part.width = trackWidth[trackHour]
		if part.Rollup, err = one.readRollups(trackHour); err != nil {
			return nil, one.noted(err)
		}
		coarse = append(coarse, part)
	}
	from, to := int64(math.MaxInt64), int64(math.MinInt64) // of what there are minutes of
	for _, part := range fine {
		if len(part.Times) > 0 {
			from, to = min(from, part.from), max(to, part.to)
		}
	}
	minutes := byTime(fine)
	coarse = append(coarse, rolled{coarser(minutes, trackWidth[trackHour]), trackWidth[trackHour], from, to})
	hours := byTime(coarse)
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
