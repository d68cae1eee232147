package illumos

// Disks: what there is, what uses them, and emptying one.

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

const dsk = "/dev/dsk/"

// illumosDisk is a whole disk's name: controller, target or world-wide name, unit.
var illumosDisk = regexp.MustCompile(`^c[0-9]{1,5}(t[0-9A-F]{1,32})?d[0-9]{1,5}$`)

// illumosSlice is what may follow it: a slice of a label, or a partition of fdisk's.
var illumosSlice = regexp.MustCompile(`^(s[0-9]{1,2}|p[0-4])?$`)

// illumosPart is a disk with or without one.
var illumosPart = regexp.MustCompile(`^(c[0-9]{1,5}(?:t[0-9A-F]{1,32})?d[0-9]{1,5})(?:s[0-9]{1,2}|p[0-4])?$`)

// chassis is the number before a label of a bay.
var chassis = regexp.MustCompile(`^\[([0-9]+)\] `)

// Disks implements Host: diskinfo -Hp for the disks and their sizes, -HP for serial numbers and places: with -p a place is a pair of
// numbers, of which the slot's is always -1. They look into each disk, leave out without a word those that their user may not
// open, and the second walks the machine's topology, which takes seconds where there are many shelves.
func (i *Host) Disks(ctx context.Context) ([]host.Disk, error) {
	said, err := command.Run(ctx, 30*time.Second, 4<<20, "diskinfo", "-Hp")
	if err != nil {
		return nil, err
	}
	places, err := command.Run(ctx, 30*time.Second, 4<<20, "diskinfo", "-HP")
	if err != nil {
		return nil, err
	}
	return readDisks(string(said.Stdout), string(places.Stdout))
}

// fields are those of a line of diskinfo's, empty where it does not know.
func fields(line string, count int) ([]string, error) {
	f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
	if len(f) < count {
		return nil, fmt.Errorf("diskinfo printed a line that cannot be read: %.200q", line)
	}
	for at := range f {
		switch f[at] = strings.TrimSpace(f[at]); f[at] {
		case "-", "(null)":
			f[at] = ""
		}
	}
	return f, nil
}

// wholeDisk is the name without what the first of the disk's links may have behind it: diskinfo takes off a slice of one digit only.
func wholeDisk(name string) string {
	found := illumosPart.FindStringSubmatch(name)
	if found == nil {
		log.Printf("diskinfo names %.80q, which is no whole disk; it is left out", name)
		return ""
	}
	return found[1]
}

// readDisks reads type, disk, vendor, product, bytes, removable, solid state; and of places disk, vendor, product, serial number,
// faulty, locating, and the place: "[CHASSIS] LABEL" or LABEL.
func readDisks(text, places string) (found []host.Disk, err error) {
	serials, labels := map[string]string{}, map[string]string{}
	for line := range strings.Lines(places) {
		f, err := fields(line, 7)
		if err != nil {
			return nil, err
		}
		serials[f[0]], labels[f[0]] = f[3], chassis.ReplaceAllString(f[6], "chassis $1, ")
	}
	for line := range strings.Lines(text) {
		f, err := fields(line, 7)
		if err != nil {
			return nil, err
		}
		one := host.Disk{Name: wholeDisk(f[1]), Type: f[0], Vendor: f[2], Product: f[3], Serial: serials[f[1]], Location: labels[f[1]]}
		if one.Name == "" {
			continue
		}
		if one.Bytes, err = strconv.ParseInt(f[4], 10, 64); err != nil || one.Bytes < 0 {
			return nil, fmt.Errorf("diskinfo printed a size that cannot be read: %.200q", line)
		}
		if f[6] != "" {
			solid := f[6] == "yes"
			one.SolidState = &solid
		}
		found = append(found, one)
	}
	return found, nil
}

// diskOf finds a disk by its path, /dev/dsk/NAME.
func (i *Host) diskOf(path string) (name string, size int64, err error) {
	name, ok := strings.CutPrefix(path, dsk)
	if !ok || !illumosDisk.MatchString(name) {
		return "", 0, host.Invalid("/disk", fmt.Sprintf("'%s' is not a whole disk (%sc1t0d0).", path, dsk))
	}
	disks, err := i.Disks(context.Background())
	if err != nil {
		return "", 0, err
	}
	for _, one := range disks {
		if one.Name == name {
			size = one.Bytes
		}
	}
	if size == 0 {
		return "", 0, problem.New(http.StatusConflict, "disk_missing", fmt.Sprintf("The disk %s is not there.", name), "It was removed or has failed. Plug it in again, or choose another one.")
	}
	return name, size, nil
}

