package execd

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/execd/host"
	"cistern/services/execd/host/illumos"
)

// illumos' zfs mounts what it has made. That it could not is said, and what was made stays, with its key.
func TestMadeButNotMounted(t *testing.T) {
	const said = `[ "$1" != create ] || { echo "cannot mount '/srv/a': directory is not empty" >&2
echo "filesystem successfully created, but not mounted" >&2; exit 1; }
`
	b := onIllumos.start(t, absent, said+plain)
	b.want("dataset.create", `{"name":"tank/a","kind":"filesystem","encryption":{"format":"keyFile"}}`, 200, "")
	if keys, _ := filepath.Glob(filepath.Join(b.state, "keys", "*.key")); len(keys) != 1 {
		t.Errorf("the keys of a dataset that was made: %v", keys)
	}
	if did := strings.Join(b.host.did, ", "); did != "mount tank/a" {
		t.Errorf("did %s", did)
	}
	failed := onIllumos.start(t, absent, "[ \"$1\" != create ] || { echo 'out of space' >&2; exit 1; }\n"+plain)
	failed.want("dataset.create", `{"name":"tank/a","kind":"filesystem","encryption":{"format":"keyFile"}}`, 409, "out_of_space")
	if keys, _ := os.ReadDir(filepath.Join(failed.state, "keys")); len(keys) != 0 {
		t.Errorf("a key of nothing: %v", keys)
	}
}

// What illumos' ZFS has not is refused with words, before anything is run (zfs(8) of November 2023).
func TestWhatIllumosZFSHasNot(t *testing.T) {
	b := onIllumos.start(t, absent, plain)
	b.host.disks = map[string]string{"/dev/disk/by-id/a": "/dev/sda", "/dev/disk/by-id/b": "/dev/sdb"}
	for body, says := range map[string]string{
		`"compression":"zstd"`:        "has no zstd",
		`"compression":"zstd-19"`:     "has no zstd",
		`"compression":"zstd-fast-1"`: "has no zstd",
		`"recordsize":"2097152"`:      "records of 1048576 bytes at most",
		`"relatime":"on"`:             "has no property 'relatime'",
	} {
		for verb, whole := range map[string]string{
			"dataset.create": `{"name":"tank/a","kind":"filesystem","properties":{` + body + `}}`,
			"dataset.set":    `{"name":"tank/a","properties":{` + body + `}}`,
			"snapshot.clone": `{"snapshot":"tank/a@s1","name":"tank/b","properties":{` + body + `}}`,
		} {
			if status, code, text := b.answer(verb, whole); status != 400 || code != "invalid_request" || !strings.Contains(text, says) {
				t.Errorf("%s %s: %d %s", verb, body, status, text)
			}
		}
	}
	if status, _, text := b.answer("dataset.inherit", `{"name":"tank/a","properties":["relatime"]}`); status != 400 || !strings.Contains(text, "has no property 'relatime'") {
		t.Errorf("%d %s", status, text)
	}
	if status, _, text := b.answer("pool.create", strings.Replace(two, "lz4", "zstd", 1)); status != 400 || !strings.Contains(text, "off, lz4, gzip, lzjb, zle") {
		t.Errorf("%d %s", status, text)
	}
	for _, subcommand := range []string{"create", "set", "clone", "inherit"} {
		b.notRan("zfs " + subcommand)
	}
	b.notRan("zpool create")
	b.want("dataset.set", `{"name":"tank/a","properties":{"compression":"gzip-9","recordsize":"1048576","atime":"off"}}`, 200, "")
	b.want("pool.create", two, 200, "")

	// There is no 'zpool events' to follow.
	if status, code, text := b.answer("pool.events", `{}`); status != 409 || code != "conflict" || !strings.Contains(text, "tells no events") {
		t.Errorf("%d %s", status, text)
	}
	b.notRan("zpool events")
}

// The leaves are printed without /dev/dsk/ and with the slice of the boot disk's label (zpool_vdev_name of libzfs_pool.c), and
// the management daemon names the path of what it read from zpool status.
func TestASideOfIllumosSystemPoolIsDetached(t *testing.T) {
	const sides = `[ "$1" != list ] || printf 'rpool\n\tmirror\n\tc1t0d0s1\n\tc1t1d0s1\n'`
	for _, device := range []string{"/dev/dsk/c1t1d0s1", "/dev/dsk/c1t1d0", "c1t1d0s1", "c1t1d0"} {
		b := start(t, sides, "")
		b.host.isLeaf = (&illumos.Host{}).IsLeaf
		b.want("system.detach", `{"device":"`+device+`"}`, 200, "")
		b.ran("zpool detach " + host.SystemPool + " c1t1d0s1")
	}
	for _, device := range []string{"/dev/dsk/c1t1d0s0", "/dev/dsk/c1t1", "/dev/dsk/c11t1d0", "/dev/dsk/", ""} {
		b := start(t, sides, "")
		b.host.isLeaf = (&illumos.Host{}).IsLeaf
		b.want("system.detach", `{"device":"`+device+`"}`, 400, "invalid_request")
		b.notRan("zpool detach")
	}
}

