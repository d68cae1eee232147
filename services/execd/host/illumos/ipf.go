package illumos

// The firewall is ipfilter's: rules of its grammar (ipf(4), usr/src/cmd/ipf/tools/ipf_y.y), one list for each family, the first
// that matches decides (quick). They are put into the set that is not active, read back from there, and then the two sets are
// exchanged, which is one step for both families (SIOCSWAPA).

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host/firewall"
	"cistern/services/platform/command"
)

// ipfWithin is the deadline of one call.
const ipfWithin = 20 * time.Second

// echoLimit is how many pings a second the machine answers.
const echoLimit = 50

// icmpLetIn are the types that say why something did not arrive.
var (
	icmpLetIn = []string{"unreach", "timex", "paramprob"}
	// Path MTU and errors; multicast groups, routers and neighbours.
	icmp6LetIn = []string{"1", "2", "3", "4", "130", "131", "132", "133", "134", "135", "136", "137", "143"}
)

// ipfRules are the rules of one family, a line each, as ipf takes them.
func ipfRules(rules []firewall.Rule, six bool) []string {
	var all []string
	line := func(format string, values ...any) { all = append(all, fmt.Sprintf(format, values...)) }
	line("pass in quick on lo0 all")
	line("pass out quick on lo0 all")
	if !six {
		for _, kind := range icmpLetIn {
			line("pass in quick proto icmp from any to any icmp-type %s", kind)
		}
		line("pass in quick proto icmp from any to any icmp-type echo pps %d", echoLimit)
		line("pass in quick proto udp from any port = 67 to any port = 68")
	} else {
		for _, kind := range icmp6LetIn {
			line("pass in quick proto 58 from any to any icmp-type %s", kind)
		}
		line("pass in quick proto 58 from any to any icmp-type 128 pps %d", echoLimit)
		line("pass in quick proto udp from fe80::/10 port = 547 to any port = 546")
	}
	each := func(r firewall.Rule, do func(protocol string, port uint16)) {
		for _, port := range r.TCP {
			do("tcp", port)
		}
		for _, port := range r.UDP {
			do("udp", port)
		}
	}
	// No state is kept of what comes in: an input has more senders than the table has room.
	for _, r := range rules {
		networks := r.V4
		if six {
			networks = r.V6
		}
		each(r, func(protocol string, port uint16) {
			if r.Everybody {
				line("pass in quick proto %s from any to any port = %d", protocol, port)
				return
			}
			for _, network := range networks {
				line("pass in quick proto %s from %s to any port = %d", protocol, network, port)
			}
		})
	}
	// What is turned away, each in a rule of its own, which counts.
	for _, r := range rules {
		if !r.Everybody {
			each(r, func(protocol string, port uint16) {
				line("block in quick proto %s from any to any port = %d", protocol, port)
			})
		}
	}
	line("block in all")
	// The way out is free, and so are the answers.
	line("pass out quick proto tcp from any to any flags S/SA keep state")
	line("pass out quick proto udp from any to any keep state")
	if six {
		line("pass out quick proto 58 from any to any keep state")
	} else {
		line("pass out quick proto icmp from any to any keep state")
	}
	line("pass out quick all")
	return all
}

// ipfLists are the two lists in which ipfstat prints rules: those of packets that go out, then those that come in.
func ipfLists(rules []string) []string {
	var out, in []string
	for _, one := range rules {
		if strings.Contains(one, " out ") {
			out = append(out, one)
		} else {
			in = append(in, one)
		}
	}
	return append(out, in...)
}

var families = []struct {
	six  bool
	flag []string
}{{false, nil}, {true, []string{"-6"}}}

