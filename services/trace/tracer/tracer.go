// Package tracer measures what statistics declares: it reads counters, listens to the web server's log, runs dtrace,
// and sends what each second brought to storaged. What it promises:
//
//   - A dataset that is measured writes its total every second, 0 included. Where a total is missing nothing was
//     measured: a gap is never a zero.
//   - No point is there twice and no amount is negative, whatever the clock does.
//   - What is recorded goes on after a restart; what somebody only looks at ends by itself.
//   - A tracer that dies, hangs or prints nonsense is started again, later each time; one that costs more than its
//     budget is suspended and says so.
package tracer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cistern/services/daemon/problem"
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
	UID      int    // as whom dtrace runs; -1: as this process
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
	launcher *launcher
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

// liveRun is a run and what the tracer knows of it.
type liveRun struct {
	*run
	datasets []*dataset
	ready    bool
	lastMs   int64 // the second that was given out last
	meter    cpuMeter
	probes   time.Duration // what its probes have taken of those who ran into them
	probedAt time.Time
	wasteful time.Time // since when most of what it traces is wanted by nobody
	over     bool
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
	t.launcher = &launcher{program: config.DTrace, dir: config.Run, uid: config.UID, log: config.Log, timing: config.timing}
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

// schedule starts tracers for datasets that have none and stops those that nobody wants. Datasets that wait are started
// together. Rather than a third one beside two that run, one for all of them is started, which takes over when it is
// ready.
func (t *Tracer) schedule(now time.Time) {
	if t.closing {
		return
	}
	var waiting, traced []*dataset
	for _, name := range sortedKeys(t.datasets) {
		d := t.datasets[name]
		if d.Statistic.Source != statistics.DTrace || !d.wanted(now) {
			continue
		}
		traced = append(traced, d)
		if d.run == nil && d.next == nil && !now.Before(d.retry) {
			waiting = append(waiting, d)
		}
	}
	starting := false
	for _, r := range t.runs {
		used := 0
		for _, d := range r.datasets {
			if d.run == r.run || d.next == r.run {
				used++
			}
		}
		starting = starting || !r.ready && used > 0
		switch {
		case used == 0:
			r.stop(t.config.timing.stop)
		case used*2 >= len(r.datasets):
			r.wasteful = time.Time{}
		case r.wasteful.IsZero():
			r.wasteful = now
		}
	}
	if starting && len(waiting) > 0 && t.alive() >= maxRuns {
		return // they go with the next one
	}
	waste := slices.ContainsFunc(t.runs, func(r *liveRun) bool {
		return r.ready && !r.wasteful.IsZero() && now.Sub(r.wasteful) > time.Minute
	})
	// Those that were tried one by one have a tracer each: put them together, unless that was tried just now.
	waste = (waste || t.alive() > maxRuns) && !now.Before(t.together)
	switch {
	case len(waiting) == 0 && !waste:
		return
	case starting && len(waiting) == 0:
		return
	}
	// One that did not start among others is tried by itself, one at a time.
	if i := slices.IndexFunc(waiting, func(d *dataset) bool { return d.alone }); i >= 0 {
		group := []*dataset{waiting[i]}
		if rest := slices.DeleteFunc(slices.Clone(waiting), func(d *dataset) bool { return d.alone }); len(rest) > 0 {
			group = rest
		}
		if !starting {
			t.launch(group, now)
		}
		return
	}
	group := waiting
	if waste || t.alive() >= maxRuns {
		t.together = now.Add(time.Minute)
		group = slices.DeleteFunc(traced, func(d *dataset) bool { return now.Before(d.retry) || d.alone && d.run == nil })
	}
	t.launch(group, now)
}

// alive is how many runs have not been told to stop.
func (t *Tracer) alive() (n int) {
	for _, r := range t.runs {
		r.mu.Lock()
		if !r.stopping {
			n++
		}
		r.mu.Unlock()
	}
	return n
}

func (t *Tracer) launch(group []*dataset, now time.Time) {
	if len(group) == 0 {
		return
	}
	list := make([]*statistics.Dataset, len(group))
	for i, d := range group {
		list[i] = d.Dataset
	}
	t.ended.Add(1)
	r, err := t.launcher.start(list, t.runSecond, t.runEnded)
	if err != nil {
		t.ended.Done()
		for _, d := range group {
			t.failed(d, err.Error(), now)
		}
		return
	}
	live := &liveRun{run: r, datasets: slices.Clone(group)}
	t.runs = append(t.runs, live)
	for _, d := range group {
		d.next = r
		if d.run == nil {
			d.set(Starting, "", now)
		}
	}
}

func (t *Tracer) failed(d *dataset, reason string, now time.Time) {
	d.failures++
	d.retry = now.Add(min(time.Second<<min(d.failures, 6), time.Minute))
	d.set(Failed, reason, now)
}

func (t *Tracer) live(r *run) *liveRun {
	if i := slices.IndexFunc(t.runs, func(l *liveRun) bool { return l.run == r }); i >= 0 {
		return t.runs[i]
	}
	return nil
}

// runSecond takes what a run has measured. at is the end of the second.
func (t *Tracer) runSecond(r *run, at int64, added []printed) {
	t.mu.Lock()
	now := t.now()
	live := t.live(r)
	if live == nil || t.closing {
		t.mu.Unlock()
		return
	}
	if !live.ready {
		// The first second is from the start on, and that of what it takes over from goes on until now: take it as the
		// baseline.
		live.ready, live.lastMs = true, secondOf(at, 0)
		for i, d := range live.datasets {
			if d.next == r {
				d.run, d.next, d.index, d.alone = r, nil, i, false
				d.set(Recording, "", now)
			}
		}
		t.mu.Unlock()
		t.nudge() // what it took over from can end
		return
	}
	lost := r.takeDrops()
	live.lastMs = secondOf(at, live.lastMs)
	var samples []sample
	for _, d := range live.datasets {
		if d.run != r || d.suspended {
			continue
		}
		d.drops += lost
		if now.Sub(d.since) > time.Minute {
			d.failures = 0
		}
		d.reason = ""
		if lost > 0 {
			d.reason = fmt.Sprintf("DTrace lost %d events or values: there were more than its buffers hold.", lost)
		}
		p := &added[d.index]
		if d.stacks != nil {
			d.stacks.add(live.lastMs, p)
			d.samples += uint64(p.total)
			continue
		}
		samples = append(samples, t.write(d, secondFrom(d.Dataset, live.lastMs, p))...)
	}
	t.mu.Unlock()
	t.sender.put(samples)
}

// secondOf is the second, its beginning in ms, that ends at about a tick, nanoseconds since 1970. Ticks come once a
// second but not on it, and a little early or late: the next second follows the last unless the tick is out of step by
// more than a second.
func secondOf(at, last int64) int64 {
	ms := at / 1e6
	second := (ms - 500) / 1000 * 1000 // the one that most of the time between two ticks is in
	if last != 0 && second >= last && second <= last+2000 {
		return last + 1000
	}
	return second
}

// secondFrom gives what was printed its names.
func secondFrom(d *statistics.Dataset, at int64, p *printed) second {
	s := second{time: at, total: float64(p.total), bins: p.bins}
	if d.By == nil || d.By.Distribution {
		return s
	}
	var codes map[int64]string
	if d.By.Codes != nil {
		codes = d.By.Codes(platform)
	}
	s.values = make(map[string]float64, len(p.values))
	for key, n := range p.values {
		if codes != nil {
			var code int64
			if _, err := fmt.Sscan(key, &code); err == nil && codes[code] != "" {
				key = codes[code]
			}
		}
		s.values[key] += float64(n)
	}
	return s
}

// runEnded is called when a run is over; err is nil when it was told to stop.
func (t *Tracer) runEnded(r *run, err error) {
	defer t.ended.Done()
	t.mu.Lock()
	now := t.now()
	live := t.live(r)
	t.runs = slices.DeleteFunc(t.runs, func(l *liveRun) bool { return l.run == r })
	var samples []sample
	if live != nil {
		users := 0
		for _, d := range live.datasets {
			if d.run == r || d.next == r {
				users++
			}
		}
		for _, d := range live.datasets {
			switch {
			case d.run == r:
				samples = append(samples, d.writer.end()...)
				d.run = nil
				d.restarts++
			case d.next == r:
				d.next = nil
				if d.run != nil {
					continue // what was to be replaced goes on
				}
				if users > 1 && !live.ready {
					d.alone = true
				}
			default:
				continue
			}
			if d.wanted(now) && err != nil {
				t.failed(d, err.Error(), now)
				if d.alone && !live.ready && users > 1 {
					d.retry = now // it may not have been this one's fault
				}
			}
		}
		if err != nil && !t.closing {
			t.config.Log.Warn("dtrace ended", "datasets", len(live.datasets), "error", err)
		}
	}
	t.mu.Unlock()
	t.sender.put(samples)
	t.nudge()
}

// watchCost suspends the dataset that costs most when a run takes more than its budget.
func (t *Tracer) watchCost(now time.Time) (samples []sample) {
	for _, r := range t.runs {
		used, ok := cpuTime(r.command.Process.Pid)
		if !ok || !r.ready {
			continue
		}
		if now.Sub(r.probedAt) >= 5*time.Second {
			r.probedAt, r.probes = now, max(r.probes, probeTime(r.command.Process.Pid))
		}
		ratio, full := r.meter.add(now, used+r.probes)
		total := uint64(0)
		for _, n := range r.parser.linesNow() {
			total += n + 1
		}
		var worst *dataset
		for _, d := range r.datasets {
			if d.run != r.run {
				continue
			}
			d.cost.ratio = ratio * float64(r.parser.linesNow()[d.index]+1) / float64(total)
			if worst == nil || d.cost.ratio > worst.cost.ratio {
				worst = d
			}
		}
		if full && ratio > t.config.Budget && worst != nil && !r.over {
			r.over = true
			worst.suspended, worst.overBudget = true, true
			worst.reason = fmt.Sprintf("Tracing took %.0f %% of a processor over the last minute, %.0f %% is the budget; this dataset had the greatest part in it.", ratio*100, t.config.Budget*100)
			t.config.Log.Warn("a dataset is suspended", "dataset", worst.name, "reason", worst.reason)
			samples = append(samples, worst.writer.end()...)
			worst.run, worst.next = nil, nil
			worst.set(Suspended, worst.reason, now)
			// The others go on in a program without it.
			for _, d := range r.datasets {
				if d.run == r.run {
					d.run = nil
					samples = append(samples, d.writer.end()...)
				}
			}
			t.save()
		}
	}
	return samples
}

// costMeter adds up what reading took in the last minute.
type costMeter struct {
	ratio float64
	sum   time.Duration
	from  time.Time
}

func (c *costMeter) add(now time.Time, took time.Duration) {
	if c.from.IsZero() {
		c.from = now
	}
	c.sum += took
	elapsed := now.Sub(c.from)
	if elapsed >= 5*time.Second {
		c.ratio = float64(c.sum) / float64(elapsed)
	}
	if elapsed >= time.Minute {
		c.from, c.sum = now, 0
	}
}

// cpuMeter is the share of a processor over the last minute.
type cpuMeter struct{ points []cpuPoint }

type cpuPoint struct {
	at   time.Time
	used time.Duration
}

// add says the share, and whether it is of a whole minute.
func (m *cpuMeter) add(now time.Time, used time.Duration) (ratio float64, full bool) {
	m.points = append(m.points, cpuPoint{now, used})
	for len(m.points) > 2 && now.Sub(m.points[1].at) >= time.Minute {
		m.points = m.points[1:]
	}
	first := m.points[0]
	elapsed := now.Sub(first.at)
	if elapsed < time.Second {
		return 0, false
	}
	return float64(used-first.used) / float64(elapsed), elapsed >= 55*time.Second
}

// --- what is asked from outside ---

// View is a dataset as it is told.
type View struct {
	Name         string      `json:"name"`
	Statistic    string      `json:"statistic"`
	Filters      [][2]string `json:"filters"`
	Breakdown    *string     `json:"breakdown"`
	Kind         string      `json:"kind"`
	Unit         string      `json:"unit"`
	Metric       string      `json:"metric"`
	Selector     string      `json:"selector"`
	State        State       `json:"state"`
	OverBudget   bool        `json:"overBudget"`
	Since        time.Time   `json:"since"`
	Reason       *string     `json:"reason"`
	Recorded     bool        `json:"recorded"`
	Watched      bool        `json:"watched"`
	CPURatio     float64     `json:"cpuRatio"`
	Samples      uint64      `json:"samples"`
	SeriesNow    int         `json:"seriesNow"`
	Drops        uint64      `json:"drops"`
	Restarts     uint64      `json:"restarts"`
	RestIncluded bool        `json:"restIncluded"`
}

func (t *Tracer) view(d *dataset) View {
	v := View{
		Name: d.name, Statistic: d.Statistic.Name, Filters: [][2]string{}, Kind: d.Kind(), Unit: d.Unit(), Metric: d.Statistic.Metric(), Selector: d.Selector(),
		State: d.state, OverBudget: d.overBudget, Since: d.since.UTC().Truncate(time.Millisecond), Recorded: d.recorded || d.always, Watched: t.now().Before(d.lease),
		CPURatio: d.cost.ratio, Samples: d.samples, Drops: d.drops, Restarts: d.restarts, RestIncluded: d.writer.restAt != 0,
	}
	for _, f := range d.Filters {
		v.Filters = append(v.Filters, [2]string{f.Name, statistics.Label(f.Value)})
	}
	if d.By != nil {
		v.Breakdown = &d.By.Name
	}
	reason := d.reason
	if d.state == Recording {
		v.SeriesNow = d.writer.seriesNow()
		if reason == "" {
			reason = t.sender.Reason()
		}
	}
	if reason != "" {
		v.Reason = &reason
	}
	return v
}

// List is all datasets by name.
func (t *Tracer) List() []View {
	t.mu.Lock()
	defer t.mu.Unlock()
	list := []View{}
	for _, name := range sortedKeys(t.datasets) {
		list = append(list, t.view(t.datasets[name]))
	}
	return list
}

// find is a dataset that is there; the error is a problem document.
func (t *Tracer) find(text string) (*dataset, error) {
	parsed, err := statistics.Parse(text)
	if err != nil {
		return nil, err
	}
	if d := t.datasets[parsed.String()]; d != nil {
		return d, nil
	}
	return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("The dataset %s is not measured.", parsed), "Watch or record it first.")
}

