package statsd

// What came since the last second, by name; and once a second, samples of it.
//
// Each reader has a shard with its own name table, sums and histograms, so that readers share nothing while packets
// come. Once a second the shards are emptied into the metrics that they name, a few entries at a time. Gauges and sets
// are the exception: the order of a gauge's changes matters, so they are changed in place, under a lock of their own.
//
// Locks: flushing before a shard's mu before Aggregator.mu; a metric's mu is the last.

import (
	"bytes"
	"errors"
	"net/netip"
	"sync"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/ingest/senders"
	"cistern/services/journal"
	"cistern/services/platform/fastclock"
	"cistern/services/store/tsdb"
)

// Limits.
const (
	maxLine = 8 << 10
	// defaultNames is how many names with tags are kept; each costs some hundred bytes.
	defaultNames = 1_000_000
	// maxSetMembers bounds one set within one second.
	maxSetMembers = 1_000_000
	// forgetAfter is how many seconds without a packet a name is kept. A counter goes on from where it was, and a gauge
	// is repeated, as long: statsd's clients say only what changes.
	forgetAfter = 3600
	sweepEvery  = 60
	// mergeAtOnce is how many entries are merged while a reader waits: some tenths of a millisecond.
	mergeAtOnce = 256
	// ingestAtOnce keeps other inputs from waiting for a large second.
	ingestAtOnce = 10_000
	// maxTimed is how many values with a time of their own may come by one reader within a second.
	maxTimed = 1_000_000
	// maxUnstored is how many samples wait for a store that fails.
	maxUnstored = 1_000_000
)

// Durability is what holds for what came by statsd unless Options say otherwise: nobody waits for an answer.
const Durability = journal.Interval

// Aggregator gathers lines and writes them to a store. Safe for many goroutines.
type Aggregator struct {
	store      tsdb.Ingester
	durability journal.Durability
	maxNames   int
	clock      *fastclock.Clock

	// flushing serialises what walks over shards and metrics: the second's end, and the administrator.
	flushing sync.Mutex
	second   atomic.Uint64 // counts flushes; changed under flushing
	unstored []tsdb.Sample // of earlier seconds, what is sent once: the store did not take it
	senders  *senders.Input

	mu      sync.Mutex // guards the following, and metric.entries
	shards  []*shard
	metrics map[string]*metric // by type and series key: several spellings may be one series
	list    []*metric          // the same; only flushing's holder removes from it

	waiting    atomic.Int64 // len(unstored)
	lines, bad atomic.Uint64
	received   atomic.Int64 // when the last batch came, by the clock
}

// metric is what becomes a series.
type metric struct {
	key     []byte
	kind    metricType
	entries int // in the shards' tables

	// Guarded by flushing.
	last   uint64  // the second of the last line
	total  float64 // of a counter, since it began
	spread *histogram.Histogram
	count  uint64 // of a timer's measurements, since it began
	gone   bool

	mu      sync.Mutex // guards the following
	level   float64    // of a gauge
	order   int64      // when the gauge was last set
	known   bool       // the gauge has a value
	members map[string]struct{}
	less    float64 // what a counter was counted down by, since it began
	lessKey []byte  // of the series of that; nil before the first time
}

// shard is a reader's part.
type shard struct {
	a *Aggregator

	mu      sync.Mutex
	table   table
	dirty   []*entry
	refused map[tsdb.Reason]int
	timed   []tsdb.Sample // with a time of their own; their keys are metrics'
	from    []netip.Addr  // the packets' senders; nil for none
	blamed  blame
	order   int64 // the time of the batch
	lines   uint64
	batch   [linesAtOnce]line
	parsed  int
}

// blame is what was refused of one sender and is not counted as its yet.
type blame struct {
	from   netip.Addr
	reason tsdb.Reason
	n      int
}

// linesAtOnce is how many lines are looked up side by side.
const linesAtOnce = 64

