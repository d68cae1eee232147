// Package fast answers the expressions that dashboards and alerts ask most without going through Prometheus' engine
// point by point: functions over ranges, aggregations of them and of selectors, arithmetic with constants around them.
// Each series is read as columns of times and values and gives a row of results, one for each step; rows are added up
// as they come, on all processors. The rest of an expression is evaluated by the engine over those rows. The results
// are the engine's; tests/conformance compares them.
//
// For Cistern's histograms, which are what was measured in each second, rate and increase are exact: the merged
// histogram of the window, taken from the store's checkpoints, without extrapolation. Rewrite gives the engine the same
// meaning where it must evaluate such an expression itself.
package fast

import (
	"math"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/parser/posrange"
)

// function is what a leaf computes of the samples in a window.
type function uint8

const (
	latest function = iota // the plain selector: the newest sample within the look-back
	rate
	increase
	delta
	irate
	idelta
	sumOver
	avgOver
	minOver
	maxOver
	countOver
	lastOver
	quantileOver
)

var functions = map[string]function{
	"rate": rate, "increase": increase, "delta": delta, "irate": irate, "idelta": idelta,
	"sum_over_time": sumOver, "avg_over_time": avgOver, "min_over_time": minOver, "max_over_time": maxOver,
	"count_over_time": countOver, "last_over_time": lastOver,
}

var aggregations = map[parser.ItemType]bool{
	parser.SUM: true, parser.AVG: true, parser.MIN: true, parser.MAX: true, parser.COUNT: true, parser.GROUP: true,
}

// node is a part of an expression that is evaluated here: a leaf or an aggregation of one, and operations with
// constants on what comes out of it.
type node struct {
	// A leaf:
	matchers []*labels.Matcher
	function function
	name     string // the function's
	window   int64  // ms; 0 for latest
	offset   int64
	position posrange.PositionRange // of an aggregation: its argument's
	// An aggregation:
	inner    *node
	op       parser.ItemType
	grouping []string // ascending
	without  bool

	// A function of a subquery: what inner is at times of its own, every step ms; 0 for the engine's interval.
	subquery bool
	step     int64
	// The greatest or least ones of inner.
	top bool
	// param is of quantile_over_time, topk and bottomk.
	param float64
	// What the engine evaluates, so that count_values can count it.
	rest parser.Expr
	// The label that count_values makes.
	label string

	// absent is 1 where inner has nothing, with the labels that its selector demands.
	absent bool
	labels labels.Labels

	then []operation
}

type operation struct {
	op       parser.ItemType
	constant float64
	swapped  bool // the constant is on the left
	bool     bool
}

// dropsName says whether the operation takes the metric's name away.
func (o operation) dropsName() bool { return !o.op.IsComparisonOperator() || o.bool }

// isLeaf says whether the node is a selector or a function of one.
func (n *node) isLeaf() bool { return n.inner == nil && n.rest == nil }

// nodeOf is the node that evaluates all of e, or nil. The grouping of aggregations is put in order, as the engine does.
func nodeOf(e parser.Expr) *node {
	switch e := e.(type) {
	case *parser.ParenExpr:
		return nodeOf(e.Expr)
	case *parser.Call:
		if e.Func.Name == "absent" {
			return absenceOf(e)
		}
		f, known := functions[e.Func.Name]
		over, param := e.Args, 0.0
		if e.Func.Name == "quantile_over_time" && len(e.Args) == 2 {
			// What is no share has a warning.
			if param, known = constant(e.Args[0]); !known || !(param >= 0 && param <= 1) {
				return nil
			}
			f, over = quantileOver, e.Args[1:]
		}
		if !known || len(over) != 1 {
			return nil
		}
		if sub, ok := over[0].(*parser.SubqueryExpr); ok {
			return subqueryOf(e.Func.Name, f, param, sub)
		}
		m, ok := over[0].(*parser.MatrixSelector)
		if !ok || m.RangeExpr != nil || m.Range <= 0 {
			return nil
		}
		n := selector(m.VectorSelector)
		if n == nil {
			return nil
		}
		n.function, n.name, n.window, n.position, n.param = f, e.Func.Name, m.Range.Milliseconds(), m.PositionRange(), param
		return n
	case *parser.AggregateExpr:
		switch e.Op {
		case parser.TOPK, parser.BOTTOMK:
			return topOf(e)
		case parser.COUNT_VALUES:
			return countingValues(e)
		}
		if !aggregations[e.Op] || e.Param != nil {
			return nil
		}
		inner := nodeOf(e.Expr)
		if inner == nil {
			if inner = selector(e.Expr); inner == nil {
				return nil
			}
		}
		n := &node{inner: inner, op: e.Op, grouping: slices.Clone(e.Grouping), without: e.Without, position: unwrapped(e.Expr).PositionRange()}
		slices.Sort(n.grouping)
		return n
	case *parser.BinaryExpr:
		o := operation{op: e.Op, bool: e.ReturnBool}
		var n *node
		if c, ok := constant(e.RHS); ok {
			o.constant, n = c, nodeOf(e.LHS)
		} else if c, ok := constant(e.LHS); ok {
			o.constant, o.swapped, n = c, true, nodeOf(e.RHS)
		}
		if n == nil || !o.known() {
			return nil
		}
		n.then = append(n.then, o)
		return n
	}
	return nil
}

