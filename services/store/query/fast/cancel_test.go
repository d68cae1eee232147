package fast

import (
	"context"
	"errors"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
)

// endsAfter is a context that is cancelled when it was asked so many times.
type endsAfter struct {
	context.Context
	left int
}

func (c *endsAfter) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// A query that nobody waits for any more ends also within one long window that is walked through histogram by histogram.
func TestEndsWithinALongWindow(t *testing.T) {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory(), Now: func() time.Time { return now }})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "h"}})
	if err != nil {
		t.Fatal(err)
	}
	h := &histogram.Histogram{}
	if err := h.Insert(1, 1); err != nil {
		t.Fatal(err)
	}
	const seconds = 20_000
	var batch []tsdb.Sample
	for i := range int64(seconds) {
		batch = append(batch, tsdb.Sample{Key: key, Kind: tsdb.Histogram, Time: now.UnixMilli() - (seconds-i)*1000, Histogram: h})
	}
	if rejected, err := s.Ingest(context.Background(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
	list, release, err := s.Select(context.Background(), 0, now.UnixMilli(), labels.MustNewMatcher(labels.MatchEqual, tsdb.NameLabel, "h"))
	defer release()
	if err != nil {
		t.Fatal(err)
	}
	r := &run{ctx: &endsAfter{context.Background(), 3}, store: s, at: steps{now.UnixMilli(), 17, 2}, lookback: 300_000}
	if _, err = r.windows(&node{function: increase, window: seconds * 1000}, list); err == nil || errors.Is(err, errUnfit) || r.read.Load() > seconds/2 {
		t.Fatalf("%v after %d of %d histograms", err, r.read.Load(), seconds)
	}
}
