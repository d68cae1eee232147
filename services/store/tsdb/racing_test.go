package tsdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Writers, flushes, merges, the letting go of samples and minutes, and deletions, while queries run: what was there before
// all that is in every answer, once, whether as samples or as rollups; and what was deleted is in none. Worth most under the
// race detector.
func TestQueriesWhileAllIsRewritten(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour, o.OutOfOrder, o.BlockEvery = day, 3*day, 1000*day, time.Hour, time.Hour
	now.set(floorHour(start))
	s := openStore(t, o)
	begin := now.UnixMilli()
	const steps, hours = 12, 10
	want := 0.0
	var whole uint64
	h := oneHistogram(3)
	for i := range hours * 60 {
		at := begin + int64(i)*60_000 + 1000
		now.set(time.UnixMilli(at))
		mustIngest(t, s, Sample{Key: key(t, "kept"), Kind: Gauge, Time: at, Value: float64(i)},
			Sample{Key: key(t, "gone"), Kind: Gauge, Time: at, Value: 1},
			Sample{Key: key(t, "gone_h"), Kind: Histogram, Time: at, Histogram: h},
			Sample{Key: key(t, "kept_h"), Kind: Histogram, Time: at, Histogram: h})
		want, whole = want+float64(i), whole+h.Count()
		if i%100 == 50 {
			mustFlush(t, s)
		}
	}
	end := now.UnixMilli() + 1
	mustFlush(t, s)
	if err := s.Delete(t.Context(), begin, end, equal(NameLabel, "gone")); err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	loop := func(group *sync.WaitGroup, f func(n int) error) {
		group.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := f(n); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 2 {
		loop(&readers, func(int) error {
			found, release, err := s.Select(t.Context(), begin, end, equal(NameLabel, "kept"))
			defer release()
			if err != nil || len(found) != 1 {
				return fmt.Errorf("%d series: %w", len(found), err)
			}
			var memory NumberMemory
			if err := found[0].ReadNumbers(begin, end, Sum, math.MaxInt32, &memory); err != nil {
				return err
			}
			sum := 0.0
			for _, v := range memory.Values {
				sum += v
			}
			if sum != want {
				return fmt.Errorf("a sum of %g, want %g", sum, want)
			}
			return nil
		})
	}
	loop(&readers, func(n int) error {
		found, release, err := s.Select(t.Context(), begin, end, equal(NameLabel, "kept_h"))
		defer release()
		if err != nil || len(found) != 1 {
			return fmt.Errorf("%d series of histograms: %w", len(found), err)
		}
		width := []int64{60_000, 3600_000, hours * 3600_000}[n%3]
		into := make([]*histogram.Dense, hours*3600_000/width)
		if _, err := found[0].Windows(t.Context(), begin, width, into); err != nil {
			return err
		}
		total := uint64(0)
		for _, one := range into {
			if one != nil {
				total += one.Histogram().Count()
			}
		}
		if total != whole {
			return fmt.Errorf("%d in windows of %d ms, want %d", total, width, whole)
		}
		return nil
	})
	loop(&readers, func(int) error {
		found, release, err := s.Select(t.Context(), begin, end, equal(NameLabel, "gone"))
		defer release()
		if err != nil || len(found) != 0 {
			return fmt.Errorf("%d deleted series: %w", len(found), err)
		}
		s.Granularity(begin, end)
		s.Status()
		_, err = s.LabelValues(t.Context(), NameLabel, begin, end)
		return err
	})
	loop(&writers, func(n int) error {
		_, err := s.Ingest(t.Context(), "test", []Sample{{Key: key(t, "new", "n", fmt.Sprint(n%50)), Kind: Counter, Time: now.UnixMilli() - int64(n%5), Value: float64(n)},
			{Key: key(t, "new_h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: h}}, journal.Buffered)
		time.Sleep(100 * time.Microsecond)
		return err
	})
	for i := range steps {
		now.advance(11 * time.Hour)
		if _, err := s.Flush(); err != nil {
			t.Error(err)
		}
		if i == 4 {
			if err := s.Delete(t.Context(), begin, end, equal(NameLabel, "gone_h")); err != nil {
				t.Error(err)
			}
		}
		if err := s.Compact(context.Background()); err != nil && !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
		time.Sleep(20 * time.Millisecond)
	}
	if got := s.Granularity(begin, end); got != time.Hour {
		t.Errorf("%v", got)
	}
	close(stop)
	writers.Wait()
	readers.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
