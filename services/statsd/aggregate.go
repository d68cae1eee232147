package statsd

// What came since the last second, by name; and once a second, samples of it.

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"slices"
	"sync"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/tsdb"
)

// Limits.
const (
	maxLine = 8 << 10
	// maxSetMembers bounds one set within one second.
	maxSetMembers = 1_000_000
)

// Options choose how an aggregator behaves; zero values mean the defaults named here.
type Options struct {
	// Durability: interval. Nobody waits for an answer.
	Durability journal.Durability
	// MaxNames is how many names with tags are kept: a million; each costs some hundred bytes.
	MaxNames int
	// ForgetAfter is how long a name is kept without a line: an hour. A counter goes on from where it was, and a gauge is
	// repeated, as long: statsd's clients say only what changes.
	ForgetAfter time.Duration
	Log         *slog.Logger // nothing is logged
}

// Aggregator gathers lines and writes them to a store. Safe for many goroutines.
type Aggregator struct {
	store   tsdb.Ingester
	options Options
	forget  uint64 // seconds
	started time.Time

	mu sync.Mutex
	// spellings finds a metric by what was sent; byKey by the series, which several spellings may mean.
	spellings *table
	byKey     map[string]*metric
	metrics   []*metric
	second    uint64

	refused  map[tsdb.Reason]int
	example  map[tsdb.Reason]string // the first line of a reason since the last warning
	warned   time.Time
	lines    uint64
	bad      uint64
	seen     time.Time // about when the latest line came
	seenAt   uint64    // lines until then
	refusals int       // spellings that are refused
	byType   [set + 1]uint64

	samples []tsdb.Sample // of the last flush; its memory is used again
}

type metric struct {
	key     []byte
	kind    metricType
	known   bool // a gauge has a value; a counter was written
	changed bool
	removed bool
	last    uint64 // the second of the last line
	value   float64
	spread  histogram.Accumulator
	members map[string]struct{}
}

