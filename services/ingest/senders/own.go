package senders

// The machine's own networks: those of its interfaces, which change while it runs.

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync/atomic"
	"time"
)

// ownEvery is how often the interfaces are asked: who gives the machine another address finds his data taken soon after.
const ownEvery = 5 * time.Second

// Own are the networks that the machine has an address in; safe for many goroutines. Before they are read for the first time
// there is only loopback.
type Own struct {
	read     func() ([]net.Addr, error)
	networks atomic.Pointer[[]netip.Prefix]
}

// NewOwn reads the interfaces' networks. An error leaves loopback.
func NewOwn() (*Own, error) {
	o := &Own{read: net.InterfaceAddrs}
	o.set(nil)
	return o, o.Read()
}

// Read asks the interfaces again. When they cannot be asked what was known stays.
func (o *Own) Read() error {
	addresses, err := o.read()
	if err != nil {
		return err
	}
	o.set(addresses)
	return nil
}

func (o *Own) set(addresses []net.Addr) {
	all := []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}
	for _, one := range addresses {
		if p, ok := prefix(one); ok && !p.Addr().IsLoopback() && p.Bits() > 0 && !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	o.networks.Store(&all)
}

func prefix(address net.Addr) (netip.Prefix, bool) {
	network, ok := address.(*net.IPNet)
	if !ok {
		return netip.Prefix{}, false
	}
	addr, ok := netip.AddrFromSlice(network.IP)
	ones, bits := network.Mask.Size()
	if !ok || bits == 0 {
		return netip.Prefix{}, false
	}
	if addr = addr.Unmap(); bits == 128 && addr.Is4() {
		ones -= 96
	}
	p := netip.PrefixFrom(addr, ones).Masked()
	return p, p.IsValid()
}

// Networks are what is known now; not to be changed.
func (o *Own) Networks() []netip.Prefix { return *o.networks.Load() }

// Watch reads them again and again until ctx ends, and tells failed what kept it from that.
func (o *Own) Watch(ctx context.Context, failed func(error)) {
	ticker := time.NewTicker(ownEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			if err := o.Read(); err != nil {
				failed(err)
			}
		}
	}
}
