package network

// What systemd-networkd is given: systemd.network(5), systemd.netdev(5), of systemd 257.

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// FilePrefix is what the names of Cistern's files begin with: before the 80-ethernet.network of the image, which has all other ports
// ask for their addresses.
const FilePrefix = "10-cistern-"

// section is a part of a file, whose keys may be there several times.
type section struct {
	strings.Builder
}

func (s *section) head(name string) { fmt.Fprintf(s, "\n[%s]\n", name) }

func (s *section) set(key string, value any) { fmt.Fprintf(s, "%s=%v\n", key, value) }

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

// Networkd are the files for a document in its normal form that has nothing wrong, by their names.
func (d Document) Networkd() map[string]string {
	files := map[string]string{}
	asks := d.dnsAskedBy()
	for _, one := range d.Interfaces {
		var s section
		s.WriteString("# Written by Cistern; changes are lost.")
		if one.Kind != Port {
			s.device(one)
			files[FilePrefix+one.Name+".netdev"] = s.String()
			s.Reset()
			s.WriteString("# Written by Cistern; changes are lost.")
		}
		s.network(d, one, one.Name == asks)
		files[FilePrefix+one.Name+".network"] = s.String()
	}
	return files
}

// dnsAskedBy is the interface at which the DNS servers of the document are given: that of the gateway, or the first that has addresses.
func (d Document) dnsAskedBy() string {
	first := ""
	for _, one := range d.Interfaces {
		if one.IPv4.Gateway != "" || one.IPv6.Gateway != "" {
			return one.Name
		}
		if first == "" && (one.IPv4.addressed() || one.IPv6.addressed()) {
			first = one.Name
		}
	}
	return first
}

func (s *section) device(one Interface) {
	s.head("NetDev")
	s.set("Name", one.Name)
	s.set("Kind", one.Kind)
	if one.Kind == VLAN {
		s.head("VLAN")
		s.set("Id", one.ID)
		return
	}
	s.head("Bond")
	s.set("Mode", one.Mode)
	// Without it no bond notices that a cable is out.
	s.set("MIIMonitorSec", "100ms")
	if one.Mode == LACP {
		rate := "slow"
		if one.FastLACP {
			rate = "fast"
		}
		s.set("LACPTransmitRate", rate)
		s.set("TransmitHashPolicy", "layer3+4")
	}
}

func (s *section) network(d Document, one Interface, asks bool) {
	s.head("Match")
	if one.Kind == Port {
		// A VLAN and a bond have the hardware address of a port, and are none.
		s.set("PermanentMACAddress", one.MAC)
		s.set("Type", "ether")
	} else {
		s.set("Name", one.Name)
	}
	s.head("Link")
	s.set("MTUBytes", one.MTU)
	// What has no address of its own is not waited for at the start.
	s.set("RequiredForOnline", yes(one.IPv4.addressed() || one.IPv6.addressed()))
	s.head("Network")
	if bond, ok := d.BondOf(one.Name); ok {
		s.set("Bond", bond.Name)
		return
	}
	for _, other := range d.Interfaces {
		if other.Kind == VLAN && other.Parent == one.Name {
			s.set("VLAN", other.Name)
		}
	}
	s.set("DHCP", map[bool]string{true: "ipv4", false: "no"}[one.IPv4.Method == DHCP])
	s.set("IPv6AcceptRA", yes(one.IPv6.Method == Auto))
	// Without an address of the link alone IPv6 is not spoken at all.
	s.set("LinkLocalAddressing", map[bool]string{true: "ipv6", false: "no"}[one.IPv6.addressed()])
	if asks {
		for _, server := range d.DNS {
			s.set("DNS", server)
		}
		for _, domain := range d.Search {
			s.set("Domains", domain)
		}
	}
	if one.IPv4.Method == DHCP {
		s.head("DHCPv4")
		s.set("UseHostname", "no")
		s.set("UseDNS", yes(d.FromNetwork))
		s.set("UseDomains", yes(d.FromNetwork))
	}
	if one.IPv6.Method == Auto {
		s.head("IPv6AcceptRA")
		s.set("UseDNS", yes(d.FromNetwork))
		s.set("UseDomains", yes(d.FromNetwork))
		s.head("DHCPv6")
		s.set("UseHostname", "no")
		s.set("UseDNS", yes(d.FromNetwork))
		s.set("UseDomains", yes(d.FromNetwork))
	}
	for _, address := range slices.Concat(one.IPv4.Addresses, one.IPv6.Addresses) {
		s.head("Address")
		s.set("Address", address)
		// RFC 5227, RFC 4862: an address that another machine has is not taken.
		s.set("DuplicateAddressDetection", map[bool]string{true: "ipv4", false: "ipv6"}[!strings.Contains(address, ":")])
	}
	for _, gateway := range []string{one.IPv4.Gateway, one.IPv6.Gateway} {
		if gateway != "" {
			s.head("Route")
			s.set("Gateway", gateway)
		}
	}
	for _, route := range d.Routes {
		via, _ := netip.ParseAddr(route.Via)
		if by, _ := d.OutBy(via); by == one.Name {
			s.head("Route")
			s.set("Destination", route.To)
			s.set("Gateway", route.Via)
		}
	}
}
