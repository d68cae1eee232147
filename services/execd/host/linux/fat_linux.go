package linux

// Just as much of FAT32 as reading files of an EFI system partition takes, by their short names. Nothing is cached, and
// what the partition says of itself is believed only within its own bounds.

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

type fat struct {
	device       io.ReaderAt
	clusterBytes int64
	tableAt      int64 // where the table of clusters begins, in bytes, as dataAt
	dataAt       int64
	root         uint32
	last         uint32 // the highest cluster there is
}

type fatFile struct {
	first  uint32
	size   int64
	folder bool
}

const (
	fatEntryBytes = 32
	// A chain has more clusters than this only when it goes in a circle, or is no file that is looked at here.
	fatLongest = 1 << 16
)

func openFAT(device io.ReaderAt) (*fat, error) {
	head := make([]byte, 512)
	if _, err := device.ReadAt(head, 0); err != nil {
		return nil, err
	}
	le := binary.LittleEndian
	sector, perCluster := int64(le.Uint16(head[11:])), int64(head[13])
	reserved, tables, tableSectors := int64(le.Uint16(head[14:])), int64(head[16]), int64(le.Uint32(head[36:]))
	// The 16-bit size of the table is 0 on FAT32 only.
	if head[510] != 0x55 || head[511] != 0xaa || le.Uint16(head[22:]) != 0 || sector < 512 || sector > 4096 || perCluster == 0 || tables == 0 || tableSectors == 0 {
		return nil, errors.New("it holds no FAT32 file system")
	}
	sectors := int64(le.Uint32(head[32:]))
	if sectors == 0 {
		sectors = int64(le.Uint16(head[19:]))
	}
	data := reserved + tables*tableSectors
	last := (sectors-data)/perCluster + 1
	if last < 2 || last*4 > tableSectors*sector {
		return nil, errors.New("its FAT32 file system has a size that makes no sense")
	}
	return &fat{device, sector * perCluster, reserved * sector, data * sector, le.Uint32(head[44:]), uint32(last)}, nil
}

// clusters are the places of a chain's clusters, of the first most of them.
func (f *fat) clusters(first uint32, most int64) (places []int64, err error) {
	entry := make([]byte, 4)
	for at := first; int64(len(places)) < most; {
		// A chain ends with a number that is higher than any cluster's; an empty file has 0.
		if at < 2 || at > f.last {
			return places, nil
		}
		if len(places) >= fatLongest {
			return nil, errors.New("a file of the FAT32 file system has no end")
		}
		places = append(places, f.dataAt+int64(at-2)*f.clusterBytes)
		if _, err := f.device.ReadAt(entry, f.tableAt+int64(at)*4); err != nil {
			return nil, err
		}
		at = binary.LittleEndian.Uint32(entry) & 0x0fffffff
	}
	return places, nil
}

// shortName is a name as it stands in a directory: eight letters and three, in upper case, with blanks behind.
func shortName(name string) string {
	base, extension, _ := strings.Cut(strings.ToUpper(name), ".")
	return fmt.Sprintf("%-8s%-3s", base, extension)
}

// find looks up a file by its path; os.ErrNotExist when there is none.
func (f *fat) find(path ...string) (fatFile, error) {
	here := fatFile{first: f.root, folder: true}
	for depth, name := range path {
		if !here.folder {
			return fatFile{}, fmt.Errorf("%s: %w", strings.Join(path, "/"), os.ErrNotExist)
		}
		next, err := f.entry(here.first, shortName(name))
		if err != nil {
			return fatFile{}, fmt.Errorf("%s: %w", strings.Join(path[:depth+1], "/"), err)
		}
		here = next
	}
	return here, nil
}

func (f *fat) entry(folder uint32, short string) (fatFile, error) {
	places, err := f.clusters(folder, fatLongest+1)
	if err != nil {
		return fatFile{}, err
	}
	le := binary.LittleEndian
	cluster := make([]byte, f.clusterBytes)
	for _, place := range places {
		if _, err := f.device.ReadAt(cluster, place); err != nil {
			return fatFile{}, err
		}
		for e := cluster; len(e) >= fatEntryBytes; e = e[fatEntryBytes:] {
			if e[0] == 0 { // nothing follows
				return fatFile{}, os.ErrNotExist
			}
			// A volume's label; a piece of a long name has that bit too. One that was deleted begins with 0xe5.
			if e[11]&0x08 != 0 || e[0] == 0xe5 || string(e[:11]) != short {
				continue
			}
			first := uint32(le.Uint16(e[20:]))<<16 | uint32(le.Uint16(e[26:]))
			return fatFile{first: first, size: int64(le.Uint32(e[28:])), folder: e[11]&0x10 != 0}, nil
		}
	}
	return fatFile{}, os.ErrNotExist
}

// read is the beginning of a file, at most limit bytes.
func (f *fat) read(limit int64, path ...string) ([]byte, error) {
	file, err := f.find(path...)
	if err != nil {
		return nil, err
	}
	size := min(file.size, limit)
	places, err := f.clusters(file.first, (size+f.clusterBytes-1)/f.clusterBytes)
	if err != nil {
		return nil, err
	}
	text := make([]byte, 0, size)
	for _, place := range places {
		part := make([]byte, min(f.clusterBytes, size-int64(len(text))))
		if _, err := f.device.ReadAt(part, place); err != nil {
			return nil, err
		}
		text = append(text, part...)
	}
	if int64(len(text)) < size {
		return nil, fmt.Errorf("%s: %w", strings.Join(path, "/"), io.ErrUnexpectedEOF)
	}
	return text, nil
}
