package fastclock

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"
)

// machine is a processor and a system clock that do what a test wants.
type machine struct {
	nanos   int64
	ghz     float64
	counter float64
	skew    []int64 // ticks, of each processor
	cpu     int
	jump    int64
}

func (m *machine) pass(d time.Duration) {
	m.nanos += int64(d)
	m.counter += float64(d) * m.ghz
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func (m *machine) source() source {
	return source{
		ticks: func() uint64 {
			m.pass(7)
			ticks := m.counter
			if len(m.skew) > 0 {
				ticks += float64(m.skew[m.cpu])
			}
			return uint64(ticks)
		},
		invariant: func() bool { return true },
		now:       func() time.Time { m.pass(20); return noon.Add(time.Duration(m.nanos + m.jump)) },
		eachCPU: func(f func(int)) bool {
			for m.cpu = range max(1, len(m.skew)) {
				f(m.cpu)
			}
			m.cpu = 0
			return true
		},
		sleep: m.pass,
	}
}

func TestFollowsTheSystem(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	m := &machine{ghz: 2.7, counter: 1e15, skew: []int64{0, 100, -100}}
	c := newClock(m.source(), false)
	if s := c.Status(); !s.Counter || s.Frequency < 2.69e9 || s.Frequency > 2.71e9 || s.Skew > 200 {
		t.Fatalf("%+v", s)
	}
	last := int64(0)
	for i := range 200_000 {
		m.pass(time.Duration(r.IntN(1_000_000)))
		if i%10_000 == 0 { // the counter drifts, as crystals do
			m.ghz *= 1 + (r.Float64()-0.5)*2e-6
		}
		now := c.Now()
		if now < last {
			t.Fatalf("the clock went back by %d ns", last-now)
		}
		last = now
		if off := time.Duration(now - c.systemNow()); off > 100*time.Microsecond || off < -100*time.Microsecond {
			t.Fatalf("after %s the clock is %s off", time.Duration(now), off)
		}
		if i%20_000 == 0 {
			c.Recalibrate()
		}
	}
	if s := c.Status(); !s.Counter || s.Recalibrations != 10 {
		t.Fatalf("%+v", s)
	}
	// The time of day is set: the clock follows when it compares, and Now does not care.
	m.jump = int64(time.Hour)
	before := c.Now()
	c.setTimeOfDay()
	if d := c.Time().Sub(noon.Add(time.Duration(m.nanos) + time.Hour)); d > time.Millisecond || d < -time.Millisecond {
		t.Fatalf("%s off", d)
	}
	if now := c.Now(); now < before || now > before+1e6 {
		t.Fatalf("%d after %d", now, before)
	}
}

func TestGivesTheCounterUp(t *testing.T) {
	for name, c := range map[string]struct {
		spoil  func(*machine, *source)
		reason string
	}{
		"not invariant":  {func(_ *machine, s *source) { s.invariant = func() bool { return false } }, "not invariant"},
		"standing still": {func(_ *machine, s *source) { s.ticks = func() uint64 { return 7 } }, "stood still"},
		"changing rate": {func(m *machine, s *source) {
			s.sleep = func(d time.Duration) { m.pass(d); m.ghz *= 1.5 }
		}, "contradicts itself"},
		"not comparable":  {func(_ *machine, s *source) { s.eachCPU = func(func(int)) bool { return false } }, "cannot be compared"},
		"on no processor": {func(_ *machine, s *source) { s.eachCPU = func(func(int)) bool { return true } }, "cannot be compared"},
		"apart":           {func(m *machine, _ *source) { m.skew = []int64{0, 100_000} }, "apart"},
	} {
		m := &machine{ghz: 3}
		s := m.source()
		c.spoil(m, &s)
		clock := newClock(s, false)
		if got := clock.Status(); got.Counter || !strings.Contains(got.Reason, c.reason) {
			t.Errorf("%s: %+v", name, got)
		}
		if a, b := clock.Now(), clock.Now(); b <= a {
			t.Errorf("%s: the clock stands", name)
		}
	}
	// Later: the machine slept, or the counter was set. No reading goes back behind an earlier one.
	m := &machine{ghz: 3}
	c := newClock(m.source(), false)
	m.pass(time.Second)
	m.counter += 3e9
	told := c.Now()
	c.Recalibrate()
	if s := c.Status(); s.Counter || !strings.Contains(s.Reason, "off after") {
		t.Fatalf("%+v", s)
	}
	if now := c.Now(); now < told {
		t.Fatalf("the clock went back by %d ns", told-now)
	}
	before := c.Now()
	m.pass(100 * time.Millisecond)
	if now := c.Now(); now < before+100e6 || now > before+101e6 {
		t.Fatalf("in 100 ms the clock went on by %d ns", now-before)
	}
}

// Who reads the clock while a slower line is being made, and before it is seen, is told nothing that is taken back later.
func TestASlowerLineBeginsLater(t *testing.T) {
	m := &machine{ghz: 2.7, counter: 1e15}
	c := newClock(m.source(), false)
	m.pass(time.Second)
	m.ghz *= 1.0005 // the counter is too quick: the line must become slower
	m.pass(time.Second)
	old := c.line.Load()
	c.Recalibrate()
	if c.line.Load() == old || c.line.Load().rate >= old.rate {
		t.Fatalf("%+v after %+v", *c.line.Load(), *old)
	}
	for range 100 {
		told := old.at(c.source.ticks()) // by a goroutine that has not seen the new line
		if now := c.Now(); now < told {
			t.Fatalf("the clock went back by %d ns", told-now)
		}
		m.pass(300 * time.Microsecond)
	}
}

// The machine's own clock, whatever it has.
func TestThisMachine(t *testing.T) {
	c := New()
	t.Logf("%+v", c.Status())
	stop := make(chan struct{})
	var done sync.WaitGroup
	for range 4 {
		done.Go(func() {
			last := c.Now()
			for {
				select {
				case <-stop:
					return
				default:
				}
				now := c.Now()
				if now < last {
					t.Errorf("the clock went back by %d ns", last-now)
					return
				}
				last = now
			}
		})
	}
	for range 20 {
		time.Sleep(5 * time.Millisecond)
		c.Recalibrate()
	}
	close(stop)
	done.Wait()
	if off := time.Duration(c.Now() - c.systemNow()); off > 2*time.Millisecond || off < -2*time.Millisecond {
		t.Fatalf("the clock is %s off", off)
	}
}

func BenchmarkNow(b *testing.B) {
	c := New()
	if !c.Status().Counter {
		b.Logf("the system's clock is used: %s", c.Status().Reason)
	}
	for b.Loop() {
		c.Now()
	}
}

// BenchmarkIngestSample is the clock's part of a sample on the ingest path: statsd's readers look once for each batch of
// packets that the kernel hands over, of at most 64 (statsd.batchPackets); one sample in each.
func BenchmarkIngestSample(b *testing.B) {
	const batch = 64
	c := New()
	last := int64(0)
	for i := range b.N {
		if i%batch == 0 {
			last = max(last, c.Now())
		}
	}
	if last == 0 {
		b.Fatal("the clock stands still")
	}
}

func BenchmarkTimeNow(b *testing.B) {
	for b.Loop() {
		time.Now()
	}
}
