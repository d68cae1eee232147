package tsdb

// Deletions that meet queries and rollups.

import (
	"errors"
	"math"
	"testing"
	"time"

	"cistern/services/platform/vfs"
)

// A query began after a deletion, and the deletion was carried out and forgotten while it ran.
func TestDeletionIsCarriedOutUnderAQuery(t *testing.T) {
	s := openStore(t, testOptions(vfs.NewMemory()))
	defer s.Close()
	mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: start.UnixMilli(), Value: 1})
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "a")); err != nil {
		t.Fatal(err)
	}
	v, release, err := s.view(t.Context(), 0, math.MaxInt64)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	var found selection
	if err := v.collect(t.Context(), 0, math.MaxInt64, []*Matcher{equal(NameLabel, "a")}, &found); err != nil {
		t.Fatal(err)
	}
	for _, one := range found.list {
		if it := one.Numbers(0, math.MaxInt64); it.Next() {
			t.Error("a deleted sample is in the answer")
		}
	}
}

// Deleting from rollups takes the records of which all is deleted, before they are written again and after, and what was
// deleted by the minute does not come back by the hour.
func TestDeleteFromRollups(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	o.Retention, o.RetentionMinute, o.RetentionHour = 10*24*time.Hour, 30*24*time.Hour, 60*24*time.Hour
	s := openStore(t, o)
	defer s.Close()
	at := start.Truncate(time.Hour).Add(10 * time.Minute)
	for i := range 60 { // ten minutes
		now.set(at.Add(time.Duration(i) * 10 * time.Second))
		mustIngest(t, s, Sample{Key: key(t, "all"), Kind: Gauge, Time: now.UnixMilli(), Value: 1},
			Sample{Key: key(t, "part"), Kind: Gauge, Time: now.UnixMilli(), Value: 1},
			Sample{Key: key(t, "part_h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: oneHistogram(1)})
	}
	mustFlush(t, s)
	now.advance(11 * 24 * time.Hour)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	minute := func(n float64) int64 { return at.UnixMilli() + int64(n*60_000) }
	if err := s.Delete(t.Context(), minute(-2), minute(12), equal(NameLabel, "all")); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), minute(2.5), minute(5.5), equal(NameLabel, "part")); err != nil {
		t.Fatal(err)
	}
	// In pieces, the one within the minute 4.
	for _, piece := range [][2]int64{{minute(4.7) + 1, minute(5.5)}, {minute(2.5), minute(4.2)}, {minute(4.2) + 1, minute(4.7)}} {
		if err := s.Delete(t.Context(), piece[0], piece[1], equal(NameLabel, "part_h")); err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []string{"before", "after"} {
		sameKeys(t, s, 0, math.MaxInt64)
		got := read(t, s, 0, math.MaxInt64)
		if n := len(got.numbers[string(key(t, "all"))]); n != 0 {
			t.Errorf("%s: %d records of what was deleted as a whole", step, n)
		}
		// The minutes 3 and 4; of 2 and 5 a part is left.
		if n := len(got.numbers[string(key(t, "part"))]); n != 8 {
			t.Errorf("%s: %d records of numbers, want 8", step, n)
		}
		if n := len(got.histograms[string(key(t, "part_h"))]); n != 8 {
			t.Errorf("%s: %d records of histograms, want 8", step, n)
		}
		if err := s.tidy(); err != nil {
			t.Fatal(err)
		}
	}
	if n := s.Status().Deletions; n != 0 {
		t.Errorf("%d deletions are left", n)
	}
}

// A merge was given up after it had taken a number, and a deletion is about everything up to there. What comes after a
// restart must not get that number: it would be deleted, though it came later.
func TestDeletionAndNumbersAfterARestart(t *testing.T) {
	memory := vfs.NewMemory()
	full := false
	o, now := clockOptions(vfs.Watch(memory, func(op, name string, _ int) error {
		if full && op == "create" {
			return errors.New("no space left on device")
		}
		return nil
	}))
	s := openStore(t, o)
	for range 2 {
		mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
		mustFlush(t, s)
		now.advance(time.Minute)
	}
	now.advance(24 * time.Hour)
	full = true
	if err := s.tidy(); err == nil {
		t.Fatal("blocks were merged on a full disk")
	}
	full = false
	if err := s.Delete(t.Context(), 0, math.MaxInt64, equal(NameLabel, "a")); err != nil {
		t.Fatal(err)
	}
	o.FS = memory.Kill()
	again := openStore(t, o)
	defer again.Close()
	mustIngest(t, again, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.UnixMilli(), Value: 2})
	mustFlush(t, again)
	if n := len(read(t, again, 0, math.MaxInt64).numbers[string(key(t, "a"))]); n != 1 {
		t.Errorf("%d samples are there of one that came after the deletion", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
