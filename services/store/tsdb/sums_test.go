package tsdb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/golden"
	"cistern/services/platform/vfs"
)

// timerBatches are timers of whole and of broken milliseconds, a second each, for three hours, among them seconds without a
// sum; and what each adds up to. They must never change: golden files hold them.
func timerBatches(t testing.TB) (batches [][]Sample, m *model) {
	r := rand.New(rand.NewPCG(93, 94))
	begin := start.Truncate(24 * time.Hour)
	m = newModel()
	for second := range 3 * 3600 {
		if second > 1200 && second%7 > 0 {
			continue
		}
		at := begin.Add(time.Duration(second) * time.Second).UnixMilli()
		var batch []Sample
		for i, digits := range []float64{1, 100} {
			h := &histogram.Histogram{}
			for range 1 + r.IntN(3) {
				ms := math.Round(math.Exp(1.2*r.NormFloat64())*30*digits) / digits
				record(h, ms/1000, uint64(1+r.IntN(4)), i == 1 || second%10 > 0)
			}
			batch = append(batch, Sample{Key: key(t, "timer", "digits", fmt.Sprint(digits)), Kind: Histogram, Time: at, Histogram: h})
		}
		ten := &histogram.Histogram{}
		record(ten, 0.010, uint64(1+second%5), true)
		batch = append(batch, Sample{Key: key(t, "ten"), Kind: Histogram, Time: at, Histogram: ten})
		batches = append(batches, batch)
		m.add(batch)
	}
	return batches, m
}

func timerOptions(memory *vfs.Memory) (Options, *clock) {
	o, now := clockOptions(memory)
	now.set(start.Truncate(24 * time.Hour).Add(3 * time.Hour))
	o.OutOfOrder = 48 * time.Hour
	return o, now
}

// checkSums compares seconds and windows with the model.
func checkSums(t *testing.T, s *Store, m *model, step string) {
	t.Helper()
	if difference := m.difference(read(t, s, 0, math.MaxInt64)); difference != "" {
		t.Fatalf("%s: %s", step, difference)
	}
	from := start.Truncate(24 * time.Hour).UnixMilli()
	for _, width := range []int64{3_600_000, 1_800_000, 600_000, 60_000, 1_237_000, 10_000} {
		for k, points := range m.histograms {
			into := make([]*histogram.Dense, 3*3_600_000/width+1)
			labels, err := ParseKey(k)
			if err != nil {
				t.Fatal(err)
			}
			var matchers []*Matcher
			for _, l := range labels {
				matchers = append(matchers, equal(l.Name, l.Value))
			}
			found, release, err := s.Select(t.Context(), from, from+4*3_600_000, matchers...)
			if err != nil || len(found) != 1 {
				t.Fatal(len(found), err)
			}
			if _, err := found[0].Windows(t.Context(), from-width/3, width, into); err != nil {
				t.Fatal(err)
			}
			release()
			want := make([]histogram.Histogram, len(into))
			for at, h := range points {
				if i := (at - from + width/3) / width; i < int64(len(want)) {
					want[i].Merge(h)
				}
			}
			for i := range into {
				got := histogram.Histogram{}
				if into[i] != nil {
					got = *into[i].Histogram()
				}
				if !sameMeasurements(&got, &want[i]) {
					t.Fatalf("%s: %s: window %d of %d ms: %v of %d, want %v of %d", step, FormatLabels(labels), i, width,
						got.Sum(), got.Count(), want[i].Sum(), want[i].Count())
				}
				if labels[0].Value == "ten" && got.Count() > 0 && math.Abs(got.Mean()-0.010) > 1e-17 {
					t.Fatalf("%s: the mean of 10 ms is %v", step, got.Mean())
				}
			}
		}
	}
}

// Sums are those of what came, in the head, in blocks and their rollups, after a kill, and when blocks are merged.
func TestSums(t *testing.T) {
	batches, m := timerBatches(t)
	memory := vfs.NewMemory()
	o, now := timerOptions(memory)
	s := openStore(t, o)
	for i, batch := range batches {
		mustIngest(t, s, batch...)
		if i == len(batches)/2 {
			mustFlush(t, s)
		}
	}
	checkSums(t, s, m, "half of it in a block")
	old := s
	o.FS = memory.Kill()
	s = openStore(t, o)
	_ = old.Close()
	defer s.Close()
	checkSums(t, s, m, "killed")
	mustFlush(t, s)
	checkSums(t, s, m, "flushed")
	// Late, and more of a second that is there.
	for _, batch := range batches[100:200] {
		mustIngest(t, s, batch...)
		m.add(batch)
	}
	checkSums(t, s, m, "late")
	mustFlush(t, s)
	now.advance(72 * time.Hour)
	before := s.Status().Blocks
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if after := s.Status().Blocks; len(before) < 2 || len(after) != 1 {
		t.Fatalf("%d blocks have become %d: they were not merged", len(before), len(after))
	}
	checkSums(t, s, m, "merged")
	if _, err := Verify(o.FS, "/store", func(f Finding) { t.Fatalf("%+v", f) }); err != nil {
		t.Fatal(err)
	}
}

