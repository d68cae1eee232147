package tracer

// Rows are how counters and the log tell what there was: each has a value for every breakdown of its statistic. From
// them any dataset of the statistic is made, with whatever filters and breakdown.

import (
	"fmt"
	"math"
	"strings"

	"cistern/services/histogram"
	"cistern/services/trace/statistics"
)

// row is one of them.
type row struct {
	// at are the values by which it can be narrowed and split, in the order of the statistic's breakdowns; "" has none.
	at []string
	// number are those of distributions, in the same order, in the unit of the breakdown.
	number []float64
	value  float64
}

func (r *row) id() string {
	id := strings.Join(r.at, "\x00")
	for _, n := range r.number {
		id += fmt.Sprintf("\x00%x", math.Float64bits(n))
	}
	return id
}

// deltas turns running totals into what was added since it was last asked. The first time nothing is. A total that is
// less than before was reset: nothing was added.
type deltas struct{ last map[string]float64 }

func (d *deltas) of(rows []row) []row {
	now := make(map[string]float64, len(rows))
	added := rows[:0:0]
	for _, r := range rows {
		id := r.id()
		before := d.last[id]
		now[id] += r.value
		if r.value > before && d.last != nil {
			r.value -= before
			added = append(added, r)
		}
	}
	d.last = now
	return added
}

// aggregate makes a dataset's second of the rows of its statistic.
func aggregate(d *statistics.Dataset, rows []row) second {
	s := second{}
	index := func(name string) int {
		for i := range d.Statistic.Breakdowns {
			if d.Statistic.Breakdowns[i].Name == name {
				return i
			}
		}
		return -1
	}
	type condition struct {
		at    int
		value string
	}
	var conditions []condition
	for _, f := range d.Filters {
		conditions = append(conditions, condition{index(f.Name), f.Value})
	}
	by, entity := -1, -1
	if d.By != nil {
		by = index(d.By.Name)
		if !d.By.Distribution {
			s.values = map[string]float64{}
		}
	}
	if d.Statistic.Average != "" {
		entity = index(d.Statistic.Average)
	}
	entities := map[string]bool{}
next:
	for i := range rows {
		r := &rows[i]
		for _, c := range conditions {
			if r.at[c.at] != c.value {
				continue next
			}
		}
		if entity >= 0 {
			entities[r.at[entity]] = true
		}
		switch {
		case by < 0:
		case d.By.Distribution:
			if by >= len(r.number) || math.IsNaN(r.number[by]) {
				continue
			}
			bin, ok := histogram.BinOf(r.number[by])
			if !ok {
				continue
			}
			if s.bins == nil {
				s.bins = map[histogram.Bin]int64{}
			}
			n := int64(1)
			if d.Statistic.Kind == statistics.Amount { // bytes by latency are as many as there were bytes
				n = int64(r.value)
			}
			s.bins[bin] += n
			s.total += float64(n)
			continue
		default:
			s.values[r.at[by]] += r.value
		}
		s.total += r.value
	}
	if n := float64(len(entities)); n > 1 && (d.By == nil || !d.By.Distribution) {
		s.total /= n
		if by != entity {
			for value := range s.values {
				s.values[value] /= n
			}
		}
	}
	return s
}

// parts divides what was added in n seconds evenly among them, for when a reading came late.
func parts(s second, n int) []second {
	if n <= 1 {
		return []second{s}
	}
	list := make([]second, n)
	for i := range list {
		list[i] = second{total: s.total / float64(n), values: map[string]float64{}}
		for value, amount := range s.values {
			list[i].values[value] = amount / float64(n)
		}
	}
	list[n-1].bins = s.bins // whole events: they are where they were seen
	if s.bins != nil {
		for i := range list {
			list[i].total = 0
		}
		list[n-1].total = s.total
	}
	return list
}
