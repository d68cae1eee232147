package bundle

// Where a bundle is written: the system pool, memory when the pool is full or gone, or a disk that somebody plugged in.

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// The kinds of place that a request may name; "auto" takes the pool when there is room, and else memory.
const (
	PlaceAuto   = "auto"
	PlacePool   = "pool"
	PlaceMemory = "memory"
	PlaceUSB    = "usb"
)

const (
	// keptFree is what a bundle leaves of a place: its own end, and what others need to go on.
	keptFree = 16 << 20
	// enough is what a bundle of a quiet appliance needs, with room to spare.
	enough = 96 << 20
)

var errNoRoom = errors.New("there is no room for it where the bundle is written")

// place is an open place. Its folder is dir; done is called at the end, with the bundle on disk.
type place struct {
	kind   string
	dir    string
	device string
	done   func() error
}

// statfs is how many bytes may be written below dir. A variable, so that a test can have a full disk.
var statfs = freeBytes

// room is an archive's limit in dir: what is free, less what is kept free.
func room(dir string) func(int64) error {
	return func(bytes int64) error {
		free, err := statfs(dir)
		if err != nil {
			return fmt.Errorf("how much room there is could not be read: %w", err)
		}
		if bytes+keptFree > free {
			return errNoRoom
		}
		return nil
	}
}

// open finds where a bundle goes. note says, in words, why it is not where one would expect it.
func (m *Maker) open(kind, device string) (p place, note string, err error) {
	switch kind {
	case PlaceUSB:
		p, err = m.openDisk(device)
		return p, "", err
	case PlacePool:
		return m.usable(PlacePool, m.Dir)
	case PlaceMemory:
		return m.usable(PlaceMemory, m.MemoryDir)
	}
	pool, poolErr := statfs(m.Dir)
	if poolErr == nil && pool >= enough || m.MemoryDir == "" {
		if p, _, err := m.usable(PlacePool, m.Dir); err == nil {
			return p, "", nil
		}
	}
	why := fmt.Sprintf("The system pool has only %d MB free", max(pool, 0)>>20)
	if poolErr != nil {
		why = "The system pool cannot be used (" + poolErr.Error() + ")"
	}
	memory, memoryErr := statfs(m.MemoryDir)
	if memoryErr == nil && memory > pool {
		p, _, err := m.usable(PlaceMemory, m.MemoryDir)
		return p, why + ": the bundle is in memory, and is gone after a restart. Download it soon.", err
	}
	p, _, err = m.usable(PlacePool, m.Dir)
	return p, why + ": what does not fit is left out.", err
}

func (m *Maker) usable(kind, dir string) (place, string, error) {
	if dir == "" {
		return place{}, "", fmt.Errorf("there is no place '%s'", kind)
	}
	if free, err := statfs(dir); err != nil {
		return place{}, "", err
	} else if free < keptFree+1<<20 {
		return place{}, "", errNoRoom
	}
	probe := filepath.Join(dir, ".probe.new")
	if err := os.WriteFile(probe, []byte("x"), 0o600); err != nil {
		return place{}, "", err
	}
	return place{kind: kind, dir: dir, done: func() error { return nil }}, "", os.Remove(probe)
}

// Disk is one that was plugged in and can take a bundle.
type Disk struct {
	Device string `json:"device"` // sdb1: of /dev
	Title  string `json:"title"`
	Bytes  int64  `json:"bytes"`
}

// Disks are the plugged-in disks and partitions, as the kernel lists them in sys (/sys). That one is a disk somebody
// plugged in, the kernel says by "removable", or by its being on a USB bus.
func disks(sys string) ([]Disk, error) {
	found := []Disk{}
	blocks, err := filepath.Glob(filepath.Join(sys, "block", "*"))
	if err != nil {
		return nil, err
	}
	read := func(parts ...string) string {
		content, _ := os.ReadFile(filepath.Join(parts...))
		return strings.TrimSpace(string(content))
	}
	size := func(dir string) int64 {
		var sectors int64
		_, _ = fmt.Sscan(read(dir, "size"), &sectors)
		return sectors * 512
	}
	for _, block := range blocks {
		name := filepath.Base(block)
		real, err := filepath.EvalSymlinks(block)
		if err != nil || strings.HasPrefix(name, "loop") || strings.HasPrefix(name, "sr") || read(block, "ro") == "1" {
			continue
		}
		if read(block, "removable") != "1" && !strings.Contains(real, "/usb") || size(block) == 0 {
			continue
		}
		title := strings.Join(strings.Fields(read(block, "device", "vendor")+" "+read(block, "device", "model")), " ")
		partitions, _ := filepath.Glob(filepath.Join(block, name+"*"))
		if len(partitions) == 0 {
			partitions = []string{block}
		}
		for _, partition := range partitions {
			found = append(found, Disk{Device: filepath.Base(partition), Title: title, Bytes: size(partition)})
		}
	}
	return found, nil
}

// Disks lists what a bundle can be written to with the place "usb".
func (m *Maker) Disks() ([]Disk, error) { return disks("/sys") }

func (m *Maker) openDisk(device string) (place, error) {
	list, err := m.Disks()
	if err != nil {
		return place{}, err
	}
	if device == "" && len(list) == 1 {
		device = list[0].Device
	}
	for _, d := range list {
		if d.Device != device {
			continue
		}
		dir := filepath.Join(m.MemoryDir, "usb")
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return place{}, err
		}
		unmount, err := mount("/dev/"+device, dir)
		if err != nil {
			return place{}, fmt.Errorf("the disk %s could not be mounted: %w", device, err)
		}
		return place{kind: PlaceUSB, dir: dir, device: device, done: unmount}, nil
	}
	if len(list) == 0 {
		return place{}, errors.New("no removable disk is plugged in")
	}
	if device == "" {
		return place{}, errors.New("several removable disks are plugged in: name one")
	}
	return place{}, fmt.Errorf("there is no removable disk '%s'", device)
}
