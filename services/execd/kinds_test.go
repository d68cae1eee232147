package execd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/execd/host"
	"cistern/services/execd/host/illumos"
	"cistern/services/platform/illumos/commands/fake"
)

// kind is a kind of machine that execd runs on. What it does well is tested on each.
type kind struct {
	name string
	// Of disks: their paths, how zpool names one of a pool, and how smartctl the first.
	a, b, c, d, leaf, raw string
	unmounted             string // of `zfs create` and others
	options               string // of `zpool create`
	compressed            string // a value that this system's ZFS has
	host                  func() *fakeHost
	// folder makes a folder whose bin is first on the PATH, and what puts a script there.
	folder func(t *testing.T) (folder string, put func(name, script string))
}

var onLinux = kind{
	name: "linux", a: "/dev/disk/by-id/a", b: "/dev/disk/by-id/b", c: "/dev/disk/by-id/c", d: "/dev/disk/by-id/d",
	leaf: "/dev/disk/by-id/old-part1", raw: "/dev/sda", unmounted: "-u ", compressed: "zstd-3",
	host: func() *fakeHost {
		return &fakeHost{unmountedOptions: []string{"-u"}, zfs: host.ZFS{Zstd: true, Relatime: true, LargestRecord: 16 << 20}, events: []string{"zpool", "events", "-f", "-H"}}
	},
	folder: func(t *testing.T) (string, func(name, script string)) {
		t.Helper()
		folder := t.TempDir()
		if err := os.Mkdir(filepath.Join(folder, "bin"), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", filepath.Join(folder, "bin")+":"+os.Getenv("PATH"))
		return folder, func(name, script string) {
			if err := os.WriteFile(filepath.Join(folder, "bin", name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
				t.Fatal(err)
			}
		}
	},
}

// Its programs take what those of illumos take from a process with execd's privileges, and nothing else.
var onIllumos = kind{
	name: "illumos", a: "/dev/dsk/c2t0d0", b: "/dev/dsk/c2t1d0", c: "/dev/dsk/c2t2d0", d: "/dev/dsk/c2t3d0",
	leaf: "/dev/dsk/c2t4d0s0", raw: "/dev/rdsk/c2t0d0", compressed: "gzip-9",
	options: "-o autotrim=on -O aclinherit=passthrough-x ",
	host: func() *fakeHost {
		real := &illumos.Host{}
		return &fakeHost{unmountedOptions: real.UnmountedOptions(), zfs: real.ZFS(), events: real.EventsCommand(), isLeaf: real.IsLeaf, poolOptions: real.PoolOptions()}
	},
	folder: func(t *testing.T) (string, func(name, script string)) {
		t.Helper()
		credential, err := fake.Credential("../../smf/manifest/execd.xml")
		if err != nil {
			t.Fatal(err)
		}
		m := fake.New(t, credential)
		return m.Root, func(name, script string) { m.Program("bin/"+name, script) }
	},
}

// disks are the disks of the machine, with their devices.
func (k kind) disks() map[string]string {
	if k.name == "illumos" {
		return map[string]string{k.a: k.a, k.b: k.b, k.c: k.c, k.d: k.d}
	}
	return map[string]string{k.a: "/dev/sda", k.b: "/dev/sdb", k.c: "/dev/sdc", k.d: "/dev/sdd"}
}

// two are the words for a pool of two disks.
func (k kind) two() string {
	return strings.NewReplacer("/dev/disk/by-id/a", k.a, "/dev/disk/by-id/b", k.b).Replace(two)
}

// onEach runs a test on each kind of machine.
func onEach(t *testing.T, test func(t *testing.T, k kind)) {
	t.Helper()
	for _, k := range []kind{onLinux, onIllumos} {
		t.Run(k.name, func(t *testing.T) { test(t, k) })
	}
}

// program puts a command into the bench's folder, in the place of one that is there. Each call is noted in the file ran.
func (b *bench) program(name, script string) {
	b.t.Helper()
	b.put(name, "echo \"${0##*/} $*\" >>'"+b.state+"/ran'\n"+script+"\n")
}
