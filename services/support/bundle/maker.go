package bundle

// The maker: which bundles there are, and starting, retrying, cancelling and removing them.

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"cistern/services/support/collect"
	"cistern/services/support/redact"

	"filippo.io/age"
)

// Maker makes and keeps bundles. At most one is made at a time.
type Maker struct {
	Dir       string // on the system pool
	MemoryDir string // of a tmpfs; empty: there is none
	Steps     []collect.Step
	Gatherd   *collect.Client // takes the steps of root and copies to disks; nil: this process takes all steps itself
	Parallel  int             // steps at the same time
	Keep      int             // bundles kept; the oldest go first
	KeepSize  int64           // bytes kept
	Version   string
	AfterHang time.Duration // of a step whose Lock another has hung on; 0: collect.AfterHang

	mu      sync.Mutex
	bundles []*kept // oldest first
	cancel  map[string]context.CancelFunc
	making  sync.WaitGroup
	changed chan struct{} // closed and replaced at each change
}

var (
	// ErrBusy: only one bundle is made at a time.
	ErrBusy = errors.New("a bundle is being made already")
	// ErrUnknown: there is no bundle of that id.
	ErrUnknown = errors.New("no such bundle")
	// ErrRequest is wrapped by errors that a request itself is to blame for.
	ErrRequest = errors.New("request")
)

func requestError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrRequest}, args...)...)
}

// Open reads what is kept. A bundle that was being made when the process ended is marked failed. A folder that cannot be
// used is an error, but the other one is used: supportd is needed most when something is broken.
func (m *Maker) Open() error {
	m.cancel = map[string]context.CancelFunc{}
	m.changed = make(chan struct{})
	var problems error
	for _, dir := range []string{m.Dir, m.MemoryDir} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o710); err != nil {
			problems = errors.Join(problems, err)
			continue
		}
		m.read(dir)
	}
	slices.SortFunc(m.bundles, func(a, b *kept) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return problems
}

func (m *Maker) read(dir string) {
	entries, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, path := range entries {
		k := &kept{dir: dir}
		content, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(content, k) != nil || k.ID == "" || k.ID+".json" != filepath.Base(path) {
			continue // not ours; leave it alone
		}
		if k.State == "building" {
			k.State, k.Error = "failed", "The support service was restarted while this bundle was made. Make another one."
			now := time.Now().UTC()
			k.FinishedAt = &now
			_ = m.save(k)
		}
		m.bundles = append(m.bundles, k)
	}
	// What a bundle that was cut short had collected (.part) or half written (.new).
	for _, pattern := range []string{"*.part", "*.new"} {
		leftovers, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range leftovers {
			_ = os.RemoveAll(path)
		}
	}
}

// List is a copy of all bundles, newest first.
func (m *Maker) List() []Bundle {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Bundle, 0, len(m.bundles))
	for _, k := range slices.Backward(m.bundles) {
		list = append(list, k.copy())
	}
	return list
}

// Get is a copy of one bundle.
func (m *Maker) Get(id string) (Bundle, error) {
	b, _, err := m.Watch(id)
	return b, err
}

// Watch is Get with a channel that is closed when something changes.
func (m *Maker) Watch(id string) (Bundle, <-chan struct{}, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.find(id); k != nil {
		return k.copy(), m.changed, nil
	}
	return Bundle{}, nil, ErrUnknown
}

func (m *Maker) afterHang() time.Duration { return cmp.Or(m.AfterHang, collect.AfterHang) }

func (m *Maker) find(id string) *kept {
	for _, k := range m.bundles {
		if k.ID == id {
			return k
		}
	}
	return nil
}

// Archive is the path of a finished bundle; empty when there is none.
func (m *Maker) Archive(id string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if k := m.find(id); k != nil && k.Place != PlaceUSB {
		return k.archive()
	}
	return ""
}

func (k *kept) archive() string {
	if k.Encrypted {
		return filepath.Join(k.dir, k.ID+".tar.zst.age")
	}
	return filepath.Join(k.dir, k.ID+".tar.zst")
}

// Categories are those of a bundle when none is named, and those that are in it only when they are named.
func (m *Maker) Categories() (all, onRequest []string) {
	for _, s := range m.Steps {
		switch {
		case s.OnRequest && !slices.Contains(onRequest, s.Category):
			onRequest = append(onRequest, s.Category)
		case !s.OnRequest && !slices.Contains(all, s.Category):
			all = append(all, s.Category)
		}
	}
	return all, onRequest
}

