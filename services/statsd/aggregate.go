package statsd

// What came since the last second, by name; and once a second, samples of it.

import (
	"bytes"
	"context"
	"errors"
	"math"
	"sync"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/tsdb"
)

// Limits.
const (
	maxLine = 8 << 10
	// maxNames is how many names with tags are kept; each costs some hundred bytes.
	maxNames = 1_000_000
	// maxSetMembers bounds one set within one second.
	maxSetMembers = 1_000_000
	// forgetAfter is how many seconds without a packet a name is kept. A counter goes on from where it was, and a gauge
	// is repeated, as long: statsd's clients say only what changes.
	forgetAfter = 3600
)

// Durability is what holds for what came by statsd: nobody waits for an answer.
const Durability = journal.Interval

// Aggregator gathers lines and writes them to a store. Safe for many goroutines.
type Aggregator struct {
	store tsdb.Ingester

	mu sync.Mutex
	// byText finds a metric by its name, type and tags as they were sent: no parsing of tags for what is known.
	byText map[string]*metric
	byKey  map[string]*metric // by series key and type: several spellings may be one series
	text   []byte
	second uint64

	refused map[tsdb.Reason]int
	lines   uint64
}

type metric struct {
	key     []byte
	kind    metricType
	last    uint64 // the second of the last line
	value   float64
	changed bool
	known   bool // a gauge has a value
	spread  histogram.Accumulator
	members map[string]struct{}
}

// NewAggregator makes one that writes to a store.
func NewAggregator(store tsdb.Ingester) *Aggregator {
	return &Aggregator{store: store, byText: map[string]*metric{}, byKey: map[string]*metric{}, refused: map[tsdb.Reason]int{}}
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
			a.refused[reason]++
		}
	}
}

func (a *Aggregator) line(text []byte) tsdb.Reason {
	if len(text) > maxLine {
		return TooLong
	}
	l, reason := parseLine(text)
	if reason != "" {
		return reason
	}
	a.text = append(a.text[:0], byte('0'+l.kind))
	a.text = append(a.text, l.name...)
	a.text = append(a.text, '|')
	a.text = append(a.text, l.tags...)
	m := a.byText[string(a.text)]
	if m == nil {
		// A name is not kept for the sake of a line that says nothing.
		if l.kind != set {
			value, _, _ := bytes.Cut(l.values, []byte(":"))
			if _, ok := parseNumber(value); !ok {
				return BadNumber
			}
		}
		if m, reason = a.add(l); reason != "" {
			return reason
		}
	}
	for values := l.values; ; {
		value := values
		colon := bytes.IndexByte(values, ':')
		if colon >= 0 && l.kind != set {
			value, values = values[:colon], values[colon+1:]
		}
		if reason := m.take(value, l.rate); reason != "" {
			return reason
		}
		if colon < 0 || l.kind == set {
			break
		}
	}
	m.last = a.second
	a.lines++
	return ""
}

// add makes a metric for a line not seen before.
func (a *Aggregator) add(l line) (*metric, tsdb.Reason) {
	if len(a.byText) >= maxNames {
		return nil, tsdb.SeriesLimit
	}
	name := appendName(nil, l.name, true)
	if len(name) == 0 {
		return nil, BadLine
	}
	labels := parseTags([]tsdb.Label{{Name: tsdb.NameLabel, Value: string(name)}}, l.tags)
	key, err := tsdb.AppendKey([]byte{}, labels)
	if err != nil {
		var bad *tsdb.KeyError
		if errors.As(err, &bad) {
			return nil, bad.Reason
		}
		return nil, BadLine
	}
	identity := string(append([]byte{byte('0' + l.kind)}, key...))
	m := a.byKey[identity]
	if m == nil {
		m = &metric{key: key, kind: l.kind}
		a.byKey[identity] = m
	}
	a.byText[string(a.text)] = m
	return m, ""
}

func (m *metric) take(value []byte, rate float64) tsdb.Reason {
	if m.kind == set {
		if m.members == nil {
			m.members = map[string]struct{}{}
		}
		if len(m.members) < maxSetMembers {
			m.members[string(value)] = struct{}{}
		}
		m.changed = true
		return ""
	}
	v, ok := parseNumber(value)
	if !ok {
		return BadNumber
	}
	switch m.kind {
	case counter:
		m.value += v / rate
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
		m.spread.Add(bin, uint64(math.Max(1, math.Round(1/rate))))
	}
	m.changed = true
	return ""
}

// Flush writes what came since the last time as samples of the second that begins at second.
func (a *Aggregator) Flush(ctx context.Context, second time.Time) error {
	samples, refused := a.gather(second.Unix() * 1000)
	for reason, n := range refused {
		a.store.Reject(reason, n)
	}
	if len(samples) == 0 {
		return nil
	}
	_, err := a.store.Ingest(ctx, "statsd", samples, Durability)
	return err
}

func (a *Aggregator) gather(ms int64) ([]tsdb.Sample, map[tsdb.Reason]int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	refused := a.refused
	a.refused = map[tsdb.Reason]int{}
	var samples []tsdb.Sample
	forgotten := false
	for identity, m := range a.byKey {
		if a.second-m.last > forgetAfter {
			delete(a.byKey, identity)
			forgotten = true
			continue
		}
		sample := tsdb.Sample{Key: m.key, Time: ms, Value: m.value}
		switch {
		case m.kind == counter: // also unchanged: a line in a chart that stays level is a fact
			sample.Kind = tsdb.Counter
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
	if forgotten {
		for text, m := range a.byText {
			if a.second-m.last > forgetAfter {
				delete(a.byText, text)
			}
		}
	}
	a.second++
	return samples, refused
}

// Run flushes at the beginning of every second until ctx ends, and once more then. report is called with errors.
func (a *Aggregator) Run(ctx context.Context, report func(error)) {
	for {
		now := time.Now()
		next := now.Truncate(time.Second).Add(time.Second)
		select {
		case <-ctx.Done():
			if err := a.Flush(context.WithoutCancel(ctx), time.Now().Truncate(time.Second)); err != nil {
				report(err)
			}
			return
		case <-time.After(next.Sub(now)):
		}
		if err := a.Flush(ctx, next.Add(-time.Second)); err != nil {
			report(err)
		}
	}
}

// Lines is how many good lines came.
func (a *Aggregator) Lines() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.lines
}
