package fast

// What depends on whether there is something, and not on what: of histograms the times are read and no bins.

import (
	"context"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"cistern/services/store/tsdb"
)

// present says whether a function has a result of a histogram wherever there is one in its range.
func (n *node) present() bool {
	switch n.function {
	case latest, lastOver, rate, increase, sumOver:
		return true
	}
	return false
}

// presence fills the scratch's row with 1 where the function has a result of a series of histograms, or with how many there are.
func (r *run) presence(n *node, s *tsdb.Series, from, to int64, memory *scratch) (bool, error) {
	m := &memory.numbers
	m.Times, m.Values = m.Times[:0], m.Values[:0]
	if n.function == rate || n.function == increase {
		s = s.Within(n.window)
	}
	it := s.HistogramTimes(from, to)
	for times, _, ok := it.NextBatch(); ok; times, _, ok = it.NextBatch() {
		m.Times = append(m.Times, times...)
		for range times {
			m.Values = append(m.Values, 1)
		}
		if len(m.Times) > maxRead {
			return false, errUnfit
		}
		if r.ended() {
			return false, context.Cause(r.ctx)
		}
	}
	if err := it.Err(); err != nil {
		return false, err
	}
	r.read.Add(int64(len(m.Times)))
	if err := r.ready(memory); err != nil {
		return false, err
	}
	memory.times, memory.values, memory.ended = m.Times, m.Values, r.ended
	as, within := *n, n.window
	switch n.function {
	case countOver:
		found := as.evaluate(r.at, r.lookback, memory)
		if r.ended() {
			return false, context.Cause(r.ctx)
		}
		return found, nil
	case latest:
		within = r.lookback
	}
	as.function = latest
	return as.evaluate(r.at, within, memory), nil
}

// absenceOf is the node of absent, or nil.
func absenceOf(e *parser.Call) *node {
	argument := unwrapped(e.Args[0])
	n := &node{absent: true}
	if v, ok := argument.(*parser.VectorSelector); ok {
		n.inner = selector(argument)
		n.labels = demanded(v.LabelMatchers)
	} else {
		n.inner = nodeOf(argument)
	}
	if n.inner == nil {
		return nil
	}
	return n
}

// demanded are the labels that absent's result has: those that the selector wants to be equal to one value.
func demanded(matchers []*labels.Matcher) labels.Labels {
	b := labels.NewBuilder(labels.EmptyLabels())
	seen := map[string]bool{}
	for _, m := range matchers {
		switch {
		case m.Name == tsdb.NameLabel:
		case m.Type == labels.MatchEqual && !seen[m.Name]:
			b.Set(m.Name, m.Value)
			seen[m.Name] = true
		default:
			b.Del(m.Name)
		}
	}
	return b.Labels()
}

// absence is 1 at the steps at which inner has nothing.
func (r *run) absence(n *node) ([]row, error) {
	group := &node{inner: n.inner, op: parser.GROUP}
	rows, err := r.evaluate(group)
	if err != nil {
		return nil, err
	}
	if err := r.hold(rowBytes*int64(r.at.n)+rowSize, "results of absent"); err != nil {
		return nil, err
	}
	one := row{labels: n.labels, values: make([]float64, r.at.n)}
	for i := range one.values {
		one.values[i] = 1
		if len(rows) > 0 && !isAbsent(rows[0].values[i]) {
			one.values[i] = absent
		}
	}
	if one.empty() {
		return nil, nil
	}
	return []row{one}, nil
}
