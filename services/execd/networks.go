package execd

import (
	"net"
	"net/netip"
	"slices"
)

// OwnNetworks are the networks that the machine has an address in, in order, without loopback's.
func OwnNetworks() ([]netip.Prefix, error) {
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	var all []netip.Prefix
	for _, one := range addresses {
		network, ok := one.(*net.IPNet)
		if !ok {
			continue
		}
		p, err := netip.ParsePrefix(network.String())
		if err == nil && p.Bits() > 0 && !p.Addr().IsLoopback() && !slices.Contains(all, p.Masked()) {
			all = append(all, p.Masked())
		}
	}
	slices.SortFunc(all, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return all, nil
}
