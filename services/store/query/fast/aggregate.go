package fast

// Aggregations: groups, their running totals, and totals of whole leaves.

import (
	"context"
	"math"
	"runtime"
	"slices"

	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/kahansum"
)

// groups finds which group each series belongs to.
func (n *node) groups(sets []labels.Labels) (of []int, members [][]int) {
	of = make([]int, len(sets))
	if !n.without && len(n.grouping) == 0 {
		all := make([]int, len(sets))
		for i := range all {
			all[i] = i
		}
		if len(all) == 0 {
			return of, nil
		}
		return of, [][]int{all}
	}
	known := map[uint64]int{}
	var buffer []byte
	var sizes []int
	for i, set := range sets {
		var hash uint64
		if n.without {
			hash, buffer = set.HashWithoutLabels(buffer, n.grouping...)
		} else {
			hash, buffer = set.HashForLabels(buffer, n.grouping...)
		}
		g, ok := known[hash]
		if !ok {
			g = len(sizes)
			known[hash] = g
			sizes = append(sizes, 0)
		}
		of[i] = g
		sizes[g]++
	}
	// All members in one piece of memory: there may be as many groups as series.
	members, all := make([][]int, len(sizes)), make([]int, len(sets))
	for g, size := range sizes {
		members[g], all = all[:0:size], all[size:]
	}
	for i, g := range of {
		members[g] = append(members[g], i)
	}
	return of, members
}

// groupLabels is what a group of series is called, by the labels of one; b is used again for each.
func (n *node) groupLabels(set labels.Labels, b *labels.ScratchBuilder) labels.Labels {
	if n.without {
		return labels.NewBuilder(set).Del(n.grouping...).Del(tsdb.NameLabel).Labels()
	}
	b.Reset()
	for i, name := range n.grouping { // which are in order
		if value := set.Get(name); value != "" && (i == 0 || name != n.grouping[i-1]) {
			b.Add(name, value)
		}
	}
	return b.Labels()
}

// total is an aggregation while it is made.
type total struct {
	op     parser.ItemType
	values []float64 // absent where nothing came
	lost   []float64 // what the sums lost by rounding
	count  []float64
	first  int // the first member that had anything; -1 none
}

// newTotal is a total that is charged.
func (r *run) newTotal(op parser.ItemType) (*total, error) {
	lists := int64(1)
	switch op {
	case parser.SUM:
		lists = 2
	case parser.AVG:
		lists = 3
	}
	if err := r.hold(lists*rowBytes*int64(r.at.n)+rowSize, "results of the groups"); err != nil {
		return nil, err
	}
	return newTotal(op, r.at.n), nil
}

// besides is what a total takes beside its values.
func (t *total) besides() int64 {
	if t == nil {
		return 0
	}
	return rowBytes * int64(len(t.lost)+len(t.count))
}

func newTotal(op parser.ItemType, n int) *total {
	t := &total{op: op, values: make([]float64, n), first: -1}
	for i := range t.values {
		t.values[i] = absent
	}
	if op == parser.SUM || op == parser.AVG {
		t.lost = make([]float64, n)
	}
	if op == parser.AVG {
		t.count = make([]float64, n)
	}
	return t
}

func (t *total) add(row []float64) {
	values := t.values[:len(row)]
	switch t.op {
	case parser.SUM:
		lost := t.lost[:len(row)]
		for i, v := range row {
			if isAbsent(v) {
				continue
			}
			if isAbsent(values[i]) {
				values[i] = v
				continue
			}
			sum := values[i]
			more := sum + v
			if more-more != 0 { // no number, or too large
				values[i], lost[i] = kahansum.Inc(v, sum, lost[i])
				continue
			}
			// What rounding lost, exactly, as kahansum has it, without asking which is the greater (D. Knuth, The Art of
			// Computer Programming 2, 4.2.2).
			part := more - sum
			lost[i] += (sum - (more - part)) + (v - part)
			values[i] = more
		}
	case parser.AVG:
		for i, v := range row {
			if isAbsent(v) {
				continue
			}
			if t.count[i]++; t.count[i] == 1 {
				values[i] = v
				continue
			}
			values[i], t.lost[i] = kahansum.Inc(v, values[i], t.lost[i])
		}
	case parser.MIN:
		for i, v := range row {
			if !isAbsent(v) && (isAbsent(values[i]) || v < values[i] || values[i] != values[i]) {
				values[i] = v
			}
		}
	case parser.MAX:
		for i, v := range row {
			if !isAbsent(v) && (isAbsent(values[i]) || v > values[i] || values[i] != values[i]) {
				values[i] = v
			}
		}
	case parser.COUNT:
		for i, v := range row {
			switch {
			case isAbsent(v):
			case isAbsent(values[i]):
				values[i] = 1
			default:
				values[i]++
			}
		}
	default: // group
		for i, v := range row {
			if !isAbsent(v) {
				values[i] = 1
			}
		}
	}
}

