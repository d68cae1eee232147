package linux

// The network by systemd-networkd: files in a folder that is empty at each start, and what the kernel says of it.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cistern/services/execd/host/network"
	"cistern/services/platform/command"

	"github.com/vishvananda/netlink"
)

const (
	networkdFiles   = "/run/systemd/network"
	resolvedServers = "/run/systemd/resolve/resolv.conf"
)

// PrepareNetwork implements Host: networkd, which starts later, finds the files.
func (l *Host) PrepareNetwork(d network.Document) error {
	_, _, err := writeNetwork(networkdFiles, d)
	return err
}

// writeNetwork writes the files of a document, and says which devices that networkd has made are not those of the files any more.
func writeNetwork(folder string, d network.Document) (changed bool, gone []string, err error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return false, nil, err
	}
	files := d.Networkd()
	had, err := filepath.Glob(filepath.Join(folder, network.FilePrefix+"*"))
	if err != nil {
		return false, nil, err
	}
	for _, path := range had {
		name := filepath.Base(path)
		before, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return changed, gone, err
		}
		after, stays := files[name]
		if stays && after == string(before) {
			delete(files, name)
			continue
		}
		// A device that is already there is not made anew with other properties: it has to go first.
		if device, ok := strings.CutSuffix(strings.TrimPrefix(name, network.FilePrefix), ".netdev"); ok {
			gone = append(gone, device)
		}
		changed = true
		if stays {
			continue
		}
		if err := os.Remove(path); err != nil {
			return changed, gone, err
		}
	}
	for name, text := range files {
		changed = true
		path := filepath.Join(folder, name)
		if err := errors.Join(os.WriteFile(path+".new", []byte(text), 0o644), os.Chmod(path+".new", 0o644), os.Rename(path+".new", path)); err != nil {
			return changed, gone, err
		}
	}
	slices.Sort(gone)
	return changed, gone, nil
}

func networkctl(ctx context.Context, arguments ...string) error {
	_, err := command.Run(ctx, 30*time.Second, 64<<10, append([]string{"networkctl"}, arguments...)...)
	return err
}

// LoadNetwork has the network be as the document says, as far as it is not; it comes up after this has returned.
func (l *Host) LoadNetwork(ctx context.Context, d network.Document) error {
	changed, gone, err := writeNetwork(networkdFiles, d)
	if err != nil || !changed {
		return err
	}
	for _, device := range gone {
		if _, err := net.InterfaceByName(device); err != nil {
			continue
		}
		if err := networkctl(ctx, "delete", device); err != nil {
			return err
		}
	}
	return networkctl(ctx, "reload")
}

// ReadNetwork is how the network is, as the kernel has it.
func (l *Host) ReadNetwork(context.Context) (network.State, error) {
	s := network.State{Links: []network.Link{}, Gateways: []network.Gateway{}, DNS: []string{}, Search: []string{}}
	links, err := netlink.LinkList()
	if err != nil {
		return s, fmt.Errorf("the interfaces cannot be read: %w", err)
	}
	names := map[int]string{}
	for _, link := range links {
		names[link.Attrs().Index] = link.Attrs().Name
	}
	for _, link := range links {
		one, ok := linkOf(link, names)
		if !ok {
			continue
		}
		addresses, err := netlink.AddrList(link, netlink.FAMILY_ALL)
		if err != nil {
			return s, fmt.Errorf("the addresses of %s cannot be read: %w", one.Name, err)
		}
		for _, a := range addresses {
			// Those of the link alone are everywhere.
			if a.IP.IsLinkLocalUnicast() && a.IP.To4() == nil {
				continue
			}
			bits, _ := a.Mask.Size()
			ip, _ := netip.AddrFromSlice(a.IP)
			one.Addresses = append(one.Addresses, network.Address{
				Address: netip.PrefixFrom(ip.Unmap(), bits).String(), Duplicate: a.Flags&ifaDadFailed != 0, Trying: a.Flags&ifaTentative != 0,
			})
		}
		s.Links = append(s.Links, one)
	}
	if s.Gateways, err = gateways(names); err != nil {
		return s, err
	}
	s.DNS, s.Search = resolver(resolvedServers)
	return s, nil
}

