package tsdb

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Weeks of flushes become few blocks and no answer changes, though late samples overlap and one name changes its kind.
func TestMerging(t *testing.T) {
	r := rand.New(rand.NewPCG(51, 52))
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	o.OutOfOrder = 30 * time.Hour
	s, m := openStore(t, o), newModel()
	for step := range 160 {
		now.advance(time.Duration(1+r.IntN(180)) * time.Minute)
		batch := randomBatch(t, r, now.UnixMilli())
		for i := range batch {
			if r.IntN(10) == 0 {
				batch[i].Time -= int64(r.IntN(20 * 3600_000))
			}
		}
		changing := Sample{Key: key(t, "changing"), Kind: Gauge, Time: now.UnixMilli(), Value: float64(step)}
		if step%20 >= 10 {
			changing.Kind, changing.Histogram = Histogram, &histogram.Histogram{}
			_ = changing.Histogram.Insert(1, 1)
		}
		batch = append(batch, changing)
		mustIngest(t, s, batch...)
		m.add(batch)
		mustFlush(t, s)
		if step%7 == 0 {
			if err := s.tidy(); err != nil {
				t.Fatal(err)
			}
		}
		if step == 100 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, o)
		}
	}
	defer s.Close()
	now.advance(20 * 24 * time.Hour)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	// Ten days lie in two or three windows of eight.
	if n := len(s.Status().Blocks); n > 4 {
		t.Errorf("%d blocks are left", n)
	}
	if d := read(t, s, 0, math.MaxInt64).difference(m); d != "" {
		t.Fatal(d)
	}
}

