package illumos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/execd/host/tunables"
	"cistern/services/platform/command"
	"cistern/services/platform/kstat"
)

// systemFile is one of the fragments that bootadm assembles to what the kernel reads when it starts (build_etc_system_dir of
// cmd/boot/bootadm/bootadm.c, mod_read_system_file of uts/common/os/modsysfile.c).
const systemFile = "/etc/system.d/cistern"

// variables are those of the kernel's zfs module (arc.c, dsl_pool.c, vdev_queue.c). There is none for sockets and logs.
var variables = map[string]string{
	tunables.ARCMaximum: "zfs_arc_max", tunables.ARCMinimum: "zfs_arc_min",
	tunables.GroupSeconds: "zfs_txg_timeout", tunables.DiskWrites: "zfs_vdev_async_write_max_active",
}

// statistics are what the kernel counts of one kind, by name.
func statistics(ctx context.Context, module, name string) (map[string]float64, error) {
	said, err := command.Run(ctx, 10*time.Second, 64<<10, "kstat", "-p", module+":0:"+name)
	if err != nil {
		return nil, err
	}
	list, err := kstat.Parse(string(said.Stdout))
	if err != nil || len(list) != 1 {
		return nil, errors.Join(err, fmt.Errorf("kstat knows no %s:0:%s", module, name))
	}
	return list[0].Values, nil
}

// Memory implements Host.
func (i *Host) Memory() (int64, error) {
	pages, err := statistics(context.Background(), "unix", "system_pages")
	return int64(pages["physmem"]) * int64(os.Getpagesize()), err
}

// BootID implements Host.
func (i *Host) BootID() (string, error) {
	misc, err := statistics(context.Background(), "unix", "system_misc")
	return strconv.FormatInt(int64(misc["boot_time"]), 10), err
}

// Tunables implements Host.
func (i *Host) Tunables() (names []string, atStart bool) {
	return slices.Sorted(maps.Keys(variables)), true
}

// LoadTunables implements Host: from the next start on, before which init has bootadm make the boot archive anew (init.c,
// update_boot_archive). What is not named is as the system decides.
func (i *Host) LoadTunables(_ context.Context, values, _ map[string]int64) error {
	file := filepath.Join(i.Root, systemFile)
	var text strings.Builder
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		if value, ok := values[name]; ok {
			fmt.Fprintf(&text, "set zfs:%s = %d\n", variables[name], value)
		}
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if string(before) == text.String() {
		return nil
	}
	if text.Len() == 0 {
		err = os.Remove(file)
	} else if err = os.MkdirAll(filepath.Dir(file), 0o755); err == nil {
		// Names that begin with a dot are left out.
		next := filepath.Join(filepath.Dir(file), ".cistern.new")
		err = errors.Join(os.WriteFile(next, []byte(text.String()), 0o644), os.Rename(next, file))
	}
	return err
}

// ReadTunables implements Host: of the kernel's variables only the ARC's limits are counted anywhere.
func (i *Host) ReadTunables(ctx context.Context) (map[string]int64, error) {
	arc, err := statistics(ctx, "zfs", "arcstats")
	if err != nil {
		return nil, fmt.Errorf("the figures of the ARC cannot be read: %w", err)
	}
	return map[string]int64{tunables.ARCMaximum: int64(arc["c_max"]), tunables.ARCMinimum: int64(arc["c_min"])}, nil
}
