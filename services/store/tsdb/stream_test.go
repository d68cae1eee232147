package tsdb

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
)

// streamed reads a stream to its end, as NAME@TIME=VALUE.
func streamed(t testing.TB, st *Stream) (list []string) {
	t.Helper()
	for {
		batch, _, err := st.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range batch {
			value := fmt.Sprint(one.Value)
			switch one.Kind {
			case Histogram:
				var h histogram.Histogram
				if _, err := h.Decode(one.Encoded); err != nil {
					t.Fatal(err)
				}
				value = fmt.Sprintf("h%d", h.Count())
			case NativeHistogram:
				value = fmt.Sprintf("n%g", one.Native.Count)
			}
			list = append(list, fmt.Sprintf("%s@%d=%s", one.Series, one.Time, value))
		}
	}
}

func named(key string, _ Kind) any { return LabelOf(key, NameLabel) }

func mustKey(t testing.TB, name string, more ...Label) []byte {
	t.Helper()
	key, err := AppendKey(nil, append([]Label{{NameLabel, name}}, more...))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func put(t testing.TB, s *Store, samples ...Sample) {
	t.Helper()
	if rejected, err := s.Ingest(context.Background(), "test", samples, journal.Buffered); err != nil || len(rejected) > 0 {
		t.Fatal(rejected, err)
	}
}

func expectStreamed(t testing.TB, st *Stream, want ...string) {
	t.Helper()
	if got := streamed(t, st); fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A stream begins where it is asked to, brings every kind of sample, and goes on where it was saved, over flushes and restarts.
func TestStream(t *testing.T) {
	memory := vfs.NewMemory()
	now := time.Now().Truncate(time.Second).UnixMilli()
	open := func() *Store {
		t.Helper()
		s, err := Open("/s", Options{FS: memory})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open()
	a, b := mustKey(t, "a"), mustKey(t, "b", Label{"job", "x"})
	put(t, s, Sample{Key: a, Time: now, Value: 1})
	late, err := s.Stream("late", false, named)
	if err != nil {
		t.Fatal(err)
	}
	early, err := s.Stream("early", true, named)
	if err != nil {
		t.Fatal(err)
	}
	h := &histogram.Histogram{}
	_ = h.Insert(3, 5)
	native := &promhistogram.FloatHistogram{Schema: 3, Count: 2, Sum: 4, PositiveSpans: []promhistogram.Span{{Offset: 1, Length: 1}}, PositiveBuckets: []float64{2}}
	put(t, s, Sample{Key: a, Time: now + 1, Value: 2}, Sample{Key: b, Time: now, Value: 3},
		Sample{Key: mustKey(t, "h"), Kind: Histogram, Time: now, Histogram: h}, Sample{Key: mustKey(t, "n"), Kind: NativeHistogram, Time: now, Native: native})
	common := []string{fmt.Sprintf("a@%d=2", now+1), fmt.Sprintf("b@%d=3", now), fmt.Sprintf("h@%d=h5", now), fmt.Sprintf("n@%d=n2", now)}
	expectStreamed(t, late, common...)
	expectStreamed(t, early, append([]string{fmt.Sprintf("a@%d=1", now)}, common...)...)
	early.Acknowledge()
	if late.Lag() == 0 || early.Lag() != 0 {
		t.Errorf("lags %d and %d", late.Lag(), early.Lag())
	}
	if err := early.Save(); err != nil {
		t.Fatal(err)
	}
	// Without its definition the series would not be known: the stream goes on in the middle of a head.
	put(t, s, Sample{Key: b, Time: now + 2, Value: 4})
	early.Close()
	if early, err = s.Stream("early", false, named); err != nil {
		t.Fatal(err)
	}
	expectStreamed(t, early, fmt.Sprintf("b@%d=4", now+2))
	// What was flushed stays in the journal for who has not read it, and a restart numbers the series anew.
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	put(t, s, Sample{Key: b, Time: now + 3, Value: 5})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = open()
	put(t, s, Sample{Key: mustKey(t, "c"), Time: now, Value: 6}, Sample{Key: b, Time: now + 4, Value: 7})
	if late, err = s.Stream("late", false, named); err != nil {
		t.Fatal(err)
	}
	behind := []string{fmt.Sprintf("b@%d=4", now+2), fmt.Sprintf("b@%d=5", now+3), fmt.Sprintf("c@%d=6", now), fmt.Sprintf("b@%d=7", now+4)}
	expectStreamed(t, late, append(common, behind...)...)
	if early, err = s.Stream("early", false, named); err != nil {
		t.Fatal(err)
	}
	expectStreamed(t, early, behind...)
	for _, one := range []*Stream{late, early} {
		one.Acknowledge()
		if err := one.Save(); err != nil || one.Lost() > 0 {
			t.Error(err, one.Lost())
		}
	}
	if err := s.EndStream("late"); err != nil {
		t.Fatal(err)
	}
	if names := s.Streams(); len(names) != 1 || names[0] != "early" {
		t.Errorf("%q", names)
	}
	// What a crash left of a stream that was being begun is found and can be ended.
	if err := s.journal.Mark("half", s.journal.End()); err != nil {
		t.Fatal(err)
	}
	if names := s.Streams(); len(names) != 2 {
		t.Errorf("%q", names)
	}
	if err := s.EndStream("half"); err != nil || len(s.Streams()) != 1 {
		t.Error(err, s.Streams())
	}
	if err := s.EndStream(subscriber); err == nil {
		t.Error("the store's own place was given up")
	}
	_ = s.Close()
}

// Only who is behind keeps the journal: one that has read everything pins no more than the store itself does.
func TestStreamLetsTheJournalGo(t *testing.T) {
	s, err := Open("/s", Options{FS: vfs.NewMemory(), SegmentBytes: 64 << 10})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.Stream("out", false, named)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UnixMilli()
	fill := func() {
		for i := range 200 {
			batch := make([]Sample, 200)
			for k := range batch {
				batch[k] = Sample{Key: mustKey(t, "x", Label{"k", fmt.Sprint(k)}), Time: now + int64(i), Value: math.Sqrt(float64(i * k))}
			}
			put(t, s, batch...)
		}
		now += 200
		if _, err := s.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	fill()
	if bytes := s.Status().JournalBytes; bytes < 300<<10 {
		t.Errorf("%d bytes wait", bytes)
	}
	if n := len(streamed(t, st)); n != 200*200 {
		t.Errorf("%d samples", n)
	}
	put(t, s, Sample{Key: mustKey(t, "y"), Time: now, Value: 1})
	streamed(t, st)
	st.Acknowledge()
	if err := st.Save(); err != nil {
		t.Fatal(err)
	}
	if bytes := s.Status().JournalBytes; bytes > 64<<10 {
		t.Errorf("%d bytes stay", bytes)
	}
	if st.Lag() != 0 || st.Lost() != 0 {
		t.Error(st.Lag(), st.Lost())
	}
}

// An entry with more samples than are returned at once is acknowledged when all were.
func TestStreamOfLargeEntries(t *testing.T) {
	s, err := Open("/s", Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.Stream("out", false, func(key string, _ Kind) any {
		if LabelOf(key, "k")[0] == '1' {
			return key
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	batch := make([]Sample, 3*streamChunk)
	for k := range batch {
		batch[k] = Sample{Key: mustKey(t, "x", Label{"k", fmt.Sprint(k % 10)}), Time: time.Now().UnixMilli() + int64(k), Value: 1}
	}
	put(t, s, batch...)
	before, taken, others := st.Acknowledged(), 0, 0
	for {
		some, left, err := st.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		taken, others = taken+len(some), others+left
		st.Acknowledge()
		if whole := taken+others == len(batch); whole != (st.Acknowledged() > before) {
			t.Errorf("after %d and %d: %v of %v", taken, others, st.Acknowledged(), before)
		}
	}
	if taken != (len(batch)+8)/10 || taken+others != len(batch) {
		t.Errorf("%d and %d of %d", taken, others, len(batch))
	}
}

func BenchmarkStream(b *testing.B) {
	s, err := Open(b.TempDir(), Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	const series = 1000
	keys := make([][]byte, series)
	for k := range keys {
		keys[k] = mustKey(b, "x", Label{"k", fmt.Sprint(k)}, Label{"job", "bench"})
	}
	st, err := s.Stream("out", false, named)
	if err != nil {
		b.Fatal(err)
	}
	now, n := time.Now().UnixMilli(), max(1, b.N/series)
	for i := range n {
		batch := make([]Sample, series)
		for k := range batch {
			batch[k] = Sample{Key: keys[k], Time: now + int64(i), Value: float64(i * k)}
		}
		put(b, s, batch...)
	}
	b.ResetTimer()
	for {
		if _, _, err := st.Next(); err != nil {
			break
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n*series), "ns/sample")
}
