package tsdb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/journal"
	"cistern/services/platform/vfs"

	"github.com/prometheus/prometheus/model/value"
)

// The times alone are those of the numbers, or are not given: where there are marks of an end, or samples came late.
func TestReadTimes(t *testing.T) {
	s, err := Open("/store", testOptions(vfs.NewMemory()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := rand.New(rand.NewPCG(5, 8))
	kinds := []string{"whole", "constant", "any", "ends", "irregular", "late"}
	put := func(from, to int) {
		var batch []Sample
		for i := from; i < to; i++ {
			for _, kind := range kinds {
				at, v := start.UnixMilli()+int64(i-2500)*1000, float64(i)
				switch kind {
				case "constant":
					v = 7
				case "any":
					v = r.NormFloat64()
				case "ends":
					if i%100 == 99 {
						v = math.Float64frombits(value.StaleNaN)
					}
				case "irregular":
					at += int64(r.IntN(900))
				case "late":
					if i%50 == 7 {
						at -= 5500
					}
				}
				batch = append(batch, Sample{Key: key(t, kind), Kind: Gauge, Time: at, Value: v})
			}
		}
		if rejected, err := s.Ingest(t.Context(), "test", batch, journal.Buffered); err != nil || len(rejected) > 0 {
			t.Fatal(len(rejected), err)
		}
	}
	told := map[string]int{}
	check := func() {
		for _, kind := range kinds {
			found, release, err := s.Select(t.Context(), 0, math.MaxInt64, equal(NameLabel, kind))
			if err != nil || len(found) != 1 {
				t.Fatal(len(found), err)
			}
			for range 50 {
				from := start.UnixMilli() + int64(r.IntN(3_000_000)) - 2_600_000
				to := from + int64(r.IntN(2_000_000))
				var want []int64
				marks := false
				for it := found[0].Numbers(from, to); it.Next(); {
					at, v := it.At()
					want, marks = append(want, at), marks || v != v
				}
				var m NumberMemory
				done, err := found[0].ReadTimes(from, to, 1<<30, &m)
				if err != nil {
					t.Fatal(err)
				}
				if !done {
					continue
				}
				told[kind]++
				if got := m.AllTimes(); len(got) != len(m.Values) || !slices.Equal(got, want) || marks {
					t.Fatalf("%s from %d to %d: %d times, want %d (marks: %t)", kind, from, to, len(got), len(want), marks)
				}
			}
			release()
		}
	}
	put(0, 1400)
	check()
	if _, err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	put(1400, 2500)
	check()
	for _, kind := range []string{"whole", "constant", "irregular"} {
		if told[kind] != 100 {
			t.Errorf("the times of %q were given %d times of 100", kind, told[kind])
		}
	}
}
