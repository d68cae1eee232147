package tsdb

// From a key to its series: an open-addressing hash table of eight bytes a slot. A map of strings would keep every key a
// second time in its buckets' order and touch two cache lines more for each sample; with millions of series the cache
// misses are what a sample costs.

type slot struct {
	tag uint32 // the low half of the key's hash
	ref uint32 // series' number plus one; 0 when the slot is free
}

type seriesTable struct {
	slots []slot // a power of two, at most three quarters full
	used  int
}

// find is the number of the series whose key has this hash and which same accepts.
func (t *seriesTable) find(hash uint64, same func(ref uint32) bool) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	tag, mask := uint32(hash), uint32(len(t.slots)-1)
	for i := tag & mask; t.slots[i].ref != 0; i = (i + 1) & mask {
		if t.slots[i].tag == tag && same(t.slots[i].ref-1) {
			return t.slots[i].ref - 1, true
		}
	}
	return 0, false
}

// candidate is the first number stored under this hash, whose key may still be another one.
func (t *seriesTable) candidate(hash uint64) (uint32, bool) {
	if len(t.slots) == 0 {
		return 0, false
	}
	tag, mask := uint32(hash), uint32(len(t.slots)-1)
	for i := tag & mask; t.slots[i].ref != 0; i = (i + 1) & mask {
		if t.slots[i].tag == tag {
			return t.slots[i].ref - 1, true
		}
	}
	return 0, false
}

// add stores a number that is not there yet.
func (t *seriesTable) add(hash uint64, ref uint32) {
	if 4*(t.used+1) > 3*len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(1024, 2*len(old)))
		for _, s := range old {
			if s.ref != 0 {
				t.place(s)
			}
		}
	}
	t.place(slot{uint32(hash), ref + 1})
	t.used++
}

func (t *seriesTable) place(s slot) {
	mask := uint32(len(t.slots) - 1)
	i := s.tag & mask
	for t.slots[i].ref != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = s
}
