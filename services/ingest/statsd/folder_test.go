package statsd

import (
	"fmt"
	"io/fs"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"cistern/services/store/tsdb"
)

// benchPayload is what `bench storaged` sends in its section statsd (tests/bench/peers/cmd/bench/w_statsd.go): of a thousand names two thirds
// timers, of log-normal milliseconds with two decimals, and one third counters.
func benchPayload() [][]byte {
	r := rand.New(rand.NewPCG(3, 3))
	list := make([][]byte, 1<<16)
	for i := range list {
		name := r.IntN(1000)
		if i%3 < 2 {
			list[i] = fmt.Appendf(nil, "bench.time.%03d:%06.2f|ms", name%650, min(999.99, 20*math.Exp(1.3*r.NormFloat64())))
		} else {
			list[i] = fmt.Appendf(nil, "bench.count.%03d:000001|c", name%350)
		}
	}
	return list
}

// weight is a data folder after a flush, in bytes.
type weight struct {
	whole, index, rollups, journal int64
	samples, packets               int
}

// stored is the weight of what so many of these packets come to, so many in each second.
func stored(t testing.TB, perSecond, seconds int) (w weight) {
	t.Helper()
	folder := t.TempDir()
	now := time.Unix(1_700_000_000, 0)
	store, err := tsdb.Open(folder, tsdb.Options{Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	a := NewAggregator(store, Options{Clock: clock})
	s, packets := a.shard(), benchPayload()
	for range seconds {
		for left := perSecond; left > 0; {
			at := w.packets % len(packets)
			batch := packets[at:min(len(packets), at+batchPackets, at+left)]
			s.packets(batch, clock.Now())
			left, w.packets = left-len(batch), w.packets+len(batch)
		}
		if err := a.Flush(t.Context(), now); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Second)
	}
	if _, err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, b := range store.Status().Blocks {
		w.samples, w.index, w.rollups = w.samples+int(b.Samples), w.index+b.Index, w.rollups+b.Rollups
	}
	err = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		w.whole += info.Size()
		if filepath.Base(filepath.Dir(path)) == "journal" {
			w.journal += info.Size()
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// BenchmarkDataFolder says what the bench's payload weighs: at full speed for as long as that lasts, and at lower rates for longer.
func BenchmarkDataFolder(b *testing.B) {
	for _, c := range []struct{ perSecond, seconds int }{{500_000, 10}, {100_000, 60}, {10_000, 300}, {1_000, 1800}} {
		b.Run(fmt.Sprintf("%d a second, %d s", c.perSecond, c.seconds), func(b *testing.B) {
			for b.Loop() {
				w := stored(b, c.perSecond, c.seconds)
				n := float64(w.samples)
				b.ReportMetric(float64(w.whole)/n, "B/sample")
				b.ReportMetric(float64(w.index)/n, "index-B/sample")
				b.ReportMetric(float64(w.rollups)/n, "rollups-B/sample")
				b.ReportMetric(float64(w.journal)/n, "journal-B/sample")
				b.ReportMetric(float64(w.whole)/float64(w.packets), "B/packet")
			}
		})
	}
}

// What is in blocks is nowhere else: the folder weighs little more after a flush, and a value sent is less than a byte of it when many come.
func TestDataFolder(t *testing.T) {
	w := stored(t, 50_000, 20)
	if over := float64(w.whole) / float64(w.whole-w.journal); over > 1.02 {
		t.Errorf("the folder is %.2f times its blocks: %+v", over, w)
	}
	if w.samples < 19*1000 || w.samples > 20*1000 { // each name in each second
		t.Errorf("%d samples are stored", w.samples)
	}
	if each := float64(w.whole) / float64(w.packets); each > 1 {
		t.Errorf("%.2f bytes are stored for each packet: %+v", each, w)
	}
}
