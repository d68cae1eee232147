package fast

// topk and bottomk. Values that are equal come in the order in which the engine has them: by the same heap and the same sort.

import (
	"container/heap"
	"math"
	"slices"
	"sort"

	"cistern/services/store/query/adapter"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// topOf is the node of topk or bottomk, or nil.
func topOf(e *parser.AggregateExpr) *node {
	k, ok := constant(e.Param)
	if !ok || !(k >= 1 && k <= 1<<31) {
		return nil
	}
	inner := nodeOf(e.Expr)
	if inner == nil {
		inner = selector(e.Expr)
	}
	if inner == nil {
		return nil
	}
	n := &node{inner: inner, top: true, op: e.Op, param: k, grouping: slices.Clone(e.Grouping), without: e.Without, position: unwrapped(e.Expr).PositionRange()}
	slices.Sort(n.grouping)
	return n
}

// candidate is a value and whose it is.
type candidate struct {
	value float64
	of    int
}

// candidates is a heap with the one on top that is the first to go: of topk the least, of bottomk the greatest.
type candidates struct {
	list []candidate
	down bool // bottomk
}

func (c *candidates) Len() int      { return len(c.list) }
func (c *candidates) Swap(i, j int) { c.list[i], c.list[j] = c.list[j], c.list[i] }
func (c *candidates) Push(x any)    { c.list = append(c.list, x.(candidate)) }
func (c *candidates) Pop() any      { panic("nothing is taken from it") }

func (c *candidates) Less(i, j int) bool {
	a, b := c.list[i].value, c.list[j].value
	if a != a {
		return true
	}
	if c.down {
		return a > b
	}
	return a < b
}

// offer takes a value if it is among the k best so far.
func (c *candidates) offer(one candidate, k int) {
	switch {
	case len(c.list) < k:
		heap.Push(c, one)
	case !c.down && c.list[0].value < one.value, c.down && c.list[0].value > one.value, math.IsNaN(c.list[0].value) && !math.IsNaN(one.value):
		c.list[0] = one
		if k > 1 {
			heap.Fix(c, 0)
		}
	}
}

// best is those that stayed, the best first.
func (c *candidates) best() []candidate {
	if len(c.list) > 1 {
		sort.Sort(sort.Reverse(c))
	}
	return c.list
}

// topRows evaluates topk or bottomk.
func (r *run) topRows(n *node) ([]row, error) {
	if n.inner.inner == nil && len(n.inner.then) == 0 && n.inner.keepsName() && len(n.grouping) == 0 && !n.without && r.at.n == 1 {
		return r.topOfMany(n)
	}
	rows, err := r.evaluate(n.inner)
	if err != nil {
		return nil, err
	}
	sets := make([]labels.Labels, len(rows))
	for i := range rows {
		if rows[i].hists != nil {
			return nil, errUnfit
		}
		sets[i] = rows[i].labels
	}
	_, members := n.groups(sets)
	k := int(min(n.param, float64(len(rows))))
	var results []row
	kept := map[int]int{} // a row's place in results
	for _, list := range members {
		for step := range r.at.n {
			c := candidates{down: n.op == parser.BOTTOMK}
			for _, i := range list {
				if v := rows[i].values[step]; !isAbsent(v) {
					c.offer(candidate{v, i}, k)
				}
			}
			for _, one := range c.best() {
				at, known := kept[one.of]
				if !known {
					if err := r.hold(rowBytes*int64(r.at.n)+rowSize, "results of "+n.op.String()); err != nil {
						return nil, err
					}
					at = len(results)
					kept[one.of] = at
					values := make([]float64, r.at.n)
					for i := range values {
						values[i] = absent
					}
					results = append(results, row{labels: sets[one.of], values: values})
				}
				results[at].values[step] = one.value
			}
		}
	}
	return results, nil
}

// topOfMany is topRows for a single moment and all of a selector's series: labels are made for the best alone.
func (r *run) topOfMany(n *node) ([]row, error) {
	s, err := r.find(n.inner, 0, false)
	if err != nil {
		return nil, err
	}
	defer s.release()
	if _, histograms, err := kinds(s.series); err != nil || histograms {
		return nil, errUnfit
	}
	values := make([]float64, len(s.series))
	const stretch = 512
	err = r.parallel((len(values)+stretch-1)/stretch, func(i int, memory *scratch) error {
		for k := i * stretch; k < min((i+1)*stretch, len(values)); k++ {
			found, err := r.compute(n.inner, s.series[k], s.from, s.to, memory)
			if err != nil {
				return err
			}
			if values[k] = absent; found {
				values[k] = memory.row[0]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c := candidates{down: n.op == parser.BOTTOMK}
	k := int(min(n.param, float64(len(values))))
	for i, v := range values {
		if !isAbsent(v) {
			c.offer(candidate{v, i}, k)
		}
	}
	builder := labels.NewScratchBuilder(16)
	var rows []row
	for _, one := range c.best() {
		if err := r.hold(rowBytes+rowSize, "results of "+n.op.String()); err != nil {
			return nil, err
		}
		rows = append(rows, row{labels: adapter.Labels(&builder, s.series[one.of].Key), values: []float64{one.value}})
	}
	return rows, nil
}
