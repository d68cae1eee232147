package tsdb

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// limited is a sender that may make so many series.
type limited struct {
	left    int
	refused map[Reason]int
}

func (l *limited) Sent(int) {}

func (l *limited) Create(int) (Reason, string) {
	if l.left == 0 {
		return SenderSeriesRate, "no more"
	}
	l.left--
	return "", ""
}

func (l *limited) Refused(_ int, reason Reason) {
	if l.refused == nil {
		l.refused = map[Reason]int{}
	}
	l.refused[reason]++
}

func reasonsOf(rejected []Rejection) map[int]Reason {
	got := map[int]Reason{}
	for _, one := range rejected {
		got[one.Index] = one.Reason
	}
	return got
}

// A sender that may make no more series goes on with those that exist: in memory, before the last block, and after an
// orderly restart, when they are in blocks alone.
func TestExistingSeriesGoOn(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	s := openStore(t, o)
	batch := func(names ...string) (list []Sample) {
		for _, name := range names {
			list = append(list, Sample{Key: key(t, name), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
		}
		return list
	}
	sender := &limited{left: 2}
	send := func(want map[int]Reason, names ...string) {
		t.Helper()
		now.advance(time.Second)
		rejected, err := s.Ingest(WithSender(t.Context(), sender), "test", batch(names...), journal.Fsync)
		if err != nil || !maps.Equal(reasonsOf(rejected), want) {
			t.Fatalf("%v %v, want %v", rejected, err, want)
		}
	}
	send(map[int]Reason{2: SenderSeriesRate}, "a", "b", "c")
	send(map[int]Reason{0: SenderSeriesRate}, "c", "b", "a")
	for range 2 {
		mustFlush(t, s)
		send(map[int]Reason{0: SenderSeriesRate}, "c", "b", "a")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, o)
	defer s.Close()
	if s.Known(key(t, "a"), false) || !s.Known(key(t, "a"), true) || s.Known(key(t, "c"), true) {
		t.Error("what is stored is not known, or what is not is")
	}
	send(map[int]Reason{0: SenderSeriesRate}, "c", "b", "a")
	if sender.refused[SenderSeriesRate] != 5 || s.Known(key(t, "c"), false) || !s.Known(key(t, "a"), false) {
		t.Error(sender.refused)
	}
	// Looking in blocks is limited: a flood of new names does not keep the store busy.
	for i := range 2 * lookupsAtOnce {
		s.Known(key(t, fmt.Sprint("new", i)), true)
	}
	if s.Known(key(t, "a", "not", "in memory"), true) || s.lookups.take(now.now()) {
		t.Error("looked up without end")
	}
}

// The appliance's own names cannot be claimed, neither new nor when they exist.
func TestReservedNames(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	defer s.Close()
	sample := func(name string) Sample {
		return Sample{Key: key(t, name, "Zone", "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 1}
	}
	mustIngest(t, s, sample("cistern_own"))
	now.advance(time.Second)
	for _, raw := range []bool{false, true} {
		batch := []Sample{sample("cistern_own"), sample("cistern_new"), sample("cistern"), sample("xcistern_own")}
		for i := range batch {
			batch[i].Raw = raw
		}
		rejected, err := s.Ingest(WithSender(t.Context(), &limited{left: 10}), "test", batch, journal.Fsync)
		if err != nil || !maps.Equal(reasonsOf(rejected), map[int]Reason{0: ReservedName, 1: ReservedName}) {
			t.Errorf("%v %v", rejected, err)
		}
	}
	if s.Known(key(t, "cistern_new", "Zone", "a"), true) {
		t.Error("a series was made")
	}
	mustIngest(t, s, sample("cistern_own"))
}

// A sample older than the retention of samples is refused, also where rollups are kept for longer: it would be there as a
// rollup at most. The words say which retention is set.
func TestOlderThanSamplesAreKept(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour = 30*day, 60*day, 1000*day
	s := openStore(t, o)
	defer s.Close()
	ingest := func(age time.Duration) []Rejection {
		rejected, err := s.Ingest(context.Background(), "test", []Sample{{Key: key(t, fmt.Sprint(age)), Kind: Gauge, Time: now.now().Add(-age).UnixMilli()}}, journal.Fsync)
		if err != nil {
			t.Fatal(err)
		}
		return rejected
	}
	if rejected := ingest(29 * day); len(rejected) > 0 {
		t.Error(rejected)
	}
	rejected := ingest(31 * day)
	if len(rejected) != 1 || rejected[0].Reason != TooOld || !strings.Contains(rejected[0].Detail, "30d") || !strings.Contains(rejected[0].Detail, "retention.raw") {
		t.Error(rejected)
	}
	if s.Status().Rejected[TooOld] != 1 {
		t.Error("not counted")
	}
	if err := s.SetRetention(Retention{40 * day, 60 * day, 1000 * day}); err != nil {
		t.Fatal(err)
	}
	if rejected := ingest(31 * day); len(rejected) > 0 {
		t.Error(rejected)
	}
}

// Another value at the same time wins, and is counted by series; the same value again is nothing.
func TestReplaced(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	s := openStore(t, o)
	at := now.UnixMilli()
	one := func(name string, t0 int64, v float64) Sample {
		return Sample{Key: key(t, name), Kind: Gauge, Time: t0, Value: v}
	}
	mustIngest(t, s, one("a", at, 1), one("a", at, 1), one("b", at, 1), one("a", at+1000, 2), one("a", at+2000, 3))
	if n := s.Status().Replaced; n != 0 {
		t.Fatalf("%d replaced", n)
	}
	mustIngest(t, s, one("a", at+2000, 4))                           // the latest
	mustIngest(t, s, one("a", at+2000, 4), one("a", at, math.NaN())) // the same again, and one before
	mustIngest(t, s, one("a", at, 7), one("a", at, 7))               // one that came late
	mustIngest(t, s, one("b", at-1000, 1), one("b", at-1000, 2))
	_, natives := someNatives(rand.New(rand.NewPCG(1, 1)), 2)
	n := Sample{Key: key(t, "n"), Kind: NativeHistogram, Time: at, Native: natives[0]}
	mustIngest(t, s, n, n)
	n.Native = natives[1]
	mustIngest(t, s, n)
	list := s.Replaced(10)
	if s.Status().Replaced != 5 || len(list) != 3 || list[0].Key != string(key(t, "a")) || list[0].Samples != 3 || list[0].After != 7 || list[0].Time != at ||
		list[1].Samples != 1 || list[1].Before != 1 || list[1].After != 2 {
		t.Errorf("%d: %+v", s.Status().Replaced, list)
	}
	// What the last one said is what is found, and a replay of the journal counts nothing.
	found, release, err := s.Select(t.Context(), at, at+2000, equal(NameLabel, "a"))
	if err != nil {
		t.Fatal(err)
	}
	_, values, err := found[0].AppendNumbers(at, at+2000, nil, nil)
	if release(); err != nil || fmt.Sprint(values) != "[7 2 4]" {
		t.Error(values, err)
	}
	o.FS = memory.Kill()
	again := openStore(t, o)
	defer again.Close()
	_ = s.Close()
	if n := again.Status().Replaced; n != 0 {
		t.Errorf("%d replaced by a replay", n)
	}
	// A bounded number of series is listed, all are counted.
	mustFlush(t, again)
	for i := range maxReplaced + 10 {
		name := fmt.Sprint("s", i)
		mustIngest(t, again, one(name, at, 1), one(name, at, 2))
	}
	if n := again.Status().Replaced; n != maxReplaced+10 || len(again.Replaced(10*maxReplaced)) != maxReplaced || len(again.Replaced(5)) != 5 {
		t.Error(n)
	}
	now.advance(2 * forgetReplaced)
	mustIngest(t, again, one("a", now.UnixMilli(), 1), one("a", now.UnixMilli(), 2))
	if list := again.Replaced(10); len(list) != 1 || list[0].Samples != 1 {
		t.Errorf("%+v", list)
	}
}
