package tsdb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// timersIn puts timers of statsd into a store: names of their own, and a bin or two in each second in which there is any, of
// milliseconds with so many decimals, from a minute of an hour on: what is in memory when an hour ends becomes a frame, so that
// the time of day must not decide. It returns how many bytes each takes, as the heap has it and as the store counts it.
func timersIn(t testing.TB, timers, minute, seconds, every, decimals int) (real, counted float64) {
	begin := time.Now().Truncate(time.Hour).Add(-2*time.Hour).Unix() + 60*int64(minute)
	var before, after runtime.MemStats
	s, err := Open(t.TempDir(), Options{HeadBytes: 4 << 30, SeriesPerSecond: 1 << 30, SeriesBurst: 1 << 30, JournalBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	batch := make([]Sample, 0, 1000)
	tenth := int(math.Pow10(decimals))
	for second := range seconds {
		for i := range timers {
			h := &histogram.Histogram{}
			parts := float64((31*i+17*second)%tenth) / float64(tenth)
			record(h, (float64(1+i%90)+parts)/1000, 1, true)
			if i%2 == 0 {
				record(h, (float64(2+second%50)+parts)/1000, 1, true)
			}
			key, err := AppendKey(nil, []Label{{NameLabel, fmt.Sprintf("app.requests.%d.duration", i)}})
			if err != nil {
				t.Fatal(err)
			}
			batch = append(batch, Sample{Key: key, Kind: Histogram, Time: (begin + int64(second*every)) * 1000, Histogram: h})
			if len(batch) == cap(batch) {
				if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
					t.Fatal(len(rejected), err)
				}
				batch = batch[:0]
			}
		}
	}
	batch = nil
	runtime.GC()
	runtime.ReadMemStats(&after)
	real, counted = (float64(after.HeapAlloc)-float64(before.HeapAlloc))/float64(timers), float64(s.InMemory())/float64(timers)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return real, counted
}

// BenchmarkTimers says how much memory a timer takes.
func BenchmarkTimers(b *testing.B) {
	for _, c := range []struct{ seconds, every, decimals int }{{1, 1, 0}, {5, 30, 0}, {50, 30, 0}, {60, 1, 0}, {60, 1, 3}, {400, 1, 0}, {400, 1, 3}} {
		b.Run(fmt.Sprintf("%d every %d s, %d decimals", c.seconds, c.every, c.decimals), func(b *testing.B) {
			for b.Loop() {
				real, counted := timersIn(b, 20_000, 0, c.seconds, c.every, c.decimals)
				b.ReportMetric(real, "B/timer")
				b.ReportMetric(counted, "counted-B/timer")
			}
		})
	}
}

// What the store counts is what it takes: the bound on its memory is no other.
func TestMemoryIsCounted(t *testing.T) {
	for _, c := range []struct {
		minute, seconds, every, decimals int
		most                             float64
	}{
		{0, 1, 1, 0, 1200},
		{0, 40, 30, 0, 1200},
		{0, 60, 1, 0, 1200},
		{0, 60, 1, 2, 1200},
		// A frame was made at the hour's end, and there is the beginning of another.
		{45, 40, 30, 0, 1400},
	} {
		real, counted := timersIn(t, 10_000, c.minute, c.seconds, c.every, c.decimals)
		if counted < 0.75*real || counted > 1.25*real {
			t.Errorf("%d values, %d s apart from minute %d on, %d decimals: a timer takes %.0f bytes, and %.0f are counted",
				c.seconds, c.every, c.minute, c.decimals, real, counted)
		}
		if real > c.most {
			t.Errorf("%d values, %d s apart from minute %d on, %d decimals: a timer takes %.0f bytes; %.0f are the limit",
				c.seconds, c.every, c.minute, c.decimals, real, c.most)
		}
	}
}

// BenchmarkTimersInBlocks says how many bytes a second of a timer takes in a block, by how many values it has and their decimals;
// -1: their sums are not kept.
func BenchmarkTimersInBlocks(b *testing.B) {
	for _, c := range []struct{ values, least, decimals int }{{1, 10, -1}, {1, 10, 0}, {1, 100, -1}, {1, 100, 0}, {1, 10, 3}, {10, 10, -1}, {10, 10, 0}, {10, 100, 0}, {10, 10, 3}} {
		b.Run(fmt.Sprintf("%d of %d ms on, %d decimals", c.values, c.least, c.decimals), func(b *testing.B) {
			for b.Loop() {
				r := rand.New(rand.NewPCG(1, 2))
				o, now := clockOptions(vfs.NewMemory())
				s := openStore(b, o)
				tenth := math.Pow10(max(0, c.decimals))
				n := 0
				for second := range 1800 {
					var batch []Sample
					for i := range 20 {
						h := &histogram.Histogram{}
						for range c.values {
							ms := math.Floor((float64(c.least)*(1+8*r.Float64()))*tenth) / tenth
							record(h, ms/1000, 1, c.decimals >= 0)
						}
						batch = append(batch, Sample{Key: key(b, "timer", "i", fmt.Sprint(i)), Kind: Histogram, Time: now.now().UnixMilli() - int64(1800-second)*1000, Histogram: h})
						n++
					}
					mustIngest(b, s, batch...)
				}
				mustFlush(b, s)
				b.ReportMetric(float64(s.Status().Blocks[0].Bytes)/float64(n), "B/second")
				_ = s.Close()
			}
		})
	}
}
