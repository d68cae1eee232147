package tsdb

// What the store cannot take for reasons of its own, and not of the sender's: whoever runs it has to know, because not
// every sender does. A statsd client is never told.

import (
	"errors"
	"sync"
	"time"
)

// Refusing says since when the store refuses samples, and why.
type Refusing struct {
	Since, Last time.Time
	Reason      Reason // of the last one: StorageError, MemoryLimit, SeriesLimit or SeriesRate
	Detail      string
	Samples     uint64 // refused since then, once for each time they were sent
}

// refusedFor is how long after the last refusal the store counts as refusing: clients try again within less.
const refusedFor = time.Minute

type refusals struct {
	mu  sync.Mutex
	now Refusing
}

func (r *refusals) note(reason Reason, detail string, n int, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.now.Last); age > refusedFor || age < 0 { // below 0, the clock was set back
		r.now = Refusing{Since: now}
	}
	r.now.Last, r.now.Reason, r.now.Detail = now, reason, detail
	r.now.Samples += uint64(n)
}

// current is nil when nothing was refused lately.
func (r *refusals) current(now time.Time) *Refusing {
	r.mu.Lock()
	defer r.mu.Unlock()
	if age := now.Sub(r.now.Last); r.now.Samples == 0 || age > refusedFor || age < 0 {
		return nil
	}
	one := r.now
	return &one
}

// ours says whether the reason for a refusal is the store's.
func (r Reason) ours() bool {
	return r == StorageError || r == MemoryLimit || r == SeriesLimit || r == SeriesRate
}

// refused counts a batch that was not taken at all.
func (s *Store) refused(n int, reason Reason, err error) error {
	if !errors.Is(err, ErrClosed) {
		s.counts.reject(reason, n)
		s.counts.refusals.note(reason, err.Error(), n, s.options.Now())
	}
	return err
}
