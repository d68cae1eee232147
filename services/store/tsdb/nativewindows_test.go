package tsdb

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/value"
)

// grownOneByOne is NativeWindows without checkpoints: each histogram less the one before it.
func grownOneByOne(s *Series, from, width, back int64, n int) map[int]*nativeHistogram {
	sums := map[int]*nativeHistogram{}
	it := s.Natives(from-back, from+width*int64(n)-1)
	var last *nativeHistogram
	for it.Next() {
		t, h := it.At()
		if math.Float64bits(h.Sum) == value.StaleNaN {
			continue
		}
		grown := h.Copy()
		if h.CounterResetHint != gaugeHint {
			before := last
			last = h
			if before == nil {
				continue
			}
			if !isReset(before, h) {
				if _, _, _, err := grown.Sub(before); err != nil {
					panic(err)
				}
			}
		}
		if t < from {
			continue
		}
		addTo(sums, int((t-from)/width), grown)
	}
	return sums
}

func addTo(sums map[int]*nativeHistogram, i int, h *nativeHistogram) {
	h = h.Copy()
	h.CounterResetHint = gaugeHint
	if sums[i] == nil {
		sums[i] = h
		return
	}
	if _, _, _, err := sums[i].Add(h); err != nil {
		panic(err)
	}
}

// What was measured in a window is the same to the count, whether it is read out of checkpoints or one by one, wherever the
// windows begin, out of memory, blocks and merged blocks.
func TestNativeWindows(t *testing.T) {
	for _, c := range []struct {
		name     string
		interval int64
		n        int
		resets   int // one in so many
		gauge    bool
		stale    int
	}{
		{"a second, no reset", 1000, 3 * 3600, 1 << 30, false, 1 << 30},
		{"a second, some resets", 1000, 3 * 3600, 3000, false, 4000},
		{"fifteen seconds, no reset", 15_000, 2 * 5760, 1 << 30, false, 1 << 30},
		{"fifteen seconds, some resets and ends", 15_000, 2 * 5760, 900, false, 1500},
		{"gauges", 1000, 3600, 1 << 30, true, 1 << 30},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(3, 7))
			o := testOptions(vfs.NewMemory())
			o.Now = func() time.Time { return start.Add(60 * 24 * time.Hour) }
			s, err := Open("/store", o)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			began := start.UnixMilli() / 86_400_000 * 86_400_000
			total := &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128}
			at := began + int64(r.IntN(1000))
			var batch []Sample
			put := func() {
				if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
					t.Fatal(len(rejected), err)
				}
				batch = batch[:0]
			}
			for i := range c.n {
				at += c.interval
				if r.IntN(c.resets) == 0 {
					total = &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128}
				}
				one := &nativeHistogram{Schema: 3, ZeroThreshold: 1e-128, PositiveSpans: []promhistogram.Span{{Offset: int32(r.IntN(5)) - 2, Length: 2}},
					PositiveBuckets: []float64{float64(r.IntN(9)), 2}, Sum: r.NormFloat64()}
				one.Count = one.PositiveBuckets[0] + 2
				if c.gauge {
					one.CounterResetHint = gaugeHint
					total = one
				} else {
					total = total.Copy()
					if _, _, _, err := total.Add(one); err != nil {
						t.Fatal(err)
					}
				}
				sent := total
				if r.IntN(c.stale) == 0 {
					sent = &nativeHistogram{Sum: math.Float64frombits(value.StaleNaN)}
				}
				batch = append(batch, Sample{Key: key(t, "n"), Kind: NativeHistogram, Time: at, Native: sent})
				if i%1000 == 999 {
					put()
				}
				if i == c.n/3 {
					if _, err := s.Flush(); err != nil {
						t.Fatal(err)
					}
				}
			}
			put()
			check := func(step string) {
				t.Helper()
				for _, w := range []struct{ shift, width int64 }{{0, 5_400_000}, {0, 3_600_000}, {37_123, 3_600_000}, {60_000, 600_000}, {17, 61_003}, {-7_200_000, 14_400_000}} {
					from, n := began+w.shift, int((at-began)/w.width)+1
					const back = 300_000
					found, release, err := s.Select(t.Context(), from-back, from+w.width*int64(n)-1, equal(NameLabel, "n"))
					if err != nil || len(found) != 1 {
						t.Fatal(len(found), err)
					}
					want := grownOneByOne(found[0], from, w.width, back, n)
					got, last := map[int]*nativeHistogram{}, -1
					read, err := found[0].NativeWindows(t.Context(), from, w.width, back, n, func(i int, h *nativeHistogram) {
						if i < last {
							t.Errorf("%s: window %d comes behind %d", step, i, last)
						}
						last = i
						addTo(got, i, h)
					})
					if err != nil {
						t.Fatal(err)
					}
					release()
					for i := range n {
						a, b := got[i], want[i]
						if b != nil && b.Count == 0 {
							b = nil
						}
						if a != nil && a.Count == 0 {
							a = nil
						}
						if (a == nil) != (b == nil) || a != nil && fmt.Sprint(a.Copy().Compact(0).PositiveBuckets, a.Count) != fmt.Sprint(b.Copy().Compact(0).PositiveBuckets, b.Count) {
							t.Fatalf("%s, windows of %d from %d: window %d of %d: %v, want %v", step, w.width, w.shift, i, n, a, b)
						}
					}
					if c.resets == 1<<30 && !c.gauge && step == "merged" && w.shift == 0 && read > 10*n+300 {
						t.Errorf("%s, windows of %d: %d histograms were read for %d windows", step, w.width, read, n)
					}
				}
			}
			check("in memory and in a block")
			if _, err := s.Flush(); err != nil {
				t.Fatal(err)
			}
			check("in blocks")
			if err := s.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
			check("merged")
		})
	}
}

// A sender may say of each histogram that the total began again, though no count is less than the one before: none of them is taken
// for one that grew.
func TestResetsThatAreSaidDoNotRise(t *testing.T) {
	for hint, want := range map[promhistogram.CounterResetHint]bool{promhistogram.UnknownCounterReset: true, promhistogram.CounterReset: false, gaugeHint: false} {
		h := &nativeHistogram{CounterResetHint: hint, Schema: 3, PositiveSpans: []promhistogram.Span{{Length: 1}}, PositiveBuckets: []float64{2}, Count: 2, Sum: 1}
		var read batch[*nativeHistogram]
		rising, err := decodeNativesInto(nativeFrames([]int64{1000, 2000, 3000}, []*nativeHistogram{h, h, h})[0], &nativeMemory{}, &read)
		if err != nil || len(read.values) != 3 || rising != want {
			t.Errorf("hint %d: %d histograms, rising %v, want %v, %v", hint, len(read.values), rising, want, err)
		}
	}
}
