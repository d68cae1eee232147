package network

import (
	"fmt"
	"net/netip"
	"slices"
)

// Address is one that an interface has.
type Address struct {
	Address string `json:"address"` // as 192.0.2.10/24
	// Duplicate: another machine has it, so that it is not used.
	Duplicate bool `json:"duplicate"`
	// Trying: whether another machine has it is not known yet.
	Trying bool `json:"trying"`
}

// Link is an interface that there is.
type Link struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"` // as that of Interface
	MAC       string    `json:"mac"`  // of a port: the one it was made with
	Carrier   bool      `json:"carrier"`
	MTU       int       `json:"mtu"`
	Bond      string    `json:"bond"`   // that it is in; "": none
	Parent    string    `json:"parent"` // of a VLAN
	ID        int       `json:"id"`     // of a VLAN
	Addresses []Address `json:"addresses"`
	// Mode is that of a bond.
	Mode string `json:"mode"`
}

// Gateway is a way to everywhere.
type Gateway struct {
	Address   string `json:"address"`
	Interface string `json:"interface"`
	// Answers: whether it has just said that it is there; nil: it is being asked, or was long ago.
	Answers *bool `json:"answers"`
}

// State is how the network is now.
type State struct {
	Links    []Link    `json:"links"`
	Gateways []Gateway `json:"gateways"`
	// DNS and Search are what names are asked of.
	DNS    []string `json:"dns"`
	Search []string `json:"search"`
}

// LinkOf is what there is of an interface.
func (s State) LinkOf(one Interface) (Link, bool) {
	at := slices.IndexFunc(s.Links, func(l Link) bool {
		if one.Kind == Port {
			return l.Kind == Port && l.MAC == one.MAC
		}
		return l.Kind == one.Kind && l.Name == one.Name
	})
	if at < 0 {
		return Link{}, false
	}
	return s.Links[at], true
}

// Loses is why a document must not be tried on a machine as it is now: where, and what; empty when it may. isolated: that there is no
// way to other networks is meant.
func (d Document) Loses(now State, before Document, isolated bool) (path, message string) {
	reachable := false
	named := map[string]bool{}
	for i, one := range d.Interfaces {
		at := fmt.Sprintf("/interfaces/%d", i)
		link, there := now.LinkOf(one)
		if one.Kind == Port {
			named[one.MAC] = true
			known := slices.ContainsFunc(before.Interfaces, func(b Interface) bool { return b.Kind == Port && b.MAC == one.MAC })
			if !there && !known {
				return at + "/mac", fmt.Sprintf("No port of this machine has the hardware address %s.", one.MAC)
			}
		} else if slices.ContainsFunc(now.Links, func(l Link) bool { return l.Name == one.Name && l.Kind != one.Kind }) {
			return at + "/name", fmt.Sprintf("There is another interface called %s.", one.Name)
		}
		// A port without a cable leads nowhere, whatever its address is.
		if (one.IPv4.addressed() || one.IPv6.addressed()) && (one.Kind != Port || link.Carrier) {
			reachable = true
		}
	}
	for _, link := range now.Links {
		reachable = reachable || link.Kind == Port && !named[link.MAC] && link.Carrier
	}
	if !reachable {
		return "/interfaces", "No interface with a cable would have an address: nobody could reach the page any more."
	}
	// The commonest accident: the first address that is set by hand ends what DHCP has said of the gateway.
	if has4, will4 := now.outward(true), d.outward(now, true); has4 != "" && !will4 && !isolated {
		at := max(0, slices.IndexFunc(d.Interfaces, func(one Interface) bool { return one.IPv4.Method == Static }))
		return fmt.Sprintf("/interfaces/%d/ipv4/gateway", at), fmt.Sprintf("There would be no gateway any more (now it is %s): nobody from another network could reach the page. Name it, or say that none is wanted.", has4)
	}
	return "", ""
}

// outward is the gateway there is now; "": none.
func (s State) outward(v4 bool) string {
	for _, one := range s.Gateways {
		if a, err := netip.ParseAddr(one.Address); err == nil && a.Is4() == v4 {
			return one.Address
		}
	}
	return ""
}

// outward says whether a document names a gateway, or asks a network that may.
func (d Document) outward(now State, v4 bool) bool {
	named := map[string]bool{}
	for _, one := range d.Interfaces {
		f := one.IPv6
		if v4 {
			f = one.IPv4
		}
		if f.Gateway != "" || f.Method == DHCP || f.Method == Auto {
			return true
		}
		named[one.MAC] = true
	}
	return slices.ContainsFunc(now.Links, func(l Link) bool { return l.Kind == Port && !named[l.MAC] && l.Carrier })
}

// Missing is what a document says and the machine does not have: certain is true for what will not come by waiting.
func (d Document) Missing(now State) (said string, certain bool) {
	for _, one := range d.Interfaces {
		link, ok := now.LinkOf(one)
		if !ok {
			if one.Kind == Port {
				continue // it was known before, and has been taken out
			}
			return fmt.Sprintf("The interface %s could not be made.", one.Name), false
		}
		if link.MTU != one.MTU {
			return fmt.Sprintf("%s has the MTU %d, not %d: its driver may take no more.", link.Name, link.MTU, one.MTU), false
		}
		if bond, in := d.BondOf(one.Name); in && link.Bond != bond.Name {
			return fmt.Sprintf("%s is not in the bond %s.", link.Name, bond.Name), false
		}
		for _, want := range slices.Concat(one.IPv4.Addresses, one.IPv6.Addresses) {
			at := slices.IndexFunc(link.Addresses, func(a Address) bool { return a.Address == want })
			switch {
			case at >= 0 && link.Addresses[at].Duplicate:
				return fmt.Sprintf("Another machine has the address %s already.", want), true
			case at < 0 && link.Carrier || at >= 0 && link.Addresses[at].Trying:
				return fmt.Sprintf("%s has not got the address %s: another machine may have it.", link.Name, want), false
			}
		}
	}
	for _, one := range d.Interfaces {
		link, _ := now.LinkOf(one)
		for _, has := range link.Addresses {
			p, ok := prefixOf(has.Address)
			if ok && p.Addr().Is4() && one.IPv4.Method != DHCP && !slices.Contains(one.IPv4.Addresses, has.Address) {
				return fmt.Sprintf("%s still has the address %s.", link.Name, has.Address), false
			}
		}
	}
	for _, one := range d.Interfaces {
		for _, gateway := range []string{one.IPv4.Gateway, one.IPv6.Gateway} {
			link, _ := now.LinkOf(one)
			if gateway != "" && link.Carrier && !slices.ContainsFunc(now.Gateways, func(g Gateway) bool { return g.Address == gateway }) {
				return fmt.Sprintf("The gateway %s is not used.", gateway), false
			}
		}
	}
	return "", false
}
