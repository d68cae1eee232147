// Package bundle makes support bundles: declared steps, run side by side, each with its deadline and size limit; a
// step that fails or is cut is recorded with its reason and the bundle goes on. It depends on no other part of Cistern.
//
// A bundle is ID.tar.zst (ID.tar.zst.age when it is encrypted) beside ID.json, its state, in the folder of its place: on
// the system pool, or in memory. While it is being made, what the running steps collect is in ID.part/. The archive gets
// its name only when it is whole.
//
//	NAME/CATEGORY/FILE
//	NAME/manifest.json  every step: file, state, error, seconds, bytes, sha256
//	NAME/README         what this is and what failed
//	NAME/viewer.html    reads all of it in a browser, without a network
package bundle

import (
	"context"
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
	"sync/atomic"
	"time"

	"cistern/services/support/redact"

	"filippo.io/age"
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

func (s *StepState) path() string { return s.Category + "/" + s.Name }

// Bundle is what the API shows of a bundle.
type Bundle struct {
	ID         string      `json:"id"`
	Name       string      `json:"name"`
	File       string      `json:"file"`  // the archive's name
	State      string      `json:"state"` // building done failed cancelled
	CreatedAt  time.Time   `json:"createdAt"`
	FinishedAt *time.Time  `json:"finishedAt,omitempty"`
	Bytes      int64       `json:"bytes"` // collected while it is made, then of the archive
	Percent    int         `json:"percent"`
	Step       string      `json:"step,omitempty"`
	Error      string      `json:"error,omitempty"`
	Steps      []StepState `json:"steps"`
	SHA256     string      `json:"sha256,omitempty"`
	Place      string      `json:"place"` // pool memory usb
	Device     string      `json:"device,omitempty"`
	Note       string      `json:"note,omitempty"`
	Encrypted  bool        `json:"encrypted"`
	Pseudonyms bool        `json:"pseudonyms"`
}

func (b *Bundle) failed() int {
	n := 0
	for _, s := range b.Steps {
		if s.State != "done" {
			n++
		}
	}
	return n
}

// kept is a bundle with what is not shown: where its entries are in the archive.
type kept struct {
	Bundle
	Extents map[string]extent `json:"extents,omitempty"`
	dir     string
}

func (k *kept) copy() Bundle {
	c := k.Bundle
	c.Steps = slices.Clone(k.Steps)
	return c
}

// Options are what a request for a bundle says.
type Options struct {
	Categories []string `json:"categories"` // all that are not OnRequest when there are none
	Place      string   `json:"place"`      // auto pool memory usb; empty: auto
	Device     string   `json:"device"`     // of the place usb; empty: the only one
	Recipient  string   `json:"recipient"`  // an age recipient (age1…): encrypt to it
	Pseudonyms bool     `json:"pseudonyms"` // host names and addresses replaced, the same ones alike
}

// making is one bundle while it is made.
type making struct {
	m          *Maker
	k          *kept
	place      place
	steps      []Step
	names      *redact.Names
	recipients []age.Recipient
	before     *kept // of a retry: what there was
	bytes      atomic.Int64
	archive    *archive
	extents    map[string]extent
	adding     sync.Mutex
}

// change alters the state and writes it down. A full disk does not stop the bundle here: writing the archive fails instead.
func (w *making) change(alter func(*kept)) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	alter(w.k)
	_ = w.m.save(w.k)
	w.m.tell()
}

func (w *making) run(ctx context.Context) {
	defer os.RemoveAll(filepath.Join(w.place.dir, w.k.ID+".part"))
	size, sum, err := w.write(ctx)
	err = errors.Join(err, w.place.done())
	w.change(func(k *kept) {
		now := time.Now().UTC()
		delete(w.m.cancel, k.ID)
		if err != nil && w.before != nil { // a retry that failed leaves what there was
			*k = *w.before
			if !errors.Is(err, context.Canceled) {
				k.Error = "Running the failed steps again did not work: " + err.Error()
			}
			return
		}
		k.FinishedAt, k.Step = &now, ""
		switch {
		case errors.Is(err, context.Canceled):
			k.State, k.Bytes = "cancelled", 0
		case err != nil:
			k.State, k.Bytes, k.Error = "failed", 0, "The archive could not be written: "+err.Error()
		default:
			k.State, k.Bytes, k.Percent, k.SHA256, k.Extents = "done", size, 100, sum, w.extents
		}
	})
	w.m.trim(w.k)
}

