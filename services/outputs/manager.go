// Package outputs sends samples on as they are accepted: each output is a subscriber of the store's journal with its own
// position, filter and receiver. What a receiver acknowledged is passed; what it did not is sent again, so that everything
// arrives at least once. What waits is in the journal, and each output has a bound for it: beyond that the oldest is skipped
// and counted, so that a receiver that is gone does not fill the disk.
package outputs

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"cistern/services/outputs/receiver"
	"cistern/services/platform/aligned"
	"cistern/services/store/tsdb"
)

// listFile keeps the outputs, secrets included: readable by storaged alone.
const listFile = "outputs.json"

// listVersion is that file's.
const listVersion = 1

// subscriberPrefix begins the outputs' names in the journal.
const subscriberPrefix = "output-"

// List is all outputs, as they are sent here and kept. Revision is its sender's: by it the sender knows later what is here.
type List struct {
	Version  int          `json:"version"`
	Revision string       `json:"revision"`
	Outputs  []Definition `json:"outputs"`
}

// Manager runs the outputs of a store.
type Manager struct {
	store  *tsdb.Store
	folder string // of the telemetry dataset
	origin string
	own    receiver.Own
	log    *slog.Logger

	setting sync.Mutex // serialises Set

	mu      sync.Mutex
	list    List
	running map[string]*output // by id
	context context.Context    // nil before Run
	// unread: the list could not be read, so what is in the journal for outputs that are not in it stays.
	unread  bool
	ended   bool
	working sync.WaitGroup

	ends ends
}

// New reads what outputs there are in a store's folder. They begin with Run. own says which ports are the store's own inputs'.
func New(store *tsdb.Store, folder string, own receiver.Own, log *slog.Logger) *Manager {
	m := &Manager{store: store, folder: folder, origin: rand.Text(), own: own, log: log, running: map[string]*output{}, list: List{Version: listVersion, Outputs: []Definition{}}}
	text, err := os.ReadFile(filepath.Join(folder, listFile))
	if errors.Is(err, fs.ErrNotExist) {
		return m
	}
	var list List
	if err == nil {
		err = json.Unmarshal(text, &list)
	}
	if err == nil && list.Version != listVersion {
		err = fmt.Errorf("its version is %d, which this Cistern does not know", list.Version)
	}
	if err != nil {
		// The management plane sends them again, because the revision is another one.
		log.Error("the list of outputs cannot be read: none runs until the management plane sends it again", "error", err)
		m.unread = true
		return m
	}
	m.list = list
	return m
}

// Origin is what this store calls itself to those that it sends to.
func (m *Manager) Origin() string { return m.origin }

// Run sends until ctx ends, and returns when all outputs have saved how far they came.
func (m *Manager) Run(ctx context.Context) {
	m.mu.Lock()
	m.context = ctx
	m.mu.Unlock()
	m.setting.Lock()
	m.arrange()
	m.setting.Unlock()
	for ctx.Err() == nil {
		m.mu.Lock()
		idle := len(m.running) == 0
		m.mu.Unlock()
		if !idle {
			m.ends.note(time.Now(), m.store.JournalEnd())
		}
		select {
		case <-ctx.Done():
		case <-aligned.After(time.Second, 0):
		}
	}
	m.mu.Lock()
	m.ended = true
	m.mu.Unlock()
	m.working.Wait()
}