// Get is one dataset.
func (t *Tracer) Get(text string) (View, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.find(text)
	if err != nil {
		return View{}, err
	}
	return t.view(d), nil
}

// open is a dataset, made when it is not there.
func (t *Tracer) open(text string) (*dataset, error) {
	parsed, err := statistics.Parse(text)
	if err != nil {
		return nil, err
	}
	if reason := t.unavailable(parsed.Statistic); reason != "" {
		return nil, problem.New(http.StatusConflict, "not_available", fmt.Sprintf("%s cannot be measured here. %s", parsed.Statistic.Name, reason), "")
	}
	if parsed.Statistic.Source == statistics.DTrace {
		if _, err := statistics.Render(platform, []*statistics.Dataset{parsed}); err != nil {
			return nil, problem.New(http.StatusConflict, "not_available", err.Error()+".", "")
		}
	}
	name := parsed.String()
	now := t.now()
	if d := t.datasets[name]; d != nil && (d.wanted(now) || d.suspended) {
		return d, nil
	}
	all, traced := 0, 0
	for _, d := range t.datasets {
		if d.wanted(now) && !d.always {
			all++
			if d.Statistic.Source == statistics.DTrace {
				traced++
			}
		}
	}
	if all >= t.config.MaxDatasets || traced >= t.config.MaxTraced && parsed.Statistic.Source == statistics.DTrace {
		return nil, problem.New(http.StatusConflict, "too_many_datasets", fmt.Sprintf("%d datasets are measured on request, %d of them traced; %d and %d are the limits.", all, traced, t.config.MaxDatasets, t.config.MaxTraced),
			"Close a chart, or stop recording a dataset.")
	}
	if len(t.datasets) > 1000 { // looked at once and not forgotten yet
		for name, d := range t.datasets {
			if d.state == Stopped && !d.always {
				delete(t.datasets, name)
			}
		}
	}
	return t.add(parsed), nil
}

