package tsdb

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Windows at any alignment are the same as merging every histogram, whatever was read for them.
func TestWindows(t *testing.T) {
	r := rand.New(rand.NewPCG(71, 72))
	for _, interval := range []int{1, 7, 60, 600} {
		o, now := clockOptions(vfs.NewMemory())
		o.OutOfOrder = 30 * time.Hour
		s := openStore(t, o)
		model := map[int64]*histogram.Histogram{}
		add := func(at int64) {
			h := &histogram.Histogram{}
			for range 1 + r.IntN(6) {
				_ = h.Insert(math.Exp(r.NormFloat64()), uint64(1+r.IntN(50)))
			}
			mustIngest(t, s, Sample{Key: key(t, "h"), Kind: Histogram, Time: at, Histogram: h})
			at = floorTo(at, 1000)
			if model[at] == nil {
				model[at] = &histogram.Histogram{}
			}
			model[at].Merge(h)
		}
		for i := range 12_000 {
			now.advance(time.Duration(interval) * time.Second)
			add(now.UnixMilli())
			if r.IntN(500) == 0 {
				add(now.UnixMilli() - int64(r.IntN(3600_000)))
			}
			if i%2500 == 2400 {
				mustFlush(t, s)
			}
		}
		first, last := start.UnixMilli(), now.UnixMilli()
		for _, merged := range []bool{false, true} {
			if merged {
				now.advance(20 * 24 * time.Hour)
				if err := s.tidy(); err != nil {
					t.Fatal(err)
				}
			}
			for range 40 {
				from := first - 5000 + r.Int64N(last-first)
				width := 1 + r.Int64N((last-from)/3+2)
				switch r.IntN(3) {
				case 0:
					from, width = floorTo(from, 60_000), 60_000*(1+r.Int64N(120))
				case 1:
					from, width = floorTo(from, 3600_000), 3600_000
				}
				into := make([]*histogram.Dense, min(200, (last-from)/width+2))
				found, release, err := s.Select(t.Context(), from, from+width*int64(len(into))-1)
				if err != nil {
					t.Fatal(err)
				}
				for _, one := range found {
					if _, err := one.Windows(t.Context(), from, width, into); err != nil {
						t.Fatal(err)
					}
				}
				release()
				want := make([]*histogram.Histogram, len(into))
				for at, h := range model {
					if i := (at - from) / width; at >= from && i < int64(len(into)) {
						if want[i] == nil {
							want[i] = &histogram.Histogram{}
						}
						want[i].Merge(h)
					}
				}
				for i := range into {
					if (into[i] == nil) != (want[i] == nil) || into[i] != nil && !into[i].Histogram().Equal(want[i]) {
						t.Fatalf("every %d s, merged %v: window %d of %d ms from %d is wrong", interval, merged, i, width, from)
					}
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// When the samples are let go their rollups answer: for numbers by what is asked, for histograms whole.
func TestRetentionByGranularity(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	o.Retention, o.RetentionMinute, o.RetentionHour = 10*24*time.Hour, 30*24*time.Hour, 60*24*time.Hour
	s := openStore(t, o)
	defer s.Close()
	now.set(floorHour(start))
	begin := now.UnixMilli()
	total := &histogram.Histogram{}
	const hours = 3
	for i := range hours * 360 { // every ten seconds
		h := &histogram.Histogram{}
		_ = h.Insert(float64(1+i%7), 2)
		total.Merge(h)
		_, natives := someNatives(rand.New(rand.NewPCG(1, uint64(i))), 1)
		mustIngest(t, s,
			Sample{Key: key(t, "g"), Kind: Gauge, Time: now.UnixMilli(), Value: float64(i % 6)},
			Sample{Key: key(t, "c_total"), Kind: Counter, Time: now.UnixMilli(), Value: float64(i)},
			Sample{Key: key(t, "native"), Kind: NativeHistogram, Time: now.UnixMilli(), Native: natives[0]},
			Sample{Key: key(t, "h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: h})
		now.advance(10 * time.Second)
	}
	mustFlush(t, s)
	answer := func(name string, aggregate Aggregate) (times []int64, values []float64) {
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, name))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		defer release()
		it := found[0].NumbersAs(0, math.MaxInt64, aggregate)
		for it.Next() {
			at, v := it.At()
			times, values = append(times, at-begin), append(values, v)
		}
		if it.Err() != nil {
			t.Fatal(it.Err())
		}
		return times, values
	}
	whole := func() *histogram.Histogram {
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, "h"))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		defer release()
		h, err := found[0].Whole(t.Context(), begin-1000, begin+dayMillis)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	check := func(step string, records int, width int64, mean, least, most, last float64) {
		t.Helper()
		if err := s.tidy(); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name      string
			aggregate Aggregate
			second    float64 // the second record's value
		}{{"g", Default, mean}, {"g", Minimum, least}, {"g", Maximum, most}, {"c_total", Default, last}} {
			times, values := answer(c.name, c.aggregate)
			if len(times) != records || times[1]-times[0] != width || values[1] != c.second {
				t.Fatalf("%s: %s: %d records, %v, %v", step, c.name, len(times), times[:2], values[:2])
			}
		}
		if !whole().Equal(total) {
			t.Fatalf("%s: histograms are missing", step)
		}
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, "native"))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		defer release()
		it, n := found[0].Natives(0, math.MaxInt64), 0
		for it.Next() {
			n++
		}
		if n != records || it.Err() != nil {
			t.Fatalf("%s: %d native histograms, %v", step, n, it.Err())
		}
	}
	check("samples", hours*360, 10_000, 1, 1, 1, 1)
	now.advance(11 * 24 * time.Hour)
	check("minutes", hours*60, 60_000, 2.5, 0, 5, 11)
	if s.Status().Blocks[0].Samples != 0 {
		t.Fatal("the samples are still there")
	}
	now.advance(20 * 24 * time.Hour)
	check("hours", hours, 3600_000, 2.5, 0, 5, 719)
	now.advance(30 * 24 * time.Hour)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Status().Blocks); n != 0 {
		t.Fatalf("%d blocks are left", n)
	}
}

func floorHour(t time.Time) time.Time { return t.Truncate(time.Hour) }

// Deleted samples are not found at once, gone from the disk after tidying, and new ones of the same time stay.
func TestDelete(t *testing.T) {
	memory := vfs.NewMemory()
	s := openStore(t, testOptions(memory))
	at := start.UnixMilli()
	for i := range int64(10) {
		mustIngest(t, s, Sample{Key: key(t, "a", "host", "one"), Kind: Gauge, Time: at + i, Value: 1},
			Sample{Key: key(t, "a", "host", "two"), Kind: Gauge, Time: at + i, Value: 1})
		if i == 4 {
			mustFlush(t, s)
		}
	}
	if err := s.Delete(t.Context(), 0, 5); !errors.Is(err, ErrDeletesAll) {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), at+3, at+6, equal("host", "one")); err != nil {
		t.Fatal(err)
	}
	count := func(host string) int {
		return len(read(t, s, 0, math.MaxInt64).numbers[string(key(t, "a", "host", host))])
	}
	check := func(one, two int) {
		t.Helper()
		if a, b := count("one"), count("two"); a != one || b != two {
			t.Fatalf("%d and %d samples, want %d and %d", a, b, one, two)
		}
	}
	check(6, 10)
	mustIngest(t, s, Sample{Key: key(t, "a", "host", "one"), Kind: Gauge, Time: at + 5, Value: 2})
	check(7, 10)
	mustFlush(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, testOptions(memory))
	check(7, 10)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	check(7, 10)
	status := s.Status()
	samples := int64(0)
	for _, b := range status.Blocks {
		samples += b.Samples
	}
	if status.Deletions != 0 || samples != 17 {
		t.Fatalf("%d deletions are left, and %d samples", status.Deletions, samples)
	}
	// All of it, so that nothing is left but the blocks' claims.
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "a")); err != nil {
		t.Fatal(err)
	}
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	check(0, 0)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, testOptions(memory))
	defer s.Close()
	check(0, 0)
}

