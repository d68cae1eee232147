package tsdb

// What the store says about itself: figures, and the list of metrics.

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Metric is one name of the metric picker.
type Metric struct {
	Name   string
	Kind   Kind
	Series int
	// FirstTime is where the oldest block that has it begins: it was not there before.
	FirstTime, LastTime int64 // ms
}

// MetricQuery says which metrics are listed.
type MetricQuery struct {
	// Match is in their names, whatever its case.
	Match string
	// Own are those whose names begin with OwnPrefix, Sent all others; both when neither is set.
	Own, Sent bool
	// Limit is how many at most; 0: all.
	Limit int
}

// MetricList is what a MetricQuery finds.
type MetricList struct {
	Metrics []Metric // ascending
	// Total is how many there are without the limit.
	Total int
	// Oldest is the time of the oldest block, in ms; 0 where there is nothing.
	Oldest int64
}

// summary is what a block knows of one name; it never changes.
type summary struct {
	kind     Kind
	series   int
	first    int64 // of all blocks that have it; a block's own is its MinTime
	lastTime int64
}

// Metrics lists metrics by name.
func (s *Store) Metrics(q MetricQuery) (MetricList, error) {
	v, release, err := s.view(context.Background(), -1<<62, 1<<62)
	if err != nil {
		return MetricList{}, err
	}
	defer release()
	all := map[string]summary{}
	var found MetricList
	add := func(parts map[string]summary, first int64) {
		if len(parts) > 0 && (found.Oldest == 0 || first < found.Oldest) {
			found.Oldest = first
		}
		for name, part := range parts {
			known, there := all[name]
			if !there {
				known.first = first
			}
			all[name] = summary{part.kind, max(known.series, part.series), min(known.first, first), max(known.lastTime, part.lastTime)}
		}
	}
	for _, b := range v.blocks {
		x, err := b.index()
		var parts map[string]summary
		if err == nil {
			parts, err = x.metrics()
		}
		if err != nil {
			if err := v.spoiled(b, err); err != nil {
				return MetricList{}, err
			}
		}
		add(parts, b.MinTime)
	}
	for _, h := range v.heads {
		add(h.metrics())
	}
	match := strings.ToLower(q.Match)
	found.Metrics = []Metric{}
	for name, one := range all {
		own := strings.HasPrefix(name, OwnPrefix)
		if (own && q.Sent && !q.Own) || (!own && q.Own && !q.Sent) || !strings.Contains(strings.ToLower(name), match) {
			continue
		}
		found.Metrics = append(found.Metrics, Metric{name, one.kind, one.series, one.first, one.lastTime})
	}
	slices.SortFunc(found.Metrics, func(a, b Metric) int { return strings.Compare(a.Name, b.Name) })
	found.Total = len(found.Metrics)
	if q.Limit > 0 && found.Total > q.Limit {
		found.Metrics = found.Metrics[:q.Limit]
	}
	return found, nil
}

// metrics is what the head knows of each name, and its oldest time.
func (h *head) metrics() (map[string]summary, int64) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	parts := map[string]summary{}
	for name, p := range h.labels[NameLabel] {
		var part summary
		for _, ref := range p.refs() {
			if s := h.series[ref]; s.has {
				part = summary{kind: s.kind, series: part.series + 1, lastTime: max(part.lastTime, s.maxTime)}
			}
		}
		if part.series > 0 {
			parts[strings.Clone(name)] = part
		}
	}
	return parts, h.minTime
}

// Damage is a block of which not everything can be read.
type Damage struct {
	Block    string // its ID, which is its file's name in the folder blocks
	SetAside bool   // nothing of it is served; its file ends in ".damaged"
	// The times it covers, in ms; both 0 when that is unreadable too.
	MinTime, MaxTime int64
	Detail           string // what was found
}

// InJournal is the Block of damage to the journal. What was in no block yet is lost with it.
const InJournal = "journal"

// damageList is what was found damaged, once each.
type damageList struct {
	mu   sync.Mutex
	list []Damage
}