// Watch keeps a dataset for half a minute more.
func (t *Tracer) Watch(text string) (View, error) {
	return t.change(text, true, func(d *dataset) { d.lease = t.now().Add(leaseFor) })
}

// Record keeps a dataset until it is switched off.
func (t *Tracer) Record(text string, recording bool) (View, error) {
	return t.change(text, recording, func(d *dataset) { d.recorded = recording })
}

// Suspend stops measuring until Resume; both are kept over restarts.
func (t *Tracer) Suspend(text string) (View, error) {
	return t.change(text, false, func(d *dataset) {
		d.suspended, d.overBudget, d.reason = true, false, "Somebody suspended it."
		t.sender.put(d.writer.end())
		d.run, d.next = nil, nil
		d.set(Suspended, d.reason, t.now())
	})
}

// Resume measures again what was suspended.
func (t *Tracer) Resume(text string) (View, error) {
	return t.change(text, false, func(d *dataset) {
		if d.suspended {
			d.suspended, d.overBudget, d.failures, d.retry = false, false, 0, time.Time{}
			d.set(Stopped, "", t.now())
			if d.wanted(t.now()) {
				d.set(Starting, "", t.now())
			}
		}
	})
}

func (t *Tracer) change(text string, make bool, change func(*dataset)) (View, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	find := t.find
	if make {
		find = t.open
	}
	d, err := find(text)
	if err != nil {
		return View{}, err
	}
	kept := [2]bool{d.recorded, d.suspended}
	change(d)
	if d.state == Stopped && d.wanted(t.now()) {
		d.set(Starting, "", t.now())
	}
	if kept != [2]bool{d.recorded, d.suspended} {
		if err := t.save(); err != nil {
			return View{}, problem.New(http.StatusServiceUnavailable, "service_unavailable", "What is recorded could not be kept: "+err.Error()+".", "Is the system pool full?")
		}
	}
	if d.Statistic.Source == statistics.DTrace {
		t.nudge()
	}
	return t.view(d), nil
}

