package tsdb

// Metadata and exemplars: what clients say about names and single measurements. Both are journalled as they come, and
// saved whole with each flush, so that they are as durable as samples.
//
// Journal entry: byte 16 (metadata) or 17 (exemplars), JSON. FILE "descriptions" in the folder of the blocks: JSON,
// replaced as a whole.

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sort"
	"sync"

	"cistern/services/platform/vfs"
)

const (
	entryMetadata    = 16
	entryExemplars   = 17
	descriptionsFile = "descriptions"

	maxDescribed      = 100_000 // names
	maxHelp           = 1024    // bytes of a help text
	maxExemplars      = 100_000 // in all
	exemplarsOfSeries = 100
	maxExemplarLabels = 1024 // bytes; OpenMetrics allows 128 characters
)

// ExemplarSet is what a series has of exemplars.
type ExemplarSet struct {
	Labels    []Label // of the series
	Exemplars []StoredExemplar
}

// StoredExemplar is an exemplar without its series.
type StoredExemplar struct {
	Labels []Label
	Value  float64
	Time   int64 // ms
}

type descriptions struct {
	mu        sync.RWMutex
	metadata  map[string]Metadata
	exemplars map[string][]StoredExemplar // by key, ascending in time
	count     int
	changed   bool
}

// record is how an exemplar is written. Values are text because JSON has no NaN.
type exemplarRecord struct {
	Key    []byte    `json:"key"`
	Labels []Label   `json:"labels"`
	Value  jsonFloat `json:"value"`
	Time   int64     `json:"time"`
}

type jsonFloat float64

func (f jsonFloat) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%g", float64(f)), nil }
func (f *jsonFloat) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%g", (*float64)(f))
	return err
}

// Describe implements Ingester.
func (s *Store) Describe(metadata []Metadata) {
	d := &s.described
	var fresh []Metadata
	d.mu.Lock()
	for _, m := range metadata {
		m.Help = m.Help[:min(len(m.Help), maxHelp)]
		if m.Name == "" || len(m.Name) > MaxLabelValue || len(m.Unit) > MaxLabelName || len(m.Type) > MaxLabelName ||
			d.metadata[m.Name] == m || d.metadata[m.Name].Name == "" && len(d.metadata) >= maxDescribed {
			continue
		}
		fresh = append(fresh, d.keepMetadata(m))
	}
	d.mu.Unlock()
	if len(fresh) > 0 {
		s.note(entryMetadata, fresh)
	}
}

// keepMetadata stores a copy that shares no memory with a request.
func (d *descriptions) keepMetadata(m Metadata) Metadata {
	m = Metadata{string([]byte(m.Name)), string([]byte(m.Type)), string([]byte(m.Unit)), string([]byte(m.Help))}
	if d.metadata == nil {
		d.metadata = map[string]Metadata{}
	}
	d.metadata[m.Name] = m
	d.changed = true
	return m
}

// Exemplify implements Ingester.
func (s *Store) Exemplify(ctx context.Context, exemplars []Exemplar) {
	force := forcing{labels: ForcedLabels(ctx)}
	var forced []byte
	d := &s.described
	var fresh []exemplarRecord
	d.mu.Lock()
	for _, e := range exemplars {
		size := 0
		for _, l := range e.Labels {
			size += len(l.Name) + len(l.Value)
		}
		if size > maxExemplarLabels {
			continue
		}
		if len(force.labels) > 0 {
			var raw bool
			if forced, raw = force.append(forced[:0], e.Key); raw {
				continue // there is no such series
			}
			e.Key = forced
		}
		one := exemplarRecord{slices.Clone(e.Key), cloneLabels(e.Labels), jsonFloat(e.Value), e.Time}
		if d.keepExemplar(one) {
			fresh = append(fresh, one)
		}
	}
	d.mu.Unlock()
	if len(fresh) > 0 {
		s.note(entryExemplars, fresh)
	}
}

func cloneLabels(list []Label) []Label {
	copied := make([]Label, len(list))
	for i, l := range list {
		copied[i] = Label{string([]byte(l.Name)), string([]byte(l.Value))}
	}
	return copied
}

func (d *descriptions) keepExemplar(e exemplarRecord) bool {
	if d.exemplars == nil {
		d.exemplars = map[string][]StoredExemplar{}
	}
	list := d.exemplars[string(e.Key)]
	i := sort.Search(len(list), func(i int) bool { return list[i].Time >= e.Time })
	one := StoredExemplar{e.Labels, float64(e.Value), e.Time}
	if i < len(list) && list[i].Time == e.Time && list[i].Value == one.Value && slices.Equal(list[i].Labels, one.Labels) {
		return false
	}
	if len(list) >= exemplarsOfSeries {
		if i == 0 {
			return false
		}
		list, i = slices.Delete(list, 0, 1), i-1
		d.count--
	} else if d.count >= maxExemplars {
		d.makeRoom()
		list = d.exemplars[string(e.Key)]
		i = sort.Search(len(list), func(i int) bool { return list[i].Time >= e.Time })
	}
	d.exemplars[string(e.Key)] = slices.Insert(list, i, one)
	d.count++
	d.changed = true
	return true
}

