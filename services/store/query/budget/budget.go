// Package budget bounds what queries may take: the bytes that all of them hold together, the bytes of one, and at how many
// points in time one may be evaluated. Whoever allocates for a query charges its Budget, which travels in the context.
//
// Bytes come out of one Pool. A query that asks for more than one may have is refused with an Exceeded; one for which the pool
// has nothing left waits its turn, callers being served one after the other, until others end. When all that hold some wait
// for more, none of them would ever end: then the youngest is refused with a Busy.
package budget

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
)

// The names of the settings, for errors.
const (
	PoolSetting   = "limits.queries_mib"
	QuerySetting  = "limits.query_mib"
	PointsSetting = "limits.query_points"
	MemorySetting = "limits.memory_mib"
)

// Limits are what a pool grants.
type Limits struct {
	Pool    int64 // bytes of all queries
	Query   int64 // bytes of one
	Points  int64 // points in time at which the parts of one are evaluated
	Running int   // queries at a time
	Waiting int   // that wait for their turn
	// Own is the caller that others cannot keep waiting: the appliance itself, which evaluates threshold rules. It has a place and Reserve
	// bytes of the pool that nobody else gets, and its turn comes first.
	Own     string
	Reserve int64
}

// Reason is why a query was refused, for counting.
type Reason string

// The reasons.
const (
	QueryBytes  Reason = "query_bytes"  // it wants more than one query may have
	QueryPoints Reason = "query_points" // it is evaluated at too many points in time
	PoolBytes   Reason = "pool_bytes"   // others hold what it needs, and none of them would end
	QueueFull   Reason = "queue_full"   // too many wait already
	Memory      Reason = "memory"       // the process is near its limit
	Deadline    Reason = "deadline"     // its time was up
)

// Reasons are all of them.
var Reasons = []Reason{QueryBytes, QueryPoints, PoolBytes, QueueFull, Memory, Deadline}

// Exceeded is a query that asks for more than one may have.
type Exceeded struct {
	Reason Reason
	What   string // what it wanted the last of it for
	Asked  int64  // in total; math.MaxInt64 for more than can be counted
	Limit  int64
}

func (e *Exceeded) Error() string {
	if e.Reason == QueryPoints {
		return fmt.Sprintf("the query would be evaluated at %s points in time (%s), %s = %d is the limit; "+
			"ask for a shorter range or a larger step of its subqueries, or raise %s", count(e.Asked), e.What, PointsSetting, e.Limit, PointsSetting)
	}
	return fmt.Sprintf("the query needs %s of memory (%s), %s = %d is the limit; ask for a shorter time, a larger step or fewer series, or raise %s or %s",
		Size(e.Asked), e.What, QuerySetting, e.Limit>>20, QuerySetting, MemorySetting)
}

// Busy is a query that cannot be answered now because of what others do.
type Busy struct {
	Reason Reason
	Words  string
}

func (b *Busy) Error() string { return b.Words }

// Size is bytes in words.
func Size(bytes int64) string {
	switch {
	case bytes == math.MaxInt64:
		return "more than 8 EiB"
	case bytes >= 10<<30:
		return fmt.Sprintf("%d GiB", bytes>>30)
	case bytes >= 10<<20:
		return fmt.Sprintf("%d MiB", bytes>>20)
	}
	return fmt.Sprintf("%d KiB", (bytes+1023)>>10)
}

func count(n int64) string {
	if n == math.MaxInt64 {
		return "more than 9 × 10^18"
	}
	return fmt.Sprint(n)
}

// Budget is one query's. All methods of a nil one do nothing: whoever asks without one is not bounded.
type Budget struct {
	pool   *Pool
	caller string
	began  uint64 // greater than that of every query that came before
	cancel context.CancelCauseFunc

	charged atomic.Int64 // bytes
	most    atomic.Int64 // that were charged at a time
	points  atomic.Int64

	// Guarded by the pool's mutex.
	granted int64 // of the pool; never less than charged
	refused Reason

	engine Turn
	settle sync.Mutex // one goroutine at a time asks the pool
}

type key struct{}

// From is the budget of a context, nil when it has none.
func From(ctx context.Context) *Budget {
	b, _ := ctx.Value(key{}).(*Budget)
	return b
}

// grain is the least that is taken from the pool at a time, so that it is not asked for every row.
const grain = 256 << 10

