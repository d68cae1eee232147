// Package seriesstate remembers something of each series between requests, for inputs whose samples are differences to, or
// continue, what was stored before. It lives in memory: a restart, or an hour without a sample, forgets.
package seriesstate

import (
	"context"
	"time"

	"cistern/services/ingest/admission"
)

const (
	// ForgetAfter is how long a series may be without a sample until it is forgotten.
	ForgetAfter = time.Hour
	// SweepEvery is how often it is looked for such series.
	SweepEvery = time.Minute
)

type entry[T any] struct {
	value  T
	seen   time.Time
	weight int
}

// Table is what is remembered, by the series' key. Whoever has entered may use it.
type Table[T any] struct {
	// Weigh is what a value takes in bytes; without it only the number of series is bounded.
	Weigh func(T) int

	user      admission.Slots
	maxSeries int
	byKey     map[string]entry[T]
	weight    int
	swept     time.Time
}

// New makes a table of at most maxSeries series.
func New[T any](maxSeries int) *Table[T] {
	return &Table[T]{user: admission.NewSlots(1), maxSeries: maxSeries, byKey: map[string]entry[T]{}}
}

// Enter waits until nobody else uses the table: one request after the other, from what it finds to what it has stored.
// The error is admission.ErrLeft.
func (t *Table[T]) Enter(ctx context.Context) (leave func(), err error) {
	if err := t.user.Enter(ctx); err != nil {
		return nil, err
	}
	return t.user.Leave, nil
}

// Get is what is remembered of a series; known is false when nothing is.
func (t *Table[T]) Get(key []byte) (value T, known bool) {
	one, known := t.byKey[string(key)]
	return one.value, known
}

// Full says whether there is no room for one more series beside added new ones.
func (t *Table[T]) Full(added int) bool { return len(t.byKey)+added >= t.maxSeries }

// Len is how many series are remembered.
func (t *Table[T]) Len() int { return len(t.byKey) }

// Weight is what all that is remembered weighs.
func (t *Table[T]) Weight() int { return t.weight }

// Set remembers value of a series, which has a sample now.
func (t *Table[T]) Set(key string, value T, now time.Time) {
	weight := 0
	if t.Weigh != nil {
		weight = len(key) + t.Weigh(value)
	}
	t.weight += weight - t.byKey[key].weight
	t.byKey[key] = entry[T]{value, now, weight}
}

// Sweep forgets series that have ended; more often than SweepEvery it does nothing.
func (t *Table[T]) Sweep(now time.Time) {
	if now.Sub(t.swept) < SweepEvery {
		return
	}
	t.swept = now
	for key, one := range t.byKey {
		if now.Sub(one.seen) > ForgetAfter {
			t.weight -= one.weight
			delete(t.byKey, key)
		}
	}
}
