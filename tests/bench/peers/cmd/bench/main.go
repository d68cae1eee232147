// bench runs Cistern and its peers side by side on the same work and writes what it found to a table. It is started by
// ./build.sh bench storaged, which builds what it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

type bench struct {
	tracker
	quick    bool
	repeats  int
	minutes  int    // of names; 0: its own
	temp     string // removed at the end
	peers    string // folder of the peers' programs
	modules  string // the peers' go.mod
	storaged string
	// storagedMore are further arguments of storaged, for trying things out.
	storagedMore []string
	journal      string // the journal's harness
	logs         string // the other logs' harness
	services     string // the folder of the Go services, for their own benchmarks
	node         string
	commit       string
	profile      string // where profiles go
	only         map[string]bool

	flagsOnce sync.Once
	flags     map[string]bool
}

// workloads in the order of the table. A workload may fill several sections.
var workloads = []struct {
	name  string
	limit time.Duration // of a full run
	run   func(ctx context.Context, b *bench, sections map[string]*section) error
	fills []string
}{
	{"remote-write", 40 * time.Minute, remoteWriteWorkload, []string{"remote-write"}},
	{"churn", 40 * time.Minute, churnWorkload, []string{"churn"}},
	{"histogram", 60 * time.Minute, histogramWorkload, []string{"histogram-ingest", "histogram-query"}},
	{"statsd", 45 * time.Minute, statsdWorkload, []string{"statsd"}},
	{"journal", 15 * time.Minute, journalWorkload, []string{"journal"}},
	{"histogram-micro", 10 * time.Minute, microWorkload, []string{"histogram-micro"}},
	{"clock", 5 * time.Minute, clockWorkload, []string{"clock"}},
	{"promql", 30 * time.Minute, promqlWorkload, []string{"promql"}},
	{"cardinality", 20 * time.Minute, cardinalityWorkload, []string{"cardinality"}},
	{"seconds", 30 * time.Minute, secondsWorkload, []string{"seconds"}},
	{"requests", 40 * time.Minute, requestsWorkload, []string{"requests"}},
	{"native", 30 * time.Minute, nativeWorkload, []string{"native"}},
	{"names", 90 * time.Minute, namesWorkload, []string{"names"}},
	{"growth", 60 * time.Minute, growthWorkload, []string{"growth"}},
	{"crash", 60 * time.Minute, crashWorkload, []string{"crash"}},
}

func sectionNames() (names []string) {
	for _, w := range workloads {
		names = append(names, w.fills...)
	}
	return names
}

