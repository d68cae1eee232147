package vfs

// The operating system's file system.

import (
	"fmt"
	"io"
	"os"
)

// OS is the operating system's file system.
var OS FS = osFS{}

type osFS struct{}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func open(path string, flags int) (File, error) {
	file, err := os.OpenFile(path, flags, 0o640)
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

// O_APPEND, so that Write after Truncate lands at the new end.
func (osFS) Create(path string) (File, error) {
	return open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND)
}
func (osFS) Append(path string) (File, error) { return open(path, os.O_RDWR|os.O_APPEND) }
func (osFS) Open(path string) (File, error)   { return open(path, os.O_RDONLY) }
func (osFS) Remove(path string) error         { return os.Remove(path) }
func (osFS) Rename(from, to string) error     { return os.Rename(from, to) }
func (osFS) MkdirAll(path string) error       { return os.MkdirAll(path, 0o750) }

func (osFS) List(path string) ([]Entry, error) {
	found, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var entries []Entry
	for _, one := range found {
		if !one.Type().IsRegular() {
			continue
		}
		info, err := one.Info()
		if err != nil {
			if os.IsNotExist(err) {
				continue // removed between the two calls
			}
			return nil, err
		}
		entries = append(entries, Entry{one.Name(), info.Size()})
	}
	return entries, nil
}

func (osFS) SyncDir(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return err
	}
	err = folder.Sync()
	if closeErr := folder.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return fmt.Errorf("making the names in %s durable: %w", path, err)
	}
	return nil
}

func (osFS) Lock(path string) (io.Closer, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		file.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return file, nil
}

func (osFS) Map(path string, size int) (Mapping, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o640)
	if err != nil {
		return nil, err
	}
	defer file.Close() // the mapping stays
	info, err := file.Stat()
	if err == nil && info.Size() != int64(size) {
		err = file.Truncate(int64(size))
	}
	if err == nil {
		// The blocks are taken now: a full disk is an error here, and not a signal when the memory is written to.
		err = fillHoles(file, info.Size(), int64(size))
	}
	if err != nil {
		return nil, fmt.Errorf("making room for the buffer %s: %w", path, err)
	}
	m, err := mapFile(file, size)
	if err != nil {
		return nil, fmt.Errorf("mapping %s: %w", path, err)
	}
	return m, nil
}

// fillHoles writes zeroes where a file was made longer.
func fillHoles(file *os.File, from, to int64) error {
	zeroes := make([]byte, 64<<10)
	for from < to {
		n, err := file.WriteAt(zeroes[:min(int64(len(zeroes)), to-from)], from)
		if err != nil {
			return err
		}
		from += int64(n)
	}
	return nil
}
