package linux

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
	"cistern/services/platform/squashfs"
)

// The names of the partitions, in the order they lie in on the disk: what image/debian/disk.sh and system-pool make.
const (
	partBIOS = "cistern-bios" // GRUB's second stage, for machines without UEFI
	partESP  = "cistern-esp"
	partA    = "cistern-a"
	partB    = "cistern-b"
	partPool = "cistern-pool"
)

// copied are the partitions before the pool's, by their numbers from 1.
var copied = []string{partBIOS, partESP, partA, partB}

// bootCode is how much of the first sector GRUB's first stage takes; the partition table for BIOS machines follows.
const bootCode = 440

type partition struct {
	Node  string `json:"node"`
	Start int64  `json:"start"` // in sectors, as Size
	Size  int64  `json:"size"`
	Type  string `json:"type"`
	UUID  string `json:"uuid"`
	Name  string `json:"name"`
}

// systemTable reads the partitions of a system disk, such as sda, by name.
func (l *Host) systemTable(ctx context.Context, disk string) (map[string]partition, error) {
	said, err := command.Run(ctx, 30*time.Second, 1<<20, "sfdisk", "--json", "/dev/"+disk)
	if err != nil {
		return nil, err
	}
	var document struct {
		Table struct {
			Partitions []partition `json:"partitions"`
			SectorSize int64       `json:"sectorsize"`
		} `json:"partitiontable"`
	}
	if err := json.Unmarshal(said.Stdout, &document); err != nil {
		return nil, fmt.Errorf("the partition table of %s cannot be read: %w", disk, err)
	}
	if document.Table.SectorSize != 512 {
		return nil, fmt.Errorf("the system disk %s has sectors of %d bytes; only 512 are expected", disk, document.Table.SectorSize)
	}
	table := map[string]partition{}
	for _, p := range document.Table.Partitions {
		table[p.Name] = p
	}
	for _, name := range append(slices.Clone(copied), partPool) {
		if _, ok := table[name]; !ok {
			return nil, fmt.Errorf("the system disk %s has no partition '%s'", disk, name)
		}
	}
	return table, nil
}

// otherGUID is the first GUID of this machine's pool partitions that no disk has: the machine id with another last digit
// (see image/debian/files/usr/lib/cistern/system-pool).
func otherGUID(own string) (string, error) {
	own = strings.ToLower(own)
	for _, digit := range "0123456789abcdef" {
		guid := own[:len(own)-1] + string(digit)
		if _, err := os.Stat(byPartUUID + guid); errors.Is(err, os.ErrNotExist) && guid != own {
			return guid, nil
		}
	}
	return "", errors.New("this machine has had sixteen system disks at a time")
}

const byPartUUID = "/dev/disk/by-partuuid/"

// AttachSystemDisk makes the disk bootable, then a side of the system pool. Until ZFS has taken the disk a failure erases
// its partition table again.
func (l *Host) AttachSystemDisk(ctx context.Context, disk string) (err error) {
	device, err := filepath.EvalSymlinks(disk)
	if err != nil {
		return err
	}
	table, err := l.systemTable(ctx, l.SystemDisk)
	if err != nil {
		return err
	}
	pool := table[partPool]
	if problem := l.mustHold(disk, device, pool); problem != nil {
		return problem
	}
	guid, err := otherGUID(pool.UUID)
	if err != nil {
		return err
	}
	leaves, err := host.SystemLeaves(ctx)
	if err != nil {
		return err
	}
	var script strings.Builder
	script.WriteString("label: gpt\n")
	for _, name := range copied {
		p := table[name]
		fmt.Fprintf(&script, "start=%d, size=%d, type=%s, name=%s\n", p.Start, p.Size, p.Type, p.Name)
	}
	// To the end of the disk: when both disks are larger than the first one was, the pool can grow.
	fmt.Fprintf(&script, "start=%d, type=%s, name=%s, uuid=%s\n", pool.Start, pool.Type, partPool, guid)

	if _, err := command.RunInput(ctx, time.Minute, 64<<10, strings.NewReader(script.String()), "sfdisk", "--quiet", "--wipe", "always", "--wipe-partitions", "always", device); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = command.Run(ctx, time.Minute, 64<<10, "wipefs", "--all", "--force", device)
			_, _ = command.Run(ctx, time.Minute, 64<<10, "partx", "--delete", device)
		}
	}()
	if err := waitFor(byPartUUID+guid, 30*time.Second); err != nil {
		return err
	}
	// The boot loader last: a disk on which this was cut off is none that a machine would try to start from.
	for _, name := range []string{partA, partB, partBIOS, partESP} {
		if err := copyPartition(table[name].Node, nodeOf(device, slices.Index(copied, name)+1)); err != nil {
			return fmt.Errorf("copying the partition %s to %s: %w", name, filepath.Base(disk), err)
		}
	}
	unlock, err := lockDisk(device, time.Minute)
	if err != nil {
		return err
	}
	defer unlock()
	if err := waitFor(byPartUUID+guid, 30*time.Second); err != nil {
		return err
	}
	if err := copyBootCode("/dev/"+l.SystemDisk, device); err != nil {
		return fmt.Errorf("copying the boot code to %s: %w", filepath.Base(disk), err)
	}
	_, err = command.Run(ctx, time.Minute, 64<<10, "zpool", "attach", host.SystemPool, leaves[0], byPartUUID+guid)
	return err
}

