package api

// What parts of storaged itself ask: the same engine, budget and turns as for the requests of users.

import (
	"context"
	"fmt"
	"time"

	"cistern/services/store/query/fast"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Parse reads an expression as the routes do.
func (a *API) Parse(text string) (parser.Expr, error) { return a.parser.ParseExpr(text) }

// Evaluate waits for the caller's turn, evaluates an expression, and gives take each series of the answer; one is valid during the
// call only. The look-back is that of the routes when the query names none, and the deadline the context's, or theirs.
func (a *API) Evaluate(ctx context.Context, caller string, q fast.Query, take func(promql.Series) error) error {
	expr, err := a.parser.ParseExpr(q.Text)
	if err != nil {
		return err
	}
	if err := countable(q); err != nil {
		return err
	}
	if q.Lookback == 0 {
		q.Lookback = lookback
		from, to := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: q.Start, End: q.End, Interval: q.Step, LookbackDelta: lookback})
		if apart := a.store.Granularity(from, to); apart >= lookback { // only rollups are left
			q.Lookback = apart + lookback
		}
	}
	timeout, words := Timeout, Timeout
	if end, ok := ctx.Deadline(); ok { // a little before, so that the error has the words
		left := time.Until(end)
		timeout, words = min(Timeout, max(0, left-20*time.Millisecond)), min(Timeout, left.Round(time.Second))
	}
	one := &asked{caller: caller}
	one.ctx, one.cancel = context.WithTimeoutCause(ctx, timeout, &late{words})
	defer func() { one.end() }()
	if err := a.admit(one); err != nil {
		return err
	}
	found, err := timely(one, func(ctx context.Context) (fast.Answer, error) { return a.engine.Exec(ctx, q) }, closed)
	if err != nil {
		return err
	}
	defer closed(found)
	switch v := found.Value.(type) {
	case promql.Scalar:
		return take(promql.Series{Metric: labels.EmptyLabels(), Floats: []promql.FPoint{{T: q.Start.UnixMilli(), F: v.V}}})
	case promql.Vector:
		for _, s := range v {
			series := promql.Series{Metric: s.Metric}
			if s.H != nil {
				series.Histograms = []promql.HPoint{{T: q.Start.UnixMilli(), H: s.H}}
			} else {
				series.Floats = []promql.FPoint{{T: q.Start.UnixMilli(), F: s.F}}
			}
			if err := take(series); err != nil {
				return err
			}
		}
		return nil
	case promql.Matrix:
		for _, s := range v {
			if err := take(s); err != nil {
				return err
			}
		}
		return nil
	case *fast.Lazy:
		return v.Each(take)
	}
	return fmt.Errorf("the expression gives a %s; one value for each series is needed", found.Value.Type())
}
