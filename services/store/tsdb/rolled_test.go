package tsdb

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/platform/vfs"
)

// Two blocks have a part each of the same minute and hour, because one was written in the middle of it, or something came
// late: what stands for it is of both, before they are merged and after.
func TestRecordsOfTwoBlocks(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour, o.OutOfOrder = 10*day, 30*day, 60*day, 3*time.Hour
	s := openStore(t, o)
	defer s.Close()
	now.set(floorHour(start))
	begin := now.UnixMilli()
	put := func(second int64, value float64) {
		t.Helper()
		at := begin + second*1000
		_, natives := someNatives(rand.New(rand.NewPCG(1, 1)), 1)
		one := natives[0].Copy()
		one.CounterResetHint = gaugeHint
		mustIngest(t, s, Sample{Key: key(t, "g"), Kind: Gauge, Time: at, Value: value}, Sample{Key: key(t, "c_total"), Kind: Counter, Time: at, Value: 1000 + float64(second)},
			Sample{Key: key(t, "n"), Kind: NativeHistogram, Time: at, Native: one})
	}
	now.advance(2 * time.Hour)
	for i := int64(0); i < 30; i++ {
		put(i, 10)
	}
	put(3600, 5)
	mustFlush(t, s)
	put(40, 1)
	put(50, 30)
	mustFlush(t, s)
	put(35, 10) // in between
	put(45, 10)
	mustFlush(t, s)
	now.advance(11 * day)
	for range 3 { // the samples of all three go, one after the other
		s.flushing.Lock()
		next := s.plan()
		if next == nil || next.reason != "age of the samples" {
			t.Fatalf("%+v", next)
		}
		if err := s.run(next); err != nil {
			t.Fatal(err)
		}
		s.flushing.Unlock()
	}
	check := func(step string, blocks int) {
		t.Helper()
		if n := len(s.Status().Blocks); n != blocks {
			t.Fatalf("%s: %d blocks", step, n)
		}
		for _, c := range []struct {
			name      string
			aggregate Aggregate
			want      float64
		}{{"g", Minimum, 1}, {"g", Maximum, 30}, {"g", Default, (30*10 + 1 + 30 + 20) / 34.0}, {"g", Sum, 351}, {"g", Count, 34},
			{"c_total", Default, 1050}, {"c_total", Last, 1050}, {"c_total", Growth, 1050}} {
			found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, c.name))
			if err != nil || len(found) != 1 {
				t.Fatal(len(found), err)
			}
			it := found[0].NumbersAs(0, math.MaxInt64, c.aggregate)
			if !it.Next() {
				t.Fatal(it.Err())
			}
			if at, v := it.At(); at != begin || math.Abs(v-c.want) > 1e-9 {
				t.Errorf("%s: %s as %d: %g, want %g", step, c.name, c.aggregate, v, c.want)
			}
			if it.Next(); it.Next() {
				t.Errorf("%s: %s has more than two records", step, c.name)
			}
			release()
		}
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, "n"))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		defer release()
		_, natives := someNatives(rand.New(rand.NewPCG(1, 1)), 1)
		it := found[0].Natives(0, math.MaxInt64)
		if !it.Next() {
			t.Fatal(it.Err())
		}
		if _, h := it.At(); h.Count != 34*natives[0].Count {
			t.Errorf("%s: a native histogram of %g, want %g", step, h.Count, 34*natives[0].Count)
		}
	}
	check("three blocks", 3)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	check("one block", 1)
	now.advance(20 * day)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	check("hours", 1)
}

// A counter that began again within a record has grown to its greatest value before, and from nothing to its last one.
func TestGrowthWithinARecord(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour = 10*day, 30*day, 60*day
	s := openStore(t, o)
	defer s.Close()
	now.set(floorHour(start))
	begin := now.UnixMilli()
	for i := range 180 { // a minute each; it begins again in the middle of the second minute of an hour
		v := float64(i)
		if i >= 90 {
			v = float64(i - 90)
		}
		mustIngest(t, s, Sample{Key: key(t, "c_total"), Kind: Gauge, Time: now.UnixMilli(), Value: v})
		now.advance(time.Minute)
	}
	mustFlush(t, s)
	now.advance(31 * day)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, "c_total"))
	if err != nil || len(found) != 1 {
		t.Fatal(len(found), err)
	}
	defer release()
	var memory NumberMemory
	if err := found[0].ReadNumbers(0, math.MaxInt64, Growth, 1000, &memory); err != nil {
		t.Fatal(err)
	}
	hour := int64(3600_000)
	wantTimes, want := []int64{0, hour - 1, hour, 2 * hour}, []float64{59, 89, 29, 89}
	for i, at := range memory.AllTimes() {
		if i >= len(want) || at != begin+wantTimes[i] || memory.Values[i] != want[i] {
			t.Fatalf("%v %v, want %v %v", memory.Times, memory.Values, wantTimes, want)
		}
	}
	if len(memory.Values) != len(want) {
		t.Fatalf("%v, want %v", memory.Values, want)
	}
}

