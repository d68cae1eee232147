package tsdb

import "fmt"

// NamesVersion is another one as soon as there is a sample of a name that nobody had sent before: for who shows the list of metrics,
// and must not read it again and again. It also changes at a start, and may when a block is written.
func (s *Store) NamesVersion() string {
	return fmt.Sprintf("%x-%x", s.inventory.epoch, s.names.Load())
}

// firstOfName says whether a series is the head's first one of its name. The caller holds Store.ingesting.
func (h *head) firstOfName(s *memSeries) bool {
	if s.own {
		return false
	}
	p := h.labels[NameLabel][LabelOf(s.key, NameLabel)]
	return p != nil && p.first == s.ref
}
