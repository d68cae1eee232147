package fast

// What Prometheus' engine is about to allocate for an expression, known before it does: the engine itself counts the points
// that it keeps (promql.EngineOpts.MaxSamples), but neither what it makes room for, nor the labels, nor the two numbers for each
// step of a subquery, which of max_over_time(x[1y:1ms]) are half a terabyte. This repeats what promql v0.315 does
// (promql/engine.go: runSubquery, rangeEval, evalSeries, getFPointSlice; promql/functions.go: evalLabelReplace, evalLabelJoin);
// docs/decisions/0021-query-budgets.md says why, and what to look at when that library is replaced by a newer one.

import (
	"fmt"
	"math"
	"strings"

	"cistern/services/store/query/budget"

	"github.com/prometheus/prometheus/promql/parser"
)

// Bytes of the engine's own, 64-bit, rounded up to what the allocator gives.
const (
	pointBytes     = 16
	trackedBytes   = 16   // of each step of a subquery: samples read and samples held
	roomPoints     = 5000 // for how many points room is made at once, at most
	seriesBytes    = 96   // promql.Series in a matrix that grows
	copiedBytes    = 88   // its copy, by which its points are given back, and its group
	resultBytes    = 144  // its entry in the map of results
	vectorBytes    = 64   // it in the vector of a step, which is used again
	matchedBytes   = 200  // the same where two sides are matched: with what they match by
	histogramBytes = 512  // a histogram of some thirty buckets; the engine counts their real size
	valueBytes     = 330  // the longest number that count_values can write
	infoBytes      = 1024 // labels that info adds to a series
)

// grid is the points in time at which a part is evaluated.
type grid struct{ start, end, interval int64 } // ms

func (g grid) n() int64 {
	if g.end < g.start {
		return 0
	}
	return (g.end-g.start)/max(1, g.interval) + 1
}

// textual is what is known of one label in all series of a part: its longest value, and how many there are.
type textual struct{ longest, distinct int64 }

// estimated is what is known of the result of a part of an expression, and what evaluating it takes.
type estimated struct {
	series int64
	labels int64 // bytes of all labels of a series, on average
	texts  map[string]textual
	other  int64 // the longest value of labels that are not in texts
	hists  bool
	held   int64 // bytes of the result
	peak   int64 // bytes while it is evaluated, the result included
}

// costs walks through an expression.
type costs struct {
	selected map[*parser.VectorSelector]chosen
	interval int64 // ms, of subqueries that name none
	points   int64 // of subqueries
	what     func() string
	largest  int64
}

// noteLargest keeps what takes most, for the error.
func (c *costs) noteLargest(bytes int64, what func() string) {
	if bytes > c.largest {
		c.largest, c.what = bytes, what
	}
}

// room is what the engine allocates for the points of a series.
func room(n int64) int64 {
	if n > roomPoints { // grown by a quarter at a time, the old and the new one beside each other
		return budget.Multiply(n, pointBytes*9/4)
	}
	return n * pointBytes
}

// values is what the points of so many series take at n points in time each.
func (e *estimated) values(series, n int64) int64 {
	if e.hists {
		return budget.Multiply(budget.Multiply(series, n), pointBytes+histogramBytes)
	}
	return budget.Multiply(series, room(n))
}

// of is what the engine takes for a part of the expression, which promql.PreprocessExpr has prepared.
func (c *costs) of(e parser.Expr, at grid) estimated {
	n := at.n()
	switch e := e.(type) {
	case *parser.NumberLiteral:
		held := room(n) + seriesBytes
		return estimated{series: 1, held: held, peak: held}
	case *parser.ParenExpr:
		return c.of(e.Expr, at)
	case *parser.UnaryExpr:
		return c.of(e.Expr, at)
	case *parser.VectorSelector:
		return c.selector(e, n)
	case *parser.MatrixSelector: // by itself, at one point in time: the engine counts its samples
		return c.selector(e.VectorSelector.(*parser.VectorSelector), 0)
	case *parser.SubqueryExpr:
		return c.subquery(e, at)
	case *parser.StepInvariantExpr:
		inner := c.of(e.Expr, grid{at.start, at.start, at.interval})
		switch e.Expr.(type) {
		case *parser.MatrixSelector, *parser.SubqueryExpr:
			return inner
		}
		// Made once and copied; of histograms only the pointers are.
		copied := budget.Multiply(inner.series, room(n))
		inner.held = budget.Add(inner.held, copied)
		inner.peak = budget.Add(inner.peak, copied)
		return inner
	case *parser.BinaryExpr:
		return c.binary(e, at)
	case *parser.AggregateExpr:
		return c.aggregate(e, at)
	case *parser.Call:
		return c.call(e, at)
	}
	return estimated{}
}

