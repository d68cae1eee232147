package rules

// What is kept in the data folder, so that rules are evaluated while the management service is down, and go on where they
// were after a restart.
//
// FILE "recording-rules": JSON, replaced as a whole: {"version":1,"rules":[Rule…]}: those of Set.
// FILE "recording-rules.state": the same way: {"version":1,"moments":{id: ms of the last evaluation},"names":{name: ms of the
// last result},"fills":[Fill…]}. It may be a minute old after a crash; what was done since is done again, with the same result.

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"cistern/services/platform/vfs"
)

const (
	rulesFile   = "recording-rules"
	stateFile   = "recording-rules.state"
	fileVersion = 1
)

type savedRules struct {
	Version int    `json:"version"`
	Rules   []Rule `json:"rules"`
}

type savedState struct {
	Version int              `json:"version"`
	Moments map[string]int64 `json:"moments"`
	Names   map[string]int64 `json:"names"`
	Fills   []Fill           `json:"fills"`
}

// read is the file's content; false when there is none.
func (m *Manager) read(name string, to any, version *int) (bool, error) {
	text, err := vfs.ReadFile(m.options.FS, filepath.Join(m.options.Folder, name))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if err == nil && *version != fileVersion {
		err = fmt.Errorf("its version is %d; %d is known", *version, fileVersion)
	}
	if err != nil {
		return false, fmt.Errorf("reading %s: %w", filepath.Join(m.options.Folder, name), err)
	}
	return true, nil
}

func (m *Manager) write(name string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	return m.replace(name, text)
}

func (m *Manager) replace(name string, text []byte) error {
	path := filepath.Join(m.options.Folder, name)
	if err := vfs.Replace(m.options.FS, m.options.Folder, path, text); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}

// saveState writes how far everything is; a failure is logged once until it works again.
func (m *Manager) saveState() {
	m.saving.Lock()
	defer m.saving.Unlock()
	m.mu.Lock()
	state := savedState{Version: fileVersion, Moments: map[string]int64{}, Names: map[string]int64{}, Fills: []Fill{}}
	for _, r := range m.rules {
		if r.last > 0 {
			state.Moments[r.ID] = r.last
		}
	}
	for name, at := range m.names {
		state.Names[name] = at
	}
	for _, f := range m.fills {
		state.Fills = append(state.Fills, *f)
	}
	m.mu.Unlock()
	if m.state == nil && len(state.Moments)+len(state.Names)+len(state.Fills) == 0 {
		return // where nobody uses rules there is nothing to keep
	}
	text, err := json.Marshal(state)
	if err == nil && bytes.Equal(text, m.state) {
		return
	}
	if err == nil {
		err = m.replace(stateFile, text)
	}
	if err == nil {
		m.state = text
	}
	if err != nil && !m.unsaved {
		m.options.Log.Error("how far the recording rules are could not be saved", "error", err)
	}
	m.unsaved = err != nil
}
