package illumos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/execd/host/firewall"
	"cistern/services/platform/illumos/commands/fake"
)

// withIpfilter has ipf and ipfstat keep the two sets of rules as ipf.c and ipfstat.c do: the inactive one is flushed and filled,
// the two are exchanged; what goes out is printed first, and printfr writes any of IPv6 as ::/0.
func withIpfilter(t *testing.T) (*Host, *fake.Machine) {
	t.Helper()
	machine, fakes := withFakes(t)
	dir := filepath.Join(fakes.Root, "ipf")
	if err := os.MkdirAll(filepath.Join(dir, "0"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(dir, "1"), 0o755); err != nil {
		t.Fatal(err)
	}
	fakes.Put("ipf/active", "0", 0o644)
	fakes.Program("bin/ipf", `cd '`+dir+`' || exit 1
active=$(cat active) inactive=$((1 - active)) set=$active v=4
while [ $# -gt 0 ]; do
  case $1 in
  -E) [ ! -e enabled ] || echo 'IP FIlter: already initialized' >&2; : >enabled ;;
  -6) v=6 ;;
  -I) set=$inactive ;;
  -F) shift; : >"$set/$v" ;;
  -f) shift; [ "$1" = - ] || exit 1; cat >>"$set/$v"; [ ! -e lose ] || sed -i '$d' "$set/$v" ;;
  -s) printf %s "$inactive" >active; echo "Set $active now inactive" ;;
  esac
  shift
done`)
	fakes.Program("bin/ipfstat", `cd '`+dir+`' || exit 1
set=$(cat active) v=4
for word; do
  case $word in -6) v=6 ;; -I) set=$((1 - set)) ;; esac
done
for way in out in; do
  if ! grep -q " $way " "$set/$v" 2>/dev/null; then echo "empty list for ipfilter($way)" >&2; continue; fi
  grep " $way " "$set/$v" | if [ $v = 6 ]; then sed 's/ any/ ::\/0/g; s/proto 58/proto ipv6-icmp/'; else cat; fi | sed 's/^/7 /'
done`)
	return machine, fakes
}

func prefixes(list ...string) []netip.Prefix {
	all := make([]netip.Prefix, len(list))
	for i, one := range list {
		all[i] = netip.MustParsePrefix(one)
	}
	return all
}

func TestRulesOfIpfilterAreReadBackBeforeTheyHold(t *testing.T) {
	machine, fakes := withIpfilter(t)
	ctx := context.Background()
	rules := firewall.Default().Rules(prefixes("192.0.2.0/24", "2001:db8::/64"))
	before, err := machine.ReadFirewall(ctx, rules)
	if err != nil || strings.Join(before.Differs, " ") != "No rules for IPv4 are loaded. No rules for IPv6 are loaded." {
		t.Fatalf("%+v %v", before, err)
	}
	fakes.Calls()
	if err := machine.LoadFirewall(ctx, rules, false); err != nil {
		t.Fatal(err)
	}
	const want = `ipf -E
ipf -I -F a -f -
ipf -6 -I -F a -f -
ipfstat -I -h -i -o -R
ipfstat -6 -I -h -i -o -R
ipf -s
ipfstat -h -i -o -R
ipfstat -6 -h -i -o -R
`
	if calls := fakes.Calls(); calls != want {
		t.Errorf("called:\n%s", calls)
	}
	loaded, err := machine.ReadFirewall(ctx, rules)
	// Two ports of each, in two families, seven packets a rule.
	if err != nil || len(loaded.Differs) != 0 || loaded.Dropped["statsd"] != 28 || loaded.Dropped["graphite"] != 28 || loaded.Dropped[firewall.Other] != 14 || loaded.Senders != nil {
		t.Errorf("%+v %v", loaded, err)
	}
	// Somebody has added a rule.
	for _, more := range []string{"pass in quick proto tcp from any to any port = 22", "pass in log quick all", "pass in quick proto tcp from any to any port > 1"} {
		active, _ := os.ReadFile(filepath.Join(fakes.Root, "ipf/active"))
		path := "ipf/" + string(active) + "/4"
		was, _ := os.ReadFile(filepath.Join(fakes.Root, path))
		fakes.Put(path, more+"\n"+string(was), 0o644)
		loaded, err := machine.ReadFirewall(ctx, rules)
		if err != nil || len(loaded.Differs) != 1 || !strings.Contains(loaded.Differs[0], "IPv4: This rule was not made here: ") || !strings.Contains(loaded.Differs[0], more) {
			t.Errorf("%s: %+v %v", more, loaded, err)
		}
		if err := machine.LoadFirewall(ctx, rules, true); err != nil {
			t.Fatal(err)
		}
	}
	// A rule that the kernel has not taken: ipf ends with 0, and what held before still does.
	active, _ := os.ReadFile(filepath.Join(fakes.Root, "ipf/active"))
	fakes.Put("ipf/lose", "", 0o644)
	if err := machine.LoadFirewall(ctx, nil, false); err == nil || !strings.Contains(err.Error(), "ipfilter has not taken the rules") {
		t.Errorf("%v", err)
	}
	if now, _ := os.ReadFile(filepath.Join(fakes.Root, "ipf/active")); string(now) != string(active) {
		t.Error("the sets were exchanged all the same")
	}
}

// packet is one that comes in.
type packet struct {
	from     netip.Addr
	protocol string
	port     uint16
}

// lets says what ipfilter does with a packet, by rules as they are written: the first quick one that matches decides.
func lets(t *testing.T, lines []string, p packet) bool {
	t.Helper()
	result := false
	for _, text := range lines {
		r, err := parseIpf(text, false)
		if err != nil {
			t.Fatal(err)
		}
		if !r.in || r.on != "" || r.protocol != "" && r.protocol != p.protocol || r.from.IsValid() && !r.from.Contains(p.from) || r.fromPort != "" || r.toPort != "" && r.toPort != fmt.Sprint(p.port) {
			continue
		}
		if result = r.action == "pass"; r.quick {
			return result
		}
	}
	return result
}

// Whatever document there is: its rules are of ipfilter's grammar, and let in exactly whom the document does.
func FuzzDocumentToIpfilter(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 2))
		network := func() netip.Prefix {
			bytes := make([]byte, []int{4, 16}[random.IntN(2)])
			for i := range bytes {
				bytes[i] = byte(random.IntN(3))
			}
			address, _ := netip.AddrFromSlice(bytes)
			return netip.PrefixFrom(address, random.IntN(address.BitLen()+1)).Masked()
		}
		var own []netip.Prefix
		for range random.IntN(4) {
			own = append(own, network())
		}
		d := firewall.Document{Version: 1, Services: []firewall.Service{{Name: "https", Ports: []firewall.Port{{Protocol: "tcp", Port: 443}}}}}
		for i := range random.IntN(8) {
			s := firewall.Service{Name: fmt.Sprintf("s%d", i), Ports: []firewall.Port{{Protocol: []string{"tcp", "udp"}[random.IntN(2)], Port: uint16(1000 + i)}}}
			for range random.IntN(6) {
				s.Networks = append(s.Networks, network().String())
			}
			if random.IntN(2) == 0 {
				s.Networks = append(s.Networks, firewall.Own)
			}
			d.Services = append(d.Services, s)
		}
		if path, message := d.Wrong(); path != "" {
			t.Fatal(path, message)
		}
		rules := d.Rules(own)
		lines := map[bool][]string{false: ipfRules(rules, false), true: ipfRules(rules, true)}
		for range 60 {
			p := packet{from: network().Addr(), protocol: []string{"tcp", "udp"}[random.IntN(2)], port: uint16(1000 + random.IntN(9))}
			if random.IntN(4) == 0 {
				p.port = 443
			}
			want := false
			for _, s := range d.Services {
				if !slices.Contains(s.Ports, firewall.Port{Protocol: p.protocol, Port: p.port}) {
					continue
				}
				want = len(s.Networks) == 0
				for _, text := range s.Networks {
					if text == firewall.Own {
						want = want || slices.ContainsFunc(own, func(o netip.Prefix) bool { return o.Contains(p.from) && !o.Addr().IsLoopback() })
					} else {
						one := netip.MustParsePrefix(text)
						want = want || one.Contains(p.from) && !one.Addr().IsLoopback()
					}
				}
			}
			if got := lets(t, lines[p.from.Is6()], p); got != want {
				t.Fatalf("%+v: let in %v, by the document %v\n%+v\n%s", p, got, want, d, strings.Join(lines[p.from.Is6()], "\n"))
			}
		}
	})
}
