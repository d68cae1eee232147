package budget

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const mib = 1 << 20

func admit(t *testing.T, p *Pool, caller string) (context.Context, *Budget) {
	t.Helper()
	ctx, b, err := p.Admit(t.Context(), caller)
	if err != nil {
		t.Fatal(err)
	}
	return ctx, b
}

func until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !holds(); {
		if time.Now().After(end) {
			t.Fatalf("not %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestOverItsOwnLimit(t *testing.T) {
	p := New(Limits{Pool: 8 * mib, Query: 4 * mib, Points: 100, Running: 2})
	ctx, b := admit(t, p, "a")
	if err := b.Charge(ctx, 3*mib, "rows"); err != nil {
		t.Fatal(err)
	}
	err := b.Charge(ctx, 2*mib, "points of x[1h:1s]")
	var exceeded *Exceeded
	if !errors.As(err, &exceeded) || exceeded.Asked != 5*mib {
		t.Fatal(err)
	}
	for _, word := range []string{"5120 KiB", "points of x[1h:1s]", "limits.query_mib = 4", "larger step"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q is not in: %v", word, err)
		}
	}
	if err := b.Charge(ctx, math.MaxInt64, "labels"); !errors.As(err, &exceeded) || exceeded.Asked != math.MaxInt64 {
		t.Error(err)
	}
	b.Return(mib)
	if err := b.Charge(ctx, 2*mib, "rows"); err != nil { // what was refused is not charged
		t.Error(err)
	}
	if err := b.Points(100, "x"); err != nil {
		t.Error(err)
	}
	if err := b.Points(1, "x[1y:1ms]"); err == nil || !strings.Contains(err.Error(), "limits.query_points = 100") || !strings.Contains(err.Error(), "101 points") {
		t.Error(err)
	}
	b.End()
	b.End() // does nothing
	if now := p.Status(); now.Bytes != 0 || now.Running != 0 || now.Refused[QueryBytes] != 1 {
		t.Errorf("%+v", now)
	}
}

// Whoever has nothing left to take waits until somebody ends, and those of other callers come in between.
func TestTurns(t *testing.T) {
	p := New(Limits{Pool: 4 * mib, Query: 4 * mib, Running: 1, Waiting: 10})
	_, first := admit(t, p, "greedy")
	var mu sync.Mutex
	var order []string
	var all sync.WaitGroup
	ask := func(caller string, waiting int) {
		all.Go(func() {
			_, b, err := p.Admit(t.Context(), caller)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			order = append(order, caller)
			mu.Unlock()
			b.End()
		})
		until(t, "waiting", func() bool { return p.Status().Waiting == waiting })
	}
	for i, caller := range []string{"greedy", "greedy", "greedy", "modest", "other", "modest"} {
		ask(caller, i+1)
	}
	first.End()
	all.Wait()
	if got := fmt.Sprint(order); got != "[greedy modest other greedy modest greedy]" {
		t.Error(got)
	}
}

func TestWaitsForBytes(t *testing.T) {
	p := New(Limits{Pool: 4 * mib, Query: 4 * mib, Running: 3, Waiting: 1})
	ctx, large := admit(t, p, "a")
	if err := large.Charge(ctx, 3*mib, "rows"); err != nil {
		t.Fatal(err)
	}
	later, small := admit(t, p, "b")
	var done atomic.Bool
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if err := small.Charge(later, 2*mib, "rows"); err != nil {
			t.Error(err)
		}
		done.Store(true)
	})
	until(t, "waiting", func() bool { return p.Status().Waiting == 1 })
	// Nobody begins before it.
	brief, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if _, _, err := p.Admit(brief, "c"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if done.Load() {
		t.Error("it did not wait")
	}
	large.End()
	waiting.Wait()
	small.End()
	if now := p.Status(); now.Bytes != 0 || now.Waiting != 0 {
		t.Errorf("%+v", now)
	}
}

// Two that hold some and want what the other has would wait for ever: the younger is refused.
func TestNobodyWaitsForEver(t *testing.T) {
	p := New(Limits{Pool: 4 * mib, Query: 4 * mib, Running: 2})
	ctx, elder := admit(t, p, "a")
	later, younger := admit(t, p, "b")
	for ctx, b := range map[context.Context]*Budget{ctx: elder, later: younger} {
		if err := b.Charge(ctx, 2*mib, "rows"); err != nil {
			t.Fatal(err)
		}
	}
	var both sync.WaitGroup
	both.Go(func() {
		defer elder.End()
		if err := elder.Charge(ctx, mib, "more"); err != nil {
			t.Error(err)
		}
	})
	both.Go(func() {
		defer younger.End()
		var busy *Busy
		if err := younger.Charge(later, mib, "more"); !errors.As(err, &busy) || !strings.Contains(err.Error(), "limits.queries_mib = 4") {
			t.Error(err)
		}
	})
	both.Wait()
	if now := p.Status(); now.Refused[PoolBytes] != 1 || now.Bytes != 0 {
		t.Errorf("%+v", now)
	}
}

