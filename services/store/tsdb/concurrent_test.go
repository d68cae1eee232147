package tsdb

import (
	"fmt"
	"math"
	"sync"
	"testing"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Writers, readers and flushes at once: a reader never sees less than was acknowledged before it began, nor anything
// twice. Worth most under the race detector.
func TestConcurrentUse(t *testing.T) {
	s := openStore(t, testOptions(vfs.NewMemory()))
	const writers, each = 4, 200
	var done sync.WaitGroup
	stop := make(chan struct{})
	for w := range writers {
		done.Go(func() {
			h := &histogram.Histogram{}
			_ = h.Insert(1, 1)
			for i := range each {
				at := start.UnixMilli() + int64(i/4)*1000 // four share a second
				batch := []Sample{
					{Key: key(t, "n", "w", fmt.Sprint(w)), Kind: Gauge, Time: start.UnixMilli() + int64(i), Value: float64(i)},
					{Key: key(t, "h"), Kind: Histogram, Time: at, Histogram: h},
				}
				if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Fsync); err != nil || len(rejected) > 0 {
					t.Error(rejected, err)
				}
			}
		})
	}
	var background sync.WaitGroup
	background.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := s.Flush(); err != nil {
				t.Error(err)
			}
		}
	})
	background.Go(func() {
		last := uint64(0)
		for {
			select {
			case <-stop:
				return
			default:
			}
			m := read(t, s, 0, math.MaxInt64)
			total := uint64(0)
			for _, h := range m.histograms[string(key(t, "h"))] {
				total += h.Count()
			}
			if total < last || total > writers*each {
				t.Errorf("%d histograms after %d", total, last)
			}
			last = total
			if _, err := s.Metrics(MetricQuery{}); err != nil {
				t.Error(err)
			}
			s.Status()
		}
	})
	background.Go(func() { // what the store asks itself once a second
		for {
			select {
			case <-stop:
				return
			default:
			}
			s.due(start)
		}
	})
	done.Wait()
	close(stop)
	background.Wait()
	m := read(t, s, 0, math.MaxInt64)
	total := uint64(0)
	for _, h := range m.histograms[string(key(t, "h"))] {
		total += h.Count()
	}
	if total != writers*each || len(m.numbers[string(key(t, "n", "w", "0"))]) != each {
		t.Fatalf("%d histograms, %d numbers", total, len(m.numbers[string(key(t, "n", "w", "0"))]))
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
