package collect

// Disks that somebody plugged in, and copying a finished bundle to one.

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"cistern/services/daemon/problem"
)

// Disk is one that was plugged in and can take a bundle.
type Disk struct {
	Device string `json:"device"` // sdb1: of /dev
	Title  string `json:"title"`
	Bytes  int64  `json:"bytes"`
}

// PluggedIn are the plugged-in disks and partitions, as the kernel lists them in sys (/sys). That one is a disk somebody
// plugged in, the kernel says by "removable", or by its being on a USB bus.
func PluggedIn(sys string) ([]Disk, error) {
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

// Disks mounts one disk at a time, in this process' own view of the file system.
type Disks struct {
	List  func() ([]Disk, error)
	Mount func(device, dir string) (unmount func() error, err error)
	Dir   string // where one is mounted

	mu sync.Mutex
}

// OfThisMachine are its disks, one of which is mounted at dir.
func OfThisMachine(dir string) *Disks {
	return &Disks{List: func() ([]Disk, error) { return PluggedIn("/sys") }, Mount: mount, Dir: dir}
}

var (
	errNoDisk   = errors.New("there is no such disk")
	errDiskBusy = errors.New("a disk is being written to")
)

// with mounts a disk, has it used, and unmounts it: what was written is on it then.
func (d *Disks) with(device string, use func(root *os.Root) error) error {
	if !d.mu.TryLock() {
		return errDiskBusy
	}
	defer d.mu.Unlock()
	list, err := d.List()
	if err != nil {
		return err
	}
	for _, one := range list {
		if one.Device != device {
			continue
		}
		if err := os.MkdirAll(d.Dir, 0o700); err != nil {
			return err
		}
		unmount, err := d.Mount("/dev/"+device, d.Dir)
		if err != nil {
			return fmt.Errorf("the disk %s could not be mounted: %w", device, err)
		}
		// Nothing on the disk leads out of it.
		root, err := os.OpenRoot(d.Dir)
		if err == nil {
			err = errors.Join(use(root), root.Close())
		}
		return errors.Join(err, unmount())
	}
	return errNoDisk
}

func diskProblem(w http.ResponseWriter, device string, err error) {
	switch {
	case err == nil:
		w.WriteHeader(http.StatusNoContent)
	case errors.Is(err, errNoDisk):
		problem.Write(w, http.StatusNotFound, "not_found", "There is no removable disk '"+device+"'.", "Plug it in again.")
	case errors.Is(err, errDiskBusy):
		problem.Write(w, http.StatusConflict, "conflict", "A disk is being written to.", "Wait until that is done.")
	default:
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The disk "+device+" cannot be written to: "+err.Error()+".", "Use another disk.")
	}
}

// tryDisk answers 204 when a file can be made on the disk.
func (s *Server) tryDisk(w http.ResponseWriter, r *http.Request) {
	device := r.PathValue("device")
	diskProblem(w, device, s.Disks.with(device, func(root *os.Root) error {
		const probe = ".cistern-probe"
		f, err := root.OpenFile(probe, os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		return errors.Join(f.Close(), root.Remove(probe))
	}))
}

var bundleName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.tar\.zst(\.age)?$`)

// copyToDisk writes a finished bundle; it has its name only when it is whole.
func (s *Server) copyToDisk(w http.ResponseWriter, r *http.Request) {
	device, name := r.PathValue("device"), r.PathValue("file")
	if !bundleName.MatchString(name) || r.ContentLength <= 0 {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "'"+name+"' is no bundle's name, or it has no length.", "")
		return
	}
	diskProblem(w, device, s.Disks.with(device, func(root *os.Root) error {
		next := name + ".new"
		f, err := root.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
		if err != nil {
			return err
		}
		n, err := io.Copy(f, r.Body)
		if err == nil && n != r.ContentLength {
			err = io.ErrUnexpectedEOF
		}
		err = errors.Join(err, f.Sync(), f.Close())
		if err == nil {
			err = root.Rename(next, name)
		}
		if err != nil {
			_ = root.Remove(next)
		}
		return err
	}))
}
