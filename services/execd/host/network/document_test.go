package network

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

const (
	off4 = `"ipv4":{"method":"off"}`
	off6 = `"ipv6":{"method":"off"}`
	dhcp = `"ipv4":{"method":"dhcp"}`
	lan  = `{"name":"enp1s0","kind":"port","mac":"52:54:00:00:00:01","ipv4":{"method":"static","addresses":["192.0.2.10/24"],"gateway":"192.0.2.1"},` + off6 + `}`
)

func port(n int, rest string) string {
	return fmt.Sprintf(`{"name":"enp%ds0","kind":"port","mac":"52:54:00:00:00:0%d",%s}`, n, n, rest)
}

func read(t *testing.T, text string) Document {
	t.Helper()
	var d Document
	if err := json.Unmarshal([]byte(text), &d); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return d.Normal()
}

// Each is a fault that somebody has made, and what is said of it.
func TestWhatIsWrongWithADocumentIsSaidAtItsPlace(t *testing.T) {
	none := port(1, off4+","+off6)
	second := port(2, off4+","+off6)
	static := func(rest string) string { return port(1, `"ipv4":{"method":"static",`+rest+`},`+off6) }
	for _, c := range []struct{ interfaces, rest, path, says string }{
		{lan, ``, "", ""},
		{lan + "," + port(2, dhcp+`,"ipv6":{"method":"auto","addresses":["2001:db8::5/64"],"gateway":"fe80::1"}`), `,"routes":[{"to":"198.51.100.7/24","via":"192.0.2.9"}],"dns":["192.0.2.53"],"search":["Example.ORG."]`, "", ""},
		{none + "," + second + `,{"name":"bond0","kind":"bond","mode":"802.3ad","fastLacp":true,"members":["enp1s0","enp2s0"],` + dhcp + `,` + off6 + `},{"name":"vlan7","kind":"vlan","parent":"bond0","id":7,` + dhcp + `,` + off6 + `}`, ``, "", ""},
		{port(1, off4), ``, "/interfaces/0/ipv6/method", "method of IPv6 is off, auto or static"},
		{`{"name":"lo","kind":"port","mac":"52:54:00:00:00:01"}`, ``, "/interfaces/0/name", "'lo' is no name"},
		{`{"name":"bond","kind":"bond"}`, ``, "/interfaces/0/name", "ends with a digit"},
		{`{"name":"../x0","kind":"port","mac":"52:54:00:00:00:01"}`, ``, "/interfaces/0/name", "is no name"},
		{`{"name":"enp1s0","kind":"port","mac":"52:54:00:00:00"}`, ``, "/interfaces/0/mac", "no hardware address"},
		{none + `,{"name":"x1","kind":"port","mac":"52-54-00-00-00-01"}`, ``, "/interfaces/1/mac", "enp1s0 and x1 have the same"},
		{none + "," + none, ``, "/interfaces/1/name", "two interfaces called enp1s0"},
		{`{"name":"x0","kind":"bridge"}`, ``, "/interfaces/0/kind", "a port, a bond or a vlan"},
		{port(1, `"mtu":800,`+off4+","+off6), ``, "/interfaces/0/mtu", "1280 to 9216"},
		{static(`"addresses":[]`), ``, "/interfaces/0/ipv4/addresses", "give it an address, such as 192.0.2.10/24"},
		{static(`"addresses":["192.0.2.10"]`), ``, "/interfaces/0/ipv4/addresses/0", "'192.0.2.10' is no IPv4 address with the length"},
		{static(`"addresses":["2001:db8::1/64"]`), ``, "/interfaces/0/ipv4/addresses/0", "is no IPv4 address"},
		{static(`"addresses":["192.0.2.0/24"]`), ``, "/interfaces/0/ipv4/addresses/0", "the network itself"},
		{static(`"addresses":["192.0.2.255/24"]`), ``, "/interfaces/0/ipv4/addresses/0", "everybody in its network"},
		{static(`"addresses":["127.0.0.2/8"]`), ``, "/interfaces/0/ipv4/addresses/0", "can be no machine's address"},
		{static(`"addresses":["192.0.2.0/31"]`), ``, "", ""},
		{static(`"addresses":["192.0.2.10/24"],"gateway":"198.51.100.1"`), ``, "/interfaces/0/ipv4/gateway", "is in no network of enp1s0"},
		{static(`"addresses":["192.0.2.10/24"],"gateway":"192.0.2.10"`), ``, "/interfaces/0/ipv4/gateway", "an address of enp1s0 itself"},
		{static(`"addresses":["192.0.2.10/24"],"gateway":"router"`), ``, "/interfaces/0/ipv4/gateway", "is no IPv4 address of a gateway"},
		{port(1, `"ipv4":{"method":"dhcp","gateway":"192.0.2.1"},`+off6), ``, "/interfaces/0/ipv4/gateway", "The network names the gateway"},
		{port(1, `"ipv4":{"method":"off","gateway":"192.0.2.1"},`+off6), ``, "/interfaces/0/ipv4/addresses", "is off"},
		{lan + "," + port(2, `"ipv4":{"method":"static","addresses":["192.0.2.10/24"]},`+off6), ``, "/interfaces/1/ipv4/addresses/0", "both have the address 192.0.2.10"},
		{lan + "," + port(2, `"ipv4":{"method":"static","addresses":["192.0.2.99/25"]},`+off6), ``, "/interfaces/1/ipv4/addresses/0", "overlap"},
		{lan + "," + port(2, `"ipv4":{"method":"static","addresses":["198.51.100.2/24"],"gateway":"198.51.100.1"},`+off6), ``, "/interfaces/1/ipv4/gateway", "both have a gateway"},
		{none + `,{"name":"bond0","kind":"bond","mode":"active-backup","members":["enp1s0"],` + dhcp + `,` + off6 + `}`, ``, "/interfaces/1/members", "needs two ports"},
		{none + `,{"name":"bond0","kind":"bond","mode":"active-backup","members":["enp1s0","enp9s0"],` + dhcp + `,` + off6 + `}`, ``, "/interfaces/1/members/1", "'enp9s0' is no port"},
		{none + "," + second + `,{"name":"bond0","kind":"bond","mode":"balance-rr","members":["enp1s0","enp2s0"],` + dhcp + `,` + off6 + `}`, ``, "/interfaces/2/mode", "mode is active-backup"},
		{none + "," + second + `,{"name":"bond0","kind":"bond","mode":"active-backup","fastLacp":true,"members":["enp1s0","enp2s0"],` + dhcp + `,` + off6 + `}`, ``, "/interfaces/2/fastLacp", "by LACP"},
		{lan + "," + second + `,{"name":"bond0","kind":"bond","mode":"802.3ad","members":["enp1s0","enp2s0"],` + dhcp + `,` + off6 + `}`, ``, "/interfaces/0/ipv4/method", "the bond has the addresses"},
		{none + `,{"name":"v1","kind":"vlan","parent":"enp1s0","id":4095,` + dhcp + `,` + off6 + `}`, ``, "/interfaces/1/id", "1 to 4094"},
		{none + `,{"name":"v1","kind":"vlan","parent":"enp7s0","id":5,` + dhcp + `,` + off6 + `}`, ``, "/interfaces/1/parent", "is no port and no bond"},
		{none + `,{"name":"v1","kind":"vlan","parent":"enp1s0","id":5,` + off4 + `,` + off6 + `},{"name":"v2","kind":"vlan","parent":"enp1s0","id":5,` + off4 + `,` + off6 + `}`, ``, "/interfaces/1/id", "v1 and v2 are both VLAN 5"},
		{none + `,{"name":"v1","kind":"vlan","parent":"enp1s0","id":5,"mtu":9000,` + off4 + `,` + off6 + `}`, ``, "/interfaces/1/mtu", "is more than that of enp1s0"},
		{lan, `,"routes":[{"to":"0.0.0.0/0","via":"192.0.2.9"}]`, "/routes/0/to", "the gateway of an interface"},
		{lan, `,"routes":[{"to":"198.51.100.0/24","via":"203.0.113.9"}]`, "/routes/0/via", "could not be reached"},
		{lan, `,"routes":[{"to":"198.51.100.0/24","via":"2001:db8::9"}]`, "/routes/0/via", "is no address of a router"},
		{lan, `,"routes":[{"to":"198.51.100.0/24","via":"192.0.2.9"},{"to":"198.51.100.0/24","via":"192.0.2.8"}]`, "/routes/1/to", "two routes"},
		{lan, `,"dns":["dns.example"]`, "/dns/0", "no address of a DNS server"},
		{lan, `,"dns":["192.0.2.1","192.0.2.2","192.0.2.3","192.0.2.4"]`, "/dns", "At most 3"},
		{lan, `,"search":["a b"]`, "/search/0", "no name of a domain"},
	} {
		d := read(t, `{"version":1,"interfaces":[`+c.interfaces+`]`+c.rest+`}`)
		path, message := d.Wrong()
		if path != c.path || !strings.Contains(message, c.says) {
			t.Errorf("%s%s:\n%s %s", c.interfaces, c.rest, path, message)
		}
	}
	if path, _ := (Document{Version: 2}).Wrong(); path != "/version" {
		t.Errorf("a newer form: %s", path)
	}
}

