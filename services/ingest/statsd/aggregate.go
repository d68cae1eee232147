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
	"unsafe"

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
	maxBytes   int64 // of memory for names; 0: any
	clock      *fastclock.Clock

	// flushing serialises what walks over shards and metrics: the second's end, and the administrator.
	flushing sync.Mutex
	second   atomic.Uint64 // counts flushes; changed under flushing
	unstored []tsdb.Sample // of earlier seconds, what is sent once: the store did not take it
	readings []reading     // of the last second, of what came in it
	repeated []reading     // and of what came before
	samples  []tsdb.Sample // of some of them; as readings, their memory is used again
	senders  *senders.Input

	mu      sync.Mutex // guards the following, and metric.entries
	shards  []*shard
	metrics map[string]*metric // by id: several spellings may be one series
	list    []*metric          // the same; only flushing's holder removes from it
	// fresh is what is to be said of timers that began since the last second; described counts them since the start.
	fresh     []tsdb.Metadata
	described int

	waiting    atomic.Int64 // len(unstored)
	bytes      atomic.Int64 // about what the metrics, their entries and hosts take; of the hosts it is changed under a shard's mu, else under mu
	lines, bad atomic.Uint64
	received   atomic.Int64 // when the last batch came, by the clock
}

// metric is what becomes a series. There are as many as names: what is small stands together.
type metric struct {
	id string // its type, and its series' key

	// Guarded by flushing, as is gone.
	last   uint64  // the second of the last line
	total  float64 // of a counter, since it began
	spread *histogram.Histogram
	count  uint64 // of a timer's measurements, since it began

	mu    sync.Mutex // guards the following, and known
	level float64    // of a gauge
	order int64      // when the gauge was last set
	more  *moreOfMetric

	entries int32 // in the shards' tables
	kind    metricType
	gone    bool
	known   bool // the gauge has a value
}

// moreOfMetric is what few metrics have.
type moreOfMetric struct {
	members map[string]struct{} // of a set
	less    float64             // what a counter was counted down by, since it began
	lessKey []byte              // of the series of that; nil before the first time
}

// extra is the metric's more. The caller holds mu.
func (m *metric) extra() *moreOfMetric {
	if m.more == nil {
		m.more = &moreOfMetric{}
	}
	return m.more
}

// entryBytes and metricBytes are about what one of them takes: itself, its places in lists and tables, and in tables what is left free for
// others.
const (
	entryBytes  = int64(unsafe.Sizeof(entry{})) + 3*int64(unsafe.Sizeof(slot{}))
	metricBytes = int64(unsafe.Sizeof(metric{})) + 96
)

// bytesOf is about what a metric takes beside its entries.
func bytesOf(m *metric) int64 { return metricBytes + int64(len(m.id)) }

// shard is a reader's part.
type shard struct {
	a *Aggregator

	mu      sync.Mutex
	table   table
	dirty   []*entry
	spare   []*histogram.Accumulator // empty ones, for timers that have none
	refused map[tsdb.Reason]int
	timed   []tsdb.Sample // with a time of their own; their keys are metrics'
	from    []netip.Addr  // the packets' senders; nil for none
	hosts   hostNumbers
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

// maxDescribed is how many timers are said to be of seconds: the store keeps so much of a bounded number of names, and a flood
// must leave room for what others say.
const maxDescribed = 20_000

// linesAtOnce is how many lines are looked up side by side.
const linesAtOnce = 64

// NewAggregator makes one that writes to a store.
func NewAggregator(store tsdb.Ingester, o Options) *Aggregator {
	a := &Aggregator{store: store, senders: o.Senders, durability: o.Durability, maxNames: o.Names, maxBytes: o.NamesBytes, clock: o.Clock, metrics: map[string]*metric{}}
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
	host := s.hosts.of(s.a.senders.Host(&s.hosts.known, s.sender(i)))
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
		l.packet, l.host = i, host
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

// unwanted counts a packet of somebody who may not send.
func (s *shard) unwanted(from netip.Addr, reason tsdb.Reason) {
	s.a.senders.Refused(from, reason, 1)
	s.reject(reason)
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
	host, e := s.hostOf(l)
	if e != nil {
		return e, ""
	}
	labels, reason := labelsOf(l.name, l.tags)
	if reason != "" {
		return nil, reason
	}
	labels = withHost(labels, host)
	name := labels[0].Value
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
	if m == nil && len(a.list) < a.maxNames && !a.full() {
		m = &metric{id: string(key), kind: l.kind, last: a.second.Load()}
		if l.kind == timer && a.described < maxDescribed {
			a.described++
			a.fresh = append(a.fresh, tsdb.Metadata{Name: name, Type: "histogram", Unit: "seconds"})
		}
		a.metrics[m.id] = m
		a.list = append(a.list, m)
		a.bytes.Add(bytesOf(m))
	}
	// Some spellings of one series are normal; many are someone's mistake.
	full := m == nil || s.table.used >= 2*a.maxNames || a.full()
	if !full {
		m.entries++
		a.bytes.Add(entryBytes)
	}
	a.mu.Unlock()
	if full {
		return nil, Names
	}
	if l.host == unnumbered {
		l.host = s.hosts.add(a, host)
		l.hash = hashOf(l)
	}
	e = &entry{hash: l.hash, host: l.host, text: owned(l, m.id), name: uint16(len(l.name)), kind: l.kind, metric: m}
	s.table.insert(e)
	return e, ""
}

// key is the series'. Nobody writes to it.
func (m *metric) key() []byte { return unsafe.Slice(unsafe.StringData(m.id), len(m.id))[1:] }

// full says whether the names take all the memory that they may.
func (a *Aggregator) full() bool { return a.maxBytes > 0 && a.bytes.Load() >= a.maxBytes }

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