// Where only rollups are left the sums are those of what was let go.
func TestSumsOfRollups(t *testing.T) {
	batches, m := timerBatches(t)
	o, now := timerOptions(vfs.NewMemory())
	o.Retention, o.RetentionMinute, o.RetentionHour = 24*time.Hour, 48*time.Hour, 1000*24*time.Hour
	s := openStore(t, o)
	defer s.Close()
	for _, batch := range batches {
		mustIngest(t, s, batch...)
	}
	mustFlush(t, s)
	for _, gone := range []time.Duration{36 * time.Hour, 36 * time.Hour} {
		now.advance(gone)
		if err := s.tidy(); err != nil {
			t.Fatal(err)
		}
		for k, points := range m.histograms {
			labels, err := ParseKey(k)
			if err != nil {
				t.Fatal(err)
			}
			found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, labels[0].Value), equal("digits", labelOf(labels, "digits")))
			if err != nil || len(found) != 1 {
				t.Fatal(len(found), err)
			}
			if found[0].HasHistograms() && found[0].histograms[0].record.lengths[trackRaw] > 0 {
				t.Fatal("the seconds were not let go")
			}
			from := start.Truncate(24 * time.Hour).UnixMilli()
			for hour := range int64(3) {
				whole, err := found[0].Whole(t.Context(), from+hour*3_600_000, from+(hour+1)*3_600_000-1)
				if err != nil {
					t.Fatal(err)
				}
				want := histogram.Histogram{}
				for at, h := range points {
					if (at-from)/3_600_000 == hour {
						want.Merge(h)
					}
				}
				if !sameMeasurements(whole, &want) {
					t.Errorf("%s: hour %d: %v, want %v", FormatLabels(labels), hour, whole.Sum(), want.Sum())
				}
			}
			release()
		}
	}
}

func labelOf(labels []Label, name string) string {
	for _, l := range labels {
		if l.Name == name {
			return l.Value
		}
	}
	return ""
}

// Stores with sums that other versions left are read whole.
func TestGoldenSums(t *testing.T) {
	batches, m := timerBatches(t)
	half := len(batches) * 9 / 10
	golden.Check(t, "sums", func(t *testing.T) golden.Files {
		memory := vfs.NewMemory()
		o, _ := timerOptions(memory)
		s := openStore(t, o)
		for i, batch := range batches {
			if i == half {
				mustFlush(t, s)
			}
			mustIngest(t, s, batch...)
		}
		files, err := golden.Dump(memory.Kill(), "/store", "journal", "blocks")
		if err != nil {
			t.Fatal(err)
		}
		delete(files, "LOCK")
		delete(files, "journal/LOCK")
		return files
	}, func(t *testing.T, files golden.Files) {
		memory := vfs.NewMemory()
		if err := golden.Load(memory, "/store", files); err != nil {
			t.Fatal(err)
		}
		o, _ := timerOptions(memory)
		s := openStore(t, o)
		defer s.Close()
		if status := s.Status(); len(status.Blocks) != 1 || status.HeadSamples == 0 {
			t.Errorf("%d blocks, %d samples in the head: the golden store has both", len(status.Blocks), status.HeadSamples)
		}
		checkSums(t, s, m, "opened")
		mustFlush(t, s)
		checkSums(t, s, m, "flushed")
	})
}

// What has no sums is written as it was, and a store does not open over entries of a newer Cistern: they are not damaged, and
// would be lost.
func TestNewerEntries(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := timerOptions(memory)
	s := openStore(t, o)
	plain, summed := &histogram.Histogram{}, &histogram.Histogram{}
	record(plain, 0.01, 1, false)
	record(summed, 0.01, 1, true)
	at := now.now().UnixMilli()
	versions := func() (list []byte) {
		reader := s.journal.Read(s.journal.Begin())
		defer reader.Close()
		for entry, err := reader.Next(); err == nil; entry, err = reader.Next() {
			list = append(list, entry.Data[0])
		}
		return list
	}
	mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Histogram, Time: at, Histogram: plain})
	mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Histogram, Time: at, Histogram: summed})
	if got := versions(); string(got) != string([]byte{entryVersionNo, entryVersion}) {
		t.Errorf("entries of the versions %v", got)
	}
	if _, err := s.journal.AppendDurable(journal.Fsync, []byte{entryVersion + 1, 0, 0, 0}); err != nil {
		t.Fatal(err)
	}
	o.FS = memory.Kill()
	_ = s.Close()
	if again, err := Open("/store", o); err == nil || !strings.Contains(err.Error(), "a newer Cistern wrote it") {
		t.Fatalf("%v", err)
	} else if again != nil {
		t.Error("it is open")
	}
}
