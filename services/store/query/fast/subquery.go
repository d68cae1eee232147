package fast

// Functions over subqueries: what is within is evaluated at times of its own, and its rows are the samples.

import (
	"context"

	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
)

// subqueryOf is the node of a function of a subquery, or nil. rate and its like have notes about names, which are the engine's.
func subqueryOf(name string, f function, param float64, e *parser.SubqueryExpr) *node {
	switch f {
	case sumOver, avgOver, minOver, maxOver, countOver, lastOver, quantileOver:
	default:
		return nil
	}
	if e.Timestamp != nil || e.StartOrEnd != 0 || e.RangeExpr != nil || e.StepExpr != nil || e.OriginalOffsetExpr != nil || e.Range <= 0 {
		return nil
	}
	inner := nodeOf(e.Expr)
	if inner == nil {
		inner = selector(e.Expr)
	}
	if inner == nil || inner.askingEngine() {
		return nil
	}
	return &node{inner: inner, subquery: true, function: f, name: name, param: param, window: e.Range.Milliseconds(),
		step: e.Step.Milliseconds(), offset: e.OriginalOffset.Milliseconds(), position: e.PositionRange()}
}

// askingEngine says whether a part of it is evaluated by the engine, which does so at the query's times.
func (n *node) askingEngine() bool {
	return n.rest != nil || n.inner != nil && n.inner.askingEngine()
}

// subquery evaluates one. Its times are multiples of its step, as the engine has them.
func (r *run) subquery(n *node) ([]row, error) {
	step := n.step
	if step == 0 {
		step = r.interval
	}
	first := r.at.start - n.offset - n.window
	start := step * (first / step)
	if start <= first {
		start += step
	}
	end := r.at.end() - n.offset
	if end < start {
		return nil, nil
	}
	count := (end-start)/step + 1
	if count > 1<<20 {
		return nil, errUnfit
	}
	if err := r.budget.Points(count, "points of "+n.name+" over a subquery"); err != nil {
		return nil, err
	}
	inside := &run{ctx: r.ctx, store: r.store, budget: r.budget, at: steps{start, step, int(count)}, lookback: r.lookback, interval: r.interval}
	defer inside.drop()
	rows, err := inside.evaluate(n.inner)
	r.read.Add(inside.read.Load())
	if err != nil {
		return nil, err
	}
	if len(inside.notes) > 0 {
		r.mu.Lock()
		r.notes.Merge(inside.notes)
		r.mu.Unlock()
	}
	results := make([]row, len(rows))
	err = r.parallel(len(rows), func(i int, memory *scratch) error {
		if rows[i].hists != nil {
			return errUnfit
		}
		// The steps without a result are taken out of both.
		memory.times = memory.times[:0]
		for k := range count {
			memory.times = append(memory.times, start+k*step)
		}
		memory.values = rows[i].values
		memory.ended = r.ended
		if err := r.ready(memory); err != nil {
			return err
		}
		found := n.evaluate(r.at, r.lookback, memory)
		if r.ended() {
			return context.Cause(r.ctx)
		}
		if !found {
			return nil
		}
		if err := r.hold(rowBytes*int64(r.at.n)+rowSize, "results of the subquery"); err != nil {
			return err
		}
		set := rows[i].labels
		if !n.keepsName() {
			set = set.DropReserved(schema.IsMetadataLabel)
		}
		results[i] = row{labels: set, values: append([]float64(nil), memory.row...)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	kept := results[:0]
	for _, one := range results {
		if one.values != nil {
			kept = append(kept, one)
		}
	}
	return kept, unique(kept)
}