func TestQueueIsFull(t *testing.T) {
	p := New(Limits{Pool: mib, Query: mib, Running: 1})
	_, b := admit(t, p, "a")
	defer b.End()
	var busy *Busy
	if _, _, err := p.Admit(t.Context(), "b"); !errors.As(err, &busy) || busy.Reason != QueueFull {
		t.Error(err)
	}
}

// Near the process's limit the query that holds most is ended.
func TestShortOfMemory(t *testing.T) {
	p := New(Limits{Pool: 8 * mib, Query: 8 * mib, Running: 2})
	var memory atomic.Int64
	stop, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		p.watchBy(stop, watch{100 * mib, func() usage { return usage{held: memory.Load()} }, func() {}})
	})
	ctx, large := admit(t, p, "a")
	later, small := admit(t, p, "b")
	_ = large.Charge(ctx, 2*mib, "rows")
	_ = small.Charge(later, mib, "rows")
	time.Sleep(5 * every) // it has seen how much there was before
	memory.Store(200 * mib)
	<-ctx.Done()
	memory.Store(0)
	var busy *Busy
	if err := context.Cause(ctx); !errors.As(err, &busy) || !strings.Contains(err.Error(), "limits.memory_mib") || later.Err() != nil {
		t.Error(err, later.Err())
	}
	large.End()
	small.End()
	cancel()
	watching.Wait()
	if now := p.Status(); now.Refused[Memory] != 1 {
		t.Errorf("%+v", now)
	}
}

// Who is near the limit without any query ends none for it.
func TestWhoIsBlamedForMemory(t *testing.T) {
	w := watch{limit: 160 * mib}
	for _, c := range []struct {
		why        string
		first, now usage
		charged    int64
		blames     bool
	}{
		{"there is room", usage{held: 20 * mib}, usage{held: 150 * mib, live: 120 * mib}, 100 * mib, false},
		{"a query says that it holds much", usage{held: 159 * mib}, usage{held: 160 * mib}, 10 * mib, true},
		{"nobody charged it", usage{held: 100 * mib, live: 90 * mib}, usage{held: 160 * mib, live: 150 * mib}, mib, true},
		{"it is garbage", usage{held: 130 * mib, live: 120 * mib}, usage{held: 165 * mib, live: 122 * mib}, mib, false},
		{"it is the store's", usage{held: 130 * mib, live: 120 * mib, others: 80 * mib}, usage{held: 165 * mib, live: 150 * mib, others: 108 * mib}, mib, false},
		{"whatever it is, it is far too much", usage{held: 130 * mib, live: 120 * mib, others: 80 * mib}, usage{held: 180 * mib, live: 150 * mib, others: 108 * mib}, mib, true},
	} {
		if w.blames(c.first, c.now, c.charged) != c.blames {
			t.Errorf("%s: want %v", c.why, c.blames)
		}
	}
}

// What a large query leaves behind is collected before anybody is blamed for it, and once.
func TestGarbageOfOthersIsCollected(t *testing.T) {
	p := New(Limits{Pool: 64 * mib, Query: 64 * mib, Running: 2})
	var memory, collections atomic.Int64
	memory.Store(50 * mib)
	stop, cancel := context.WithCancel(t.Context())
	var watching sync.WaitGroup
	watching.Go(func() {
		p.watchBy(stop, watch{100 * mib, func() usage { return usage{held: memory.Load(), live: 50 * mib} }, func() {
			memory.Store(50 * mib)
			collections.Add(1)
		}})
	})
	ctx, large := admit(t, p, "a")
	if err := large.Charge(ctx, 40*mib, "rows"); err != nil {
		t.Fatal(err)
	}
	memory.Store(99 * mib)
	large.End()
	ctx, after := admit(t, p, "b")
	if err := after.Charge(ctx, 20*mib, "rows"); err != nil { // enough to be blamed for, were it all that is too much
		t.Fatal(err)
	}
	memory.Add(2 * mib)
	until(t, "collected", func() bool { return collections.Load() > 0 })
	if ctx.Err() != nil {
		t.Error(context.Cause(ctx))
	}
	// There is nothing more to collect: now it is the query's.
	memory.Store(101 * mib)
	<-ctx.Done()
	if n := collections.Load(); n != 1 {
		t.Errorf("garbage was collected %d times", n)
	}
	after.End()
	cancel()
	watching.Wait()
}

