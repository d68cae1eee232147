package tsdb

import (
	"math"
	"math/rand/v2"
	"testing"

	"cistern/services/platform/vfs"
)

// Whatever byte of a block is wrong, verifying finds it, reading goes on without it, and repairing saves the rest.
func TestVerifyAndRepair(t *testing.T) {
	r := rand.New(rand.NewPCG(81, 82))
	memory := vfs.NewMemory()
	o, now := clockOptions(memory)
	s := openStore(t, o)
	m := newModel()
	for range 60 {
		now.advance(1e9)
		batch := randomBatch(t, r, now.UnixMilli())
		mustIngest(t, s, batch...)
		m.add(batch)
	}
	mustFlush(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	verify := func(fsys vfs.FS) (Verified, []Finding) {
		t.Helper()
		var found []Finding
		sum, err := Verify(fsys, "/store", func(f Finding) { found = append(found, f) })
		if err != nil {
			t.Fatal(err)
		}
		return sum, found
	}
	if sum, found := verify(memory); len(found) > 0 || sum.Samples == 0 || sum.Blocks != 1 {
		t.Fatalf("%+v %v", sum, found)
	}
	path := "/store/blocks/" + blockName(1)
	whole, err := vfs.ReadFile(memory, path)
	if err != nil {
		t.Fatal(err)
	}
	samplesIn := func(m *model) (n int) {
		for _, points := range m.numbers {
			n += len(points)
		}
		for _, points := range m.histograms {
			n += len(points)
		}
		for _, points := range m.natives {
			n += len(points)
		}
		return n
	}
	for at := 0; at < len(whole); at += 1 + r.IntN(40) {
		copied := memory.Kill()
		content := append([]byte(nil), whole...)
		content[at] ^= byte(1 << r.IntN(8))
		if err := vfs.Replace(copied, "/store/blocks", path, content); err != nil {
			t.Fatal(err)
		}
		if _, found := verify(copied); len(found) == 0 {
			t.Fatalf("a wrong byte at %d of %d was not found", at, len(whole))
		}
		saved, err := Repair(copied, "/store", func(Finding) {})
		if err != nil {
			t.Fatalf("byte %d: %v", at, err)
		}
		s := openStore(t, testOptions(copied))
		got := read(t, s, 0, math.MaxInt64)
		if len(saved) == 1 {
			// Of a series whose samples are lost the rollups may be left.
			if n := samplesIn(got); int64(n) < saved[0].Samples || n < samplesIn(m)/4 && saved[0].SeriesLost == 0 {
				t.Fatalf("byte %d: %d samples are there, %+v", at, n, saved[0])
			}
			_, found := verify(copied)
			for _, f := range found {
				t.Fatalf("byte %d: after the repair: %+v", at, f)
			}
		}
		// What is there is right.
		for k, points := range got.numbers {
			for when, v := range points {
				if want, ok := m.numbers[k][when]; !ok || math.Float64bits(want) != math.Float64bits(v) {
					t.Fatalf("byte %d: a wrong answer: %v instead of %v", at, v, want)
				}
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	s = openStore(t, testOptions(memory))
	defer s.Close()
	if _, err := Repair(memory, "/store", func(Finding) {}); err == nil {
		t.Fatal("an open store was repaired")
	}
}