// LoadFirewall implements Host.
func (i *Host) LoadFirewall(ctx context.Context, rules []firewall.Rule, _ bool) error {
	// It says "already initialized" from the second time on, and ends with 0.
	if _, err := command.Run(ctx, ipfWithin, 64<<10, "ipf", "-E"); err != nil {
		return err
	}
	for _, family := range families {
		text := strings.Join(ipfRules(rules, family.six), "\n") + "\n"
		argv := slices.Concat([]string{"ipf"}, family.flag, []string{"-I", "-F", "a", "-f", "-"})
		if _, err := command.RunInput(ctx, ipfWithin, 64<<10, strings.NewReader(text), argv...); err != nil {
			return err
		}
	}
	// ipf ends with 0 also when the kernel has refused a rule, or the exchange.
	inactive, err := i.readIpf(ctx, rules, "-I")
	if err == nil && len(inactive.Differs) > 0 {
		err = problem.New(500, "command_failed", "ipfilter has not taken the rules: "+strings.Join(inactive.Differs, " "), "The rules that were loaded before still hold.")
	}
	if err != nil {
		return err
	}
	if _, err := command.Run(ctx, ipfWithin, 64<<10, "ipf", "-s"); err != nil {
		return err
	}
	active, err := i.readIpf(ctx, rules)
	if err == nil && len(active.Differs) > 0 {
		err = problem.New(500, "command_failed", "ipfilter has not begun to use the rules: "+strings.Join(active.Differs, " "), "")
	}
	return err
}

// ReadFirewall implements Host. ipfilter counts, but does not remember senders; its counters begin with each load.
func (i *Host) ReadFirewall(ctx context.Context, rules []firewall.Rule) (firewall.Loaded, error) {
	return i.readIpf(ctx, rules)
}

func (i *Host) readIpf(ctx context.Context, rules []firewall.Rule, more ...string) (firewall.Loaded, error) {
	all := firewall.Loaded{Dropped: map[string]uint64{firewall.Other: 0}}
	services := map[string]string{}
	for _, r := range rules {
		if r.Everybody {
			continue
		}
		all.Dropped[r.Name] = 0
		for _, port := range r.TCP {
			services["tcp "+strconv.Itoa(int(port))] = r.Name
		}
		for _, port := range r.UDP {
			services["udp "+strconv.Itoa(int(port))] = r.Name
		}
	}
	for _, family := range families {
		// Without -R it writes the names of ports.
		argv := slices.Concat([]string{"ipfstat"}, family.flag, more, []string{"-h", "-i", "-o", "-R"})
		said, err := command.Run(ctx, ipfWithin, 16<<20, argv...)
		if err != nil {
			return firewall.Loaded{}, err
		}
		var want, found []string
		for _, one := range ipfLists(ipfRules(rules, family.six)) {
			rule, err := parseIpf(one, false)
			if err != nil {
				return firewall.Loaded{}, errors.Join(errors.New("a rule that was made here is not understood: "+one), err)
			}
			want = append(want, rule.meaning())
		}
		for text := range strings.Lines(string(said.Stdout)) {
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			rule, err := parseIpf(text, true)
			if err != nil {
				found = append(found, text) // no rule of ours
				continue
			}
			found = append(found, rule.meaning())
			if rule.action == "block" && rule.in {
				service := services[rule.protocol+" "+rule.toPort]
				if service == "" {
					service = firewall.Other
				}
				all.Dropped[service] += rule.hits
			}
		}
		if len(found) == 0 {
			all.Differs = append(all.Differs, map[bool]string{false: "No rules for IPv4 are loaded.", true: "No rules for IPv6 are loaded."}[family.six])
			continue
		}
		for _, one := range firewall.Difference(want, found) {
			all.Differs = append(all.Differs, map[bool]string{false: "IPv4: ", true: "IPv6: "}[family.six]+one)
		}
	}
	return all, nil
}

// ipfRule is a rule of ipfilter, of that part of its grammar that is written here.
type ipfRule struct {
	hits             uint64
	action           string // pass or block
	in, quick        bool
	on               string
	protocol         string       // tcp, udp, icmp, 58 or ""
	all              bool         // no addresses
	from, to         netip.Prefix // not valid: any
	fromPort, toPort string
	icmpType         string
	flags            string
	state            bool
	perSecond        string
}

// icmpNames are those of ipf's words for types (icmptypes of usr/src/cmd/ipf/lib), by number.
var icmpNames = map[string]string{"echorep": "0", "unreach": "3", "squench": "4", "redir": "5", "echo": "8", "routerad": "9", "routersol": "10", "timex": "11", "paramprob": "12", "timest": "13", "timestrep": "14", "inforeq": "15", "inforep": "16", "maskreq": "17", "maskrep": "18"}

// protocolNames are those of /etc/protocols that matter here.
var protocolNames = map[string]string{"6": "tcp", "17": "udp", "1": "icmp", "ipv6-icmp": "58", "icmpv6": "58"}

