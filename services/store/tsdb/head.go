package tsdb

// The head: the series and samples since the last block, in memory. One generation of it takes samples; while it is
// written to a block it is frozen and a new one takes over.

import (
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"cistern/services/journal"
)

type head struct {
	// mu guards everything below. Only the holder of Store.ingesting changes it, so that one may read without mu.
	mu     sync.RWMutex
	table  seriesTable
	series []*memSeries // by ref
	slab   []memSeries  // what the next series are taken from
	arena  []byte       // what the next keys are taken from
	parsed []Label      // of the key that is being added
	labels map[string]map[string]*posting
	near   []labelled // of the series that was indexed last, most of whose labels the next one has too
	pieces pieces
	coder  coder
	limits *limitTable // what is watched; nil when nothing is
	twins  bool        // a key is there twice, with another kind: findKind
	// replaced counts samples that take another one's place; nil while the journal is replayed.
	replaced *replacements
	// concerned are the series that have a list of limits.
	concerned []uint32
	// hostOf is by ref whose the series is, in the inventory; only who holds Store.ingesting uses it.
	hostOf []uint32

	minTime, maxTime int64
	has              bool
	samples          int64
	seriesBytes      int64        // about: what the series cost without their samples
	sampleBytes      int64        // about
	pressure         atomic.Int64 // both, for those who hold no lock
	// since is the journal's position when this head began: everything in it comes from behind. defined is how much of
	// what was journalled since is definitions.
	since   journal.Position
	defined int64
	// number tells its entries in the journal from other heads': the journal's end when it began to take samples.
	number uint64
	// sequence is the number of the first of the blocks that the head is written to; 0 before that was tried.
	sequence uint64
	// fresh counts the series that were not in the head before.
	fresh int
}

// posting is the series that have a label; nearly every label is one series' or many's.
type posting struct {
	first uint32
	list  []uint32 // all of them, first too; nil while there is one
}

// labelled is a label and the series that have it.
type labelled struct {
	Label
	posting *posting
}

func (p *posting) refs() []uint32 {
	if p == nil {
		return nil
	}
	if p.list != nil {
		return p.list
	}
	return []uint32{p.first}
}

func newHead(since journal.Position) *head {
	return &head{labels: map[string]map[string]*posting{}, since: since}
}

func (h *head) bytes() int64 { return h.seriesBytes + h.sampleBytes }

// find is the series of a key, or nil.
func (h *head) find(key []byte, hash uint64) *memSeries {
	ref, ok := h.table.find(hash, func(ref uint32) bool { return h.series[ref].key == string(key) })
	if !ok {
		return nil
	}
	return h.series[ref]
}

// findKind is find of a series that may hold samples of a kind. The journal can hold more than one head's samples, and a
// name that has changed what it holds: these are series of their own, as they were in their heads.
func (h *head) findKind(key string, hash uint64, kind Kind) *memSeries {
	ref, ok := h.table.find(hash, func(ref uint32) bool {
		return h.series[ref].key == key && h.series[ref].kind.together(kind)
	})
	if !ok {
		return nil
	}
	return h.series[ref]
}

// keep copies a key into the arena.
func (h *head) keep(key []byte) string {
	if len(key) > cap(h.arena)-len(h.arena) {
		h.arena = make([]byte, 0, max(64<<10, len(key)))
	}
	start := len(h.arena)
	h.arena = append(h.arena, key...)
	kept := h.arena[start:]
	return unsafe.String(unsafe.SliceData(kept), len(kept)) // nobody writes there again
}

// overhead is about what a series costs besides its key, its labels and its samples.
const overhead = int64(unsafe.Sizeof(memSeries{})) + 8 + 16 + 8 // its place in the table, and two of hosts: hostOf and refs

// create adds a series that is not there. The caller holds Store.ingesting.
func (h *head) create(key []byte, hash uint64, kind Kind) (*memSeries, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s, err := h.add(key, hash, kind)
	if err != nil {
		return nil, err
	}
	h.seriesBytes += h.index(s.ref, h.parsed)
	if h.limits != nil {
		h.concern(s, h.limits.listOf(h.parsed))
	}
	return s, nil
}

