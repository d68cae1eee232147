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

func pick[V any](list []source[V], which []int) []*source[V] {
	var places []*source[V]
	for _, i := range which {
		places = append(places, &list[i])
	}
	return places
}

// overlapping is which places must be read as one, oldest first: rollups that overlap, and samples that lie among them. A block
// that ends within a minute or an hour has a part of what its last record stands for, and what came late has one too. It is
// nil when there are no rollups.
func overlapping[V any](list []source[V]) [][]int {
	var let []int // the places of which the samples were let go
	for i := range list {
		if list[i].rolledUp() {
			let = append(let, i)
		}
	}
	if len(let) == 0 {
		return nil
	}
	slices.SortStableFunc(let, func(a, b int) int { return cmp.Compare(list[a].minTime, list[b].minTime) })
	type group struct {
		from, to int64
		places   []int
	}
	var groups []group
	for _, i := range let {
		from, to := list[i].minTime, list[i].maxTime
		if n := len(groups) - 1; n >= 0 && from <= groups[n].to {
			groups[n].to, groups[n].places = max(groups[n].to, to), append(groups[n].places, i)
		} else {
			groups = append(groups, group{from, to, []int{i}})
		}
	}
	var alone [][]int
	for i := range list {
		one := &list[i]
		if one.rolledUp() {
			continue
		}
		among := -1 // the group it lies among; others that it lies among as well become part of that
		kept := groups[:0]
		for _, g := range groups {
			switch {
			case one.maxTime < g.from || one.minTime > g.to:
				kept = append(kept, g)
			case among < 0:
				among = len(kept)
				g.places = append(g.places, i)
				kept = append(kept, g)
			default:
				kept[among].to, kept[among].places = g.to, append(kept[among].places, g.places...)
			}
		}
		if groups = kept; among < 0 {
			alone = append(alone, []int{i})
		}
	}
	for _, g := range groups {
		slices.Sort(g.places)
		alone = append(alone, g.places)
	}
	slices.SortFunc(alone, func(a, b []int) int { return a[len(a)-1] - b[len(b)-1] })
	return alone
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
		one.load = func() ([]frame, batch[V], error) {
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

// joined is several places as one, oldest first.
func joined(places []*source[float64], kind Kind, aggregate Aggregate) source[float64] {
	all := source[float64]{minTime: math.MaxInt64, maxTime: math.MinInt64}
	for _, one := range places {
		all.minTime, all.maxTime = min(all.minTime, one.minTime), max(all.maxTime, one.maxTime)
	}
	if aggregate == Growth {
		all.minTime--
	}
	all.load = func() ([]frame, batch[float64], error) {
		var parts []rolled
		for _, one := range places {
			part := rolled{&column.Rollup{}, 1, one.minTime, one.maxTime}
			var err error
			if one.rolledUp() {
				part.width, part.from = one.width, one.record.minTime
				part.Rollup, err = one.readRollups(one.record.finest())
			} else {
				it := newIterator([]source[float64]{*one}, math.MinInt64, math.MaxInt64, decodeNumbers, newestNumber)
				for times, values, ok := it.NextBatch(); ok; times, values, ok = it.NextBatch() {
					appendRollup(part.Rollup, rollup(times, values, 1))
				}
				err = it.Err()
			}
			if err != nil {
				if err = one.noted(err); one.damage == nil || !errors.Is(err, errDamaged) && !errors.Is(err, errFrame) {
					return nil, batch[float64]{}, err
				}
				continue // it is left out, and was told
			}
			parts = append(parts, part)
		}
		var b batch[float64]
		standIn(byTime(parts), kind, aggregate, &b)
		return nil, b, nil
	}
	return all
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

// rolled is records, how long each stands for, and from when to when their samples were. Samples themselves stand for a
// millisecond.
type rolled struct {
	*column.Rollup
	width    int64
	from, to int64
}

// byTime puts records in order. Those of the same time become one, and what lies in a longer one of another part, whose samples
// it lies among, is added to that: a counter would seem to begin again where a later sample stands for the hour before it.
//
// Last is that of the part that came later, and where both parts' samples lie among each other the greater one: of a counter,
// for which alone it matters, that is the later one. Of two samples of the same time the one in the later part is there.
func byTime(parts []rolled) *column.Rollup {
	type place struct{ part, record int }
	var order []place
	for k := range parts {
		for i := range parts[k].Times {
			order = append(order, place{k, i})
		}
	}
	slices.SortStableFunc(order, func(a, b place) int {
		p, q := &parts[a.part], &parts[b.part]
		return cmp.Or(cmp.Compare(p.Times[a.record], q.Times[b.record]), cmp.Compare(q.width, p.width), cmp.Compare(p.from, q.from))
	})
	r := &column.Rollup{}
	// Of the last record: whose it is, how long it stands for, from when to when its samples were.
	part, width, from, to := 0, int64(0), int64(0), int64(0)
	for _, at := range order {
		p, i := &parts[at.part], at.record
		n := len(r.Times) - 1
		t := p.Times[i]
		switch {
		case n < 0 || r.Times[n] != t && !(at.part != part && p.width < width && t < r.Times[n]+width && t <= to):
			appendRollup(r, one(p.Rollup, i))
			part, width, from, to = at.part, p.width, p.from, p.to
			continue
		case width == 1 && p.width == 1:
			if at.part > part {
				r.Min[n], r.Max[n], r.Sum[n], r.Last[n], r.Count[n] = p.Min[i], p.Max[i], p.Sum[i], p.Last[i], p.Count[i]
				part, from, to = at.part, p.from, p.to
			}
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
			if at.part == part || p.from > to || p.to >= from && p.Last[i] > r.Last[n] {
				r.Last[n] = p.Last[i]
			}
		}
		r.Sum[n] += p.Sum[i]
		r.Count[n] += p.Count[i]
		from, to = min(from, p.from), max(to, p.to)
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
		part := rolled{&column.Rollup{}, trackWidth[trackMinute], one.record.minTime, one.record.maxTime}
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
