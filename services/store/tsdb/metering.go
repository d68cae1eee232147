package tsdb

// What a query's selection takes of memory and time: a query may match every series there is.

import "context"

// Meter is asked before memory is taken for a query.
type Meter interface {
	// Charge says how many bytes are taken, and what for. It may wait. An error ends the selection.
	Charge(ctx context.Context, bytes int64, what string) error
	// Room returns an error when so many bytes cannot be charged at all. It does not wait, so that a lock may be held.
	Room(bytes int64, what string) error
	// Return says how many of them are not held any more.
	Return(bytes int64)
}

type meterKey struct{}

// WithMeter has what queries under the context select charged to m.
func WithMeter(ctx context.Context, m Meter) context.Context {
	return context.WithValue(ctx, meterKey{}, m)
}

const (
	// seriesBytes is what a series of a selection takes beside its key, which the store has: the struct, the list of where its samples
	// are, and its entry in the map.
	seriesBytes = 352
	// keyBytes is what a series takes of which only the key is wanted: its place in the list, and in the set of those that were found.
	keyBytes = 64
	// Series are taken so many at a time, and values are matched so many at a time, until the context is looked at.
	chargeEvery = 128

	selectedSeries = "selected series"
)

// metered is one selection's charge.
type metered struct {
	ctx              context.Context
	meter            Meter // nil: nobody counts
	pending, charged int64
	count            int
}

func newMetered(ctx context.Context) *metered {
	m := &metered{ctx: ctx}
	m.meter, _ = ctx.Value(meterKey{}).(Meter)
	return m
}

// text counts a value of a label in a set of them, and in the list that is made of it.
func (m *metered) text(value string) error { return m.take(64 + int64(len(value))) }

func (m *metered) take(bytes int64) error {
	if m == nil {
		return nil
	}
	m.pending += bytes
	if m.count++; m.count%chargeEvery != 0 {
		return nil
	}
	if m.ctx.Err() != nil {
		return context.Cause(m.ctx)
	}
	if m.meter != nil {
		return m.meter.Room(m.pending, selectedSeries)
	}
	return nil
}

// settle charges what was added since the last time. No lock may be held.
func (m *metered) settle() error {
	if m == nil || m.meter == nil || m.pending == 0 {
		return nil
	}
	if err := m.meter.Charge(m.ctx, m.pending, selectedSeries); err != nil {
		return err
	}
	m.charged, m.pending = m.charged+m.pending, 0
	return nil
}

// release gives the charge back.
func (m *metered) release() {
	if m != nil && m.meter != nil && m.charged > 0 {
		m.meter.Return(m.charged)
		m.charged = 0
	}
}

// interruptible is an index whose values are matched until the context ends: a regular expression may take long for many.
type interruptible struct {
	index
	ctx   context.Context
	asked int
}

func (x *interruptible) check() error {
	if x.asked++; x.asked%chargeEvery == 0 && x.ctx.Err() != nil {
		return context.Cause(x.ctx)
	}
	return nil
}

func (x *interruptible) eachValue(name, prefix string, f func(value string, series func() ([]uint32, error)) error) error {
	return x.index.eachValue(name, prefix, func(value string, series func() ([]uint32, error)) error {
		if err := x.check(); err != nil {
			return err
		}
		return f(value, series)
	})
}

func (x *interruptible) keyOf(ref uint32) (string, error) {
	if err := x.check(); err != nil {
		return "", err
	}
	return x.index.keyOf(ref)
}

// Span is the time, in ms, in which the series' samples lie; the first is greater when it has none.
func (s *Series) Span() (minTime, maxTime int64) {
	minTime, maxTime = 1<<63-1, -1<<63
	for i := range s.numbers {
		minTime, maxTime = min(minTime, s.numbers[i].minTime), max(maxTime, s.numbers[i].maxTime)
	}
	for i := range s.histograms {
		minTime, maxTime = min(minTime, s.histograms[i].minTime), max(maxTime, s.histograms[i].maxTime)
	}
	for i := range s.natives {
		minTime, maxTime = min(minTime, s.natives[i].minTime), max(maxTime, s.natives[i].maxTime)
	}
	return minTime, maxTime
}
