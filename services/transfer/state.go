package transfer

// What is remembered of an import, so that a repeated command goes on where it was.
//
// FILE one import: JSON, replaced as a whole. It is written when the appliance has acknowledged something, at most once a second,
// and when the import ends for whatever reason. What is older than what was acknowledged costs nothing but sending again.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Position is how far an import is: all parts before Part are finished, and of that one so many samples.
type Position struct {
	Part    int64 `json:"part"`
	Samples int64 `json:"samples"`
}

// Amount is how much, and of the first what was wrong.
type Amount struct {
	Samples int64  `json:"samples"`
	First   string `json:"first,omitempty"`
}

// Counts is what became of the samples so far.
type Counts struct {
	Series  int64             `json:"series"` // parts that were sent
	Read    int64             `json:"read"`
	Sent    int64             `json:"sent"` // and stored
	Bytes   int64             `json:"bytes"`
	Refused map[string]Amount `json:"refused"`
	LeftOut map[string]Amount `json:"leftOut"`
	// Damaged is what could not be read: its places, and the samples as far as that is known.
	Damaged        int64    `json:"damaged"`
	DamagedSamples int64    `json:"damagedSamples"`
	DamagedFirst   []string `json:"damagedFirst,omitempty"`
}

func note(m *map[string]Amount, reason string, samples int64, first string) {
	if *m == nil {
		*m = map[string]Amount{}
	}
	one := (*m)[reason]
	if one.Samples += samples; one.First == "" {
		one.First = first
	}
	(*m)[reason] = one
}

func total(m map[string]Amount) (n int64) {
	for _, one := range m {
		n += one.Samples
	}
	return n
}

// state is the file.
type state struct {
	Version   int       `json:"version"`
	What      string    `json:"what"`
	Identity  string    `json:"identity"`
	Started   time.Time `json:"started"`
	Finished  time.Time `json:"finished,omitzero"`
	Position  Position  `json:"position"`
	Counts    Counts    `json:"counts"`
	file      string
	written   time.Time
	unwritten bool
}

const stateVersion = 1

// stateName is the default name of the file of an import: what is imported, how, and to where.
func stateName(folder string, what ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(what, "\x00")))
	return filepath.Join(folder, "import-"+hex.EncodeToString(sum[:8])+".json")
}

// loadState reads the file; one of nothing when there is none.
func loadState(file, what string) (*state, error) {
	fresh := &state{Version: stateVersion, What: what, file: file}
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fresh, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading how far the import was: %w", err)
	}
	s := &state{}
	if err := json.Unmarshal(text, s); err != nil || s.Version != stateVersion {
		return nil, fmt.Errorf("%s does not say how far the import was: remove it, or give --again to begin anew", file)
	}
	s.file = file
	if s.What != what {
		return nil, fmt.Errorf("%s is about another import (%s): name another file with --state", file, s.What)
	}
	return s, nil
}

// save writes the file when it is due: once a second, or now.
func (s *state) save(now bool) error {
	if !now && (!s.unwritten || time.Since(s.written) < time.Second) {
		return nil
	}
	text, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(s.file), 0o700); err != nil {
		return fmt.Errorf("keeping how far the import is: %w", err)
	}
	next := s.file + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return fmt.Errorf("keeping how far the import is: %w", err)
	}
	if err := os.Rename(next, s.file); err != nil {
		return fmt.Errorf("keeping how far the import is: %w", err)
	}
	s.written, s.unwritten = time.Now(), false
	return nil
}
