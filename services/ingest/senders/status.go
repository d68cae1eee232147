package senders

// What an input's senders did.

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"cistern/services/store/tsdb"
)

// Status is what an input's senders did since the start.
type Status struct {
	Created uint64 // series that were new
	Refused map[tsdb.Reason]uint64
	// Senders are those of whom something came within an hour: those of whom most was refused, who made most new series, who
	// sent most, and who began last.
	Senders []SenderStatus
}

// SenderStatus is one address.
type SenderStatus struct {
	Address string
	Sent    uint64                 // samples, or lines of statsd, within an hour
	Created uint64                 // new series, within an hour
	Refused map[tsdb.Reason]uint64 // since it was first heard of
	First   time.Time              // since the start, or since it was forgotten
	Last    time.Time

	declined uint64 // refused within an hour
}

func (one *sender) status(address string, now time.Time) SenderStatus {
	return SenderStatus{address, one.sent.sum(now), one.created.sum(now), maps.Clone(one.refused), one.first, one.last, one.declined.sum(now)}
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
		func(s *SenderStatus) uint64 { return uint64(max(0, s.First.Unix())) },
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
