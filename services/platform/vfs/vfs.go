// Package vfs is the only way the journal and the store touch files: one small interface, with the operating system,
// a memory file system that can lose power, a recorder and a fault injector behind it. A forgotten fsync is then a
// visible line in a test's expected output, and a cut at every single operation is a loop.
package vfs

import (
	"errors"
	"io"
	"io/fs"
)

// FS is a file system. Paths are the host's. What is durable after a power cut: the content that File.Sync covered,
// under the name that SyncDir of its folder covered. Nothing else is promised.
type FS interface {
	// Create makes an empty file for writing, in place of one that is there.
	Create(path string) (File, error)
	// Append opens an existing file for reading and for writing at its end.
	Append(path string) (File, error)
	// Open opens an existing file for reading.
	Open(path string) (File, error)
	Remove(path string) error
	// Rename replaces what is at to, atomically.
	Rename(from, to string) error
	MkdirAll(path string) error
	// List names the files of a folder in alphabetical order, folders left out; a folder that is missing is an error.
	List(path string) ([]Entry, error)
	// SyncDir makes the names of a folder durable.
	SyncDir(path string) error
	// Lock takes an exclusive lock that ends with the process; the file is made when it is missing.
	Lock(path string) (io.Closer, error)
	// Map maps a file that is made when it is missing, and made size bytes long, zeroes added, when it is not.
	Map(path string, size int) (Mapping, error)
}

// Entry is one file of a folder.
type Entry struct {
	Name  string
	Bytes int64
}

// File is an open file. Write adds at the end and is never partial without an error.
type File interface {
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes the content durable. After it fails nothing is known about what was written since the last time it
	// did not: the kernel may have dropped it.
	Sync() error
	// Truncate cuts the file; the next Write follows on there.
	Truncate(size int64) error
	Size() (int64, error)
}

// ErrLocked is the error of a Lock that another process holds.
var ErrLocked = errors.New("another process holds the lock")

// ReadFile is all of a file.
func ReadFile(fsys FS, path string) ([]byte, error) {
	file, err := fsys.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	size, err := file.Size()
	if err != nil {
		return nil, err
	}
	content := make([]byte, size)
	if _, err := file.ReadAt(content, 0); err != nil && !(errors.Is(err, io.EOF) && size == 0) {
		return nil, err
	}
	return content, nil
}

// Replace writes a whole small file so that after any crash either the old or the new content is there, and the new
// one when it has returned: temporary name, write, sync, rename, sync of the folder.
func Replace(fsys FS, folder, path string, content []byte) error {
	temporary := path + ".tmp"
	file, err := fsys.Create(temporary)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err == nil {
		err = file.Sync()
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = fsys.Rename(temporary, path)
	}
	if err != nil {
		_ = fsys.Remove(temporary)
		return err
	}
	return fsys.SyncDir(folder)
}

// NotExist says whether an error means that a file is missing.
func NotExist(err error) bool { return errors.Is(err, fs.ErrNotExist) }

// Mapping is a file in memory: what is written to Bytes is the kernel's at once, so that it survives the process, but
// not a power cut.
type Mapping interface {
	Bytes() []byte
	io.Closer
}
