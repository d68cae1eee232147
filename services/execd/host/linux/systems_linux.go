package linux

// The two system slots of the Debian image: what is in them, and GRUB's environment, which says the one that starts. The
// EFI system partition is mounted by nobody, so it is read, and its one file written, as it lies on the disk.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cistern/services/execd/host"
	"cistern/services/platform/squashfs"
)

// slots by their names in grub.cfg; a person calls them A and B.
var slots = []string{"a", "b"}

func slotPartition(slot string) string { return map[string]string{"a": partA, "b": partB}[slot] }

// Systems implements Host.
func (l *Host) Systems(ctx context.Context) ([]host.System, error) {
	table, err := l.systemTable(ctx, l.SystemDisk)
	if err != nil {
		return nil, err
	}
	kernel, err := os.ReadFile("/proc/cmdline")
	if err != nil {
		return nil, err
	}
	esp, err := os.Open(table[partESP].Node)
	if err != nil {
		return nil, err
	}
	defer esp.Close()
	var images []io.ReaderAt
	for _, slot := range slots {
		image, err := os.Open(table[slotPartition(slot)].Node)
		if err != nil {
			return nil, err
		}
		defer image.Close()
		images = append(images, image)
	}
	return readSlots(esp, images, string(kernel))
}

// readSlots reads what is in the slots. images are their partitions, kernel is the command line of the one that runs.
func readSlots(esp io.ReaderAt, images []io.ReaderAt, kernel string) ([]host.System, error) {
	boot, err := openFAT(esp)
	if err != nil {
		return nil, err
	}
	environment, err := readEnvironment(boot)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(kernel)
	var systems []host.System
	for i, slot := range slots {
		one := host.System{Name: strings.ToUpper(slot), Starts: host.StartsNot, Running: slices.Contains(words, "root=PARTLABEL="+slotPartition(slot))}
		if environment.chosen() == slot {
			one.Starts = host.StartsNext
		}
		if one.Bytes, err = squashfsBytes(images[i]); err != nil {
			return nil, fmt.Errorf("reading the system slot %s: %w", one.Name, err)
		}
		if one.Bytes == nil {
			one.Obstacle = "Nothing is installed in this slot."
			systems = append(systems, one)
			continue
		}
		for _, name := range []string{"vmlinuz", "initrd"} {
			file, err := boot.find("cistern", slot, name)
			if err != nil && !errors.Is(err, os.ErrNotExist) {
				return nil, err
			}
			if err != nil || file.size == 0 {
				one.Obstacle = "Its " + map[string]string{"vmlinuz": "kernel", "initrd": "initial file system"}[name] + " is missing from the boot partition."
				break
			}
		}
		text, err := boot.read(64, "cistern", slot, "version")
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		one.Version = host.VersionIn(text)
		systems = append(systems, one)
	}
	return systems, nil
}

