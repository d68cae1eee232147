package tsdb

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"cistern/services/histogram"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// Everything at once against the model: late samples, names that change their kind, deletions, merges, disks that fail at
// any step of a flush or a merge, kills and power cuts in the middle of these, queries that go on meanwhile.
func TestFaultsAgainstModel(t *testing.T) {
	for seed := range uint64(6) {
		faultsAgainstModel(t, seed)
	}
}

func faultsAgainstModel(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 9))
	memory := vfs.NewMemory()
	now := newClock(start.Truncate(24 * time.Hour))
	left := -1 // operations until the disk fails; below 0 it does not
	var cut *vfs.Memory
	watched := func(m *vfs.Memory) vfs.FS {
		return vfs.Watch(m, func(op, name string, _ int) error {
			if left < 0 {
				return nil
			}
			if left--; left >= 0 {
				return nil
			}
			left = -1
			switch r.IntN(3) {
			case 0: // a copy of what a kill would leave here, and it goes on
				cut = m.Kill()
			case 1:
				cut = m.PowerCut(func(_ string, n int) int { return r.IntN(n + 1) })
			default:
				if !isJournal(name) {
					return errors.New("no space left on device")
				}
			}
			return nil
		})
	}
	options := func() Options {
		o := testOptions(watched(memory))
		o.Now, o.OutOfOrder = now.now, 60*time.Hour
		return o
	}
	s, m := openStore(t, options()), newModel()
	var releases []func()
	releaseAll := func() {
		for _, release := range releases {
			release()
		}
		releases = nil
	}
	check := func(s *Store, from, to int64, what string) {
		t.Helper()
		if d := read(t, s, from, to).difference(m.within(from, to)); d != "" {
			t.Fatalf("seed %d, %s, [%d, %d]: %s", seed, what, from, to, d)
		}
	}
	for step := range 150 {
		what := fmt.Sprint("step ", step)
		switch action := r.IntN(24); action {
		case 0, 1, 2:
			left = r.IntN(30)
			_, err := s.Flush()
			left = -1
			if err != nil && r.IntN(2) == 0 {
				mustFlush(t, s)
			}
		case 3, 4:
			left = r.IntN(120)
			_ = s.tidy()
			left = -1
		case 5:
			memory = memory.Kill()
			old := s
			releaseAll()
			s = openStore(t, options())
			_ = old.Close()
		case 6:
			memory = memory.PowerCut(func(_ string, n int) int { return r.IntN(n + 1) })
			old := s
			releaseAll()
			s = openStore(t, options())
			_ = old.Close()
		case 7:
			releaseAll()
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, options())
		case 8:
			now.advance(time.Duration(r.IntN(40)) * time.Hour)
		case 9:
			from := now.UnixMilli() - r.Int64N(60*3600_000)
			to := from + r.Int64N(30*3600_000)
			name := []string{"a", "b", "h"}[r.IntN(3)]
			if err := s.Delete(t.Context(), from, to, equal(NameLabel, name)); err != nil {
				t.Fatal(err)
			}
			for _, i := range []string{"0", "1"} {
				k := string(key(t, name, "i", i))
				for at := range m.numbers[k] {
					if at >= from && at <= to {
						delete(m.numbers[k], at)
					}
				}
				for at := range m.histograms[k] {
					if at >= from && at <= to {
						delete(m.histograms[k], at)
					}
				}
			}
		case 10:
			_, release, err := s.Select(t.Context(), 0, math.MaxInt64)
			if err != nil {
				t.Fatal(err)
			}
			if releases = append(releases, release); len(releases) > 3 {
				releaseAll()
			}
		case 11, 12:
			from := now.UnixMilli() - r.Int64N(70*3600_000)
			check(s, from, from+r.Int64N(40*3600_000), what)
		default:
			now.advance(time.Duration(r.IntN(5000)) * time.Second)
			var batch []Sample
			for range 1 + r.IntN(40) {
				one := Sample{Key: key(t, []string{"a", "b"}[r.IntN(2)], "i", fmt.Sprint(r.IntN(2))), Kind: Gauge,
					Time: now.UnixMilli() - r.Int64N(20_000), Value: float64(r.IntN(100))}
				if r.IntN(6) == 0 { // late
					one.Time -= r.Int64N(50 * 3600_000)
				}
				if r.IntN(3) == 0 {
					one.Key, one.Kind = key(t, "h", "i", fmt.Sprint(r.IntN(2))), Histogram
					one.Histogram = &histogram.Histogram{}
					_ = one.Histogram.Insert(float64(r.IntN(9)), 1)
				}
				batch = append(batch, one)
			}
			rejected, err := s.Ingest(t.Context(), "test", batch, journal.Fsync)
			if err != nil || len(rejected) > 0 {
				t.Fatalf("seed %d, %s: %v %v", seed, what, rejected, err)
			}
			m.add(batch)
		}
		if cut != nil { // what was there in the middle of the last step is all that was there before it
			o := testOptions(cut)
			o.Now = now.now
			after := openStore(t, o)
			check(after, 0, math.MaxInt64, what+", cut")
			if err := after.tidy(); err != nil {
				t.Fatal(err)
			}
			check(after, 0, math.MaxInt64, what+", cut and merged")
			if err := after.Close(); err != nil {
				t.Fatal(err)
			}
			cut = nil
		}
	}
	check(s, 0, math.MaxInt64, "the end")
	releaseAll()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verified, err := Verify(memory, "/store", func(f Finding) { t.Errorf("seed %d: %+v", seed, f) })
	if err != nil || verified.DamagedBlocks > 0 {
		t.Errorf("seed %d: %+v %v", seed, verified, err)
	}
}

func isJournal(name string) bool { return len(name) > 8 && name[len(name)-8:] == ".journal" }
