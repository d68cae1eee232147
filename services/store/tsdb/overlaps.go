package tsdb

// Several blocks that have a part each of what a rollup's record stands for: which of a series' places must be read as one, and
// how their records become one.

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"cistern/services/store/tsdb/encoding"
)

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

// joined is several places as one, oldest first.
func joined(places []*source[float64], kind Kind, aggregate Aggregate) source[float64] {
	all := source[float64]{minTime: math.MaxInt64, maxTime: math.MinInt64}
	for _, one := range places {
		all.minTime, all.maxTime = min(all.minTime, one.minTime), max(all.maxTime, one.maxTime)
	}
	if aggregate == Growth {
		all.minTime--
	}
	all.read = func() ([]frame, batch[float64], error) {
		var parts []rolled
		for _, one := range places {
			part := rolled{&encoding.Rollup{}, 1, one.minTime, one.maxTime}
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
				continue // it is left out, and was logged
			}
			parts = append(parts, part)
		}
		var b batch[float64]
		standIn(byTime(parts), kind, aggregate, &b)
		return nil, b, nil
	}
	return all
}

// rolled is records, how long each stands for, and from when to when their samples were. Samples themselves stand for a
// millisecond.
type rolled struct {
	*encoding.Rollup
	width    int64
	from, to int64
}

// byTime puts records in order. Those of the same time become one, and what lies in a longer one of another part, whose samples
// it lies among, is added to that: a counter would seem to begin again where a later sample stands for the hour before it.
//
// Last is that of the part that came later, and where both parts' samples lie among each other the greater one: of a counter,
// for which alone it matters, that is the later one. Of two samples of the same time the one in the later part is there.
func byTime(parts []rolled) *encoding.Rollup {
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
	r := &encoding.Rollup{}
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

// joinedNatives is several places, rollups among them, as one, oldest first. What lies in a record of another place is added to
// that, or, of running totals, is in it already.
func joinedNatives(places []*source[*nativeHistogram]) source[*nativeHistogram] {
	all := source[*nativeHistogram]{minTime: math.MaxInt64, maxTime: math.MinInt64}
	for _, one := range places {
		all.minTime, all.maxTime = min(all.minTime, one.minTime), max(all.maxTime, one.maxTime)
	}
	all.read = func() ([]frame, batch[*nativeHistogram], error) {
		type record struct {
			place int
			time  int64
			h     *nativeHistogram
		}
		var list []record
		for k, one := range places {
			it := newIterator([]source[*nativeHistogram]{*one}, math.MinInt64, math.MaxInt64, decodeNatives, newestNative)
			for it.Next() {
				t, h := it.At()
				list = append(list, record{k, t, h})
			}
			if err := it.Err(); err != nil {
				return nil, batch[*nativeHistogram]{}, err
			}
		}
		width := func(r record) int64 { return max(1, places[r.place].width) }
		slices.SortStableFunc(list, func(a, b record) int {
			return cmp.Or(cmp.Compare(a.time, b.time), cmp.Compare(width(b), width(a)))
		})
		var b batch[*nativeHistogram]
		var last record
		for _, one := range list {
			n := len(b.times) - 1
			among := n >= 0 && one.place != last.place && width(one) < width(last) && one.time < last.time+width(last) && one.time <= places[last.place].maxTime
			if n < 0 || one.time != last.time && !among {
				b.times, b.values, last = append(b.times, one.time), append(b.values, one.h), one
				continue
			}
			switch was := b.values[n]; {
			case width(last) > 1 && one.h.CounterResetHint == gaugeHint && was.CounterResetHint == gaugeHint:
				if sum, _, _, err := was.Copy().Add(one.h); err == nil {
					b.values[n] = sum
				}
			case width(last) > 1 && !(one.h.Count > was.Count): // a running total that had grown further
			default:
				b.values[n] = one.h
			}
		}
		return nil, b, nil
	}
	return all
}
