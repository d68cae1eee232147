// Package tracer measures what statistics declares: it reads counters, listens to the web server's log, runs dtrace,
// and sends what each second brought to storaged. What it promises:
//
//   - A dataset that is measured writes its total every second, 0 included. Where a total is missing nothing was
//     measured: a gap is never a zero.
//   - No point is there twice and no amount is negative, whatever the clock does.
//   - What is recorded goes on after a restart; what somebody only looks at ends by itself.
//   - A tracer that dies, hangs or prints nonsense is started again, later each time; one that costs more than its
//     budget is suspended, which its state shows.
package tracer

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"cistern/services/trace/statistics"
)

// State is what a dataset does.
type State string

// The states.
const (
	Starting  State = "starting"  // dtrace compiles
	Recording State = "recording" // seconds are measured
	Suspended State = "suspended" // by somebody, or for its cost
	Failed    State = "failed"    // it is tried again
	Stopped   State = "stopped"   // nobody looks at it
)

// Config is where things are, and limits. Zero values of limits are replaced by defaults.
type Config struct {
	State    string // folder of what is recorded
	Run      string // folder of sockets and D programs
	Storaged string // storaged's socket
	DTrace   string // path of dtrace; "" or missing: nothing is traced
	// Launcher starts dtrace where this process may not; nil: it may.
	Launcher *Launcher
	Root     string // of /proc and /sys, for tests
	ZPool    string // path of zpool
	Kstat    string // path of kstat, illumos; empty: where it is
	// Budget is how much of a processor one tracer may take over a minute (0.25).
	Budget float64
	// MaxDatasets that somebody asked for at once (64), MaxTraced of them by dtrace (16).
	MaxDatasets, MaxTraced int
	Log                    *slog.Logger // nothing is logged
	timing                 timing
}

const (
	leaseFor = 30 * time.Second
	// forgetAfter is how long a dataset that nobody looks at any more is listed.
	forgetAfter = 10 * time.Minute
	maxRuns     = 2
	stackMemory = 600 // seconds
)

// dataset is one that is or was measured. Tracer.mu guards it.
type dataset struct {
	*statistics.Dataset
	name       string
	state      State
	since      time.Time // of the state
	reason     string
	recorded   bool // until it is switched off
	always     bool
	suspended  bool
	overBudget bool      // suspended because tracing took too much, not by somebody
	lease      time.Time // until when somebody looks at it
	writer     *writer
	samples    uint64
	drops      uint64
	restarts   uint64
	cost       costMeter

	// Of traced ones.
	run      *run // whose seconds are taken
	index    int
	next     *run // that is to take over
	failures int
	retry    time.Time
	alone    bool // a program with others did not start: it is tried by itself
	stacks   *stackMemoryOf
}

func (d *dataset) wanted(now time.Time) bool {
	return !d.suspended && (d.recorded || d.always || now.Before(d.lease))
}

func (d *dataset) set(state State, reason string, now time.Time) {
	if d.state != state {
		d.since = now
	}
	d.state, d.reason = state, reason
}

// Tracer is all of it.
type Tracer struct {
	config   Config
	sender   *sender
	starter  *starter
	counters *counters
	web      *weblog
	now      func() time.Time

	mu       sync.Mutex
	datasets map[string]*dataset
	runs     []*liveRun
	together time.Time // when tracers may be put together again
	wake     chan struct{}
	closing  bool
	ended    sync.WaitGroup // runs
}