// Remote writers' bytes find their series whether they are in order or not.
func TestRawKeys(t *testing.T) {
	s := openStore(t, testOptions(vfs.NewMemory()))
	defer s.Close()
	field := func(tag byte, text string) []byte { return append([]byte{tag, byte(len(text))}, text...) }
	label := func(name, value string) []byte {
		return field(keyLabel, string(field(keyName, name))+string(field(keyValue, value)))
	}
	join := func(parts ...[]byte) []byte { return slices.Concat(parts...) }
	sorted := join(label("__name__", "x_total"), label("a", "1"), label("b", "2"))
	for i, raw := range [][]byte{sorted, join(label("b", "2"), label("a", "1"), label("__name__", "x_total")),
		join(label("__name__", "x_total"), label("a", "1"), label("b", "2"), label("c", "")), sorted} {
		for range 2 {
			mustIngest(t, s, Sample{Key: raw, Raw: true, Time: start.UnixMilli() + int64(i), Value: float64(i)})
		}
	}
	got := read(t, s, 0, math.MaxInt64)
	if len(got.numbers) != 1 || len(got.numbers[string(sorted)]) != 4 {
		t.Fatalf("%v", got.numbers)
	}
	for name, raw := range map[string][]byte{
		"nameless": label("a", "1"), "twice": join(label("__name__", "x"), label("a", "1"), label("a", "2")),
		"cut": sorted[:len(sorted)-1], "not UTF-8": join(label("__name__", "x"), label("a", "\xff")), "empty": {},
	} {
		rejected, err := s.Ingest(t.Context(), "test", []Sample{{Key: raw, Raw: true, Time: start.UnixMilli()}}, journal.Buffered)
		if err != nil || len(rejected) != 1 {
			t.Errorf("%s: %v %v", name, rejected, err)
		}
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64)
	if err != nil || len(found) != 1 || found[0].Kind != Counter {
		t.Fatalf("%v %v", found, err)
	}
	release()
}

