// Package install puts Cistern from the medium that the machine was started from onto one disk, or onto two that mirror
// each other.
//
// A disk is written as a whole, by its places and not by partitions that the kernel would have to notice first; so a plain
// file does as well. Until all is written and read back, the partition table has the type "Linux data" and the name
// "cistern-unfinished" for everything and the first sector no code: a power cut leaves a disk that nothing starts from and that
// says what it is. One write of the table makes it a system disk.
package install

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"cistern/services/platform/command"
	"cistern/services/platform/squashfs"
)

// Medium is what is installed from.
type Medium struct {
	// Files is the folder that the medium's EFI and cistern folders are in.
	Files string
	// System is the squashfs: a file, or the device that it lies on.
	System string
}

// bootCode is how much of GRUB's first stage goes to the first sector; the old partition table follows.
const bootCode = 440

// Step is what happens to a disk now, and how much of it is done, 0 to 1.
type Step struct {
	Disk string
	What string
	Done float64
}

// target is a disk that is being written.
type target struct {
	Disk
	file *os.File
}

// at is where a partition begins, in bytes.
func at(number int) int64 { return parts()[number-1].start * sector }

// To installs onto the disks, each of which has been confirmed. The first boot makes the system pool on what is left of
// them: a mirror when there are two. The medium is read once, and both disks are written at the same time. tell is called by one
// goroutine at a time.
func To(ctx context.Context, medium Medium, disks []Disk, tell func(Step)) error {
	want, err := medium.check()
	if err != nil {
		return err
	}
	machine := make([]byte, 16)
	if _, err := rand.Read(machine); err != nil {
		return err
	}
	var telling sync.Mutex
	step := func(s Step) {
		telling.Lock()
		defer telling.Unlock()
		tell(s)
	}
	if err := medium.write(ctx, disks, want, step); err != nil {
		left := "it is not finished, and no machine starts from it"
		if len(disks) > 1 {
			left = "neither disk is finished, and no machine starts from them"
		}
		return fmt.Errorf("%w; %s", err, left)
	}
	for i, d := range disks {
		if err := medium.finish(ctx, d, guid(machine, i)); err != nil {
			return of(d, err)
		}
		step(Step{d.Name, "done", 1})
	}
	return nil
}

// of says which disk an error is about, and what can be done about one that the disk itself reports.
func of(d Disk, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, syscall.EIO) || strings.Contains(strings.ToLower(err.Error()), "input/output error") {
		return fmt.Errorf("the disk %s: %w: the disk or its cable is faulty; install to another one", d.Name, err)
	}
	return fmt.Errorf("the disk %s: %w", d.Name, err)
}

// guid is the GUID of the pool's partition on the machine's first or second system disk: all but its last digit is the
// machine's id (image/debian/files/usr/lib/cistern/system-pool). Random, as RFC 9562's version 4.
func guid(machine []byte, disk int) string {
	id := bytes.Clone(machine)
	id[6], id[8] = id[6]&0x0f|0x40, id[8]&0x3f|0x80
	text := hex.EncodeToString(id)
	text = fmt.Sprintf("%s%x", text[:31], disk)
	return strings.Join([]string{text[:8], text[8:12], text[12:16], text[16:20], text[20:]}, "-")
}

// files are copied to the EFI system partition of a disk; a medium has all of them.
var files = []string{"EFI/BOOT/BOOTX64.EFI", "EFI/BOOT/grubx64.efi", "EFI/BOOT/mmx64.efi", "EFI/debian/grub.cfg", "EFI/cistern/cistern.der", "cistern/grub.cfg", "cistern/a/vmlinuz", "cistern/a/initrd", "cistern/a/version", "cistern/a/image.cfg", "cistern/bios/boot.img", "cistern/bios/core.img"}

// check looks whether the medium has everything and can be read, and answers with the system's checksum.
func (m Medium) check() (string, error) {
	for _, name := range files {
		file, err := os.Open(filepath.Join(m.Files, name))
		if err != nil {
			return "", fmt.Errorf("the medium is not complete: %s is missing; write it again", name)
		}
		length, err := io.Copy(io.Discard, file)
		_ = file.Close()
		if err != nil {
			return "", unreadable(err)
		}
		if length == 0 {
			return "", fmt.Errorf("the medium is not complete: %s is missing; write it again", name)
		}
	}
	text, err := os.ReadFile(filepath.Join(m.Files, "cistern/a/image.cfg"))
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(text), "\n") // the rest is for people
	sum := strings.TrimPrefix(strings.TrimSpace(line), "set image=")
	if len(sum) != 64 {
		return "", fmt.Errorf("the medium is damaged: cistern/a/image.cfg should hold a checksum, and holds %.80q", text)
	}
	return sum, nil
}

