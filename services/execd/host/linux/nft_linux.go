package linux

// The firewall is a table of nftables. What is loaded and what is compared with the kernel's come from one list of rules.

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"cistern/services/execd/host/firewall"
)

const nftTable = "cistern"

// nftMatch is one condition: a field, and the values that it may have.
type nftMatch struct {
	field    string // as 'udp dport'
	values   []string
	networks []netip.Prefix // instead of values
}

// nftRule is one of a chain.
type nftRule struct {
	chain   string
	matches []nftMatch
	limited bool   // to echoLimit
	does    string // in nft's language
	means   string // the same, as nftMeaning writes it
}

// echoLimit is how often a second the machine answers pings, and how many at once.
const echoLimit, echoBurst = 20, 50

func ports(protocol string, numbers ...uint16) nftMatch {
	m := nftMatch{field: protocol + " dport"}
	for _, n := range numbers {
		m.values = append(m.values, strconv.Itoa(int(n)))
	}
	return m
}

func is(field string, values ...string) nftMatch { return nftMatch{field: field, values: values} }

// nftRules are all rules of the table, in order.
func nftRules(rules []firewall.Rule) []nftRule {
	var all []nftRule
	input := func(does string, matches ...nftMatch) {
		all = append(all, nftRule{"input", matches, false, does, does})
	}
	// The kernel keeps no note of each packet that an input takes: the table of connections would be full of senders.
	var udp []uint16
	for _, r := range rules {
		udp = append(udp, r.UDP...)
	}
	if slices.Sort(udp); len(udp) > 0 {
		all = append(all, nftRule{"untracked", []nftMatch{ports("udp", udp...)}, false, "notrack", "notrack"})
	}
	input("accept", is("iif", `lo`))
	input("accept", is("ct state", "established", "related"))
	input("accept", is("icmp type", "destination-unreachable", "time-exceeded", "parameter-problem"))
	// Path MTU, neighbours, routers, multicast groups.
	input("accept", is("icmpv6 type", "destination-unreachable", "packet-too-big", "time-exceeded", "parameter-problem",
		"mld-listener-query", "mld-listener-report", "mld-listener-done", "nd-router-solicit", "nd-router-advert",
		"nd-neighbor-solicit", "nd-neighbor-advert", "nd-redirect", "mld2-listener-report"))
	for _, family := range []string{"icmp", "icmpv6"} {
		all = append(all, nftRule{"input", []nftMatch{is(family+" type", "echo-request")}, true, "accept", "accept"})
	}
	// DHCP's answers: to an address that the machine has not yet, so they belong to no connection.
	input("accept", is("meta nfproto", "ipv4"), is("udp sport", "67"), ports("udp", 68))
	input("accept", nftMatch{field: "ip6 saddr", networks: []netip.Prefix{netip.MustParsePrefix("fe80::/10")}}, is("udp sport", "547"), ports("udp", 546))
	byProtocol := func(r firewall.Rule, do func(nftMatch)) {
		for _, p := range []struct {
			name    string
			numbers []uint16
		}{{"tcp", r.TCP}, {"udp", r.UDP}} {
			if len(p.numbers) > 0 {
				do(ports(p.name, p.numbers...))
			}
		}
	}
	for _, r := range rules {
		if r.PerAddress == 0 {
			continue
		}
		for _, f := range []struct{ family, address, field string }{{"ipv4", "ip saddr", "ip saddr"}, {"ipv6", "ip6 saddr and " + ipv6Network, "ip6 saddr & " + ipv6Network}} {
			set := "connections-" + f.family
			all = append(all, nftRule{"input", []nftMatch{ports("tcp", r.TCP...), is("ct state", "new")}, false,
				fmt.Sprintf(`add @%s { %s ct count over %d } counter name "%s" drop`, set, f.address, r.PerAddress, overOf(r.Name)),
				fmt.Sprintf("add @%s [%s] over %d counter %s drop", set, f.field, r.PerAddress, overOf(r.Name))})
		}
	}
	for _, r := range rules {
		byProtocol(r, func(port nftMatch) {
			switch {
			case r.Everybody:
				input("accept", port)
				return
			case len(r.V4) > 0:
				input("accept", nftMatch{field: "ip saddr", networks: r.V4}, port)
			}
			if len(r.V6) > 0 {
				input("accept", nftMatch{field: "ip6 saddr", networks: r.V6}, port)
			}
		})
	}
	for _, r := range rules {
		if r.Everybody {
			continue
		}
		byProtocol(r, func(port nftMatch) {
			protocol, _, _ := strings.Cut(port.field, " ")
			for _, family := range [][2]string{{"ipv4", "ip"}, {"ipv6", "ip6"}} {
				set := "dropped-" + family[0]
				all = append(all, nftRule{"input", []nftMatch{is("meta nfproto", family[0]), port}, false,
					fmt.Sprintf("add @%s { %s saddr . meta l4proto . %s dport counter }", set, family[1], protocol),
					fmt.Sprintf("add @%s [%s saddr . meta l4proto . %s dport]", set, family[1], protocol)})
			}
			// Once the set is full the rules above match nothing; this one still counts.
			all = append(all, nftRule{"input", []nftMatch{port}, false, `counter name "` + counterOf(r.Name) + `" drop`, "counter " + counterOf(r.Name) + " drop"})
		})
	}
	return append(all, nftRule{"input", nil, false, `counter name "` + counterOf(firewall.Other) + `" drop`, "counter " + counterOf(firewall.Other) + " drop"})
}

