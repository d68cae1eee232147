package linux

// What 'nft -j list table' says is loaded, compared with what should be.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host/firewall"
	"cistern/services/platform/command"
)

// nftWithin is the deadline of one call of nft.
const nftWithin = 20 * time.Second

// LoadFirewall implements Host.
func (l *Host) LoadFirewall(ctx context.Context, rules []firewall.Rule, anew bool) error {
	_, err := command.RunInput(ctx, nftWithin, 64<<10, strings.NewReader(nftScript(rules, anew)), "nft", "-f", "-")
	if failed, ok := err.(*command.Error); ok && failed.Code > 0 && !anew {
		// A table of another release of this has sets of other types: it is made anew, in one transaction as well.
		_, err = command.RunInput(ctx, nftWithin, 64<<10, strings.NewReader(nftScript(rules, true)), "nft", "-f", "-")
	}
	return err
}

// ReadFirewall implements Host.
func (l *Host) ReadFirewall(ctx context.Context, rules []firewall.Rule) (firewall.Loaded, error) {
	said, err := command.Run(ctx, nftWithin, 16<<20, "nft", "-j", "-n", "list", "table", "inet", nftTable)
	if failed, ok := err.(*command.Error); ok && strings.Contains(failed.Said, "No such file or directory") {
		return firewall.Loaded{Differs: []string{"No rules are loaded."}}, nil
	}
	if err != nil {
		return firewall.Loaded{}, err
	}
	return readNft(said.Stdout, rules)
}

// nftObject is one of the list that nft prints.
type nftObject struct {
	Chain   *struct{ Name, Type, Hook, Policy string }
	Counter *struct {
		Name    string
		Packets uint64
	}
	Set *struct {
		Name string
		// nftSender, of the sets of those that were dropped.
		Elem []json.RawMessage
	}
	Rule *struct {
		Chain string
		Expr  []map[string]any
	}
}

// nftSender is an element of the sets of those that were dropped.
type nftSender struct {
	Elem struct {
		Val struct{ Concat []any }
		// Seconds that it is still remembered for.
		Expires uint64
		Counter struct{ Packets uint64 }
	}
}

func readNft(text []byte, rules []firewall.Rule) (firewall.Loaded, error) {
	var list struct{ Nftables []nftObject }
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	if err := decoder.Decode(&list); err != nil {
		return firewall.Loaded{}, problem.New(500, "command_failed", fmt.Sprintf("What nft prints of the rules is not understood: %v.", err), "")
	}
	loaded := firewall.Loaded{Dropped: map[string]uint64{firewall.Other: 0}, OverLimit: map[string]uint64{}, Senders: []firewall.Sender{}}
	closed, limited := map[string]bool{firewall.Other: true}, map[string]bool{}
	for _, r := range rules {
		closed[r.Name], limited[r.Name] = !r.Everybody, r.PerAddress > 0
	}
	var found []string
	chains := map[string]string{}
	for _, o := range list.Nftables {
		switch {
		case o.Chain != nil:
			chains[o.Chain.Name] = o.Chain.Type + " " + o.Chain.Hook + " " + o.Chain.Policy
		case o.Counter != nil:
			if service, ok := strings.CutPrefix(o.Counter.Name, "dropped-"); ok && closed[service] {
				loaded.Dropped[service] = o.Counter.Packets
			} else if service, ok := strings.CutPrefix(o.Counter.Name, "over-"); ok && limited[service] {
				loaded.OverLimit[service] = o.Counter.Packets
			}
		case o.Set != nil && !strings.HasPrefix(o.Set.Name, "dropped-"): // the kernel's own count of connections
		case o.Set != nil:
			for _, text := range o.Set.Elem {
				var e nftSender
				if json.Unmarshal(text, &e) != nil {
					continue
				}
				if sender, ok := senderOf(e.Elem.Val.Concat); ok {
					sender.Packets, sender.SinceAgo = e.Elem.Counter.Packets, firewall.SendersFor-time.Duration(e.Elem.Expires)*time.Second
					loaded.Senders = append(loaded.Senders, sender)
				}
			}
			loaded.SendersFull = loaded.SendersFull || len(o.Set.Elem) >= firewall.MostSenders
		case o.Rule != nil:
			found = append(found, nftMeaning(o.Rule.Chain, o.Rule.Expr))
		}
	}
	for name, want := range map[string]string{"input": "filter input drop", "untracked": "filter prerouting accept"} {
		if is, there := chains[name]; !there {
			loaded.Differs = append(loaded.Differs, "The chain "+name+" is not there.")
		} else if is != want {
			loaded.Differs = append(loaded.Differs, fmt.Sprintf("The chain %s is '%s', not '%s'.", name, is, want))
		}
	}
	for name := range chains {
		if name != "input" && name != "untracked" {
			loaded.Differs = append(loaded.Differs, "There is a chain "+name+" that was not made here.")
		}
	}
	slices.Sort(loaded.Differs)
	var want []string
	for _, r := range nftRules(rules) {
		want = append(want, r.meaning())
	}
	loaded.Differs = append(loaded.Differs, firewall.Difference(want, found)...)
	return loaded, nil
}

func senderOf(concat []any) (firewall.Sender, bool) {
	if len(concat) != 3 {
		return firewall.Sender{}, false
	}
	address, err := netip.ParseAddr(fmt.Sprint(concat[0]))
	protocol := map[string]string{"6": "tcp", "17": "udp", "tcp": "tcp", "udp": "udp"}[fmt.Sprint(concat[1])]
	var port uint16
	_, bad := fmt.Sscan(fmt.Sprint(concat[2]), &port)
	return firewall.Sender{Address: address, Port: firewall.Port{Protocol: protocol, Port: port}}, errors.Join(err, bad) == nil && protocol != ""
}

