package tsdb

// How many new series may come, and what was accepted and refused.

import (
	"errors"
	"io"
	"maps"
	"sync"
	"sync/atomic"
	"time"
)

// bucket lets perSecond through on average and burst at once. Guarded by its user.
type bucket struct {
	perSecond, burst, tokens float64
	last                     time.Time
}

func (b *bucket) refill(now time.Time) {
	if elapsed := now.Sub(b.last).Seconds(); elapsed > 0 && !b.last.IsZero() {
		b.tokens = min(b.burst, b.tokens+elapsed*b.perSecond)
	}
	b.last = now
}

func (b *bucket) take() bool {
	if b.tokens < 1 {
		return false
	}
	b.tokens--
	return true
}

type counts struct {
	mu       sync.Mutex
	accepted map[string]uint64
	rejected map[Reason]uint64
	// For the rate: how much was accepted when, a second or more ago.
	total, markTotal uint64
	mark             time.Time
	rate             float64
	started          time.Time
	damaged          damageList
	refusals         refusals
	flushFailures    atomic.Uint64
	merges           atomic.Uint64
	replaced         *replacements
}

func (c *counts) init(clock func() time.Time) {
	now := clock()
	c.replaced = newReplacements(clock)
	c.accepted, c.rejected, c.mark, c.started = map[string]uint64{}, map[Reason]uint64{}, now, now
}

func (c *counts) accept(input string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.accepted[input] += uint64(n)
	c.total += uint64(n)
}

func (c *counts) reject(reason Reason, n int) {
	if n == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.rejected[reason] += uint64(n)
}

// measure brings the rate up to date; maintain calls it about once a second.
func (c *counts) measure(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if elapsed := now.Sub(c.mark).Seconds(); elapsed >= 0.5 {
		c.rate = float64(c.total-c.markTotal) / elapsed
		c.mark, c.markTotal = now, c.total
	}
}

func (c *counts) snapshot() (accepted map[string]uint64, rejected map[Reason]uint64, rate float64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.accepted), maps.Clone(c.rejected), c.rate
}

func isEOF(err error) bool { return errors.Is(err, io.EOF) }