func counterOf(service string) string { return "dropped-" + service }

// overOf is the counter of connections that were one too many of their address.
func overOf(service string) string { return "over-" + service }

// ipv6Network is the mask of a network in which a client can choose its address.
const ipv6Network = "ffff:ffff:ffff:ffff::"

// mostConnecting is how many addresses of each family have their connections counted at once. Of more none is limited.
const mostConnecting = 65535

func (m nftMatch) text() string {
	values := slices.Clone(m.values)
	for _, network := range m.networks {
		values = append(values, network.String())
	}
	if len(values) == 1 {
		return m.field + " " + values[0]
	}
	return m.field + " { " + strings.Join(values, ", ") + " }"
}

// nftScript loads the rules in one transaction. Counters, and who was dropped, stay as they are, unless anew is set.
func nftScript(rules []firewall.Rule, anew bool) string {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("add table inet %s", nftTable)
	if anew {
		line("delete table inet %s", nftTable)
		line("add table inet %s", nftTable)
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		line("add set inet %s dropped-%s { type %s_addr . inet_proto . inet_service; flags dynamic,timeout; timeout %ds; size %d; }",
			nftTable, family, family, int(firewall.SendersFor.Seconds()), firewall.MostSenders)
	}
	for _, family := range []string{"ipv4", "ipv6"} {
		line("add set inet %s connections-%s { type %s_addr; flags dynamic; size %d; }", nftTable, family, family, mostConnecting)
	}
	for _, r := range rules {
		if r.PerAddress > 0 {
			line("add counter inet %s %s", nftTable, overOf(r.Name))
		}
		if !r.Everybody {
			line("add counter inet %s %s", nftTable, counterOf(r.Name))
		}
	}
	line("add counter inet %s %s", nftTable, counterOf(firewall.Other))
	line("add chain inet %s untracked { type filter hook prerouting priority -300; policy accept; }", nftTable)
	line("add chain inet %s input { type filter hook input priority 0; policy drop; }", nftTable)
	line("flush chain inet %s untracked", nftTable)
	line("flush chain inet %s input", nftTable)
	for _, r := range nftRules(rules) {
		words := []string{"add rule inet", nftTable, r.chain}
		for _, m := range r.matches {
			words = append(words, m.text())
		}
		if r.limited {
			words = append(words, fmt.Sprintf("limit rate %d/second burst %d packets", echoLimit, echoBurst))
		}
		line("%s", strings.Join(append(words, r.does), " "))
	}
	return b.String()
}

// meaning is the rule as nftMeaning writes it.
func (r nftRule) meaning() string {
	words := []string{r.chain + ":"}
	for _, m := range r.matches {
		if m.field == "meta nfproto" {
			continue // nft leaves it out where something else says it
		}
		if m.networks != nil {
			ranges := make([]firewall.Range, len(m.networks))
			for i, network := range m.networks {
				ranges[i] = firewall.RangeOf(network)
			}
			words = append(words, m.field, "["+firewall.Joined(ranges)+"]")
			continue
		}
		values := slices.Clone(m.values)
		slices.Sort(values)
		words = append(words, m.field, "["+strings.Join(values, " ")+"]")
	}
	if r.limited {
		words = append(words, fmt.Sprintf("limit %d/second burst %d", echoLimit, echoBurst))
	}
	return strings.Join(append(words, r.means), " ")
}
