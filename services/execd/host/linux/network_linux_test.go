package linux

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"testing"
	"time"

	"cistern/services/execd/host/network"

	"github.com/vishvananda/netlink"
)

func interfacesOf(t *testing.T, interfaces ...network.Interface) network.Document {
	t.Helper()
	d := network.Default()
	d.Interfaces = interfaces
	d = d.Normal()
	if path, message := d.Wrong(); path != "" {
		t.Fatal(path, message)
	}
	return d
}

var off = network.Family{Method: network.Off}

func twoPorts(mtu int) (one, two network.Interface) {
	one = network.Interface{Name: "enp1s0", Kind: network.Port, MAC: "52:54:00:00:00:01", MTU: mtu, IPv4: off, IPv6: off}
	two = network.Interface{Name: "enp2s0", Kind: network.Port, MAC: "52:54:00:00:00:02", MTU: mtu, IPv4: off, IPv6: off}
	return one, two
}

// Only what differs is written, so that networkd leaves alone what stays; and a device that is not made anew as it is goes first.
func TestWhatDiffersIsWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "network")
	one, two := twoPorts(1500)
	bond := network.Interface{Name: "bond0", Kind: network.Bond, Mode: network.LACP, Members: []string{"enp1s0", "enp2s0"}, IPv4: network.Family{Method: network.DHCP}, IPv6: off}
	vlan := network.Interface{Name: "vlan7", Kind: network.VLAN, Parent: "bond0", ID: 7, IPv4: network.Family{Method: network.DHCP}, IPv6: off}
	write := func(d network.Document, wantChanged bool, wantGone ...string) {
		t.Helper()
		changed, gone, err := writeNetwork(dir, d)
		if err != nil || changed != wantChanged || len(gone) != len(wantGone) || len(gone) > 0 && !reflect.DeepEqual(gone, wantGone) {
			t.Errorf("changed %v, gone %v, %v", changed, gone, err)
		}
		names, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(names) != len(d.Networkd()) {
			t.Errorf("there are %v", names)
		}
	}
	write(network.Default(), false)
	write(interfacesOf(t, one, two), true)
	write(interfacesOf(t, one, two), false)
	write(interfacesOf(t, one, two, bond, vlan), true)
	// What its addresses are changes no device.
	vlan.IPv4 = network.Family{Method: network.Static, Addresses: []string{"192.0.2.7/24"}}
	write(interfacesOf(t, one, two, bond, vlan), true)
	vlan.ID = 8
	write(interfacesOf(t, one, two, bond, vlan), true, "vlan7")
	bond.Mode = network.ActiveBackup
	write(interfacesOf(t, one, two, bond, vlan), true, "bond0")
	// Somebody else's files stay.
	other := filepath.Join(dir, "20-other.network")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	changed, gone, err := writeNetwork(dir, network.Default())
	if !changed || !reflect.DeepEqual(gone, []string{"bond0", "vlan7"}) || err != nil {
		t.Errorf("changed %v, gone %v, %v", changed, gone, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, "*")); !reflect.DeepEqual(names, []string{other}) {
		t.Errorf("there are %v", names)
	}
	for name := range interfacesOf(t, one, two, bond, vlan).Networkd() {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil {
			t.Errorf("%s is still there (%v)", name, info.Mode())
		}
	}
}