// New makes a tracer and reads what is recorded.
func New(config Config) (*Tracer, error) {
	if config.Budget == 0 {
		config.Budget = 0.25
	}
	if config.MaxDatasets == 0 {
		config.MaxDatasets = 64
	}
	if config.MaxTraced == 0 {
		config.MaxTraced = 16
	}
	if config.Root == "" {
		config.Root = "/"
	}
	if config.timing == (timing{}) {
		config.timing = timing{startTimeout, hangTimeout, stopTimeout}
	}
	if config.Log == nil {
		config.Log = slog.New(slog.DiscardHandler)
	}
	t := &Tracer{config: config, now: time.Now, datasets: map[string]*dataset{}, wake: make(chan struct{}, 1)}
	t.sender = newSender(config.Storaged, config.Log)
	t.starter = &starter{program: config.DTrace, dir: config.Run, launcher: config.Launcher, log: config.Log, timing: config.timing}
	t.counters = newCounters(config)
	t.web = &weblog{}
	for _, s := range statistics.All() {
		for _, by := range s.Always {
			if t.unavailable(s) != "" {
				continue
			}
			text := s.Name
			if by != "" {
				text += "[" + by + "]"
			}
			d, err := statistics.Parse(text)
			if err != nil {
				return nil, err
			}
			t.add(d).always = true
		}
	}
	return t, t.load()
}

// unavailable says why a statistic cannot be measured here; "" when it can.
func (t *Tracer) unavailable(s *statistics.Statistic) string {
	if reason := s.Reason(platform); reason != "" {
		return reason
	}
	if s.Source == statistics.DTrace {
		if t.config.DTrace == "" {
			return "There is no dtrace on this system."
		}
		if _, err := os.Stat(t.config.DTrace); err != nil {
			return "There is no dtrace on this system: " + err.Error() + "."
		}
	}
	return ""
}

// add makes a dataset, or finds it.
func (t *Tracer) add(d *statistics.Dataset) *dataset {
	name := d.String()
	if found := t.datasets[name]; found != nil {
		return found
	}
	made := &dataset{Dataset: d, name: name, state: Stopped, since: t.now(), always: d.IsAlways()}
	made.writer = newWriter(d, func(n int) { t.lost(made, n) })
	if d.Statistic.Stacks {
		made.stacks = &stackMemoryOf{}
	}
	t.datasets[name] = made
	return made
}

// lost counts samples that were not stored. It is called without the lock.
func (t *Tracer) lost(d *dataset, n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d.drops += uint64(n)
}

// Run measures until ctx ends, then ends what runs and marks the series as ended.
func (t *Tracer) Run(ctx context.Context) {
	sending, stopSending := context.WithCancel(context.Background())
	sent := make(chan struct{})
	go func() { defer close(sent); t.sender.run(sending) }()
	last := time.Time{}
	for {
		now := t.now()
		next := now.Truncate(time.Second).Add(time.Second)
		timer := time.NewTimer(next.Sub(now))
		select {
		case <-ctx.Done():
			timer.Stop()
			t.close()
			stopSending()
			select {
			case <-sent:
				// What is measured already, and that it ends, is worth one more try.
				deadline, cancel := context.WithTimeout(context.Background(), 3*time.Second)
				t.sender.flush(deadline)
				cancel()
			case <-time.After(5 * time.Second):
			}
			return
		case <-t.wake:
			timer.Stop()
			// Datasets that are opened together share a tracer: wait for the others of the page.
			pause(ctx, 300*time.Millisecond)
			t.mu.Lock()
			t.schedule(t.now())
			t.mu.Unlock()
			continue
		case <-timer.C:
		}
		now = t.now()
		elapsed := time.Second
		if !last.IsZero() {
			elapsed = now.Sub(last) // by the monotonic clock: what the wall clock does is of no account
		}
		last = now
		t.tick(now, elapsed)
	}
}

func (t *Tracer) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

func (t *Tracer) close() {
	t.mu.Lock()
	t.closing = true
	var samples []sample
	for _, d := range t.datasets {
		samples = append(samples, d.writer.end()...)
	}
	for _, r := range t.runs {
		r.stop(2 * time.Second)
	}
	t.mu.Unlock()
	t.sender.put(samples)
	t.ended.Wait()
}

