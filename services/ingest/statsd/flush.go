package statsd

// Once a second: what the shards have is emptied into metrics, and samples are made of them and stored.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"cistern/services/store/tsdb"
)

// Flush writes what came since the last time as samples of the second that begins at second, or of a part of it that
// does.
func (a *Aggregator) Flush(ctx context.Context, second time.Time) error {
	a.flushing.Lock()
	defer a.flushing.Unlock()
	timed := a.merge()
	a.describe()
	ms := second.UnixMilli()
	once := append(timed, a.gather(ms)...)
	if a.second.Add(1)%sweepEvery == 0 {
		a.forget()
	}
	return a.write(ctx, once, ms)
}

// describe tells the store that timers are measured in seconds, whatever their names say.
func (a *Aggregator) describe() {
	a.mu.Lock()
	fresh := a.fresh
	a.fresh = nil
	a.mu.Unlock()
	if len(fresh) > 0 {
		a.store.Describe(fresh)
	}
}

// write stores samples, and the readings. When that fails, those that are said once are kept; the others will be said again.
func (a *Aggregator) write(ctx context.Context, once []tsdb.Sample, ms int64) error {
	if len(a.unstored) > 0 {
		once = append(a.unstored, once...)
	}
	left, err := a.ingest(tsdb.WithSender(ctx, all{}), once)
	kept := min(len(left), maxUnstored)
	a.unstored = left[:kept:kept]
	a.waiting.Store(int64(kept))
	if err != nil {
		a.store.Reject(Unstored, len(left)-kept)
		return err
	}
	if err := a.ingestReadings(tsdb.WithSender(ctx, all{}), a.readings, ms); err != nil {
		return err
	}
	return a.ingestReadings(tsdb.WithSender(ctx, all{repeats: true}), a.repeated, ms)
}

// all are those who sent what is stored of a second, together: each was asked whether he may make a series when he named it.
type all struct{ repeats bool }

func (all) Create(int) (tsdb.Reason, string) { return "", "" }
func (all) Refused(int, tsdb.Reason)         {}
func (all) Sent(int)                         {}

// Repeats implements tsdb.Repeater.
func (s all) Repeats() bool { return s.repeats }

// reading is a counter's or a gauge's value at the end of a second. Of hundreds of thousands every second, samples would take
// six times the memory.
type reading struct {
	key   []byte
	kind  tsdb.Kind
	value float64
}

// ingestReadings stores the readings as samples.
func (a *Aggregator) ingestReadings(ctx context.Context, rest []reading, ms int64) error {
	for len(rest) > 0 {
		n := min(len(rest), ingestAtOnce)
		a.samples = a.samples[:0]
		for _, r := range rest[:n] {
			a.samples = append(a.samples, tsdb.Sample{Key: r.key, Kind: r.kind, Time: ms, Value: r.value})
		}
		if _, err := a.ingest(ctx, a.samples); err != nil {
			return err
		}
		rest = rest[n:]
	}
	return nil
}

// ingest stores samples until that fails, and returns those that are left.
func (a *Aggregator) ingest(ctx context.Context, samples []tsdb.Sample) (left []tsdb.Sample, err error) {
	for len(samples) > 0 {
		n := min(len(samples), ingestAtOnce)
		if _, err := a.store.Ingest(ctx, "statsd", samples[:n], a.durability); err != nil {
			return samples, err
		}
		samples = samples[n:]
	}
	return nil, nil
}

// merge empties the shards, and returns what came with a time of its own. The caller holds flushing.
func (a *Aggregator) merge() (timed []tsdb.Sample) {
	a.mu.Lock()
	shards := a.shards
	a.mu.Unlock()
	for _, s := range shards {
		s.mu.Lock()
		dirty, refused := s.dirty, s.refused
		timed = append(timed, s.timed...)
		s.dirty, s.refused, s.timed = make([]*entry, 0, len(dirty)), map[tsdb.Reason]int{}, nil
		s.spare = nil // the second before needed more
		s.mu.Unlock()
		for reason, n := range refused {
			a.store.Reject(reason, n)
		}
		for len(dirty) > 0 {
			n := min(len(dirty), mergeAtOnce)
			s.mu.Lock()
			for _, e := range dirty[:n] {
				e.dirty = false
				if !e.metric.merge(e, a.second.Load()) {
					a.store.Reject(BadNumber, 1)
				}
				s.release(e)
			}
			s.mu.Unlock()
			dirty = dirty[n:]
		}
	}
	return timed
}

// merge takes what a reader counted; false when a counter would become infinite by it.
func (m *metric) merge(e *entry, second uint64) (finite bool) {
	m.last, finite = second, true
	switch {
	case e.kind == counter:
		if sum := m.total + e.sum; math.IsInf(sum, 0) {
			finite = false
		} else {
			m.total = sum
		}
	case e.spread != nil && e.spread.Count() > 0:
		m.count += e.spread.Count()
		if h := e.spread.Take(); m.spread == nil {
			m.spread = h
		} else {
			m.spread.Merge(h)
		}
	}
	e.sum = 0
	return finite
}

