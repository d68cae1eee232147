package tsdb

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
)

// timersIn puts timers of statsd into a store: names of their own, and a bin or two in each second in which there is any. It
// returns how many bytes each takes, as the heap has it and as the store counts it.
func timersIn(t testing.TB, timers, seconds, every int) (real, counted float64) {
	begin := time.Now().Add(-2 * time.Hour).Unix()
	var before, after runtime.MemStats
	s, err := Open(t.TempDir(), Options{HeadBytes: 4 << 30, SeriesPerSecond: 1 << 30, SeriesBurst: 1 << 30, JournalBytes: 1 << 40})
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	runtime.ReadMemStats(&before)
	batch := make([]Sample, 0, 1000)
	for second := range seconds {
		for i := range timers {
			h := &histogram.Histogram{}
			_ = h.Insert(float64(1+i%90), 1)
			if i%2 == 0 {
				_ = h.Insert(float64(2+second%50), 1)
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
	for _, c := range []struct{ seconds, every int }{{1, 1}, {5, 30}, {50, 30}, {60, 1}, {400, 1}} {
		b.Run(fmt.Sprintf("%d every %d s", c.seconds, c.every), func(b *testing.B) {
			for b.Loop() {
				real, counted := timersIn(b, 20_000, c.seconds, c.every)
				b.ReportMetric(real, "B/timer")
				b.ReportMetric(counted, "counted-B/timer")
			}
		})
	}
}

// What the store counts is what it takes: the bound on its memory is no other.
func TestMemoryIsCounted(t *testing.T) {
	for _, c := range []struct{ seconds, every int }{{1, 1}, {40, 30}, {60, 1}} {
		real, counted := timersIn(t, 10_000, c.seconds, c.every)
		if counted < 0.75*real || counted > 1.25*real {
			t.Errorf("%d values, %d s apart: a timer takes %.0f bytes, and %.0f are counted", c.seconds, c.every, real, counted)
		}
		if real > 1200 {
			t.Errorf("%d values, %d s apart: a timer takes %.0f bytes", c.seconds, c.every, real)
		}
	}
}
