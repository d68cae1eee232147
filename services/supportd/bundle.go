// Package supportd makes support bundles: declared steps, run side by side, each with its deadline and size limit; a
// step that fails or is cut is recorded with its reason and the bundle goes on. It depends on no other part of Cistern.
//
// A bundle is DIR/ID.tar.gz beside DIR/ID.json (its state). While it is being made, the collected files lie in
// DIR/ID.part/. The archive gets its name only when it is whole.
//
//	NAME/README         what this is and what failed
//	NAME/manifest.json  every step: file, state, error, seconds, bytes, sha256
//	NAME/CATEGORY/FILE
package supportd

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// StepState is how one step went.
type StepState struct {
	Name     string  `json:"name"`
	Category string  `json:"category"`
	State    string  `json:"state"` // waiting running done failed timeout
	Error    string  `json:"error,omitempty"`
	Seconds  float64 `json:"seconds,omitempty"`
	Bytes    int64   `json:"bytes,omitempty"`
	SHA256   string  `json:"sha256,omitempty"`
}

// Bundle is what the API shows of a bundle.
type Bundle struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	State      string      `json:"state"` // building done failed cancelled
	CreatedAt  time.Time   `json:"createdAt"`
	FinishedAt *time.Time  `json:"finishedAt,omitempty"`
	Bytes      int64       `json:"bytes"`
	Percent    int         `json:"percent"`
	Step       string      `json:"step,omitempty"`
	Error      string      `json:"error,omitempty"`
	Steps      []StepState `json:"steps"`
	SHA256     string      `json:"sha256,omitempty"`
}

// Maker makes and keeps bundles. At most one is made at a time.
type Maker struct {
	Dir      string
	Steps    []Step
	Parallel int   // steps at the same time
	Keep     int   // bundles kept; the oldest go first
	KeepSize int64 // bytes kept
	Version  string

	mu      sync.Mutex
	bundles []*Bundle // oldest first
	cancel  map[string]context.CancelFunc
	making  sync.WaitGroup
}

var (
	errBusy    = errors.New("a bundle is being made already")
	errUnknown = errors.New("no such bundle")
)

// Open reads what is kept in Dir. A bundle that was being made when the process ended is marked failed.
func (m *Maker) Open() error {
	m.cancel = map[string]context.CancelFunc{}
	if err := os.MkdirAll(m.Dir, 0o750); err != nil {
		return err
	}
	entries, err := filepath.Glob(filepath.Join(m.Dir, "*.json"))
	if err != nil {
		return err
	}
	for _, path := range entries {
		var b Bundle
		content, err := os.ReadFile(path)
		if err != nil || json.Unmarshal(content, &b) != nil || b.ID+".json" != filepath.Base(path) {
			continue // not ours; leave it alone
		}
		if b.State == "building" {
			b.State, b.Error = "failed", "The support service was restarted while this bundle was made. Make another one."
			now := time.Now().UTC()
			b.FinishedAt = &now
			_ = m.save(&b)
		}
		m.bundles = append(m.bundles, &b)
	}
	// What a bundle that was cut short had collected (.part) or half written (.new).
	for _, pattern := range []string{"*.part", "*.new"} {
		leftovers, _ := filepath.Glob(filepath.Join(m.Dir, pattern))
		for _, path := range leftovers {
			_ = os.RemoveAll(path)
		}
	}
	slices.SortFunc(m.bundles, func(a, b *Bundle) int { return a.CreatedAt.Compare(b.CreatedAt) })
	return nil
}

// List is a copy of all bundles, newest first.
func (m *Maker) List() []Bundle {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := make([]Bundle, 0, len(m.bundles))
	for _, b := range slices.Backward(m.bundles) {
		list = append(list, b.copy())
	}
	return list
}

// Get is a copy of one bundle.
func (m *Maker) Get(id string) (Bundle, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b := m.find(id); b != nil {
		return b.copy(), nil
	}
	return Bundle{}, errUnknown
}

func (b *Bundle) copy() Bundle {
	c := *b
	c.Steps = slices.Clone(b.Steps)
	return c
}

func (m *Maker) find(id string) *Bundle {
	for _, b := range m.bundles {
		if b.ID == id {
			return b
		}
	}
	return nil
}

// Archive is the path of a finished bundle.
func (m *Maker) Archive(id string) string { return filepath.Join(m.Dir, id+".tar.gz") }