// add is create without the index: h.parsed is what index wants.
func (h *head) add(key []byte, hash uint64, kind Kind) (*memSeries, error) {
	kept := h.keep(key)
	labels, err := appendLabelsOf(h.parsed[:0], kept)
	if err != nil {
		return nil, err
	}
	h.parsed = labels
	if len(h.slab) == 0 {
		h.slab = make([]memSeries, slabBytes/unsafe.Sizeof(memSeries{}))
	}
	s := &h.slab[0]
	h.slab = h.slab[1:]
	s.key, s.ref, s.kind = kept, uint32(len(h.series)), kind
	for _, l := range labels {
		if l.Name == NameLabel {
			s.own = strings.HasPrefix(l.Value, OwnPrefix)
			break
		}
	}
	h.table.add(hash, s.ref)
	h.series = append(h.series, s)
	h.hostOf = append(h.hostOf, hostUnseen)
	h.seriesBytes += overhead + int64(len(key))
	return s, nil
}

// index adds a series, which is newer than those that were added before, to the postings of its labels, and returns about
// how many bytes they grew by.
func (h *head) index(ref uint32, labels []Label) (grown int64) {
	for len(h.near) < len(labels) {
		h.near = append(h.near, labelled{})
	}
	for i, l := range labels {
		last := &h.near[i]
		if last.posting == nil || last.Label != l {
			values := h.labels[l.Name]
			if values == nil {
				values = map[string]*posting{}
				h.labels[l.Name] = values
			}
			p := values[l.Value]
			if p == nil {
				p = &posting{first: ref}
				values[l.Value] = p
				*last = labelled{l, p}
				grown += 72
				continue
			}
			*last = labelled{l, p}
		}
		if p := last.posting; p.list == nil {
			p.list = []uint32{p.first, ref}
			grown += 8
		} else {
			p.list = append(p.list, ref)
			grown += 6
		}
	}
	return grown
}

// indexer adds series to a head's index beside whoever adds them to the head, which nobody else may use meanwhile: while
// the journal is read, the index is half of the work.
type indexer struct {
	head  *head
	batch []*memSeries
	work  chan []*memSeries
	grown chan int64
}

func newIndexer(h *head) *indexer {
	x := &indexer{head: h, work: make(chan []*memSeries, 16), grown: make(chan int64, 1)}
	go func() {
		grown := int64(0)
		var labels []Label
		for batch := range x.work {
			for _, s := range batch {
				labels, _ = appendLabelsOf(labels[:0], s.key) // it was read before
				grown += h.index(s.ref, labels)
			}
		}
		x.grown <- grown
	}()
	return x
}

func (x *indexer) add(s *memSeries) {
	if x.batch = append(x.batch, s); len(x.batch) == 1024 {
		x.work <- x.batch
		x.batch = make([]*memSeries, 0, 1024)
	}
}

// finish returns when all are in the index.
func (x *indexer) finish() {
	x.work <- x.batch
	close(x.work)
	x.head.seriesBytes += <-x.grown
	x.head.pressure.Store(x.head.bytes())
}

// put stores samples that were resolved to series of this head.
func (h *head) put(batch []resolved) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range batch {
		one := &batch[i]
		var grown int
		switch one.series.kind {
		case Histogram:
			grown = one.series.appendHistogram(one.time, one.encoded, &h.coder)
		case NativeHistogram:
			if one.series.has && one.time <= one.series.maxTime && h.replaced != nil {
				h.replacing(one)
			}
			grown = one.series.appendNative(one.time, one.encoded, &h.coder)
		default:
			if one.series.has && one.time <= one.series.maxTime && h.replaced != nil {
				h.replacing(one)
			}
			if one.series.limits != 0 {
				h.crossing(one.series, one.time, one.value)
			}
			grown = one.series.appendNumber(one.time, one.value, &h.pieces, &h.coder)
		}
		h.sampleBytes += int64(grown)
		if !h.has {
			h.has, h.minTime, h.maxTime = true, one.time, one.time
		}
		h.minTime, h.maxTime = min(h.minTime, one.time), max(h.maxTime, one.time)
	}
	h.samples += int64(len(batch))
	h.pressure.Store(h.bytes())
}

// The index; the caller holds mu for reading.

func (h *head) all() ([]uint32, error) {
	refs := make([]uint32, len(h.series))
	for i := range refs {
		refs[i] = uint32(i)
	}
	return refs, nil
}

func (h *head) postings(name, value string) ([]uint32, error) {
	return h.labels[name][value].refs(), nil
}

func (h *head) count(name, value string) (int, error) { return len(h.labels[name][value].refs()), nil }

func (h *head) eachValue(name, prefix string, f func(string, func() ([]uint32, error)) error) error {
	for value, p := range h.labels[name] {
		if !strings.HasPrefix(value, prefix) {
			continue
		}
		if err := f(value, func() ([]uint32, error) { return p.refs(), nil }); err != nil {
			return err
		}
	}
	return nil
}

func (h *head) keyOf(ref uint32) (string, error) { return h.series[ref].key, nil }

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
