package fast

// The whole: what of an expression is evaluated here, and handing the rest to Prometheus' engine.
//
// Thanos' engine (github.com/thanos-io/promql-engine) is not used for the rest: its newest version as of this writing
// (v0.0.0-20260513095632-c5f6038078e3) is made for Prometheus v0.308 and does not compile with v0.315, and after the rows
// are made there is little left to win.

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
)

// Engine evaluates PromQL over a store.
type Engine struct {
	Store  tsdb.Querier
	Parser parser.Parser
	// Rest gives an engine that keeps so many samples at most, and evaluates what is not done here.
	Rest func(samples int) *promql.Engine
	// Interval is the step of a subquery that names none; that of Rest's engines must be the same. 0: a minute.
	Interval time.Duration
	Off      bool // leave everything to Rest
}

// Query is one question.
type Query struct {
	Text             string
	Start, End       time.Time
	Step             time.Duration // 0 for an instant query, at Start
	Lookback         time.Duration
	PerStepStatistic bool
}

// Answer is what comes of it. Close gives its memory back, and must be called when Value is not needed any more.
type Answer struct {
	Value    parser.Value
	Notes    annotations.Annotations
	Warnings []string
	Stats    *stats.Statistics // nil when the engine was not asked
	Read     int64             // samples that were read here
	By       string            // "fast", "mixed" or "engine"
	Close    func()
}

// BadQuery is an error in the expression.
type BadQuery struct{ error }

func (b BadQuery) Unwrap() error { return b.error }

// Exec answers a query.
func (e *Engine) Exec(ctx context.Context, q Query) (Answer, error) {
	expr, err := e.Parser.ParseExpr(q.Text)
	if err != nil {
		return Answer{}, BadQuery{err}
	}
	if q.Step != 0 && expr.Type() != parser.ValueTypeVector && expr.Type() != parser.ValueTypeScalar {
		return Answer{}, BadQuery{fmt.Errorf("a range query needs an expression that gives a number or a vector at each step; %q gives a %s",
			q.Text, parser.DocumentedType(expr.Type()))}
	}
	var warnings tsdb.Warnings
	ctx = tsdb.WithWarnings(ctx, &warnings)
	if b := budget.From(ctx); b != nil {
		ctx = tsdb.WithMeter(ctx, b)
	}
	answer, err := e.exec(ctx, q, expr)
	if err != nil {
		return Answer{}, err
	}
	answer.Warnings = warnings.List()
	return answer, nil
}

func (e *Engine) exec(ctx context.Context, q Query, expr parser.Expr) (Answer, error) {
	if !e.Off {
		answer, err := e.fast(ctx, q, expr)
		if err == nil || !errors.Is(err, errUnfit) {
			return answer, err
		}
	}
	text, err := e.exactly(ctx, q, expr)
	if err != nil {
		return Answer{}, err
	}
	return e.engine(ctx, q, text, adapter.Queryable(e.Store), "engine")
}

// steps of a query.
func (q Query) steps() steps {
	if q.Step == 0 {
		return steps{q.Start.UnixMilli(), 1, 1}
	}
	step := max(1, q.Step.Milliseconds())
	return steps{q.Start.UnixMilli(), step, int((q.End.UnixMilli()-q.Start.UnixMilli())/step) + 1}
}

func (e *Engine) fast(ctx context.Context, q Query, expr parser.Expr) (Answer, error) {
	r := newRun(ctx, e, q)
	if r.at.n < 1 || r.at.n > 1<<20 || r.lookback <= 0 {
		return Answer{}, errUnfit
	}
	keep := false
	defer func() {
		if !keep {
			r.drop()
		}
	}()
	n := nodeOf(expr)
	if n == nil {
		n = selector(expr)
	}
	if n != nil {
		answer, err := r.answer(n, q)
		if err == nil || !errors.Is(err, errUnfit) {
			keep = err == nil
			return answer, err
		}
		r.drop()
	}
	if j := joinOf(expr); j != nil {
		rows, err := r.joined(j)
		if err == nil {
			var value parser.Value
			if value, err = r.value(rows, q.Step == 0); err == nil {
				keep = true
				return Answer{Value: value, Notes: r.notes, Read: r.read.Load(), By: "fast", Close: r.drop}, nil
			}
		}
		if !errors.Is(err, errUnfit) {
			return Answer{}, err
		}
		r.drop()
		r.notes = nil
	}
	// The parts that can be evaluated here become selectors of their results; of a part that cannot, its parts.
	results := map[string][]row{}
	var failure error
	rest := replace(expr, func(part parser.Expr) parser.Expr {
		if failure != nil || part == expr {
			return nil
		}
		var rows []row
		var err error
		if n := nodeOf(part); n != nil {
			rows, err = r.evaluate(n)
		} else if j := joinOf(part); j != nil {
			rows, err = r.joined(j)
		} else {
			return nil
		}
		if err != nil {
			if !errors.Is(err, errUnfit) {
				failure = err
			}
			return nil
		}
		name := fmt.Sprintf("\x01cistern %d", len(results))
		results[name] = rows
		return &parser.VectorSelector{LabelMatchers: []*labels.Matcher{labels.MustNewMatcher(labels.MatchEqual, tsdb.NameLabel, name)}}
	})
	if failure != nil {
		return Answer{}, failure
	}
	if len(results) == 0 {
		return Answer{}, errUnfit
	}
	text, err := e.exactly(ctx, q, rest)
	if err != nil {
		return Answer{}, err
	}
	answer, err := e.engine(ctx, q, text, &withResults{adapter.Queryable(e.Store), results, r.at}, "mixed")
	if err != nil {
		var exceeded *budget.Exceeded
		var busy *budget.Busy
		if ctx.Err() != nil || errors.As(err, &exceeded) || errors.As(err, &busy) {
			return Answer{}, err
		}
		return Answer{}, errUnfit // its words would be about an expression that nobody wrote
	}
	if len(answer.Notes) > 0 {
		answer.Close()
		return Answer{}, errUnfit // the same: notes name positions
	}
	keep = true
	of := answer.Close
	answer.Notes, answer.Read, answer.Close = r.notes, r.read.Load(), func() { of(); r.drop() }
	return answer, nil
}