// NewAggregator makes one that writes to a store.
func NewAggregator(store tsdb.Ingester, o Options) *Aggregator {
	a := &Aggregator{store: store, senders: o.Senders, durability: o.Durability, maxNames: o.Names, clock: o.Clock, metrics: map[string]*metric{}}
	if a.durability == "" {
		a.durability = Durability
	}
	if a.maxNames == 0 {
		a.maxNames = defaultNames
	}
	if a.clock == nil {
		a.clock = fastclock.New()
	}
	return a
}

// shard makes a shard for a reader.
func (a *Aggregator) shard() *shard {
	s := &shard{a: a, refused: map[tsdb.Reason]int{}}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.shards = append(a.shards, s)
	return s
}

// packets takes what was received at one time: lines separated by newlines. A bad line is counted, the rest is kept.
// received, by the clock, orders what comes by several readers.
func (s *shard) packets(packets [][]byte, received int64) { s.packetsFrom(packets, nil, received) }

// packetsFrom is packets of senders, one for each. Those of senders that send too much are refused.
func (s *shard) packetsFrom(packets [][]byte, from []netip.Addr, received int64) {
	s.gather(packets, from, received, s.a.senders.LimitsSamples())
}

// gather is packetsFrom; limited: whether senders are asked for how much they send.
func (s *shard) gather(packets [][]byte, from []netip.Addr, received int64, limited bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order, s.from = received, from
	var sent senders.Tally
	for i, packet := range packets {
		if limited && s.tooMuch(packet, i) {
			continue
		}
		if lines := s.packet(packet, i); s.a.senders != nil {
			s.a.senders.Count(&sent, s.sender(i), lines)
		}
	}
	s.apply()
	s.blame(blame{})
	s.a.senders.Count(&sent, netip.Addr{}, 0)
	s.from = nil
	s.a.received.Store(received)
	if s.lines > 0 {
		s.a.lines.Add(s.lines)
		s.lines = 0
	}
}

// tooMuch refuses the lines of the i-th packet when its sender sends more than it may: they are counted before they are parsed, so that a
// flood costs little.
func (s *shard) tooMuch(packet []byte, i int) bool {
	lines := linesOf(packet)
	reason := s.a.senders.Admit(s.sender(i), lines)
	if reason == "" {
		return false
	}
	for range lines {
		s.refuse(reason, i)
	}
	return true
}

func linesOf(text []byte) int {
	return bytes.Count(bytes.TrimSuffix(text, []byte{'\n'}), []byte{'\n'}) + 1
}

// sender is who sent a packet; not valid of a Unix socket.
func (s *shard) sender(packet int) netip.Addr {
	if packet < len(s.from) {
		return s.from[packet]
	}
	return netip.Addr{}
}

// packet parses the lines of the i-th packet, which wait for apply, and says how many there are.
func (s *shard) packet(packet []byte, i int) (lines int) {
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
		lines++
		if len(text) > maxLine {
			s.refuse(TooLong, i)
			continue
		}
		if s.parsed == linesAtOnce {
			s.apply()
		}
		l := &s.batch[s.parsed]
		if reason := parseLine(text, l); reason != "" {
			s.refuse(reason, i)
			continue
		}
		l.packet = i
		l.hash = hashOf(l)
		s.parsed++
	}
	return lines
}

// apply counts the parsed lines. The steps are loops of their own, so that the cache misses of many lines run at the
// same time.
func (s *shard) apply() {
	batch := s.batch[:s.parsed]
	s.parsed = 0
	for i := range batch {
		batch[i].entry = s.table.candidate(batch[i].hash)
	}
	for i := range batch {
		if l := &batch[i]; l.entry != nil && !l.entry.is(l) {
			l.entry = nil
		}
	}
	for i := range batch {
		if reason := s.count(&batch[i]); reason != "" {
			s.refuse(reason, batch[i].packet)
		}
	}
}

// elsewhere counts a packet from where none may come.
func (s *shard) elsewhere(from netip.Addr) {
	s.a.senders.Refused(from, senders.NetworkNotAllowed, 1)
	s.reject(senders.NetworkNotAllowed)
}

// reject counts something of which the sender is counted already.
func (s *shard) reject(reason tsdb.Reason) {
	s.a.store.Reject(reason, 1)
	s.a.bad.Add(1)
}

