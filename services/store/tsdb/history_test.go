package tsdb

import (
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// History may be however far behind its series' latest sample; the retention, the time ahead and the limits of new series hold for it as
// for everything. What is in the store already of a time is replaced, and not there twice.
func TestHistory(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	s := openStore(t, o)
	sample := func(name string, ago time.Duration, v float64) Sample {
		return Sample{Key: key(t, name), Kind: Gauge, Time: now.now().Add(-ago).UnixMilli(), Value: v}
	}
	const day = 24 * time.Hour
	ctx := WithHistory(t.Context())
	batch := []Sample{sample("live", 300*day, 1), sample("live", 2*day, 2), sample("live", 2*day, 2), sample("live", 9000*day, 3), sample("live", -day, 4)}
	if rejected, err := s.Ingest(t.Context(), "test", []Sample{sample("live", 0, 9)}, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered)
	if got := reasonsOf(rejected); err != nil || len(got) != 5 || got[0] != OutOfOrder {
		t.Fatal(got, err)
	}
	for range 2 { // also when it is sent again
		rejected, err = s.Ingest(ctx, "history", batch, journal.Buffered)
		if got := reasonsOf(rejected); err != nil || len(got) != 2 || got[3] != TooOld || got[4] != TooNew {
			t.Fatal(got, err)
		}
	}
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	if rejected, err = s.Ingest(ctx, "history", batch[:3], journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	found, release, err := s.Select(t.Context(), 0, now.UnixMilli())
	defer release()
	if err != nil || len(found) != 1 {
		t.Fatal(len(found), err)
	}
	var times, want []int64
	for it := found[0].Numbers(0, now.UnixMilli()); it.Next(); {
		at, _ := it.At()
		times = append(times, at)
	}
	for _, one := range []Sample{batch[0], batch[1], sample("live", 0, 9)} {
		want = append(want, one.Time)
	}
	if len(times) != len(want) || times[0] != want[0] || times[1] != want[1] || times[2] != want[2] {
		t.Errorf("%v, want %v", times, want)
	}
	sender := &limited{left: 0}
	rejected, err = s.Ingest(WithSender(ctx, sender), "history", []Sample{sample("new", day, 1)}, journal.Buffered)
	if got := reasonsOf(rejected); err != nil || got[0] != SenderSeriesRate {
		t.Error(got, err)
	}
}
