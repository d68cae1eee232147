// Package hoststats reads what the machine itself is doing: processors, memory, network, disks; once a second, as
// series named cistern_host_*: on Linux out of /proc, on illumos out of kstats.
package hoststats

// What is read is the operating system's, in proc_linux.go and kstats.go. Whoever stores readings converts them.

// Label is one label of a reading.
type Label struct{ Name, Value string }

// Kind is what a figure's values mean.
type Kind int

const (
	// Gauge goes up and down.
	Gauge Kind = iota + 1
	// Counter only grows, until the machine or the device starts anew.
	Counter
)

func (k Kind) String() string {
	switch k {
	case Gauge:
		return "gauge"
	case Counter:
		return "counter"
	}
	return "unknown"
}

// Reading is one figure.
type Reading struct {
	Name   string
	Labels []Label // without the name
	Kind   Kind
	Value  float64
}

// Collector reads; for one goroutine. It remembers what shares of time need.
type Collector struct {
	root string // of /proc, for tests
	last map[string]float64
}

// New makes a collector of this machine.
func New() *Collector { return &Collector{root: "/proc", last: map[string]float64{}} }

func gauge(name string, value float64, labels ...Label) Reading {
	return Reading{name, labels, Gauge, value}
}

func counter(name string, value float64, labels ...Label) Reading {
	return Reading{name, labels, Counter, value}
}
