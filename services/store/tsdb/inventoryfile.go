package tsdb

// What is known of hosts survives in a file beside the blocks, written with each flush, and once a minute while there are
// new hosts that no label names: what came since is in the journal, which does not know addresses. When there is no file, as
// of a store of an older version, the blocks' indexes say which hosts there were and when.
//
// FILE "hosts": JSON, replaced as a whole: {"version": 1, "hosts": […]}.

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"cistern/services/platform/vfs"
)

const (
	hostsFile    = "hosts"
	hostsVersion = 1
	// saveHostsEvery is how often hosts that no label names are saved: after a crash that is how old what is known of them is.
	saveHostsEvery = time.Minute
)

type hostsOnDisk struct {
	Version int          `json:"version"`
	Hosts   []hostOnDisk `json:"hosts"`
}

type hostOnDisk struct {
	Name     string            `json:"name"`
	By       []string          `json:"by"`
	First    int64             `json:"first"` // ms, as the others
	Last     int64             `json:"last"`
	Heard    int64             `json:"heard"`
	Interval int64             `json:"interval"`
	Series   int               `json:"series"`
	Inputs   []string          `json:"inputs"`
	Labels   map[string]string `json:"labels,omitempty"`
}

func (s *Store) saveHosts() error {
	v := &s.inventory
	v.mu.Lock()
	if !v.changed {
		v.mu.Unlock()
		return nil
	}
	all := hostsOnDisk{Version: hostsVersion, Hosts: make([]hostOnDisk, 0, len(v.records))}
	for _, one := range v.records {
		h := v.host(one)
		kept := hostOnDisk{h.Name, h.By, h.First, h.Last, h.Heard, one.interval(), h.Series, h.Inputs, map[string]string{}}
		for _, l := range h.Labels {
			kept.Labels[l.Name] = l.Value
		}
		all.Hosts = append(all.Hosts, kept)
	}
	v.changed, v.unsaved = false, false
	v.mu.Unlock()
	slices.SortFunc(all.Hosts, func(a, b hostOnDisk) int { return strings.Compare(a.Name, b.Name) })
	text, err := json.Marshal(all)
	if err == nil {
		err = vfs.Replace(s.options.FS, s.blocks, filepath.Join(s.blocks, hostsFile), text)
	}
	if err != nil {
		v.mu.Lock()
		v.changed = true
		v.mu.Unlock()
		return fmt.Errorf("saving what is known of hosts: %w", err)
	}
	return nil
}

// saveNewHosts saves when there are hosts that the journal does not know, and that is long enough ago.
func (s *Store) saveNewHosts(now time.Time) {
	v := &s.inventory
	v.mu.Lock()
	due := v.unsaved && now.Sub(v.saved) >= saveHostsEvery
	if due {
		v.saved = now
	}
	v.mu.Unlock()
	if !due {
		return
	}
	if err := s.saveHosts(); err != nil {
		s.options.Log.Warn("hosts were not saved; it is tried again with the next block", "error", err)
	}
}

// loadHosts is called before the journal is replayed.
func (s *Store) loadHosts() error {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.blocks, hostsFile))
	if vfs.NotExist(err) {
		return s.hostsOfBlocks()
	}
	var all hostsOnDisk
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err == nil && all.Version != hostsVersion {
		err = fmt.Errorf("it is of version %d, and this Cistern knows %d", all.Version, hostsVersion)
	}
	if err != nil { // the samples matter more
		s.options.Log.Error("what was known of hosts could not be read; the blocks say what they know", "error", err)
		return s.hostsOfBlocks()
	}
	v := &s.inventory
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, one := range all.Hosts {
		by := uint8(0)
		for _, name := range one.By {
			if at := slices.Index(append(HostLabels[:len(HostLabels):len(HostLabels)], bySender), name); at >= 0 {
				by |= 1 << at
			}
		}
		at, ok := v.record(one.Name, by)
		if !ok {
			break
		}
		record := v.records[at]
		record.first, record.last, record.heard, record.contact = one.First, one.Last, one.Heard, one.Heard
		record.before = one.Series
		if one.Interval > 0 && one.Interval <= 1<<31 {
			// Twice, so that the first gap, which is the restart's, does not count.
			record.gaps[0], record.gaps[1], record.gapCount = uint32(one.Interval), uint32(one.Interval), 2
		}
		for _, input := range one.Inputs {
			record.inputs |= v.inputBit(input)
		}
		for name, value := range one.Labels {
			record.labels = append(record.labels, Label{name, value})
		}
		slices.SortFunc(record.labels, func(a, b Label) int { return strings.Compare(a.Name, b.Name) })
	}
	v.changed = false
	return nil
}

