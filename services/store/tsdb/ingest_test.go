package tsdb

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"cistern/services/platform/vfs"

	"github.com/cespare/xxhash/v2"
)

// TestResolve: whatever the order in which series come, each sample finds its own, or none and the hash of its key.
func TestResolve(t *testing.T) {
	s := openStore(t, testOptions(vfs.NewMemory()))
	defer s.Close()
	const known = 400
	keys := make([][]byte, known+50)
	for i := range keys {
		keys[i] = key(t, "m", "host", fmt.Sprint(i))
		if i < known {
			if _, err := s.live.create(keys[i], xxhash.Sum64(keys[i]), Gauge); err != nil {
				t.Fatal(err)
			}
		}
	}
	r := rand.New(rand.NewPCG(1, 2))
	sequence := func(from, to int) (list []int) {
		for i := from; i < to; i++ {
			list = append(list, i)
		}
		return list
	}
	holes := slices.DeleteFunc(sequence(0, known), func(i int) bool { return i%7 == 3 })
	exchanged := sequence(0, known)
	for i := 5; i < known; i += 10 {
		exchanged[i] = known + i/10 // of a series that nobody knows yet
	}
	inserted := slices.Concat(sequence(0, 100), sequence(known, known+9), sequence(100, known))
	thrice := []int{}
	for i := range 100 {
		thrice = append(thrice, i, i, i)
	}
	backwards := sequence(0, known)
	slices.Reverse(backwards)
	late := slices.Concat(sequence(0, 200), r.Perm(known))
	for name, order := range map[string][]int{
		"none": nil, "as created": sequence(0, known), "from the middle": sequence(137, known), "backwards": backwards,
		"any": r.Perm(len(keys)), "with holes": holes, "some exchanged": exchanged, "some inserted": inserted,
		"each thrice": thrice, "all new": sequence(known, known+50), "later in any": late, "twice": slices.Concat(backwards, sequence(0, known)),
	} {
		samples := make([]Sample, len(order))
		for i, n := range order {
			samples[i].Key = slices.Clone(keys[n])
		}
		s.resolve(s.live, samples)
		for i, n := range order {
			switch found := s.found[i]; {
			case n < known && found != s.live.series[n]:
				t.Fatalf("%s: sample %d, of series %d, found %v", name, i, n, found)
			case n >= known && (found != nil || s.hashes[i] != xxhash.Sum64(keys[n])):
				t.Fatalf("%s: sample %d, of no known series, found %v and the hash %x", name, i, found, s.hashes[i])
			}
		}
		clear(s.found)
	}
}
