package tracer

// What is kept on disk: the recorded datasets, in datasets.json.

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"cistern/services/trace/statistics"
)

type keptDataset struct {
	Name       string `json:"name"`
	Recorded   bool   `json:"recorded"`
	Suspended  bool   `json:"suspended"`
	OverBudget bool   `json:"overBudget,omitempty"`
	Reason     string `json:"reason,omitempty"`
}

func (t *Tracer) file() string { return filepath.Join(t.config.State, "datasets.json") }

// save writes what is recorded or suspended: a new file, then its name, both durable.
func (t *Tracer) save() error {
	list := []keptDataset{}
	for _, name := range sortedKeys(t.datasets) {
		if d := t.datasets[name]; d.recorded || d.suspended {
			list = append(list, keptDataset{d.name, d.recorded, d.suspended, d.overBudget, d.reason})
		}
	}
	body, err := json.MarshalIndent(map[string]any{"version": 1, "datasets": list}, "", "  ")
	if err != nil {
		return err
	}
	temporary := t.file() + ".new"
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o640)
	if err != nil {
		return err
	}
	_, err = file.Write(append(body, '\n'))
	if err == nil {
		err = file.Sync()
	}
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	if err = os.Rename(temporary, t.file()); err != nil {
		return err
	}
	folder, err := os.Open(t.config.State)
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// load reads what is kept. A dataset that this version does not know, or a file that cannot be read, is logged and left
// out: what is always on goes on.
func (t *Tracer) load() error {
	body, err := os.ReadFile(t.file())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what is recorded: %w", err)
	}
	var kept struct {
		Datasets []keptDataset `json:"datasets"`
	}
	if err := json.Unmarshal(body, &kept); err != nil {
		t.config.Log.Error("what is recorded cannot be read, and is put aside", "path", t.file(), "error", err)
		return os.Rename(t.file(), t.file()+".damaged")
	}
	for _, one := range kept.Datasets {
		parsed, err := statistics.Parse(one.Name)
		if err != nil {
			t.config.Log.Warn("a recorded dataset is left out", "dataset", one.Name, "error", err)
			continue
		}
		d := t.add(parsed)
		d.recorded, d.suspended, d.overBudget, d.reason = one.Recorded, one.Suspended, one.OverBudget, one.Reason
		switch reason := t.unavailable(parsed.Statistic); {
		case one.Suspended:
			d.state = Suspended
		case reason != "":
			// It stays recorded: the next system may have it again.
			d.state, d.reason, d.retry = Failed, reason, t.now().Add(time.Minute)
		}
	}
	return nil
}