// The power is cut at every operation of flushes, merges and deletions.
func TestPowerCutWhileMerging(t *testing.T) {
	random := rand.New(rand.NewPCG(61, 62))
	for cut := 0; ; cut++ {
		memory := vfs.NewMemory()
		operations := 0
		o, now := clockOptions(vfs.Watch(memory, func(string, string, int) error {
			if operations++; operations > cut {
				return errCut
			}
			return nil
		}))
		o.OutOfOrder = 72 * time.Hour
		acknowledged, attempted := newModel(), newModel()
		deleting := false
		work := func() error {
			s, err := Open("/store", o)
			if err != nil {
				return err
			}
			defer func() { close(s.stop); s.done.Wait() }()
			for i := range 6 {
				h := &histogram.Histogram{}
				_ = h.Insert(1, 1)
				at := now.UnixMilli()
				batch := []Sample{
					{Key: key(t, "n"), Kind: Counter, Time: at, Value: float64(i)},
					{Key: key(t, "h"), Kind: Histogram, Time: at, Histogram: h},
					{Key: key(t, "h"), Kind: Histogram, Time: at - int64(i%2)*dayMillis, Histogram: h}, // another block of the same flush
				}
				attempted.add(batch)
				if _, err := s.Ingest(context.Background(), "test", batch, journal.Fsync); err != nil {
					return err
				}
				acknowledged.add(batch)
				if _, err := s.Flush(); err != nil {
					return err
				}
				now.advance(time.Hour)
			}
			now.advance(20 * 24 * time.Hour)
			if err := s.tidy(); err != nil {
				return err
			}
			deleting = true
			if err := s.Delete(context.Background(), 0, math.MaxInt64, equal(NameLabel, "n")); err != nil {
				return err
			}
			return s.tidy()
		}
		err := work()
		for _, after := range []*vfs.Memory{memory.Kill(), memory.PowerCut(nil),
			memory.PowerCut(func(_ string, n int) int { return random.IntN(n + 1) })} {
			s, openErr := Open("/store", testOptions(after))
			if openErr != nil {
				t.Fatalf("cut at %d: %v", cut, openErr)
			}
			got := read(t, s, 0, math.MaxInt64)
			if deleting { // all of it or nothing
				if n := len(got.numbers[string(key(t, "n"))]); n != 0 && n != 6 {
					t.Fatalf("cut at %d: half a deletion: %d samples", cut, n)
				}
				got.numbers = acknowledged.numbers
			}
			if d := got.difference(acknowledged); d != "" && got.difference(attempted) != "" {
				t.Fatalf("cut at %d: %s", cut, d)
			}
			if err := s.Close(); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
		if err == nil {
			if cut < 80 {
				t.Fatalf("only %d operations", cut)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// A block whose samples are damaged is not merged: merging would make the loss final. Tidying ends, the damage is counted
// once, and what can be read is served.
func TestDamageStopsAMerge(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	s := openStore(t, o)
	for i := range 4 {
		mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: float64(i) + 0.5})
		mustFlush(t, s)
		now.advance(time.Minute)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := "/store/blocks/" + blockName(2)
	content, err := vfs.ReadFile(memory, path)
	if err != nil {
		t.Fatal(err)
	}
	content[blockHeader+5] ^= 0x10
	if err := vfs.Replace(memory, "/store/blocks", path, content); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, o)
	defer s.Close()
	now.advance(20 * 24 * time.Hour)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if n := len(read(t, s, 0, math.MaxInt64).numbers[string(key(t, "a"))]); n != 3 {
		t.Fatalf("%d samples are served", n)
	}
	// The three sound ones became one, or wait for more; the damaged one is there as it was.
	if n := len(s.Status().Damaged); n != 1 {
		t.Fatalf("%d blocks are counted as damaged", n)
	}
	if after, err := vfs.ReadFile(memory, path); err != nil || !slices.Equal(after, content) {
		t.Fatalf("the damaged block was touched: %v", err)
	}
}

// The head is flushed while a merge goes on, with numbers of its own.
func TestFlushWhileMerging(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s, m := openStore(t, o), newModel()
	put := func(at int64) {
		one := Sample{Key: key(t, "a"), Kind: Gauge, Time: at, Value: float64(at % 977)}
		mustIngest(t, s, one)
		m.add([]Sample{one})
	}
	for range 4 {
		put(now.UnixMilli())
		mustFlush(t, s)
		now.advance(time.Minute)
	}
	now.advance(20 * 24 * time.Hour)
	put(now.UnixMilli())
	s.mu.Lock()
	s.began = s.began.Add(-24 * 30 * time.Hour) // it has been due for long
	s.mu.Unlock()
	s.flushing.Lock()
	next := s.plan()
	if next == nil {
		t.Fatal("nothing is to be merged")
	}
	err := s.run(next)
	s.flushing.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	if status := s.Status(); status.HeadSamples != 0 || len(status.Blocks) != 2 {
		t.Fatalf("%+v", status)
	}
	for range 2 {
		if d := read(t, s, 0, math.MaxInt64).difference(m); d != "" {
			t.Fatal(d)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = openStore(t, o)
	}
	_ = s.Close()
}

// What the samples of a label's values take: in memory first, on disk after a flush, and the same after opening again.
func TestSizes(t *testing.T) {
	o := testOptions(vfs.NewMemory())
	s := openStore(t, o)
	put := func(from, n int) {
		for i := from; i < from+n; i++ {
			at := start.Add(time.Duration(i) * time.Second).UnixMilli()
			mustIngest(t, s, Sample{Key: key(t, "a", "dataset", "x", "disk", "one"), Time: at, Value: float64(i * i)},
				Sample{Key: key(t, "a", "dataset", "x", "disk", "two"), Time: at, Value: float64(i)},
				Sample{Key: key(t, "b", "dataset", "y"), Time: at, Value: 1}, Sample{Key: key(t, "c"), Time: at})
		}
	}
	sizes := func() []Size {
		t.Helper()
		list, err := s.Sizes(t.Context(), "dataset")
		if err != nil || len(list) != 2 || list[0].Value != "x" || list[1].Value != "y" {
			t.Fatalf("%v %v", list, err)
		}
		return list
	}
	put(0, 100)
	before := sizes()
	if x := before[0]; x.Series != 2 || x.Samples != 0 || x.Disk != 0 || x.Memory < 200 {
		t.Errorf("in memory: %+v", x)
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	flushed := sizes()
	x, y := flushed[0], flushed[1]
	if x.Series != 2 || x.Samples != 200 || y.Samples != 100 || x.Disk < 50 || y.Disk == 0 || y.Disk >= x.Disk || x.Memory != 0 {
		t.Errorf("in a block: %+v %+v", x, y)
	}
	put(100, 50)
	if x := sizes()[0]; x.Samples != 200 || x.Disk != flushed[0].Disk || x.Memory == 0 || x.Series != 2 {
		t.Errorf("in both: %+v", x)
	}
	if list, err := s.Sizes(t.Context(), "nothing"); err != nil || len(list) != 0 {
		t.Errorf("%v %v", list, err)
	}
	s.Close()
	s = openStore(t, o)
	defer s.Close()
	if got := sizes(); got[0].Samples+got[1].Samples < 300 {
		t.Errorf("opened again: %+v", got)
	}
}
