package tsdb

// The head: the series and samples since the last block, in memory. One generation of it takes samples; while it is
// written to a block it is frozen and a new one takes over.

import (
	"sort"
	"sync"

	"cistern/services/journal"
)

type head struct {
	// mu guards everything below. Only the holder of Store.ingesting changes it, so that one may read without mu.
	mu     sync.RWMutex
	byKey  map[string]*memSeries
	series []*memSeries // by ref
	labels map[string]map[string][]uint32

	minTime, maxTime int64
	has              bool
	samples          int64
	bytes            int64 // about
	// since is the journal's position when this head began: everything in it comes from behind.
	since journal.Position
	// fresh counts the series that were not in the head before.
	fresh int
}

func newHead(since journal.Position) *head {
	return &head{byKey: map[string]*memSeries{}, labels: map[string]map[string][]uint32{}, since: since}
}

// create adds a series. The caller holds Store.ingesting.
func (h *head) create(key string, kind Kind) (*memSeries, error) {
	labels, err := ParseKey(key)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &memSeries{key: key, ref: uint32(len(h.series)), kind: kind}
	h.byKey[key] = s
	h.series = append(h.series, s)
	for _, l := range labels {
		values := h.labels[l.Name]
		if values == nil {
			values = map[string][]uint32{}
			h.labels[l.Name] = values
		}
		values[l.Value] = append(values[l.Value], s.ref)
	}
	h.bytes += int64(len(key) + overhead)
	return s, nil
}

// put stores samples that were resolved to series of this head.
func (h *head) put(batch []resolved) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range batch {
		one := &batch[i]
		var grown int
		if one.series.kind == Histogram {
			grown = one.series.appendHistogram(one.time, one.histogram)
		} else {
			grown = one.series.appendNumber(one.time, one.value)
		}
		h.bytes += int64(grown)
		if !h.has {
			h.has, h.minTime, h.maxTime = true, one.time, one.time
		}
		h.minTime, h.maxTime = min(h.minTime, one.time), max(h.maxTime, one.time)
	}
	h.samples += int64(len(batch))
}

// The index; the caller holds mu for reading.

func (h *head) all() ([]uint32, error) {
	refs := make([]uint32, len(h.series))
	for i := range refs {
		refs[i] = uint32(i)
	}
	return refs, nil
}

func (h *head) postings(name, value string) ([]uint32, error) { return h.labels[name][value], nil }

func (h *head) eachValue(name string, f func(string, func() ([]uint32, error)) error) error {
	for value, refs := range h.labels[name] {
		if err := f(value, func() ([]uint32, error) { return refs, nil }); err != nil {
			return err
		}
	}
	return nil
}

// byKeyOrder is the series that hold samples, in the order of their keys, as blocks want them.
func (h *head) byKeyOrder() []*memSeries {
	h.mu.RLock()
	defer h.mu.RUnlock()
	var list []*memSeries
	for _, s := range h.series {
		if s.has {
			list = append(list, s)
		}
	}
	sort.Slice(list, func(a, b int) bool { return list[a].key < list[b].key })
	return list
}