// write makes the archive. It has its name only when there is no error.
func (w *making) write(ctx context.Context) (size int64, sum string, err error) {
	final := filepath.Join(w.place.dir, w.k.ID+".tar.zst")
	if w.place.kind == PlaceUSB {
		final = filepath.Join(w.place.dir, w.k.Name+".tar.zst")
	}
	temporary := final + ".new"
	if w.archive, err = createArchive(temporary, w.k.Name, w.k.CreatedAt, room(w.place.dir)); err != nil {
		return 0, "", err
	}
	defer os.Remove(temporary)
	defer w.archive.close()
	w.extents = map[string]extent{}
	if w.before != nil {
		if err := w.copyGood(); err != nil {
			return 0, "", err
		}
	}
	if err := w.collectAll(ctx); err != nil {
		return 0, "", err
	}
	w.change(func(k *kept) { k.Step = "packing" })
	if err := w.finish(); err != nil {
		return 0, "", err
	}
	if w.recipients != nil {
		w.change(func(k *kept) { k.Step = "encrypting" })
		final += ".age"
		if err := encrypt(w.archive.f, final+".new", w.recipients); err != nil {
			return 0, "", err
		}
		defer os.Remove(final + ".new")
		temporary = final + ".new"
	}
	if size, sum, err = fileSum(temporary); err != nil {
		return 0, "", err
	}
	if err := os.Rename(temporary, final); err != nil {
		return 0, "", err
	}
	return size, sum, syncDir(w.place.dir)
}

func (w *making) copyGood() error {
	old, err := os.Open(w.k.archive())
	if err != nil {
		return err
	}
	defer old.Close()
	for _, s := range w.before.Steps {
		e, there := w.before.Extents[s.path()]
		if s.State != "done" || !there {
			continue
		}
		if w.extents[s.path()], err = w.archive.copyEntry(old, e); err != nil {
			return err
		}
	}
	return nil
}

func (w *making) collectAll(ctx context.Context) error {
	part := filepath.Join(w.place.dir, w.k.ID+".part")
	slots := make(chan struct{}, max(1, w.m.Parallel))
	at := map[string]int{} // before they run: a step's state is then written by whoever runs it
	for i := range w.k.Steps {
		at[w.k.Steps[i].path()] = i
	}
	var all sync.WaitGroup
	finished := 0
	ticking := make(chan struct{})
	go w.tick(ticking)
	defer close(ticking)
	for n, s := range w.steps {
		select {
		case slots <- struct{}{}:
		case <-ctx.Done():
		}
		if ctx.Err() != nil {
			break
		}
		i := at[s.Category+"/"+s.Name]
		w.change(func(k *kept) { k.Steps[i].State, k.Step = "running", s.Category+"/"+s.Name })
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-slots }()
			path := filepath.Join(part, fmt.Sprint(n))
			c := collect(ctx, s, path, w.names, &w.bytes)
			if c.f != nil {
				w.add(&c)
				c.f.Close()
				_ = os.Remove(path)
			}
			w.change(func(k *kept) {
				finished++
				k.Steps[i] = c.state
				k.Percent = 95 * finished / len(w.steps)
			})
		}()
	}
	all.Wait()
	return ctx.Err()
}

// tick tells of the bytes while steps run.
func (w *making) tick(stop <-chan struct{}) {
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			w.change(func(k *kept) { k.Bytes = w.bytes.Load() })
		}
	}
}