// merge adds another part of the same group.
func (t *total) merge(o *total) {
	if t.first < 0 || o.first >= 0 && o.first < t.first {
		t.first = o.first
	}
	for i, v := range o.values {
		if isAbsent(v) {
			continue
		}
		if isAbsent(t.values[i]) {
			t.values[i] = v
			if t.lost != nil {
				t.lost[i] = o.lost[i]
			}
			if t.count != nil {
				t.count[i] = o.count[i]
			}
			continue
		}
		switch t.op {
		case parser.SUM, parser.AVG:
			t.values[i], t.lost[i] = kahansum.Inc(v, t.values[i], t.lost[i])
			t.lost[i] += o.lost[i]
			if t.count != nil {
				t.count[i] += o.count[i]
			}
		case parser.COUNT:
			t.values[i] += v
		default:
			one := o.values[i : i+1]
			(&total{op: t.op, values: t.values[i : i+1]}).add(one)
		}
	}
}

// result is the finished row; false when the engine must do it, because a sum was too large.
func (t *total) result() ([]float64, bool) {
	for i, v := range t.values {
		if isAbsent(v) {
			continue
		}
		switch t.op {
		case parser.SUM:
			t.values[i] = v + t.lost[i]
		case parser.AVG:
			if math.IsInf(v, 0) && t.count[i] > 1 {
				return nil, false
			}
			t.values[i] = v/t.count[i] + t.lost[i]/t.count[i]
		}
	}
	return t.values, true
}

// part is some members of a group, aggregated by one goroutine.
type part struct {
	group   int
	members []int
	total   *total
}

// aggregateLeaf aggregates a leaf's rows as they come.
func (r *run) aggregateLeaf(n *node) ([]row, error) {
	leaf := n.inner
	if leaf.keepsName() && slices.ContainsFunc(leaf.then, operation.dropsName) {
		return nil, errUnfit // without their names two may be the same
	}
	s, err := r.membersOf(n)
	if err != nil {
		return nil, err
	}
	defer s.release()
	numbers, histograms, err := kinds(s.series)
	if err != nil {
		return nil, err
	}
	_, members := n.groups(s.labels)
	if histograms && leaf.function != countOver {
		switch {
		case len(leaf.then) > 0:
			return nil, errUnfit
		case (n.op == parser.COUNT || n.op == parser.GROUP) && leaf.present():
			// Whether there is something is all that is asked.
		case n.op != parser.SUM || len(n.then) > 0:
			return nil, errUnfit
		case numbers:
			return r.sumMixed(n, s, members)
		default:
			return r.sumHistograms(n, s, members)
		}
	}
	totals, err := r.totals(n, s, members)
	if err != nil {
		return nil, err
	}
	return r.rows(n, totals, func(k int) labels.Labels { return s.labels[k] })
}

// membersOf is the series of an aggregation's leaf. How many there are of very many names is often asked: the one group that they make has
// no labels, so that they need none either.
func (r *run) membersOf(n *node) (*selected, error) {
	if n.op != parser.COUNT && n.op != parser.GROUP || n.without || len(n.grouping) > 0 || !n.inner.keepsName() {
		return r.choose(n.inner, 0)
	}
	s, err := r.find(n.inner, 0, false)
	if err == nil {
		s.labels = make([]labels.Labels, len(s.series))
	}
	return s, err
}

// totals aggregates the members of each group: large groups in parts, small ones whole.
func (r *run) totals(n *node, s *selected, members [][]int) ([]*total, error) {
	leaf := n.inner
	pieces := 1
	if workers := runtime.GOMAXPROCS(0); len(members) > 0 && len(members) < 2*workers {
		pieces = (2*workers + len(members) - 1) / len(members)
	}
	parts := make([]part, 0, len(members)*pieces)
	for g, list := range members {
		size := max(8, (len(list)+pieces-1)/pieces)
		for chunk := range slices.Chunk(list, size) {
			parts = append(parts, part{group: g, members: chunk})
		}
	}
	err := r.parallel(len(parts), func(i int, memory *scratch) error {
		p := &parts[i]
		t, err := r.newTotal(n.op)
		if err != nil {
			return err
		}
		p.total = t
		for _, k := range p.members {
			if err := r.ctx.Err(); err != nil {
				return context.Cause(r.ctx)
			}
			found, err := r.compute(leaf, s.series[k], s.from, s.to, memory)
			if err != nil {
				return err
			}
			if found {
				if p.total.first < 0 {
					p.total.first = k
				}
				p.total.add(memory.row)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	totals := make([]*total, len(members))
	for _, p := range parts {
		if totals[p.group] == nil {
			totals[p.group] = p.total
		} else {
			totals[p.group].merge(p.total)
			r.let(p.total.besides() + rowBytes*int64(r.at.n))
		}
	}
	return totals, nil
}

// aggregateRows aggregates what was evaluated before.
func (r *run) aggregateRows(n *node, rows []row) ([]row, error) {
	sets := make([]labels.Labels, len(rows))
	for i := range rows {
		if rows[i].hists != nil {
			return nil, errUnfit
		}
		sets[i] = rows[i].labels
	}
	_, members := n.groups(sets)
	var totals []*total
	for _, list := range members {
		t, err := r.newTotal(n.op)
		if err != nil {
			return nil, err
		}
		t.first = list[0]
		for _, k := range list {
			t.add(rows[k].values)
		}
		totals = append(totals, t)
	}
	return r.rows(n, totals, func(k int) labels.Labels { return sets[k] })
}