// random is a document that may be right.
func random(r *rand.Rand) Document {
	d := Document{Version: 1, FromNetwork: r.IntN(2) == 0}
	family := func(n int, v4 bool) Family {
		f := Family{Method: Off}
		address, gateway := fmt.Sprintf("10.%d.0.%d/24", n, 2+r.IntN(250)), fmt.Sprintf("10.%d.0.1", n)
		other := DHCP
		if !v4 {
			address, gateway, other = fmt.Sprintf("2001:db8:%x::%x/64", n, 2+r.IntN(60_000)), fmt.Sprintf("2001:db8:%x::1", n), Auto
		}
		switch r.IntN(3) {
		case 0:
			f.Method, f.Addresses = Static, []string{address}
			if r.IntN(3) == 0 {
				f.Gateway = gateway
			}
		case 1:
			f.Method = other
			if r.IntN(3) == 0 {
				f.Addresses = []string{address}
			}
		}
		return f
	}
	ports := 1 + r.IntN(5)
	for n := range ports {
		d.Interfaces = append(d.Interfaces, Interface{Name: fmt.Sprintf("enp%ds0", n), Kind: Port, MAC: fmt.Sprintf("52:54:00:00:00:%02x", n), MTU: 1280 + r.IntN(8000), IPv4: family(n, true), IPv6: family(n, false)})
	}
	if ports > 2 && r.IntN(2) == 0 {
		bond := Interface{Name: "bond0", Kind: Bond, Mode: []string{ActiveBackup, LACP}[r.IntN(2)], MTU: 1280 + r.IntN(8000), IPv4: family(100, true), IPv6: family(100, false)}
		bond.FastLACP = bond.Mode == LACP && r.IntN(2) == 0
		for n := range 2 {
			bond.Members = append(bond.Members, d.Interfaces[n].Name)
			d.Interfaces[n].IPv4, d.Interfaces[n].IPv6, d.Interfaces[n].MTU = Family{Method: Off}, Family{Method: Off}, bond.MTU
		}
		d.Interfaces = append(d.Interfaces, bond)
	}
	for n := range r.IntN(4) {
		parent := d.Interfaces[r.IntN(len(d.Interfaces))]
		d.Interfaces = append(d.Interfaces, Interface{Name: fmt.Sprintf("vlan%d", n), Kind: VLAN, Parent: parent.Name, ID: 1 + r.IntN(4094), MTU: 1280, IPv4: family(200+n, true), IPv6: family(200+n, false)})
	}
	for n := range r.IntN(3) {
		d.Routes = append(d.Routes, Route{fmt.Sprintf("172.16.%d.0/24", n), fmt.Sprintf("10.%d.0.9", r.IntN(ports))})
	}
	if r.IntN(2) == 0 {
		d.DNS, d.Search = []string{"192.0.2.53", "2001:db8::53"}, []string{"example.org", "example.net"}
	}
	return d.Normal()
}