// add puts what a step collected into the archive; what does not fit is the step's failure, not the bundle's.
func (w *making) add(c *collected) {
	w.adding.Lock()
	defer w.adding.Unlock()
	e, err := w.archive.add(c.state.path(), c.state.Bytes, c.f, c.length)
	if err != nil {
		reason := err.Error()
		if c.state.Error != "" {
			reason = c.state.Error + "; and " + reason
		}
		c.state = StepState{Name: c.state.Name, Category: c.state.Category, State: "failed", Error: reason, Seconds: c.state.Seconds}
		return
	}
	w.extents[c.state.path()] = e
}

func (w *making) finish() error {
	w.m.mu.Lock()
	b := w.k.copy()
	w.m.mu.Unlock()
	if w.names != nil { // what the steps' errors say is text as any other
		for i := range b.Steps {
			b.Steps[i].Error = w.names.Replace(b.Steps[i].Error)
		}
	}
	for i := range b.Steps {
		b.Steps[i].Error = redact.Text(b.Steps[i].Error)
	}
	manifest, err := json.MarshalIndent(manifestOf(b, w.m.Version), "", "  ")
	if err != nil {
		return err
	}
	err = errors.Join(w.archive.addText("manifest.json", manifest), w.archive.addText("README", []byte(readme(b, w.m.Version))))
	if err != nil {
		return err
	}
	if err := w.addViewer(manifest); err != nil {
		return err
	}
	return w.archive.finish()
}

// Manifest is a bundle's manifest.json.
type Manifest struct {
	Bundle     string      `json:"bundle"`
	Version    string      `json:"version"`
	CreatedAt  time.Time   `json:"createdAt"`
	Note       string      `json:"note,omitempty"`
	Pseudonyms bool        `json:"pseudonyms"`
	Steps      []StepState `json:"steps"`
}

func manifestOf(b Bundle, version string) Manifest {
	return Manifest{b.Name, version, b.CreatedAt, b.Note, b.Pseudonyms, b.Steps}
}

func fileSum(path string) (size int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	hash := sha256.New()
	size, err = io.Copy(hash, f)
	return size, hex.EncodeToString(hash.Sum(nil)), err
}

func syncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	defer dir.Close()
	err = dir.Sync()
	if err != nil && strings.Contains(err.Error(), "invalid argument") { // FAT cannot
		return nil
	}
	return err
}

// encrypt writes a file to age recipients. The plain archive it reads is in a folder that only root may list, and goes
// when this has ended.
func encrypt(plain io.ReadSeeker, path string, recipients []age.Recipient) error {
	if _, err := plain.Seek(0, io.SeekStart); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	defer f.Close()
	out, err := age.Encrypt(f, recipients...)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, plain)
	return errors.Join(err, out.Close(), f.Sync())
}

func readme(b Bundle, version string) string {
	var t strings.Builder
	fmt.Fprintf(&t, `Support bundle %s
made %s by Cistern %s

Open viewer.html in a browser to read it; it needs no network. manifest.json lists every file with its size, SHA-256 and
how long it took. Passwords, keys, tokens, community strings and cookies were taken out before anything was written.
`, b.Name, b.CreatedAt.Format(time.RFC3339), version)
	if b.Pseudonyms {
		t.WriteString("Host names and addresses were replaced, the same ones alike.\n")
	}
	if b.Note != "" {
		fmt.Fprintf(&t, "%s\n", b.Note)
	}
	t.WriteString("\n")
	failed := b.failed()
	for _, s := range b.Steps {
		if s.State != "done" {
			fmt.Fprintf(&t, "%-8s %s: %s\n", s.State, s.path(), s.Error)
		}
	}
	if failed == 0 {
		t.WriteString("Every step succeeded.\n")
	} else {
		fmt.Fprintf(&t, "\n%d of %d steps did not succeed, as listed above; the rest is complete.\n", failed, len(b.Steps))
	}
	return t.String()
}
