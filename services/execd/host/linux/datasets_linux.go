package linux

import (
	"context"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"cistern/services/execd/host"
)

// unitName escapes a dataset's name as systemd-escape does, for the instance of a template unit.
func unitName(dataset string) string {
	var b strings.Builder
	for i := 0; i < len(dataset); i++ {
		switch c := dataset[i]; {
		case c == '/':
			b.WriteByte('-')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == ':', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String()
}

// ZFS implements DatasetHost.
func (l *Host) ZFS() host.ZFS { return host.ZFS{Zstd: true, Relatime: true, LargestRecord: 16 << 20} }

// UnmountedOptions implements DatasetHost: -u of OpenZFS.
func (l *Host) UnmountedOptions() []string { return []string{"-u"} }

// MountDataset has systemd run 'zfs mount': what execd mounts itself stays inside its own sandbox.
func (l *Host) MountDataset(ctx context.Context, dataset string) error {
	return systemctl(ctx, "start", "cistern-mount@"+unitName(dataset)+".service")
}

func (l *Host) UnmountDataset(ctx context.Context, dataset string) error {
	return systemctl(ctx, "start", "cistern-unmount@"+unitName(dataset)+".service")
}

// OpenSnapshot mounts a snapshot on a directory of its own. The automounts below .zfs/snapshot are made in the
// machine's mount namespace and may not be seen in execd's; this mount is, is seen by nobody else, and goes with the
// process if that dies.
func (l *Host) OpenSnapshot(_ context.Context, snapshot string) (*os.Root, func(), error) {
	dir, err := os.MkdirTemp("", "snapshot-")
	if err != nil {
		return nil, nil, err
	}
	if err := unix.Mount(snapshot, dir, "zfs", unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NODEV|unix.MS_NOEXEC, ""); err != nil {
		_ = os.Remove(dir)
		return nil, nil, fmt.Errorf("mounting the snapshot %s: %w", snapshot, err)
	}
	away := func() {
		_ = unix.Unmount(dir, unix.MNT_DETACH)
		_ = os.Remove(dir)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		away()
		return nil, nil, err
	}
	return root, func() {
		_ = root.Close()
		away()
	}, nil
}

func (l *Host) VolumePath(dataset string) string { return "/dev/zvol/" + dataset }