// makeRoom lets a tenth of the exemplars go: those of the series that have had none for the longest time. Otherwise series that
// ended would leave no room for those that begin.
func (d *descriptions) makeRoom() {
	newest := func(key string) int64 {
		list := d.exemplars[key]
		return list[len(list)-1].Time
	}
	keys := slices.SortedFunc(maps.Keys(d.exemplars), func(a, b string) int { return cmp.Compare(newest(a), newest(b)) })
	for _, key := range keys {
		if d.count <= maxExemplars*9/10 {
			break
		}
		d.count -= len(d.exemplars[key])
		delete(d.exemplars, key)
	}
}

// note journals a description; that it fails is seen by the samples that come with it.
func (s *Store) note(kind byte, content any) {
	text, err := json.Marshal(content)
	if err != nil {
		return
	}
	s.ingesting.Lock()
	defer s.ingesting.Unlock()
	if _, err := s.journal.Append(append([]byte{kind}, text...)); err != nil {
		s.options.Log.Warn("metadata or exemplars were not journalled", "error", err)
	}
}

// replayDescription takes an entry that is one.
func (s *Store) replayDescription(entry []byte) bool {
	if len(entry) == 0 || entry[0] != entryMetadata && entry[0] != entryExemplars {
		return false
	}
	d := &s.described
	var metadata []Metadata
	var exemplars []exemplarRecord
	if entry[0] == entryMetadata && json.Unmarshal(entry[1:], &metadata) == nil {
		for _, m := range metadata {
			d.keepMetadata(m)
		}
	}
	if entry[0] == entryExemplars && json.Unmarshal(entry[1:], &exemplars) == nil {
		for _, e := range exemplars {
			d.keepExemplar(e)
		}
	}
	return true
}

type descriptionsOnDisk struct {
	Metadata  []Metadata       `json:"metadata"`
	Exemplars []exemplarRecord `json:"exemplars"`
}

// saveDescriptions makes what is known durable beside the blocks, so that the journal's part can go.
func (s *Store) saveDescriptions() error {
	d := &s.described
	d.mu.Lock()
	if !d.changed {
		d.mu.Unlock()
		return nil
	}
	all := descriptionsOnDisk{Metadata: slices.Collect(maps.Values(d.metadata))}
	for key, list := range d.exemplars {
		for _, e := range list {
			all.Exemplars = append(all.Exemplars, exemplarRecord{[]byte(key), e.Labels, jsonFloat(e.Value), e.Time})
		}
	}
	d.changed = false
	d.mu.Unlock()
	text, err := json.Marshal(all)
	if err == nil {
		err = vfs.Replace(s.options.FS, s.blocks, filepath.Join(s.blocks, descriptionsFile), text)
	}
	if err != nil {
		d.mu.Lock()
		d.changed = true
		d.mu.Unlock()
		return fmt.Errorf("saving metadata and exemplars: %w", err)
	}
	return nil
}

func (s *Store) loadDescriptions() error {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.blocks, descriptionsFile))
	if vfs.NotExist(err) {
		return nil
	}
	var all descriptionsOnDisk
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil { // the samples matter more
		s.options.Log.Error("metadata and exemplars could not be read", "error", err)
		return nil
	}
	for _, m := range all.Metadata {
		s.described.keepMetadata(m)
	}
	for _, e := range all.Exemplars {
		s.described.keepExemplar(e)
	}
	s.described.changed = false
	return nil
}

// Metadata is what senders said of metrics, by name.
func (s *Store) Metadata() map[string]Metadata {
	s.described.mu.RLock()
	defer s.described.mu.RUnlock()
	return maps.Clone(s.described.metadata)
}

// Described is what senders said of a metric.
func (s *Store) Described(name string) (Metadata, bool) {
	s.described.mu.RLock()
	defer s.described.mu.RUnlock()
	m, ok := s.described.metadata[name]
	return m, ok
}

// Exemplars is the exemplars in [minTime, maxTime] of the series that match all matchers, and a selector of the context.
func (s *Store) Exemplars(ctx context.Context, minTime, maxTime int64, matchers ...*Matcher) []ExemplarSet {
	matchers = narrow(ctx, matchers)
	d := &s.described
	d.mu.RLock()
	defer d.mu.RUnlock()
	var sets []ExemplarSet
	for _, key := range slices.Sorted(maps.Keys(d.exemplars)) {
		set, err := ParseKey(key)
		if err != nil || !(&deletion{matchers: matchers}).matches(set) {
			continue
		}
		one := ExemplarSet{Labels: set}
		for _, e := range d.exemplars[key] {
			if e.Time >= minTime && e.Time <= maxTime {
				one.Exemplars = append(one.Exemplars, e)
			}
		}
		if len(one.Exemplars) > 0 {
			sets = append(sets, one)
		}
	}
	return sets
}