// A block of which everything was deleted is there to say that it was; nothing of it is rolled up.
func TestGranularityOfNothing(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	for range 10 {
		mustIngest(t, s, Sample{Key: key(t, "g"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
		now.advance(time.Second)
	}
	mustFlush(t, s)
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "g")); err != nil {
		t.Fatal(err)
	}
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if got := s.Granularity(0, math.MaxInt64); got != 0 {
		t.Errorf("%v", got)
	}
	if values, err := s.LabelValues(t.Context(), NameLabel, 0, math.MaxInt64); err != nil || len(values) != 0 {
		t.Errorf("%v, %v", values, err)
	}
}

// Of a time in which there is nothing there are no labels, and a series that was deleted as a whole is not there any more,
// also before its block was written again.
func TestLabelsOfATime(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	begin := now.UnixMilli()
	mustIngest(t, s, Sample{Key: key(t, "g", "job", "a"), Kind: Gauge, Time: begin, Value: 1})
	check := func(step string, from, to int64, want int) {
		t.Helper()
		for _, matchers := range [][]*Matcher{nil, {equal("job", "a")}} {
			names, err := s.LabelNames(t.Context(), from, to, matchers...)
			if err != nil || len(names) != 2*want {
				t.Errorf("%s: %v, %v", step, names, err)
			}
			values, err := s.LabelValues(t.Context(), "job", from, to, matchers...)
			if err != nil || len(values) != want {
				t.Errorf("%s: %v, %v", step, values, err)
			}
		}
		found, release, err := s.Select(t.Context(), from, to, equal("job", "a"))
		if err != nil || len(found) != want {
			t.Errorf("%s: %d series, %v", step, len(found), err)
		}
		release()
	}
	for _, step := range []string{"head", "block"} {
		check(step, begin-10_000, begin-1, 0)
		check(step, begin, begin, 1)
		mustFlush(t, s)
	}
	check("block", begin+1, begin+10_000, 0)
	if err := s.Delete(t.Context(), begin-10, begin+10, equal("job", "a")); err != nil {
		t.Fatal(err)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal("job", "a"))
	if err != nil || len(found) != 0 {
		t.Errorf("%d series are left of a deleted one, %v", len(found), err)
	}
	release()
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	check("tidied", 0, math.MaxInt64, 0)
}

// Two senders of one counter, of which one is a minute behind: as its blocks are rolled up one after the other no query sees
// it begin again.
func TestGrowthOfALateCounter(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour, o.OutOfOrder = day, 2*day, 100*day, 3*time.Hour
	s := openStore(t, o)
	defer s.Close()
	now.set(start.Truncate(day))
	const minutes = 30 * 60
	for i := range int64(minutes) {
		for _, late := range []int64{0, 61_000, 7_300_000} {
			if at := i*60_000 - late; at >= 0 && (late < 100_000 || i%40 == 0) {
				mustIngest(t, s, Sample{Key: key(t, "c_total"), Kind: Counter, Time: start.Truncate(day).UnixMilli() + at, Value: float64(at)})
			}
		}
		if i%97 == 96 {
			mustFlush(t, s)
		}
		now.advance(time.Minute)
	}
	mustFlush(t, s)
	seen := map[time.Duration]bool{}
	for range 100 {
		if err := s.tidy(); err != nil {
			t.Fatal(err)
		}
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, "c_total"))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		var memory NumberMemory
		if err := found[0].ReadNumbers(0, math.MaxInt64, Growth, math.MaxInt32, &memory); err != nil {
			t.Fatal(err)
		}
		for i := 1; i < len(memory.Values); i++ {
			if memory.Values[i] < memory.Values[i-1] || memory.AllTimes()[i] <= memory.AllTimes()[i-1] {
				t.Fatalf("%v: %v at %v after %v at %v", now.now(), memory.Values[i], time.UnixMilli(memory.Times[i]).UTC(), memory.Values[i-1], time.UnixMilli(memory.Times[i-1]).UTC())
			}
		}
		seen[s.Granularity(0, math.MaxInt64)] = true
		release()
		now.advance(43 * time.Minute)
	}
	if !seen[time.Minute] || !seen[time.Hour] {
		t.Errorf("%v", seen)
	}
}

// The same of a running total of native histograms.
func TestGrowthOfLateNatives(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour, o.OutOfOrder = day, 2*day, 100*day, 3*time.Hour
	s := openStore(t, o)
	defer s.Close()
	now.set(start.Truncate(day))
	for i := range int64(30 * 60) {
		for _, late := range []int64{0, 61_000, 7_300_000} {
			if at := i*60_000 - late; at >= 0 && (late < 100_000 || i%40 == 0) {
				h := &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128, ZeroCount: float64(at), Count: float64(at)}
				mustIngest(t, s, Sample{Key: key(t, "n"), Kind: NativeHistogram, Time: start.Truncate(day).UnixMilli() + at, Native: h})
			}
		}
		if i%97 == 96 {
			mustFlush(t, s)
		}
		now.advance(time.Minute)
	}
	mustFlush(t, s)
	for range 100 {
		if err := s.tidy(); err != nil {
			t.Fatal(err)
		}
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, "n"))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		before, last, n := -1.0, int64(0), 0
		for it := found[0].Natives(0, math.MaxInt64); it.Next(); n++ {
			at, h := it.At()
			if h.Count < before || at <= last {
				t.Fatalf("%v: %v at %v after %v", now.now(), h.Count, time.UnixMilli(at).UTC(), before)
			}
			before, last = h.Count, at
		}
		if n < 20 {
			t.Fatalf("%d histograms", n)
		}
		release()
		now.advance(43 * time.Minute)
	}
}
