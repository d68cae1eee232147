package illumos

// The OmniOS appliance: SMF, diskinfo, illumos' ZFS. Written after the manual pages; tested on Linux with programs that
// print what theirs print. Nothing here has run on illumos yet (docs/OMNIOS.md).
//
// execd is in the machine's one mount namespace, so what it mounts everybody sees; and the methods of cistern/pools and
// cistern/identity are run as programs, because svcadm refresh does not wait for them.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// Host is the host on OmniOS. Root is put before the paths of files and devices; the tests run it in a folder.
type Host struct {
	Root string
}

// rootPool is the pool that OmniOS, and with it the appliance, is installed on.
const rootPool = "rpool"

// ImportOptions implements Host: zpool looks in /dev/dsk by itself.
func (i *Host) ImportOptions() []string { return nil }

// Faults implements Host: fmadm looks at the machine's topology, which takes seconds where there are many shelves.
func (i *Host) Faults(ctx context.Context) (string, error) {
	said, err := command.Run(ctx, 45*time.Second, 1<<20, "fmadm", "faulty")
	return string(said.Stdout), err
}

// Inventory implements Host.
func (i *Host) Inventory(ctx context.Context) (string, error) {
	said, err := command.Run(ctx, 20*time.Second, 1<<20, "smbios")
	return string(said.Stdout), err
}

// ControllerInterface implements Host: the device of the ipmi driver, which speaks as Linux' does, or of the older bmc.
func (i *Host) ControllerInterface() string {
	if _, err := os.Stat(filepath.Join(i.Root, "/dev/ipmi0")); err == nil {
		return "open"
	}
	if _, err := os.Stat(filepath.Join(i.Root, "/dev/bmc")); err == nil {
		return "bmc"
	}
	return ""
}

// SettleDevices implements Host.
func (i *Host) SettleDevices(ctx context.Context) {
	_, _ = command.Run(ctx, time.Minute, 4<<10, "devfsadm", "-c", "disk") // whoever waited finds out
}

// EventsCommand implements Host: illumos' zpool has no events; its fault manager takes them up.
func (i *Host) EventsCommand() []string { return nil }

// PoolOptions implements Host.
func (i *Host) PoolOptions() []string {
	return []string{"-o", "autotrim=on", "-O", "aclinherit=passthrough-x"}
}

// method runs an SMF method of Cistern's; what it says goes into the error.
func (i *Host) method(ctx context.Context, name string) error {
	_, err := command.Run(ctx, 5*time.Minute, 64<<10, i.Root+"/lib/svc/method/"+name, "refresh")
	return err
}

// MountPools implements Host.
func (i *Host) MountPools(ctx context.Context) error { return i.method(ctx, "cistern-pools") }

// ApplyIdentity implements Host.
func (i *Host) ApplyIdentity(ctx context.Context) error { return i.method(ctx, "cistern-identity") }

// mounts are what is mounted, and where: /etc/mnttab, tab-separated special file, mount point, type, options, time.
func (i *Host) mounts() (list [][2]string, err error) {
	text, err := os.ReadFile(i.Root + "/etc/mnttab")
	for line := range strings.Lines(string(text)) {
		if f := strings.Split(line, "\t"); len(f) > 1 {
			list = append(list, [2]string{f[0], f[1]})
		}
	}
	return list, err
}

// Mounted implements Host.
func (i *Host) Mounted(path string) bool {
	mounts, _ := i.mounts()
	return slices.ContainsFunc(mounts, func(m [2]string) bool { return m[1] == path })
}

// environments reads beadm list -H: a line each of name, uuid, when it is active, mount point, bytes, policy and when it
// was created, with semicolons between. ZFS has none in a name, but a mount point may.
func environments(text string) ([]host.System, error) {
	var systems []host.System
	once := false
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ";")
		if len(f) < 7 || f[0] == "" {
			return nil, fmt.Errorf("beadm printed a line that cannot be read: %.200q", line)
		}
		active := f[2]
		one := host.System{Name: f[0], Running: strings.Contains(active, "N"), Starts: host.StartsNot}
		switch {
		case strings.Contains(active, "T") && !strings.Contains(active, "R"):
			one.Starts, once = host.StartsOnce, true
		case strings.Contains(active, "R"):
			one.Starts = host.StartsNext
		}
		switch {
		case strings.Contains(active, "!"):
			one.Obstacle = "beadm says that it is not bootable."
		case strings.ContainsAny(active, "xb"):
			one.Obstacle = "It belongs to a boot environment of the global zone that is not active."
		}
		if bytes, err := strconv.ParseInt(f[len(f)-3], 10, 64); err == nil && bytes >= 0 {
			one.Bytes = &bytes
		}
		if seconds, err := strconv.ParseInt(f[len(f)-1], 10, 64); err == nil && seconds > 0 {
			created := seconds * 1000
			one.CreatedMs = &created
		}
		systems = append(systems, one)
	}
	for i := range systems {
		if once && systems[i].Starts == host.StartsNext {
			systems[i].Starts = host.StartsLater
		}
	}
	return systems, nil
}

