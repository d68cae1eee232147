package senders

// How much came within an hour, and how much may come a second.

import (
	"math"
	"time"
)

// hour counts what happened within the last hour, to five minutes.
type hour struct {
	counts [12]uint32
	slot   int64 // of the newest count, in five minutes since 1970
}

const slotSeconds = 300

func (h *hour) move(now time.Time) {
	slot := now.Unix() / slotSeconds
	if slot < h.slot { // the clock was set back
		h.counts = [12]uint32{}
	}
	for n := min(slot-h.slot, 12); n > 0; n-- {
		h.counts[(slot-n+1)%12] = 0
	}
	h.slot = slot
}

func (h *hour) add(now time.Time, n int) {
	h.move(now)
	one := &h.counts[h.slot%12]
	*one = uint32(min(uint64(*one)+uint64(n), math.MaxUint32))
}

func (h *hour) sum(now time.Time) (n uint64) {
	h.move(now)
	for _, one := range h.counts {
		n += uint64(one)
	}
	return n
}

// bucket lets so many through a second on average, and so many at once.
type bucket struct {
	tokens float64
	last   time.Time
}

func (b *bucket) has(now time.Time, perSecond, burst int) bool {
	if elapsed := now.Sub(b.last).Seconds(); elapsed > 0 && !b.last.IsZero() {
		b.tokens = min(float64(burst), b.tokens+elapsed*float64(perSecond))
	}
	b.last = now
	return b.tokens >= 1
}

// lend takes n of perSecond a second, and of samplesAtOnce as many at once, if there is any left.
func (b *bucket) lend(now time.Time, perSecond, n int) bool {
	most := float64(perSecond) * samplesAtOnce
	if b.last.IsZero() {
		b.tokens = most
	} else if elapsed := now.Sub(b.last).Seconds(); elapsed > 0 {
		b.tokens = min(most, b.tokens+elapsed*float64(perSecond))
	}
	b.last = now
	if b.tokens <= 0 {
		return false
	}
	b.tokens -= float64(n)
	return true
}
