package tsdb

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/platform/vfs"
)

// sumsOf is what Windows shall give, made of every histogram.
func sumsOf(all map[int64]*histogram.Histogram, from, width int64, n int) []*histogram.Histogram {
	want := make([]*histogram.Histogram, n)
	for at, h := range all {
		if i := (at - from) / width; at >= from && i < int64(n) {
			if want[i] == nil {
				want[i] = &histogram.Histogram{}
			}
			want[i].Merge(h)
		}
	}
	return want
}

// Windows that begin anywhere, are shorter than a minute or as long as a day, end in the head, have gaps and deleted
// times, of histograms with bins of both signs, of zero and far apart, are the sums of what is in them; windows that had
// something before keep it.
func TestWindowsAtAnyStart(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	for _, every := range []int64{1, 10, 60} { // seconds
		o, now := clockOptions(vfs.NewMemory())
		s := openStore(t, o)
		now.set(floorHour(start))
		begin := now.UnixMilli()
		all := map[int64]*histogram.Histogram{}
		const n = 10_000
		flushes := map[int]bool{n / 3: true, n * 9 / 10: true}
		for i := range n {
			now.advance(time.Duration(every) * time.Second)
			if minute := now.UnixMilli() / 60_000; i%1000 > 900 || minute%7 == 3 && now.UnixMilli()%60_000 >= 20_000 || minute%11 == 5 && now.UnixMilli()%60_000 < 40_000 {
				continue // nothing for a while; the beginning of a minute only, or its end
			}
			h := &histogram.Histogram{}
			for range 1 + r.IntN(8) {
				_ = h.Insert(math.Exp(r.NormFloat64()), uint64(1+r.IntN(12)))
			}
			_ = h.Insert(1, uint64(30+r.IntN(40)))
			switch r.IntN(40) {
			case 0:
				_ = h.Insert(0, 3)
			case 1:
				_ = h.Insert(-math.Exp(r.NormFloat64()), 2)
			case 2:
				_ = h.Insert(1e90, 1)
			case 3:
				_ = h.Insert(2, 1<<40)
			}
			all[now.UnixMilli()] = h
			mustIngest(t, s, Sample{Key: key(t, "h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: h})
			if flushes[i] {
				mustFlush(t, s)
			}
		}
		end := now.UnixMilli()
		check := func(step string) {
			t.Helper()
			for range 80 {
				widths := []int64{1, 999, 1000, 17_000, 59_999, 60_000, 61_000, 300_000, 599_000, 600_000, 1_237_000, 1_800_000, 5_400_000, 10_000_000, 86_400_000, 200_000_000}
				width := widths[r.IntN(len(widths))]
				if r.IntN(4) == 0 {
					width = 1 + r.Int64N(20_000_000)
				}
				from := begin + r.Int64N(end-begin)
				if width > 600_000 && r.IntN(3) > 0 {
					from = begin - r.Int64N(7_200_000)
				}
				switch r.IntN(4) {
				case 0:
					from = floorTo(from, 60_000)
				case 1:
					from = floorTo(from, 600_000) + 1000*r.Int64N(60)
				}
				into := make([]*histogram.Dense, 1+r.IntN(int(min(300, (end-from)/width+3))))
				want := sumsOf(all, from, width, len(into))
				before, given := &histogram.Histogram{}, r.IntN(len(into))
				_ = before.Insert(3, 5)
				if r.IntN(2) == 0 {
					into[given] = &histogram.Dense{}
					into[given].Merge(before)
					if want[given] == nil {
						want[given] = &histogram.Histogram{}
					}
					want[given].Merge(before)
				}
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
				for i := range into {
					if (into[i] == nil) != (want[i] == nil) || into[i] != nil && !into[i].Histogram().Equal(want[i]) {
						t.Fatalf("every %d s, %s: window %d of %d ms from %d is wrong", every, step, i, width, from)
					}
				}
			}
		}
		check("as it came")
		mustFlush(t, s)
		check("in blocks")
		now.advance(20 * 24 * time.Hour)
		if err := s.tidy(); err != nil {
			t.Fatal(err)
		}
		check("merged")
		from, to := begin+(end-begin)/3+1000*r.Int64N(100), begin+(end-begin)/2
		if err := s.Delete(t.Context(), from, to, equal(NameLabel, "h")); err != nil {
			t.Fatal(err)
		}
		for at := range all {
			if at >= from && at <= to {
				delete(all, at)
			}
		}
		check("a part deleted")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// When the samples are let go a minute goes where it begins, also where a window ends in its middle.
func TestWindowsOfMinutesAlone(t *testing.T) {
	o, now := clockOptions(vfs.NewMemory())
	o.Retention, o.RetentionMinute, o.RetentionHour = 24*time.Hour, 30*24*time.Hour, 60*24*time.Hour
	s := openStore(t, o)
	defer s.Close()
	now.set(floorHour(start))
	begin := now.UnixMilli()
	all := map[int64]*histogram.Histogram{}
	for i := range 4 * 3600 {
		h := &histogram.Histogram{}
		_ = h.Insert(float64(1+i%97), uint64(1+i%5))
		mustIngest(t, s, Sample{Key: key(t, "h"), Kind: Histogram, Time: now.UnixMilli(), Histogram: h})
		at := floorTo(now.UnixMilli(), 60_000)
		if all[at] == nil {
			all[at] = &histogram.Histogram{}
		}
		all[at].Merge(h)
		now.advance(time.Second)
	}
	mustFlush(t, s)
	now.advance(3 * 24 * time.Hour)
	if err := s.tidy(); err != nil {
		t.Fatal(err)
	}
	for _, b := range s.Status().Blocks {
		if b.Samples > 0 {
			t.Fatalf("samples are left: %+v", b)
		}
	}
	for _, shift := range []int64{0, 1, 20_000, 60_000, 1_237_000, 1_417_000, 1_999_999} {
		for _, width := range []int64{60_000, 90_000, 1_237_000, 1_800_000, 5_400_000} {
			into := make([]*histogram.Dense, 12)
			found, release, err := s.Select(t.Context(), begin+shift, begin+shift+12*width-1)
			if err != nil || len(found) != 1 {
				t.Fatal(len(found), err)
			}
			if _, err := found[0].Windows(t.Context(), begin+shift, width, into); err != nil {
				t.Fatal(err)
			}
			release()
			for i, want := range sumsOf(all, begin+shift, width, len(into)) {
				if (into[i] == nil) != (want == nil) || want != nil && !into[i].Histogram().Equal(want) {
					t.Errorf("window %d of %d ms from %d is wrong", i, width, shift)
				}
			}
		}
	}
}
