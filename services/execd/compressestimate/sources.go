package compressestimate

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"slices"
)

// maxFiles bounds how long a tree is walked: of one with more files, those that come later are not looked at.
const maxFiles = 2_000_000

// place is a block of a file.
type place struct {
	file   int
	offset int64
}

// Tree samples the files below a directory, without leaving its file system or following links.
type Tree struct {
	root   *os.Root
	record int
}

// NewTree answers for the files of a dataset that has this recordsize.
func NewTree(root *os.Root, recordsize int) *Tree { return &Tree{root, recordsize} }

// BlockBytes is the record size.
func (t *Tree) BlockBytes() int { return t.record }

// Sample gives every block of every file the same chance. A file that goes away or cannot be read meanwhile is left out.
func (t *Tree) Sample(ctx context.Context, n int, random *rand.Rand, use func([]byte) error) error {
	var (
		names []string
		chose []place
		seen  int64
	)
	own, err := t.root.Stat(".")
	if err != nil {
		return err
	}
	device := deviceOf(own)
	err = fs.WalkDir(t.root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return nil // a directory that cannot be read is left out
		}
		if entry.IsDir() {
			info, err := entry.Info()
			if err != nil || deviceOf(info) != device {
				return fs.SkipDir // another dataset is mounted there
			}
			return nil
		}
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() || info.Size() == 0 {
			return nil
		}
		kept := false
		for offset := int64(0); offset < info.Size(); offset += int64(t.record) {
			seen++
			p := place{len(names), offset}
			if len(chose) < n {
				chose, kept = append(chose, p), true
			} else if at := random.Int64N(seen); at < int64(n) {
				chose[at], kept = p, true
			}
		}
		if kept {
			names = append(names, path)
		}
		if len(names) >= maxFiles {
			return fs.SkipAll
		}
		return nil
	})
	if err != nil {
		return err
	}
	// In the order of the files: each is opened once, and disks like to read on.
	slices.SortFunc(chose, func(a, b place) int {
		if a.file != b.file {
			return a.file - b.file
		}
		return int(min(1, max(-1, a.offset-b.offset)))
	})
	buffer := make([]byte, t.record)
	for from := 0; from < len(chose); {
		to := from
		for to < len(chose) && chose[to].file == chose[from].file {
			to++
		}
		if err := t.read(names[chose[from].file], chose[from:to], buffer, use); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (t *Tree) read(name string, places []place, buffer []byte, use func([]byte) error) error {
	f, err := t.root.Open(name)
	if err != nil {
		return nil // it went away
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil // it became something else
	}
	for _, p := range places {
		got, err := f.ReadAt(buffer, p.offset)
		if err != nil && !errors.Is(err, io.EOF) || got == 0 {
			continue
		}
		block := buffer
		if info.Size() <= int64(t.record) {
			block = buffer[:(got+511)/512*512]
		}
		clear(block[got:])
		if err := use(block); err != nil {
			return err
		}
	}
	return nil
}

// Device samples a volume.
type Device struct {
	file  *os.File
	block int
}

// NewDevice answers for a volume of this volblocksize.
func NewDevice(file *os.File, volblocksize int) *Device { return &Device{file, volblocksize} }

// BlockBytes is the volblocksize.
func (d *Device) BlockBytes() int { return d.block }

// Sample reads blocks at random places.
func (d *Device) Sample(_ context.Context, n int, random *rand.Rand, use func([]byte) error) error {
	size, err := d.file.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	blocks := size / int64(d.block)
	if blocks == 0 {
		return nil
	}
	chosen := map[int64]bool{}
	for range min(int64(n), blocks) {
		chosen[random.Int64N(blocks)] = true
	}
	order := make([]int64, 0, len(chosen))
	for at := range chosen {
		order = append(order, at)
	}
	slices.Sort(order)
	buffer := make([]byte, d.block)
	for _, at := range order {
		if _, err := d.file.ReadAt(buffer, at*int64(d.block)); err != nil {
			return err
		}
		if err := use(buffer); err != nil {
			return err
		}
	}
	return nil
}