// parsed is the document that files of networkd say, in the order of its interfaces, which files have none of.
func parsed(t *testing.T, files map[string]string, order []Interface) Document {
	t.Helper()
	type entry struct{ section, key, value string }
	entries := func(name string) (list []entry) {
		section := ""
		for line := range strings.Lines(files[name]) {
			line = strings.TrimSpace(line)
			key, value, ok := strings.Cut(line, "=")
			switch {
			case line == "" || line[0] == '#':
			case line[0] == '[':
				section = strings.Trim(line, "[]")
				list = append(list, entry{section, "", ""})
			case ok:
				list = append(list, entry{section, key, value})
			default:
				t.Fatalf("%s: %q", name, line)
			}
		}
		return list
	}
	d := Document{Version: 1, FromNetwork: true}
	left := len(files)
	members := map[string][]string{}
	parents := map[string]string{}
	for _, known := range order {
		one := Interface{Name: known.Name, Kind: Port, IPv4: Family{Method: Off}, IPv6: Family{Method: Off}}
		if text, ok := files[FilePrefix+known.Name+".netdev"]; ok && text != "" {
			left--
			for _, e := range entries(FilePrefix + known.Name + ".netdev") {
				switch e.section + "." + e.key {
				case "NetDev.Kind":
					one.Kind = e.value
				case "VLAN.Id":
					one.ID, _ = strconv.Atoi(e.value)
				case "Bond.Mode":
					one.Mode = e.value
				case "Bond.LACPTransmitRate":
					one.FastLACP = e.value == "fast"
				}
			}
		}
		left--
		v4, v6 := false, false
		destination := ""
		for _, e := range entries(FilePrefix + known.Name + ".network") {
			is6 := strings.Contains(e.value, ":")
			switch e.section + "." + e.key {
			case "Route.":
				destination = ""
			case "Match.PermanentMACAddress":
				one.MAC = e.value
			case "Link.MTUBytes":
				one.MTU, _ = strconv.Atoi(e.value)
			case "Network.Bond":
				members[e.value] = append(members[e.value], one.Name)
			case "Network.VLAN":
				parents[e.value] = one.Name
			case "Network.DHCP":
				v4 = e.value == "ipv4"
			case "Network.IPv6AcceptRA":
				v6 = e.value == "yes"
			case "Network.LinkLocalAddressing":
				if e.value == "ipv6" {
					one.IPv6.Method = Static
				}
			case "Network.DNS":
				d.DNS = append(d.DNS, e.value)
			case "Network.Domains":
				d.Search = append(d.Search, e.value)
			case "DHCPv4.UseDNS", "DHCPv6.UseDNS", "IPv6AcceptRA.UseDNS":
				d.FromNetwork = e.value == "yes"
			case "Address.Address":
				if is6 {
					one.IPv6.Addresses = append(one.IPv6.Addresses, e.value)
				} else {
					one.IPv4.Method = Static
					one.IPv4.Addresses = append(one.IPv4.Addresses, e.value)
				}
			case "Route.Destination":
				destination = e.value
			case "Route.Gateway":
				switch {
				case destination != "":
					d.Routes = append(d.Routes, Route{destination, e.value})
				case is6:
					one.IPv6.Gateway = e.value
				default:
					one.IPv4.Gateway = e.value
				}
			}
		}
		if v4 {
			one.IPv4.Method = DHCP
		}
		if v6 {
			one.IPv6.Method = Auto
		}
		d.Interfaces = append(d.Interfaces, one)
	}
	for i, one := range d.Interfaces {
		d.Interfaces[i].Members, d.Interfaces[i].Parent = members[one.Name], parents[one.Name]
	}
	if left != 0 {
		t.Errorf("%d files more than interfaces have", left)
	}
	return d.Normal()
}

func TestWhatNetworkdIsGivenSaysTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(25, 1))
	right := 0
	for range 20_000 {
		d := random(r)
		if path, _ := d.Wrong(); path != "" {
			continue
		}
		right++
		back := parsed(t, d.Networkd(), d.Interfaces)
		// Files say it only where somebody could be asked.
		asks := false
		for _, one := range d.Interfaces {
			asks = asks || one.IPv4.Method == DHCP || one.IPv6.Method == Auto
		}
		if !asks {
			back.FromNetwork = d.FromNetwork
		}
		if d.dnsAskedBy() == "" {
			back.DNS, back.Search = d.DNS, d.Search
		}
		byTo := func(list []Route) map[string]string {
			out := map[string]string{}
			for _, one := range list {
				out[one.To] = one.Via
			}
			return out
		}
		if !reflect.DeepEqual(byTo(back.Routes), byTo(d.Routes)) {
			t.Fatalf("routes %v, not %v", back.Routes, d.Routes)
		}
		back.Routes = d.Routes
		if !reflect.DeepEqual(back, d) {
			t.Fatalf("\n%+v is read back as\n%+v\n%v", d, back, d.Networkd())
		}
	}
	if right < 500 {
		t.Errorf("only %d of the documents were right", right)
	}
	t.Logf("%d documents", right)
}

// No text of a document can say anything but what it is meant for.
func FuzzDocument(f *testing.F) {
	f.Add(`{"version":1,"interfaces":[` + lan + `]}`)
	f.Add(`{"version":1,"interfaces":[` + port(1, off4+","+off6) + `,{"name":"v1","kind":"vlan","parent":"enp1s0","id":5,` + dhcp + `,` + off6 + `}],"dns":["192.0.2.1"],"search":["a.example"]}`)
	f.Fuzz(func(t *testing.T, text string) {
		var d Document
		if json.Unmarshal([]byte(text), &d) != nil {
			return
		}
		d = d.Normal()
		if path, message := d.Wrong(); path != "" {
			if message == "" {
				t.Errorf("%s is wrong, and nothing is said", path)
			}
			return
		}
		for name, text := range d.Networkd() {
			if strings.ContainsAny(name, "/ ") || strings.Contains(text, "\r") {
				t.Errorf("%q: %q", name, text)
			}
		}
		if again := d.Normal(); !reflect.DeepEqual(again, d) {
			t.Errorf("%+v is in another form than %+v", d, again)
		}
	})
}
