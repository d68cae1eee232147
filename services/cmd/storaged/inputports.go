package main

// The ports of inputs, as they are set while storaged runs.

import (
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// reservedPorts belong to other parts of the appliance, also while these are off.
var reservedPorts = map[int]string{22: "ssh", 80: "the pages", 161: "SNMP", 443: "the pages", 8022: "replication", 9443: "programs with a certificate"}

// inputPort is one address that an input listens on, where the settings have it.
type inputPort struct {
	set      func(i *inputSettings) *int
	address  func(c *config) *string
	key      string // as it is set
	standard string // where it listens when the file of settings has no address, and the input is switched on; "" for nowhere
	udp, tcp bool
	mayBeOff bool // 0 closes it, and the rest of the input goes on
}

func mainPort(i *inputSettings) *int   { return i.Port }
func picklePort(i *inputSettings) *int { return i.PicklePort }
func tlsPort(i *inputSettings) *int    { return i.TLSPort }

// inputPorts are those of each input that has any.
var inputPorts = map[string][]inputPort{
	"statsd": {{set: mainPort, key: "port", address: func(c *config) *string { return &c.Statsd.Address }, standard: ":8125", udp: true, tcp: true},
		{set: tlsPort, key: "tlsPort", address: func(c *config) *string { return &c.Statsd.TLSAddress }, tcp: true, mayBeOff: true}},
	"graphite": {
		{set: mainPort, key: "port", address: func(c *config) *string { return &c.Graphite.Address }, standard: ":2003", udp: true, tcp: true},
		{set: picklePort, key: "picklePort", address: func(c *config) *string { return &c.Graphite.PickleAddress }, tcp: true, mayBeOff: true},
		{set: tlsPort, key: "tlsPort", address: func(c *config) *string { return &c.Graphite.TLSAddress }, tcp: true, mayBeOff: true},
	},
	"collectd": {{set: mainPort, key: "port", address: func(c *config) *string { return &c.Collectd.Address }, standard: ":25826", udp: true}},
	"influx_socket": {{set: mainPort, key: "port", address: func(c *config) *string { return &c.InfluxSocket.Address }, standard: ":8089", udp: true, tcp: true},
		{set: tlsPort, key: "tlsPort", address: func(c *config) *string { return &c.InfluxSocket.TLSAddress }, tcp: true, mayBeOff: true}},
	"otlp": {{set: mainPort, key: "port", address: func(c *config) *string { return &c.OTLP.GRPCAddress }, tcp: true, mayBeOff: true}},
}

// checkPorts says which port of an input cannot be.
func (i *inputSettings) checkPorts(name string) error {
	byTLS := i.TLSPort != nil && *i.TLSPort > 0 // then it may do without the others
	for key, port := range map[string]*int{"port": i.Port, "picklePort": i.PicklePort, "tlsPort": i.TLSPort} {
		if port == nil {
			continue
		}
		at := slices.IndexFunc(inputPorts[name], func(one inputPort) bool { return one.key == key })
		switch {
		case at < 0:
			return fmt.Errorf("%s has no %s that could be set", name, key)
		case *port == 0 && !inputPorts[name][at].mayBeOff && !byTLS:
			return fmt.Errorf("%s.%s must be from 1 to 65535: to close it, switch the input off, or give it a port for TLS", name, key)
		case *port < 0 || *port > 65535:
			return fmt.Errorf("%s.%s must be from 1 to 65535", name, key)
		case reservedPorts[*port] != "":
			return fmt.Errorf("%s.%s cannot be %d, which belongs to %s: choose another one", name, key, *port, reservedPorts[*port])
		}
	}
	return nil
}

// at are the settings with what was set of the inputs in its place: c is not changed.
func (c *config) at(all map[string]inputSettings) *config {
	placed := *c
	for _, in := range inputs {
		one := all[in.name]
		own := in.settings(&placed)
		durability := own.Durability
		*own = *one.config()
		own.Durability = durability
		if t := placed.tls(in.name); t != nil && one.TLSClientCA != nil {
			t.TLSClientCA = *one.TLSClientCA
		}
		listens := in.name == "statsd" && c.Statsd.Socket != "" || in.name == "graphite" && c.Graphite.PickleAddress != ""
		for _, port := range inputPorts[in.name] {
			address := port.address(&placed)
			number := port.set(&one)
			switch {
			case number == nil && *address == "" && one.Enabled && !listens:
				*address = port.standard
			case number != nil && *number == 0:
				*address = ""
			case number != nil:
				beside := *address
				if beside == "" { // what is opened anew is reached where its input is
					beside = *inputPorts[in.name][0].address(c)
				}
				host, _, _ := net.SplitHostPort(beside)
				*address = net.JoinHostPort(host, strconv.Itoa(*number))
			}
		}
	}
	return &placed
}

// doors are the addresses of an input, and whom it lets in by TLS: another one is opened anew, without those who are connected.
func (c *config) doors(name string) string {
	all := c.places(name)
	if t := c.tls(name); t != nil && t.TLSAddress != "" {
		all += "\n" + t.TLSClientCA
	}
	return all
}

// places are the addresses of an input.
func (c *config) places(name string) string {
	var all []string
	for _, port := range inputPorts[name] {
		all = append(all, *port.address(c))
	}
	return strings.Join(all, " ")
}

// free says why one of the ports that an input is to have cannot be listened on. Those in mine are storaged's now, and are
// left before the new ones are opened.
func (c *config) free(name string, mine map[string]bool) error {
	for _, port := range inputPorts[name] {
		address := *port.address(c)
		if _, number, _ := net.SplitHostPort(address); address == "" || mine[number] {
			continue
		}
		var opened []io.Closer
		var failed error
		if port.tcp {
			tcp, err := net.Listen("tcp", address)
			if err == nil {
				opened = append(opened, tcp)
			}
			failed = errors.Join(failed, err)
		}
		if port.udp {
			udp, err := net.ListenPacket("udp", address)
			if err == nil {
				opened = append(opened, udp)
			}
			failed = errors.Join(failed, err)
		}
		for _, one := range opened {
			_ = one.Close()
		}
		if failed != nil {
			return inputFailed(name, failed)
		}
	}
	return nil
}

// inputFailed says of what kept an input from listening what can be done about it.
func inputFailed(name string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("the port for %s is in use by another program, or by another input: choose another one (%w)", name, err)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("the port for %s is one of those below 1024, which only the system's own services may use: choose one from 1024 on (%w)", name, err)
	}
	return err
}