// DiskDevice implements Host.
func (i *Host) DiskDevice(path string) (string, error) {
	name, _, err := i.diskOf(path)
	if err != nil {
		return "", err
	}
	return dsk + name, nil
}

// SmartDevice implements Host: smartctl opens raw devices only.
func (i *Host) SmartDevice(device string) string { return i.raw(strings.TrimPrefix(device, dsk)) }

// IsLeaf implements Host: a leaf is c1t0d0s1, and what callers name is /dev/dsk/c1t0d0, with a slice or without.
func (i *Host) IsLeaf(leaf, device string) bool {
	named, which := strings.TrimPrefix(leaf, dsk), strings.TrimPrefix(device, dsk)
	if named == which {
		return true
	}
	return illumosDisk.MatchString(which) && belongs(named, which) || illumosDisk.MatchString(named) && belongs(which, named)
}

// belongs says whether device, as another program names it, is this disk or a part of it. zpool names none by its path, with -P
// too (zpool_vdev_name); mnttab and swap do.
func belongs(device, disk string) bool {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(device, dsk), disk)
	return ok && illumosSlice.MatchString(rest)
}

// usedBy says in words what uses a disk: a pool that is imported, a file system, swap. Empty when nothing does.
func (i *Host) usedBy(ctx context.Context, disk string) (string, error) {
	status, err := command.Run(ctx, 30*time.Second, 4<<20, "zpool", "status", "-P")
	if err != nil {
		return "", err
	}
	pool := ""
	for line := range strings.Lines(string(status.Stdout)) {
		f := strings.Fields(line)
		switch {
		case len(f) == 2 && f[0] == "pool:":
			pool = f[1]
		case len(f) > 0 && belongs(f[0], disk):
			return "the pool " + pool, nil
		}
	}
	mounts, err := i.mounts()
	if err != nil {
		return "", err
	}
	for _, m := range mounts {
		if belongs(m[0], disk) {
			return "the file system " + m[1], nil
		}
	}
	// swap ends with 1 and "No swap devices configured" when there is none.
	swap, err := command.Run(ctx, 10*time.Second, 64<<10, "swap", "-l")
	var failed *command.Error
	if err != nil && (!errors.As(err, &failed) || failed.Code != 1) {
		return "", err
	}
	for line := range strings.Lines(string(swap.Stdout)) {
		if f := strings.Fields(line); len(f) > 0 && belongs(f[0], disk) {
			return "swap", nil
		}
	}
	return "", nil
}

// CheckDisk implements Host.
func (i *Host) CheckDisk(path string, min int64) (string, error) {
	name, size, err := i.diskOf(path)
	if err != nil {
		return "", err
	}
	if size < min {
		return "", problem.New(http.StatusConflict, "disk_too_small", fmt.Sprintf("The disk %s holds %d MiB; a pool's disk holds at least %d MiB.", name, size>>20, min>>20), "Choose a larger disk.")
	}
	user, err := i.usedBy(context.Background(), name)
	if err != nil {
		return "", err
	}
	if user == "the pool "+rootPool {
		return "", problem.New(http.StatusConflict, "disk_in_use", fmt.Sprintf("The disk %s is one this appliance runs from.", name), "Choose another disk.")
	}
	if user != "" {
		return "", problem.New(http.StatusConflict, "disk_in_use", fmt.Sprintf("The disk %s is in use by %s.", name, user), "Choose another disk.")
	}
	return dsk + name, nil
}

// WipeDisk implements Host: the labels of pools, of which there are copies at both ends of a slice, and then both ends of
// the disk itself, where its own labels are.
func (i *Host) WipeDisk(ctx context.Context, device string) error {
	name, size, err := i.diskOf(device)
	if err != nil {
		return err
	}
	for _, part := range []string{"s0", "s1", "p0", "p1", "p2", "p3", "p4"} {
		if _, err := os.Stat(i.Root + dsk + name + part); err == nil {
			_, _ = command.Run(ctx, time.Minute, 64<<10, "zpool", "labelclear", "-f", dsk+name+part) // it may hold something else
		}
	}
	const end = 1 << 20
	f, err := os.OpenFile(i.raw(name), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	zeros := make([]byte, min(end, size))
	_, err = f.WriteAt(zeros, 0)
	if err == nil && size > end {
		_, err = f.WriteAt(zeros, size&^4095-end) // whole sectors, of either size
	}
	return errors.Join(err, f.Close())
}
