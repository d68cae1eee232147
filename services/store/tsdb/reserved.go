package tsdb

// Names that a part of the appliance writes to, as recording rules do: nobody else may, or two would write one series.

import (
	"unsafe"
)

// reservedNames is guarded by Store.ingesting.
type reservedNames map[string]struct{}

// reservedName is what a sender is told who uses a name of ReserveNames.
const reservedName = "the appliance itself writes the measurements of this name, as the result of a recording rule: send them under another name, or rename the rule"

func (r reservedNames) has(key []byte) bool {
	if len(r) == 0 {
		return false
	}
	_, taken := r[LabelOf(unsafe.String(unsafe.SliceData(key), len(key)), NameLabel)]
	return taken
}

// reservedDetail says whose a name is that a sender may not use. The key may be one that was not brought into order.
func reservedDetail(key []byte) string {
	if Reserved(key) {
		return ReservedDetail
	}
	return reservedName
}

// ReserveNames takes no more samples of these names from senders, and those of the names that were reserved before again.
// What is stored stays.
func (s *Store) ReserveNames(names []string) {
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	before := s.reserved
	s.reserved = reservedNames{}
	for _, name := range names {
		s.reserved[name] = struct{}{}
	}
	s.mu.RLock()
	live := s.live
	s.mu.RUnlock()
	for _, list := range []reservedNames{before, s.reserved} {
		for name := range list {
			for _, ref := range live.labels[NameLabel][name].refs() {
				one := live.series[ref]
				one.own = s.reserved.has([]byte(one.key)) || Reserved([]byte(one.key))
			}
		}
	}
}
