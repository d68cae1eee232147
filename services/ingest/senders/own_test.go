package senders

import (
	"errors"
	"net"
	"net/netip"
	"testing"
)

// An input that is kept to the machine's own networks follows them as addresses come and go.
func TestOwnNetworks(t *testing.T) {
	addresses := []net.Addr{
		&net.IPNet{IP: net.ParseIP("127.0.0.1"), Mask: net.CIDRMask(8, 32)},
		&net.IPNet{IP: net.ParseIP("192.0.2.7"), Mask: net.CIDRMask(24, 32)}, // 16 bytes, as the kernel's come
		&net.IPNet{IP: net.ParseIP("fe80::7"), Mask: net.CIDRMask(64, 128)},
		&net.IPNet{IP: net.ParseIP("203.0.113.7"), Mask: net.CIDRMask(0, 32)}, // everything is nobody's own
	}
	var failure error
	o := &Own{read: func() ([]net.Addr, error) { return addresses, failure }}
	if err := o.Read(); err != nil {
		t.Fatal(err)
	}
	in := New("statsd", Options{Own: o, Networks: []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}})
	hold := func(when string, wanted map[string]bool) {
		t.Helper()
		for text, want := range wanted {
			if got := in.Unwanted(address(text)) == ""; got != want {
				t.Errorf("%s: %s: %v", when, text, got)
			}
		}
	}
	hold("at first", map[string]bool{"127.0.0.1": true, "::1": true, "192.0.2.200": true, "::ffff:192.0.2.9": true, "fe80::9%eth0": true,
		"198.51.100.9": true, "203.0.113.9": false, "10.0.0.1": false, "2001:db8::1": false})
	addresses = append(addresses[:1], &net.IPNet{IP: net.ParseIP("10.0.0.7"), Mask: net.CIDRMask(8, 32)})
	if err := o.Read(); err != nil {
		t.Fatal(err)
	}
	hold("with another address", map[string]bool{"127.0.0.1": true, "192.0.2.200": false, "10.0.0.1": true})
	failure = errors.New("no sockets left")
	if o.Read() == nil {
		t.Error("no error")
	}
	hold("when nobody knows", map[string]bool{"10.0.0.1": true})
}

func TestOwnNetworksOfThisMachine(t *testing.T) {
	o, err := NewOwn()
	if err != nil {
		t.Fatal(err)
	}
	if in := New("statsd", Options{Own: o}); in.Unwanted(address("127.0.0.1")) != "" || in.Unwanted(address("240.0.0.1")) == "" {
		t.Error(o.Networks())
	}
}
