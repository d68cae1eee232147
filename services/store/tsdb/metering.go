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

type shareKey struct{}

// WithShare says what the query takes, at least, for each series of numbers that a selection under the context finds with a sample in its
// time. A selection of which that is more than twice what the meter has room for ends as soon as it is known, not when all are found:
// twice, because some series may have nothing but the mark of their end.
func WithShare(ctx context.Context, bytes int64) context.Context {
	return context.WithValue(ctx, shareKey{}, bytes)
}

const (
	// seriesBytes is what a series of a selection takes beside its key, which the store has: the struct, the list of where its samples
	// are, and its entry in the map.
	seriesBytes = 352
	// againBytes is what it takes in each further place in which it is found: a longer list, and the block's record of it.
	againBytes = 352
	// keyBytes is what a series takes of which only the key is wanted: its place in the list, and in the set of those that were found.
	keyBytes = 64
	// Series are taken so many at a time, and values are matched so many at a time, until the context is looked at.
	chargeEvery = 128

	// previewed is from what share on it is worth looking at each series twice.
	previewed = 4 << 10

	selectedSeries = "selected series"
	resultsOfThem  = "what is made of the selected series"
)

// metered is one selection's charge.
type metered struct {
	ctx              context.Context
	meter            Meter // nil: nobody counts
	pending, charged int64
	count            int
	share            int64 // see WithShare
	within           int64 // series of numbers that were found with a sample in the time
}

func newMetered(ctx context.Context) *metered {
	m := &metered{ctx: ctx}
	m.meter, _ = ctx.Value(meterKey{}).(Meter)
	if m.meter != nil {
		m.share, _ = ctx.Value(shareKey{}).(int64)
	}
	return m
}

// found counts a series that was found for the first time, if it is of numbers and has a sample in the time.
func (m *metered) found(within bool) error {
	if m == nil || m.share == 0 || !within {
		return nil
	}
	if m.within++; m.within%chargeEvery != 0 {
		return nil
	}
	return m.shared(m.within)
}

// shared returns an error when the shares of so many series are far too much.
func (m *metered) shared(series int64) error {
	if series > 1<<62/m.share {
		series = 1 << 62 / m.share
	}
	return m.meter.Room(m.pending+series*m.share/2, resultsOfThem)
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
	// counted is told which series have a value that matches, if not nil.
	counted func(refs []uint32) error
}

// interrupted is x until the context ends, or until what is found of it is too much. Of the only matcher that there is, every series is one
// of the selection, so that it is known before all values are matched. within says whether a series is of numbers and has a sample in the
// selection's time.
func interrupted(ctx context.Context, x index, found *metered, matchers []*Matcher, within func(ref uint32) bool) *interruptible {
	i := &interruptible{index: x, ctx: ctx}
	if found != nil && found.share >= previewed && len(matchers) == 1 && !matchers[0].Matches("") {
		series, asked := int64(0), int64(0)
		i.counted = func(refs []uint32) error {
			for _, ref := range refs {
				if within(ref) {
					series++
				}
			}
			if series < asked+chargeEvery {
				return nil
			}
			asked = series
			return found.shared(series)
		}
	}
	return i
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
		if x.counted == nil {
			return f(value, series)
		}
		return f(value, func() ([]uint32, error) {
			refs, err := series()
			if err == nil {
				err = x.counted(refs)
			}
			return refs, err
		})
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
