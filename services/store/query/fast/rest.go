package fast

// What Prometheus' engine evaluates. What is selected is selected first, then what the engine will take is charged, and only
// then it is asked: with as many samples to keep as the query has bytes left for.

import (
	"context"
	"errors"
	"sync"
	"time"

	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
)

// defaultInterval is the step of a subquery that names none, as Prometheus has it.
const defaultInterval = time.Minute

func (e *Engine) engine(ctx context.Context, q Query, text string, from storage.Queryable, by string) (Answer, error) {
	b := budget.From(ctx)
	before := b.Charged()
	answer, err := e.evaluated(ctx, q, text, from, by)
	taken := b.Charged() - before
	if err != nil {
		b.Return(taken)
		return Answer{}, err
	}
	done := answer.Close
	var once sync.Once
	answer.Close = func() { once.Do(func() { done(); b.Return(taken) }) }
	return answer, nil
}

func (e *Engine) evaluated(ctx context.Context, q Query, text string, from storage.Queryable, by string) (Answer, error) {
	b := budget.From(ctx)
	if b == nil {
		return e.ask(ctx, q, text, from, by, maxSamples(b.Left(), 1))
	}
	expr, err := e.Parser.ParseExpr(text)
	if err != nil {
		return Answer{}, BadQuery{err}
	}
	if expr, err = promql.PreprocessExpr(expr, q.Start, q.End, q.Step); err != nil {
		return Answer{}, BadQuery{err}
	}
	// Without the series first: what is too much for any of them must not select them.
	if _, err := e.estimate(expr, q, nil, b); err != nil {
		return Answer{}, err
	}
	var selectors []*parser.VectorSelector
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			selectors = append(selectors, v)
		}
		return nil
	})
	n := int64(q.steps().n)
	selected := map[*parser.VectorSelector]chosen{}
	if len(selectors) > 0 {
		names := namesIn(expr)
		first := &selections{from: from, ctx: ctx}
		if len(selectors) == 1 {
			first.ctx = tsdb.WithShare(ctx, e.shareOf(expr, q, selectors[0], names))
		}
		defer first.release()
		if err := e.choose(ctx, q, text, first); err != nil {
			return Answer{}, err
		}
		for i, one := range first.made {
			if i < len(selectors) {
				selected[selectors[i]] = one.measure(names, q.Lookback.Milliseconds())
			}
		}
		from = &replayed{selections: first}
	}
	left := b.Left()
	for _, one := range selected {
		if one.ours {
			// The engine counts with each histogram the bounds that all have in common.
			left = budget.Multiply(left, 1+adapter.SharedBytes()/wideBytes)
			break
		}
	}
	found, err := e.estimate(expr, q, selected, b)
	if err != nil {
		return Answer{}, err
	}
	if err := b.Charge(ctx, found.bytes, found.what); err != nil {
		return Answer{}, err
	}
	answer, err := e.ask(ctx, q, text, from, by, maxSamples(left, max(n, found.points)))
	var tooMany promql.ErrTooManySamples
	if errors.As(err, &tooMany) {
		// It says neither how many there are nor of what: that there are more than there is room for.
		return Answer{}, b.Refuse(&budget.Exceeded{Reason: budget.QueryBytes, What: "samples that are kept at a time", Asked: budget.Add(b.Limit(), 1), Limit: b.Limit()})
	}
	return answer, err
}

// wideBytes is what a histogram of more than a hundred buckets takes: so many of them fit where the engine counts their bounds
// besides. Of narrower ones fewer are allowed than fit, of wider ones more, which the watcher of the memory finds.
const wideBytes = 2048

// needed is what the engine needs for an expression.
type needed struct {
	bytes, points int64
	what          string
}

// shareOf is what the engine needs at least for each series of an expression's only selector.
func (e *Engine) shareOf(expr parser.Expr, q Query, selector *parser.VectorSelector, names map[string]bool) int64 {
	const some = 1000
	texts := map[string]textual{}
	for name := range names {
		texts[name] = textual{}
	}
	peak := func(series int64) int64 {
		_, found := e.cost(expr, q, map[*parser.VectorSelector]chosen{selector: {series: series, texts: texts}})
		return found.peak
	}
	return (peak(some) - peak(0)) / some
}

// cost is what evaluating the expression takes of the engine.
func (e *Engine) cost(expr parser.Expr, q Query, selected map[*parser.VectorSelector]chosen) (*costs, estimated) {
	interval := e.Interval
	if interval <= 0 {
		interval = defaultInterval
	}
	at := q.steps()
	c := &costs{selected: selected, interval: interval.Milliseconds()}
	return c, c.of(expr, grid{at.start, at.end(), at.step})
}

// estimate says what the engine needs, or that it is more than the query may have.
func (e *Engine) estimate(expr parser.Expr, q Query, selected map[*parser.VectorSelector]chosen, b *budget.Budget) (needed, error) {
	c, found := e.cost(expr, q, selected)
	what := "the expression"
	if c.what != nil {
		what = c.what()
	}
	if selected == nil {
		if err := b.Points(c.points, what); err != nil {
			return needed{}, err
		}
	}
	return needed{found.peak, c.points, what}, b.Room(found.peak, what)
}