// The memory's bound: new series are refused first, then samples; a flush makes room again.
func TestMemoryLimit(t *testing.T) {
	o := testOptions(vfs.NewMemory())
	o.HeadBytes = 400_000
	s := openStore(t, o)
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	reasons := map[Reason]int{}
	s.flushing.Lock() // the disk takes its time
	defer s.flushing.Unlock()
	for i := range 4000 {
		rejected, err := s.Ingest(t.Context(), "test", []Sample{
			{Key: key(t, "a", "i", fmt.Sprint(i)), Kind: Gauge, Time: start.UnixMilli(), Value: 1}}, journal.Buffered)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range rejected {
			reasons[r.Reason]++
		}
	}
	if reasons[MemoryLimit] == 0 || len(reasons) != 1 {
		t.Fatalf("%v", reasons)
	}
	// The series that are there go on.
	mustIngest(t, s, Sample{Key: key(t, "a", "i", "0"), Kind: Gauge, Time: start.UnixMilli() + 1, Value: 1})
	if n := s.Status().HeadBytes; n > o.HeadBytes {
		t.Fatalf("%d bytes are held", n)
	}
}

// Metadata and exemplars outlive a kill and a flush.
func TestDescriptions(t *testing.T) {
	memory := vfs.NewMemory()
	s := openStore(t, testOptions(memory))
	k := key(t, "requests_total", "host", "one")
	for i := range int64(3) {
		s.Describe([]Metadata{{Name: "requests_total", Type: "counter", Help: "how many"}})
		s.Exemplify(t.Context(), []Exemplar{{Key: k, Labels: []Label{{"trace_id", fmt.Sprint(i)}}, Value: math.Inf(1), Time: start.UnixMilli() + i}})
		s.Exemplify(t.Context(), []Exemplar{{Key: k, Labels: []Label{{"trace_id", fmt.Sprint(i)}}, Value: math.Inf(1), Time: start.UnixMilli() + i}})
		mustIngest(t, s, Sample{Key: k, Kind: Counter, Time: start.UnixMilli() + i, Value: 1})
		if i == 1 {
			mustFlush(t, s)
		}
		memory = memory.Kill()
		old := s
		s = openStore(t, testOptions(memory))
		_ = old.Close()
		sets := s.Exemplars(t.Context(), 0, math.MaxInt64, equal("host", "one"))
		if len(sets) != 1 || int64(len(sets[0].Exemplars)) != i+1 || !math.IsInf(sets[0].Exemplars[0].Value, 1) {
			t.Fatalf("%d: %+v", i, sets)
		}
		if m := s.Metadata()["requests_total"]; m.Type != "counter" || m.Help != "how many" {
			t.Fatalf("%+v", m)
		}
	}
	if sets := s.Exemplars(t.Context(), 0, math.MaxInt64, equal("host", "two")); len(sets) != 0 {
		t.Fatalf("%+v", sets)
	}
	_ = s.Close()
}

// Series that ended leave room for the exemplars of those that begin.
func TestExemplarsOfNewSeries(t *testing.T) {
	s := openStore(t, testOptions(vfs.NewMemory()))
	defer s.Close()
	var batch []Exemplar
	for i := range int64(maxExemplars + 50) {
		batch = append(batch, Exemplar{Key: key(t, "c_total", "pod", fmt.Sprint(i/50)), Labels: []Label{{"trace_id", "x"}}, Value: 1, Time: start.UnixMilli() + i})
	}
	s.Exemplify(t.Context(), batch)
	if sets := s.Exemplars(t.Context(), 0, math.MaxInt64, equal("pod", fmt.Sprint(maxExemplars/50))); len(sets) != 1 || len(sets[0].Exemplars) != 50 {
		t.Errorf("%d series", len(sets))
	}
	if sets := s.Exemplars(t.Context(), 0, math.MaxInt64, equal("pod", "0")); len(sets) != 0 {
		t.Errorf("%d of the oldest series", len(sets))
	}
	count := 0
	for _, one := range s.Exemplars(t.Context(), 0, math.MaxInt64, equal(NameLabel, "c_total")) {
		count += len(one.Exemplars)
	}
	if count > maxExemplars || count < maxExemplars*8/10 || count != s.described.count {
		t.Errorf("%d exemplars, %d counted", count, s.described.count)
	}
}

// Blocks of which only the hours are left are not merged with those that have their minutes: of the whole then only the
// minutes would be found.
func TestHoursAreFoundBesideMinutes(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := time.Duration(dayMillis) * time.Millisecond
	o.Retention, o.RetentionMinute, o.RetentionHour = 2*day, 9*day, 1000*day
	s := openStore(t, o)
	defer s.Close()
	at := time.UnixMilli(floorTo(start.UnixMilli(), 8*dayMillis))
	for i := range 6 {
		for hour := range 4 {
			now.set(at.Add(time.Duration(i)*day + time.Duration(hour)*time.Hour))
			mustIngest(t, s, Sample{Key: key(t, "n"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
		}
		mustFlush(t, s)
	}
	now.set(at.Add(12*day + 12*time.Hour)) // the first days' minutes are due, the last ones' are not
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if n := len(read(t, s, 0, math.MaxInt64).numbers[string(key(t, "n"))]); n != 24 {
		t.Errorf("%d of 24 hours are found", n)
	}
}
