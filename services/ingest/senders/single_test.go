package senders

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
)

func place(t testing.TB, text string) (p Place) {
	t.Helper()
	if err := p.UnmarshalText([]byte(text)); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7": "192.0.2.7", "192.0.2.7/32": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7", "2001:db8::/64": "2001:db8::/64",
		"2001:db8::7": "2001:db8::7", "2001:db8::7/128": "2001:db8::7",
	} {
		if got, err := json.Marshal(place(t, text)); err != nil || string(got) != `"`+want+`"` {
			t.Errorf("%s: %s %v", text, got, err)
		}
	}
	for text, want := range map[string]string{
		"web1": "is no sender", "": "is no sender", "192.0.2.0/24": "is more than one sender", "2001:db8::/48": "is more than one sender",
		"2001:db8::7/64": "write 2001:db8::/64 for the network", "fe80::1%eth0": "is no sender",
	} {
		var p Place
		if err := p.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Who is refused is so in every network, and as an account: of IPv6 with its network when that is named, else alone.
func TestRefusedSenders(t *testing.T) {
	in := New("statsd", Options{RefusedSenders: map[Place]bool{place(t, "192.0.2.7"): true, place(t, "2001:db8:1::/64"): true, place(t, "2001:db8:2::7"): true}})
	for text, want := range map[string]bool{
		"192.0.2.7": true, "::ffff:192.0.2.7": true, "192.0.2.8": false, "2001:db8:1::9": true, "2001:db8:2::7": true, "2001:db8:2::8": false,
		"2001:db8:3::1": false, "127.0.0.1": false,
	} {
		if got := in.Unwanted(address(text)) == SenderRefused; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestHosts(t *testing.T) {
	in := New("statsd", Options{})
	var h Hosts
	hold := func(when string, wanted map[string]string) {
		t.Helper()
		for range 2 { // also as it is remembered
			for text, want := range wanted {
				if got := in.Host(&h, address(text)); got != want {
					t.Errorf("%s: %s is %q", when, text, got)
				}
			}
		}
	}
	hold("by default", map[string]string{"192.0.2.7": ""})
	names := map[Place]string{place(t, "192.0.2.7"): "web1", place(t, "2001:db8::/64"): "edge", place(t, "2001:db8::7"): "edge7"}
	in.Set(Options{HostNames: names})
	hold("named", map[string]string{"192.0.2.7": "web1", "::ffff:192.0.2.7": "web1", "192.0.2.8": "", "2001:db8::7": "edge7", "2001:db8::8": "edge", "2001:db8:1::7": ""})
	in.Set(Options{HostNames: names, SenderIsHost: true})
	hold("all", map[string]string{"192.0.2.7": "web1", "192.0.2.8": "192.0.2.8", "2001:db8:1::7": "2001:db8:1::7", "fe80::1%eth0": "fe80::1"})
	for i := range 3 * maxRemembered {
		in.Host(&h, address("10.0.0.0").Next())
		in.Host(&h, addressOf(i))
	}
	if len(h.known) > maxRemembered {
		t.Errorf("%d are remembered", len(h.known))
	}
	if got := (*Input)(nil).Host(&h, address("192.0.2.7")); got != "" {
		t.Error(got)
	}
}

func addressOf(i int) netip.Addr {
	return netip.AddrFrom4([4]byte{10, byte(i >> 16), byte(i >> 8), byte(i)})
}
