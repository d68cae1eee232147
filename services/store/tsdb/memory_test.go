package tsdb

import (
	"fmt"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Series that have no samples any more make room for new ones: a flood of names does not close the store to others until the
// next block is due.
func TestIdleSeriesMakeRoom(t *testing.T) {
	o, clock := clockOptions(vfs.NewMemory())
	o.HeadBytes, o.BlockEvery, o.SeriesPerSecond, o.SeriesBurst = 1<<20, 24*time.Hour, 1<<30, 1<<30
	s, err := Open("/store", o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(name string, from, to int) (refused int) {
		var batch []Sample
		for i := from; i < to; i++ {
			batch = append(batch, Sample{Key: key(t, name, "i", fmt.Sprint(i)), Kind: Gauge, Time: clock.now().UnixMilli(), Value: 1})
		}
		rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rejected {
			if r.Reason != MemoryLimit {
				t.Fatal(r)
			}
		}
		return len(rejected)
	}
	flood := 0
	for put("flood", flood, flood+100) == 0 {
		flood += 100
	}
	if flood < 500 {
		t.Fatalf("only %d series had room", flood)
	}
	// The store does it by itself, once it has noticed. While the old head is being written both are in memory.
	until := func(what string, done func() bool) {
		t.Helper()
		for began := time.Now(); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Since(began) > 30*time.Second {
				t.Fatal(what)
			}
		}
	}
	until("the memory is full of idle series, and they stay", func() bool { return put("new", 0, 200) == 0 })
	until("known series are refused for good", func() bool { return put("flood", 0, 10) == 0 })
}

// What others hold of the memory is not there for series; half of it is, whatever they hold.
func TestHeldMemoryIsNotForSeries(t *testing.T) {
	room := func(held int64) (series int) {
		o, clock := clockOptions(vfs.NewMemory())
		o.HeadBytes, o.BlockEvery, o.SeriesPerSecond, o.SeriesBurst = 1<<20, 24*time.Hour, 1<<30, 1<<30
		o.Held = func() int64 { return held }
		s := openStore(t, o)
		defer s.Close()
		var batch []Sample // one, so that no flush comes between
		for i := range 20_000 {
			batch = append(batch, Sample{Key: key(t, "flood", "i", fmt.Sprint(i)), Kind: Gauge, Time: clock.now().UnixMilli(), Value: 1})
		}
		rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		return len(batch) - len(rejected)
	}
	all := room(0)
	for held, share := range map[int64]float64{1 << 18: 0.75, 1 << 19: 0.5, 1 << 20: 0.5} {
		if n := room(held); float64(n) < share*0.9*float64(all) || float64(n) > share*1.1*float64(all) {
			t.Errorf("with %d bytes held there is room for %d series, of %d", held, n, all)
		}
	}
}
