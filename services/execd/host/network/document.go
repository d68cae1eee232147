// Package network is the machine's addresses as one document: what it may say, and what the operating systems are given for it.
package network

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// How an interface gets its addresses.
const (
	Off    = "off"    // none
	DHCP   = "dhcp"   // IPv4: from a DHCP server
	Auto   = "auto"   // IPv6: from router advertisements, and DHCPv6 where they say so
	Static = "static" // those of the document alone
)

// Kinds of interfaces.
const (
	Port = "port"
	Bond = "bond"
	VLAN = "vlan"
)

// Modes of bonds.
const (
	ActiveBackup = "active-backup"
	LACP         = "802.3ad"
)

// Family is how an interface is addressed by IPv4 or by IPv6.
type Family struct {
	Method    string   `json:"method"`
	Addresses []string `json:"addresses"` // as 192.0.2.10/24; with another method than static they are had beside the others
	Gateway   string   `json:"gateway"`   // "": none of the document's
}

// Interface is a port, a bond of ports or a VLAN.
type Interface struct {
	// Name is how it is called here. That of a port is the kernel's at the time it was set: it is found by MAC.
	Name string `json:"name"`
	Kind string `json:"kind"`
	MAC  string `json:"mac"` // of a port: the one it was made with
	MTU  int    `json:"mtu"`
	IPv4 Family `json:"ipv4"`
	IPv6 Family `json:"ipv6"`
	// Mode, Members and FastLACP are of a bond.
	Mode     string   `json:"mode"`
	Members  []string `json:"members"`
	FastLACP bool     `json:"fastLacp"` // its partner is asked to speak every second, not every thirty
	// Parent and ID are of a VLAN.
	Parent string `json:"parent"`
	ID     int    `json:"id"`
}

// Route leads to other networks than the gateways do.
type Route struct {
	To  string `json:"to"`
	Via string `json:"via"`
}

// Document is all that is set of the network. A port that it does not name asks for its addresses, as without a document.
type Document struct {
	Version    int         `json:"version"`
	Interfaces []Interface `json:"interfaces"`
	Routes     []Route     `json:"routes"`
	// DNS are servers that are asked, beside those that the network names where FromNetwork is true.
	DNS         []string `json:"dns"`
	Search      []string `json:"search"`
	FromNetwork bool     `json:"dnsFromNetwork"`
}

// DocumentVersion is the form of Document.
const DocumentVersion = 1

// Limits of a document.
const (
	DefaultMTU     = 1500
	leastMTU       = 1280 // RFC 8200, 5: what IPv6 needs of each link
	mostMTU        = 9216
	mostInterfaces = 64
	mostAddresses  = 16
	mostRoutes     = 64
	mostDNS        = 3 // glibc takes no more (resolv.conf(5))
	mostSearch     = 6
)

// Default is what holds until somebody decides otherwise: every port asks for its addresses.
func Default() Document {
	return Document{Version: DocumentVersion, Interfaces: []Interface{}, Routes: []Route{}, DNS: []string{}, Search: []string{}, FromNetwork: true}
}

var (
	// The kernel takes 15 characters (IFNAMSIZ); these can be in a file's name and on both systems. On illumos a name ends with a digit.
	interfaceName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,13}[0-9]$`)
	// What the kernel and udev call ports.
	portName    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,14}$`)
	macAddress  = regexp.MustCompile(`^([0-9a-f]{2}:){5}[0-9a-f]{2}$`)
	domainName  = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)
	takenByHand = []string{"lo", "all", "default"}
)

func prefixOf(text string) (netip.Prefix, bool) {
	p, err := netip.ParsePrefix(text)
	return p, err == nil && p.Addr().Zone() == ""
}

func addressOf(text string) (netip.Addr, bool) {
	a, err := netip.ParseAddr(text)
	return a, err == nil && a.Zone() == ""
}

