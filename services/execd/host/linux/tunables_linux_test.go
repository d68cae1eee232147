package linux

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/execd/host/tunables"
)

func TestLinuxIsTunedAtOnce(t *testing.T) {
	root := t.TempDir()
	before := tunableFiles
	t.Cleanup(func() { tunableFiles = before })
	tunableFiles = tunablePlaces{zfs: root + "/zfs", arc: root + "/arcstats", sysctl: root + "/core", journald: root + "/journald", bootID: root + "/boot_id"}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("arcstats", "9 1 0x01 147 39984 5236582334 9338746873\nname                            type data\nc                               4    1000\nc_min                           4    67108864\nc_max                           4    1073741824\n")
	put("zfs/zfs_arc_max", "0\n")
	put("zfs/zfs_arc_min", "0\n")
	put("zfs/zfs_txg_timeout", "5\n")
	put("zfs/zfs_vdev_async_write_max_active", "10\n")
	put("core/rmem_max", "67108864\n")
	put("boot_id", "7a2e\n")
	host := &Host{}
	ctx := context.Background()
	start, err := host.ReadTunables(ctx)
	if err != nil || start[tunables.ARCMaximum] != 1<<30 || start[tunables.ARCMinimum] != 64<<20 || start[tunables.GroupSeconds] != 5 || start[tunables.DiskWrites] != 10 || start[tunables.SocketBytes] != 64<<20 {
		t.Fatalf("%v %v", start, err)
	}
	if boot, err := host.BootID(); boot != "7a2e" || err != nil {
		t.Errorf("%q %v", boot, err)
	}
	if memory, err := host.Memory(); memory < 256<<20 || err != nil {
		t.Errorf("%d %v", memory, err)
	}
	is := func(name, want string) {
		t.Helper()
		if text, _ := os.ReadFile(filepath.Join(root, name)); strings.TrimSpace(string(text)) != want {
			t.Errorf("%s is %q, not %s", name, text, want)
		}
	}
	if err := host.LoadTunables(ctx, map[string]int64{tunables.ARCMaximum: 512 << 20, tunables.GroupSeconds: 9, tunables.SocketBytes: 1 << 20}, start); err != nil {
		t.Fatal(err)
	}
	is("zfs/zfs_arc_max", "536870912")
	is("zfs/zfs_txg_timeout", "9")
	is("core/rmem_max", "1048576")
	// What is not set is as it was when the system started.
	if err := host.LoadTunables(ctx, nil, start); err != nil {
		t.Fatal(err)
	}
	is("zfs/zfs_arc_max", "1073741824")
	is("zfs/zfs_txg_timeout", "5")
	is("core/rmem_max", "67108864")
	if err := os.RemoveAll(filepath.Join(root, "zfs")); err != nil {
		t.Fatal(err)
	}
	if err := host.LoadTunables(ctx, nil, start); err == nil || !strings.Contains(err.Error(), "zfs_txg_timeout does not take 5") {
		t.Errorf("%v", err)
	}
}