// Many at a time: the pool is never overdrawn, everybody ends, and everything is given back.
func TestManyAtATime(t *testing.T) {
	const pool = 8 * mib
	p := New(Limits{Pool: pool, Query: 4 * mib, Running: 6, Waiting: 1000})
	var all sync.WaitGroup
	var refused atomic.Int64
	for i := range 200 {
		all.Go(func() {
			ctx, b, err := p.Admit(t.Context(), fmt.Sprint(i%7))
			if err != nil {
				t.Error(err)
				return
			}
			defer b.End()
			var workers sync.WaitGroup
			for range 2 {
				workers.Go(func() {
					for range 10 {
						if err := b.Charge(ctx, mib/8, "rows"); err != nil {
							refused.Add(1)
							return
						}
						if now := p.Status().Bytes; now > pool {
							t.Errorf("%d bytes are taken", now)
						}
					}
				})
			}
			workers.Wait()
		})
	}
	all.Wait()
	if now := p.Status(); now.Bytes != 0 || now.Running != 0 || now.Waiting != 0 {
		t.Errorf("%+v", now)
	}
	t.Logf("%d times there was nothing left and nobody would have ended", refused.Load())
}

func TestCounting(t *testing.T) {
	if Multiply(1<<40, 1<<40) != math.MaxInt64 || Multiply(0, 5) != 0 || Multiply(3, 5) != 15 || Add(math.MaxInt64, 1) != math.MaxInt64 || Add(1, 2, 3) != 6 {
		t.Error("wrong")
	}
}

// As many compute at a time as there are processors; who waits long goes on all the same.
func TestTurnsOnProcessors(t *testing.T) {
	p := New(Limits{Pool: mib, Query: mib, Running: 100, Waiting: 1})
	_, b := admit(t, p, "a")
	defer b.End()
	places := cap(p.processors)
	turns := make([]Turn, places+1)
	for i := range turns {
		turns[i] = b.Turn()
		if turns[i].Take(); turns[i].held != (i < places) {
			t.Errorf("turn %d of %d: %v", i, places, turns[i].held)
		}
	}
	for i := range turns {
		turns[i].Pass() // one after the other they get one
		turns[i].Give()
		turns[i].Give() // does nothing
	}
	if len(p.processors) != 0 {
		t.Errorf("%d turns were not given back", len(p.processors))
	}
	var nobody *Budget
	one := nobody.Turn()
	one.Take()
	one.Pass()
	nobody.Engine().Pass()
}

// What a viewer asks keeps no threshold rule waiting: neither many queries, nor large ones that do not end.
func TestTheApplianceHasItsOwn(t *testing.T) {
	p := New(Limits{Pool: 8 * mib, Query: 6 * mib, Running: 2, Waiting: 3, Own: "this machine", Reserve: mib})
	first, a := admit(t, p, "viewer")
	defer a.End()
	_, b := admit(t, p, "viewer")
	defer b.End()
	if err := a.Charge(first, 5*mib, "rows"); err != nil {
		t.Fatal(err)
	}
	others, leave := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range 3 {
		waiting.Go(func() {
			if _, b, err := p.Admit(others, "viewer"); err == nil {
				b.End()
			}
		})
	}
	// One that runs already waits for bytes, too: nothing else begins.
	waiting.Go(func() { _ = b.Charge(context.WithValue(others, key{}, b), 3*mib, "rows") })
	for p.Status().Waiting < 4 {
		time.Sleep(time.Millisecond)
	}
	soon, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	ctx, own, err := p.Admit(soon, "this machine")
	if err != nil {
		t.Fatal(err)
	}
	if err := own.Charge(ctx, mib, "rows"); err != nil {
		t.Error(err)
	}
	own.End()
	leave()
	waiting.Wait()
}

// Without a reserve nobody gets more than is there, and what is reserved is given to nobody else.
func TestTheReserveIsKept(t *testing.T) {
	p := New(Limits{Pool: 4 * mib, Query: 4 * mib, Running: 2, Waiting: 1, Own: "this machine", Reserve: mib})
	ctx, b := admit(t, p, "viewer")
	if err := b.Charge(ctx, 3*mib, "rows"); err != nil {
		t.Fatal(err)
	}
	more, stop := context.WithTimeout(ctx, 20*time.Millisecond)
	defer stop()
	if err := b.Charge(more, mib/2, "rows"); err == nil {
		t.Error("it got what is reserved")
	}
	b.End()
	if now := p.Status(); now.Bytes != 0 || now.Running != 0 {
		t.Errorf("%+v", now)
	}
}
