// Package senders knows who sends by an input: from which networks it is used, how many samples each address may send, how many
// new series each address and all of them together may make, and what was refused of whom. A flood of samples or of new names
// stops at its sender's limit, and what everybody else sends goes on.
package senders

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/store/tsdb"
)

// NetworkNotAllowed is the reason for which packets, connections and requests from elsewhere are refused.
const NetworkNotAllowed tsdb.Reason = "network_not_allowed"

const (
	// maxSenders is how many addresses are told apart; those beyond it share one limit.
	maxSenders = 4096
	// forgetAfter is how long an address is remembered of which nothing came.
	forgetAfter = time.Hour
)

// Options are an input's limits.
type Options struct {
	// Networks are where senders may be, and those of Own, if it is set; neither means everywhere.
	Networks []netip.Prefix
	Own      *Own
	// How many new series may come, on average each second and at once: of all senders together, and of each address. A
	// limit of 0 a second is none.
	SeriesPerSecond, SeriesBurst             int
	SenderSeriesPerSecond, SenderSeriesBurst int
	// How many samples (of statsd: lines) each address may send a second on average; ten times as many at once. 0: any number.
	SenderSamplesPerSecond int
}

// samplesAtOnce is for how many seconds' samples a sender may save up.
const samplesAtOnce = 10

// Input is one input's senders; safe for many goroutines. A nil one permits everything and counts nothing.
type Input struct {
	name string
	now  func() time.Time
	// options are replaced as a whole, while others read them.
	options atomic.Pointer[Options]
	on      atomic.Bool

	mu      sync.Mutex
	all     bucket
	created uint64
	refused map[tsdb.Reason]uint64
	byAddr  map[netip.Addr]*sender
	others  sender
	swept   time.Time
}

type sender struct {
	bucket  bucket // of new series
	samples bucket
	refused map[tsdb.Reason]uint64
	last    time.Time
	// Of the last hour.
	sent, created, declined hour
}

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

// New makes the senders of the input that has a name in the settings.
func New(name string, options Options) *Input {
	in := &Input{name: name, now: time.Now, refused: map[tsdb.Reason]uint64{}, byAddr: map[netip.Addr]*sender{}}
	in.options.Store(&options)
	in.on.Store(true)
	in.all.tokens = float64(options.SeriesBurst)
	in.others.bucket.tokens = float64(options.SenderSeriesBurst)
	return in
}

// Allowed says whether an address may send. One that is not valid is this machine's own, by a Unix socket.
func (in *Input) Allowed(from netip.Addr) bool {
	if in == nil || !from.IsValid() {
		return true
	}
	o := in.options.Load()
	if len(o.Networks) == 0 && o.Own == nil {
		return true
	}
	from = from.Unmap().WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(from) }
	return slices.ContainsFunc(o.Networks, within) || o.Own != nil && slices.ContainsFunc(o.Own.Networks(), within)
}

// Set replaces the limits. Who may no longer send is refused from the next packet or request on; a sender's tokens stay.
func (in *Input) Set(options Options) { in.options.Store(&options) }

// Switch lets requests through, or not. Inputs with sockets of their own are closed by who opened them.
func (in *Input) Switch(on bool) { in.on.Store(on) }

// Create says whether an address may make one more series: "" if so, else the reason and what to do.
func (in *Input) Create(from netip.Addr) (tsdb.Reason, string) {
	reason := in.Take(from)
	if reason == "" {
		return "", ""
	}
	return reason, in.explain(from, reason)
}