// Normal has names and addresses in one form, and no list that is null.
func (d Document) Normal() Document {
	address := func(text string) string {
		if a, ok := addressOf(text); ok {
			return a.String()
		}
		if p, ok := prefixOf(text); ok {
			return p.String()
		}
		return text
	}
	all := func(list []string, one func(string) string) []string {
		out := make([]string, 0, len(list))
		for _, text := range list {
			out = append(out, one(strings.TrimSpace(text)))
		}
		return out
	}
	family := func(f Family) Family {
		return Family{Method: f.Method, Addresses: all(f.Addresses, address), Gateway: address(f.Gateway)}
	}
	interfaces := make([]Interface, 0, len(d.Interfaces))
	for _, one := range d.Interfaces {
		one.MAC = strings.ToLower(strings.ReplaceAll(one.MAC, "-", ":"))
		one.IPv4, one.IPv6 = family(one.IPv4), family(one.IPv6)
		one.Members = all(one.Members, func(text string) string { return text })
		if one.MTU == 0 {
			one.MTU = DefaultMTU
		}
		interfaces = append(interfaces, one)
	}
	routes := make([]Route, 0, len(d.Routes))
	for _, one := range d.Routes {
		to := one.To
		if p, ok := prefixOf(to); ok {
			to = p.Masked().String()
		}
		routes = append(routes, Route{to, address(one.Via)})
	}
	d.Interfaces, d.Routes = interfaces, routes
	d.DNS = all(d.DNS, address)
	d.Search = all(d.Search, func(text string) string { return strings.ToLower(strings.TrimSuffix(text, ".")) })
	return d
}

// Wrong is the first thing that is wrong with a document in its normal form: where, and what; empty when nothing is.
func (d Document) Wrong() (path, message string) {
	if d.Version != DocumentVersion {
		return "/version", fmt.Sprintf("The version is %d.", DocumentVersion)
	}
	if len(d.Interfaces) > mostInterfaces {
		return "/interfaces", fmt.Sprintf("There are at most %d interfaces.", mostInterfaces)
	}
	if path, message := d.wrongNames(); path != "" {
		return path, message
	}
	for i, one := range d.Interfaces {
		at := fmt.Sprintf("/interfaces/%d", i)
		if path, message := d.wrongKind(one); path != "" {
			return at + path, message
		}
		for _, f := range []struct {
			path  string
			is    Family
			v4    bool
			other string
		}{{"/ipv4", one.IPv4, true, DHCP}, {"/ipv6", one.IPv6, false, Auto}} {
			if path, message := wrongFamily(one.Name, f.is, f.v4, f.other); path != "" {
				return at + f.path + path, message
			}
		}
	}
	if path, message := d.wrongTogether(); path != "" {
		return path, message
	}
	if path, message := d.wrongRoutes(); path != "" {
		return path, message
	}
	return d.wrongDNS()
}

func (d Document) wrongNames() (path, message string) {
	names, cards := map[string]bool{}, map[string]string{}
	for i, one := range d.Interfaces {
		at := fmt.Sprintf("/interfaces/%d", i)
		switch {
		case one.Kind != Port && one.Kind != Bond && one.Kind != VLAN:
			return at + "/kind", fmt.Sprintf("An interface is a %s, a %s or a %s.", Port, Bond, VLAN)
		case one.Kind == Port && !portName.MatchString(one.Name), one.Kind != Port && !interfaceName.MatchString(one.Name), slices.Contains(takenByHand, one.Name):
			return at + "/name", fmt.Sprintf("'%s' is no name for an interface: it has 2 to 15 small letters, digits and underscores, begins with a letter and ends with a digit, such as bond0 or vlan120.", one.Name)
		case names[one.Name]:
			return at + "/name", fmt.Sprintf("There are two interfaces called %s.", one.Name)
		case one.Kind == Port && !macAddress.MatchString(one.MAC):
			return at + "/mac", fmt.Sprintf("'%s' is no hardware address of a port, such as 52:54:00:12:34:56.", one.MAC)
		case one.Kind == Port && cards[one.MAC] != "":
			return at + "/mac", fmt.Sprintf("%s and %s have the same hardware address.", cards[one.MAC], one.Name)
		case one.Kind != Port && one.MAC != "":
			return at + "/mac", fmt.Sprintf("%s has the hardware address of what it is made of; leave it empty.", one.Name)
		}
		names[one.Name] = true
		if one.Kind == Port {
			cards[one.MAC] = one.Name
		}
	}
	return "", ""
}