func (d *damageList) note(one Damage) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

func (d *damageList) all() []Damage {
	d.mu.Lock()
	defer d.mu.Unlock()
	return append([]Damage{}, d.list...)
}

// Status is the store's figures.
type Status struct {
	Series           int // of the head, and those that were in the one before
	SamplesPerSecond float64
	Accepted         map[string]uint64 // by input, since the start
	Rejected         map[Reason]uint64
	JournalBytes     int64
	JournalEntries   uint64  // since the start, as the next two
	JournalSyncs     uint64  // fsyncs for which somebody waited, or the second had passed
	JournalFlushes   uint64  // of its pre-commit buffer, where it has one
	LagSeconds       float64 // how old the oldest sample is that is in no block yet; 0 when there is none
	HeadSamples      int64
	HeadBytes        int64
	HeadMinTime      int64 // ms; 0 when the head is empty
	HeadMaxTime      int64
	Blocks           []BlockInfo
	Damaged          []Damage  // in the order they were found in
	Refusing         *Refusing // nil: nothing was refused lately that was not the sender's fault
	FlushFailures    uint64
	Merges           uint64
	Replaced         uint64 // samples that took the place of another of their series and time, since the start
	Deletions        int    // not carried out in all blocks yet
	Started          time.Time
	Replayed         Replayed
}

// Replayed is what was read back from the journal at the start: samples that were acknowledged and in no block yet.
type Replayed struct {
	Entries, Samples int
	DamagedBytes     int64         // that could not be read
	DamagedEntries   int           // of which something is missing
	Took             time.Duration // all of it
}

// Status returns the store's figures.
func (s *Store) Status() Status {
	stat := s.journal.Stat()
	status := Status{JournalBytes: stat.Bytes, JournalEntries: stat.Entries, JournalSyncs: stat.Syncs, JournalFlushes: stat.Flushes, Started: s.counts.started, Replayed: s.replayed,
		FlushFailures: s.counts.flushFailures.Load(), Merges: s.counts.merges.Load(), Replaced: s.counts.replaced.count()}
	status.Accepted, status.Rejected, status.SamplesPerSecond = s.counts.snapshot()
	status.Refusing = s.counts.refusals.current(s.options.Now())
	s.mu.RLock()
	defer s.mu.RUnlock()
	status.Blocks, status.Deletions = []BlockInfo{}, len(s.deletions)
	for _, b := range s.list {
		status.Blocks = append(status.Blocks, b.BlockInfo)
	}
	status.Damaged = slices.DeleteFunc(s.counts.damaged.all(), func(d Damage) bool {
		// Retention or a deletion may have taken it since.
		return !d.SetAside && d.Block != InJournal && !slices.ContainsFunc(s.list, func(b *block) bool { return b.ID == d.Block })
	})
	for _, h := range []*head{s.frozen, s.live} {
		if h == nil {
			continue
		}
		h.mu.RLock()
		status.HeadSamples += h.samples
		status.HeadBytes += h.bytes()
		if h.has && (status.HeadMinTime == 0 || h.minTime < status.HeadMinTime) {
			status.HeadMinTime = h.minTime
		}
		if h.has && (status.HeadMaxTime == 0 || h.maxTime > status.HeadMaxTime) {
			status.HeadMaxTime = h.maxTime
		}
		if h == s.live {
			status.Series = len(s.recent) + h.fresh
		}
		h.mu.RUnlock()
	}
	if status.HeadSamples > 0 {
		began := s.began
		if s.frozen != nil {
			began = s.frozenBegan
		}
		status.LagSeconds = max(0, s.options.Now().Sub(began).Seconds())
	}
	return status
}

// Totals is Accepted and Rejected alone, for those who ask every second.
func (s *Store) Totals() (accepted map[string]uint64, rejected map[string]uint64) {
	accepted, by, _ := s.counts.snapshot()
	rejected = make(map[string]uint64, len(by))
	for reason, n := range maps.All(by) {
		rejected[string(reason)] = n
	}
	return accepted, rejected
}
