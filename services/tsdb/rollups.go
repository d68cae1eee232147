package tsdb

// Numbers whose samples were let go: their rollups stand in for them.

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"cistern/services/column"

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
func standIn(r *column.Rollup, kind Kind, aggregate Aggregate, into *batch[float64]) {
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

// numbersAs is where a series' numbers are, for what stands in for them. Of rollups of several blocks that overlap it makes
// one place: a block that ends within a minute or an hour has a part of what its last record stands for, and what came late
// has one too.
func (s *Series) numbersAs(aggregate Aggregate) []source[float64] {
	let := 0 // of how many places the samples were let go
	for i := range s.numbers {
		if s.numbers[i].rolledUp() {
			let++
		}
	}
	if let == 0 && aggregate != Count {
		return s.numbers
	}
	list, rolled := make([]source[float64], 0, len(s.numbers)), make([]*source[float64], 0, let)
	for i := range s.numbers {
		one := &s.numbers[i]
		if one.rolledUp() {
			rolled = append(rolled, one)
			continue
		}
		list = append(list, *one)
		if load := one.load; aggregate == Count {
			list[len(list)-1].load = func() ([]frame, batch[float64], error) {
				frames, samples, err := load()
				samples.values = slices.Clone(samples.values) // they may be shared
				count(samples.values)
				return frames, samples, err
			}
		}
	}
	slices.SortStableFunc(rolled, func(a, b *source[float64]) int { return cmp.Compare(a.minTime, b.minTime) })
	for len(rolled) > 0 {
		n, end := 1, rolled[0].maxTime
		for n < len(rolled) && rolled[n].minTime <= end {
			end = max(end, rolled[n].maxTime)
			n++
		}
		one := *rolled[0]
		if n > 1 {
			one = joined(slices.Clone(rolled[:n]), s.Kind, aggregate)
			one.maxTime = end
		}
		if aggregate == Growth {
			one.minTime--
		}
		list, rolled = append(list, one), rolled[n:]
	}
	return list
}

// combineRecords is a record and what else stands at its time: what came late, and is in a block of its own.
func combineRecords(aggregate Aggregate) func(newest, other float64) float64 {
	var both func(a, b float64) float64
	switch aggregate {
	case Minimum:
		both = func(a, b float64) float64 { return min(a, b) }
	case Maximum:
		both = func(a, b float64) float64 { return max(a, b) }
	case Sum, Count:
		both = func(a, b float64) float64 { return a + b }
	default:
		return newestNumber
	}
	return func(newest, other float64) float64 {
		switch {
		case newest != newest:
			return other
		case other != other:
			return newest
		}
		return both(newest, other)
	}
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

// joined is several places' rollups as one place.
func joined(places []*source[float64], kind Kind, aggregate Aggregate) source[float64] {
	return source[float64]{minTime: places[0].minTime, width: places[0].width, load: func() ([]frame, batch[float64], error) {
		var parts []rolled
		for _, one := range places {
			r, err := one.readRollups(one.record.finest())
			if err != nil {
				if err = one.noted(err); one.damage == nil || !errors.Is(err, errDamaged) && !errors.Is(err, errFrame) {
					return nil, batch[float64]{}, err
				}
				continue // it is left out, and was told
			}
			parts = append(parts, rolled{r, one.record.minTime, one.record.maxTime})
		}
		var b batch[float64]
		standIn(byTime(parts), kind, aggregate, &b)
		return nil, b, nil
	}}
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

// one is a single record.
func one(r *column.Rollup, i int) *column.Rollup {
	return &column.Rollup{Times: r.Times[i : i+1], Min: r.Min[i : i+1], Max: r.Max[i : i+1], Sum: r.Sum[i : i+1], Last: r.Last[i : i+1], Count: r.Count[i : i+1]}
}

// appendRollup puts b's records behind a's.
func appendRollup(a, b *column.Rollup) {
	a.Times, a.Count = append(a.Times, b.Times...), append(a.Count, b.Count...)
	a.Min, a.Max = append(a.Min, b.Min...), append(a.Max, b.Max...)
	a.Sum, a.Last = append(a.Sum, b.Sum...), append(a.Last, b.Last...)
}

// rolled is records, and from when to when their samples were.
type rolled struct {
	*column.Rollup
	from, to int64
}

// byTime puts records in order; those of the same time become one. Last is that of the part that came later, and where both
// parts' samples lie among each other the greater one: of a counter, for which alone it matters, that is the later one.
func byTime(parts []rolled) *column.Rollup {
	type place struct{ part, record int }
	slices.SortStableFunc(parts, func(a, b rolled) int { return cmp.Compare(a.from, b.from) })
	var order []place
	for k := range parts {
		for i := range parts[k].Times {
			order = append(order, place{k, i})
		}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		return cmp.Compare(parts[a.part].Times[a.record], parts[b.part].Times[b.record])
	})
	r := &column.Rollup{}
	part, to := 0, int64(0) // of the last record: whose it is, and until when its samples were
	for _, at := range order {
		p, i := parts[at.part], at.record
		n := len(r.Times) - 1
		switch {
		case n < 0 || r.Times[n] != p.Times[i]:
			appendRollup(r, one(p.Rollup, i))
			part, to = at.part, p.to
			continue
		case p.Count[i] == 0:
			if r.Count[n] == 0 {
				r.Last[n] = p.Last[i]
			}
			continue
		case r.Count[n] == 0:
			r.Min[n], r.Max[n], r.Last[n] = p.Min[i], p.Max[i], p.Last[i]
		default:
			r.Min[n], r.Max[n] = min(r.Min[n], p.Min[i]), max(r.Max[n], p.Max[i])
			if at.part == part || p.from > to || p.Last[i] > r.Last[n] {
				r.Last[n] = p.Last[i]
			}
		}
		r.Sum[n] += p.Sum[i]
		r.Count[n] += p.Count[i]
		part, to = at.part, max(to, p.to)
	}
	return r
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
		part := rolled{&column.Rollup{}, one.record.minTime, one.record.maxTime}
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
	coarse = append(coarse, rolled{coarser(minutes, trackWidth[trackHour]), from, to})
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
