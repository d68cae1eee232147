package illumos

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"cistern/services/execd/host/tunables"
)

func TestIllumosIsTunedFromItsNextStart(t *testing.T) {
	machine, fakes := withFakes(t)
	fakes.Program("bin/kstat", `case $2 in
zfs:0:arcstats) printf 'zfs:0:arcstats:c_max\t3221225472\nzfs:0:arcstats:c_min\t67108864\nzfs:0:arcstats:class\tmisc\n' ;;
unix:0:system_pages) printf 'unix:0:system_pages:class\tpages\nunix:0:system_pages:physmem\t1048576\n' ;;
unix:0:system_misc) printf 'unix:0:system_misc:boot_time\t1795287654\nunix:0:system_misc:class\tmisc\n' ;;
esac`)
	ctx := context.Background()
	now, err := machine.ReadTunables(ctx)
	if want := map[string]int64{tunables.ARCMaximum: 3 << 30, tunables.ARCMinimum: 64 << 20}; err != nil || !reflect.DeepEqual(now, want) {
		t.Errorf("%v %v", now, err)
	}
	if memory, err := machine.Memory(); memory != 1048576*int64(os.Getpagesize()) || err != nil {
		t.Errorf("%d %v", memory, err)
	}
	if boot, err := machine.BootID(); boot != "1795287654" || err != nil {
		t.Errorf("%q %v", boot, err)
	}
	names, atStart := machine.Tunables()
	if !atStart || len(names) != 4 {
		t.Errorf("%v %v", names, atStart)
	}
	file := filepath.Join(machine.Root, "etc/system.d/cistern")
	if err := machine.LoadTunables(ctx, map[string]int64{tunables.GroupSeconds: 10, tunables.ARCMaximum: 1 << 30}, nil); err != nil {
		t.Fatal(err)
	}
	if text, _ := os.ReadFile(file); string(text) != "set zfs:zfs_arc_max = 1073741824\nset zfs:zfs_txg_timeout = 10\n" {
		t.Errorf("%s", text)
	}
	// Nothing is set any more: the system decides again.
	if err := machine.LoadTunables(ctx, nil, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
	if err := machine.LoadTunables(ctx, nil, nil); err != nil {
		t.Error(err)
	}
}
