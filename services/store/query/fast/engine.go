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
	"slices"
	"strings"
	"time"

	"cistern/services/store/query/adapter"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
)

// Engine evaluates PromQL over a store.
type Engine struct {
	Store   tsdb.Querier
	Rest    *promql.Engine // evaluates what is not done here
	Parser  parser.Parser
	Samples int64 // how many a query may hold
	Off     bool  // leave everything to Rest
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
	r := &run{ctx: ctx, store: e.Store, at: q.steps(), lookback: q.Lookback.Milliseconds(), samples: e.Samples}
	if r.at.n < 1 || r.at.n > 1<<20 || r.lookback <= 0 {
		return Answer{}, errUnfit
	}
	if n := nodeOf(expr); n != nil {
		rows, err := r.evaluate(n)
		if err == nil {
			return Answer{Value: r.value(rows, q.Step == 0), Notes: r.notes, Read: r.read.Load(), By: "fast", Close: func() {}}, nil
		}
		if !errors.Is(err, errUnfit) {
			return Answer{}, err
		}
	}
	// The parts that can be evaluated here become selectors of their results; of a part that cannot, its parts.
	results := map[string][]row{}
	var failure error
	rest := replace(expr, func(part parser.Expr) parser.Expr {
		n := nodeOf(part)
		if n == nil || failure != nil || part == expr {
			return nil
		}
		rows, err := r.evaluate(n)
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
		var tooMany promql.ErrTooManySamples
		if ctx.Err() != nil || errors.As(err, &tooMany) {
			return Answer{}, err
		}
		return Answer{}, errUnfit // its words would be about an expression that nobody wrote
	}
	if len(answer.Notes) > 0 {
		answer.Close()
		return Answer{}, errUnfit // the same: notes name positions
	}
	answer.Notes, answer.Read = r.notes, r.read.Load()
	return answer, nil
}

func (e *Engine) engine(ctx context.Context, q Query, text string, from storage.Queryable, by string) (Answer, error) {
	opts := promql.NewPrometheusQueryOpts(q.PerStepStatistic, q.Lookback)
	var query promql.Query
	var err error
	if q.Step == 0 {
		query, err = e.Rest.NewInstantQuery(ctx, from, opts, text, q.Start)
	} else {
		query, err = e.Rest.NewRangeQuery(ctx, from, opts, text, q.Start, q.End, q.Step)
	}
	if err != nil {
		return Answer{}, BadQuery{err}
	}
	result := query.Exec(ctx)
	if result.Err != nil {
		query.Close()
		return Answer{}, result.Err
	}
	return Answer{Value: result.Value, Notes: result.Warnings, Stats: query.Stats(), By: by, Close: query.Close}, nil
}

// value makes Prometheus' types of rows.
func (r *run) value(rows []row, instant bool) parser.Value {
	if instant {
		vector := make(promql.Vector, 0, len(rows))
		for _, one := range rows {
			s := promql.Sample{T: r.at.start, Metric: one.labels}
			if one.hists != nil {
				s.H = one.hists[0]
			} else {
				s.F = one.values[0]
			}
			vector = append(vector, s)
		}
		return vector
	}
	slices.SortStableFunc(rows, func(a, b row) int { return labels.Compare(a.labels, b.labels) })
	matrix := make(promql.Matrix, 0, len(rows))
	for _, one := range rows {
		s := promql.Series{Metric: one.labels}
		if one.hists != nil {
			for i, h := range one.hists {
				if h != nil {
					s.Histograms = append(s.Histograms, promql.HPoint{T: r.at.at(i), H: h})
				}
			}
		} else {
			s.Floats = make([]promql.FPoint, 0, len(one.values))
			for i, v := range one.values {
				if !isAbsent(v) {
					s.Floats = append(s.Floats, promql.FPoint{T: r.at.at(i), F: v})
				}
			}
		}
		matrix = append(matrix, s)
	}
	return matrix
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

// withResults is the store and the results that stand for parts of an expression.
type withResults struct {
	storage.Queryable
	results map[string][]row
	at      steps
}

func (w *withResults) Querier(minTime, maxTime int64) (storage.Querier, error) {
	q, err := w.Queryable.Querier(minTime, maxTime)
	return &resultsQuerier{q, w}, err
}

type resultsQuerier struct {
	storage.Querier
	with *withResults
}

func (q *resultsQuerier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if len(matchers) == 1 && matchers[0].Name == tsdb.NameLabel {
		if rows, ok := q.with.results[matchers[0].Value]; ok {
			return &rowSet{rows: rows, at: -1, steps: q.with.at}
		}
	}
	return q.Querier.Select(ctx, sortSeries, hints, matchers...)
}

type rowSet struct {
	rows  []row
	at    int
	steps steps
}

func (s *rowSet) Next() bool                        { s.at++; return s.at < len(s.rows) }
func (s *rowSet) At() storage.Series                { return rowSeries{&s.rows[s.at], s.steps} }
func (s *rowSet) Err() error                        { return nil }
func (s *rowSet) Warnings() annotations.Annotations { return nil }

type rowSeries struct {
	row   *row
	steps steps
}

func (s rowSeries) Labels() labels.Labels { return s.row.labels }
func (s rowSeries) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &rowIterator{row: s.row, steps: s.steps, at: -1}
}

// rowIterator hands out a sample for each step: a stale marker where there is no result, so that none is found by
// looking back.
type rowIterator struct {
	row   *row
	steps steps
	at    int
}

func (it *rowIterator) kind() chunkenc.ValueType {
	switch {
	case it.at >= it.steps.n:
		return chunkenc.ValNone
	case it.row.hists != nil && it.row.hists[it.at] != nil:
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

func (it *rowIterator) Next() chunkenc.ValueType {
	it.at++
	return it.kind()
}

// milliseconds keeps go vet from taking Seek for that of io.Seeker, which an interface of Prometheus forces on us.
type milliseconds = int64

func (it *rowIterator) Seek(t milliseconds) chunkenc.ValueType {
	it.at = max(it.at, 0)
	if t > it.steps.start {
		it.at = max(it.at, int((t-it.steps.start+it.steps.step-1)/it.steps.step))
	}
	return it.kind()
}

func (it *rowIterator) At() (int64, float64) {
	if it.row.hists != nil {
		return it.AtT(), absent
	}
	return it.AtT(), it.row.values[it.at]
}

func (it *rowIterator) AtHistogram(*promhistogram.Histogram) (int64, *promhistogram.Histogram) {
	panic("results are float histograms")
}

func (it *rowIterator) AtFloatHistogram(to *promhistogram.FloatHistogram) (int64, *promhistogram.FloatHistogram) {
	if to == nil {
		return it.AtT(), it.row.hists[it.at].Copy()
	}
	it.row.hists[it.at].CopyTo(to)
	return it.AtT(), to
}

func (it *rowIterator) AtT() int64  { return it.steps.at(it.at) }
func (it *rowIterator) AtST() int64 { return 0 }
func (it *rowIterator) Err() error  { return nil }
