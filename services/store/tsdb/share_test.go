package tsdb

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"testing"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/labels"
)

// roomFor is a meter of so many bytes, which notes how often it is asked.
type roomFor struct {
	bytes, charged int64
	asked          int
}

var errNoRoom = errors.New("no room")

func (m *roomFor) Room(bytes int64, _ string) error {
	m.asked++
	if m.charged+bytes > m.bytes {
		return errNoRoom
	}
	return nil
}

func (m *roomFor) Charge(_ context.Context, bytes int64, what string) error {
	if err := m.Room(bytes, what); err != nil {
		return err
	}
	m.charged += bytes
	return nil
}

func (m *roomFor) Return(bytes int64) { m.charged -= bytes }

// manyNames has numbers and timers of as many names each, one sample a name.
func manyNames(t *testing.T, each int) (*Store, *clock) {
	t.Helper()
	o, clock := clockOptions(vfs.NewMemory())
	o.HeadBytes, o.SeriesPerSecond, o.SeriesBurst = 1<<30, 1<<30, 1<<30
	s, err := Open("/store", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h := &histogram.Histogram{}
	if err := h.Insert(0.5, 1); err != nil {
		t.Fatal(err)
	}
	var batch []Sample
	for i := range 2 * each {
		one := Sample{Key: key(t, fmt.Sprintf("names.of.requests.%d", i)), Kind: Gauge, Time: clock.now().UnixMilli(), Value: 1}
		if i%2 == 1 {
			one.Kind, one.Histogram = Histogram, h
		}
		batch = append(batch, one)
	}
	if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(len(rejected), err)
	}
	return s, clock
}

// Who will need far too much for each series is told after the first of them, in memory and in a block: neither are all names matched,
// nor is anything made of them.
func TestFarTooMuchIsKnownEarly(t *testing.T) {
	const each, share, room = 30_000, 14_000, 27 << 20
	s, clock := manyNames(t, each)
	at := clock.now().UnixMilli()
	every := labels.MustNewMatcher(labels.MatchRegexp, NameLabel, "names.*")
	selects := func(share, room int64, from, to int64) (n, asked int, allocated uint64, err error) {
		m := &roomFor{bytes: room}
		ctx := WithShare(WithMeter(t.Context(), m), share)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, release, err := s.Select(ctx, from, to, every)
		runtime.ReadMemStats(&after)
		release()
		if m.charged != 0 {
			t.Errorf("%d bytes stay charged", m.charged)
		}
		return len(found), m.asked, after.TotalAlloc - before.TotalAlloc, err
	}
	for _, place := range []string{"in memory", "in a block"} {
		if place == "in a block" {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
		}
		_, asked, allocated, err := selects(share, room, at-1000, at+1000)
		// Twice the room is for 4,045 series of numbers; in turn there are as many timers.
		if !errors.Is(err, errNoRoom) || asked > 2*room/share/chargeEvery+2 {
			t.Errorf("%s: after asking %d times: %v", place, asked, err)
		}
		if allocated > 6<<20 {
			t.Errorf("%s: %d bytes were allocated until it was refused", place, allocated)
		}
		// What may fit is found: less of each, no numbers in the time, nobody who says what it needs.
		for _, c := range []struct {
			why             string
			share, from, to int64
		}{
			{"little of each", 200, at - 1000, at + 1000},
			{"they began before the time", share, at + 1, math.MaxInt64},
			{"nobody says what it needs", 0, at - 1000, at + 1000},
		} {
			n, _, _, err := selects(c.share, room, c.from, c.to)
			if want := 2 * each; err != nil || n != want && c.from <= at {
				t.Errorf("%s, %s: %d series: %v", place, c.why, n, err)
			}
		}
	}
}

// What the writer of a block has in memory is counted while it has it.
func TestWritersMemoryIsCounted(t *testing.T) {
	s, clock := manyNames(t, 0)
	for _, names := range []int{10_000, 100_000} {
		w, err := newBlockWriter(s.options.FS, s.blocks, blockHead{sequence: 1000, maxTime: 1000})
		if err != nil {
			t.Fatal(err)
		}
		w.writing = &s.writing
		keys := make([]string, names)
		for i := range keys {
			keys[i] = string(key(t, fmt.Sprintf("names.of.requests.%08d", i)))
		}
		data := &seriesData{maxTime: 1000, samples: 2}
		data.frames[trackRaw] = []frame{numberFrame([]int64{0, 1000}, []float64{1, 2})}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		for _, k := range keys {
			if err := w.add(k, Gauge, data); err != nil {
				t.Fatal(err)
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&after)
		// The memory file system has the block's bytes.
		taken, counted := int64(after.HeapAlloc-before.HeapAlloc), s.Working()
		if counted < taken/2 || counted > 2*taken {
			t.Errorf("%d names: %d bytes are counted, %d are taken", names, counted, taken)
		}
		w.abandon()
		if counted := s.Working(); counted != 0 {
			t.Errorf("%d bytes stay counted", counted)
		}
	}
	one := Sample{Key: key(t, "one"), Kind: Gauge, Time: clock.now().UnixMilli(), Value: 1}
	if _, err := s.Ingest(t.Context(), "test", []Sample{one}, journal.Buffered); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if counted := s.Working(); counted != recentHeld {
		t.Errorf("after a flush of one series %d bytes are counted", counted)
	}
}
