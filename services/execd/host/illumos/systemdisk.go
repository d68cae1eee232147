package illumos

// Second system disks on illumos. ZFS itself gives a disk that is attached to the pool the machine starts from a label
// like the present one's, with a partition for UEFI of the same size; the boot loader is bootadm's. Written after zpool(8),
// zpool_main.c and bootadm(8); it has not run on illumos yet.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// AttachSystemDisk implements Host. Until ZFS has taken the disk a failure erases the label that ZFS gave it, and nothing
// when it gave none; after that it is detached first. The boot loader comes last: a disk on which this was cut off is none
// that a machine would try to start from.
func (i *Host) AttachSystemDisk(ctx context.Context, disk string) (err error) {
	name, size, err := i.diskOf(disk)
	if err != nil {
		return err
	}
	leaves, err := host.PoolLeaves(ctx, rootPool)
	if err != nil {
		return err
	}
	if len(leaves) == 0 {
		return errors.New("zpool lists no disk of the pool " + rootPool)
	}
	if err := i.canHaveSecond(ctx, leaves[0], name, size); err != nil {
		return err
	}
	before, err := i.label(name)
	if err != nil {
		return fmt.Errorf("reading the label of %s: %w", name, err)
	}
	taken := func() (string, error) { return i.sideOn(ctx, name) }
	defer func() {
		if err != nil {
			err = errors.Join(err, i.giveUp(ctx, name, before, taken))
		}
	}()
	if _, err := command.Run(ctx, 3*time.Minute, 64<<10, "zpool", "attach", rootPool, leaves[0], dsk+name); err != nil {
		return host.Refused(err, "Attaching "+name+" to the pool "+rootPool)
	}
	side, err := taken()
	if err == nil && side == "" {
		err = fmt.Errorf("zpool attached %s without an error, but it is not in the pool %s", name, rootPool)
	}
	if err != nil {
		return err
	}
	// -M: also what a BIOS starts from. It looks at every disk of the pool, and writes where there is none or an older one.
	_, err = command.Run(ctx, 3*time.Minute, 64<<10, "bootadm", "install-bootloader", "-M", "-P", rootPool)
	return err
}

// canHaveSecond refuses what ZFS would refuse only after it had written a label, and pools whose disks it labels otherwise.
func (i *Host) canHaveSecond(ctx context.Context, leaf, name string, size int64) error {
	said, err := command.Run(ctx, 20*time.Second, 4<<10, "zpool", "get", "-Hp", "-o", "value", "bootsize", rootPool)
	if err != nil {
		return err
	}
	if bootsize := strings.TrimSpace(string(said.Stdout)); !regexp.MustCompile(`^[1-9][0-9]*$`).MatchString(bootsize) {
		return problem.New(http.StatusConflict, "conflict",
			fmt.Sprintf("The pool %s was made without a boot partition of ZFS' own (bootsize is '%.20s'), so ZFS makes none on a second disk.", rootPool, bootsize),
			fmt.Sprintf("Log in, give %s a label as the present system disk has it, 'zpool attach %s' its slice, and when that has resilvered 'bootadm install-bootloader -M -P %s'.", name, rootPool, rootPool))
	}
	disks, err := i.Disks(ctx)
	if err != nil {
		return err
	}
	for _, present := range disks {
		if need := present.Bytes; belongs(leaf, present.Name) && size < need {
			return problem.New(http.StatusConflict, "disk_too_small",
				fmt.Sprintf("The disk %s holds %d MiB; a second system disk needs %d MiB, as much as the first one has.", name, size>>20, (need+1<<20-1)>>20),
				"Choose a disk of at least the same size.")
		}
	}
	return nil
}

// sideOn is the side of the system pool that lies on a disk; empty when none does.
func (i *Host) sideOn(ctx context.Context, name string) (string, error) {
	leaves, err := host.PoolLeaves(ctx, rootPool)
	if at := slices.IndexFunc(leaves, func(leaf string) bool { return belongs(leaf, name) }); at >= 0 {
		return leaves[at], err
	}
	return "", err
}

// raw is the device of a whole disk: with an SMI label only fdisk's node reaches all of it.
func (i *Host) raw(name string) string {
	path := i.Root + "/dev/rdsk/" + name
	if _, err := os.Stat(path); err != nil {
		path += "p0"
	}
	return path
}

// label is the beginning of a disk: its partition tables, whatever their kind.
func (i *Host) label(name string) ([]byte, error) {
	f, err := os.Open(i.raw(name))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	head := make([]byte, 64<<10)
	_, err = io.ReadFull(f, head)
	return head, err
}

// giveUp leaves the disk as good as empty, if anything was written to it.
func (i *Host) giveUp(ctx context.Context, name string, before []byte, taken func() (string, error)) error {
	side, err := taken()
	if err != nil {
		return fmt.Errorf("and whether %s is in the pool %s now is not known: %w", name, rootPool, err)
	}
	if side != "" {
		if _, err := command.Run(ctx, time.Minute, 64<<10, "zpool", "detach", rootPool, side); err != nil {
			return fmt.Errorf("and %s stays in the pool %s, without a boot loader: %w", name, rootPool, err)
		}
	} else if now, err := i.label(name); err == nil && bytes.Equal(now, before) {
		return nil // ZFS did not touch it; what is on it is somebody's
	}
	if err := i.WipeDisk(ctx, dsk+name); err != nil {
		return fmt.Errorf("and the label that %s was given could not be erased: %w", name, err)
	}
	return nil
}
