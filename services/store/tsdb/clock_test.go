package tsdb

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// clock is moved by the test, and read by the store's goroutines too.
type clock struct{ nanos atomic.Int64 }

func newClock(t time.Time) *clock {
	c := &clock{}
	c.set(t)
	return c
}

func (c *clock) now() time.Time { return time.Unix(0, c.nanos.Load()) }

func (c *clock) set(t time.Time) { c.nanos.Store(t.UnixNano()) }

func (c *clock) advance(d time.Duration) { c.nanos.Add(int64(d)) }

func (c *clock) UnixMilli() int64 { return c.now().UnixMilli() }

// clockOptions have a clock that the test moves.
func clockOptions(fsys vfs.FS) (Options, *clock) {
	o, c := testOptions(fsys), newClock(start)
	o.Now = c.now
	return o, c
}

func mustIngest(t testing.TB, s *Store, batch ...Sample) {
	t.Helper()
	if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Fsync); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

func mustFlush(t testing.TB, s *Store) {
	t.Helper()
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
}