// cut takes off what a datagram that was too long ends with: a line that may have lost its end.
func (s *shard) cut(packet []byte, from netip.Addr) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = []netip.Addr{from}
	s.refuse(TooLong, 0)
	s.blame(blame{})
	s.from = nil
	return packet[:bytes.LastIndexByte(packet, '\n')+1]
}

// refuse counts a line, or a value, of the i-th packet.
func (s *shard) refuse(reason tsdb.Reason, i int) {
	s.refused[reason]++
	s.a.bad.Add(1)
	if s.a.senders == nil {
		return
	}
	if from := s.sender(i); s.blamed.from != from || s.blamed.reason != reason {
		s.blame(blame{from: from, reason: reason})
	}
	s.blamed.n++
}

// blame counts what was gathered as its sender's, and begins to gather for the next one.
func (s *shard) blame(next blame) {
	s.a.senders.Refused(s.blamed.from, s.blamed.reason, s.blamed.n)
	s.blamed = next
}

func (s *shard) count(l *line) tsdb.Reason {
	e := l.entry
	if e == nil { // or another one with the same hash, or a line before it was the first
		if e = s.table.find(l); e == nil {
			var reason tsdb.Reason
			if e, reason = s.add(l); reason != "" {
				return reason
			}
		}
	}
	values, good := l.values, false
	for {
		value := values
		colon := -1
		if l.kind != set {
			if colon = bytes.IndexByte(values, ':'); colon >= 0 {
				value, values = values[:colon], values[colon+1:]
			}
		}
		if reason := s.take(e, value, l); reason != "" {
			s.refuse(reason, l.packet)
		} else {
			good = true
		}
		if colon < 0 {
			break
		}
	}
	if good {
		if !e.dirty {
			e.dirty = true
			s.dirty = append(s.dirty, e)
		}
		s.lines++
	}
	return ""
}

// add makes an entry for a line not seen before. A name is not kept for the sake of a line that says nothing.
func (s *shard) add(l *line) (*entry, tsdb.Reason) {
	if l.kind != set {
		value, _, _ := bytes.Cut(l.values, []byte(":"))
		if _, ok := parseNumber(value); !ok {
			return nil, BadNumber
		}
	}
	labels, reason := labelsOf(l.name, l.tags)
	if reason != "" {
		return nil, reason
	}
	key, err := tsdb.AppendKey([]byte{byte(l.kind)}, labels)
	if err != nil {
		var bad *tsdb.KeyError
		if errors.As(err, &bad) {
			return nil, bad.Reason
		}
		return nil, BadLine
	}
	a := s.a
	a.mu.Lock()
	_, there := a.metrics[string(key)]
	a.mu.Unlock()
	if !there {
		if reason := a.create(key[1:], s.sender(l.packet)); reason != "" {
			return nil, reason
		}
	}
	a.mu.Lock()
	m := a.metrics[string(key)]
	if m == nil && len(a.list) < a.maxNames {
		m = &metric{key: key[1:], kind: l.kind, last: a.second.Load()}
		a.metrics[string(key)] = m
		a.list = append(a.list, m)
	}
	// Some spellings of one series are normal; many are someone's mistake.
	full := m == nil || s.table.used >= 2*a.maxNames
	if !full {
		m.entries++
	}
	a.mu.Unlock()
	if full {
		return nil, Names
	}
	e := &entry{hash: l.hash, text: owned(l), name: len(l.name), kind: l.kind, metric: m}
	s.table.insert(e)
	return e, ""
}

// create says whether a sender may make a series. One that the store knows goes on, also after a restart.
func (a *Aggregator) create(key []byte, from netip.Addr) tsdb.Reason {
	if a.senders == nil {
		return ""
	}
	if tsdb.Reserved(key) {
		return tsdb.ReservedName
	}
	store, _ := a.store.(interface {
		Known(key []byte, stored bool) bool
	})
	if store != nil && store.Known(key, false) {
		return ""
	}
	reason := a.senders.Take(from)
	if reason != "" && store != nil && store.Known(key, true) {
		return ""
	}
	return reason
}

// Lines is how many good lines came.
func (a *Aggregator) Lines() uint64 { return a.lines.Load() }
