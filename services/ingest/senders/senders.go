// Package senders knows who sends by an input: from which networks it is used, how many new series each address and all
// of them together may make, and what was refused of whom. Series that exist are never limited: a flood of new names
// stops at its sender's limit, and what everybody else sends goes on.
package senders

import (
	"fmt"
	"maps"
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
	// forgetAfter is how long an address is remembered that made nothing new and of which nothing was refused.
	forgetAfter = time.Hour
)

// Options are an input's limits.
type Options struct {
	// Networks are where senders may be; none means everywhere.
	Networks []netip.Prefix
	// How many new series may come, on average each second and at once: of all senders together, and of each address. A
	// limit of 0 a second is none.
	SeriesPerSecond, SeriesBurst             int
	SenderSeriesPerSecond, SenderSeriesBurst int
}

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
	bucket  bucket
	created uint64
	refused map[tsdb.Reason]uint64
	last    time.Time
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
	networks := in.options.Load().Networks
	if len(networks) == 0 {
		return true
	}
	from = from.Unmap().WithZone("")
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(from) })
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
	one.created++
	in.created++
	return ""
}

func (in *Input) explain(from netip.Addr, reason tsdb.Reason) string {
	o := in.options.Load()
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
	one.last = now
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

// Status is what an input's senders did since the start.
type Status struct {
	Networks []netip.Prefix
	Created  uint64 // series that were new
	Refused  map[tsdb.Reason]uint64
	// Senders are those of whom something was refused, or that made new series within an hour: the worst first.
	Senders []SenderStatus
}

// SenderStatus is one address.
type SenderStatus struct {
	Address string
	Created uint64
	Refused map[tsdb.Reason]uint64
	Last    time.Time
}

// Total is how much was refused, for all reasons.
func (s *SenderStatus) Total() (n uint64) {
	for _, one := range s.Refused {
		n += one
	}
	return n
}

// Status returns the figures, with at most limit senders.
func (in *Input) Status(limit int) Status {
	if in == nil {
		return Status{Refused: map[tsdb.Reason]uint64{}}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	status := Status{Networks: in.options.Load().Networks, Created: in.created, Refused: maps.Clone(in.refused)}
	if limit == 0 {
		return status
	}
	for addr, one := range in.byAddr {
		status.Senders = append(status.Senders, SenderStatus{Text(addr), one.created, maps.Clone(one.refused), one.last})
	}
	if !in.others.last.IsZero() {
		status.Senders = append(status.Senders, SenderStatus{"others", in.others.created, maps.Clone(in.others.refused), in.others.last})
	}
	slices.SortFunc(status.Senders, func(a, b SenderStatus) int {
		x, y := a.Total(), b.Total()
		switch {
		case x != y && x > y, x == y && a.Created > b.Created:
			return -1
		case x == y && a.Created == b.Created:
			return strings.Compare(a.Address, b.Address)
		}
		return 1
	})
	status.Senders = status.Senders[:min(len(status.Senders), limit)]
	return status
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

// From is one address as the sender of a batch; nil of a nil Input.
func (in *Input) From(from netip.Addr) tsdb.Sender {
	if in == nil {
		return nil
	}
	return single{in, from}
}

type single struct {
	in   *Input
	from netip.Addr
}

func (s single) Create(int) (tsdb.Reason, string)  { return s.in.Create(s.from) }
func (s single) Refused(_ int, reason tsdb.Reason) { s.in.Refused(s.from, reason, 1) }

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
