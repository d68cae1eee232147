package tsdb

// Which labels all of a host's series have. It takes a look at each of the host's series, so it is done when somebody asks,
// for the hosts of which series have begun, and for one host not more often than labelsEvery.

import (
	"slices"
	"strings"
)

// relabel makes the labels of hosts whose series have changed.
func (v *inventory) relabel(now int64) {
	type task struct {
		*hostRecord
		refs []uint32 // only ever added to
	}
	var tasks []task
	v.mu.Lock()
	h := v.head
	for _, one := range v.records {
		if v.outdated(one, now) {
			tasks = append(tasks, task{one, one.refs})
		}
	}
	v.mu.Unlock()
	var parsed []Label
	for _, t := range tasks {
		one := t.hostRecord
		var common []Label
		common, parsed = h.commonLabels(t.refs, parsed)
		v.mu.Lock()
		if v.head == h { // else the next one who asks
			one.labelled = now
			if !slices.Equal(one.labels, common) {
				one.labels = common
				v.bump(one)
			}
		}
		v.mu.Unlock()
	}
}

// outdated says whether a host's labels have to be made. After a new head began its series come back one by one: as long as
// few have, they say less than what is known.
func (v *inventory) outdated(one *hostRecord, now int64) bool {
	if len(one.refs) == 0 || one.labelled > 0 && now-one.labelled < labelsEvery.Milliseconds() {
		return false
	}
	if len(one.refs) < one.before*9/10 && now-v.began < labelsWindow.Milliseconds() {
		return false
	}
	// Once after the last series began, and once when those that it took the place of are silent.
	return one.labelled <= one.newest || one.labelled <= one.newest+labelsWindow.Milliseconds() && now > one.newest+labelsWindow.Milliseconds()
}

// commonLabels is the labels that all of these series have which have reported within labelsWindow of the newest; in memory
// of their own. The second value is scratch memory for the next call.
func (h *head) commonLabels(refs []uint32, parsed []Label) (common, scratch []Label) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	newest := int64(0)
	for _, ref := range refs {
		if s := h.series[ref]; s.has {
			newest = max(newest, s.maxTime)
		}
	}
	oldest, first := newest-labelsWindow.Milliseconds(), true
	for _, ref := range refs {
		s := h.series[ref]
		if !s.has || s.maxTime < oldest {
			continue
		}
		var err error
		if parsed, err = appendLabelsOf(parsed[:0], s.key); err != nil {
			continue
		}
		if first {
			common, first = slices.Clone(parsed), false
			continue
		}
		common = shared(common, parsed)
	}
	kept := []Label{}
	for _, l := range common {
		if l.Name != NameLabel && !slices.Contains(HostLabels, l.Name) {
			kept = append(kept, Label{strings.Clone(l.Name), strings.Clone(l.Value)})
		}
	}
	return kept, parsed
}

// shared is what is in both lists, which are in order; in the memory of the first.
func shared(a, b []Label) []Label {
	kept := a[:0]
	for _, l := range a {
		for len(b) > 0 && b[0].Name < l.Name {
			b = b[1:]
		}
		if len(b) > 0 && b[0] == l {
			kept = append(kept, l)
		}
	}
	return kept
}
