package budget

// The pool: whose turn it is.

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
)

// Pool is what all queries share. Make one with New.
type Pool struct {
	limits Limits

	mu      sync.Mutex
	used    int64
	ended   int64 // bytes that queries which have ended had, since their garbage was collected
	next    uint64
	running map[*Budget]struct{}
	refused map[Reason]uint64
	// Those that wait, by caller; the callers are served one after the other, beginning with turns[0]. Queries that run and
	// need more bytes come before those that have not begun: they end sooner.
	bytes, places queue

	wake       chan struct{} // rings when the first query begins
	processors chan struct{} // see Turn
}

// New makes a pool.
func New(limits Limits) *Pool {
	return &Pool{limits: limits, running: map[*Budget]struct{}{}, refused: map[Reason]uint64{}, wake: make(chan struct{}, 1),
		processors: make(chan struct{}, runtime.GOMAXPROCS(0)),
		bytes:      queue{own: limits.Own, byCaller: map[string][]*waiter{}}, places: queue{own: limits.Own, byCaller: map[string][]*waiter{}}}
}

// Limits are what the pool was made with.
func (p *Pool) Limits() Limits { return p.limits }

// waiter is one goroutine that waits for its turn.
type waiter struct {
	of     *Budget
	total  int64      // how much of the pool the query has then
	result chan error // buffered: whoever decides does not wait
}

// queue is waiters in a fair order.
type queue struct {
	own      string // is served first
	byCaller map[string][]*waiter
	turns    []string // callers that have waiters
	length   int
}

func (q *queue) add(w *waiter) {
	list := q.byCaller[w.of.caller]
	if len(list) == 0 {
		q.turns = append(q.turns, w.of.caller)
	}
	q.byCaller[w.of.caller] = append(list, w)
	q.length++
}

func (q *queue) remove(w *waiter) bool {
	list := q.byCaller[w.of.caller]
	at := slices.Index(list, w)
	if at < 0 {
		return false
	}
	if list = slices.Delete(list, at, at+1); len(list) == 0 {
		delete(q.byCaller, w.of.caller)
		q.turns = slices.DeleteFunc(q.turns, func(caller string) bool { return caller == w.of.caller })
	} else {
		q.byCaller[w.of.caller] = list
	}
	q.length--
	return true
}

// served moves a caller behind the others.
func (q *queue) served(caller string) {
	if at := slices.Index(q.turns, caller); at >= 0 {
		q.turns = append(slices.Delete(q.turns, at, at+1), caller)
	}
}

// first is the first waiter, in the callers' order, that suits.
func (q *queue) first(suits func(*waiter) bool) *waiter {
	if list := q.byCaller[q.own]; len(list) > 0 && suits(list[0]) {
		return list[0]
	}
	for _, caller := range q.turns {
		if w := q.byCaller[caller][0]; suits(w) {
			return w
		}
	}
	return nil
}

// Admit waits for a place among the running queries. The context that it returns has the budget, and ends with the query.
func (p *Pool) Admit(ctx context.Context, caller string) (context.Context, *Budget, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	b := &Budget{pool: p, caller: caller, engine: Turn{places: p.processors}}
	ctx, b.cancel = context.WithCancelCause(context.WithValue(ctx, key{}, b))
	w := &waiter{of: b, result: make(chan error, 1)}
	p.mu.Lock()
	p.places.add(w)
	p.serve()
	full := !p.isOwn(b) && p.places.length > p.limits.Waiting && p.places.remove(w)
	if full {
		b.note(QueueFull)
	}
	p.mu.Unlock()
	if full {
		b.cancel(nil)
		return nil, nil, &Busy{QueueFull, fmt.Sprintf("too many queries are waiting: %d run at a time and %d may wait; ask again in a moment, or ask for less at a time",
			p.limits.Running, p.limits.Waiting)}
	}
	if err := p.wait(ctx, &p.places, w, "waiting for other queries to end"); err != nil {
		b.cancel(nil)
		return nil, nil, err
	}
	return ctx, b, nil
}

// isOwn says whether a query is the appliance's own, for which something is kept free.
func (p *Pool) isOwn(b *Budget) bool { return p.limits.Own != "" && b.caller == p.limits.Own }