// NewAggregator makes one that writes to a store.
func NewAggregator(store tsdb.Ingester, options Options) *Aggregator {
	if options.Durability == "" {
		options.Durability = journal.Interval
	}
	if options.MaxNames == 0 {
		options.MaxNames = 1_000_000
	}
	if options.ForgetAfter == 0 {
		options.ForgetAfter = time.Hour
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	return &Aggregator{store: store, options: options, forget: uint64(options.ForgetAfter / time.Second), started: time.Now(),
		spellings: newTable(), byKey: map[string]*metric{}, refused: map[tsdb.Reason]int{}, example: map[tsdb.Reason]string{}}
}

// Packet takes a packet: lines separated by newlines. A bad line is counted, the rest is kept.
func (a *Aggregator) Packet(packet []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.packet(packet)
}

// Packets takes several under one lock.
func (a *Aggregator) Packets(packets [][]byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, packet := range packets {
		a.packet(packet)
	}
}

func (a *Aggregator) packet(packet []byte) {
	for len(packet) > 0 {
		var text []byte
		if newline := bytes.IndexByte(packet, '\n'); newline >= 0 {
			text, packet = packet[:newline], packet[newline+1:]
		} else {
			text, packet = packet, nil
		}
		if n := len(text); n > 0 && text[n-1] == '\r' {
			text = text[:n-1]
		}
		if len(text) == 0 {
			continue
		}
		if reason := a.line(text); reason != "" {
			a.refuse(reason, text)
		}
	}
}

func (a *Aggregator) refuse(reason tsdb.Reason, text []byte) {
	a.refused[reason]++
	a.bad++
	if _, known := a.example[reason]; !known {
		a.example[reason] = string(text[:min(len(text), 200)])
	}
}

func (a *Aggregator) line(text []byte) tsdb.Reason {
	if len(text) > maxLine {
		return TooLong
	}
	l, reason := parseLine(text)
	for {
		if reason != "" {
			return reason
		}
		if reason = a.take(&l); reason != "" {
			return reason
		}
		a.lines++
		a.byType[l.kind]++
		if len(l.more) == 0 {
			return ""
		}
		reason = l.parse(l.more)
	}
}

func (a *Aggregator) take(l *line) tsdb.Reason {
	hash := a.spellings.hashOf(l)
	s := a.spellings.find(l, hash)
	if s == nil {
		// A name is not kept for the sake of a line that says nothing.
		if l.kind != set {
			value, _, _ := bytes.Cut(l.values, []byte(":"))
			if _, ok := parseNumber(value); !ok {
				return BadNumber
			}
		}
		if a.spellings.count >= a.options.MaxNames {
			return TooMany
		}
		s = a.add(l, hash)
	}
	m := s.metric
	if m == nil {
		return s.refused
	}
	m.last = a.second
	if l.kind == set {
		if m.members == nil {
			m.members = map[string]struct{}{}
		}
		if len(m.members) < maxSetMembers {
			m.members[string(l.values)] = struct{}{}
		}
		m.changed = true
		return ""
	}
	for values := l.values; ; {
		colon := bytes.IndexByte(values, ':')
		if colon < 0 {
			return m.take(values, l.rate)
		}
		if reason := m.take(values[:colon], l.rate); reason != "" {
			return reason
		}
		values = values[colon+1:]
	}
}

// add makes a spelling for a line not seen before.
func (a *Aggregator) add(l *line, hash uint64) *spelling {
	text := slices.Concat(l.name, l.tags)
	s := &spelling{hash: hash, name: text[:len(l.name):len(l.name)], tags: text[len(l.name):], kind: l.kind}
	a.spellings.add(s)
	key, err := tsdb.AppendKey([]byte{}, labelsOf(l.name, l.tags))
	if err != nil {
		var bad *tsdb.KeyError
		if s.refused = BadLine; errors.As(err, &bad) {
			s.refused = bad.Reason
		}
		a.refusals++
		return s
	}
	m := a.byKey[string(key)]
	switch {
	case m == nil:
		m = &metric{key: key, kind: l.kind}
		a.byKey[string(key)] = m
		a.metrics = append(a.metrics, m)
	case m.kind != l.kind: // one series cannot be both
		s.refused = tsdb.TypeConflict
		a.refusals++
		return s
	}
	s.metric = m
	return s
}

func (m *metric) take(value []byte, rate float64) tsdb.Reason {
	v, ok := parseNumber(value)
	if !ok {
		return BadNumber
	}
	switch m.kind {
	case counter:
		if v < 0 {
			return Decrement
		}
		if rate != 1 {
			v /= rate
		}
		m.value += v
	case gauge:
		// A sign makes it a change: that is statsd's way, and why a negative gauge is set to 0 first.
		if value[0] == '+' || value[0] == '-' {
			m.value += v
		} else {
			m.value = v
		}
		m.known = true
	default:
		bin, ok := histogram.BinOf(v)
		if !ok {
			return BadNumber
		}
		if m.kind == timer {
			// The bin is shifted, not the number divided: 1.2/1000 is not quite the 0.0012 where its bin begins.
			bin = bin.Shift(-3)
		}
		n := uint64(1)
		if rate != 1 {
			// What no client means is not to become a count that drowns everything.
			n = uint64(max(1, min(math.Round(1/rate), 1e9)))
		}
		m.spread.Add(bin, n)
	}
	m.changed = true
	return ""
}

// Flush writes what came since the last time as samples of the second that begins at second. It is for one goroutine.
func (a *Aggregator) Flush(ctx context.Context, second time.Time) error {
	samples, refused := a.gather(second.Unix() * 1000)
	for reason, n := range refused {
		a.store.Reject(reason, n)
	}
	if len(samples) == 0 {
		return nil
	}
	_, err := a.store.Ingest(ctx, "statsd", samples, a.options.Durability)
	if err != nil {
		a.store.Reject(NotStored, len(samples))
	}
	for i := range samples {
		samples[i].Histogram = nil
	}
	return err
}

func (a *Aggregator) gather(ms int64) ([]tsdb.Sample, map[tsdb.Reason]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refused := a.refused
	a.refused = map[tsdb.Reason]int{}
	a.warn(refused)
	samples := a.samples[:0]
	forgotten := false
	for _, m := range a.metrics {
		if a.second-m.last > a.forget {
			m.removed, forgotten = true, true
			continue
		}
		sample := tsdb.Sample{Key: m.key, Time: ms, Value: m.value}
		switch {
		case m.kind == counter: // also unchanged: a line in a chart that stays level is a fact
			sample.Kind = tsdb.Counter
			if !m.known && m.changed {
				// It was 0 before: or else what it had at first would be in no rate.
				m.known = true
				samples = append(samples, tsdb.Sample{Key: m.key, Kind: tsdb.Counter, Time: ms - 1})
			}
			if !m.known {
				continue
			}
		case m.kind == gauge:
			if !m.known {
				continue
			}
			sample.Kind = tsdb.Gauge
		case m.kind == set:
			if !m.changed {
				continue
			}
			sample.Kind, sample.Value, m.members = tsdb.Gauge, float64(len(m.members)), nil
		case m.spread.Count() == 0:
			continue
		default:
			sample.Kind, sample.Histogram = tsdb.Histogram, m.spread.Take()
		}
		m.changed = false
		samples = append(samples, sample)
	}
	if forgotten || a.refusals > 0 && a.second%600 == 599 {
		a.removeMarked()
	}
	if n := a.lines + a.bad; n != a.seenAt {
		a.seen, a.seenAt = time.Now(), n
	}
	a.second++
	a.samples = samples
	return samples, refused
}

// removeMarked takes out the metrics that are marked, and the refusals: they are found out again.
func (a *Aggregator) removeMarked() {
	kept := a.metrics[:0]
	for _, m := range a.metrics {
		if m.removed {
			delete(a.byKey, string(m.key))
		} else {
			kept = append(kept, m)
		}
	}
	clear(a.metrics[len(kept):])
	a.metrics = kept
	a.spellings.keep(func(s *spelling) bool { return s.metric != nil && !s.metric.removed })
	a.refusals = 0
}

// warn logs what is refused, with an example, at most once a minute.
func (a *Aggregator) warn(refused map[tsdb.Reason]int) {
	if len(refused) == 0 || time.Since(a.warned) < time.Minute {
		return
	}
	a.warned = time.Now()
	for reason, n := range refused {
		a.options.Log.Warn("statsd lines are refused", "reason", reason, "inThisSecond", n, "first", a.example[reason])
	}
	clear(a.example)
}

// Run flushes at the beginning of every second until ctx ends, and once more then. report is called when storing begins
// to fail.
func (a *Aggregator) Run(ctx context.Context, report func(error)) {
	failing := false
	flush := func(ctx context.Context, second time.Time) {
		err := a.Flush(ctx, second)
		if err != nil && !failing {
			report(err)
		}
		failing = err != nil
	}
	for {
		now := time.Now()
		next := now.Truncate(time.Second).Add(time.Second)
		select {
		case <-ctx.Done():
			flush(context.WithoutCancel(ctx), time.Now().Truncate(time.Second))
			return
		case <-time.After(next.Sub(now)):
		}
		flush(ctx, next.Add(-time.Second))
	}
}

// Lines is how many good lines came.
func (a *Aggregator) Lines() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lines
}

// Names is how many metrics are kept.
func (a *Aggregator) Names() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.metrics)
}