func (m *Maker) chosen(categories []string) ([]collect.Step, error) {
	all, onRequest := m.Categories()
	for _, c := range categories {
		if !slices.Contains(all, c) && !slices.Contains(onRequest, c) {
			return nil, requestError("There is no category '%s'; there are %s.", c, strings.Join(append(all, onRequest...), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(m.Steps), func(s collect.Step) bool {
		if len(categories) == 0 {
			return s.OnRequest
		}
		return !slices.Contains(categories, s.Category)
	}), nil
}

// Start begins a bundle and returns at once.
func (m *Maker) Start(o Options) (Bundle, error) {
	steps, err := m.chosen(o.Categories)
	if err != nil {
		return Bundle{}, err
	}
	if !slices.Contains([]string{"", PlaceAuto, PlacePool, PlaceMemory, PlaceUSB}, o.Place) {
		return Bundle{}, requestError("There is no place '%s'; it is auto, pool, memory or usb.", o.Place)
	}
	var recipients []age.Recipient
	if o.Recipient != "" {
		if recipients, err = age.ParseRecipients(strings.NewReader(o.Recipient)); err != nil {
			return Bundle{}, requestError("'%s' is not an age recipient; one begins with 'age1'.", o.Recipient)
		}
	}
	var names *redact.Names
	if o.Pseudonyms {
		if names, err = redact.OpenNames(m.Dir); err != nil {
			return Bundle{}, fmt.Errorf("the key for pseudonyms: %w", err)
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.cancel) > 0 {
		return Bundle{}, ErrBusy
	}
	p, note, err := m.open(o.Place, o.Device)
	if err != nil {
		return Bundle{}, err
	}
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return Bundle{}, err
	}
	host, _ := os.Hostname()
	if names != nil {
		host = names.Word("host", host)
	}
	now := time.Now().UTC()
	k := &kept{dir: p.dir, Bundle: Bundle{ID: hex.EncodeToString(random), State: "building", CreatedAt: now, Name: fmt.Sprintf("cistern-%s-%s", host, now.Format("20060102T150405Z")),
		Place: p.kind, Device: p.device, Note: note, Encrypted: recipients != nil, Pseudonyms: o.Pseudonyms}}
	k.File = k.Name + ".tar.zst"
	if k.Encrypted {
		k.File += ".age"
	}
	if p.kind == PlaceUSB {
		// Its state is not on the disk that is pulled out: in memory.
		k.dir = m.MemoryDir
	}
	for _, s := range steps {
		k.Steps = append(k.Steps, StepState{Name: s.Name, Category: s.Category, State: "waiting"})
	}
	if err := m.begin(k, p, steps, names, recipients, nil); err != nil {
		return Bundle{}, err
	}
	m.bundles = append(m.bundles, k)
	return k.copy(), nil
}

// Retry runs the failed steps of a finished bundle again; what was good is kept. The bundle is as it was when that fails.
func (m *Maker) Retry(id string) (Bundle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.find(id)
	switch {
	case k == nil:
		return Bundle{}, ErrUnknown
	case len(m.cancel) > 0:
		return Bundle{}, ErrBusy
	case k.State != "done" || k.failed() == 0:
		return Bundle{}, requestError("Only the failed steps of a finished bundle can be run again.")
	case k.Encrypted || k.Place == PlaceUSB:
		return Bundle{}, requestError("A bundle that is encrypted or on a plugged-in disk cannot be added to; make another one.")
	}
	var names *redact.Names
	if k.Pseudonyms {
		var err error
		if names, err = redact.OpenNames(m.Dir); err != nil {
			return Bundle{}, err
		}
	}
	var steps []collect.Step
	for _, state := range k.Steps {
		i := slices.IndexFunc(m.Steps, func(s collect.Step) bool { return s.Category == state.Category && s.Name == state.Name })
		if state.State != "done" && i >= 0 {
			steps = append(steps, m.Steps[i])
		}
	}
	before := *k
	before.Steps = slices.Clone(k.Steps)
	for i := range k.Steps {
		if k.Steps[i].State != "done" {
			k.Steps[i] = StepState{Name: k.Steps[i].Name, Category: k.Steps[i].Category, State: "waiting"}
		}
	}
	k.State, k.Percent, k.FinishedAt = "building", 0, nil
	p := place{kind: k.Place, dir: k.dir}
	if err := m.begin(k, p, steps, names, nil, &before); err != nil {
		*k = before
		return Bundle{}, err
	}
	return k.copy(), nil
}

// begin needs mu.
func (m *Maker) begin(k *kept, p place, steps []collect.Step, names *redact.Names, recipients []age.Recipient, before *kept) error {
	if err := os.Mkdir(filepath.Join(p.dir, k.ID+".part"), 0o700); err != nil {
		return err
	}
	if err := m.save(k); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel[k.ID] = cancel
	m.notify()
	m.making.Add(1)
	go func() {
		defer m.making.Done()
		(&making{m: m, k: k, place: p, steps: steps, names: names, recipients: recipients, before: before}).run(ctx)
	}()
	return nil
}

// notify wakes those who wait for a change. It needs mu.
func (m *Maker) notify() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// Delete removes a bundle; one that is being made is cancelled and stays in the list as such.
func (m *Maker) Delete(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := m.find(id)
	if k == nil {
		return ErrUnknown
	}
	if cancel := m.cancel[id]; cancel != nil {
		cancel()
		return nil
	}
	m.remove(k)
	return nil
}

// remove needs mu.
func (m *Maker) remove(k *kept) {
	if k.Place != PlaceUSB {
		_ = os.Remove(k.archive())
	}
	_ = os.Remove(filepath.Join(k.dir, k.ID+".json"))
	m.bundles = slices.DeleteFunc(m.bundles, func(o *kept) bool { return o == k })
	m.notify()
}

// Stop cancels what is being made and waits for it.
func (m *Maker) Stop() {
	m.mu.Lock()
	for _, cancel := range m.cancel {
		cancel()
	}
	m.mu.Unlock()
	m.making.Wait()
}

// save writes a bundle's state; the caller holds mu or owns k.
func (m *Maker) save(k *kept) error {
	content, err := json.Marshal(k)
	if err != nil {
		return err
	}
	path := filepath.Join(k.dir, k.ID+".json")
	if err := os.WriteFile(path+".new", content, 0o640); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// trim removes the oldest bundles until the rest is within Keep and KeepSize; never the newest.
func (m *Maker) trim(newest *kept) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		var total int64
		for _, k := range m.bundles {
			if k.Place != PlaceUSB {
				total += k.Bytes
			}
		}
		if len(m.bundles) <= m.Keep && total <= m.KeepSize || m.bundles[0] == newest {
			return
		}
		m.remove(m.bundles[0])
	}
}
