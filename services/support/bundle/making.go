package bundle

// One bundle while it is made: its steps, side by side, then its archive.

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
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/support/collect"
	"cistern/services/support/redact"

	"filippo.io/age"
)

// making is one bundle while it is made.
type making struct {
	m          *Maker
	k          *kept
	place      place
	steps      []collect.Step
	names      *redact.Names
	recipients []age.Recipient
	before     *kept // of a retry: what there was
	bytes      atomic.Int64
	archive    *archive
	extents    map[string]extent
	adding     sync.Mutex
	away       atomic.Pointer[collect.AwayError] // gatherd hangs: no other step waits for it
	hung       sync.Map                          // by a step's Lock: the path of the first that hung on it
}

// change alters the state and writes it down. A full disk does not stop the bundle here: writing the archive fails instead.
func (w *making) change(alter func(*kept)) {
	w.m.mu.Lock()
	defer w.m.mu.Unlock()
	alter(w.k)
	_ = w.m.save(w.k)
	w.m.notify()
}

func (w *making) run(ctx context.Context) {
	defer os.RemoveAll(filepath.Join(w.place.dir, w.k.ID+".part"))
	size, sum, err := w.write(ctx)
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
	if w.place.kind == PlaceUSB {
		w.change(func(k *kept) { k.Step = "copying" })
		return size, sum, w.copyToDisk(ctx, temporary, size)
	}
	if err := os.Rename(temporary, final); err != nil {
		return 0, "", err
	}
	return size, sum, syncDir(w.place.dir)
}

// copyToDisk: what was made here goes when this has ended.
func (w *making) copyToDisk(ctx context.Context, path string, size int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return w.m.Gatherd.CopyToDisk(ctx, w.place.device, w.k.File, f, size)
}

// take runs a step, or has gatherd run it.
func (w *making) take(ctx context.Context, s *collect.Step, out io.Writer) error {
	if !s.Root || w.m.Gatherd == nil {
		return s.Run(ctx, out)
	}
	if away := w.away.Load(); away != nil {
		return away
	}
	return s.RunBy(ctx, out, func(ctx context.Context, out io.Writer) error {
		err := w.m.Gatherd.Raw(ctx, s, out)
		var away *collect.AwayError
		if errors.As(err, &away) && away.Hangs {
			w.away.Store(away)
		}
		return err
	})
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
		i := at[s.ID()]
		w.change(func(k *kept) { k.Steps[i].State, k.Step = "running", s.ID() })
		all.Add(1)
		go func() {
			defer all.Done()
			defer func() { <-slots }()
			path := filepath.Join(part, fmt.Sprint(n))
			c := w.collect(ctx, &s, path)
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

// tick updates how many bytes were collected while steps run.
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
