package collect

// Which image the appliance runs from: the SHA-256 that the build wrote into the slot's image.cfg, and GRUB hands over
// (cistern.image=). On request also whether it still is what was built: all of it is read and hashed, which takes a second
// on hardware and minutes under emulation.

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"cistern/services/platform/squashfs"
)

// builtImage is what the boot loader said of the image, in proc (the folder /proc); empty when it said nothing.
func builtImage(proc string) (string, error) {
	cmdline, err := os.ReadFile(filepath.Join(proc, "cmdline"))
	if err != nil {
		return "", err
	}
	for _, word := range strings.Fields(string(cmdline)) {
		if built, ok := strings.CutPrefix(word, "cistern.image="); ok && len(built) == hex.EncodedLen(sha256.Size) {
			return built, nil
		}
	}
	return "", nil
}

func imageName(proc string) Step {
	return Step{Name: "image.txt", Category: "identity", Deadline: short, Limit: UsualLimit, Collect: func(_ context.Context, _ int64, w io.Writer) error {
		device, err := squashfsDevice(filepath.Join(proc, "1/mounts"))
		if err != nil {
			return err
		}
		built, err := builtImage(proc)
		if err == nil && built == "" {
			err = errors.New("the boot loader did not say what the image was when it was built")
		}
		if err == nil {
			fmt.Fprintf(w, "system image  %s\nas built      SHA-256 %s\nA bundle with the category \"image\" says whether it still is.\n", device, built)
		}
		return err
	}}
}

// systemImage looks into proc for the slot that is mounted, and compares.
func systemImage(proc string) Step {
	return Step{Name: "verified.txt", Category: "image", OnRequest: true, Deadline: 10 * time.Minute, Limit: UsualLimit, Collect: func(ctx context.Context, _ int64, w io.Writer) error {
		device, err := squashfsDevice(filepath.Join(proc, "1/mounts"))
		if err != nil {
			return err
		}
		length, sum, err := squashfsSum(ctx, device)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "system image  %s, %d bytes\non the disk   SHA-256 %s\n", device, length, sum)
		built, err := builtImage(proc)
		if err != nil {
			return err
		}
		if built == "" {
			return errors.New("the boot loader did not say what the image was when it was built; it has not been compared")
		}
		fmt.Fprintf(w, "as built      SHA-256 %s\n", built)
		if built != sum {
			return errors.New("the system image on the disk is not what was built: it is damaged, or was changed. Flash the appliance anew; the pools are kept")
		}
		fmt.Fprintln(w, "They are the same.")
		return nil
	}}
}

// squashfsDevice is the device of the first squashfs in a file like /proc/mounts.
func squashfsDevice(mounts string) (string, error) {
	content, err := os.ReadFile(mounts)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if fields := strings.Fields(line); len(fields) > 2 && fields[2] == "squashfs" {
			return fields[0], nil
		}
	}
	return "", errors.New("no system image is mounted")
}

// squashfsSum hashes a squashfs without what is behind it on its partition.
func squashfsSum(ctx context.Context, path string) (length int64, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	length, err = squashfs.Length(f)
	if errors.Is(err, squashfs.ErrNone) {
		return 0, "", fmt.Errorf("%s does not begin as a system image does", path)
	} else if err != nil {
		return 0, "", err
	}
	hash := sha256.New()
	buffer := make([]byte, 256<<10)
	for at := int64(0); at < length; {
		if ctx.Err() != nil {
			return 0, "", ctx.Err()
		}
		n, err := f.ReadAt(buffer[:min(int64(len(buffer)), length-at)], at)
		hash.Write(buffer[:n])
		at += int64(n)
		if err != nil && at < length {
			return 0, "", fmt.Errorf("%s cannot be read at %d: %w", path, at, err)
		}
	}
	return length, hex.EncodeToString(hash.Sum(nil)), nil
}
