package senders

// What is set of single senders: who is refused, and which label host is given to what one sends without naming a host.

import (
	"fmt"
	"net/netip"

	"cistern/services/store/tsdb"
)

// SenderRefused is the reason for which packets, connections and requests are refused of somebody who is among the refused.
const SenderRefused tsdb.Reason = "sender_refused"

// HostLabel is the label that a sender's address, or its name, becomes.
const HostLabel = "host"

// maxRemembered is how many senders' labels are remembered: they can be found out again.
const maxRemembered = 4096

// Place is where a single sender is: an address, or of IPv6 a network of 64 bits, of which every host has all addresses it likes.
type Place netip.Prefix

// PlaceOf is the place of an address alone.
func PlaceOf(address netip.Addr) Place {
	address = address.Unmap().WithZone("")
	return Place(netip.PrefixFrom(address, address.BitLen()))
}

// UnmarshalText implements encoding.TextUnmarshaler.
func (p *Place) UnmarshalText(text []byte) error {
	if one, err := netip.ParseAddr(string(text)); err == nil && one.Zone() == "" {
		*p = PlaceOf(one)
		return nil
	}
	network, err := netip.ParsePrefix(string(text))
	switch {
	case err != nil:
		return fmt.Errorf("%.60q is no sender: write an address, or a network of 64 bits as 2001:db8::/64", text)
	case network != network.Masked():
		return fmt.Errorf("%q is an address in a network: write %s for the network, or %s for the address alone", text, network.Masked(), network.Addr())
	case network.IsSingleIP():
		*p = PlaceOf(network.Addr())
		return nil
	case network.Bits() != 64:
		return fmt.Errorf("%q is more than one sender: write an address, or a network of 64 bits as 2001:db8::/64", text)
	}
	*p = Place(network)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (p Place) MarshalText() ([]byte, error) {
	if network := netip.Prefix(p); !network.IsSingleIP() {
		return network.MarshalText()
	}
	return netip.Prefix(p).Addr().MarshalText()
}

// at is what is set of an address, or of its network.
func at[V any](places map[Place]V, from netip.Addr) (value V, found bool) {
	if len(places) == 0 {
		return value, false
	}
	from = from.Unmap().WithZone("")
	if value, found = places[PlaceOf(from)]; found || !from.Is6() {
		return value, found
	}
	network, _ := from.Prefix(64)
	value, found = places[Place(network)]
	return value, found
}

// Hosts remembers the label of each sender; not safe for several goroutines. The zero value remembers none.
type Hosts struct {
	options *Options
	known   map[netip.Addr]string
	last    netip.Addr
	label   string // of the last one
}

// Host is the label host of what an address sends without naming a host; "" for none. It is what was set last.
func (in *Input) Host(h *Hosts, from netip.Addr) string {
	if in == nil || !from.IsValid() {
		return ""
	}
	o := in.options.Load()
	if o != h.options || len(h.known) >= maxRemembered {
		*h = Hosts{options: o, known: map[netip.Addr]string{}}
	}
	if !o.SenderIsHost && len(o.HostNames) == 0 {
		return ""
	}
	if from == h.last {
		return h.label
	}
	label, found := h.known[from]
	if !found {
		label = o.host(from)
		h.known[from] = label
	}
	h.last, h.label = from, label
	return label
}

func (o *Options) host(from netip.Addr) string {
	if name, found := at(o.HostNames, from); found {
		return name
	}
	if o.SenderIsHost {
		return from.Unmap().WithZone("").String()
	}
	return ""
}
