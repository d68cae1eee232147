package main

// What is set of single senders of an input: what each is called as a host, and who is refused.

import (
	"fmt"
	"slices"
	"strings"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

// maxSingle is how many senders of an input may have names, and how many may be refused.
const maxSingle = 1000

// withoutHosts are the inputs whose senders often name no host.
var withoutHosts = []string{"statsd", "graphite", "influx_socket"}

// hostName is by which name what an address sends is known.
type hostName struct {
	Address senders.Place `json:"address"`
	Name    string        `json:"name"`
}

func (i *inputSettings) senders(own *senders.Own) senders.Options {
	o := i.config().senders(own)
	o.SenderIsHost, o.HostNames, o.RefusedSenders = i.SenderIsHost, map[senders.Place]string{}, map[senders.Place]bool{}
	for _, one := range i.HostNames {
		o.HostNames[one.Address] = one.Name
	}
	for _, one := range i.RefusedSenders {
		o.RefusedSenders[one] = true
	}
	return o
}

// checkSingle says what is wrong with what is set of single senders.
func (i *inputSettings) checkSingle(name string) error {
	if (i.SenderIsHost || len(i.HostNames) > 0) && !slices.Contains(withoutHosts, name) {
		return fmt.Errorf("%s has no senderIsHost and no hostNames that could be set", name)
	}
	if n := max(len(i.HostNames), len(i.RefusedSenders)); n > maxSingle {
		return fmt.Errorf("%s has %d senders with names or refused ones, %d is the limit", name, n, maxSingle)
	}
	known := map[senders.Place]bool{}
	for _, one := range i.HostNames {
		address, _ := one.Address.MarshalText()
		if known[one.Address] {
			return fmt.Errorf("%s has two names of %s", name, address)
		}
		known[one.Address] = true
		if _, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "x"}, {Name: senders.HostLabel, Value: one.Name}}); err != nil {
			return fmt.Errorf("%s: the name of %s: %w", name, address, err)
		}
		if strings.TrimSpace(one.Name) == "" {
			return fmt.Errorf("%s: the name of %s is empty", name, address)
		}
	}
	return nil
}
