package vfs

// A file system in memory that knows what a power cut would leave: PowerCut returns it as a disk would show it.

import (
	"io"
	"io/fs"
	"path/filepath"
	"sort"
	"sync"
)

// Memory is a file system in memory. The zero value is not usable: see NewMemory.
type Memory struct {
	mu     sync.Mutex
	names  map[string]*content // what a process sees
	disk   map[string]*content // the names that are durable
	locked map[string]bool
}

type content struct {
	data   []byte
	synced []byte // the content that is durable
}

// NewMemory is an empty file system; every folder exists in it.
func NewMemory() *Memory {
	return &Memory{names: map[string]*content{}, disk: map[string]*content{}, locked: map[string]bool{}}
}

// PowerCut is the file system after the power failed: durable names with durable content. keep, when not nil, is asked
// how many of the bytes that were written behind the durable content reached the disk after all (a torn write).
func (m *Memory) PowerCut(keep func(path string, unsynced int) int) *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMemory()
	for path, c := range m.disk {
		data := append([]byte(nil), c.synced...)
		if extra := len(c.data) - len(c.synced); keep != nil && extra > 0 {
			data = append(data, c.data[len(c.synced):len(c.synced)+keep(path, extra)]...)
		}
		one := &content{data: data, synced: append([]byte(nil), data...)}
		after.names[path], after.disk[path] = one, one
	}
	return after
}

// Kill is the file system after the process was killed: all that was written is there.
func (m *Memory) Kill() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	after := NewMemory()
	for path, c := range m.names {
		one := &content{data: append([]byte(nil), c.data...), synced: append([]byte(nil), c.data...)}
		after.names[path], after.disk[path] = one, one
	}
	return after
}

func missing(op, path string) error { return &fs.PathError{Op: op, Path: path, Err: fs.ErrNotExist} }

// Create makes an empty file.
func (m *Memory) Create(path string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &content{}
	m.names[filepath.Clean(path)] = c
	return &memoryFile{m, c}, nil
}

// Append opens a file.
func (m *Memory) Append(path string) (File, error) { return m.Open(path) }

// Open opens a file.
func (m *Memory) Open(path string) (File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.names[filepath.Clean(path)]
	if c == nil {
		return nil, missing("open", path)
	}
	return &memoryFile{m, c}, nil
}

// Remove removes a name. It is gone from the disk only after SyncDir.
func (m *Memory) Remove(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	path = filepath.Clean(path)
	if m.names[path] == nil {
		return missing("remove", path)
	}
	delete(m.names, path)
	return nil
}

// Rename changes a name.
func (m *Memory) Rename(from, to string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to = filepath.Clean(from), filepath.Clean(to)
	if m.names[from] == nil {
		return missing("rename", from)
	}
	m.names[to] = m.names[from]
	delete(m.names, from)
	return nil
}

// MkdirAll does nothing: every folder exists.
func (m *Memory) MkdirAll(string) error { return nil }

// List names the files of a folder.
func (m *Memory) List(path string) ([]Entry, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var entries []Entry
	for name, c := range m.names {
		if filepath.Dir(name) == filepath.Clean(path) {
			entries = append(entries, Entry{filepath.Base(name), int64(len(c.data))})
		}
	}
	sort.Slice(entries, func(i, j int) bool { return entries[i].Name < entries[j].Name })
	return entries, nil
}

// SyncDir makes a folder's names durable.
func (m *Memory) SyncDir(path string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	path = filepath.Clean(path)
	for name := range m.disk {
		if filepath.Dir(name) == path {
			delete(m.disk, name)
		}
	}
	for name, c := range m.names {
		if filepath.Dir(name) == path {
			m.disk[name] = c
		}
	}
	return nil
}

// Lock takes a lock.
func (m *Memory) Lock(path string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path = filepath.Clean(path)
	if m.locked[path] {
		return nil, ErrLocked
	}
	m.locked[path] = true
	return unlocker(func() { m.mu.Lock(); defer m.mu.Unlock(); delete(m.locked, path) }), nil
}

type unlocker func()

func (u unlocker) Close() error { u(); return nil }

type memoryFile struct {
	m *Memory
	c *content
}

func (f *memoryFile) ReadAt(p []byte, offset int64) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if offset >= int64(len(f.c.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.c.data[offset:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memoryFile) Write(p []byte) (int, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.c.data = append(f.c.data, p...)
	return len(p), nil
}

func (f *memoryFile) Sync() error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.c.synced = append([]byte(nil), f.c.data...)
	return nil
}

func (f *memoryFile) Truncate(size int64) error {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	if size < int64(len(f.c.data)) {
		f.c.data = f.c.data[:size:size]
	}
	if size < int64(len(f.c.synced)) { // the worst for a test: the cut reaches the disk at once
		f.c.synced = f.c.synced[:size:size]
	}
	return nil
}

func (f *memoryFile) Size() (int64, error) {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	return int64(len(f.c.data)), nil
}

func (f *memoryFile) Close() error { return nil }

// Map maps a file.
func (m *Memory) Map(path string, size int) (Mapping, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	path = filepath.Clean(path)
	c := m.names[path]
	if c == nil {
		c = &content{}
		m.names[path] = c
	}
	if len(c.data) != size {
		data := make([]byte, size)
		copy(data, c.data)
		c.data = data
	}
	return memoryMapping{c}, nil
}

type memoryMapping struct{ c *content }

func (m memoryMapping) Bytes() []byte { return m.c.data }
func (m memoryMapping) Close() error  { return nil }