// Take is Create for senders that are not told.
func (in *Input) Take(from netip.Addr) tsdb.Reason {
	if in == nil {
		return ""
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.now()
	o := in.options.Load()
	one := in.of(from, now)
	one.last = now
	if o.SenderSeriesPerSecond > 0 && !one.bucket.has(now, o.SenderSeriesPerSecond, o.SenderSeriesBurst) {
		return tsdb.SenderSeriesRate
	}
	if o.SeriesPerSecond > 0 && !in.all.has(now, o.SeriesPerSecond, o.SeriesBurst) {
		return tsdb.InputSeriesRate
	}
	one.bucket.tokens--
	in.all.tokens--
	one.created.add(now, 1)
	in.created++
	return ""
}

// Admit says whether an address may send n samples now, and charges them if so: "" or the reason. What is more than was left is a
// debt that the next ones wait for, so that a batch of any size is taken as a whole or not at all.
func (in *Input) Admit(from netip.Addr, n int) tsdb.Reason {
	if !in.LimitsSamples() || n <= 0 {
		return ""
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.now()
	one := in.of(from, now)
	one.last = now
	if !one.samples.lend(now, in.options.Load().SenderSamplesPerSecond, n) {
		return tsdb.SenderSampleRate
	}
	return ""
}

// Charge is Admit for what was admitted already, as the rest of a request of which a part is stored.
func (in *Input) Charge(from netip.Addr, n int) {
	if !in.LimitsSamples() || n <= 0 {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	in.of(from, in.now()).samples.tokens -= float64(n)
}

// LimitsSamples says whether there is a limit of samples.
func (in *Input) LimitsSamples() bool {
	return in != nil && in.options.Load().SenderSamplesPerSecond > 0
}

func (in *Input) explain(from netip.Addr, reason tsdb.Reason) string {
	o := in.options.Load()
	if reason == tsdb.SenderSampleRate {
		return fmt.Sprintf("%s sends more than %d samples a second by %s: send less often, or raise %s.sender_samples_per_second",
			Text(from), o.SenderSamplesPerSecond, in.name, in.name)
	}
	if reason == tsdb.SenderSeriesRate {
		return fmt.Sprintf("%s makes new series by %s faster than %d a second (%d at once): find out which part of the names or labels changes each time, or raise %s.sender_series_per_second",
			Text(from), in.name, o.SenderSeriesPerSecond, o.SenderSeriesBurst, in.name)
	}
	return fmt.Sprintf("all senders together make new series by %s faster than %d a second (%d at once): find out which sender changes its names or labels each time, or raise %s.series_per_second",
		in.name, o.SeriesPerSecond, o.SeriesBurst, in.name)
}

// Refused counts what was refused of an address, for whatever reason.
func (in *Input) Refused(from netip.Addr, reason tsdb.Reason, n int) {
	if in == nil || n <= 0 {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.now()
	in.refused[reason] += uint64(n)
	one := in.of(from, now)
	if one.refused == nil {
		one.refused = map[tsdb.Reason]uint64{}
	}
	one.refused[reason] += uint64(n)
	one.declined.add(now, n)
	one.last = now
}

// Sent counts what came from an address: samples, or lines of statsd.
func (in *Input) Sent(from netip.Addr, n int) {
	if in == nil || n <= 0 {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	now := in.now()
	one := in.of(from, now)
	one.sent.add(now, n)
	one.last = now
}

// Tally gathers what came from one address after the other.
type Tally struct {
	from netip.Addr
	n    int
}

// Count adds to the tally what came from an address; what was gathered of another one before is counted as sent. Nothing from
// nobody empties it.
func (in *Input) Count(t *Tally, from netip.Addr, n int) {
	if from == t.from && n > 0 {
		t.n += n
		return
	}
	in.Sent(t.from, t.n)
	*t = Tally{from, n}
}

// of is an address' account. The caller holds mu.
func (in *Input) of(from netip.Addr, now time.Time) *sender {
	key := account(from)
	one := in.byAddr[key]
	if one == nil {
		if len(in.byAddr) >= maxSenders {
			in.sweep(now)
		}
		if len(in.byAddr) >= maxSenders {
			return &in.others
		}
		one = &sender{bucket: bucket{tokens: float64(in.options.Load().SenderSeriesBurst)}}
		in.byAddr[key] = one
	}
	return one
}

// sweep forgets addresses that have been silent, once a minute at most: a flood of made-up addresses must not make it work.
func (in *Input) sweep(now time.Time) {
	if now.Sub(in.swept) < time.Minute {
		return
	}
	in.swept = now
	for key, one := range in.byAddr {
		if now.Sub(one.last) > forgetAfter {
			delete(in.byAddr, key)
		}
	}
}

// account is what an address is counted as: of IPv6 its network of 64 bits, of which every host has all addresses it likes.
func account(from netip.Addr) netip.Addr {
	from = from.Unmap().WithZone("")
	if from.Is6() && !from.IsLoopback() {
		p, _ := from.Prefix(64)
		return p.Addr()
	}
	return from
}

// Account is what an address is counted as; see Text.
func Account(from netip.Addr) netip.Addr { return account(from) }

// Text is an address as errors and figures name it.
func Text(from netip.Addr) string {
	from = account(from)
	switch {
	case !from.IsValid():
		return "this machine"
	case from.Is6() && !from.IsLoopback():
		return from.String() + "/64"
	}
	return from.String()
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

// Status is what an input's senders did since the start.
type Status struct {
	Created uint64 // series that were new
	Refused map[tsdb.Reason]uint64
	// Senders are those of whom something came within an hour: those of whom most was refused, who made most new series and
	// who sent most.
	Senders []SenderStatus
}

// SenderStatus is one address.
type SenderStatus struct {
	Address string
	Sent    uint64                 // samples, or lines of statsd, within an hour
	Created uint64                 // new series, within an hour
	Refused map[tsdb.Reason]uint64 // since it was first heard of
	Last    time.Time

	declined uint64 // refused within an hour
}

func (one *sender) status(address string, now time.Time) SenderStatus {
	return SenderStatus{address, one.sent.sum(now), one.created.sum(now), maps.Clone(one.refused), one.last, one.declined.sum(now)}
}

// Status returns the figures, with at most limit senders for each thing that they are listed for.
func (in *Input) Status(limit int) Status {
	if in == nil {
		return Status{Refused: map[tsdb.Reason]uint64{}}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	status := Status{Created: in.created, Refused: maps.Clone(in.refused)}
	if limit == 0 {
		return status
	}
	now := in.now()
	var all []SenderStatus
	for addr, one := range in.byAddr {
		if now.Sub(one.last) <= forgetAfter {
			all = append(all, one.status(Text(addr), now))
		}
	}
	if !in.others.last.IsZero() {
		all = append(all, in.others.status("others", now))
	}
	status.Senders = worst(all, limit)
	return status
}

// worst are the first by each figure, none twice.
func worst(all []SenderStatus, limit int) (list []SenderStatus) {
	known := map[string]bool{}
	for _, figure := range []func(*SenderStatus) uint64{
		func(s *SenderStatus) uint64 { return s.declined },
		func(s *SenderStatus) uint64 { return s.Created },
		func(s *SenderStatus) uint64 { return s.Sent },
	} {
		slices.SortFunc(all, func(a, b SenderStatus) int {
			return cmp.Or(cmp.Compare(figure(&b), figure(&a)), strings.Compare(a.Address, b.Address))
		})
		for i := range all[:min(len(all), limit)] {
			if one := &all[i]; figure(one) > 0 && !known[one.Address] {
				known[one.Address] = true
				list = append(list, *one)
			}
		}
	}
	return list
}

// Worst is the address of which most was refused for a reason; "" when nothing was.
func (in *Input) Worst(reason tsdb.Reason) (address string) {
	if in == nil {
		return ""
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	most := uint64(0)
	for addr, one := range in.byAddr {
		if n := one.refused[reason]; n > most {
			most, address = n, Text(addr)
		}
	}
	if in.others.refused[reason] > most {
		return "others"
	}
	return address
}

// From is one address as the sender of a request; nil of a nil Input. A request that is stored in several batches is admitted with
// the first one.
func (in *Input) From(from netip.Addr) tsdb.Sender {
	if in == nil {
		return nil
	}
	return &single{in: in, from: from}
}

type single struct {
	in       *Input
	from     netip.Addr
	admitted atomic.Bool
}

// Admit implements tsdb.Admitter.
func (s *single) Admit(n int) (tsdb.Reason, string) {
	if s.admitted.Load() {
		s.in.Charge(s.from, n)
		return "", ""
	}
	if reason := s.in.Admit(s.from, n); reason != "" {
		return reason, s.in.explain(s.from, reason)
	}
	s.admitted.Store(true)
	return "", ""
}

func (s *single) Create(int) (tsdb.Reason, string)  { return s.in.Create(s.from) }
func (s *single) Refused(_ int, reason tsdb.Reason) { s.in.Refused(s.from, reason, 1) }
func (s *single) Sent(n int)                        { s.in.Sent(s.from, n) }

// Parts says which of a batch's samples came from which address. The zero value is an empty batch.
type Parts struct {
	ends []int
	from []netip.Addr
}

// Add says that the samples behind those that were added before, up to end, are an address'.
func (p *Parts) Add(from netip.Addr, end int) {
	n := len(p.ends)
	switch {
	case n > 0 && p.ends[n-1] == end, n == 0 && end == 0:
	case n > 0 && p.from[n-1] == from:
		p.ends[n-1] = end
	default:
		p.ends, p.from = append(p.ends, end), append(p.from, from)
	}
}

// Reset empties it.
func (p *Parts) Reset() { p.ends, p.from = p.ends[:0], p.from[:0] }

// Of is the sender of the part of the batch that begins at sample first; nil of a nil Input.
func (p *Parts) Of(in *Input, first int) tsdb.Sender {
	if in == nil {
		return nil
	}
	return several{in, p, first}
}

type several struct {
	in    *Input
	parts *Parts
	first int
}

func (s several) at(i int) netip.Addr {
	at, _ := slices.BinarySearch(s.parts.ends, s.first+i+1)
	if at >= len(s.parts.from) {
		return netip.Addr{}
	}
	return s.parts.from[at]
}

func (s several) Create(i int) (tsdb.Reason, string) { return s.in.Create(s.at(i)) }
func (s several) Refused(i int, reason tsdb.Reason)  { s.in.Refused(s.at(i), reason, 1) }

func (s several) Sent(n int) {
	at, _ := slices.BinarySearch(s.parts.ends, s.first+1)
	for begin, end := s.first, s.first+n; begin < end && at < len(s.parts.ends); at++ {
		upTo := min(s.parts.ends[at], end)
		s.in.Sent(s.parts.from[at], upTo-begin)
		begin = upTo
	}
}