func (d Document) named(name string) (Interface, bool) {
	at := slices.IndexFunc(d.Interfaces, func(one Interface) bool { return one.Name == name })
	if at < 0 {
		return Interface{}, false
	}
	return d.Interfaces[at], true
}

// BondOf is the bond that a port is in.
func (d Document) BondOf(port string) (Interface, bool) {
	for _, one := range d.Interfaces {
		if one.Kind == Bond && slices.Contains(one.Members, port) {
			return one, true
		}
	}
	return Interface{}, false
}

func (d Document) wrongKind(one Interface) (path, message string) {
	if one.MTU < leastMTU || one.MTU > mostMTU {
		return "/mtu", fmt.Sprintf("The MTU is %d to %d; %d is the usual one.", leastMTU, mostMTU, DefaultMTU)
	}
	if one.Kind != Bond && (one.Mode != "" || len(one.Members) > 0 || one.FastLACP) {
		return "/members", fmt.Sprintf("%s is a %s: only a bond has members and a mode.", one.Name, one.Kind)
	}
	if one.Kind != VLAN && (one.Parent != "" || one.ID != 0) {
		return "/parent", fmt.Sprintf("%s is a %s: only a VLAN has a parent and a number.", one.Name, one.Kind)
	}
	switch one.Kind {
	case Bond:
		return d.wrongBond(one)
	case VLAN:
		return d.wrongVLAN(one)
	}
	in, ok := d.BondOf(one.Name)
	switch {
	case !ok:
		return "", ""
	case one.IPv4.addressed(), one.IPv6.addressed():
		return "/ipv4/method", fmt.Sprintf("%s is in the bond %s: the bond has the addresses. Switch its own off.", one.Name, in.Name)
	case one.MTU != in.MTU:
		return "/mtu", fmt.Sprintf("%s is in the bond %s, whose MTU is %d: it has the same.", one.Name, in.Name, in.MTU)
	}
	return "", ""
}

func (d Document) wrongBond(one Interface) (path, message string) {
	if one.Mode != ActiveBackup && one.Mode != LACP {
		return "/mode", fmt.Sprintf("A bond's mode is %s (one port at a time) or %s (LACP, which the switch must be set up for).", ActiveBackup, LACP)
	}
	if one.FastLACP && one.Mode != LACP {
		return "/fastLacp", "Only a bond by LACP has a rate."
	}
	if len(one.Members) < 2 {
		return "/members", fmt.Sprintf("The bond %s needs two ports: with one it only hides that there is no second.", one.Name)
	}
	for i, name := range one.Members {
		at := fmt.Sprintf("/members/%d", i)
		port, ok := d.named(name)
		switch {
		case !ok || port.Kind != Port:
			return at, fmt.Sprintf("'%s' is no port of this document.", name)
		case slices.Index(one.Members, name) != i:
			return at, fmt.Sprintf("%s is in the bond twice.", name)
		}
		if other, _ := d.BondOf(name); other.Name != one.Name {
			return at, fmt.Sprintf("%s is in the bond %s already.", name, other.Name)
		}
	}
	return "", ""
}

func (d Document) wrongVLAN(one Interface) (path, message string) {
	parent, ok := d.named(one.Parent)
	switch {
	case !ok || parent.Kind == VLAN:
		return "/parent", fmt.Sprintf("'%s' is no port and no bond of this document.", one.Parent)
	// IEEE 802.1Q, 9.6: 0 is no VLAN, 4095 is reserved.
	case one.ID < 1 || one.ID > 4094:
		return "/id", "The number of a VLAN is 1 to 4094."
	case one.MTU > parent.MTU:
		return "/mtu", fmt.Sprintf("The MTU of %s, %d, is more than that of %s, %d.", one.Name, one.MTU, parent.Name, parent.MTU)
	}
	if in, ok := d.BondOf(one.Parent); ok {
		return "/parent", fmt.Sprintf("%s is in the bond %s: the VLAN is of the bond.", one.Parent, in.Name)
	}
	for _, other := range d.Interfaces {
		if other.Kind == VLAN && other.Name != one.Name && other.Parent == one.Parent && other.ID == one.ID {
			return "/id", fmt.Sprintf("%s and %s are both VLAN %d of %s.", one.Name, other.Name, one.ID, one.Parent)
		}
	}
	return "", ""
}

