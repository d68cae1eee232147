package tracer

// Counters: what the kernel counts anyway. A statistic is read once a second for all of its datasets.

import (
	"errors"
	"slices"
	"time"

	"cistern/services/trace/statistics"
)

// mode says what a reader's rows are.
type mode int

const (
	totals mode = iota // running totals: what was added is the difference
	levels             // as it stands
	events             // what there was since the last reading
)

// reader reads a statistic. elapsed is since it was read last, 0 the first time.
type reader struct {
	mode mode
	read func(elapsed time.Duration) ([]row, error)
}

// partition is a statistic and what splits it: where the kernel counts by mode and by process, but not by both, the
// breakdown or filter decides which of them is read.
type partition struct{ statistic, by string }

// splits are the breakdowns that are counted by themselves.
var splits = map[string][]string{"cpu.utilization": {"process", "user"}, "memory.bytes": {"process"}}

func partitionOf(d *statistics.Dataset) partition {
	p := partition{statistic: d.Statistic.Name}
	for _, by := range splits[p.statistic] {
		_, filtered := d.Filter(by)
		if filtered || d.By != nil && d.By.Name == by {
			p.by = "process"
		}
	}
	return p
}

// reading is what one reader found.
type reading struct {
	rows  []row
	ready bool // false: running totals were read for the first time
	users int
	took  time.Duration
	err   error
}

type openReader struct {
	reader
	deltas deltas
	read   bool
}

// errNotYet is a reader's answer while it has found nothing yet.
var errNotYet = errors.New("it is being read for the first time")

// counters are those that are read. For one goroutine.
type counters struct {
	open    map[partition]*openReader
	factory func(partition) reader
	// together calls what it is given, during which each source is read once for all.
	together func(func())
}

func newCounters(config Config) *counters {
	s := newSources(config)
	return &counters{open: map[partition]*openReader{}, factory: s.reader, together: s.together}
}

// read reads what active datasets need, and forgets what none needs any more.
func (c *counters) read(active []*dataset, elapsed time.Duration) (results map[partition]*reading) {
	c.together(func() { results = c.readAll(active, elapsed) })
	return results
}

func (c *counters) readAll(active []*dataset, elapsed time.Duration) map[partition]*reading {
	results := map[partition]*reading{}
	for _, d := range active {
		if d.Statistic.Source != statistics.Counter {
			continue
		}
		p := partitionOf(d.Dataset)
		if result := results[p]; result != nil {
			result.users++
			continue
		}
		o := c.open[p]
		if o == nil {
			o = &openReader{reader: c.factory(p)}
			c.open[p] = o
		}
		result, start := &reading{users: 1}, time.Now()
		since := elapsed
		if !o.read {
			since = 0
		}
		result.rows, result.err = o.reader.read(since)
		result.ready = o.read || o.mode == levels && !slices.Contains(needTwo, p.statistic)
		if errors.Is(result.err, errNotYet) {
			result.err, result.ready = nil, false
			results[p] = result
			continue
		}
		if result.err != nil {
			o.read, o.deltas = false, deltas{} // what was added meanwhile is not known
		} else {
			o.read = true
			if o.mode == totals {
				result.rows = o.deltas.of(result.rows)
			}
		}
		result.took = time.Since(start)
		results[p] = result
	}
	for p := range c.open {
		if results[p] == nil {
			delete(c.open, p)
		}
	}
	return results
}

// needTwo are levels that are differences.
var needTwo = []string{"cpu.utilization", "disk.utilization"}
