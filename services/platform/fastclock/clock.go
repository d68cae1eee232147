// Package fastclock tells the time from the processor's counter, where that is right and quicker than asking the system.
//
// Now is in nanoseconds and never goes back, within a goroutine or between two of which one told the other. It follows
// the system's monotonic clock: every ten seconds the counter is compared with it, and the rate corrected so that the
// difference is gone ten seconds later; the rate never changes by more than a thousandth. The system's clock is used
// instead when the counter is not invariant, the processors' counters differ or cannot be compared, calibration contradicts itself, a
// comparison is off by more than a millisecond, or reading the counter is not quicker. Status says which and why.
package fastclock

import (
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/platform/aligned"
)

const (
	calibrateFor     = 20 * time.Millisecond
	recalibrateEvery = 10 * time.Second
	// maxSkew is how far the counters of two processors may be apart.
	maxSkew = 2 * time.Microsecond
	// maxError is how far a comparison may be off before the counter is given up.
	maxError = time.Millisecond
	// lead is how long before it begins a new line is published. A slower one that began at once would be behind what the old
	// one tells, in the time from its making until all have seen it.
	lead = 100 * time.Millisecond
	// shift is the scale of a rate: nanoseconds × 2^shift for a tick. Ticks are multiplied in 128 bits.
	shift = 32
)

// line is how ticks become nanoseconds; it never changes once it is published.
type line struct {
	ticks  uint64 // at
	nanos  int64  // this time
	rate   uint64 // nanoseconds × 2^shift for a tick
	before uint64 // the same for the ticks before, the line's that this one follows
}

func (l *line) at(ticks uint64) int64 {
	if ticks < l.ticks {
		return l.earlier(l.ticks - ticks)
	}
	return l.nanos + times(ticks-l.ticks, l.rate)
}

// earlier is so many ticks before the line begins. A counter that was set back is for Recalibrate to find.
func (l *line) earlier(ticks uint64) int64 {
	before := times(ticks, l.before)
	if before < 0 || before > int64(lead) {
		return l.nanos
	}
	return l.nanos - before
}

func times(ticks, rate uint64) int64 {
	high, low := bits.Mul64(ticks, rate)
	return int64(high<<(64-shift) | low>>shift)
}

// Clock is a clock; the zero value is not usable: see New.
type Clock struct {
	line   atomic.Pointer[line] // nil: the system's clock is used
	epoch  time.Time            // Now's zero
	offset atomic.Int64         // of the time of day from Now
	ahead  atomic.Int64         // after giving the counter up: how far beyond the system's clock it had told
	source source

	mu       sync.Mutex
	status   Status
	lastTick uint64
	lastTime int64
}

// source is where ticks and the time come from; tests have others.
type source struct {
	ticks     func() uint64
	invariant func() bool
	now       func() time.Time
	eachCPU   func(func(cpu int)) bool
	sleep     func(time.Duration)
}

// Status is what the clock runs on.
type Status struct {
	Counter        bool          // the processor's; else the system's clock
	Reason         string        // why it is the system's
	Frequency      float64       // ticks a second
	Skew           time.Duration // the most that two processors' counters differ; -1 when it could not be measured
	Error          time.Duration // of the last comparison
	Recalibrations uint64
}

var system = source{readTSC, invariant, time.Now, onEachCPU, time.Sleep}

// New calibrates a clock, which takes some tens of milliseconds. Run keeps it right.
func New() *Clock { return newClock(system, true) }

func newClock(s source, race bool) *Clock {
	c := &Clock{epoch: s.now(), source: s}
	c.status.Skew = -1
	if err := c.calibrate(); err != nil {
		c.giveUp(err.Error())
	} else if race && !c.quicker() {
		c.giveUp("reading the counter is not quicker than the system's clock")
	}
	c.setTimeOfDay()
	return c
}

// pair reads both clocks at one moment: the one of some tries that took least.
func (c *Clock) pair() (ticks uint64, nanos int64) {
	best := uint64(1 << 63)
	for range 8 {
		before := c.source.ticks()
		now := int64(c.source.now().Sub(c.epoch))
		after := c.source.ticks()
		if took := after - before; took < best {
			best, ticks, nanos = took, before+took/2, now
		}
	}
	return ticks, nanos
}

