package statsd

// The name table of a reader: finds what a name, with its type and tags as they were sent, stands for.

import (
	"strings"
	"unsafe"

	"github.com/cespare/xxhash/v2"

	"cistern/services/histogram"
)

// entry is a reader's part of a metric: what it has counted since the last second.
// There are as many as names, so that it is one line of the cache.
type entry struct {
	hash   uint64
	text   string // name and tags, one after the other
	metric *metric
	spread *histogram.Accumulator // of a timer of which something has come since the last second
	sum    float64                // of a counter
	carry  float64                // of a sampled timer: what its counts are less than what was sent, from -0.5 to 0.5
	host   uint32                 // the number of the sender's label host; see hostNumbers
	name   uint16                 // the name's length
	kind   metricType
	dirty  bool // it is in the shard's list
}

// table is an open hash table; a load of a half at most. The hashes lie side by side, so that a miss costs no entry.
type table struct {
	slots []slot
	used  int
}

type slot struct {
	hash  uint64
	entry *entry
}

// hashOf mixes what identifies a line. Zero is never a hash.
func hashOf(l *line) uint64 {
	h := xxhash.Sum64(l.name) + uint64(l.kind)
	if len(l.tags) > 0 {
		h = (h<<31 | h>>33) ^ xxhash.Sum64(l.tags)*0x9e3779b97f4a7c15
	}
	if l.host != 0 {
		h = (h ^ uint64(l.host)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h | 1
}

// is says whether an entry stands for a line.
func (e *entry) is(l *line) bool {
	return e.kind == l.kind && e.host == l.host && int(e.name) == len(l.name) && len(e.text) == len(l.name)+len(l.tags) &&
		e.text[:e.name] == borrow(l.name) && e.text[e.name:] == borrow(l.tags)
}

// candidate is the first entry with a hash, or nil.
func (t *table) candidate(hash uint64) *entry {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := (hash >> 8) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.hash == hash || s.hash == 0 {
			return s.entry
		}
	}
}

func (t *table) find(l *line) *entry {
	if len(t.slots) == 0 {
		return nil
	}
	mask := uint64(len(t.slots) - 1)
	for i := (l.hash >> 8) & mask; ; i = (i + 1) & mask {
		s := &t.slots[i]
		if s.hash == 0 || s.hash == l.hash && s.entry.is(l) {
			return s.entry
		}
	}
}

func (t *table) insert(e *entry) {
	if 2*(t.used+1) > len(t.slots) {
		old := t.slots
		t.slots = make([]slot, max(1024, 2*len(old)))
		for i := range old {
			if old[i].hash != 0 {
				t.put(old[i].entry)
			}
		}
	}
	t.put(e)
	t.used++
}

func (t *table) put(e *entry) {
	mask := uint64(len(t.slots) - 1)
	i := (e.hash >> 8) & mask
	for t.slots[i].hash != 0 {
		i = (i + 1) & mask
	}
	t.slots[i] = slot{e.hash, e}
}

// remove takes out the entries that gone says yes to.
func (t *table) remove(gone func(*entry) bool) {
	var kept []*entry
	for i := range t.slots {
		if e := t.slots[i].entry; e != nil && !gone(e) {
			kept = append(kept, e)
		}
	}
	if len(kept) == t.used {
		return
	}
	size := 1024
	for size < 2*len(kept)+2 {
		size *= 2
	}
	t.slots, t.used = make([]slot, size), len(kept)
	for _, e := range kept {
		t.put(e)
	}
}

// owned copies a line's identity, because the packet's memory is used again. A name without tags stands in its series' key already.
func owned(l *line, key string) string {
	if at := strings.Index(key, borrow(l.name)); at >= 0 && len(l.tags) == 0 {
		return key[at : at+len(l.name)]
	}
	text := make([]byte, 0, len(l.name)+len(l.tags))
	text = append(append(text, l.name...), l.tags...)
	return unsafe.String(unsafe.SliceData(text), len(text))
}