// Systems implements Host.
func (i *Host) Systems(ctx context.Context) ([]host.System, error) {
	said, err := command.Run(ctx, time.Minute, 1<<20, "beadm", "list", "-H")
	if err != nil {
		return nil, err
	}
	systems, err := environments(string(said.Stdout))
	for at := range systems {
		if !systems[at].Running {
			continue
		}
		// Another environment's files are not looked at: it would have to be mounted.
		text, _ := os.ReadFile(i.Root + "/opt/cistern/version")
		systems[at].Version = host.VersionIn(text)
	}
	return systems, err
}

// ActivateSystem implements Host. A system that was to start once is taken back after that: until then nothing has changed
// for the next time.
func (i *Host) ActivateSystem(ctx context.Context, systems []host.System, name string) error {
	// It writes the boot loader again if the other environment's is another one.
	const patience = 5 * time.Minute
	for _, one := range systems {
		if one.Name != name || one.Starts == host.StartsLater {
			continue
		}
		if _, err := command.Run(ctx, patience, 64<<10, "beadm", "activate", "--", name); err != nil {
			return err
		}
	}
	for _, one := range systems {
		if one.Starts != host.StartsOnce {
			continue
		}
		if _, err := command.Run(ctx, patience, 64<<10, "beadm", "activate", "-T", "--", one.Name); err != nil {
			return err
		}
	}
	return nil
}

// ZFS implements DatasetHost, as zfs(8) of November 2023 has it.
func (i *Host) ZFS() host.ZFS { return host.ZFS{LargestRecord: 1 << 20} }

// UnmountedOptions implements DatasetHost: illumos has one view of the mounts, and its zfs no -u for create, rename and set.
func (i *Host) UnmountedOptions() []string { return nil }

// MountDataset implements DatasetHost. zfs mounts by itself what it has made or given another mount point.
func (i *Host) MountDataset(ctx context.Context, dataset string) error {
	_, err := command.Run(ctx, 3*time.Minute, 64<<10, "zfs", "mount", dataset)
	if failed := (*command.Error)(nil); errors.As(err, &failed) && strings.Contains(failed.Said, "filesystem already mounted") {
		return nil
	}
	return err
}

// UnmountDataset implements DatasetHost.
func (i *Host) UnmountDataset(ctx context.Context, dataset string) error {
	_, err := command.Run(ctx, 3*time.Minute, 64<<10, "zfs", "unmount", dataset)
	return err
}

// OpenSnapshot implements DatasetHost. mount takes no snapshot here; below its dataset's mount point each one is found, also
// with snapdir=hidden: ZFS mounts it there when it is looked up, read-only, and unmounts it with its dataset.
func (i *Host) OpenSnapshot(_ context.Context, snapshot string) (*os.Root, func(), error) {
	dataset, name, _ := strings.Cut(snapshot, "@")
	mounts, err := i.mounts()
	if err != nil {
		return nil, nil, err
	}
	at := slices.IndexFunc(mounts, func(m [2]string) bool { return m[0] == dataset })
	if at < 0 {
		return nil, nil, fmt.Errorf("'%s' is not mounted, and its snapshots are seen only below the place where it is: mount it first", dataset)
	}
	top, err := openPlace(i.Root, mounts[at][1])
	if err != nil {
		return nil, nil, err
	}
	defer top.Close()
	files, err := top.OpenRoot(".zfs/snapshot/" + name)
	if err != nil {
		return nil, nil, err
	}
	return files, func() { _ = files.Close() }, nil
}

// openPlace opens a folder by its path below root, which must lead through folders alone: who may write to one of them could
// put a link into another's files there.
func openPlace(root, path string) (*os.Root, error) {
	if root == "" {
		root = "/"
	}
	at, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		seen, err := at.Lstat(name)
		if err == nil && !seen.IsDir() {
			err = fmt.Errorf("'%s' of the path '%s' is no folder", name, path)
		}
		var next *os.Root
		if err == nil {
			next, err = at.OpenRoot(name)
		}
		_ = at.Close()
		if err != nil {
			return nil, err
		}
		at = next
		if opened, err := at.Stat("."); err != nil || !os.SameFile(seen, opened) {
			_ = at.Close()
			return nil, errors.Join(err, fmt.Errorf("'%s' of the path '%s' was changed meanwhile", name, path))
		}
	}
	return at, nil
}

// VolumePath implements DatasetHost.
func (i *Host) VolumePath(dataset string) string { return "/dev/zvol/dsk/" + dataset }