// write does everything but the last write of the tables.
func (m Medium) write(ctx context.Context, disks []Disk, want string, tell func(Step)) error {
	var targets []target
	for _, d := range disks {
		tell(Step{d.Name, "partitioning", 0})
		if err := table(ctx, d.Path, script("", false), "--wipe", "always", "--wipe-partitions", "always"); err != nil {
			return of(d, err)
		}
		file, err := os.OpenFile(d.Path, os.O_RDWR, 0)
		if err != nil {
			return of(d, err)
		}
		defer file.Close()
		targets = append(targets, target{d, file})
	}
	if err := m.copySystem(ctx, targets, want, tell); err != nil {
		return err
	}
	failed := make([]error, len(targets))
	var all sync.WaitGroup
	for i, t := range targets {
		all.Go(func() { failed[i] = of(t.Disk, m.complete(ctx, t, want, tell)) })
	}
	all.Wait()
	return errors.Join(failed...)
}

// complete writes what belongs beside the system, and reads everything back.
func (m Medium) complete(ctx context.Context, t target, want string, tell func(Step)) error {
	// An empty slot, and a pool that was there before, must not be taken for something.
	for _, number := range []int{numberB, numberPool} {
		if _, err := t.file.WriteAt(make([]byte, mib), at(number)); err != nil {
			return err
		}
	}
	core, err := os.ReadFile(filepath.Join(m.Files, "cistern/bios/core.img"))
	if err != nil {
		return err
	}
	if len(core) > biosMiB*mib {
		return errors.New("the medium is damaged: cistern/bios/core.img is larger than its partition")
	}
	if _, err := t.file.WriteAt(core, at(numberBIOS)); err != nil {
		return err
	}
	tell(Step{t.Name, "writing the boot files", 0})
	if err := m.bootFiles(ctx, t.Path, at(numberESP)); err != nil {
		return err
	}
	if err := t.file.Sync(); err != nil {
		return fmt.Errorf("writing failed: %w", err)
	}
	tell(Step{t.Name, "reading it back", 0})
	return m.verify(ctx, t.file, want, t.Disk, tell)
}