// Destroy stops and forgets a dataset. Its series stay.
func (t *Tracer) Destroy(text string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	d, err := t.find(text)
	if err != nil {
		return err
	}
	if d.always {
		return problem.New(http.StatusConflict, "conflict", fmt.Sprintf("%s is always recorded; it costs nearly nothing.", d.name), "It can be suspended.")
	}
	t.sender.put(d.writer.end())
	d.run, d.next, d.recorded, d.lease = nil, nil, false, time.Time{}
	delete(t.datasets, d.name)
	t.nudge()
	if err := t.save(); err != nil {
		return problem.New(http.StatusServiceUnavailable, "service_unavailable", "That the dataset is gone could not be kept: "+err.Error()+".", "Is the system pool full?")
	}
	return nil
}

// --- what is kept ---

type keptDataset struct {
	Name       string `json:"name"`
	Recorded   bool   `json:"recorded"`
	Suspended  bool   `json:"suspended"`
	OverBudget bool   `json:"overBudget,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func (t *Tracer) file() string { return filepath.Join(t.config.State, "datasets.json") }

// save writes what is recorded or suspended: a new file, then its name, both durable.
func (t *Tracer) save() error {
	list := []keptDataset{}
	for _, name := range sortedKeys(t.datasets) {
		if d := t.datasets[name]; d.recorded || d.suspended {
			list = append(list, keptDataset{d.name, d.recorded, d.suspended, d.overBudget, d.reason})
		}
	}
	body, err := json.MarshalIndent(map[string]any{"version": 1, "datasets": list}, "", "  ")
	if err != nil {
		return err
	}
	temporary := t.file() + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(append(body, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(temporary, t.file()); err != nil {
		return err
	}
	folder, err := os.Open(t.config.State)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// load reads what is kept. A dataset that this version does not know, or a file that cannot be read, is told of and left
// out: what is always on goes on.
func (t *Tracer) load() error {
	body, err := os.ReadFile(t.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what is recorded: %w", err)
	}
	var kept struct {
		Datasets []keptDataset `json:"datasets"`
	}
	if err := json.Unmarshal(body, &kept); err != nil {
		t.config.Log.Error("what is recorded cannot be read, and is put aside", "path", t.file(), "error", err)
		return os.Rename(t.file(), t.file()+".damaged")
	}
	for _, one := range kept.Datasets {
		parsed, err := statistics.Parse(one.Name)
		if err != nil {
			t.config.Log.Warn("a recorded dataset is left out", "dataset", one.Name, "error", err)
			continue
		}
		d := t.add(parsed)
		d.recorded, d.suspended, d.overBudget, d.reason = one.Recorded, one.Suspended, one.OverBudget, one.Reason
		switch reason := t.unavailable(parsed.Statistic); {
		case one.Suspended:
			d.state = Suspended
		case reason != "":
			// It stays recorded: the next system may have it again.
			d.state, d.reason, d.retry = Failed, reason, t.now().Add(time.Minute)
		}
	}
	return nil
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for key := range m {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, strings.Compare)
	return keys
}
