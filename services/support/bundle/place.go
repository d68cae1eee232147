package bundle

// Where a bundle is written: the system pool, memory when the pool is full or gone, or a disk that somebody plugged in.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"cistern/services/support/collect"
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

// place is where a bundle is made: its folder is dir, also of one that is copied to a disk in the end.
type place struct {
	kind   string
	dir    string
	device string
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
		return m.openDisk(device)
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
	return place{kind: kind, dir: dir}, "", os.Remove(probe)
}

// pluggedIn are the disks of this machine. A variable, so that a test can plug one in.
var pluggedIn = func() ([]collect.Disk, error) { return collect.PluggedIn("/sys") }

// Disks lists what a bundle can be written to with the place "usb".
func (m *Maker) Disks() ([]collect.Disk, error) { return pluggedIn() }

// openDisk finds where a bundle for a plugged-in disk is made, which gatherd copies there when it is whole.
func (m *Maker) openDisk(device string) (place, string, error) {
	list, err := m.Disks()
	if err != nil {
		return place{}, "", err
	}
	if device == "" && len(list) == 1 {
		device = list[0].Device
	}
	switch {
	case slices.ContainsFunc(list, func(d collect.Disk) bool { return d.Device == device }):
	case len(list) == 0:
		return place{}, "", errors.New("no removable disk is plugged in")
	case device == "":
		return place{}, "", errors.New("several removable disks are plugged in: name one")
	default:
		return place{}, "", fmt.Errorf("there is no removable disk '%s'", device)
	}
	return m.openFor(device)
}

func (m *Maker) openFor(device string) (place, string, error) {
	if m.Gatherd == nil {
		return place{}, "", errors.New("nobody is there to mount the disk")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := m.Gatherd.TryDisk(ctx, device); err != nil {
		return place{}, "", err
	}
	p, note, err := m.open(PlaceAuto, "")
	if p.kind == PlaceMemory {
		note = "" // it is on the disk in the end
	}
	p.kind, p.device = PlaceUSB, device
	return p, note, err
}