// selector is a selector's series at n points in time.
func (c *costs) selector(e *parser.VectorSelector, n int64) estimated {
	s := c.selected[e]
	result := estimated{series: s.series, labels: s.labels, texts: s.texts, other: s.longest, hists: s.hists}
	points := min(budget.Multiply(s.series, n), s.points)
	result.held = budget.Add(budget.Multiply(points, pointBytes), budget.Multiply(s.series, seriesBytes))
	if s.hists {
		result.held = budget.Add(result.held, budget.Multiply(points, histogramBytes))
	}
	if n > roomPoints {
		result.held = budget.Multiply(result.held, 9) / 4
	}
	result.peak = result.held
	c.noteLargest(result.peak, func() string { return fmt.Sprintf("%d series of %s", s.series, shortened(e)) })
	return result
}

func (c *costs) subquery(e *parser.SubqueryExpr, at grid) estimated {
	inner := at
	inner.interval = e.Step.Milliseconds()
	if e.Step == 0 {
		inner.interval = c.interval
	}
	inner.interval = max(1, inner.interval)
	offset, width := e.OriginalOffset.Milliseconds(), e.Range.Milliseconds()
	if e.Timestamp != nil { // as the engine shifts it for @
		offset += at.start - *e.Timestamp
	}
	if at.interval > 0 && at.end > at.start {
		inner.end = at.start + (at.end-at.start)/at.interval*at.interval
	}
	inner.end -= offset
	inner.start = inner.interval * ((at.start - offset - width) / inner.interval)
	if inner.start <= at.start-offset-width {
		inner.start += inner.interval
	}
	n := inner.n()
	c.points = budget.Add(c.points, n)
	result := c.of(e.Expr, inner)
	tracked := budget.Multiply(n, trackedBytes)
	result.peak = budget.Add(result.peak, tracked)
	// What goes through all its points at once is a buffer beside them.
	result.peak = budget.Add(result.peak, budget.Multiply(n, pointBytes+24))
	c.noteLargest(result.peak, func() string { return fmt.Sprintf("%d points of %s", n, shortened(e)) })
	return result
}

// over is the result of evaluating a part step by step out of others: what rangeEval does. Each series of an argument takes so
// many bytes besides.
func (c *costs) over(result estimated, n, besides int64, arguments ...estimated) estimated {
	held, peak := int64(0), int64(0)
	for _, a := range arguments {
		peak = max(peak, budget.Add(held, a.peak))
		held = budget.Add(held, a.held, budget.Multiply(a.series, copiedBytes+besides))
	}
	result.held = budget.Add(result.values(result.series, n), budget.Multiply(result.series, seriesBytes+resultBytes+result.labels))
	result.peak = max(peak, budget.Add(held, result.held))
	return result
}

func (c *costs) binary(e *parser.BinaryExpr, at grid) estimated {
	l, r := c.of(e.LHS, at), c.of(e.RHS, at)
	result := l
	switch lt, rt := e.LHS.Type(), e.RHS.Type(); {
	case lt == parser.ValueTypeScalar && rt == parser.ValueTypeVector:
		result = r
	case lt == parser.ValueTypeVector && rt == parser.ValueTypeVector:
		switch {
		case e.Op == parser.LOR:
			result = widest(l, r)
			result.series = budget.Add(l.series, r.series)
		case e.Op == parser.LAND || e.Op == parser.LUNLESS:
		case e.VectorMatching != nil && e.VectorMatching.Card == parser.CardOneToMany:
			result = widest(l, r)
			result.series = r.series
		case e.VectorMatching != nil && e.VectorMatching.Card == parser.CardManyToOne:
			result = widest(l, r)
			result.series = l.series
		default:
			result = widest(l, r)
			result.series = min(l.series, r.series)
		}
		result.hists = l.hists || r.hists
	}
	all := result.series
	if e.Op == parser.LAND || e.Op == parser.LUNLESS || e.Op.IsComparisonOperator() && !e.ReturnBool {
		result.series = (all + 1) / 2 // what is left is a part; the engine counts its points
	}
	result = c.over(result, at.n(), matchedBytes, l, r)
	result.series = all
	c.noteLargest(result.peak, func() string { return fmt.Sprintf("%d series of %s", result.series, shortened(e)) })
	return result
}

// widest has labels as long as both parts'.
func widest(l, r estimated) estimated {
	result := l
	result.labels = budget.Add(l.labels, r.labels)
	result.other = max(l.other, r.other)
	result.texts = map[string]textual{}
	for _, texts := range []map[string]textual{l.texts, r.texts} {
		for name, t := range texts {
			known := result.texts[name]
			result.texts[name] = textual{max(known.longest, t.longest), budget.Add(known.distinct, t.distinct)}
		}
	}
	return result
}