// nftNumbers are what 'nft -n' prints instead of names.
var nftNumbers = map[string]map[string]string{
	"ct state":    {"2": "established", "4": "related", "8": "new"},
	"icmp type":   {"3": "destination-unreachable", "8": "echo-request", "11": "time-exceeded", "12": "parameter-problem"},
	"icmpv6 type": {"1": "destination-unreachable", "2": "packet-too-big", "3": "time-exceeded", "4": "parameter-problem", "128": "echo-request", "130": "mld-listener-query", "131": "mld-listener-report", "132": "mld-listener-done", "133": "nd-router-solicit", "134": "nd-router-advert", "135": "nd-neighbor-solicit", "136": "nd-neighbor-advert", "137": "nd-redirect", "143": "mld2-listener-report"},
}

// nftMeaning writes a rule as nft's JSON has it in the form of nftRule.meaning. What is not known there stands as it came, so that it
// is no rule of ours.
func nftMeaning(chain string, expressions []map[string]any) string {
	words := []string{chain + ":"}
	for _, one := range expressions {
		for what, value := range one {
			if said := nftExpression(what, value); said != "" {
				words = append(words, said)
			}
		}
	}
	return strings.Join(words, " ")
}

func nftExpression(what string, value any) string {
	as := func(v any) map[string]any { m, _ := v.(map[string]any); return m }
	switch what {
	case "accept", "drop", "notrack":
		return what
	case "counter":
		return fmt.Sprintf("counter %v", value)
	case "limit":
		m := as(value)
		return fmt.Sprintf("limit %v/%v burst %v", m["rate"], m["per"], m["burst"])
	case "set":
		return nftSet(as(value))
	case "match":
		m := as(value)
		field := strings.Replace(nftField(as(m["left"])), "meta iif", "iif", 1)
		if field == "meta nfproto" {
			return ""
		}
		if op := m["op"]; field == "" || op != "==" && (op != "in" || field != "ct state") {
			break
		}
		if values, ok := nftValues(field, m["right"]); ok {
			return field + " [" + values + "]"
		}
	}
	raw, _ := json.Marshal(map[string]any{what: value})
	return string(raw)
}

// nftSet is what is added to a set, and what is counted there.
func nftSet(m map[string]any) string {
	elem, _ := m["elem"].(map[string]any)
	concat, several := elem["concat"].([]any)
	if !several {
		concat = []any{elem}
	}
	fields := make([]string, len(concat))
	for i, one := range concat {
		field, _ := one.(map[string]any)
		fields[i] = nftField(field)
	}
	said := fmt.Sprintf("%v %v [%s]", m["op"], m["set"], strings.Join(fields, " . "))
	statements, _ := m["stmt"].([]any)
	for _, one := range statements {
		statement, _ := one.(map[string]any)
		count, ok := statement["ct count"].(map[string]any)
		if !ok {
			continue // a counter
		}
		if over, _ := count["inv"].(bool); over {
			said += fmt.Sprintf(" over %v", count["val"])
		} else {
			said += fmt.Sprintf(" up to %v", count["val"])
		}
	}
	return said
}

func nftField(m map[string]any) string {
	for kind, value := range m {
		v, _ := value.(map[string]any)
		switch kind {
		case "&":
			masked, _ := value.([]any)
			if len(masked) != 2 {
				return ""
			}
			field, _ := masked[0].(map[string]any)
			return fmt.Sprintf("%s & %v", nftField(field), masked[1])
		case "payload":
			return fmt.Sprintf("%v %v", v["protocol"], v["field"])
		case "meta", "ct":
			return fmt.Sprintf("%s %v", kind, v["key"])
		}
	}
	return ""
}

func nftValues(field string, right any) (string, bool) {
	list := []any{right}
	if m, ok := right.(map[string]any); ok && m["set"] != nil {
		list, _ = m["set"].([]any)
	} else if several, ok := right.([]any); ok {
		list = several
	}
	if strings.HasSuffix(field, " saddr") {
		var ranges []firewall.Range
		for _, one := range list {
			r, ok := nftRange(one)
			if !ok {
				return "", false
			}
			ranges = append(ranges, r)
		}
		return firewall.Joined(ranges), true
	}
	var words []string
	for _, one := range list {
		if _, nested := one.(map[string]any); nested {
			return "", false
		}
		word := fmt.Sprint(one)
		if name := nftNumbers[field][word]; name != "" {
			word = name
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " "), true
}

func nftRange(value any) (firewall.Range, bool) {
	m, ok := value.(map[string]any)
	if !ok {
		address, err := netip.ParseAddr(fmt.Sprint(value))
		return firewall.Range{First: address, Last: address}, err == nil
	}
	if ends, ok := m["range"].([]any); ok && len(ends) == 2 {
		first, err := netip.ParseAddr(fmt.Sprint(ends[0]))
		last, bad := netip.ParseAddr(fmt.Sprint(ends[1]))
		return firewall.Range{First: first, Last: last}, err == nil && bad == nil
	}
	p, _ := m["prefix"].(map[string]any)
	network, err := netip.ParsePrefix(fmt.Sprintf("%v/%v", p["addr"], p["len"]))
	if err != nil {
		return firewall.Range{}, false
	}
	return firewall.RangeOf(network), true
}
