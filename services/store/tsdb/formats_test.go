package tsdb

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/platform/vfs"
)

var writeFormat = flag.Bool("write-format", false, "write the block of the present format into testdata")

// keptFormats are the blocks in testdata, each as the Cistern of its time wrote formatBatches.
var keptFormats = []int{2, 3, 4}

// formatBatches is of each kind of series some that have rollups and some that have none. It must never change: blocks of
// old formats in testdata hold it.
func formatBatches(t testing.TB) (batches [][]Sample, end time.Time) {
	r := rand.New(rand.NewPCG(91, 92))
	begin := start.Truncate(24 * time.Hour)
	draw := func() *histogram.Histogram {
		h := &histogram.Histogram{}
		for range 1 + r.IntN(3) {
			_ = h.Insert(math.Round(math.Exp(r.NormFloat64())*4)/10, uint64(1+r.IntN(60)))
		}
		return h
	}
	for minute := range 1000 {
		at := begin.Add(time.Duration(minute)*time.Minute + 3*time.Second).UnixMilli()
		batch := []Sample{
			{Key: key(t, "minutes"), Kind: Histogram, Time: at, Histogram: draw()},
			{Key: key(t, "counter_total"), Kind: Counter, Time: at, Value: float64(minute * minute)},
		}
		for second := range 60 {
			if minute < 25 {
				batch = append(batch, Sample{Key: key(t, "seconds"), Kind: Histogram, Time: at + int64(second)*1000, Histogram: draw()},
					Sample{Key: key(t, "gauge"), Kind: Gauge, Time: at + int64(second)*1000, Value: float64(r.IntN(9))})
			}
		}
		if minute%100 == 0 {
			_, natives := someNatives(r, 1)
			batch = append(batch, Sample{Key: key(t, "native", "host", fmt.Sprint(minute%3)), Kind: NativeHistogram, Time: at, Native: natives[0]})
		}
		batches = append(batches, batch)
	}
	return batches, begin.Add(1000 * time.Minute)
}

// TestOldFormats: blocks of every format that there ever was are read, found whole by verify, and merged into the
// present one without a change to what they answer.
func TestOldFormats(t *testing.T) {
	batches, end := formatBatches(t)
	if *writeFormat {
		memory := vfs.NewMemory()
		o, now := clockOptions(memory)
		now.set(end)
		o.OutOfOrder = 48 * time.Hour
		s := openStore(t, o)
		for _, batch := range batches {
			mustIngest(t, s, batch...)
		}
		mustFlush(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		content, err := vfs.ReadFile(memory, "/store/blocks/"+blockName(1))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join("testdata", "formats", fmt.Sprintf("%d.block", blockVersion))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, version := range keptFormats {
		t.Run(fmt.Sprint(version), func(t *testing.T) {
			m := newModel()
			for _, batch := range batches {
				m.add(batch)
			}
			content, err := os.ReadFile(filepath.Join("testdata", "formats", fmt.Sprintf("%d.block", version)))
			if err != nil {
				t.Fatal(err)
			}
			memory := vfs.NewMemory()
			if err := vfs.Replace(memory, "/store/blocks", "/store/blocks/"+blockName(1), content); err != nil {
				t.Fatal(err)
			}
			o, now := clockOptions(memory)
			now.set(end)
			s := openStore(t, o)
			defer s.Close()
			check := func(step string) {
				t.Helper()
				if difference := m.difference(read(t, s, 0, math.MaxInt64)); difference != "" {
					t.Fatalf("%s: %s", step, difference)
				}
				from := floorTo(batches[0][0].Time, 3_600_000) - 7_200_000
				for _, width := range []int64{5_400_000, 3_600_000, 600_000, 60_000, 1_237_000} {
					checkWindows(t, s, m, "minutes", from, width)
					checkWindows(t, s, m, "seconds", from, width)
				}
				if _, err := Verify(memory, "/store", func(f Finding) { t.Fatalf("%s: %+v", step, f) }); err != nil {
					t.Fatal(err)
				}
			}
			check("as it is")
			// A deletion of something that is in the block makes it be written anew.
			if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "counter_total")); err != nil {
				t.Fatal(err)
			}
			delete(m.numbers, string(key(t, "counter_total")))
			now.advance(time.Hour)
			if err := s.tidy(); err != nil {
				t.Fatal(err)
			}
			if list := s.Status().Blocks; len(list) != 1 || list[0].ID == "0000000000000001" {
				t.Fatalf("the block was not merged: %+v", list)
			}
			check("merged")
		})
	}
}

// checkWindows compares the windows of a name's series with the merged histograms of the model.
func checkWindows(t *testing.T, s *Store, m *model, name string, from, width int64) {
	t.Helper()
	into := make([]*histogram.Dense, 100)
	found, release, err := s.Select(t.Context(), from, from+width*int64(len(into))-1, equal(NameLabel, name))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	for _, one := range found {
		if _, err := one.Windows(t.Context(), from, width, into); err != nil {
			t.Fatal(err)
		}
	}
	want := make([]*histogram.Histogram, len(into))
	for at, h := range m.histograms[string(key(t, name))] {
		if i := (at - from) / width; at >= from && i < int64(len(into)) {
			if want[i] == nil {
				want[i] = &histogram.Histogram{}
			}
			want[i].Merge(h)
		}
	}
	for i := range into {
		if (into[i] == nil) != (want[i] == nil) || into[i] != nil && !sameMeasurements(into[i].Histogram(), want[i]) {
			t.Fatalf("%s: window %d of %d ms from %d is wrong", name, i, width, from)
		}
	}
}
