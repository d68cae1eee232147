package fast

// count_values: how many series have each value. The engine makes room for all points of each value that there is at any time;
// here that is charged when a value is seen for the first time.

import (
	"context"
	"errors"
	"math"
	"slices"
	"strconv"

	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// countingValues is the node of count_values, or nil.
func countingValues(e *parser.AggregateExpr) *node {
	label, ok := e.Param.(*parser.StringLiteral)
	if !ok || !model.UTF8Validation.IsValidLabelName(label.Val) || e.Without && slices.Contains(e.Grouping, label.Val) {
		return nil
	}
	argument := unwrapped(e.Expr)
	inner := nodeOf(argument)
	if inner == nil {
		if inner = selector(argument); inner == nil {
			inner = &node{rest: argument}
		}
	}
	n := &node{inner: inner, op: e.Op, label: label.Val, grouping: slices.Clone(e.Grouping), without: e.Without, position: argument.PositionRange()}
	slices.Sort(n.grouping)
	return n
}

// counted is one value of a group: at which steps how many series have it.
type counted struct {
	labels labels.Labels
	points []countedPoint
}

type countedPoint struct {
	step  int32
	count int32
}

const countedBytes = 8 * 9 / 4 // of a point in a list that grows

// countValues counts the series that have each value, group by group.
func (r *run) countValues(n *node) ([]counted, error) {
	rows, err := r.evaluate(n.inner)
	if err != nil {
		return nil, err
	}
	sets := make([]labels.Labels, len(rows))
	for i := range rows {
		if rows[i].hists != nil {
			return nil, errUnfit
		}
		// The label takes the place of one of the same name.
		sets[i] = labels.NewBuilder(rows[i].labels).Del(n.label).Labels()
	}
	of, members := n.groups(sets)
	type key struct {
		group int
		bits  uint64
	}
	known := map[key]int{}
	var all []counted
	pending := int64(0)
	for i := range r.at.n {
		if r.ended() {
			return nil, context.Cause(r.ctx)
		}
		for k := range rows {
			v := rows[k].values[i]
			if isAbsent(v) {
				continue
			}
			id := key{of[k], math.Float64bits(v)}
			if v != v { // all are written alike
				id.bits = math.Float64bits(math.NaN())
			}
			at, ok := known[id]
			if !ok {
				text := strconv.FormatFloat(v, 'f', -1, 64)
				first := n.groupLabels(sets[members[of[k]][0]], &labels.ScratchBuilder{})
				pending += rowSize + int64(first.ByteSize()) + int64(len(text)+len(n.label))
				at = len(all)
				known[id] = at
				all = append(all, counted{labels: labels.NewBuilder(first).Set(n.label, text).Labels()})
			}
			one := &all[at]
			if last := len(one.points) - 1; last >= 0 && one.points[last].step == int32(i) {
				one.points[last].count++
				continue
			}
			one.points = append(one.points, countedPoint{int32(i), 1})
			if pending += countedBytes; pending > 1<<20 {
				if err := r.hold(pending, "series of count_values"); err != nil {
					return nil, err
				}
				pending = 0
			}
		}
	}
	return all, r.hold(pending, "series of count_values")
}

// countedRows is count_values as rows, for what follows.
func (r *run) countedRows(n *node) ([]row, error) {
	all, err := r.countValues(n)
	if err != nil {
		return nil, err
	}
	if err := r.hold(budget.Multiply(int64(len(all)), rowSize+rowBytes*int64(r.at.n)), "series of count_values"); err != nil {
		return nil, err
	}
	rows := make([]row, len(all))
	for i := range all {
		rows[i] = row{labels: all[i].labels, values: make([]float64, r.at.n)}
		for k := range rows[i].values {
			rows[i].values[k] = absent
		}
		for _, p := range all[i].points {
			rows[i].values[p.step] = float64(p.count)
		}
	}
	return rows, nil
}

// countedMatrix is count_values as an answer: most values are there at few steps.
func (r *run) countedMatrix(n *node) (promql.Matrix, error) {
	all, err := r.countValues(n)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b counted) int { return labels.Compare(a.labels, b.labels) })
	matrix := make(promql.Matrix, 0, len(all))
	for i := range all {
		one := &all[i]
		bytes := pointBytes*int64(len(one.points)) + seriesBytes
		if err := r.hold(bytes, "points of the answer"); err != nil {
			return nil, err
		}
		s := promql.Series{Metric: one.labels, Floats: make([]promql.FPoint, len(one.points))}
		for k, p := range one.points {
			s.Floats[k] = promql.FPoint{T: r.at.at(int(p.step)), F: float64(p.count)}
		}
		one.points = nil
		matrix = append(matrix, s)
	}
	return matrix, nil
}

// byEngine is the rows of what only the engine evaluates.
func (r *run) byEngine(expr parser.Expr) ([]row, error) {
	q := r.query
	q.Text = expr.String()
	text, err := r.engine.exactly(r.ctx, q, expr)
	if err != nil {
		return nil, err
	}
	answer, err := r.engine.engine(r.ctx, q, text, adapter.Queryable(r.store), "engine")
	if err != nil {
		var exceeded *budget.Exceeded
		var busy *budget.Busy
		if r.ended() || errors.As(err, &exceeded) || errors.As(err, &busy) {
			return nil, err
		}
		return nil, errUnfit // its words would be about an expression that nobody wrote
	}
	defer answer.Close()
	if len(answer.Notes) > 0 {
		return nil, errUnfit
	}
	var rows []row
	add := func(set labels.Labels, points []promql.FPoint, histograms bool) error {
		if histograms {
			return errUnfit
		}
		if err := r.hold(rowBytes*int64(r.at.n)+rowSize+int64(set.ByteSize()), "results of the engine"); err != nil {
			return err
		}
		one := row{labels: set, values: make([]float64, r.at.n)}
		for i := range one.values {
			one.values[i] = absent
		}
		for _, p := range points {
			one.values[(p.T-r.at.start)/r.at.step] = p.F
		}
		rows = append(rows, one)
		return nil
	}
	switch v := answer.Value.(type) {
	case promql.Matrix:
		for _, s := range v {
			if err := add(s.Metric, s.Floats, len(s.Histograms) > 0); err != nil {
				return nil, err
			}
		}
	case promql.Vector:
		for _, s := range v {
			if err := add(s.Metric, []promql.FPoint{{T: r.at.start, F: s.F}}, s.H != nil); err != nil {
				return nil, err
			}
		}
	default:
		return nil, errUnfit
	}
	return rows, nil
}