// tick does what is due each second: counters and the log are read, leases end, tracers are started and stopped.
func (t *Tracer) tick(now time.Time, elapsed time.Duration) {
	t.mu.Lock()
	var active []*dataset
	for _, d := range t.datasets {
		if d.Statistic.Source != statistics.DTrace && d.wanted(now) {
			active = append(active, d)
		}
	}
	t.mu.Unlock()

	// The seconds that this reading is about: mostly one, the one that has just ended.
	end := now.Round(time.Second).UnixMilli()
	missed := int(min(max((elapsed+time.Second/2)/time.Second, 1), 5))
	results := t.read(active, elapsed)

	t.mu.Lock()
	var samples []sample
	for _, result := range results {
		d := result.dataset
		if d.suspended {
			continue
		}
		d.cost.add(now, result.took)
		if result.err != nil {
			if d.state == Recording {
				samples = append(samples, d.writer.end()...)
			}
			d.set(Failed, result.err.Error(), now)
			continue
		}
		if !result.ready { // the first reading of running totals
			if d.state != Recording {
				d.set(Starting, "", now)
			}
			continue
		}
		d.set(Recording, "", now)
		n := 1
		if d.Statistic.Kind == statistics.Amount {
			n = missed
		}
		for i, s := range parts(result.second, n) {
			s.time = end - int64(n-i)*1000
			samples = append(samples, t.write(d, s)...)
		}
	}
	samples = append(samples, t.expire(now)...)
	t.schedule(now)
	samples = append(samples, t.watchCost(now)...)
	t.sender.several.Store(len(t.runs) > 0)
	t.mu.Unlock()
	t.sender.put(samples)
}

// write makes samples of a second.
func (t *Tracer) write(d *dataset, s second) []sample {
	list, ok := d.writer.write(s)
	if !ok {
		d.drops++
		// Only a leap of more than a second is the clock's; tell until it is over.
		if d.writer.last-s.time > 2000 {
			d.reason = fmt.Sprintf("The clock was set back. Recording goes on at %s: no second is recorded twice.", time.UnixMilli(d.writer.last+1000).UTC().Format(time.RFC3339))
		}
		return nil
	}
	d.samples += uint64(len(list))
	return list
}

type result struct {
	dataset *dataset
	second  second
	ready   bool
	took    time.Duration
	err     error
}

// read makes the seconds of datasets that are not traced.
func (t *Tracer) read(active []*dataset, elapsed time.Duration) (results []result) {
	requests, requestsLost := t.web.take()
	readings := t.counters.read(active, elapsed)
	for _, d := range active {
		start := time.Now()
		r := result{dataset: d, ready: true}
		if d.Statistic.Source == statistics.Log {
			rows := requests
			if d.Statistic.Unit == "bytes" {
				rows = make([]row, len(requests))
				for i, one := range requests {
					one.value = one.number[5] // the size
					rows[i] = one
				}
			}
			if requestsLost > 0 {
				t.lost(d, requestsLost)
			}
			r.second = aggregate(d.Dataset, rows)
		} else {
			reading := readings[partitionOf(d.Dataset)]
			r.err, r.ready = reading.err, reading.ready
			if r.err == nil && r.ready {
				r.second = aggregate(d.Dataset, reading.rows)
			}
			r.took = reading.took / time.Duration(max(reading.users, 1))
		}
		r.took += time.Since(start)
		results = append(results, r)
	}
	return results
}

// expire ends what nobody wants any more.
func (t *Tracer) expire(now time.Time) (samples []sample) {
	for name, d := range t.datasets {
		switch {
		case d.wanted(now):
		case d.suspended:
			if d.state != Suspended {
				samples = append(samples, d.writer.end()...)
				d.run, d.next = nil, nil
				d.set(Suspended, d.reason, now)
			}
		case d.state != Stopped:
			samples = append(samples, d.writer.end()...)
			d.run, d.next, d.failures, d.alone, d.retry = nil, nil, 0, false, time.Time{}
			d.set(Stopped, "Nobody looks at it.", now)
		case now.Sub(d.since) > forgetAfter:
			delete(t.datasets, name)
		}
	}
	return samples
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