func (f Family) addressed() bool { return f.Method != Off }

func wrongFamily(name string, f Family, v4 bool, other string) (path, message string) {
	words, example := "IPv4", "192.0.2.10/24"
	if !v4 {
		words, example = "IPv6", "2001:db8::10/64"
	}
	if f.Method != Off && f.Method != Static && f.Method != other {
		return "/method", fmt.Sprintf("The method of %s is %s, %s or %s.", words, Off, other, Static)
	}
	if f.Method == Off && (len(f.Addresses) > 0 || f.Gateway != "") {
		return "/addresses", fmt.Sprintf("%s of %s is off: it has neither addresses nor a gateway.", words, name)
	}
	if f.Method == Static && len(f.Addresses) == 0 {
		return "/addresses", fmt.Sprintf("%s of %s is static: give it an address, such as %s.", words, name, example)
	}
	if len(f.Addresses) > mostAddresses {
		return "/addresses", fmt.Sprintf("An interface has at most %d addresses.", mostAddresses)
	}
	for i, text := range f.Addresses {
		at := fmt.Sprintf("/addresses/%d", i)
		p, ok := prefixOf(text)
		if !ok || p.Addr().Is4() != v4 || p.Addr().Is4In6() {
			return at, fmt.Sprintf("'%s' is no %s address with the length of its network, such as %s.", text, words, example)
		}
		if message := wrongAddress(p); message != "" {
			return at, message
		}
	}
	if f.Gateway == "" {
		return "", ""
	}
	a, ok := addressOf(f.Gateway)
	if !ok || a.Is4() != v4 || a.Is4In6() || a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() {
		return "/gateway", fmt.Sprintf("'%s' is no %s address of a gateway.", f.Gateway, words)
	}
	// A gateway of IPv6 often has an address of the link alone.
	if a.IsLinkLocalUnicast() && !v4 {
		return "", ""
	}
	near := false
	for _, text := range f.Addresses {
		p, _ := prefixOf(text)
		if p.Addr() == a {
			return "/gateway", fmt.Sprintf("%s is an address of %s itself.", a, name)
		}
		near = near || p.Contains(a)
	}
	if !near {
		if len(f.Addresses) == 0 {
			return "/gateway", fmt.Sprintf("The network names the gateway of %s; one of its own goes with an address of its own.", name)
		}
		return "/gateway", fmt.Sprintf("The gateway %s is in no network of %s: it could not be reached.", a, name)
	}
	return "", ""
}

// wrongAddress is why a machine cannot have an address.
func wrongAddress(p netip.Prefix) string {
	a := p.Addr()
	switch {
	case a.IsUnspecified() || a.IsMulticast() || a.IsLoopback() || p.Bits() == 0 || a == netip.AddrFrom4([4]byte{255, 255, 255, 255}):
		return fmt.Sprintf("%s can be no machine's address.", p)
	case a.Is4() && p.Bits() < 31 && a == p.Masked().Addr():
		return fmt.Sprintf("%s is the network itself, and no address in it.", p)
	case a.Is4() && p.Bits() < 31 && a == broadcast(p):
		return fmt.Sprintf("%s is the address of everybody in its network (broadcast).", p)
	}
	return ""
}

func broadcast(p netip.Prefix) netip.Addr {
	b := p.Addr().As4()
	for i := p.Bits(); i < 32; i++ {
		b[i/8] |= 1 << (7 - i%8)
	}
	return netip.AddrFrom4(b)
}

