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
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// Host is the host on OmniOS. Root is put before the paths of files and devices; the tests run it in a folder.
type Host struct {
	Root string
}

const dsk = "/dev/dsk/"

// rootPool is the pool that OmniOS, and with it the appliance, is installed on.
const rootPool = "rpool"

// illumosDisk is a whole disk's name: controller, target or world-wide name, unit.
var illumosDisk = regexp.MustCompile(`^c[0-9]{1,5}(t[0-9A-F]{1,32})?d[0-9]{1,5}$`)

// illumosSlice is what may follow it: a slice of a label, or a partition of fdisk's.
var illumosSlice = regexp.MustCompile(`^(s[0-9]{1,2}|p[0-4])?$`)

// Disks implements Host: diskinfo -Hpc, a line each of tab-separated type, disk, vendor, product, serial number, bytes, flags
// (faulty, locating, removable, solid state) and location. It looks into each disk, leaves out without a word those that its
// user may not open, and walks the machine's topology, which takes seconds where there are many shelves.
func (i *Host) Disks(ctx context.Context) ([]host.Disk, error) {
	said, err := command.Run(ctx, 30*time.Second, 4<<20, "diskinfo", "-Hpc")
	if err != nil {
		return nil, err
	}
	return readDisks(string(said.Stdout))
}

func readDisks(text string) (found []host.Disk, err error) {
	for line := range strings.Lines(text) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) < 8 || !illumosDisk.MatchString(f[1]) {
			return nil, fmt.Errorf("diskinfo printed a line that cannot be read: %.200q", line)
		}
		for at := range f {
			switch f[at] = strings.TrimSpace(f[at]); f[at] {
			case "-", "(null)", "-1,-1": // the last is a chassis and a slot that it did not find
				f[at] = ""
			}
		}
		one := host.Disk{Name: f[1], Type: f[0], Vendor: f[2], Product: f[3], Serial: f[4], Location: f[7]}
		if one.Bytes, err = strconv.ParseInt(f[5], 10, 64); err != nil || one.Bytes < 0 {
			return nil, fmt.Errorf("diskinfo printed a size that cannot be read: %.200q", line)
		}
		if flags := f[6]; len(flags) == 4 && flags[3] != '?' {
			solid := flags[3] == 'S'
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

// belongs says whether device, as another program names it, is this disk or a part of it.
func belongs(device, disk string) bool {
	rest, ok := strings.CutPrefix(device, dsk+disk)
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

func fmri(name string) string {
	if name == "nginx" {
		return "svc:/network/cistern/nginx:default"
	}
	return "svc:/application/cistern/" + name + ":default"
}

// Service implements Host.
func (i *Host) Service(ctx context.Context, name, action string) error {
	arguments := map[string][]string{
		// -s waits, as long as SMF itself does; -r also starts what it depends on.
		"start": {"enable", "-rs"}, "stop": {"disable", "-s"}, "restart": {"restart"}, "clear": {"clear"},
	}[action]
	if name == "execd" || name == "akd" {
		// The one that asks, or this process itself: our own end is not waited for.
		if arguments[len(arguments)-1] == "-rs" {
			arguments = []string{"enable", "-r"}
		} else if arguments[len(arguments)-1] == "-s" {
			arguments = []string{"disable"}
		}
	}
	_, err := command.Run(ctx, 3*time.Minute, 64<<10, append(append([]string{"svcadm"}, arguments...), fmri(name))...)
	return err
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

// Power implements Host: init's state 6 is a reboot, 5 is off.
func (i *Host) Power(ctx context.Context, action string) error {
	_, err := command.Run(ctx, 30*time.Second, 4<<10, "init", map[string]string{"reboot": "6", "off": "5"}[action])
	return err
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

// MountSnapshot implements DatasetHost. It is seen by everybody, in a folder that only root can enter.
func (i *Host) MountSnapshot(ctx context.Context, snapshot string) (string, func(), error) {
	dir, err := os.MkdirTemp("", "snapshot-") // mode 0700
	if err != nil {
		return "", nil, err
	}
	place := filepath.Join(dir, "files")
	if err := os.Mkdir(place, 0o700); err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(dir))
	}
	if _, err := command.Run(ctx, time.Minute, 64<<10, "mount", "-F", "zfs", "-o", "ro,nosuid,nodevices,noexec", snapshot, place); err != nil {
		return "", nil, errors.Join(fmt.Errorf("mounting the snapshot %s: %w", snapshot, err), os.Remove(place), os.Remove(dir))
	}
	return place, func() {
		if _, err := command.Run(context.Background(), time.Minute, 64<<10, "umount", "-f", place); err == nil {
			_ = os.Remove(place) // never RemoveAll: what is mounted would go with it
			_ = os.Remove(dir)
		}
	}, nil
}

// VolumePath implements DatasetHost.
func (i *Host) VolumePath(dataset string) string { return "/dev/zvol/dsk/" + dataset }
