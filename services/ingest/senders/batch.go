package senders

// Who sent a batch: one address, or several that share it.

import (
	"math"
	"net/netip"
	"slices"
	"sync/atomic"

	"cistern/services/store/tsdb"
)

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

// Address implements tsdb.Addressed.
func (s *single) Address(int) (netip.Addr, int) { return s.from, math.MaxInt }

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

// Address implements tsdb.Addressed.
func (s several) Address(i int) (netip.Addr, int) {
	at, _ := slices.BinarySearch(s.parts.ends, s.first+i+1)
	if at >= len(s.parts.from) {
		return netip.Addr{}, math.MaxInt
	}
	return s.parts.from[at], s.parts.ends[at] - s.first
}

func (s several) Sent(n int) {
	at, _ := slices.BinarySearch(s.parts.ends, s.first+1)
	for begin, end := s.first, s.first+n; begin < end && at < len(s.parts.ends); at++ {
		upTo := min(s.parts.ends[at], end)
		s.in.Sent(s.parts.from[at], upTo-begin)
		begin = upTo
	}
}
