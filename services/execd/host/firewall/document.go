// Package firewall is what may reach the machine from the network: one document for both operating systems, and what it means
// with the addresses that the machine has at the moment. How it is loaded is the business of each system's own folder.
package firewall

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

// Version is that of the document.
const Version = 1

// Own stands in a list of networks for those that the machine has an address in.
const Own = "own"

// HTTPS is the service that no document may leave out: without it nobody could open anything again.
const HTTPS = "https"

// Bounds of a document: what a person can still read, and a kernel takes at once.
const (
	mostServices = 64
	mostPorts    = 16
	mostNetworks = 100
)

// Document says who may reach which service. What it does not name is closed.
type Document struct {
	Version  int       `json:"version"`
	Services []Service `json:"services"`
}

// Service is something that listens.
type Service struct {
	Name string `json:"name"`
	// Ports that it listens at; none: it is off, and keeps its networks.
	Ports []Port `json:"ports"`
	// Networks that may reach it, as 192.0.2.0/24 and Own; none: everybody.
	Networks []string `json:"networks"`
}

// Port is one of a service.
type Port struct {
	Protocol string `json:"protocol"` // tcp or udp
	Port     uint16 `json:"port"`
}

func (p Port) String() string { return fmt.Sprintf("%d/%s", p.Port, p.Protocol) }

// Default holds when nothing else is known: the page for everybody, and what storaged listens at by itself for the machine's own
// networks.
func Default() Document {
	both := func(port uint16) []Port { return []Port{{"tcp", port}, {"udp", port}} }
	return Document{Version, []Service{
		{HTTPS, []Port{{"tcp", 80}, {"tcp", 443}}, []string{}},
		// Nothing listens there unless somebody has switched it on at the console.
		{"ssh", []Port{{"tcp", 22}}, []string{Own}},
		{"statsd", both(8125), []string{Own}},
		{"graphite", both(2003), []string{Own}},
	}}
}

var serviceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// Wrong is what is wrong with a document, and where; both empty: nothing.
func (d Document) Wrong() (path, message string) {
	if d.Version != Version {
		return "/version", fmt.Sprintf("The version is %d.", Version)
	}
	if len(d.Services) > mostServices {
		return "/services", fmt.Sprintf("There are at most %d services.", mostServices)
	}
	names, ports, https := map[string]bool{}, map[Port]string{}, false
	for i, s := range d.Services {
		at := fmt.Sprintf("/services/%d", i)
		if !serviceName.MatchString(s.Name) || names[s.Name] {
			return at + "/name", "A service's name is made of small letters, digits, - and _, and there is one of each."
		}
		names[s.Name] = true
		if len(s.Ports) > mostPorts {
			return at + "/ports", fmt.Sprintf("A service has at most %d ports.", mostPorts)
		}
		for j, p := range s.Ports {
			at := fmt.Sprintf("%s/ports/%d", at, j)
			if p.Protocol != "tcp" && p.Protocol != "udp" || p.Port == 0 {
				return at, "A port is a number from 1 on, of tcp or udp."
			}
			// The wider of two would be what holds for both.
			if other, taken := ports[p]; taken {
				return at, fmt.Sprintf("%s is that of %s already.", p, other)
			}
			ports[p] = s.Name
		}
		if len(s.Networks) > mostNetworks {
			return at + "/networks", fmt.Sprintf("A service has at most %d networks.", mostNetworks)
		}
		for j, text := range s.Networks {
			at := fmt.Sprintf("%s/networks/%d", at, j)
			if text == Own {
				continue
			}
			network, err := netip.ParsePrefix(text)
			switch {
			case err != nil:
				return at, fmt.Sprintf("'%s' is neither a network, as 192.0.2.0/24 or 2001:db8::/32, nor %s.", text, Own)
			case network.Addr().Is4In6():
				return at, fmt.Sprintf("'%s' is written as a network of IPv4.", text)
			case network != network.Masked():
				return at, fmt.Sprintf("'%s' is an address in a network: write %s for the network.", text, network.Masked())
			}
		}
		https = https || s.Name == HTTPS && slices.Contains(s.Ports, Port{"tcp", 443})
	}
	if !https {
		return "/services", "The service https with port 443 of tcp has to be there: without the page nobody could open anything again."
	}
	return "", ""
}

// Service finds one by its name.
func (d Document) Service(name string) (Service, bool) {
	at := slices.IndexFunc(d.Services, func(s Service) bool { return s.Name == name })
	if at < 0 {
		return Service{}, false
	}
	return d.Services[at], true
}