// wrongTogether is what no interface can know by itself.
func (d Document) wrongTogether() (path, message string) {
	type had struct {
		prefix netip.Prefix
		by     string
	}
	var all []had
	gateways := map[bool]string{}
	for i, one := range d.Interfaces {
		for _, f := range []struct {
			path string
			is   Family
			v4   bool
		}{{"/ipv4", one.IPv4, true}, {"/ipv6", one.IPv6, false}} {
			at := fmt.Sprintf("/interfaces/%d%s", i, f.path)
			for j, text := range f.is.Addresses {
				p, _ := prefixOf(text)
				for _, other := range all {
					switch {
					case other.prefix.Addr() == p.Addr():
						return fmt.Sprintf("%s/addresses/%d", at, j), fmt.Sprintf("%s and %s both have the address %s.", other.by, one.Name, p.Addr())
					case other.by != one.Name && other.prefix.Overlaps(p) && !p.Addr().IsLinkLocalUnicast():
						return fmt.Sprintf("%s/addresses/%d", at, j), fmt.Sprintf("The networks of %s (%s) and %s (%s) overlap: answers would leave by the wrong one.", other.by, other.prefix, one.Name, p)
					}
				}
				all = append(all, had{p, one.Name})
			}
			if f.is.Gateway == "" {
				continue
			}
			if other := gateways[f.v4]; other != "" {
				return at + "/gateway", fmt.Sprintf("%s and %s both have a gateway to everywhere; keep one, and use routes for other networks.", other, one.Name)
			}
			gateways[f.v4] = one.Name
		}
	}
	return "", ""
}

// OutBy is the interface with an address in whose network a gateway is; false when none has.
func (d Document) OutBy(gateway netip.Addr) (string, bool) {
	for _, one := range d.Interfaces {
		for _, text := range slices.Concat(one.IPv4.Addresses, one.IPv6.Addresses) {
			if p, ok := prefixOf(text); ok && p.Contains(gateway) {
				return one.Name, true
			}
		}
	}
	return "", false
}

func (d Document) wrongRoutes() (path, message string) {
	if len(d.Routes) > mostRoutes {
		return "/routes", fmt.Sprintf("There are at most %d routes.", mostRoutes)
	}
	seen := map[string]bool{}
	for i, one := range d.Routes {
		at := fmt.Sprintf("/routes/%d", i)
		to, ok := prefixOf(one.To)
		if !ok || to.Addr().IsMulticast() {
			return at + "/to", fmt.Sprintf("'%s' is no network, such as 198.51.100.0/24.", one.To)
		}
		if to.Bits() == 0 {
			return at + "/to", "The way to everywhere is the gateway of an interface."
		}
		via, ok := addressOf(one.Via)
		if !ok || via.Is4() != to.Addr().Is4() {
			return at + "/via", fmt.Sprintf("'%s' is no address of a router for %s.", one.Via, to)
		}
		if _, ok := d.OutBy(via); !ok {
			return at + "/via", fmt.Sprintf("The router %s is in no network that an address of this document is in: it could not be reached.", via)
		}
		if seen[one.To] {
			return at + "/to", fmt.Sprintf("There are two routes to %s.", one.To)
		}
		seen[one.To] = true
	}
	return "", ""
}

func (d Document) wrongDNS() (path, message string) {
	if len(d.DNS) > mostDNS {
		return "/dns", fmt.Sprintf("At most %d servers are asked for names.", mostDNS)
	}
	for i, text := range d.DNS {
		a, ok := addressOf(text)
		if !ok || a.IsUnspecified() || a.IsMulticast() || a.IsLinkLocalUnicast() {
			return fmt.Sprintf("/dns/%d", i), fmt.Sprintf("'%s' is no address of a DNS server.", text)
		}
		if slices.Index(d.DNS, text) != i {
			return fmt.Sprintf("/dns/%d", i), fmt.Sprintf("%s stands in the list twice.", text)
		}
	}
	if len(d.Search) > mostSearch {
		return "/search", fmt.Sprintf("There are at most %d search domains.", mostSearch)
	}
	for i, text := range d.Search {
		if len(text) > 253 || !domainName.MatchString(text) {
			return fmt.Sprintf("/search/%d", i), fmt.Sprintf("'%s' is no name of a domain.", text)
		}
		if slices.Index(d.Search, text) != i {
			return fmt.Sprintf("/search/%d", i), fmt.Sprintf("%s stands in the list twice.", text)
		}
	}
	return "", ""
}