// replace copies an expression with the parts replaced for which with gives another. Subqueries are left alone: they
// are evaluated at times of their own.
func replace(e parser.Expr, with func(parser.Expr) parser.Expr) parser.Expr {
	if other := with(e); other != nil {
		return other
	}
	switch e := e.(type) {
	case *parser.ParenExpr:
		c := *e
		c.Expr = replace(e.Expr, with)
		return &c
	case *parser.UnaryExpr:
		c := *e
		c.Expr = replace(e.Expr, with)
		return &c
	case *parser.AggregateExpr:
		c := *e
		c.Expr = replace(e.Expr, with)
		if e.Param != nil {
			c.Param = replace(e.Param, with)
		}
		return &c
	case *parser.BinaryExpr:
		c := *e
		c.LHS, c.RHS = replace(e.LHS, with), replace(e.RHS, with)
		return &c
	case *parser.Call:
		if e.Func.Name == "info" {
			return e
		}
		c := *e
		c.Args = make(parser.Expressions, len(e.Args))
		for i, a := range e.Args {
			c.Args[i] = replace(a, with)
		}
		return &c
	}
	return e
}

// exactly is the expression's text, with rate and increase of Cistern's histograms written as what they mean: the sum
// of what was measured in the range. It is about selectors that match nothing else. Where only rollups are left of numbers,
// how many there were and their mean are written as the sums that they are.
func (e *Engine) exactly(ctx context.Context, q Query, expr parser.Expr) (string, error) {
	changed, failure := false, error(nil)
	start, end := q.Start.UnixMilli(), q.End.UnixMilli()
	if q.Step == 0 {
		end = start
	}
	// pinned is the times from and to, or what @ says instead of them.
	pinned := func(from, to int64, timestamp *int64, startOrEnd parser.ItemType) (int64, int64) {
		switch {
		case timestamp != nil:
			return *timestamp, *timestamp
		case startOrEnd == parser.START:
			return start, start
		case startOrEnd == parser.END:
			return end, end
		}
		return from, to
	}
	// expr is evaluated at times from from to to.
	var change func(expr parser.Expr, from, to int64) parser.Expr
	change = func(expr parser.Expr, from, to int64) parser.Expr {
		return replace(expr, func(part parser.Expr) parser.Expr {
			switch part := part.(type) {
			case *parser.SubqueryExpr:
				c := *part
				from, to := pinned(from, to, part.Timestamp, part.StartOrEnd)
				offset := part.OriginalOffset.Milliseconds()
				c.Expr = change(part.Expr, from-offset-part.Range.Milliseconds(), to-offset)
				return &c
			case *parser.Call:
				weighted := part.Func.Name == "count_over_time" || part.Func.Name == "avg_over_time"
				if !weighted && part.Func.Name != "rate" && part.Func.Name != "increase" || len(part.Args) != 1 || failure != nil {
					return nil
				}
				m, ok := part.Args[0].(*parser.MatrixSelector)
				if !ok || m.RangeExpr != nil || m.Range <= 0 {
					return nil
				}
				v, ok := m.VectorSelector.(*parser.VectorSelector)
				if !ok || v.Anchored || v.Smoothed {
					return nil
				}
				from, to := pinned(from, to, v.Timestamp, v.StartOrEnd)
				offset := v.OriginalOffset.Milliseconds()
				from, to = from-offset-m.Range.Milliseconds()+1, to-offset
				var only bool
				var err error
				if weighted {
					only, err = rolledUp(ctx, e.Store, from, to, v.LabelMatchers, part.Func.Name == "avg_over_time", m.Range.Milliseconds())
				} else {
					only, err = histogramsOnly(ctx, e.Store, from, to, v.LabelMatchers)
				}
				if err != nil {
					failure = err
				}
				if !only {
					return nil
				}
				changed = true
				c := *part
				c.Func = parser.Functions["sum_over_time"]
				if weighted {
					counts, selector, inRange := c, *v, *m
					selector.LabelMatchers = adapter.Counts(v.LabelMatchers)
					inRange.VectorSelector = &selector
					counts.Args = parser.Expressions{&inRange}
					if part.Func.Name == "count_over_time" {
						return &counts
					}
					return &parser.ParenExpr{Expr: &parser.BinaryExpr{Op: parser.DIV, LHS: &c, RHS: &counts, VectorMatching: &parser.VectorMatching{}}}
				}
				if part.Func.Name == "increase" {
					return &c
				}
				return &parser.ParenExpr{Expr: &parser.BinaryExpr{Op: parser.DIV, LHS: &c, RHS: &parser.NumberLiteral{Val: m.Range.Seconds()}}}
			}
			return nil
		})
	}
	rest := change(expr, start, end)
	if failure != nil {
		return "", failure
	}
	if !changed && !strings.Contains(expr.String(), "\x01") && !strings.Contains(expr.String(), `\x01`) {
		return q.Text, nil // so that notes name the right positions
	}
	return rest.String(), nil
}
