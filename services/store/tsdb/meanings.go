package tsdb

// What people say of metrics that their senders do not: the unit, a description, a limit line.
//
// FILE "meanings" in the folder of the blocks: JSON, replaced as a whole; {"metrics": [{"name", "unit", "description",
// "limit"}]}, what is not said is left out. One that cannot be read is said in the log and kept beside it, as
// "meanings.damaged": the next one takes its place.

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path/filepath"
	"slices"
	"unicode/utf8"

	"cistern/services/platform/vfs"
	"cistern/services/store/units"
)

const (
	meaningsFile = "meanings"
	// MaxMeanings is of how many metrics something can be said.
	MaxMeanings = 10_000
)

// Meaning is what a person said of a metric. Limit, in the metric's own unit, is nil for none.
type Meaning struct {
	Name        string   `json:"name"`
	Unit        string   `json:"unit,omitempty"`
	Description string   `json:"description,omitempty"`
	Limit       *float64 `json:"limit,omitempty"`
}

// MeaningError says what of a meaning cannot be.
type MeaningError struct{ Detail string }

func (e *MeaningError) Error() string { return e.Detail }

func (m *Meaning) check() error {
	switch {
	case m.Name == "" || len(m.Name) > MaxLabelValue || !utf8.ValidString(m.Name):
		return &MeaningError{fmt.Sprintf("name: a metric's name has 1 to %d bytes", MaxLabelValue)}
	case len(m.Unit) > units.Most || !utf8.ValidString(m.Unit):
		return &MeaningError{fmt.Sprintf("unit: has %d bytes at most", units.Most)}
	case len(m.Description) > maxHelp || !utf8.ValidString(m.Description):
		return &MeaningError{fmt.Sprintf("description: has %d bytes at most", maxHelp)}
	case m.Limit != nil && (math.IsNaN(*m.Limit) || math.IsInf(*m.Limit, 0)):
		return &MeaningError{"limit: is a finite number"}
	}
	return nil
}

func (m *Meaning) empty() bool { return m.Unit == "" && m.Description == "" && m.Limit == nil }

// Meanings is what was said, by the metrics' names. Nobody changes the map.
func (s *Store) Meanings() map[string]Meaning {
	if all := s.meanings.Load(); all != nil {
		return *all
	}
	return nil
}

// SetMeanings says something of metrics, from now on and after every start; one that says nothing takes back what was said.
// It fails with a *MeaningError when that cannot be, and changes nothing when it fails.
func (s *Store) SetMeanings(list []Meaning) error {
	s.meaning.Lock()
	defer s.meaning.Unlock()
	all := maps.Clone(s.Meanings())
	if all == nil {
		all = map[string]Meaning{}
	}
	for _, m := range list {
		m.Unit = units.Canonical(m.Unit)
		if err := m.check(); err != nil {
			return err
		}
		if m.empty() {
			delete(all, m.Name)
		} else {
			all[m.Name] = m
		}
	}
	if len(all) > MaxMeanings {
		return &MeaningError{fmt.Sprintf("something is said of %d metrics already, and no more is kept; take back what is no longer needed", MaxMeanings)}
	}
	text, err := json.Marshal(meaningsOnDisk{slices.SortedFunc(maps.Values(all), func(a, b Meaning) int { return cmp.Compare(a.Name, b.Name) })})
	if err != nil {
		return err
	}
	if err := vfs.Replace(s.options.FS, s.blocks, filepath.Join(s.blocks, meaningsFile), text); err != nil {
		return fmt.Errorf("saving what is said of metrics: %w", err)
	}
	s.meanings.Store(&all)
	return nil
}

type meaningsOnDisk struct {
	Metrics []Meaning `json:"metrics"`
}

func (s *Store) loadMeanings() {
	text, err := vfs.ReadFile(s.options.FS, filepath.Join(s.blocks, meaningsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var found meaningsOnDisk
	if err == nil {
		err = json.Unmarshal(text, &found)
	}
	if err != nil {
		s.options.Log.Error("what was said of metrics cannot be read; units and descriptions are those that senders give", "error", err)
		if len(text) > 0 {
			if err := vfs.Replace(s.options.FS, s.blocks, filepath.Join(s.blocks, meaningsFile+".damaged"), text); err != nil {
				s.options.Log.Error("the damaged file of what was said of metrics cannot be kept", "error", err)
			}
		}
		return
	}
	all := make(map[string]Meaning, len(found.Metrics))
	for _, m := range found.Metrics {
		if m.check() == nil {
			all[m.Name] = m
		}
	}
	s.meanings.Store(&all)
}
