package tsdb

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/labels"
)

var errCut = errors.New("the power is gone")

// The power is cut at every operation on the disk: what was acknowledged is there, and nothing is there twice — which
// the counts of histograms would show.
func TestPowerCutAtEveryOperation(t *testing.T) {
	random := rand.New(rand.NewPCG(21, 22))
	for cut := 0; ; cut++ {
		memory := vfs.NewMemory()
		operations := 0
		o := testOptions(vfs.Watch(memory, func(string, string, int) error {
			if operations++; operations > cut {
				return errCut
			}
			return nil
		}))
		o.SegmentBytes = 300
		acknowledged, attempted := newModel(), newModel()
		work := func() error {
			s, err := Open("/store", o)
			if err != nil {
				return err
			}
			defer func() { close(s.stop); s.done.Wait() }()
			for i := range 12 {
				h := &histogram.Histogram{}
				_ = h.Insert(1, 1)
				batch := []Sample{
					{Key: key(t, "n", "i", fmt.Sprint(i%2)), Kind: Counter, Time: start.UnixMilli() + int64(i)*1000, Value: float64(i)},
					{Key: key(t, "h"), Kind: Histogram, Time: start.UnixMilli() + int64(i/2)*1000, Histogram: h},
				}
				attempted.add(batch)
				if _, err := s.Ingest(context.Background(), "test", batch, journal.Fsync); err != nil {
					return err
				}
				acknowledged.add(batch)
				if i%4 == 3 {
					if _, err := s.Flush(); err != nil {
						return err
					}
				}
			}
			return nil
		}
		err := work()
		for _, after := range []*vfs.Memory{memory.Kill(), memory.PowerCut(nil),
			memory.PowerCut(func(_ string, n int) int { return random.IntN(n + 1) })} {
			s, openErr := Open("/store", testOptions(after))
			if openErr != nil {
				t.Fatalf("cut at %d: %v", cut, openErr)
			}
			got := read(t, s, 0, math.MaxInt64)
			if d := got.difference(acknowledged); d != "" {
				// What was under way may be there too; nothing beyond it.
				if got.difference(attempted) != "" {
					t.Fatalf("cut at %d: %s", cut, d)
				}
			}
			if err := s.Close(); err != nil {
				t.Fatalf("cut at %d: %v", cut, err)
			}
		}
		if err == nil {
			if cut < 60 {
				t.Fatalf("only %d operations", cut)
			}
			return
		}
		if !errors.Is(err, errCut) {
			t.Fatalf("cut at %d: %v", cut, err)
		}
	}
}

