package tsdb

// Samples that took the place of another one: of two different numbers, or native histograms, of one series and
// millisecond the last one wins. That is right for a correction, and hides a mistake when two senders use one series: so
// they are counted, in all and by series.
//
// A sample is compared with those of its series that the head holds in order and are not compressed yet (the latest
// always, and up to 31 before it), and with the last ones that came late. Older ones are replaced without being counted.

import (
	"math"
	"slices"
	"sync"
	"time"
)

// Replaced is a series whose samples were replaced by others of the same time.
type Replaced struct {
	Key     string
	Samples uint64    // since the start, or since an hour passed without one
	Last    time.Time // when it happened last
	Time    int64     // ms, of the sample that it happened to
	// The numbers of the last one; both NaN of native histograms.
	Before, After float64
}

const (
	// maxReplaced is how many series are listed; those of others are in the total alone.
	maxReplaced    = 1000
	forgetReplaced = time.Hour
	// lateCompared is how many late samples one that comes late is compared with.
	lateCompared = 64
)

type replacements struct {
	now func() time.Time

	mu    sync.Mutex
	total uint64
	byKey map[string]*Replaced
	swept time.Time
}

func newReplacements(now func() time.Time) *replacements {
	return &replacements{now: now, byKey: map[string]*Replaced{}}
}

func (r *replacements) note(key string, t int64, before, after float64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.now()
	r.total++
	one := r.byKey[key]
	if one == nil {
		if len(r.byKey) >= maxReplaced {
			r.sweep(now)
		}
		if len(r.byKey) >= maxReplaced {
			return
		}
		// The head's keys lie together: a small one must not keep a whole arena.
		one = &Replaced{Key: string([]byte(key))}
		r.byKey[one.Key] = one
	}
	one.Samples++
	one.Last, one.Time, one.Before, one.After = now, t, before, after
}

// sweep forgets series to which it has not happened for an hour.
func (r *replacements) sweep(now time.Time) {
	if now.Sub(r.swept) < time.Minute {
		return
	}
	r.swept = now
	for key, one := range r.byKey {
		if now.Sub(one.Last) > forgetReplaced {
			delete(r.byKey, key)
		}
	}
}

func (r *replacements) count() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}

// Replaced is the series whose samples were replaced, those with the most first, and at most limit of them.
func (s *Store) Replaced(limit int) []Replaced {
	r := s.counts.replaced
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sweep(r.now())
	list := make([]Replaced, 0, len(r.byKey))
	for _, one := range r.byKey {
		list = append(list, *one)
	}
	slices.SortFunc(list, func(a, b Replaced) int {
		switch {
		case a.Samples > b.Samples, a.Samples == b.Samples && a.Key < b.Key:
			return -1
		}
		return 1
	})
	return list[:min(len(list), limit)]
}

// replacing counts a sample that is about to take another one's place. The caller holds mu.
func (h *head) replacing(one *resolved) {
	s := one.series
	if s.kind == NativeHistogram {
		if before := h.nativeAt(s, one.time); before != nil && !before.Equals(standalone(one.encoded)) {
			h.replaced.note(s.key, one.time, math.NaN(), math.NaN())
		}
		return
	}
	if before, there := h.numberAt(s, one.time); there && math.Float64bits(before) != math.Float64bits(one.value) {
		h.replaced.note(s.key, one.time, before, one.value)
	}
}

// numberAt is the number of a series at a time, if it is among those that are compared.
func (h *head) numberAt(s *memSeries, t int64) (v float64, there bool) {
	if s.more != nil {
		late := s.more.late
		for i := len(late) - 1; i >= max(0, len(late)-lateCompared); i-- {
			if late[i].time == t {
				return late[i].value, true
			}
		}
	}
	if s.open.count == 0 {
		return 0, false
	}
	if t == s.maxTime {
		return s.open.latest(&h.pieces), true
	}
	c := &h.coder
	c.times, c.values = s.open.read(s.maxTime, &h.pieces, c.times[:0], c.values[:0])
	if at, found := slices.BinarySearch(c.times, t); found {
		return c.values[at], true
	}
	return 0, false
}

// nativeAt is numberAt for native histograms.
func (h *head) nativeAt(s *memSeries, t int64) *nativeHistogram {
	m := s.more
	if m == nil {
		return nil
	}
	late := &m.lateNatives
	for i := len(late.times) - 1; i >= max(0, len(late.times)-lateCompared); i-- {
		if late.times[i] == t {
			return late.values[i]
		}
	}
	if m.rows.count == 0 || t < m.began || t > m.rows.time {
		return nil
	}
	c := &h.coder
	c.memory.again()
	times, hists, err := c.memory.decodeNativeRows(&m.rows, c.times[:0], c.natives[:0])
	if err != nil {
		panic(err) // they were just encoded
	}
	c.times, c.natives = times[:0], hists[:0]
	if at, found := slices.BinarySearch(times, t); found {
		return hists[at]
	}
	return nil
}