// copySystem copies the squashfs to its slot on each disk; what was read must have the checksum that it was built with.
func (m Medium) copySystem(ctx context.Context, targets []target, want string, tell func(Step)) error {
	source, err := os.Open(m.System)
	if err != nil {
		return err
	}
	defer source.Close()
	length, err := squashfs.Length(source)
	if errors.Is(err, squashfs.ErrNone) {
		return errors.New("the medium is damaged: there is no system on it; write it again")
	} else if err != nil {
		return err
	}
	if length > slotMiB*mib {
		return fmt.Errorf("the system takes %d MiB, more than its slot of %d MiB", length/mib, slotMiB)
	}
	sum := sha256.New()
	writers := []io.Writer{sum}
	var names []string
	for _, t := range targets {
		writers = append(writers, diskWriter{t.Disk, io.NewOffsetWriter(t.file, at(numberA))})
		names = append(names, t.Name)
	}
	writer := bufio.NewWriterSize(io.MultiWriter(writers...), mib)
	if err := through(ctx, mediumReader{io.NewSectionReader(source, 0, length)}, writer, length, func(done float64) {
		tell(Step{strings.Join(names, " "), "writing the system", done})
	}); err != nil {
		return err
	}
	if err := writer.Flush(); err != nil {
		return err
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != want {
		return errors.New("the medium is damaged: the system on it has not the checksum that it was made with; write it again, or take another stick")
	}
	return nil
}

func unreadable(err error) error {
	return fmt.Errorf("the medium cannot be read: %w; write it again, or take another stick", err)
}

// mediumReader reads from the medium, and says so when that fails.
type mediumReader struct{ from io.Reader }

func (r mediumReader) Read(p []byte) (int, error) {
	n, err := r.from.Read(p)
	if err != nil && err != io.EOF {
		err = unreadable(err)
	}
	return n, err
}

// diskWriter writes to a disk, and says which one when that fails.
type diskWriter struct {
	disk Disk
	to   io.Writer
}

func (w diskWriter) Write(p []byte) (int, error) {
	n, err := w.to.Write(p)
	return n, of(w.disk, err)
}

// through copies length bytes, and says how far it is after each 16 MiB.
func through(ctx context.Context, from io.Reader, to io.Writer, length int64, tell func(done float64)) error {
	for done := int64(0); done < length; {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := io.CopyN(to, from, min(16*mib, length-done))
		done += n
		if err != nil {
			return fmt.Errorf("copying stopped after %d MiB: %w", done/mib, err)
		}
		tell(float64(done) / float64(length))
	}
	return nil
}

// bootFiles makes the EFI system partition, with what the medium has for a new machine: slot A starts.
func (m Medium) bootFiles(ctx context.Context, path string, at int64) error {
	fat := fmt.Sprintf("%s@@%d", path, at)
	run := func(argv ...string) error {
		_, err := command.Run(ctx, 10*time.Minute, 64<<10, argv...)
		return err
	}
	if err := run("mformat", "-i", fat, "-F", "-T", fmt.Sprint(espMiB*perMiB), "-h", "64", "-s", "32", "-v", "CISTERN", "::"); err != nil {
		return err
	}
	if err := run("mmd", "-i", fat, "::/EFI", "::/EFI/BOOT", "::/EFI/debian", "::/EFI/cistern", "::/cistern", "::/cistern/a", "::/cistern/b", "::/cistern/bios"); err != nil {
		return err
	}
	for _, name := range files {
		if err := run("mcopy", "-i", fat, filepath.Join(m.Files, name), "::/"+name); err != nil {
			return err
		}
	}
	_, err := command.RunInput(ctx, time.Minute, 64<<10, strings.NewReader(environment()), "mcopy", "-i", fat, "-", "::/cistern/grubenv")
	return err
}

// environment is GRUB's environment block: 1024 bytes, filled up with #.
func environment() string {
	const head = "# GRUB Environment Block\nslot=a\n"
	return head + strings.Repeat("#", 1024-len(head))
}

// verify reads back what was written, past the cache.
func (m Medium) verify(ctx context.Context, disk *os.File, want string, d Disk, tell func(Step)) error {
	forget(disk)
	system, esp := at(numberA), at(numberESP)
	length, err := squashfs.Length(io.NewSectionReader(disk, system, slotMiB*mib))
	if err != nil {
		return errors.New("what was written cannot be read back: the disk is faulty")
	}
	sum := sha256.New()
	if err := through(ctx, io.NewSectionReader(disk, system, length), sum, length, func(done float64) {
		tell(Step{d.Name, "reading it back", done})
	}); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != want {
		return errors.New("what was read back is not what was written: the disk or its cable is faulty")
	}
	for _, name := range files {
		said, err := command.Run(ctx, 10*time.Minute, 128<<20, "mcopy", "-i", fmt.Sprintf("%s@@%d", d.Path, esp), "::/"+name, "-")
		if err != nil {
			return err
		}
		original, err := os.ReadFile(filepath.Join(m.Files, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(said.Stdout, original) {
			return fmt.Errorf("%s was read back with another content: the disk or its cable is faulty", name)
		}
	}
	return nil
}

// finish makes a written disk one that starts: the code in its first sector, and then the table.
func (m Medium) finish(ctx context.Context, d Disk, pool string) error {
	disk, err := os.OpenFile(d.Path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer disk.Close()
	code, err := os.ReadFile(filepath.Join(m.Files, "cistern/bios/boot.img"))
	if err != nil {
		return err
	}
	first := make([]byte, sector)
	if _, err := disk.ReadAt(first, 0); err != nil {
		return err
	}
	copy(first[:bootCode], code)
	if _, err := disk.WriteAt(first, 0); err != nil {
		return err
	}
	if err := disk.Sync(); err != nil {
		return err
	}
	return table(ctx, d.Path, script(pool, true), "--wipe", "never", "--wipe-partitions", "never")
}

func table(ctx context.Context, path, script string, options ...string) error {
	argv := append(append([]string{"sfdisk", "--quiet"}, options...), path)
	_, err := command.RunInput(ctx, time.Minute, 64<<10, strings.NewReader(script), argv...)
	return err
}
