package tracer

// Tracers that run: which datasets share one, what it printed each second, how it ends, and what it costs.

import (
	"fmt"
	"slices"
	"time"

	"cistern/services/trace/statistics"
)

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
	r, err := t.starter.start(list, t.runSecond, t.runEnded)
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

// runEnded is called when a run is over; err is nil when it was stopped.
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
		used, ok := cpuTime(r.process.pid)
		if !ok || !r.ready {
			continue
		}
		if now.Sub(r.probedAt) >= 5*time.Second {
			r.probedAt, r.probes = now, max(r.probes, r.process.probes())
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