// unwrapped is an expression without parentheses around it.
func unwrapped(e parser.Expr) parser.Expr {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			return e
		}
		e = p.Expr
	}
}

func selector(e parser.Expr) *node {
	v, ok := unwrapped(e).(*parser.VectorSelector)
	if !ok || v.Timestamp != nil || v.StartOrEnd != 0 || v.Anchored || v.Smoothed || v.OriginalOffsetExpr != nil || v.BypassEmptyMatcherCheck {
		return nil
	}
	return &node{matchers: v.LabelMatchers, offset: v.OriginalOffset.Milliseconds(), position: v.PositionRange()}
}

// constant is the value of a number, perhaps with a sign or in parentheses.
func constant(e parser.Expr) (float64, bool) {
	switch e := e.(type) {
	case *parser.NumberLiteral:
		return e.Val, true
	case *parser.ParenExpr:
		return constant(e.Expr)
	case *parser.UnaryExpr:
		v, ok := constant(e.Expr)
		if ok && e.Op == parser.SUB {
			v = -v
		}
		return v, ok
	case *parser.BinaryExpr:
		l, ok := constant(e.LHS)
		if !ok {
			return 0, false
		}
		r, ok := constant(e.RHS)
		o := operation{op: e.Op, constant: r}
		if !ok || !o.known() || e.Op.IsComparisonOperator() {
			return 0, false
		}
		return o.compute(l, r), true
	}
	return 0, false
}

func (o operation) known() bool {
	switch o.op {
	case parser.ADD, parser.SUB, parser.MUL, parser.DIV, parser.POW, parser.MOD, parser.ATAN2,
		parser.EQLC, parser.NEQ, parser.GTR, parser.LSS, parser.GTE, parser.LTE:
		return true
	}
	return false
}

func (o operation) compute(l, r float64) float64 {
	switch o.op {
	case parser.ADD:
		return l + r
	case parser.SUB:
		return l - r
	case parser.MUL:
		return l * r
	case parser.DIV:
		return l / r
	case parser.POW:
		return math.Pow(l, r)
	case parser.MOD:
		return math.Mod(l, r)
	}
	return math.Atan2(l, r)
}

func (o operation) holds(l, r float64) bool {
	switch o.op {
	case parser.EQLC:
		return l == r
	case parser.NEQ:
		return l != r
	case parser.GTR:
		return l > r
	case parser.LSS:
		return l < r
	case parser.GTE:
		return l >= r
	}
	return l <= r
}

// apply does the operation to a row.
func (o operation) apply(row []float64) {
	comparison := o.op.IsComparisonOperator()
	for i, v := range row {
		if isAbsent(v) {
			continue
		}
		l, r := v, o.constant
		if o.swapped {
			l, r = r, l
		}
		switch {
		case !comparison:
			row[i] = o.compute(l, r)
		case o.bool && o.holds(l, r):
			row[i] = 1
		case o.bool:
			row[i] = 0
		case !o.holds(l, r):
			row[i] = absent
		}
	}
}