// Set replaces the list, durably. An output that is the same goes on; one that was changed goes on from where it was with its
// new settings; one that is gone or switched off gives up its place. One that cannot run says so in its status.
func (m *Manager) Set(list List) error {
	if len(list.Outputs) > MaxOutputs {
		return fmt.Errorf("there are %d outputs, %d is the limit", len(list.Outputs), MaxOutputs)
	}
	seen := map[string]bool{}
	for _, one := range list.Outputs {
		if !goodID.MatchString(one.ID) || seen[one.ID] {
			return fmt.Errorf("the id %.60q is there twice, or is not made of letters, digits, - and _", one.ID)
		}
		seen[one.ID] = true
	}
	list.Version = listVersion
	if list.Outputs == nil {
		list.Outputs = []Definition{}
	}
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	m.setting.Lock()
	defer m.setting.Unlock()
	if err := replaceSecret(m.folder, listFile, text); err != nil {
		return fmt.Errorf("saving the list of outputs: %w", err)
	}
	m.mu.Lock()
	m.list, m.unread = list, false
	m.mu.Unlock()
	m.arrange()
	// What is accepted once this has answered is an output's that begins now.
	m.mu.Lock()
	running := slices.Collect(maps.Values(m.running))
	m.mu.Unlock()
	late := time.After(longestBegin)
	for _, one := range running {
		select {
		case <-one.begun:
		case <-late:
			return nil
		}
	}
	return nil
}

// longestBegin bounds how long whoever changes the outputs waits for them to have their places in the journal.
const longestBegin = 5 * time.Second

// replaceSecret is vfs.Replace for what nobody else may read.
func replaceSecret(folder, name string, content []byte) error {
	path := filepath.Join(folder, name)
	file, err := os.OpenFile(path+".tmp", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Rename(path+".tmp", path)
	}
	if err != nil {
		_ = os.Remove(path + ".tmp")
		return err
	}
	dir, err := os.Open(folder)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// arrange makes what runs be what the list says. The caller holds setting.
func (m *Manager) arrange() {
	m.mu.Lock()
	if m.context == nil || m.ended {
		m.mu.Unlock()
		return
	}
	wanted := map[string]Definition{}
	for _, one := range m.list.Outputs {
		if one.Enabled {
			wanted[one.ID] = one
		}
	}
	unread := m.unread
	var stopping []*output
	for id, one := range m.running {
		if definition, ok := wanted[id]; !ok || !reflect.DeepEqual(definition, one.definition) {
			stopping = append(stopping, one)
			delete(m.running, id)
		}
	}
	m.mu.Unlock()
	for _, one := range stopping {
		one.stop()
		<-one.done
	}
	for _, name := range m.store.Streams() {
		id, ours := strings.CutPrefix(name, subscriberPrefix)
		if _, ok := wanted[id]; ours && !ok && !unread {
			if err := m.store.EndStream(name); err != nil {
				m.log.Warn("an output's place in the journal could not be given up", "output", id, "error", err)
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	before := map[string]*output{}
	for _, one := range stopping {
		before[one.definition.ID] = one
	}
	for id, definition := range wanted {
		if m.running[id] != nil {
			continue
		}
		one := newOutput(m, definition)
		if old := before[id]; old != nil {
			one.counts = old.snapshot()
		}
		ctx, stop := context.WithCancel(m.context)
		one.stop = stop
		m.running[id] = one
		m.working.Go(func() { one.run(ctx) })
	}
}

// Status is every output of the list, in its order.
func (m *Manager) Status() (revision string, list []Status) {
	m.mu.Lock()
	defer m.mu.Unlock()
	list = []Status{}
	for _, d := range m.list.Outputs {
		if one := m.running[d.ID]; one != nil {
			list = append(list, one.status())
			continue
		}
		list = append(list, Status{ID: d.ID, Name: d.Name, Kind: d.Kind, State: Off})
	}
	return m.list.Revision, list
}

// Definitions are the outputs, without their secrets.
func (m *Manager) Definitions() []Definition {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Definition{}
	for _, one := range m.list.Outputs {
		list = append(list, one.Hidden())
	}
	return list
}

// Check tries a definition that need not be in the list, and returns the receiver's answer. A definition that cannot be is a
// *Wrong.
func (m *Manager) Check(ctx context.Context, d Definition) (string, error) {
	if _, err := d.read(); err != nil {
		return "", err
	}
	r, err := m.open(&d)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return r.Check(ctx)
}

// Validate says what of a definition cannot be, as a *Wrong.
func (m *Manager) Validate(d Definition) error {
	if _, err := d.read(); err != nil {
		return err
	}
	r, err := m.open(&d)
	if err != nil {
		return err
	}
	return r.Close()
}
