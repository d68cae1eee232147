package statsd

// The table that finds a metric by the bytes of its name, type and tags as they were sent: what is known is neither
// parsed nor copied. Open addressing, at most half full; nothing is taken out but by making it anew.

import (
	"bytes"
	"hash/maphash"

	"cistern/services/tsdb"
)

// spelling is one way in which a metric is sent; several may be of one metric.
type spelling struct {
	hash       uint64
	name, tags []byte
	kind       metricType
	metric     *metric
	refused    tsdb.Reason // instead of a metric
}

type table struct {
	seed  maphash.Seed
	slots []*spelling
	hash  []uint64 // of the slots, 0 in those that are free
	count int
}

func newTable() *table {
	return &table{seed: maphash.MakeSeed(), slots: make([]*spelling, 64), hash: make([]uint64, 64)}
}

func (t *table) hashOf(l *line) uint64 {
	h := maphash.Bytes(t.seed, l.name)
	if len(l.tags) > 0 {
		h ^= maphash.Bytes(t.seed, l.tags) * 0x9e3779b97f4a7c15
	}
	return h + uint64(l.kind)*0xff51afd7ed558ccd | 1
}

func (t *table) find(l *line, hash uint64) *spelling {
	mask := uint64(len(t.slots) - 1)
	for i := hash >> 8 & mask; t.hash[i] != 0; i = (i + 1) & mask {
		if t.hash[i] == hash {
			if s := t.slots[i]; s.kind == l.kind && bytes.Equal(s.name, l.name) && bytes.Equal(s.tags, l.tags) {
				return s
			}
		}
	}
	return nil
}

func (t *table) add(s *spelling) {
	if 2*(t.count+1) > len(t.slots) {
		t.resize(2*len(t.slots), func(*spelling) bool { return true })
	}
	mask := uint64(len(t.slots) - 1)
	i := s.hash >> 8 & mask
	for t.hash[i] != 0 {
		i = (i + 1) & mask
	}
	t.slots[i], t.hash[i] = s, s.hash
	t.count++
}

// keep drops the spellings that keep refuses.
func (t *table) keep(keep func(*spelling) bool) {
	kept := 0
	for _, s := range t.slots {
		if s != nil && keep(s) {
			kept++
		}
	}
	size := 64
	for size < 2*kept+2 {
		size *= 2
	}
	t.resize(size, keep)
}

func (t *table) resize(size int, keep func(*spelling) bool) {
	old := t.slots
	t.slots, t.hash, t.count = make([]*spelling, size), make([]uint64, size), 0
	for _, s := range old {
		if s != nil && keep(s) {
			t.add(s)
		}
	}
}