func (c *Clock) calibrate() error {
	if !c.source.invariant() {
		return fmt.Errorf("the processor's counter is not invariant")
	}
	firstTick, firstTime := c.pair()
	var rates [2]float64
	lastTick, lastTime := firstTick, firstTime
	for i := range rates {
		c.source.sleep(calibrateFor / 2)
		tick, now := c.pair()
		if tick <= lastTick || now <= lastTime {
			return fmt.Errorf("the processor's counter stood still")
		}
		rates[i] = float64(tick-lastTick) / float64(now-lastTime)
		lastTick, lastTime = tick, now
	}
	if d := rates[0]/rates[1] - 1; d > 1e-3 || d < -1e-3 {
		return fmt.Errorf("calibration contradicts itself: %.4g and %.4g GHz", rates[0], rates[1])
	}
	perTick := float64(lastTime-firstTime) / float64(lastTick-firstTick)
	if perTick < 1e-3 || perTick > 1e3 {
		return fmt.Errorf("the processor's counter ticks every %.3g ns, which cannot be", perTick)
	}
	scaled := uint64(perTick * (1 << shift))
	l := &line{lastTick, lastTime, scaled, scaled}
	// Each processor's counter against the line.
	least, most, any := int64(1<<62), int64(-1<<62), false
	bound := c.source.eachCPU(func(int) {
		tick, now := c.pair()
		off := l.at(tick) - now
		least, most, any = min(least, off), max(most, off), true
	})
	if !bound || !any {
		// On a machine whose counters differ, time would go back when a thread moves.
		return fmt.Errorf("the processors' counters cannot be compared on this system")
	}
	if c.status.Skew = time.Duration(most - least); c.status.Skew > maxSkew {
		return fmt.Errorf("the processors' counters are up to %s apart", c.status.Skew)
	}
	c.status.Counter, c.status.Frequency = true, 1e9/perTick
	c.lastTick, c.lastTime = lastTick, lastTime
	c.line.Store(l)
	return nil
}

// quicker races both clocks.
func (c *Clock) quicker() bool {
	const rounds = 2000
	measure := func(f func()) time.Duration {
		best := time.Duration(1 << 62)
		for range 3 {
			start := time.Now()
			for range rounds {
				f()
			}
			best = min(best, time.Since(start))
		}
		return best
	}
	return measure(func() { c.Now() }) < measure(func() { c.systemNow() })
}

func (c *Clock) systemNow() int64 { return int64(c.source.now().Sub(c.epoch)) }

// giveUp changes over to the system's clock; no reading goes back behind an earlier one. Nor does the clock stand until the system's
// has come so far: that would be hours when the counter went on while the machine slept.
func (c *Clock) giveUp(reason string) {
	if l := c.line.Load(); l != nil {
		c.ahead.Store(max(0, l.at(c.source.ticks())-c.systemNow()))
		c.line.Store(nil)
	}
	c.status.Counter, c.status.Reason = false, reason
}

// Now is the nanoseconds since the clock was made.
func (c *Clock) Now() int64 {
	for l := c.line.Load(); l != nil; {
		now := l.at(c.source.ticks())
		// Who was held up between the two readings by a recalibration reads again.
		again := c.line.Load()
		if again == l {
			return now
		}
		l = again
	}
	return c.systemNow() + c.ahead.Load()
}

// Time is the time of day. When that is set, the clock follows within a second.
func (c *Clock) Time() time.Time { return time.Unix(0, c.offset.Load()+c.Now()) }

// setTimeOfDay notes what has to be added to Now.
func (c *Clock) setTimeOfDay() { c.offset.Store(c.source.now().UnixNano() - c.Now()) }

// Recalibrate compares the clocks once; Run does it.
func (c *Clock) Recalibrate() {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.line.Load()
	if l == nil {
		return
	}
	tick, now := c.pair()
	told := l.at(tick)
	c.status.Error, c.status.Recalibrations = time.Duration(told-now), c.status.Recalibrations+1
	if off := time.Duration(told - now); off > maxError || off < -maxError {
		c.giveUp(fmt.Sprintf("the counter was %s off after %s", off, time.Duration(now-c.lastTime)))
		return
	}
	if tick <= c.lastTick || now <= c.lastTime || tick < l.ticks {
		return
	}
	// The rate of the time since the last comparison, and what makes up for the difference.
	rate := float64(now-c.lastTime) / float64(tick-c.lastTick)
	rate *= 1 - float64(told-now)/float64(recalibrateEvery)
	old := float64(l.rate) / (1 << shift)
	rate = min(max(rate, old*0.999), old*1.001)
	c.lastTick, c.lastTime = tick, now
	c.status.Frequency = 1e9 / rate
	begin := tick + uint64(float64(lead)/2/old)
	c.line.Store(&line{begin, l.at(begin), uint64(rate * (1 << shift)), l.rate})
}

// Run recalibrates, and follows the time of day, until stop is closed.
func (c *Clock) Run(stop <-chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-stop:
			return
		case <-aligned.After(time.Second, 0):
			c.setTimeOfDay()
			if n%int(recalibrateEvery/time.Second) == 0 {
				c.Recalibrate()
			}
		}
	}
}

// Status says what the clock runs on.
func (c *Clock) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}
