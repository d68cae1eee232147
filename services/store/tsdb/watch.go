package tsdb

// Watched limits: who is notified at once when a number goes beyond one. A threshold rule is evaluated every few seconds; of
// thousands of them that takes most of those seconds, and the store knows in the moment of writing which are worth asking for.
//
// It is a hint and not a truth: told when a series' newest number is beyond the limit and the one before was not, or is not in
// the head any more. Late samples, deletions and the end of a series tell nothing. Whoever is notified then queries.
//
// The series in the head that a limit concerns have a number: that of a list of limits in the table, for series next to each
// other mostly have the same. A series that comes later is looked up by its labels: a limit is filed under one label that its
// selector demands. What no limit concerns costs a comparison with zero for each sample.

import (
	"encoding/binary"
	"math"
	"sync"

	"github.com/prometheus/prometheus/model/labels"
)

// Limit is on the numbers of the series that match.
type Limit struct {
	Matchers []*Matcher
	Value    float64
	Below    bool // it is exceeded by what is less; else by what is more
}

func (l *Limit) beyond(v float64) bool { return v > l.Value && !l.Below || v < l.Value && l.Below }

const (
	// A limit of more series, which is a mistake in its selector, or one too many in all, is not watched.
	maxLimitSeries = 10_000
	maxWatched     = 4_000_000
)

// Watching are limits that somebody watches. Make one with Store.Watch.
type Watching struct {
	store  *Store
	limits []Limit

	// Bell rings when Take has something.
	Bell    chan struct{}
	mu      sync.Mutex
	crossed []int
	noted   []bool // whether it is in crossed
}

// Watch begins to watch; Close ends it. Limits are identified by their places in the list.
func (s *Store) Watch(limits []Limit) *Watching {
	w := &Watching{store: s, limits: limits, Bell: make(chan struct{}, 1), noted: make([]bool, len(limits))}
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	s.watchings = append(s.watchings, w)
	s.watch()
	return w
}

// Close ends it.
func (w *Watching) Close() {
	s := w.store
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	for i, other := range s.watchings {
		if other == w {
			s.watchings = append(s.watchings[:i:i], s.watchings[i+1:]...)
			s.watch()
			return
		}
	}
}

// Take is the limits that were gone beyond since it was called last, each once.
func (w *Watching) Take() []int {
	w.mu.Lock()
	defer w.mu.Unlock()
	taken := w.crossed
	w.crossed = nil
	for _, i := range taken {
		w.noted[i] = false
	}
	return taken
}

func (w *Watching) note(limit int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.noted[limit] {
		return
	}
	w.noted[limit] = true
	w.crossed = append(w.crossed, limit)
	select {
	case w.Bell <- struct{}{}:
	default:
	}
}

// watch puts the limits of all watchings in force. The caller holds ingesting.
func (s *Store) watch() {
	s.limits = nil
	for _, w := range s.watchings {
		for i := range w.limits {
			if s.limits == nil {
				s.limits = &limitTable{lists: [][]uint32{nil}, byNumbers: map[string]uint32{}, byLabel: map[Label][]uint32{}}
			}
			s.limits.add(watched{Limit: &w.limits[i], watching: w, place: i})
		}
	}
	s.live.watch(s.limits)
}

// watched is a limit in a table.
type watched struct {
	*Limit
	watching *Watching
	place    int
	series   int // in the head that the table is for
}

// limitTable is the limits by number, from 0. Whoever holds the head it is for may use it.
type limitTable struct {
	limits    []watched
	byLabel   map[Label][]uint32 // each under one label that it demands
	rest      []uint32           // those that demand none
	lists     [][]uint32         // what series have; the first is of those that have none
	byNumbers map[string]uint32  // the place of a list
	total     int                // of all series the lengths of their lists
	scratch   []uint32
	text      []byte
}

func (t *limitTable) add(one watched) {
	number := uint32(len(t.limits))
	t.limits = append(t.limits, one)
	var under *Label
	for _, m := range one.Matchers {
		// The name only if there is nothing else: it is what most limits have in common.
		if m.Type == labels.MatchEqual && m.Value != "" && (under == nil || under.Name == NameLabel) {
			under = &Label{Name: m.Name, Value: m.Value}
		}
	}
	if under == nil {
		t.rest = append(t.rest, number)
		return
	}
	t.byLabel[*under] = append(t.byLabel[*under], number)
}

// count says whether one more series is not too many for a limit.
func (t *limitTable) count(number uint32) bool {
	one := &t.limits[number]
	if one.series >= maxLimitSeries || t.total >= maxWatched {
		return false
	}
	one.series++
	t.total++
	return true
}

// listOf is the place of the list of the limits that concern a series with these labels.
func (t *limitTable) listOf(own []Label) uint32 {
	t.scratch = t.scratch[:0]
	look := func(numbers []uint32) {
		for _, number := range numbers {
			if matchAll(t.limits[number].Matchers, own) && t.count(number) {
				t.scratch = append(t.scratch, number)
			}
		}
	}
	for _, l := range own {
		look(t.byLabel[l])
	}
	look(t.rest)
	return t.place(t.scratch)
}

// place is that of a list that holds these numbers.
func (t *limitTable) place(numbers []uint32) uint32 {
	if len(numbers) == 0 {
		return 0
	}
	t.text = t.text[:0]
	for _, n := range numbers {
		t.text = binary.LittleEndian.AppendUint32(t.text, n)
	}
	place, ok := t.byNumbers[string(t.text)]
	if !ok {
		place = uint32(len(t.lists))
		t.lists = append(t.lists, append([]uint32(nil), numbers...))
		t.byNumbers[string(t.text)] = place
	}
	return place
}

func matchAll(matchers []*Matcher, own []Label) bool {
	for _, m := range matchers {
		value := ""
		for _, l := range own {
			if l.Name == m.Name {
				value = l.Value
				break
			}
		}
		if !m.Matches(value) {
			return false
		}
	}
	return true
}

// watch puts a table in the place of the one that there was; nil for none. The caller holds Store.ingesting.
func (h *head) watch(t *limitTable) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, ref := range h.concerned {
		h.series[ref].limits = 0
	}
	h.limits, h.concerned = t, nil
	if t == nil {
		return
	}
	concerned := map[uint32][]uint32{}
	for number := range t.limits {
		refs, err := selectSeries(h, t.limits[number].Matchers)
		if err != nil || len(refs) > maxLimitSeries {
			t.limits[number].series = maxLimitSeries // nor those that come later
			continue
		}
		for _, ref := range refs {
			if t.count(uint32(number)) {
				concerned[ref] = append(concerned[ref], uint32(number))
			}
		}
	}
	for ref, numbers := range concerned {
		h.concern(h.series[ref], t.place(numbers))
	}
}

// concern gives a series its list, which may be that of none.
func (h *head) concern(s *memSeries, list uint32) {
	if s.limits = list; list != 0 {
		h.concerned = append(h.concerned, s.ref)
	}
}

// crossing notes which limits a number goes beyond that comes next in a series. The caller holds mu.
func (h *head) crossing(s *memSeries, t int64, v float64) {
	if s.has && t <= s.maxTime {
		return
	}
	before := math.NaN() // beyond no limit
	if s.open.count > 0 {
		before = s.open.latest(&h.pieces)
	}
	for _, number := range h.limits.lists[s.limits] {
		if one := &h.limits.limits[number]; one.beyond(v) && !one.beyond(before) {
			one.watching.note(one.place)
		}
	}
}
