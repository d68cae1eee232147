// Package statistics declares what Cistern can measure of its own machine, and the language in which one asks for it:
// STAT[FILTER=VALUE]…[BREAKDOWN]. It parses, checks and writes such texts, and makes D programs of them. Nothing that
// somebody typed reaches the D compiler as text: names come from the catalogue, numbers are printed anew, and strings
// become literals of which every byte but letters and digits is an octal escape.
//
// Package tracer runs what is declared here.
package statistics

import (
	"fmt"
	"slices"
	"strings"
)

// Platform is an operating system that statistics have sources for.
type Platform string

// The platforms.
const (
	Linux   Platform = "linux"
	Illumos Platform = "illumos"
)

// Kind says what a value is.
type Kind string

const (
	// Amount is how much there was in one second: operations, bytes. Amounts of several values add up to the total.
	Amount Kind = "amount"
	// Level is how something stands at the end of a second: bytes of memory, percent.
	Level Kind = "level"
)

// Source is where a statistic comes from.
type Source string

const (
	// Counter statistics are read from the kernel's own counters, and cost nearly nothing.
	Counter Source = "counter"
	// DTrace statistics are traced, and cost something for each event.
	DTrace Source = "dtrace"
	// Log statistics come from the web server's log.
	Log Source = "log"
)

// Type says what the values of a breakdown are.
type Type int

const (
	// Text is any bytes but zero.
	Text Type = iota
	// Whole is a whole number, not negative.
	Whole
	// Choice is one of Breakdown.Values.
	Choice
	// Address is an IP address.
	Address
	// Named is a number that mostly has a name: a user, an error.
	Named
)

// Statistic is one thing that can be measured.
type Statistic struct {
	Name  string // GROUP.WHAT
	Title string
	Unit  string
	Kind  Kind
	// Check says when to look at it, Read how it is understood, Next which statistics to look at then.
	Check, Read string
	Next        []string
	Source      Source
	Cost        string // none, low, medium, high: see Statistic in docs/api/tracerd.md
	// Always are the breakdowns ("" is none) that are recorded from the start and cannot be switched off.
	Always     []string
	Breakdowns []Breakdown
	// Average is the breakdown of a level over which its values are averaged, not summed: of percents.
	Average string
	// Stacks says that what is kept are stacks, in memory only.
	Stacks bool
	// Programs are the sources of a traced statistic.
	Programs map[Platform]*Program
	// Missing says why a platform does not have it; absent: it has.
	Missing map[Platform]string
}

// Group is the first part of the name.
func (s *Statistic) Group() string {
	group, _, _ := strings.Cut(s.Name, ".")
	return group
}

// Metric is the name of the statistic's series.
func (s *Statistic) Metric() string { return "cistern_" + strings.ReplaceAll(s.Name, ".", "_") }

// AlwaysOn says whether any of it is recorded from the start.
func (s *Statistic) AlwaysOn() bool { return len(s.Always) > 0 }

// Reason says why p does not have the statistic; "" when it has.
func (s *Statistic) Reason(p Platform) string {
	if why := s.Missing[p]; why != "" {
		return why
	}
	if s.Source == DTrace && s.Programs[p] == nil {
		return fmt.Sprintf("There is no D program for %s yet.", p)
	}
	return ""
}

// Breakdown finds one by its name; nil when there is none.
func (s *Statistic) Breakdown(name string) *Breakdown {
	if i := slices.IndexFunc(s.Breakdowns, func(b Breakdown) bool { return b.Name == name }); i >= 0 {
		return &s.Breakdowns[i]
	}
	return nil
}

// Breakdown splits a statistic.
type Breakdown struct {
	Name, Title string
	Type        Type
	Values      []string // of a Choice; of others examples that are always there, or nothing
	// Distribution says that its values are measured and make one histogram a second, in Unit.
	Distribution bool
	Unit         string
	// Decades is the power of ten that makes Unit of the number a D program counts: -9 of nanoseconds.
	Decades int
	// FilterOnly breakdowns can only narrow, Unfilterable ones only split. A distribution never narrows.
	FilterOnly, Unfilterable bool
	// Codes are the names of the numbers that a D program knows the values by.
	Codes func(Platform) map[int64]string
}

// Filterable says whether it can narrow a statistic.
func (b *Breakdown) Filterable() bool { return !b.Distribution && !b.Unfilterable }

// Find is the statistic of that name; nil when there is none.
func Find(name string) *Statistic {
	i, found := slices.BinarySearchFunc(catalogue, name, func(s *Statistic, name string) int { return strings.Compare(s.Name, name) })
	if !found {
		return nil
	}
	return catalogue[i]
}

// All is the catalogue, by name. It is not to be changed.
func All() []*Statistic { return catalogue }

// catalogue is everything, put in order.
var catalogue = func() []*Statistic {
	var all []*Statistic
	for _, part := range [][]*Statistic{processors, disks, zfs, network, clients, machine, store} {
		all = append(all, part...)
	}
	slices.SortFunc(all, func(a, b *Statistic) int { return strings.Compare(a.Name, b.Name) })
	return all
}()
