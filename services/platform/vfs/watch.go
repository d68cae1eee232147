package vfs

// A wrapper that shows every changing operation to a function before it happens: it records the order, and it makes
// operations fail.

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
)

// Watch wraps a file system. before is called with each operation that changes something ("create", "write", "sync",
// "truncate", "rename", "remove", "syncdir", "lock"), the base name of what it changes, and for a write how many bytes; its error
// becomes the operation's, which is then not done. A failed write may have written the first half: a full disk does.
func Watch(inner FS, before func(op, name string, bytes int) error) FS {
	return &watched{inner, before}
}

// Log records operations as lines, for tests to compare. Its Before is for Watch.
type Log struct {
	mu    sync.Mutex
	lines []string
}

// Before records one operation.
func (l *Log) Before(op, name string, bytes int) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := op + " " + name
	if op == "write" {
		line = fmt.Sprintf("%s %d", line, bytes)
	}
	l.lines = append(l.lines, line)
	return nil
}

// Take returns what was recorded since the last time.
func (l *Log) Take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines := l.lines
	l.lines = nil
	return lines
}

type watched struct {
	FS
	before func(op, name string, bytes int) error
}

type watchedFile struct {
	File
	name   string
	before func(op, name string, bytes int) error
}

func (w *watched) Create(path string) (File, error) {
	name := filepath.Base(path)
	if err := w.before("create", name, 0); err != nil {
		return nil, err
	}
	file, err := w.FS.Create(path)
	return w.wrap(file, name), err
}

func (w *watched) wrap(file File, name string) File {
	if file == nil {
		return nil
	}
	return &watchedFile{file, name, w.before}
}

func (w *watched) Append(path string) (File, error) {
	file, err := w.FS.Append(path)
	return w.wrap(file, filepath.Base(path)), err
}

func (w *watched) Open(path string) (File, error) {
	file, err := w.FS.Open(path)
	return w.wrap(file, filepath.Base(path)), err
}

func (w *watched) Remove(path string) error {
	if err := w.before("remove", filepath.Base(path), 0); err != nil {
		return err
	}
	return w.FS.Remove(path)
}

func (w *watched) Rename(from, to string) error {
	if err := w.before("rename", filepath.Base(from)+" "+filepath.Base(to), 0); err != nil {
		return err
	}
	return w.FS.Rename(from, to)
}

func (w *watched) SyncDir(path string) error {
	if err := w.before("syncdir", filepath.Base(path), 0); err != nil {
		return err
	}
	return w.FS.SyncDir(path)
}

func (w *watched) Lock(path string) (io.Closer, error) {
	if err := w.before("lock", filepath.Base(path), 0); err != nil {
		return nil, err
	}
	return w.FS.Lock(path)
}

func (f *watchedFile) Write(p []byte) (int, error) {
	if err := f.before("write", f.name, len(p)); err != nil {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, err
	}
	return f.File.Write(p)
}

func (f *watchedFile) Sync() error {
	if err := f.before("sync", f.name, 0); err != nil {
		return err
	}
	return f.File.Sync()
}

func (f *watchedFile) Truncate(size int64) error {
	if err := f.before("truncate", f.name, 0); err != nil {
		return err
	}
	return f.File.Truncate(size)
}

func (w *watched) Map(path string, size int) (Mapping, error) {
	if err := w.before("map", filepath.Base(path), size); err != nil {
		return nil, err
	}
	return w.FS.Map(path, size)
}
