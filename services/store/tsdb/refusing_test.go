package tsdb

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// The journal's disk is full: nothing is acknowledged, what is there can be read, and the status says since when and why
// for a minute after the last refusal. When there is room again, samples are taken without anybody doing anything.
func TestFullDiskIsSaid(t *testing.T) {
	full := false
	now := start
	o := testOptions(vfs.Watch(vfs.NewMemory(), func(op, name string, _ int) error {
		if full && op == "write" && strings.HasSuffix(name, ".journal") {
			return errors.New("disk quota exceeded")
		}
		return nil
	}))
	o.Now = func() time.Time { return now }
	s := openStore(t, o)
	m := newModel()
	send := func(second int64) error {
		one := []Sample{{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli() + second*1000, Value: float64(second)}}
		_, err := s.Ingest(t.Context(), "test", one, journal.Fsync)
		if err == nil {
			m.add(one)
		}
		return err
	}
	if err := send(0); err != nil || s.Status().Refusing != nil {
		t.Fatalf("%v, %+v", err, s.Status().Refusing)
	}
	full = true
	for second := range int64(3) {
		now = start.Add(time.Duration(20+20*second) * time.Second)
		if err := send(1 + second); err == nil {
			t.Fatal("acknowledged on a full disk")
		}
	}
	status := s.Status()
	r := status.Refusing
	if r == nil || !r.Since.Equal(start.Add(20*time.Second)) || !r.Last.Equal(start.Add(time.Minute)) || r.Samples != 3 ||
		r.Reason != StorageError || !strings.Contains(r.Detail, "disk quota exceeded") || status.Rejected[StorageError] != 3 {
		t.Fatalf("%+v, %v", r, status.Rejected)
	}
	if d := read(t, s, 0, math.MaxInt64).difference(m); d != "" {
		t.Error(d)
	}
	full = false
	if err := send(5); err != nil {
		t.Fatal(err)
	}
	now = now.Add(refusedFor)
	if s.Status().Refusing == nil {
		t.Error("forgotten before the minute was over")
	}
	now = now.Add(time.Second)
	if r := s.Status().Refusing; r != nil {
		t.Errorf("%+v", r)
	}
	if d := read(t, s, 0, math.MaxInt64).difference(m); d != "" {
		t.Error(d)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// What is wrong with a sample is the sender's business.
func TestOnlyOwnReasonsAreRefusing(t *testing.T) {
	o := testOptions(vfs.NewMemory())
	o.MaxSeries = 1
	o.Now = func() time.Time { return start }
	s := openStore(t, o)
	defer s.Close()
	mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli(), Value: 1})
	send := func(one Sample) Reason {
		rejected, err := s.Ingest(t.Context(), "test", []Sample{one}, journal.Buffered)
		if err != nil || len(rejected) != 1 {
			t.Fatal(rejected, err)
		}
		return rejected[0].Reason
	}
	if reason := send(Sample{Key: key(t, "a"), Kind: Gauge, Time: start.Add(time.Hour).UnixMilli()}); reason != TooNew || s.Status().Refusing != nil {
		t.Errorf("%s: %+v", reason, s.Status().Refusing)
	}
	reason := send(Sample{Key: key(t, "b"), Kind: Gauge, Time: start.UnixMilli()})
	if r := s.Status().Refusing; reason != SeriesLimit || r == nil || r.Reason != SeriesLimit || r.Detail == "" || r.Samples != 1 {
		t.Errorf("%s: %+v", reason, r)
	}
}

// A dataset over its quota, on which ZFS refuses to make a file shorter too: the store can be opened and read, and takes
// samples again when there is room.
func TestOpenOverQuota(t *testing.T) {
	full := false
	quota := func(op, _ string, _ int) error {
		if full && (op == "write" || op == "truncate" || op == "create") {
			return errors.New("disk quota exceeded")
		}
		return nil
	}
	memory := vfs.NewMemory()
	m := newModel()
	send := func(s *Store, second int64) error {
		one := []Sample{{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli() + second*1000, Value: float64(second)}}
		_, err := s.Ingest(t.Context(), "test", one, journal.Fsync)
		if err == nil {
			m.add(one)
		}
		return err
	}
	check := func(s *Store) {
		t.Helper()
		if d := read(t, s, 0, math.MaxInt64).difference(m); d != "" {
			t.Error(d)
		}
	}
	first := openStore(t, testOptions(vfs.Watch(memory, quota)))
	for second := range int64(5) {
		full = second == 4
		if err := send(first, second); (err != nil) != full {
			t.Fatal(err)
		}
		if second == 1 {
			mustFlush(t, first)
		}
	}
	check(first)
	memory = memory.Kill()
	killed := openStore(t, testOptions(vfs.Watch(memory, quota)))
	check(killed)
	// An orderly stop cannot write a block; the journal is kept, so it is no failure.
	if err := killed.Close(); err != nil {
		t.Fatal(err)
	}
	again := openStore(t, testOptions(vfs.Watch(memory, quota)))
	check(again)
	if err := send(again, 5); err == nil {
		t.Fatal("acknowledged on a full disk")
	}
	full = false
	for _, s := range []*Store{first, again} {
		check(s)
	}
	if err := send(again, 6); err != nil {
		t.Fatal(err)
	}
	check(again)
	for _, s := range []*Store{first, again} {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
