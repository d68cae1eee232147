package linux

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"cistern/services/execd/host/tunables"
)

// tunablePlaces are where the system has them; folders of their own for the tests.
type tunablePlaces struct{ zfs, arc, sysctl, journald, bootID string }

var tunableFiles = tunablePlaces{
	zfs: "/sys/module/zfs/parameters", arc: "/proc/spl/kstat/zfs/arcstats", sysctl: "/proc/sys/net/core",
	journald: "/run/systemd/journald.conf.d", bootID: "/proc/sys/kernel/random/boot_id",
}

// zfsParameters are zfs(4)'s, which hold as soon as they are written.
var zfsParameters = map[string]string{
	tunables.ARCMaximum: "zfs_arc_max", tunables.ARCMinimum: "zfs_arc_min",
	tunables.GroupSeconds: "zfs_txg_timeout", tunables.DiskWrites: "zfs_vdev_async_write_max_active",
}

const journaldFile = "90-cistern-tunables.conf"

// Memory implements Host.
func (l *Host) Memory() (int64, error) {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0, err
	}
	return int64(info.Totalram) * int64(info.Unit), nil
}

// Tunables implements Host: all of them hold at once.
func (l *Host) Tunables() (names []string, atStart bool) {
	return append(slices.Sorted(maps.Keys(zfsParameters)), tunables.SocketBytes, tunables.LogBytes), false
}

// BootID implements Host.
func (l *Host) BootID() (string, error) {
	text, err := os.ReadFile(tunableFiles.bootID)
	return strings.TrimSpace(string(text)), err
}

// LoadTunables implements Host. What ZFS does not take is an error by its name.
func (l *Host) LoadTunables(ctx context.Context, values, defaults map[string]int64) error {
	var failed []error
	want := func(name string) (int64, bool) {
		if value, ok := values[name]; ok {
			return value, true
		}
		value, ok := defaults[name]
		return value, ok
	}
	// The most before the least, and after it where both go down: ZFS takes no least above the most (arc_tuning_update).
	order := []string{tunables.ARCMaximum, tunables.ARCMinimum, tunables.ARCMaximum, tunables.GroupSeconds, tunables.DiskWrites}
	for _, name := range order {
		if value, ok := want(name); ok {
			failed = append(failed, writeNumber(filepath.Join(tunableFiles.zfs, zfsParameters[name]), value))
		}
	}
	if value, ok := want(tunables.SocketBytes); ok {
		failed = append(failed, writeNumber(filepath.Join(tunableFiles.sysctl, "rmem_max"), value))
	}
	if err := errors.Join(failed...); err != nil {
		return err
	}
	return loadLogBytes(ctx, values[tunables.LogBytes])
}

// loadLogBytes has journald keep no more; 0: as it decides by itself (journald.conf(5), SystemMaxUse).
func loadLogBytes(ctx context.Context, bytes int64) error {
	file := filepath.Join(tunableFiles.journald, journaldFile)
	text := ""
	if bytes > 0 {
		text = fmt.Sprintf("# Written by Cistern; changes are lost.\n[Journal]\nSystemMaxUse=%d\nRuntimeMaxUse=%d\n", bytes, bytes)
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if string(before) == text {
		return nil
	}
	if text == "" {
		err = os.Remove(file)
	} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		err = errors.Join(os.WriteFile(file, []byte(text), 0o644), os.Chmod(file, 0o644))
	}
	if err != nil {
		return err
	}
	return systemctl(ctx, "restart", "systemd-journald.service")
}

func writeNumber(file string, value int64) error {
	now, err := readNumber(file)
	if err == nil && now == value {
		return nil
	}
	if err := os.WriteFile(file, []byte(strconv.FormatInt(value, 10)), 0o644); err != nil {
		return fmt.Errorf("%s does not take %d: %w", filepath.Base(file), value, err)
	}
	return nil
}

func readNumber(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}

// ReadTunables implements Host. Of the ARC it is what ZFS makes of its parameters: 0 leaves it to ZFS.
func (l *Host) ReadTunables(context.Context) (map[string]int64, error) {
	now := map[string]int64{}
	for _, name := range []string{tunables.GroupSeconds, tunables.DiskWrites} {
		value, err := readNumber(filepath.Join(tunableFiles.zfs, zfsParameters[name]))
		if err != nil {
			return nil, fmt.Errorf("the parameters of ZFS cannot be read: %w", err)
		}
		now[name] = value
	}
	text, err := os.ReadFile(tunableFiles.arc)
	if err != nil {
		return nil, fmt.Errorf("the figures of the ARC cannot be read: %w", err)
	}
	for line := range strings.Lines(string(text)) {
		// name, type, data
		f := strings.Fields(line)
		if len(f) != 3 {
			continue
		}
		for key, name := range map[string]string{"c_max": tunables.ARCMaximum, "c_min": tunables.ARCMinimum} {
			if f[0] != key {
				continue
			}
			if now[name], err = strconv.ParseInt(f[2], 10, 64); err != nil {
				return nil, fmt.Errorf("the figures of the ARC cannot be read: %w", err)
			}
		}
	}
	if now[tunables.SocketBytes], err = readNumber(filepath.Join(tunableFiles.sysctl, "rmem_max")); err != nil {
		return nil, fmt.Errorf("the limit of a socket cannot be read: %w", err)
	}
	return now, nil
}
