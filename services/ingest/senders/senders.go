// Package senders knows who sends by an input: from which networks it is used, how many samples each address may send, how many
// new series each address and all of them together may make, and what was refused of whom. A flood of samples or of new names
// stops at its sender's limit, and what everybody else sends goes on.
package senders

import (
	"fmt"
	"net/netip"
	"slices"
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
	// RefusedSenders may not send, in whatever network they are.
	RefusedSenders map[Place]bool
	// SenderIsHost: what names no host gets its sender's address as the label host. HostNames are of single senders, whose samples
	// get the name as that label in any case.
	SenderIsHost bool
	HostNames    map[Place]string
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
	first   time.Time // when it was first heard of
	last    time.Time
	// Of the last hour.
	sent, created, declined hour
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

// Unwanted is the reason for which an address may not send; "" for one that may. One that is not valid is this machine's own, by a
// Unix socket.
func (in *Input) Unwanted(from netip.Addr) tsdb.Reason {
	if in == nil || !from.IsValid() {
		return ""
	}
	o := in.options.Load()
	if _, refused := at(o.RefusedSenders, from); refused {
		return SenderRefused
	}
	if len(o.Networks) == 0 && o.Own == nil {
		return ""
	}
	from = from.Unmap().WithZone("")
	within := func(p netip.Prefix) bool { return p.Contains(from) }
	if slices.ContainsFunc(o.Networks, within) || o.Own != nil && slices.ContainsFunc(o.Own.Networks(), within) {
		return ""
	}
	return NetworkNotAllowed
}

// WhatToDo is what an unwanted sender is told.
func WhatToDo(reason tsdb.Reason) string {
	if reason == SenderRefused {
		return "An administrator has refused this sender; Settings, Inputs takes that back."
	}
	return "Send from a network that may, or add this one at Settings, Inputs."
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
		one = &sender{bucket: bucket{tokens: float64(in.options.Load().SenderSeriesBurst)}, first: now}
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