// Flags of an address (linux/if_addr.h).
const (
	ifaDadFailed = 0x08
	ifaTentative = 0x40
)

// linkOf is a link that a document can be about.
func linkOf(link netlink.Link, names map[int]string) (network.Link, bool) {
	a := link.Attrs()
	one := network.Link{
		Name: a.Name, MTU: a.MTU, Addresses: []network.Address{}, Bond: names[a.MasterIndex],
		// Operational state (RFC 2863): a bond and a VLAN have one as well.
		Carrier: a.RawFlags&iffLowerUp != 0,
	}
	switch kind := link.(type) {
	case *netlink.Bond:
		one.Kind, one.Mode = network.Bond, kind.Mode.String()
	case *netlink.Vlan:
		one.Kind, one.Parent, one.ID = network.VLAN, names[a.ParentIndex], kind.VlanId
	default:
		// What software has made has no address that it was made with.
		if a.EncapType != "ether" || len(a.PermHWAddr) == 0 {
			return one, false
		}
		one.Kind, one.MAC = network.Port, a.PermHWAddr.String()
	}
	return one, true
}

// iffLowerUp is IFF_LOWER_UP (linux/if.h): there is a signal.
const iffLowerUp = 1 << 16

// States of a neighbour (linux/neighbour.h). In the others it was there once, or is being asked.
const (
	nudReachable = 0x02
	nudFailed    = 0x20
	nudPermanent = 0x80
	ntfUse       = 0x01
)

func gateways(names map[int]string) ([]network.Gateway, error) {
	list := []network.Gateway{}
	for _, family := range []int{netlink.FAMILY_V4, netlink.FAMILY_V6} {
		routes, err := netlink.RouteList(nil, family)
		if err != nil {
			return list, fmt.Errorf("the routes cannot be read: %w", err)
		}
		neighbours, err := netlink.NeighList(0, family)
		if err != nil {
			return list, fmt.Errorf("the neighbours cannot be read: %w", err)
		}
		for _, r := range routes {
			if r.Gw == nil || r.Dst != nil && !r.Dst.IP.IsUnspecified() {
				continue
			}
			one := network.Gateway{Address: r.Gw.String(), Interface: names[r.LinkIndex]}
			for _, n := range neighbours {
				if n.LinkIndex == r.LinkIndex && n.IP.Equal(r.Gw) {
					one.Answers = answers(n.State)
				}
			}
			if !slices.ContainsFunc(list, func(g network.Gateway) bool {
				return g.Address == one.Address && g.Interface == one.Interface
			}) {
				list = append(list, one)
			}
		}
	}
	return list, nil
}

func answers(state int) *bool {
	switch {
	case state&(nudReachable|nudPermanent) != 0:
		return new(true)
	case state&nudFailed != 0:
		return new(false)
	}
	return nil
}

// AskGateways has the kernel ask whether the gateways are there: whoever reads the network later knows.
func (l *Host) AskGateways(_ context.Context, s network.State) {
	for _, one := range s.Gateways {
		link, err := netlink.LinkByName(one.Interface)
		if err != nil {
			continue
		}
		// As 'ip neighbour replace ADDRESS dev INTERFACE use' does; nothing is sent by this process itself. What cannot be asked stays unknown.
		_ = netlink.NeighSet(&netlink.Neigh{LinkIndex: link.Attrs().Index, IP: net.ParseIP(one.Address), Flags: ntfUse})
	}
}

// resolver is what resolved has been told by all interfaces (resolv.conf(5)).
func resolver(path string) (servers, search []string) {
	servers, search = []string{}, []string{}
	text, err := os.ReadFile(path)
	if err != nil {
		return servers, search
	}
	for line := range strings.Lines(string(text)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "nameserver":
			servers = append(servers, f[1])
		case len(f) > 1 && f[0] == "search":
			for _, domain := range f[1:] {
				if domain != "." {
					search = append(search, domain)
				}
			}
		}
	}
	return servers, search
}