// hostsOfBlocks fills the inventory from the indexes of blocks.
func (s *Store) hostsOfBlocks() error {
	v := &s.inventory
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, b := range s.list {
		x, err := b.index()
		if err == nil {
			err = x.eachHostSeries(nil, func(name string, by int, record *blockSeries) bool {
				if at, ok := v.record(name, 1<<by); ok {
					v.touch(v.records[at], &sighting{first: record.minTime, last: record.maxTime}, 0, 0)
					// How far apart its series begin in blocks is not how often it sends.
					v.records[at].gapCount = 0
				}
				return true
			})
		}
		if err != nil {
			s.noteDamage(b, err)
		}
	}
	return nil
}

// eachHostSeries calls f with the series of a block that name a host, of which wanted is true, until f returns false: then
// the next host's are next.
func (x *blockIndex) eachHostSeries(wanted func(name string) bool, f func(name string, by int, record *blockSeries) bool) error {
	for by, label := range HostLabels {
		err := x.eachValue(label, "", func(value string, series func() ([]uint32, error)) error {
			name, _ := HostName(func(other string) string {
				if other == label {
					return value
				}
				return ""
			})
			if wanted != nil && !wanted(name) {
				return nil
			}
			refs, err := series()
			if err != nil {
				return err
			}
			for _, ref := range refs {
				record, err := x.seriesAt(int(ref))
				if err != nil {
					return err
				}
				// Another label may come before this one.
				_, first := HostName(func(other string) string { return LabelOf(record.key, other) })
				if first != by || strings.HasPrefix(LabelOf(record.key, NameLabel), OwnPrefix) {
					continue
				}
				if !f(name, by, record) {
					return nil
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// forgetDeleted takes hosts out of which deletions have left nothing. The caller holds flushing, and has flushed: who has
// series in memory has sent since.
func (s *Store) forgetDeleted() {
	v := &s.inventory
	sender := uint8(1) << len(HostLabels)
	left := map[string]bool{} // candidates of which nothing was found yet
	v.mu.Lock()
	for _, one := range v.records {
		if len(one.refs) == 0 && one.by&sender == 0 {
			left[one.name] = true
		}
	}
	v.mu.Unlock()
	s.mu.RLock()
	blocks, deletions := slices.Clone(s.list), s.deletions
	for _, b := range blocks {
		b.acquire()
	}
	s.mu.RUnlock()
	defer func() {
		for _, b := range blocks {
			b.release()
		}
	}()
	for _, b := range slices.Backward(blocks) { // in the newest nearly all are found
		if len(left) == 0 {
			return
		}
		x, err := b.index()
		if err == nil {
			err = x.eachHostSeries(func(name string) bool { return left[name] }, func(name string, _ int, record *blockSeries) bool {
				deleted, err := record.deleted(deletions, b)
				if err != nil || !deleted {
					delete(left, name)
				}
				return left[name]
			})
		}
		if err != nil { // what cannot be read is no reason to forget somebody
			s.noteDamage(b, err)
			return
		}
	}
	s.ingesting.Lock() // so that nobody has a number
	defer s.ingesting.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	v.remove(func(one *hostRecord) bool { return left[one.name] && len(one.refs) == 0 })
	if h := v.head; h != nil {
		clear(h.hostOf) // numbers have changed: each is placed again when it comes
		for _, one := range v.records {
			one.before, one.refs = max(one.before, len(one.refs)), nil
		}
	}
}

// oldestHost is since when a host must have been heard of to be known.
func (s *Store) oldestHost() int64 {
	return s.options.Now().Add(-s.Retention().Raw).UnixMilli()
}

// replaySightings takes what an entry of the journal says of hosts. Who sent it is not in the journal.
func (s *Store) replaySightings(batch []resolved) {
	s.sightings.reset()
	for i := range batch {
		one := batch[i].series
		number := s.live.hostOf[one.ref]
		if number == hostUnseen {
			number = s.inventory.place(s.live, one, batch[i].time)
		}
		s.sightings.add(number, batch[i].time, nil, i)
	}
	s.inventory.saw(&s.sightings, "", 0)
}