// The order of the steps by which a block comes into being and the journal's part goes.
func TestDurableStepsOfAFlush(t *testing.T) {
	var log vfs.Log
	s := openStore(t, testOptions(vfs.Watch(vfs.NewMemory(), log.Before)))
	batch := []Sample{{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli(), Value: 1}}
	log.Take()
	if _, err := s.Ingest(t.Context(), "test", batch, journal.Fsync); err != nil {
		t.Fatal(err)
	}
	segment := "0000000000000000.journal"
	want := []string{"write " + segment + " 45", "sync " + segment}
	if got := log.Take(); !slices.Equal(got, want) {
		t.Errorf("ingesting: %q, want %q", got, want)
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	block := "0000000000000001.block"
	want = []string{"create " + block + ".tmp", "write " + block + ".tmp", "sync " + block + ".tmp",
		"rename " + block + ".tmp " + block, "syncdir blocks",
		"create head.subscriber.tmp", "write head.subscriber.tmp 20", "sync head.subscriber.tmp",
		"rename head.subscriber.tmp head.subscriber", "syncdir journal"}
	got := log.Take()
	for i, line := range got { // how large the block is, is the codec's
		if rest, ok := strings.CutPrefix(line, "write "+block+".tmp "); ok && rest != "0" {
			got[i] = "write " + block + ".tmp"
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("flushing: %q, want %q", got, want)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestRefusals(t *testing.T) {
	o := testOptions(vfs.NewMemory())
	o.Retention, o.RetentionHour, o.SeriesBurst, o.SeriesPerSecond = 24*time.Hour, 24*time.Hour, 6, 1
	s := openStore(t, o)
	defer s.Close()
	now := start.UnixMilli()
	one := &histogram.Histogram{}
	_ = one.Insert(1, 1)
	hour := time.Hour.Milliseconds()
	batch := []Sample{
		{Key: key(t, "a"), Kind: Gauge, Time: now, Value: 1},
		{Key: key(t, "a"), Kind: Gauge, Time: now - 25*hour, Value: 1},
		{Key: key(t, "a"), Kind: Gauge, Time: now + hour, Value: 1},
		{Key: key(t, "a"), Kind: Histogram, Time: now, Histogram: one},
		{Key: key(t, "h"), Kind: Histogram, Time: now, Histogram: one},
		{Key: key(t, "h"), Kind: Gauge, Time: now},
		{Key: key(t, "e"), Kind: Histogram, Time: now, Histogram: &histogram.Histogram{}},
		{Key: key(t, "back"), Kind: Gauge, Time: now - 5*hour}, // far back, but nothing is ahead of it
	}
	rejected, err := s.Ingest(t.Context(), "test", batch, journal.Fsync)
	if err != nil {
		t.Fatal(err)
	}
	want := map[int]Reason{1: TooOld, 2: TooNew, 3: TypeConflict, 5: TypeConflict, 6: EmptySample}
	got := map[int]Reason{}
	for _, r := range rejected {
		got[r.Index] = r.Reason
	}
	if !maps.Equal(got, want) {
		t.Fatalf("%v, want %v", got, want)
	}
	rejected, err = s.Ingest(t.Context(), "test", []Sample{{Key: key(t, "a"), Kind: Gauge, Time: now - 2*hour}}, journal.Fsync)
	if err != nil || len(rejected) != 1 || rejected[0].Reason != OutOfOrder {
		t.Fatalf("%v %v", rejected, err)
	}
	batch = nil
	for i := range 10 {
		batch = append(batch, Sample{Key: key(t, fmt.Sprintf("new%d", i)), Kind: Gauge, Time: now})
	}
	rejected, err = s.Ingest(t.Context(), "test", batch, journal.Fsync)
	if err != nil || len(rejected) != 7 || rejected[0].Reason != SeriesRate {
		t.Fatalf("%v %v", rejected, err)
	}
	status := s.Status()
	if status.Rejected[SeriesRate] != 7 || status.Accepted["test"] != 6 || status.Series != 6 {
		t.Fatalf("%+v", status)
	}
	// Series that were there before the flush are no new ones.
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	rejected, err = s.Ingest(t.Context(), "test", []Sample{{Key: key(t, "a"), Kind: Gauge, Time: now}}, journal.Fsync)
	if err != nil || len(rejected) != 0 {
		t.Fatalf("%v %v", rejected, err)
	}
}

func TestMatchers(t *testing.T) {
	s := openStore(t, testOptions(vfs.NewMemory()))
	defer s.Close()
	ingest := func(keys ...[]byte) {
		for _, k := range keys {
			if _, err := s.Ingest(t.Context(), "test", []Sample{{Key: k, Kind: Gauge, Time: start.UnixMilli()}}, journal.Buffered); err != nil {
				t.Fatal(err)
			}
		}
	}
	ingest(key(t, "a", "host", "one", "dc", "east"), key(t, "a", "host", "two"))
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	ingest(key(t, "a", "host", "three", "dc", "west"), key(t, "a", "host", "two"), key(t, "b", "host", "one"))
	for _, c := range []struct {
		matchers []*Matcher
		want     string
	}{
		{nil, "a/one a/three a/two b/one"},
		{[]*Matcher{equal("host", "one")}, "a/one b/one"},
		{[]*Matcher{equal(NameLabel, "a"), labels.MustNewMatcher(labels.MatchNotEqual, "host", "two")}, "a/one a/three"},
		{[]*Matcher{labels.MustNewMatcher(labels.MatchRegexp, "host", "t.*")}, "a/three a/two"},
		{[]*Matcher{labels.MustNewMatcher(labels.MatchRegexp, "host", "one|two")}, "a/one a/two b/one"},
		{[]*Matcher{labels.MustNewMatcher(labels.MatchNotRegexp, "host", "t.*")}, "a/one b/one"},
		{[]*Matcher{equal(NameLabel, "a"), equal("dc", "")}, "a/two"},
		{[]*Matcher{equal(NameLabel, "a"), labels.MustNewMatcher(labels.MatchRegexp, "dc", ".*")}, "a/one a/three a/two"},
		{[]*Matcher{labels.MustNewMatcher(labels.MatchRegexp, "dc", ".+")}, "a/one a/three"},
		{[]*Matcher{labels.MustNewMatcher(labels.MatchNotEqual, "dc", "")}, "a/one a/three"},
		{[]*Matcher{equal("host", "none")}, ""},
	} {
		found, release, err := s.Select(t.Context(), 0, math.MaxInt64, c.matchers...)
		if err != nil {
			t.Fatal(err)
		}
		release()
		var got []string
		for _, one := range found {
			m := map[string]string{}
			for _, l := range one.Labels() {
				m[l.Name] = l.Value
			}
			got = append(got, m[NameLabel]+"/"+m["host"])
		}
		slices.Sort(got)
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.matchers, got, c.want)
		}
	}
	names, err := s.LabelNames(t.Context(), 0, math.MaxInt64)
	if err != nil || !slices.Equal(names, []string{"__name__", "dc", "host"}) {
		t.Errorf("%v %v", names, err)
	}
	values, err := s.LabelValues(t.Context(), "host", 0, math.MaxInt64, equal("dc", "west"))
	if err != nil || !slices.Equal(values, []string{"three"}) {
		t.Errorf("%v %v", values, err)
	}
}

func equal(name, value string) *Matcher { return labels.MustNewMatcher(labels.MatchEqual, name, value) }

// A block that is damaged is set aside, and the rest is served; one whose inside is damaged says so when it is asked.
func TestDamagedBlocks(t *testing.T) {
	memory := vfs.NewMemory()
	s := openStore(t, testOptions(memory))
	for i := range 3 {
		batch := []Sample{{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli() + int64(i), Value: float64(i)}}
		if _, err := s.Ingest(t.Context(), "test", batch, journal.Fsync); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage := func(name string, at int) {
		path := "/store/blocks/" + name
		content, err := vfs.ReadFile(memory, path)
		if err != nil {
			t.Fatal(err)
		}
		content[at] ^= 0x10
		if err := vfs.Replace(memory, "/store/blocks", path, content); err != nil {
			t.Fatal(err)
		}
	}
	damage("0000000000000002.block", 3)
	s = openStore(t, testOptions(memory))
	got := read(t, s, 0, math.MaxInt64)
	if points := got.numbers[string(key(t, "a"))]; len(points) != 2 {
		t.Fatalf("%v", points)
	}
	if d := s.Status().Damaged; len(d) != 1 || d[0].Block != "0000000000000002" || !d[0].SetAside {
		t.Fatalf("%+v is not the block that was damaged", d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	damage("0000000000000001.block", blockHeader+12)
	s = openStore(t, testOptions(memory))
	defer s.Close()
	// The rest is served, and the answer says that something is missing; so does the status, once.
	for range 2 {
		var warnings Warnings
		found, release, err := s.Select(WithWarnings(t.Context(), &warnings), 0, math.MaxInt64)
		if err != nil {
			t.Fatal(err)
		}
		it := found[0].Numbers(0, math.MaxInt64)
		n := 0
		for it.Next() {
			n++
		}
		release()
		if list := warnings.List(); n != 1 || it.Err() != nil || len(list) != 1 || !strings.Contains(list[0], "0000000000000001") {
			t.Fatalf("%d samples, %v, %q", n, it.Err(), list)
		}
		// The one that was set aside at the start before is still missing.
		if d := s.Status().Damaged; len(d) != 2 || d[0].Block != "0000000000000002" || d[1].Block != "0000000000000001" || d[1].SetAside || d[1].MaxTime == 0 {
			t.Fatalf("%+v is damaged", d)
		}
	}
}

func TestRetention(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	o.Retention, o.RetentionHour = time.Hour, time.Hour
	s := openStore(t, o)
	defer s.Close()
	for range 3 {
		batch := []Sample{{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 1}}
		if _, err := s.Ingest(t.Context(), "test", batch, journal.Fsync); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		now.advance(25 * time.Minute)
	}
	found, release, err := s.Select(t.Context(), 0, math.MaxInt64) // a query that goes on holds its blocks
	if err != nil {
		t.Fatal(err)
	}
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Status().Blocks); n != 2 {
		t.Fatalf("%d blocks are left", n)
	}
	files := func() int { entries, _ := memory.List("/store/blocks"); return len(entries) }
	if files() != 2 {
		t.Fatal("the dropped block was not removed")
	}
	it, n := found[0].Numbers(0, math.MaxInt64), 0
	for it.Next() {
		n++
	}
	if n < 3 || it.Err() != nil {
		t.Fatal("a query lost the block that was dropped under it", n, it.Err())
	}
	release()
}

// ReadNumbers reads what the iterator walks through, of any stretch of time, from blocks and the head, with late samples
// and deletions.
func TestReadNumbers(t *testing.T) {
	r := rand.New(rand.NewPCG(31, 32))
	now := time.Now().Truncate(time.Hour)
	s, err := Open("/s", Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }, OutOfOrder: 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	keys := [][]byte{key(t, "tidy"), key(t, "late"), key(t, "holes")}
	at, end := now.Add(-10*time.Hour).UnixMilli(), now.UnixMilli()
	rising, regular := false, false
	compare := func() {
		var memory NumberMemory
		for range 200 {
			from := at + r.Int64N(end-at) - 60_000
			to := from + r.Int64N(end-at)
			found, release, err := s.Select(t.Context(), from, to)
			if err != nil {
				t.Fatal(err)
			}
			for _, one := range found {
				times, values, err := one.AppendNumbers(from, to, nil, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := one.ReadNumbers(from, to, Default, 1<<30, &memory); err != nil {
					t.Fatal(err)
				}
				if memory.Rising && !slices.IsSorted(memory.Values) {
					t.Fatalf("%v from %d to %d is said to rise", one.Labels(), from, to)
				}
				rising, regular = rising || memory.Rising && len(times) > 100, regular || len(memory.Times) == 0 && len(times) > 100
				if !slices.Equal(times, memory.AllTimes()) || !slices.Equal(values, memory.Values) {
					t.Fatalf("%v from %d to %d: %d samples, want %d", one.Labels(), from, to, len(memory.Times), len(times))
				}
			}
			release()
		}
	}
	for part := range 5 {
		for i := range 700 {
			time := at + int64(part*700+i)*10_000
			batch := []Sample{{Key: keys[0], Kind: Gauge, Time: time, Value: r.Float64()}}
			if i%3 == 0 {
				batch = append(batch, Sample{Key: keys[1], Kind: Gauge, Time: time - r.Int64N(2)*r.Int64N(3_600_000), Value: r.Float64()})
			}
			if i > 300 && i < 600 {
				batch = append(batch, Sample{Key: keys[2], Kind: Counter, Time: time, Value: float64(i)})
			}
			if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
				t.Fatal(len(rejected), err)
			}
		}
		compare()
		if part < 4 {
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			compare()
		}
	}
	if err := s.Delete(t.Context(), at+5_000_000, at+9_000_000, equal(NameLabel, "tidy")); err != nil {
		t.Fatal(err)
	}
	compare()
	if !rising || !regular {
		t.Error("nothing was found to rise, or to be regular:", rising, regular)
	}
}

// What a flush has put into blocks does not stay in the journal as well.
func TestFlushEmptiesTheJournal(t *testing.T) {
	s, err := Open("/store", testOptions(vfs.NewMemory()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for round := range 2 {
		var batch []Sample
		for i := range 20_000 {
			batch = append(batch, Sample{Key: key(t, "n", "i", fmt.Sprint(i%100)), Kind: Gauge, Time: start.UnixMilli() + int64(round*200+i/100), Value: float64(i)})
		}
		if _, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil {
			t.Fatal(err)
		}
		if before := s.Status().JournalBytes; before < 2*keptJournal {
			t.Fatalf("only %d bytes are in the journal", before)
		}
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
		if left := s.Status().JournalBytes; left > keptJournal {
			t.Errorf("%d bytes are left in the journal after a flush", left)
		}
	}
}

// The figures of labels are those of the place that has most, however often a series is in memory and in blocks.
func TestCardinality(t *testing.T) {
	s, err := Open("/store", testOptions(vfs.NewMemory()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	put := func(from, to int) {
		var batch []Sample
		for i := from; i < to; i++ {
			batch = append(batch, Sample{Key: key(t, "n", "i", fmt.Sprint(i), "host", fmt.Sprint("h", i%2)), Kind: Gauge, Time: start.UnixMilli(), Value: 1})
		}
		batch = append(batch, Sample{Key: key(t, "m", "host", "h0"), Kind: Gauge, Time: start.UnixMilli(), Value: 1})
		if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(len(rejected), err)
		}
	}
	check := func(step string) {
		t.Helper()
		got, err := s.Cardinality(t.Context(), 0, math.MaxInt64, 2)
		if err != nil {
			t.Fatal(err)
		}
		want := Cardinality{Pairs: 10 + 2 + 2, Names: []Figure{{"n", 10}, {"m", 1}}, Values: []Figure{{"i", 10}, {NameLabel, 2}},
			Bytes: []Figure{{"i", 10}, {"host", 4}}, Series: []Figure{{"__name__=n", 10}, {"host=h0", 6}}}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, want %+v", step, got, want)
		}
	}
	put(0, 10)
	check("in memory")
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	check("in a block")
	put(0, 3)
	check("in both")
}