// lockDisk keeps udev from a disk until the function that it returns is called. Whoever closes a disk after writing to it has
// udev read its partition table again, and for that moment its partitions and their names are gone: until the pool has
// taken its partition, that must not happen (systemd's BLOCK_DEVICE_LOCKING: udev takes a shared lock before it looks).
func lockDisk(device string, patience time.Duration) (unlock func(), err error) {
	f, err := os.Open(device)
	if err != nil {
		return nil, err
	}
	for deadline := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
			return func() { _ = f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) || time.Now().After(deadline) {
			_ = f.Close()
			return nil, fmt.Errorf("the disk %s is being looked at by others, and was not left alone within %v: %w", filepath.Base(device), patience, err)
		}
	}
}

// mustHold refuses a disk on which the pool's partition would be smaller than the one it is to mirror.
func (l *Host) mustHold(disk, device string, pool partition) error {
	text, err := os.ReadFile(filepath.Join("/sys/class/block", filepath.Base(device), "size"))
	if err != nil {
		return err
	}
	var sectors int64
	if _, err := fmt.Sscan(string(text), &sectors); err != nil {
		return err
	}
	const backupTable = 34 // sectors at the end, for the GPT's copy
	if need := pool.Start + pool.Size + backupTable; sectors < need {
		return problem.New(http.StatusConflict, "disk_too_small",
			fmt.Sprintf("The disk %s holds %d MiB; a second system disk needs %d MiB, as much as the first one uses.", filepath.Base(disk), sectors>>11, (need+2047)>>11),
			"Choose a disk of at least the same size.")
	}
	return nil
}

// nodeOf is the kernel's name of a partition: sda1, nvme0n1p1.
func nodeOf(device string, number int) string {
	if last := device[len(device)-1]; last >= '0' && last <= '9' {
		return fmt.Sprintf("%sp%d", device, number)
	}
	return fmt.Sprintf("%s%d", device, number)
}

func waitFor(path string, patience time.Duration) error {
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return nil
		} else if time.Now().After(end) {
			return fmt.Errorf("%s did not appear: %w", path, err)
		}
	}
}

// copyPartition copies what a partition holds: all of it, or of a system slot only the squashfs in it. An empty slot gets
// its first MiB zeroed, so that nothing old is taken for a system.
func copyPartition(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	head := make([]byte, 1<<20)
	if _, err := io.ReadFull(source, head); err != nil {
		return err
	}
	if _, err := source.Seek(0, io.SeekStart); err != nil {
		return err
	}
	reader := io.Reader(source)
	length, err := squashfs.Length(bytes.NewReader(head))
	switch {
	case err == nil:
		reader = io.LimitReader(source, length)
	case !errors.Is(err, squashfs.ErrNone):
		return err
	case bytes.Equal(head, make([]byte, len(head))):
		reader = bytes.NewReader(head)
	}
	target, err := os.OpenFile(to, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{target}, reader, head)
	return errors.Join(err, target.Sync(), target.Close())
}

// copyBootCode copies GRUB's first stage, which a BIOS starts, from one disk's first sector to another's. It finds the second
// stage at the same place on its own disk.
func copyBootCode(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	sector := make([]byte, 512)
	if _, err := io.ReadFull(source, sector); err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer target.Close()
	own := make([]byte, 512)
	if _, err := io.ReadFull(target, own); err != nil {
		return err
	}
	copy(own, sector[:bootCode])
	if _, err := target.WriteAt(own, 0); err != nil {
		return err
	}
	return target.Sync()
}
