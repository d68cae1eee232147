package tsdb

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/platform/vfs"
)

// Samples of ten days; then a retention of a day for them, of five days for the minutes. It outlives a restart, and what cannot
// be is refused and changes nothing.
func TestRetentionIsSet(t *testing.T) {
	memory := vfs.NewMemory()
	options := testOptions(memory)
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	options.Now = func() time.Time { return now }
	options.Retention, options.RetentionMinute, options.RetentionHour = 100*24*time.Hour, 0, 200*24*time.Hour
	s := openStore(t, options)
	const day = 24 * time.Hour
	if r := s.Retention(); r != (Retention{100 * day, 100 * day, 200 * day}) {
		t.Fatalf("%+v", r)
	}
	for _, bad := range []Retention{
		{time.Hour, day, day}, {2 * day, day, 3 * day}, {day, 3 * day, 2 * day}, {day, day, math.MaxInt64}, {-day, day, day}, {},
	} {
		var said *RetentionError
		if err := s.SetRetention(bad); !errors.As(err, &said) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if r := s.Retention(); r.Raw != 100*day {
		t.Fatalf("a refused one holds: %+v", r)
	}
	if err := s.SetRetention(Retention{9 * day, 90 * day, 91 * day}); err != nil {
		t.Fatal(err)
	}
	for hour := -200; hour < 0; hour++ {
		mustIngest(t, s, Sample{Key: key(t, "a"), Kind: Gauge, Time: now.Add(time.Duration(hour) * time.Hour).UnixMilli(), Value: 1})
		if hour%24 == 0 {
			mustFlush(t, s)
		}
	}
	mustFlush(t, s)
	// On disk: a query is answered from the rollups when the samples are gone.
	count := func() (n int64) {
		for _, b := range s.Status().Blocks {
			n += b.Samples
		}
		return n
	}
	if n := count(); n != 200 {
		t.Fatalf("%d samples", n)
	}
	if err := s.SetRetention(Retention{day, 5 * day, 6 * day}); err != nil {
		t.Fatal(err)
	}
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	// Whole blocks go: one that reaches into what is kept stays. A longer retention would have made larger ones.
	if n := count(); n < 24 || n > 72 {
		t.Errorf("%d samples are left of a day", n)
	}
	if n := len(read(t, s, 0, math.MaxInt64).numbers[string(key(t, "a"))]); n < 120 || n > 168 {
		t.Errorf("%d values are left, of all granularities", n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, options)
	if r := s.Retention(); r != (Retention{day, 5 * day, 6 * day}) {
		t.Errorf("after a restart %+v", r)
	}
	blocks := s.blocks
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := vfs.Replace(memory, blocks, filepath.Join(blocks, retentionFile), []byte(strings.Repeat("x", 9))); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, options)
	if r := s.Retention(); r.Raw != 100*day {
		t.Errorf("a file that cannot be read: %+v", r)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// Who only exports a store lets nothing go of it, whatever is usual: its owner may keep it for longer.
func TestUntidiedLetsNothingGo(t *testing.T) {
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	day := 24 * time.Hour
	o.Retention, o.RetentionMinute, o.RetentionHour = 40_000*day, 40_000*day, 40_000*day
	s := openStore(t, o)
	mustIngest(t, s, Sample{Key: key(t, "g"), Kind: Gauge, Time: now.UnixMilli(), Value: 1})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	now.advance(12 * 365 * day)
	for _, untidied := range []bool{true, false} {
		o.Retention, o.RetentionMinute, o.RetentionHour, o.Untidied = 0, 0, 0, untidied
		s = openStore(t, o)
		for range 40 {
			if time.Sleep(100 * time.Millisecond); len(read(t, s, 0, math.MaxInt64).numbers) == 0 {
				break
			}
		}
		if got := len(read(t, s, 0, math.MaxInt64).numbers); (got == 1) != untidied {
			t.Errorf("untidied: %v, %d series", untidied, got)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