// most is how much of the pool may be taken when a query gets more.
func (p *Pool) most(b *Budget) int64 {
	if p.isOwn(b) {
		return p.limits.Pool
	}
	return p.limits.Pool - p.limits.Reserve
}

// mayBegin says whether there is a place for a query. The caller holds the mutex.
func (p *Pool) mayBegin(b *Budget) bool {
	if p.isOwn(b) {
		return len(p.running) <= p.limits.Running // there is one more
	}
	// Nothing new begins while somebody waits for bytes: large queries would never get theirs.
	return p.bytes.length == 0 && len(p.running) < p.limits.Running
}

// Aside is a budget for what takes no turn because it is small and must not be late. It is charged like any other.
func (p *Pool) Aside(ctx context.Context, caller string) (context.Context, *Budget) {
	b := &Budget{pool: p, caller: caller, engine: Turn{places: p.processors}}
	ctx, b.cancel = context.WithCancelCause(context.WithValue(ctx, key{}, b))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(b)
	return ctx, b
}

// begin makes the query one of those that run. The caller holds the mutex.
func (p *Pool) begin(b *Budget) {
	p.next++
	b.began = p.next
	p.running[b] = struct{}{}
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

// take gives the query so much of the pool in total.
func (p *Pool) take(ctx context.Context, b *Budget, total int64, what string) error {
	w := &waiter{of: b, total: total, result: make(chan error, 1)}
	p.mu.Lock()
	if more := total - b.granted; (p.bytes.length == 0 || p.isOwn(b)) && p.used+more <= p.most(b) {
		p.used += more
		b.granted = total
		p.mu.Unlock()
		return nil
	}
	p.bytes.add(w)
	p.serve()
	p.mu.Unlock()
	return p.wait(ctx, &p.bytes, w, "waiting for memory that other queries hold ("+what+")")
}

// wait is until the waiter's turn, or the context's end.
func (p *Pool) wait(ctx context.Context, q *queue, w *waiter, doing string) error {
	select {
	case err := <-w.result:
		return err
	case <-ctx.Done():
	}
	p.mu.Lock()
	still := q.remove(w)
	p.serve()
	p.mu.Unlock()
	if !still { // its turn came meanwhile
		return <-w.result
	}
	return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
}

// serve lets those go on whose turn it is. The caller holds the mutex.
func (p *Pool) serve() {
	for {
		w := p.bytes.first(func(w *waiter) bool { return p.used+w.total-w.of.granted <= p.most(w.of) })
		if w == nil {
			break
		}
		p.bytes.remove(w)
		p.bytes.served(w.of.caller)
		p.used += w.total - w.of.granted
		w.of.granted = w.total
		w.result <- nil
	}
	for {
		w := p.places.first(func(w *waiter) bool { return p.mayBegin(w.of) })
		if w == nil {
			break
		}
		p.places.remove(w)
		p.places.served(w.of.caller)
		p.begin(w.of)
		w.result <- nil
	}
	p.unlock()
}

// unlock refuses the youngest of the queries that wait for bytes when all that hold some do.
func (p *Pool) unlock() {
	if p.bytes.length == 0 {
		return
	}
	var youngest *Budget
	for b := range p.running {
		waits := slices.ContainsFunc(p.bytes.byCaller[b.caller], func(w *waiter) bool { return w.of == b })
		if !waits {
			if b.granted > 0 {
				return // it ends, and gives some back
			}
			continue
		}
		if youngest == nil || b.began > youngest.began {
			youngest = b
		}
	}
	if youngest == nil {
		return
	}
	youngest.note(PoolBytes)
	for _, w := range slices.Clone(p.bytes.byCaller[youngest.caller]) {
		if w.of == youngest {
			p.bytes.remove(w)
			w.result <- &Busy{PoolBytes, fmt.Sprintf("other queries hold the memory that this one needs: %s = %d is for all together; "+
				"ask again in a moment, for a shorter time or fewer series, or raise %s or %s", PoolSetting, p.limits.Pool>>20, PoolSetting, MemorySetting)}
		}
	}
}

// Status is what the pool does now.
func (p *Pool) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Status{len(p.running), p.places.length + p.bytes.length, p.used, maps.Clone(p.refused)}
}
