package budget

// Turns on the processors. Goroutines that compute without a pause get ten milliseconds each from Go's scheduler, one after the
// other, and a request with samples waits for all of them at each step of its way. So no more of them compute at a time than
// there are processors, as far as they come by here often enough.

import "time"

// turnWait is how long one waits for its turn: who has it may compute for long without coming by.
const turnWait = 20 * time.Millisecond

// Turn is one goroutine's.
type Turn struct {
	places chan struct{}
	held   bool
}

// Turn is a goroutine's turn to compute for the query; it has not got it yet.
func (b *Budget) Turn() Turn {
	if b == nil {
		return Turn{}
	}
	return Turn{places: b.pool.processors}
}

// Take waits for the turn, but not for long.
func (t *Turn) Take() {
	if t.places == nil || t.held {
		return
	}
	select {
	case t.places <- struct{}{}:
		t.held = true
		return
	default:
	}
	timer := time.NewTimer(turnWait)
	defer timer.Stop()
	select {
	case t.places <- struct{}{}:
		t.held = true
	case <-timer.C:
	}
}

// Give lets the next one compute.
func (t *Turn) Give() {
	if t.held {
		<-t.places
		t.held = false
	}
}

// Pass lets others compute that wait, and goes on after them.
func (t *Turn) Pass() {
	t.Give()
	t.Take()
}

// Engine is the turn of the one goroutine in which Prometheus' engine evaluates the query. A nil budget has none to wait for.
func (b *Budget) Engine() *Turn {
	if b == nil {
		return &Turn{}
	}
	return &b.engine
}
