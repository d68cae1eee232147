package firewall

// What a document means for the addresses that the machine has now.

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// Rule is a service that is on.
type Rule struct {
	Name     string
	TCP, UDP []uint16
	// Everybody may reach it; else V4 and V6, of which none contains another.
	Everybody bool
	V4, V6    []netip.Prefix
	// PerAddress is how many connections of TCP an address has at a time, of IPv6 a network of 64 bits; 0: any number.
	PerAddress int
}

// ConnectionsPerAddress are those of the web server, which has 4,096 places in all, two for each: no address alone fills them, by
// requests that it never ends. An office behind one address has enough: a browser holds one or two.
const ConnectionsPerAddress = 256

// served are the services that the web server listens for.
var served = []string{HTTPS, "certificates"}

// Rules are those of all services that are on, in the order of the document. own are the networks that the machine has an address
// in; each of the document's was checked (Wrong).
func (d Document) Rules(own []netip.Prefix) []Rule {
	var all []Rule
	for _, s := range d.Services {
		if len(s.Ports) == 0 {
			continue
		}
		r := Rule{Name: s.Name, Everybody: len(s.Networks) == 0}
		for _, p := range s.Ports {
			if p.Protocol == "tcp" {
				r.TCP = append(r.TCP, p.Port)
			} else {
				r.UDP = append(r.UDP, p.Port)
			}
		}
		slices.Sort(r.TCP)
		slices.Sort(r.UDP)
		if slices.Contains(served, s.Name) && len(r.TCP) > 0 {
			r.PerAddress = ConnectionsPerAddress
		}
		var networks []netip.Prefix
		for _, text := range s.Networks {
			if text == Own {
				networks = append(networks, own...)
			} else if network, err := netip.ParsePrefix(text); err == nil {
				networks = append(networks, network)
			}
		}
		for _, network := range widest(networks) {
			switch {
			case network.Addr().IsLoopback(): // never closed
			case network.Addr().Is4():
				r.V4 = append(r.V4, network)
			default:
				r.V6 = append(r.V6, network)
			}
		}
		all = append(all, r)
	}
	return all
}

// widest leaves out networks that others contain, in order.
func widest(networks []netip.Prefix) []netip.Prefix {
	sorted := slices.Clone(networks)
	slices.SortFunc(sorted, func(a, b netip.Prefix) int {
		return cmp.Or(a.Bits()-b.Bits(), a.Addr().Compare(b.Addr()))
	})
	var kept []netip.Prefix
	for _, one := range sorted {
		if !slices.ContainsFunc(kept, func(wide netip.Prefix) bool { return wide.Overlaps(one) }) {
			kept = append(kept, one)
		}
	}
	slices.SortFunc(kept, func(a, b netip.Prefix) int { return a.Addr().Compare(b.Addr()) })
	return kept
}

// Range is the first and the last address of some that follow each other.
type Range struct{ First, Last netip.Addr }

func (r Range) String() string { return r.First.String() + "-" + r.Last.String() }

// RangeOf is that of a network.
func RangeOf(p netip.Prefix) Range {
	last := p.Masked().Addr().AsSlice()
	for i := p.Bits(); i < len(last)*8; i++ {
		last[i/8] |= 0x80 >> (i % 8)
	}
	to, _ := netip.AddrFromSlice(last)
	return Range{p.Masked().Addr(), to}
}

// Joined writes ranges in order, those that touch as one: however a kernel has split them, the same addresses are the same text.
func Joined(ranges []Range) string {
	sorted := slices.Clone(ranges)
	slices.SortFunc(sorted, func(a, b Range) int { return a.First.Compare(b.First) })
	var joined []Range
	for _, one := range sorted {
		if n := len(joined); n > 0 && (one.First.Compare(joined[n-1].Last) <= 0 || joined[n-1].Last.Next() == one.First) {
			if one.Last.Compare(joined[n-1].Last) > 0 {
				joined[n-1].Last = one.Last
			}
			continue
		}
		joined = append(joined, one)
	}
	words := make([]string, len(joined))
	for i, one := range joined {
		words[i] = one.String()
	}
	return strings.Join(words, " ")
}

// Loaded is what the kernel has.
type Loaded struct {
	// Differs says where it is not what it should be; none: it is.
	Differs []string
	// Dropped are the packets for each service that were turned away, and under Other all else, since the counters began.
	Dropped map[string]uint64
	// OverLimit are the packets that would have begun one connection too many of their address, for each service that has such a
	// limit; nil where the system has none.
	OverLimit map[string]uint64
	// Senders are whom they came from within SendersFor; nil where the system cannot tell.
	Senders []Sender
	// SendersFull: there were more than are told apart.
	SendersFull bool
}

// Other is what was dropped and is no service's.
const Other = "other"

// SendersFor is how long a sender whose packets were dropped is remembered, and MostSenders how many of each family at once.
const (
	SendersFor  = time.Hour
	MostSenders = 2048
)

// Sender is somebody whose packets for a port were dropped.
type Sender struct {
	Address  netip.Addr
	Port     Port
	Packets  uint64
	SinceAgo time.Duration // the first of them
}

// mostDifferences are told of; who has other rules has many.
const mostDifferences = 10

// Difference says what is missing and what is too much in a list of rules, whose order matters.
func Difference(want, found []string) []string {
	if slices.Equal(want, found) {
		return nil
	}
	count := map[string]int{}
	for _, one := range found {
		count[one]++
	}
	var differs []string
	for _, one := range want {
		if count[one]--; count[one] < 0 {
			differs = append(differs, "This rule is missing: "+one)
		}
	}
	for _, one := range found {
		if count[one] > 0 {
			count[one]--
			differs = append(differs, "This rule was not made here: "+one)
		}
	}
	if len(differs) == 0 {
		return []string{"The rules are in another order."}
	}
	if n := len(differs); n > mostDifferences {
		differs = append(differs[:mostDifferences], fmt.Sprintf("And %d more.", n-mostDifferences))
	}
	return differs
}