func main() {
	// The other ends of the statsd workload are processes of their own, so that their CPU is their own too.
	for name, run := range map[string]func([]string) error{"udp-sender": udpSender, "udp-floor": udpFloor} {
		if len(os.Args) > 1 && os.Args[1] == name {
			if err := run(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			return
		}
	}
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() (err error) {
	b := &bench{only: map[string]bool{}}
	var only, results, temp, more string
	flag.BoolVar(&b.quick, "quick", false, "a tenth of the work, once")
	flag.StringVar(&only, "only", "", "`names` of the sections to run, with commas: "+strings.Join(sectionNames(), ", "))
	flag.IntVar(&b.repeats, "repeats", 0, "how often each system is measured (3; 1 with --quick)")
	flag.IntVar(&b.minutes, "minutes", 0, fmt.Sprintf("how long names come to each system in the section names (%d; %d with --quick)", namesMinutes, namesQuick))
	flag.StringVar(&b.profile, "profile", "", "`folder` for CPU profiles of storaged in remote-write and histogram-ingest")
	flag.StringVar(&b.storaged, "storaged", "", "storaged's `program`")
	flag.StringVar(&more, "storaged-flags", "", "more `flags` for storaged, with blanks")
	flag.StringVar(&b.peers, "peers", "", "`folder` of the peers' programs")
	flag.StringVar(&b.modules, "modules", "go.mod", "the peers' go.mod")
	flag.StringVar(&b.journal, "journal", "", "the journal's harness, a `program`")
	flag.StringVar(&b.logs, "logs", "", "the harness of the other logs, a `program`")
	flag.StringVar(&b.services, "services", "", "`folder` of the Go services")
	flag.StringVar(&b.node, "node", "node", "Node's `program`")
	flag.StringVar(&b.commit, "commit", "unknown", "what storaged was built from")
	flag.StringVar(&results, "results", "", "`file` that the sections are kept in")
	flag.StringVar(&temp, "temp", os.TempDir(), "`folder` for the servers' data, on the file system to be measured")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q is no flag", flag.Arg(0))
	}
	b.storagedMore = strings.Fields(more)
	for _, name := range strings.FieldsFunc(only, func(r rune) bool { return r == ',' || r == ' ' }) {
		if !slices.Contains(sectionNames(), name) {
			return fmt.Errorf("there is no section %q; there are %s", name, strings.Join(sectionNames(), ", "))
		}
		b.only[name] = true
	}
	if b.repeats == 0 {
		b.repeats = 3
		if b.quick {
			b.repeats = 1
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	unlock, err := b.alone(ctx, temp)
	if err != nil {
		return err
	}
	defer unlock()
	if b.temp, err = os.MkdirTemp(temp, tempPrefix); err != nil {
		return err
	}
	defer func() {
		b.killAll()
		err = errors.Join(err, os.RemoveAll(b.temp))
	}()
	machine := b.machine()
	fmt.Print(machine, "\n")
	failed := 0
	for _, w := range workloads {
		sections := map[string]*section{}
		for _, name := range w.fills {
			if len(b.only) == 0 || b.only[name] {
				sections[name] = &section{name: name, quick: b.quick, began: time.Now(), commit: b.commit, systems: []string{cistern, victoria, prometheus}}
			}
		}
		if len(sections) == 0 || ctx.Err() != nil {
			continue
		}
		began := time.Now()
		b.say("%s", w.name)
		err := b.guarded(ctx, w.limit, func(ctx context.Context) error { return w.run(ctx, b, sections) })
		b.killAll()
		for _, name := range w.fills {
			s := sections[name]
			if s == nil {
				continue
			}
			s.took = time.Since(began)
			if err != nil {
				s.fail("the workload", err)
			}
			failed += len(s.failed)
			s.write(os.Stdout)
			if results != "" && ctx.Err() == nil { // what was stopped is no result
				if err := keep(results, machine, sectionNames(), s); err != nil {
					return err
				}
			}
		}
	}
	if ctx.Err() != nil {
		return errors.New("stopped")
	}
	if failed > 0 {
		return fmt.Errorf("%d parts failed; the tables say which", failed)
	}
	return nil
}

// guarded runs a workload within its time, and turns a panic into an error: the others are to run all the same.
func (b *bench) guarded(ctx context.Context, limit time.Duration, run func(context.Context) error) (err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it took more than %v", limit))
	defer cancel()
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("%v\n%s", broken, debug.Stack())
		}
	}()
	if err = run(ctx); err != nil && ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return err
}

// say reports progress beside the tables.
func (b *bench) say(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, time.Now().Format("15:04:05")+"  "+format+"\n", arguments...)
}

const tempPrefix = "cistern-bench-"

// alone makes sure that one bench runs at a time: two would measure each other. It waits for the other one, within
// bounds. Whoever has the lock also removes what a killed one left.
func (b *bench) alone(ctx context.Context, temp string) (unlock func(), err error) {
	lock, err := os.OpenFile(filepath.Join(temp, ".cistern-bench.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for began, told := time.Now(), false; ; {
		if err = syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			break
		}
		if !told {
			told = true
			b.say("another bench is running (%s is locked): waiting for it", lock.Name())
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
		if ctx.Err() != nil || time.Since(began) > time.Hour {
			lock.Close()
			return nil, fmt.Errorf("another bench is running (%s is locked): %w", lock.Name(), err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(temp, tempPrefix+"*"))
	for _, folder := range left {
		_ = os.RemoveAll(folder)
	}
	return func() { lock.Close() }, nil
}

// scaled is n, or a tenth of it in a quick run.
func (b *bench) scaled(n int) int {
	if b.quick {
		return n / 10
	}
	return n
}

// each runs one measurement of every system, repeatedly and in turns, so that what disturbs the machine disturbs all.
func (b *bench) each(ctx context.Context, s *section, systems []string, repeats int, measure func(ctx context.Context, system string) error) {
	for round := range repeats {
		for i := range systems {
			system := systems[(i+round)%len(systems)]
			if ctx.Err() != nil {
				return
			}
			b.say("%s: %s, run %d of %d", s.name, system, round+1, repeats)
			if err := measure(ctx, system); err != nil {
				s.fail(system, err)
			}
		}
	}
}