// parseIpf reads one rule, with the number of hits before it if counted says so. What it does not know is an error: a rule that was
// made by somebody else.
func parseIpf(text string, counted bool) (ipfRule, error) {
	words := strings.Fields(text)
	var r ipfRule
	var bad error
	at := func() string {
		if len(words) == 0 {
			return ""
		}
		return words[0]
	}
	next := func() string {
		word := at()
		if word == "" {
			bad = errors.Join(bad, errors.New("the rule ends too early: "+text))
			return ""
		}
		words = words[1:]
		return word
	}
	skip := func(word string) bool {
		if at() != word {
			return false
		}
		words = words[1:]
		return true
	}
	number := func(most int) string {
		word := next()
		if n, err := strconv.Atoi(word); err != nil || n < 0 || n > most {
			bad = errors.Join(bad, fmt.Errorf("'%s' is no number up to %d: %s", word, most, text))
		}
		return word
	}
	// object = addr [ port = NUMBER ]
	object := func() (network netip.Prefix, port string) {
		word := next()
		if word != "any" {
			if !strings.Contains(word, "/") {
				if address, err := netip.ParseAddr(word); err == nil {
					word = netip.PrefixFrom(address, address.BitLen()).String()
				}
			}
			var err error
			if network, err = netip.ParsePrefix(word); err != nil {
				bad = errors.Join(bad, err)
			}
			// 'any' of IPv6 is printed as ::/0.
			if network.Bits() == 0 {
				network = netip.Prefix{}
			}
		}
		if skip("port") {
			if next() != "=" {
				bad = errors.Join(bad, errors.New("ports are compared otherwise: "+text))
			}
			port = number(65535)
		}
		return network, port
	}
	if counted {
		hits, err := strconv.ParseUint(next(), 10, 64)
		r.hits, bad = hits, errors.Join(bad, err)
	}
	if r.action = next(); r.action != "pass" && r.action != "block" {
		bad = errors.Join(bad, errors.New("it neither passes nor blocks: "+text))
	}
	switch next() {
	case "in":
		r.in = true
	case "out":
	default:
		bad = errors.Join(bad, errors.New("it is neither of packets that come in nor that go out: "+text))
	}
	r.quick = skip("quick")
	if skip("on") {
		r.on = next()
	}
	if skip("proto") {
		r.protocol = next()
		if name := protocolNames[r.protocol]; name != "" {
			r.protocol = name
		}
	}
	if skip("all") {
		r.all = true
	} else if skip("from") {
		r.from, r.fromPort = object()
		if !skip("to") {
			bad = errors.Join(bad, errors.New("it does not say where to: "+text))
		}
		r.to, r.toPort = object()
	} else {
		bad = errors.Join(bad, errors.New("it says no addresses: "+text))
	}
	if skip("flags") {
		r.flags = next()
	}
	if skip("icmp-type") {
		if name := icmpNames[at()]; name != "" {
			r.icmpType = name
			words = words[1:]
		} else {
			r.icmpType = number(255)
		}
	}
	if skip("keep") {
		r.state = skip("state")
	}
	if skip("pps") {
		r.perSecond = number(1 << 30)
	}
	if len(words) > 0 {
		bad = errors.Join(bad, fmt.Errorf("'%s' is not understood: %s", words[0], text))
	}
	return r, bad
}

// meaning is the same for all ways to write a rule, and however often it has matched.
func (r ipfRule) meaning() string {
	way := "out"
	if r.in {
		way = "in"
	}
	any := func(p netip.Prefix) string {
		if !p.IsValid() {
			return "any"
		}
		return p.String()
	}
	words := []string{r.action, way}
	port := func(number string) string {
		if number == "" {
			return ""
		}
		return "= " + number
	}
	add := func(before, word string) {
		if word != "" {
			words = append(words, strings.TrimSpace(before+" "+word))
		}
	}
	if r.quick {
		add("", "quick")
	}
	add("on", r.on)
	add("proto", r.protocol)
	if r.all {
		add("", "all")
	} else {
		add("from", any(r.from))
		add("port", port(r.fromPort))
		add("to", any(r.to))
		add("port", port(r.toPort))
	}
	add("flags", r.flags)
	add("icmp-type", r.icmpType)
	if r.state {
		add("", "keep state")
	}
	add("pps", r.perSecond)
	return strings.Join(words, " ")
}