func (c *costs) aggregate(e *parser.AggregateExpr, at grid) estimated {
	n := at.n()
	inner := c.of(e.Expr, at)
	arguments := []estimated{inner}
	if e.Param != nil && e.Param.Type() != parser.ValueTypeString {
		arguments = append([]estimated{c.of(e.Param, at)}, inner)
	}
	result := inner
	groups := inner.series
	if !e.Without {
		groups = 1
		for _, name := range e.Grouping {
			t, known := inner.texts[name]
			if !known {
				groups = inner.series
				break
			}
			groups = budget.Multiply(groups, t.distinct+1)
		}
		groups = min(groups, inner.series)
	}
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK:
		// Those that are among the first at any time; mostly they stay the same. The engine counts their points.
		if k, ok := e.Param.(*parser.NumberLiteral); ok && k.Val >= 0 && k.Val < 1e6 {
			result.series = min(inner.series, budget.Multiply(2*int64(k.Val)+2, groups))
		}
	case parser.LIMIT_RATIO:
	case parser.COUNT_VALUES:
		// A series for each value that there is at any time, and room for all its points.
		result.hists = false
		result.series = budget.Multiply(inner.series, n)
		width := int64(valueBytes)
		if inner.hists {
			width = 64 * histogramBytes / pointBytes
		}
		result.labels = budget.Add(inner.labels, width)
		if label, ok := e.Param.(*parser.StringLiteral); ok {
			result.texts = with(inner.texts, label.Val, textual{width, result.series})
		}
	default:
		result.series = groups
	}
	besides := int64(0)
	if e.Op == parser.COUNT_VALUES || e.Op == parser.QUANTILE {
		besides = vectorBytes
	}
	result = c.over(result, n, besides, arguments...)
	c.noteLargest(result.peak, func() string { return fmt.Sprintf("%d series of %s", result.series, shortened(e)) })
	return result
}

// with is the texts with one replaced.
func with(texts map[string]textual, name string, t textual) map[string]textual {
	changed := make(map[string]textual, len(texts)+1)
	for k, v := range texts {
		changed[k] = v
	}
	changed[name] = t
	return changed
}

func (e *estimated) longest(label string) int64 {
	if t, known := e.texts[label]; known {
		return t.longest
	}
	return e.other
}

func (c *costs) call(e *parser.Call, at grid) estimated {
	n := at.n()
	var arguments []estimated
	result, found, spanned := estimated{}, false, int64(-1)
	for _, a := range e.Args {
		if a.Type() == parser.ValueTypeString {
			continue
		}
		var one estimated
		switch selector := a.(type) {
		case *parser.MatrixSelector:
			vector := selector.VectorSelector.(*parser.VectorSelector)
			one = c.selector(vector, 0)
			each := int64(2 * pointBytes)
			if one.hists {
				each += histogramBytes
			}
			spanned = budget.Multiply(c.selected[vector].points, each)
		case *parser.VectorSelector:
			if e.Func.Name == "timestamp" { // which keeps no samples
				one = c.selector(selector, 0)
				break
			}
			one = c.of(a, at)
		default:
			one = c.of(a, at)
		}
		arguments = append(arguments, one)
		if t := a.Type(); !found && (t == parser.ValueTypeVector || t == parser.ValueTypeMatrix) {
			result, found = one, true
		}
	}
	if !found {
		result.series = 1
	}
	switch e.Func.Name {
	case "label_replace", "label_join":
		return c.relabelled(e, result)
	case "info":
		result.labels = budget.Add(result.labels, infoBytes)
		result.other = max(result.other, infoBytes)
	case "absent", "absent_over_time", "scalar", "vector", "time", "pi":
		result = estimated{series: 1, labels: 256}
	case "histogram_quantiles":
		result.series, result.hists = budget.Multiply(result.series, int64(len(e.Args))), false
	case "rate", "increase", "delta", "irate", "idelta", "sum_over_time", "avg_over_time", "last_over_time", "first_over_time", "sort_by_label", "sort_by_label_desc":
	default:
		result.hists = false
	}
	dense := result.values(result.series, n)
	result = c.over(result, n, vectorBytes, arguments...)
	if spanned >= 0 && spanned < dense { // their samples do not reach over all of the time
		result.held -= dense - spanned
		result.peak -= dense - spanned
	}
	c.noteLargest(result.peak, func() string { return fmt.Sprintf("%d series of %s", result.series, shortened(e)) })
	return result
}

// shortened is an expression's beginning.
func shortened(e parser.Expr) string {
	text := strings.ToValidUTF8(e.String(), "")
	if len(text) > 60 {
		return strings.ToValidUTF8(text[:60], "") + "…"
	}
	return text
}

// chosen is what a selector found.
type chosen struct {
	series  int64
	points  int64 // that there can be, of all series
	labels  int64 // bytes of a series', on average
	longest int64 // of all values
	texts   map[string]textual
	hists   bool
	ours    bool // they are Cistern's own
}

// maxSamples is how many samples Prometheus' engine may keep in so many bytes.
func maxSamples(bytes, n int64) int {
	each := int64(pointBytes)
	if n > roomPoints {
		each = pointBytes * 9 / 4
	}
	return int(max(1, min(bytes/each, math.MaxInt32)))
}