// Start begins a bundle of the given categories (all when there are none) and returns at once.
func (m *Maker) Start(categories []string) (Bundle, error) {
	steps := m.Steps
	if len(categories) > 0 {
		steps = slices.DeleteFunc(slices.Clone(steps), func(s Step) bool { return !slices.Contains(categories, s.Category) })
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.cancel) > 0 {
		return Bundle{}, errBusy
	}
	random := make([]byte, 8)
	if _, err := rand.Read(random); err != nil {
		return Bundle{}, err
	}
	host, _ := os.Hostname()
	now := time.Now().UTC()
	b := &Bundle{ID: hex.EncodeToString(random), State: "building", CreatedAt: now,
		Name: fmt.Sprintf("cistern-%s-%s", host, now.Format("20060102T150405Z"))}
	for _, s := range steps {
		b.Steps = append(b.Steps, StepState{Name: s.Name, Category: s.Category, State: "waiting"})
	}
	if err := os.Mkdir(filepath.Join(m.Dir, b.ID+".part"), 0o700); err != nil {
		return Bundle{}, err
	}
	if err := m.save(b); err != nil {
		return Bundle{}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel[b.ID] = cancel
	m.bundles = append(m.bundles, b)
	m.making.Add(1)
	go func() {
		defer m.making.Done()
		m.make(ctx, b, steps)
	}()
	return b.copy(), nil
}

// Delete removes a bundle; one that is being made is cancelled and stays in the list as such.
func (m *Maker) Delete(id string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.find(id)
	if b == nil {
		return errUnknown
	}
	if cancel := m.cancel[id]; cancel != nil {
		cancel()
		return nil
	}
	m.remove(b)
	return nil
}

// remove needs mu.
func (m *Maker) remove(b *Bundle) {
	_ = os.Remove(m.Archive(b.ID))
	_ = os.Remove(filepath.Join(m.Dir, b.ID+".json"))
	m.bundles = slices.DeleteFunc(m.bundles, func(o *Bundle) bool { return o == b })
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

// save writes a bundle's state; the caller holds mu or owns b.
func (m *Maker) save(b *Bundle) error {
	content, err := json.Marshal(b)
	if err != nil {
		return err
	}
	path := filepath.Join(m.Dir, b.ID+".json")
	if err := os.WriteFile(path+".new", content, 0o640); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// change alters a bundle's state and writes it down. A full disk does not stop the bundle here: the archive's own
// writing says so.
func (m *Maker) change(b *Bundle, alter func(*Bundle)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	alter(b)
	_ = m.save(b)
}

func (m *Maker) make(ctx context.Context, b *Bundle, steps []Step) {
	part := filepath.Join(m.Dir, b.ID+".part")
	defer os.RemoveAll(part)

	slots := make(chan struct{}, max(1, m.Parallel))
	var all sync.WaitGroup
	finished := 0
	for i, s := range steps {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		m.change(b, func(b *Bundle) { b.Steps[i].State, b.Step = "running", s.Category+"/"+s.Name })
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-slots }()
			state := collect(ctx, s, filepath.Join(part, s.Category, s.Name))
			m.change(b, func(b *Bundle) {
				finished++
				b.Steps[i] = state
				b.Bytes += state.Bytes
				b.Percent = 95 * finished / len(steps)
			})
		}()
	}
	all.Wait()

	var sum string
	var size int64
	err := ctx.Err()
	if err == nil {
		m.change(b, func(b *Bundle) { b.Step = "packing" })
		sum, size, err = m.pack(part, b.copy())
	}
	m.change(b, func(b *Bundle) {
		now := time.Now().UTC()
		b.FinishedAt, b.Step = &now, ""
		delete(m.cancel, b.ID)
		switch {
		case errors.Is(err, context.Canceled):
			b.State, b.Bytes = "cancelled", 0
		case err != nil:
			b.State, b.Bytes, b.Error = "failed", 0, "The archive could not be written: "+err.Error()
		default:
			b.State, b.Bytes, b.Percent, b.SHA256 = "done", size, 100, sum
		}
	})
	m.trim(b)
}

// trim lets the oldest bundles go until the rest is within the caps; never the newest.
func (m *Maker) trim(newest *Bundle) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for {
		var total int64
		for _, b := range m.bundles {
			total += b.Bytes
		}
		if len(m.bundles) <= m.Keep && total <= m.KeepSize || m.bundles[0] == newest {
			return
		}
		m.remove(m.bundles[0])
	}
}

