// Package kstat reads illumos' kernel statistics by its kstat(8): what it prints, and what Cistern asks it for.
//
// The program is started for each reading. There is no library for Go without cgo, /dev/kstat's own interface is private,
// and one that prints every second by itself drifts against whoever takes the seconds. A reading takes some milliseconds:
// the program reads the kstats whose module OR name a selector matches (kstat.c, ks_instances_read), and sorts them in a
// list, so that no selector may leave out the module or ask for any name of a large one. Names of links are free:
// they are looked up once a minute, and asked for one by one.
//
// Written after kstat(8) and usr/src/cmd/stat/kstat/kstat.c of illumos-gate; not run on illumos yet.
package kstat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/platform/command"
)

// Stat is one kstat: module:instance:name, its class, and those of its statistics that are numbers. Times are seconds.
type Stat struct {
	Module   string
	Instance int
	Name     string
	Class    string
	Values   map[string]float64
}

// Snapshot is one reading, in the order in which it was printed.
type Snapshot struct {
	At    time.Time
	Stats []*Stat
}

// Find returns a kstat; nil when it was not printed.
func (s *Snapshot) Find(module string, instance int, name string) *Stat {
	i := slices.IndexFunc(s.Stats, func(one *Stat) bool {
		return one.Module == module && one.Instance == instance && one.Name == name
	})
	if i < 0 {
		return nil
	}
	return s.Stats[i]
}

// Parse reads what `kstat -p` prints: lines of module:instance:name:statistic, a tab, and the value. Only the name may
// have colons in it. A line of another form is an error that shows it.
func Parse(text string) ([]*Stat, error) {
	var list []*Stat
	var last string
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "\t")
		module, rest, ok1 := strings.Cut(key, ":")
		number, rest, ok2 := strings.Cut(rest, ":")
		at := strings.LastIndexByte(rest, ':')
		instance, err := strconv.Atoi(number)
		if !ok || !ok1 || !ok2 || at < 0 || err != nil {
			return nil, fmt.Errorf("kstat printed a line that cannot be read: %.100q", line)
		}
		name, statistic := rest[:at], rest[at+1:]
		if whole := key[:len(key)-len(statistic)]; whole != last || len(list) == 0 {
			list = append(list, &Stat{Module: module, Instance: instance, Name: name, Values: map[string]float64{}})
			last = whole
		}
		one := list[len(list)-1]
		if statistic == "class" {
			one.Class = value
		} else if v, err := strconv.ParseFloat(value, 64); err == nil {
			one.Values[statistic] = v
		}
	}
	return list, nil
}

// selectors are what is read each second, but for links. Partitions (sd0,a) are left out.
var selectors = []string{
	"cpu::sys", "unix:0:system_pages", "unix:0:system_misc", "zfs:0:arcstats",
	"sd::/^sd[0-9]+$/", "blkdev::/^blkdev[0-9]+$/", "cmdk::/^cmdk[0-9]+$/",
}

const (
	program  = "/usr/bin/kstat"
	deadline = 900 * time.Millisecond // of a second
	most     = 4 << 20
	// fresh is how long a reading serves whoever asks: all statistics of one second.
	fresh = 500 * time.Millisecond
	// again is how often links are looked up.
	again = time.Minute
)

// Reader reads; it may be used by several goroutines. The zero value is ready.
type Reader struct {
	// Program is another kstat, for tests.
	Program string
	// within is another deadline, for tests on a machine that is busy.
	within time.Duration

	mu     sync.Mutex
	latest *Snapshot
	err    error
	asked  time.Time

	links   []string // guarded by linksMu
	linksMu sync.Mutex
	looking bool
	looked  time.Time
}

// Read returns what there is now, or was within the last half a second. An error names the program and what it said.
func (r *Reader) Read() (*Snapshot, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if time.Since(r.asked) < fresh {
		return r.latest, r.err
	}
	arguments := slices.Clone(selectors)
	for _, name := range r.knownLinks() {
		arguments = append(arguments, "link:0:"+name)
	}
	stats, err := r.run(cmp.Or(r.within, deadline), arguments...)
	r.asked, r.err, r.latest = time.Now(), err, nil
	if err == nil {
		r.latest = &Snapshot{At: r.asked, Stats: stats}
	}
	return r.latest, r.err
}

// run starts kstat once. It exits with 1 when nothing matched, which of ours cannot be.
func (r *Reader) run(deadline time.Duration, selectors ...string) ([]*Stat, error) {
	name := r.Program
	if name == "" {
		name = program
	}
	result, err := command.Run(context.Background(), deadline, most, append([]string{name, "-p"}, selectors...)...)
	switch {
	case err != nil:
		return nil, err
	case result.Cut:
		return nil, errors.New("kstat printed more than 4 MiB")
	}
	return Parse(string(result.Stdout))
}

// linkName: no pattern, and none of the characters that a selector is made of.
var linkName = regexp.MustCompile(`^[A-Za-z0-9_.]+$`)

// knownLinks are those of the last look; one is begun beside when it is time, for it reads every kstat there is.
func (r *Reader) knownLinks() []string {
	r.linksMu.Lock()
	defer r.linksMu.Unlock()
	if !r.looking && (r.looked.IsZero() || time.Since(r.looked) >= again) {
		r.looking = true
		go r.look()
	}
	return slices.Clone(r.links)
}

func (r *Reader) look() {
	stats, err := r.run(10*time.Second, "link:::rbytes64")
	var names []string
	for _, one := range stats {
		if one.Module == "link" && one.Instance == 0 && linkName.MatchString(one.Name) {
			names = append(names, one.Name)
		}
	}
	slices.Sort(names)
	r.linksMu.Lock()
	defer r.linksMu.Unlock()
	r.looking, r.looked = false, time.Now()
	if err == nil { // else those that were known: without a link kstat ends with 1
		r.links = slices.Compact(names)
	}
}