// gather makes the second's samples of what is said once, timers and sets, and the readings of what is said every second, counters
// and gauges. The caller holds flushing.
func (a *Aggregator) gather(ms int64) (once []tsdb.Sample) {
	a.readings, a.repeated = a.readings[:0], a.repeated[:0]
	second := a.second.Load()
	for _, m := range a.all() {
		readings := &a.readings
		if m.last != second {
			readings = &a.repeated
		}
		switch m.kind {
		case counter: // also unchanged: a line in a chart that stays level is a fact
			m.mu.Lock()
			if m.more != nil {
				*readings = append(*readings, reading{m.more.lessKey, tsdb.Counter, m.more.less})
			}
			m.mu.Unlock()
			*readings = append(*readings, reading{m.key(), tsdb.Counter, m.total})
		case gauge:
			m.mu.Lock()
			if m.known {
				*readings = append(*readings, reading{m.key(), tsdb.Gauge, m.level})
			}
			m.mu.Unlock()
		case set:
			if n := m.leave(); n > 0 {
				once = append(once, tsdb.Sample{Key: m.key(), Kind: tsdb.Gauge, Time: ms, Value: float64(n)})
			}
		default:
			if m.spread != nil {
				once = append(once, tsdb.Sample{Key: m.key(), Kind: tsdb.Histogram, Time: ms, Histogram: m.spread})
				m.spread = nil
			}
		}
	}
	return once
}

// all is the metrics; new ones are added behind it only.
func (a *Aggregator) all() []*metric {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.list
}

// forget removes what nobody has named for long. The caller holds flushing.
func (a *Aggregator) forget() {
	var old []*metric
	for _, m := range a.all() {
		if a.second.Load()-m.last > forgetAfter {
			old = append(old, m)
		}
	}
	a.remove(old, false)
}

// remove takes metrics out of the shards and then away. The caller holds flushing. One that a packet named meanwhile
// stays, unless its values are to be dropped too; then it begins anew.
func (a *Aggregator) remove(metrics []*metric, values bool) {
	if len(metrics) == 0 {
		return
	}
	for _, m := range metrics {
		m.gone = true
	}
	a.mu.Lock()
	shards := a.shards
	a.mu.Unlock()
	for _, s := range shards {
		s.mu.Lock()
		removed := map[*metric]int{}
		s.table.remove(func(e *entry) bool {
			if !e.metric.gone || e.dirty && !values {
				return false
			}
			removed[e.metric]++
			return true
		})
		if values {
			s.dirty = slices.DeleteFunc(s.dirty, func(e *entry) bool { return e.metric.gone })
		}
		s.hosts.release(a, &s.table)
		a.mu.Lock()
		for m, n := range removed {
			m.entries -= int32(n)
			a.bytes.Add(-int64(n) * entryBytes)
		}
		a.mu.Unlock()
		s.mu.Unlock()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := make([]*metric, 0, len(a.list))
	for _, m := range a.list {
		if m.gone && m.entries == 0 {
			delete(a.metrics, m.id)
			a.bytes.Add(-bytesOf(m))
			continue
		}
		if m.gone {
			m.gone = false
			if values {
				m.total, m.count, m.spread = 0, 0, nil
				m.mu.Lock()
				m.more = nil
				m.mu.Unlock()
			}
		}
		kept = append(kept, m)
	}
	a.list = kept
}

// Run flushes at the beginning of every second until ctx ends, and once more then. report is called with errors.
func (a *Aggregator) Run(ctx context.Context, report func(error)) {
	began := time.Now()
	flush := func(ctx context.Context, second time.Time) {
		// The one that ran before may have written the beginning of this second: its totals stay, before ours.
		if began.Truncate(time.Second).Equal(second) {
			second = began
		}
		if err := a.Flush(ctx, second); err != nil {
			report(fmt.Errorf("%w; timers and sets are kept, and tried again", err))
		}
	}
	for {
		now := time.Now()
		next := now.Truncate(time.Second).Add(time.Second)
		select {
		case <-ctx.Done():
			flush(context.WithoutCancel(ctx), time.Now().Truncate(time.Second))
			a.giveUp(report)
			return
		case <-time.After(next.Sub(now)):
		}
		flush(ctx, next.Add(-time.Second))
	}
}

// giveUp says what is lost when it ends and the store has not taken everything.
func (a *Aggregator) giveUp(report func(error)) {
	a.flushing.Lock()
	defer a.flushing.Unlock()
	if n := len(a.unstored); n > 0 {
		a.store.Reject(Unstored, n)
		report(fmt.Errorf("%w: a second each of %d timers and sets", ErrLost, n))
		a.unstored = nil
		a.waiting.Store(0)
	}
}

// ErrLost is what Run reports when it ends and the store has not taken everything that was received.
var ErrLost = errors.New("what the store has not taken is lost at the end")
