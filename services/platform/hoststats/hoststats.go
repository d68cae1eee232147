// Package hoststats reads what the machine itself is doing: processors, memory, network, disks; once a second, as
// series named cistern_host_*: on Linux out of /proc, on illumos out of kstats.
package hoststats

// Reading and making samples; what is read is the operating system's, in proc_linux.go and kstats.go.

import "cistern/services/store/tsdb"

// Reading is one figure.
type Reading struct {
	Name   string
	Labels []tsdb.Label // without the name
	Kind   tsdb.Kind
	Value  float64
}

// Collector reads; for one goroutine. It remembers what shares of time need.
type Collector struct {
	root string // of /proc, for tests
	last map[string]float64
	keys map[string][]byte
}

// New makes a collector of this machine.
func New() *Collector {
	return &Collector{root: "/proc", last: map[string]float64{}, keys: map[string][]byte{}}
}

// Samples reads everything and makes samples of time ms.
func (c *Collector) Samples(ms int64) []tsdb.Sample {
	return c.Convert(c.Read(), ms)
}

// Convert makes samples of readings; keys are made once.
func (c *Collector) Convert(readings []Reading, ms int64) []tsdb.Sample {
	samples := make([]tsdb.Sample, 0, len(readings))
	for _, r := range readings {
		id := r.Name
		for _, l := range r.Labels {
			id += "\x00" + l.Name + "\x00" + l.Value
		}
		key := c.keys[id]
		if key == nil {
			labels := append([]tsdb.Label{{Name: tsdb.NameLabel, Value: r.Name}}, r.Labels...)
			made, err := tsdb.AppendKey(nil, labels)
			if err != nil {
				continue // a device with a name that no label can hold
			}
			if len(c.keys) > 10_000 { // devices that come and go
				clear(c.keys)
			}
			key, c.keys[id] = made, made
		}
		samples = append(samples, tsdb.Sample{Key: key, Kind: r.Kind, Time: ms, Value: r.Value})
	}
	return samples
}

func gauge(name string, value float64, labels ...tsdb.Label) Reading {
	return Reading{name, labels, tsdb.Gauge, value}
}

func counter(name string, value float64, labels ...tsdb.Label) Reading {
	return Reading{name, labels, tsdb.Counter, value}
}