func TestALinkIsReadAsADocumentHasIt(t *testing.T) {
	names := map[int]string{2: "enp1s0", 5: "bond0"}
	attrs := func(name string) netlink.LinkAttrs {
		return netlink.LinkAttrs{Name: name, MTU: 1500, EncapType: "ether", RawFlags: iffLowerUp}
	}
	port := attrs("enp1s0")
	port.PermHWAddr, port.MasterIndex = net.HardwareAddr{0x52, 0x54, 0, 0, 0, 1}, 5
	vlan := attrs("vlan7")
	vlan.ParentIndex = 5
	for _, c := range []struct {
		link netlink.Link
		want network.Link
		ok   bool
	}{
		{&netlink.Device{LinkAttrs: port}, network.Link{Name: "enp1s0", Kind: "port", MAC: "52:54:00:00:00:01", Carrier: true, MTU: 1500, Bond: "bond0"}, true},
		{&netlink.Vlan{LinkAttrs: vlan, VlanId: 7}, network.Link{Name: "vlan7", Kind: "vlan", Carrier: true, MTU: 1500, Parent: "bond0", ID: 7}, true},
		{&netlink.Bond{LinkAttrs: attrs("bond0"), Mode: netlink.BOND_MODE_802_3AD}, network.Link{Name: "bond0", Kind: "bond", Carrier: true, MTU: 1500, Mode: "802.3ad"}, true},
		{&netlink.Veth{LinkAttrs: attrs("veth0")}, network.Link{}, false},
	} {
		got, ok := linkOf(c.link, names)
		c.want.Addresses = []network.Address{}
		if ok != c.ok || ok && !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v %v", got, ok)
		}
	}
}

// The kernel itself is asked whether a gateway is there, over a cable between two networks.
func TestAGatewayIsAsked(t *testing.T) {
	if !inNamespace(t) {
		return
	}
	run := func(words ...string) {
		t.Helper()
		if said, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v %s", words, err, said)
		}
	}
	other := exec.Command("unshare", "--net", "sleep", "60")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill() }()
	pid := other.Process.Pid
	own, _ := os.Readlink("/proc/self/ns/net")
	for range 200 {
		if theirs, err := os.Readlink("/proc/" + strconv.Itoa(pid) + "/ns/net"); err == nil && theirs != own {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	run("ip", "link", "add", "v0", "type", "veth", "peer", "name", "v1", "netns", strconv.Itoa(pid))
	there := func(words ...string) {
		t.Helper()
		run(append([]string{"nsenter", "--net=/proc/" + strconv.Itoa(pid) + "/ns/net"}, words...)...)
	}
	run("ip", "address", "add", "192.0.2.10/24", "dev", "v0")
	run("ip", "-6", "address", "add", "2001:db8::10/64", "dev", "v0", "nodad")
	there("ip", "address", "add", "192.0.2.1/24", "dev", "v1")
	there("ip", "-6", "address", "add", "2001:db8::1/64", "dev", "v1", "nodad")
	run("ip", "link", "set", "v0", "up")
	there("ip", "link", "set", "v1", "up")
	run("ip", "route", "add", "default", "via", "192.0.2.1")
	run("ip", "-6", "route", "add", "default", "via", "2001:db8::1")

	h := &Host{}
	said := func(want map[string]string) {
		t.Helper()
		got := map[string]string{}
		for range 400 {
			s, err := h.ReadNetwork(context.Background())
			if err != nil {
				t.Fatal(err)
			}
			h.AskGateways(context.Background(), s)
			got = map[string]string{}
			for _, g := range s.Gateways {
				word := "unknown"
				if g.Answers != nil {
					word = map[bool]string{true: "there", false: "silent"}[*g.Answers]
				}
				got[g.Address] = g.Interface + " " + word
			}
			if reflect.DeepEqual(got, want) {
				return
			}
			time.Sleep(50 * time.Millisecond)
		}
		t.Errorf("the gateways are %v, not %v", got, want)
	}
	said(map[string]string{"192.0.2.1": "v0 there", "2001:db8::1": "v0 there"})
	run("ip", "route", "replace", "default", "via", "192.0.2.9")
	said(map[string]string{"192.0.2.9": "v0 silent", "2001:db8::1": "v0 there"})
}

func TestWhatNamesAreAskedOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "resolv.conf")
	text := "# This file is managed by man:systemd-resolved(8).\nnameserver 10.0.2.3\nnameserver 2001:db8::53\nsearch example.org . example.net\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	servers, search := resolver(path)
	if !reflect.DeepEqual(servers, []string{"10.0.2.3", "2001:db8::53"}) || !reflect.DeepEqual(search, []string{"example.org", "example.net"}) {
		t.Error(servers, search)
	}
	if servers, search = resolver(path + ".gone"); len(servers)+len(search) != 0 || servers == nil || search == nil {
		t.Error(servers, search)
	}
}