// collect runs one step into a file.
func collect(ctx context.Context, s Step, path string) StepState {
	state := StepState{Name: s.Name, Category: s.Category, State: "done"}
	started := time.Now()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	}
	if err != nil {
		state.State, state.Error = "failed", err.Error()
		return state
	}
	limited, cancel := context.WithTimeout(ctx, s.Deadline)
	defer cancel()
	clean := &redactor{w: f}
	ended := make(chan error, 1)
	go func() { ended <- s.Collect(limited, s.Limit, clean) }()
	select {
	case err = <-ended:
		err = errors.Join(err, clean.Close())
	case <-limited.Done():
		// A read from a dying disk does not end by a deadline. Give it a moment to notice, then leave it behind with
		// its file closed; the bundle goes on.
		select {
		case err = <-ended:
		case <-time.After(3 * time.Second):
			err = limited.Err()
		}
	}
	err = errors.Join(err, f.Close())
	state.Seconds = float64(time.Since(started).Milliseconds()) / 1000
	if info, statErr := os.Stat(path); statErr == nil {
		state.Bytes = info.Size()
		state.SHA256 = fileSum(path)
	}
	switch {
	case err == nil:
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		state.State, state.Error = "timeout", fmt.Sprintf("did not finish in %v; what it had given until then was kept", s.Deadline)
	default:
		state.State, state.Error = "failed", err.Error()
	}
	return state
}

func fileSum(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// pack writes the archive of what lies in part; it is whole and on disk when pack returns without an error.
func (m *Maker) pack(part string, b Bundle) (sum string, size int64, err error) {
	path := m.Archive(b.ID)
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return "", 0, err
	}
	defer os.Remove(path + ".new")
	defer f.Close()
	hash := sha256.New()
	zipped := gzip.NewWriter(io.MultiWriter(f, hash))
	archive := tar.NewWriter(zipped)
	add := func(name string, length int64, content io.Reader) error {
		if err := archive.WriteHeader(&tar.Header{Name: b.Name + "/" + name, Mode: 0o644, Size: length, ModTime: b.CreatedAt, Format: tar.FormatPAX}); err != nil {
			return err
		}
		_, err := io.CopyN(archive, content, length)
		return err
	}
	manifest, err := json.MarshalIndent(struct {
		Bundle    string      `json:"bundle"`
		Version   string      `json:"version"`
		CreatedAt time.Time   `json:"createdAt"`
		Steps     []StepState `json:"steps"`
	}{b.Name, m.Version, b.CreatedAt, b.Steps}, "", "  ")
	if err != nil {
		return "", 0, err
	}
	readme := m.readme(b)
	err = errors.Join(add("README", int64(len(readme)), strings.NewReader(readme)), add("manifest.json", int64(len(manifest)), strings.NewReader(string(manifest))))
	for _, s := range b.Steps {
		if err != nil {
			return "", 0, err
		}
		err = func() error {
			file, err := os.Open(filepath.Join(part, s.Category, s.Name))
			if errors.Is(err, os.ErrNotExist) {
				return nil // the step's failure is in the manifest
			}
			if err != nil {
				return err
			}
			defer file.Close()
			return add(s.Category+"/"+s.Name, s.Bytes, file)
		}()
	}
	if err = errors.Join(err, archive.Close(), zipped.Close(), f.Sync()); err != nil {
		return "", 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return "", 0, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return "", 0, err
	}
	dir, err := os.Open(m.Dir)
	if err != nil {
		return "", 0, err
	}
	defer dir.Close()
	return hex.EncodeToString(hash.Sum(nil)), info.Size(), dir.Sync()
}

func (m *Maker) readme(b Bundle) string {
	var t strings.Builder
	fmt.Fprintf(&t, "Support bundle %s\nmade %s by Cistern %s\n\nmanifest.json lists every file with its size, SHA-256 and how long it took. Passwords, keys, tokens, community\nstrings and cookies were taken out before anything was written.\n\n", b.Name, b.CreatedAt.Format(time.RFC3339), m.Version)
	failed := 0
	for _, s := range b.Steps {
		if s.State != "done" {
			failed++
			fmt.Fprintf(&t, "%-8s %s/%s: %s\n", s.State, s.Category, s.Name, s.Error)
		}
	}
	if failed == 0 {
		fmt.Fprintln(&t, "Every step succeeded.")
	} else {
		fmt.Fprintf(&t, "\n%d of %d steps did not succeed, as listed above; the rest is complete.\n", failed, len(b.Steps))
	}
	return t.String()
}