// squashfsBytes is how much of a slot its system takes; nil when there is none.
func squashfsBytes(image io.ReaderAt) (*int64, error) {
	used, err := squashfs.Used(image)
	switch {
	case errors.Is(err, squashfs.ErrNone):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return &used, nil
}

// environment is GRUB's environment block: lines of name=value after a first line that says what it is, filled up with #.
type environment struct {
	place []int64 // of its clusters on the partition
	text  []byte
}

const (
	environmentHead  = "# GRUB Environment Block\n"
	environmentBytes = 1024 // GRUB takes no other size
)

var slotLine = regexp.MustCompile(`(?m)^slot=(.*)\n`)

func readEnvironment(boot *fat) (*environment, error) {
	file, err := boot.find("cistern", "grubenv")
	if err != nil {
		return nil, fmt.Errorf("GRUB's environment on the boot partition: %w", err)
	}
	text, err := boot.read(environmentBytes, "cistern", "grubenv")
	if err != nil {
		return nil, err
	}
	place, err := boot.clusters(file.first, (environmentBytes+boot.clusterBytes-1)/boot.clusterBytes)
	if err != nil {
		return nil, err
	}
	if file.size != environmentBytes || !bytes.HasPrefix(text, []byte(environmentHead)) {
		return nil, errors.New("what should be GRUB's environment on the boot partition is none")
	}
	return &environment{place, text}, nil
}

// chosen is the slot that starts: the first one unless the second is named, as in grub.cfg.
func (e *environment) chosen() string {
	if found := slotLine.FindSubmatch(e.text); found != nil && string(found[1]) == "b" {
		return "b"
	}
	return "a"
}

// choose is the block with another slot in it. All else in it stays; when it named a slot before, one letter differs.
func (e *environment) choose(slot string) ([]byte, error) {
	line := []byte("slot=" + slot + "\n")
	var text []byte
	if slotLine.Match(e.text) {
		text = slotLine.ReplaceAll(e.text, line)
	} else {
		text = slices.Concat([]byte(environmentHead), line, e.text[len(environmentHead):])
	}
	// The filling is what follows the last line.
	text = bytes.TrimRight(text, "#")
	if len(text) > environmentBytes {
		return nil, errors.New("GRUB's environment on the boot partition is full")
	}
	return append(text, bytes.Repeat([]byte("#"), environmentBytes-len(text))...), nil
}

// writeEnvironment puts a block in the place of another one; durable when it returns.
func writeEnvironment(esp *os.File, boot *fat, place []int64, text []byte) error {
	for _, at := range place {
		part := text[:min(int64(len(text)), boot.clusterBytes)]
		if _, err := esp.WriteAt(part, at); err != nil {
			return err
		}
		text = text[len(part):]
	}
	return esp.Sync()
}

// ActivateSystem implements Host: on every disk that the machine may start from, or on none.
func (l *Host) ActivateSystem(ctx context.Context, _ []host.System, name string) error {
	nodes, err := l.bootPartitions(ctx)
	if err != nil {
		return err
	}
	return chooseSlot(nodes, strings.ToLower(name))
}

func chooseSlot(nodes []string, slot string) (err error) {
	var open []*os.File
	defer func() {
		for _, esp := range open {
			_ = esp.Close() // what was written is durable by now
		}
	}()
	var undo []func() error
	defer func() {
		if err == nil {
			return
		}
		for _, back := range undo {
			if failed := back(); failed != nil {
				err = errors.Join(err, fmt.Errorf("and what had been changed could not be put back, so the system disks now start different systems: %w", failed))
			}
		}
	}()
	for _, node := range nodes {
		esp, err := os.OpenFile(node, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		open = append(open, esp)
		boot, err := openFAT(esp)
		if err != nil {
			return fmt.Errorf("the boot partition %s: %w", node, err)
		}
		before, err := readEnvironment(boot)
		if err != nil {
			return fmt.Errorf("the boot partition %s: %w", node, err)
		}
		text, err := before.choose(slot)
		if err != nil {
			return fmt.Errorf("the boot partition %s: %w", node, err)
		}
		undo = append(undo, func() error { return writeEnvironment(esp, boot, before.place, before.text) })
		if err := writeEnvironment(esp, boot, before.place, text); err != nil {
			return fmt.Errorf("the boot partition %s: %w", node, err)
		}
	}
	return nil
}

// bootPartitions are the EFI system partitions of all disks that the machine may start from: those with a side of the
// system pool that is there. The one it has started from is the last.
func (l *Host) bootPartitions(ctx context.Context) ([]string, error) {
	leaves, err := host.SystemLeaves(ctx)
	if err != nil {
		return nil, err
	}
	disks := []string{}
	for _, leaf := range leaves {
		device, err := filepath.EvalSymlinks(leaf)
		if err != nil {
			continue // a side that is gone
		}
		folder, err := filepath.EvalSymlinks(filepath.Join("/sys/class/block", filepath.Base(device)))
		if err != nil {
			return nil, err
		}
		if disk := filepath.Base(filepath.Dir(folder)); disk != l.SystemDisk {
			disks = append(disks, disk)
		}
	}
	var nodes []string
	for _, disk := range append(disks, l.SystemDisk) {
		table, err := l.systemTable(ctx, disk)
		if err != nil {
			return nil, err
		}
		nodes = append(nodes, table[partESP].Node)
	}
	return nodes, nil
}