// changelist_postfix of libzfs mounts again what zfs set and rename moved, before anybody else can; that it is there is no failure.
func TestWhatZFSHasMountedMeanwhileIsThere(t *testing.T) {
	start(t, absent, "[ \"$1\" != mount ] || { echo \"cannot mount '$2': filesystem already mounted\" >&2; exit 1; }\n")
	s := &Server{Host: &illumos.Host{}}
	if err := s.back(context.Background(), []string{"tank/a", "tank/a/b"}); err != nil {
		t.Error(err)
	}
	start(t, absent, "[ \"$1\" != mount ] || { echo \"cannot mount '$2': directory is not empty\" >&2; exit 1; }\n")
	if err := s.back(context.Background(), []string{"tank/a"}); err == nil || !strings.Contains(err.Error(), "directory is not empty") {
		t.Errorf("%v", err)
	}
}

// What zpool create of illumos says of a disk that it does not take: make_leaf_vdev of usr/src/cmd/zpool/zpool_vdev.c, and the words of
// dm_get_usage_string (usr/src/lib/libdiskmgt/common/entry.c). A warning that it could not check is no reason.
func TestWhatIllumosSaysOfADiskInUse(t *testing.T) {
	const repair = "invalid vdev specification\nthe following errors must be manually repaired:\n"
	const override = "invalid vdev specification\nuse '-f' to override the following errors:\n"
	for said, want := range map[string]string{
		"cannot open '/dev/dsk/c2t1d0': No such file or directory":                                                             "disk_missing",
		"cannot open 'c2t1d0': no such device in /dev/dsk\nmust be a full path or shorthand device name":                       "disk_missing",
		repair + "/dev/dsk/c2t1d0s1 is currently used by swap. Please see swap(8).":                                            "disk_in_use",
		repair + "/dev/dsk/c2t1d0s0 is currently mounted on /mnt. Please see umount(8).":                                       "disk_in_use",
		repair + "/dev/dsk/c2t1d0s0 is normally mounted on /old according to /etc/vfstab. Please remove this entry to use it.": "disk_in_use",
		repair + "/dev/dsk/c2t1d0s0 is reserved as a hot spare for ZFS pool depot.  Please see zpool(8).":                      "disk_in_use",
		repair + "/dev/dsk/c2t1d0s0 is in use as a cache device for ZFS pool depot.  Please see zpool(8).":                     "disk_in_use",
		repair + "/dev/dsk/c2t1d0s1 is in use by dump. Please see dumpadm(8).":                                                 "disk_in_use",
		repair + "/dev/dsk/c2t1d0s0 is part of active ZFS pool depot. Please see zpool(8).":                                    "disk_in_use",
		override + "/dev/dsk/c2t1d0s0 contains a ufs filesystem.":                                                              "disk_in_use",
		"warning: device in use checking failed: Invalid argument\ncannot create 'tank': one or more devices is c2t1d0":        "command_failed",
		"warning: device in use checking failed: Invalid argument\ncannot open '/dev/dsk/c2t1d0': No such file or directory":   "disk_missing",
		"cannot create 'tank': I/O error": "command_failed",
	} {
		b := start(t, `case $1 in list) exit 1 ;; create) echo "`+said+`" >&2; exit 1 ;; esac`, "")
		b.host.disks = map[string]string{"/dev/dsk/c2t0d0": "/dev/dsk/c2t0d0", "/dev/dsk/c2t1d0": "/dev/dsk/c2t1d0"}
		const body = `{"name":"tank","vdevs":[{"type":"mirror","disks":["/dev/dsk/c2t0d0","/dev/dsk/c2t1d0"]}],"compression":"lz4","ashift":12}`
		_, code, text := b.answer("pool.create", body)
		if code != want || want != "command_failed" && !strings.Contains(text, "The disk c2t1d0 ") {
			t.Errorf("%s: %s, want %s: %s", said, code, want, text)
		}
	}
}