// ask has the engine evaluate the expression.
func (e *Engine) ask(ctx context.Context, q Query, text string, from storage.Queryable, by string, samples int) (Answer, error) {
	query, err := e.query(ctx, q, text, from, samples)
	if err != nil {
		return Answer{}, BadQuery{err}
	}
	turn := budget.From(ctx).Engine()
	turn.Take()
	defer turn.Give()
	result := query.Exec(ctx)
	if result.Err != nil {
		query.Close()
		return Answer{}, result.Err
	}
	return Answer{Value: result.Value, Notes: result.Warnings, Stats: query.Stats(), By: by, Close: query.Close}, nil
}

func (e *Engine) query(ctx context.Context, q Query, text string, from storage.Queryable, samples int) (promql.Query, error) {
	opts := promql.NewPrometheusQueryOpts(q.PerStepStatistic, q.Lookback)
	if q.Step == 0 {
		return e.Rest(samples).NewInstantQuery(ctx, from, opts, text, q.Start)
	}
	return e.Rest(samples).NewRangeQuery(ctx, from, opts, text, q.Start, q.End, q.Step)
}

// choose has the engine make its selections, with the times and hints that it wants them for, and nothing else: the first of
// them ends its context, which it looks at before it evaluates.
func (e *Engine) choose(ctx context.Context, q Query, text string, to *selections) error {
	ending, end := context.WithCancel(ctx)
	defer end()
	to.end = end
	query, err := e.query(ending, q, text, to, 1)
	if err != nil {
		return BadQuery{err}
	}
	defer query.Close()
	result := query.Exec(ending)
	switch {
	case to.err != nil:
		return to.err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case len(to.made) == 0 && result.Err != nil:
		return result.Err
	}
	return nil
}

// selections are those that the engine makes before it evaluates, in its order.
type selections struct {
	from    storage.Queryable
	ctx     context.Context // the query's, which choosing does not end
	end     context.CancelFunc
	querier storage.Querier
	made    []selection
	err     error
}

type selection struct {
	set   storage.SeriesSet
	hints storage.SelectHints
}

func (s *selections) Querier(minTime, maxTime int64) (storage.Querier, error) {
	q, err := s.from.Querier(minTime, maxTime)
	if err != nil {
		return nil, err
	}
	s.querier = q
	return &selecting{Querier: q, to: s}, nil
}

func (s *selections) release() {
	if s.querier != nil {
		_ = s.querier.Close()
	}
}

type selecting struct {
	storage.Querier
	to *selections
}

func (s *selecting) Select(_ context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	s.to.end()
	if s.to.err != nil {
		return storage.EmptySeriesSet()
	}
	set := s.Querier.Select(s.to.ctx, sortSeries, hints, matchers...)
	one := selection{set: set}
	if hints != nil {
		one.hints = *hints
	}
	s.to.made = append(s.to.made, one)
	switch set.(type) {
	case *adapter.Set, *rowSet:
	default: // nothing but an error is of another type
		s.to.err = set.Err()
	}
	return storage.EmptySeriesSet()
}

// Close leaves the selections for the evaluation.
func (s *selecting) Close() error { return nil }

// measure is what the selection's series take.
func (s *selection) measure(names map[string]bool, lookback int64) chosen {
	within := lookback
	if s.hints.Range > 0 {
		within = s.hints.Range
	}
	points := func(from, to int64) int64 {
		from, to = max(from, s.hints.Start), min(to, s.hints.End)+within
		if to < from {
			return 0
		}
		return (to-from)/max(1, s.hints.Step) + 1
	}
	switch set := s.set.(type) {
	case *adapter.Set:
		sets, hists, ours, total := make([]labels.Labels, 0, set.Len()), false, false, int64(0)
		set.Each(func(one labels.Labels, from, to int64, cisterns, natives bool) {
			sets = append(sets, one)
			hists, ours = hists || cisterns || natives, ours || cisterns
			if s.hints.Step == 0 {
				total++
			} else {
				total = budget.Add(total, points(from, to))
			}
		})
		result := summary(sets, names)
		result.hists, result.ours, result.points = hists, ours, total
		return result
	case *rowSet:
		return set.measure(names)
	}
	return chosen{}
}

// replayed gives the engine the selections that it has made before; what it selects while it evaluates, as info does, is new.
type replayed struct {
	*selections
	next int
}

func (r *replayed) Querier(int64, int64) (storage.Querier, error) {
	return &replaying{r.querier, r}, nil
}

type replaying struct {
	storage.Querier
	of *replayed
}

func (r *replaying) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if at := r.of.next; at < len(r.of.made) {
		r.of.next++
		return r.of.made[at].set
	}
	return r.Querier.Select(ctx, sortSeries, hints, matchers...)
}

// Close leaves it to whoever made the selections.
func (r *replaying) Close() error { return nil }