// Charge counts bytes that are about to be allocated, and says what for. It may wait for other queries to end.
func (b *Budget) Charge(ctx context.Context, bytes int64, what string) error {
	if b == nil || bytes <= 0 {
		return nil
	}
	now := b.charged.Add(bytes)
	if now < 0 || now > b.pool.limits.Query {
		b.charged.Add(-bytes)
		if now < 0 {
			now = math.MaxInt64
		}
		return b.Refuse(&Exceeded{QueryBytes, what, now, b.pool.limits.Query})
	}
	for {
		most := b.most.Load()
		if now <= most {
			return nil // the pool has granted as much before
		}
		if err := b.grow(ctx, now, what); err != nil {
			b.charged.Add(-bytes)
			return err
		}
	}
}

// Room returns an error when so many bytes more cannot be charged at all. It does not wait.
func (b *Budget) Room(bytes int64, what string) error {
	if b == nil {
		return nil
	}
	if would := Add(b.charged.Load(), bytes); would > b.pool.limits.Query {
		return b.Refuse(&Exceeded{QueryBytes, what, would, b.pool.limits.Query})
	}
	return nil
}

// Charged is how many bytes are charged now.
func (b *Budget) Charged() int64 {
	if b == nil {
		return 0
	}
	return b.charged.Load()
}

// Again makes the budget that of another query of the same request, which holds nothing yet.
func (b *Budget) Again() {
	if b != nil {
		b.charged.Store(0)
		b.points.Store(0)
	}
}

// grow takes what is missing from the pool.
func (b *Budget) grow(ctx context.Context, to int64, what string) error {
	b.settle.Lock()
	defer b.settle.Unlock()
	if to <= b.most.Load() {
		return nil
	}
	wanted := min((to+grain-1)/grain*grain, max(to, b.pool.limits.Query))
	if err := b.pool.take(ctx, b, wanted, what); err != nil {
		return err
	}
	b.most.Store(wanted)
	return nil
}

// Return says that bytes which were charged are not held any more. The query keeps its part of the pool for what comes.
func (b *Budget) Return(bytes int64) {
	if b != nil {
		b.charged.Add(-bytes)
	}
}

// Left is how many bytes more it may charge.
func (b *Budget) Left() int64 {
	if b == nil {
		return math.MaxInt64 / 2
	}
	return max(0, b.pool.limits.Query-b.charged.Load())
}

// Points counts points in time at which a part of the query is to be evaluated.
func (b *Budget) Points(n int64, what string) error {
	if b == nil || n <= 0 {
		return nil
	}
	now := b.points.Add(n)
	if now < 0 || now > b.pool.limits.Points {
		b.points.Add(-n)
		if now < 0 {
			now = math.MaxInt64
		}
		return b.Refuse(&Exceeded{QueryPoints, what, now, b.pool.limits.Points})
	}
	return nil
}

// Refuse counts what somebody else found out, and returns it.
func (b *Budget) Refuse(err *Exceeded) error {
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	b.note(err.Reason)
	return err
}

// Limit is how many bytes one query may have.
func (b *Budget) Limit() int64 {
	if b == nil {
		return math.MaxInt64
	}
	return b.pool.limits.Query
}

// note counts a refusal, once for each query. The caller holds the pool's mutex.
func (b *Budget) note(reason Reason) {
	if b.refused == "" {
		b.refused = reason
		b.pool.refused[reason]++
	}
}

// Late counts a query whose time was up.
func (b *Budget) Late() {
	if b == nil {
		return
	}
	b.pool.mu.Lock()
	defer b.pool.mu.Unlock()
	b.note(Deadline)
}

// End gives everything back. The budget must not be charged any more.
func (b *Budget) End() {
	if b == nil {
		return
	}
	p := b.pool
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, running := p.running[b]; !running {
		return
	}
	delete(p.running, b)
	p.used -= b.granted
	p.ended += b.granted
	b.granted = 0
	b.cancel(nil)
	p.serve()
}

// Multiply is a × b, at most math.MaxInt64; neither is negative.
func Multiply(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// Add is the sum of all, at most math.MaxInt64; none is negative.
func Add(all ...int64) int64 {
	sum := int64(0)
	for _, n := range all {
		if n > math.MaxInt64-sum {
			return math.MaxInt64
		}
		sum += n
	}
	return sum
}

// Status is what the pool does now, and what it refused since it was made.
type Status struct {
	Running, Waiting int
	Bytes            int64
	Refused          map[Reason]uint64
}
