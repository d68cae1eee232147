package illumos

import (
	"bytes"
	"context"
	"errors"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/execd/host/hosttest"
	"cistern/services/platform/illumos/commands/fake"
)

// onIllumos is a host in a folder, with programs that take what OmniOS' take from a process with execd's privileges, print
// what those print, and note how they were called.
func onIllumos(t *testing.T) (machine *Host, calls func() string) {
	t.Helper()
	machine, fakes := withFakes(t)
	return machine, fakes.Calls
}

// withFakes is the same, for a test that has programs of its own.
func withFakes(t *testing.T) (*Host, *fake.Machine) {
	t.Helper()
	fakes := fake.New(t, "@../../../../smf/manifest/execd.xml")
	root, put, program := fakes.Root, fakes.Put, fakes.Program
	put("etc/mnttab", "rpool/ROOT/omnios\t/\tzfs\tdev=4410002\t1795287654\n/dev/dsk/c9t0d0s0\t/mnt/old disk\tufs\trw\t1\ntank/telemetry\t/srv/telemetry\tzfs\trw\t1\n", 0o644)
	program("bin/diskinfo", `case $1 in
-Hp)
  printf 'SCSI\tc1t0d0\tVBOX\tHARDDISK\t17179869184\tno\tno\n'
  printf 'SCSI\tc0t5000CCA01234ABCDd0\tHGST\tHUS\t1048576000\tno\tno\n'
  printf 'SCSI\tc2t1d0\tX\tY\t1048576000\tno\tno\nUSB\tc3t0d0\t-\t-\t0\tyes\tno\n'
  printf 'SCSI\tc4t0d0\tX\tY\t17179869184\tno\tno\n'
  printf 'SCSI\tc9t0d0\tX\tY\t1048576000\tno\tno\nSCSI\tc9t1d0p0\tX\tY\t1048576000\tno\tno\n'
  ;;
-HP) printf 'c1t0d0\tVBOX\tHARDDISK\tS1\t-\t-\t-\nc0t5000CCA01234ABCDd0\tHGST\tHUS\tS2\tno\tno\t[0] bay 1\n' ;;
esac`)
	program("bin/zpool", `[ "$1" = status ] || exit 0
cat <<'END'
  pool: rpool
 state: ONLINE
  scan: none requested
config:

        NAME                 STATE     READ WRITE CKSUM
        rpool                ONLINE       0     0     0
          c1t0d0s1           ONLINE       0     0     0

errors: No known data errors

  pool: tank
 state: DEGRADED
config:

        NAME                      STATE     READ WRITE CKSUM
        tank                      DEGRADED     0     0     0
          mirror-0                DEGRADED     0     0     0
            1234567890123456      UNAVAIL      0     0     0  was /dev/dsk/c2t1d0s0
            c2t10d0s0             ONLINE       0     0     0
        spares
          c0t5000CCA01234ABCDd0s0  AVAIL
END`)
	program("bin/swap", `printf 'swapfile             dev    swaplo   blocks     free\n/dev/dsk/c9t1d0s1    -  8 1 1\n'`)
	for _, name := range []string{"svcadm", "init", "zfs", "devfsadm"} {
		program("bin/"+name, "")
	}
	program("bin/fmadm", `[ ! -e '`+root+`/broken' ] || { echo 'fmadm: failed to connect to fmd' >&2; exit 1; }
echo 'TIME            EVENT-ID                              MSG-ID         SEVERITY'`)
	fakes.Method("lib/svc/method/cistern-pools", "")
	fakes.Method("lib/svc/method/cistern-identity", "echo 'cistern: the host name cannot be set' >&2; exit 96")
	return &Host{Root: root}, fakes
}

func TestDisksOfIllumos(t *testing.T) {
	machine, _ := onIllumos(t)
	for _, c := range []struct {
		path string
		min  int64
		code string // empty: it may be used
		says string
	}{
		{"/dev/dsk/c2t1d0", 0, "", ""}, // tank has lost it, and it may be used anew
		{"/dev/dsk/c1t0d0", 0, "disk_in_use", "runs from"},
		{"/dev/dsk/c0t5000CCA01234ABCDd0", 0, "disk_in_use", "the pool tank"},
		{"/dev/dsk/c9t0d0", 0, "disk_in_use", "the file system /mnt/old disk"},
		{"/dev/dsk/c9t1d0", 0, "disk_in_use", "swap"},
		{"/dev/dsk/c2t1d0", 2 << 30, "disk_too_small", "1000 MiB"},
		{"/dev/dsk/c3t0d0", 0, "disk_missing", "c3t0d0"}, // no medium in it
		{"/dev/dsk/c7t7d7", 0, "disk_missing", "c7t7d7"},
		{"/dev/dsk/c2t1d0s0", 0, "invalid_request", "whole disk"},
		{"/dev/dsk/../rdsk/c2t1d0", 0, "invalid_request", "whole disk"},
		{"c2t1d0", 0, "invalid_request", "whole disk"},
		{"/dev/dsk/-f", 0, "invalid_request", "whole disk"},
	} {
		device, err := machine.CheckDisk(c.path, c.min)
		var said problem.Document
		switch {
		case c.code == "" && (err != nil || device != c.path):
			t.Errorf("%s: %q %v", c.path, device, err)
		case c.code != "" && (!errors.As(err, &said) || said.Code != c.code || !strings.Contains(said.Detail, c.says)):
			t.Errorf("%s: %v", c.path, err)
		}
	}
}

// What diskinfo -Hp and -HP print to a user who may open the disks (enumerate_disks of usr/src/cmd/diskinfo/diskinfo.c, February
// 2025). The name is that of the disk's first link, of which a slice of one digit is taken off, and nothing else.
func TestDisksAreListedOnIllumos(t *testing.T) {
	var logged bytes.Buffer
	log.SetOutput(&logged)
	defer log.SetOutput(os.Stderr)
	listed, err := readDisks("SCSI\tc0t5000CCA05C68D505d0\tHGST\tHUS726T4TAL5204\t4000787030016\tno\tno\n"+
		"NVME\tc1t0d0\t-\tModel with blanks  \t512110190592\t-\tyes\n"+
		"(null)\tc2d0p0\t-\t-\t8589934592\t-\t-\n"+
		"SCSI\tc3t0d0s15\tgone\tgone\t0\tyes\tno\n"+
		"SCSI\tdiskette\tgone\tgone\t0\tyes\tno\n",
		"c0t5000CCA05C68D505d0\tHGST\tHUS726T4TAL5204\tV1G2ABCD\tno\tno\t[0] Slot 03\n"+
			"c1t0d0\t-\tModel with blanks  \t-\t-\t-\t-\n"+
			"c2d0p0\t-\t-\t-\t-\t-\tSLOT 1\n")
	if err != nil {
		t.Fatal(err)
	}
	hosttest.Recorded(t, "disks-illumos.json", map[string]any{"disks": listed})
	if !strings.Contains(logged.String(), `"diskette", which is no whole disk`) || strings.Count(logged.String(), "\n") != 1 {
		t.Error(logged.String())
	}
	for _, line := range []string{"diskinfo: unable to obtain topo handle\n", "SCSI\tc1t0d0\n", "SCSI\tc1t0d0\t-\t-\t1T\t-\t-\n"} {
		if _, err := readDisks(line, ""); err == nil || !strings.Contains(err.Error(), "that cannot be read") {
			t.Errorf("%q: %v", line, err)
		}
	}
	if _, err := readDisks("", "diskinfo: unable to obtain topo handle\n"); err == nil || !strings.Contains(err.Error(), "that cannot be read") {
		t.Errorf("%v", err)
	}
}

// smartctl knows a disk by what its raw device is a link to; a block device, or a name without a slice on a disk with an SMI
// label, is none (os_solaris.cpp of smartmontools, isdevtype and deviceopen; smartctl(8)).
func TestWhatSmartctlIsGiven(t *testing.T) {
	machine, _ := onIllumos(t)
	if got, want := machine.SmartDevice("/dev/dsk/c2t1d0"), machine.Root+"/dev/rdsk/c2t1d0p0"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	whole := filepath.Join(machine.Root, "dev/rdsk/c2t1d0")
	if err := errors.Join(os.MkdirAll(filepath.Dir(whole), 0o755), os.WriteFile(whole, nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	if got := machine.SmartDevice("/dev/dsk/c2t1d0"); got != whole { // with an EFI label
		t.Errorf("%s, want %s", got, whole)
	}
	// Where ooce/system/smartmontools has it, and its link.
	manifest, err := os.ReadFile("../../../../smf/manifest/execd.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range []string{"/opt/ooce/sbin", "/opt/ooce/smartmontools/sbin"} {
		if !regexp.MustCompile(`name="PATH" value="[^"]*:` + folder + `[:"]`).Match(manifest) {
			t.Errorf("execd does not look for programs in %s", folder)
		}
	}
}

func TestFaultsOfIllumos(t *testing.T) {
	machine, calls := onIllumos(t)
	text, err := machine.Faults(context.Background())
	if err != nil || !strings.HasPrefix(text, "TIME ") || calls() != "fmadm faulty\n" {
		t.Errorf("%q %v", text, err)
	}
	if err := os.WriteFile(filepath.Join(machine.Root, "broken"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := machine.Faults(context.Background()); err == nil || !strings.Contains(err.Error(), "failed to connect to fmd") {
		t.Errorf("%v", err)
	}
}

func TestADiskOfIllumosIsWiped(t *testing.T) {
	machine, calls := onIllumos(t)
	raw := filepath.Join(machine.Root, "dev/rdsk/c2t1d0p0")
	if err := errors.Join(os.MkdirAll(filepath.Dir(raw), 0o755), os.MkdirAll(filepath.Join(machine.Root, dsk), 0o755),
		os.WriteFile(filepath.Join(machine.Root, dsk, "c2t1d0s0"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 1048576000
	label := bytes.Repeat([]byte("x"), 4096)
	for _, at := range []int64{0, 1<<20 - 4096, 1 << 20, size - 4096} {
		if _, err := f.WriteAt(label, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := machine.WipeDisk(context.Background(), "/dev/dsk/c2t1d0"); err != nil {
		t.Fatal(err)
	}
	if said := calls(); !strings.Contains(said, "zpool labelclear -f /dev/dsk/c2t1d0s0\n") || strings.Contains(said, "d0s1\n") {
		t.Error(said)
	}
	for at, left := range map[int64]bool{0: false, 1<<20 - 4096: false, 1 << 20: true, size - 4096: false} {
		got := make([]byte, 4096)
		if _, err := f.ReadAt(got, at); err != nil || bytes.Equal(got, label) != left {
			t.Errorf("at %d: %v", at, err)
		}
	}
	if info, _ := f.Stat(); info.Size() != size {
		t.Errorf("it is %d bytes long now", info.Size())
	}
}

func TestWhatIllumosIsTold(t *testing.T) {
	machine, calls := onIllumos(t)
	ctx := context.Background()
	for _, c := range []struct {
		do   func() error
		told string
	}{
		{func() error { return machine.Service(ctx, "nginx", "stop") }, "svcadm disable -s svc:/network/cistern/nginx:default\n"},
		{func() error { return machine.Power(ctx, "reboot") }, "init 6\n"},
		{func() error { return machine.Power(ctx, "off") }, "init 5\n"},
		{func() error { return machine.MountDataset(ctx, "tank/a b") }, "zfs mount tank/a b\n"},
		{func() error { return machine.UnmountDataset(ctx, "tank/a") }, "zfs unmount tank/a\n"},
		{func() error { return machine.MountPools(ctx) }, "cistern-pools refresh\n"},
	} {
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.told, err)
		}
		if said := calls(); said != c.told {
			t.Errorf("it was told %q, not %q", said, c.told)
		}
	}
	if err := machine.ApplyIdentity(ctx); err == nil || !strings.Contains(err.Error(), "the host name cannot be set") {
		t.Errorf("%v", err)
	}
	if !machine.Mounted("/srv/telemetry") || machine.Mounted("/srv") || machine.Mounted("tank/telemetry") {
		t.Error("what is mounted")
	}
}

// mount -F zfs refuses a snapshot (zfs_validate_name of libzfs_dataset.c): its files are below its dataset's mount point, and
// looking one up there mounts it (zfsctl_snapdir_lookup of zfs_ctldir.c), with no privilege of the caller's.
func TestTheFilesOfASnapshotOnIllumos(t *testing.T) {
	machine, fakes := withFakes(t)
	fakes.Put("srv/telemetry/.zfs/snapshot/now/a/b", "then", 0o600)
	fakes.Put("secret", "none of yours", 0o600)
	files, release, err := machine.OpenSnapshot(context.Background(), "tank/telemetry@now")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := files.ReadFile("a/b"); string(text) != "then" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	inside := filepath.Join(machine.Root, "srv/telemetry/.zfs/snapshot/now")
	if err := os.Symlink("../../../../../secret", filepath.Join(inside, "out")); err != nil {
		t.Fatal(err)
	}
	if text, err := files.ReadFile("out"); err == nil {
		t.Errorf("a link out of it: %q", text)
	}
	release()
	if ran := fakes.Calls(); ran != "" {
		t.Errorf("ran %s", ran)
	}
	for snapshot, says := range map[string]string{
		"tank/telemetry@then": "no such file",
		"tank/away@now":       "'tank/away' is not mounted",
		"tank/linked@now":     "'linked' of the path '/srv/linked/home' is no folder",
	} {
		fakes.Put("etc/mnttab", "tank/telemetry\t/srv/telemetry\tzfs\trw\t1\ntank/linked\t/srv/linked/home\tzfs\trw\t1\n", 0o644)
		fakes.Put("elsewhere/home/.zfs/snapshot/now/key", "none of yours", 0o600)
		_ = os.Symlink("../elsewhere", filepath.Join(machine.Root, "srv/linked"))
		if _, _, err := machine.OpenSnapshot(context.Background(), snapshot); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", snapshot, err)
		}
	}
}

// zfs mounts by itself what it has made: that it is there already is what was wanted.
func TestMountingTwiceOnIllumos(t *testing.T) {
	machine, fakes := withFakes(t)
	says := func(text string) { fakes.Program("bin/zfs", "echo \""+text+"\" >&2; exit 1") }
	says("cannot mount 'tank/a': filesystem already mounted")
	if err := machine.MountDataset(context.Background(), "tank/a"); err != nil {
		t.Error(err)
	}
	says("cannot mount '/srv/a': directory is not empty")
	if err := machine.MountDataset(context.Background(), "tank/a"); err == nil || !strings.Contains(err.Error(), "directory is not empty") {
		t.Errorf("%v", err)
	}
}

func TestBootEnvironments(t *testing.T) {
	machine, fakes := withFakes(t)
	put, calls := fakes.Put, fakes.Calls
	put("opt/cistern/version", "0.1.0\n", 0o644)
	// Prints what is in a file, and fails on demand.
	fakes.Program("bin/beadm", "[ \"$1\" != list ] || exec cat "+machine.Root+"/environments\n"+
		"case \"$*\" in \"$(cat "+machine.Root+"/fails)\") echo 'Unable to activate' >&2; exit 1 ;; esac\n")
	put("fails", "nothing", 0o644)
	list := func(text string) []host.System {
		t.Helper()
		put("environments", text, 0o644)
		systems, err := machine.Systems(context.Background())
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		return systems
	}
	const uuid = "215b8387-4968-627c-d2d0-f4a011414bab"
	hosttest.Recorded(t, "systems-illumos.json", map[string]any{"systems": list("omnios-r151054;" + uuid + ";NR;/;191690365;static;1785535200\n" +
		"omnios r151058 (test): 1;;;;4096;static;1787323275\n")})
	for _, c := range []struct{ line, name, starts, obstacle string }{
		{"BE2;;;;55296;static;1211397974", "BE2", host.StartsNot, ""},
		{"BE2;;-;-;55296;static;1211397974", "BE2", host.StartsNot, ""}, // older ones print dashes
		{"a:b.c_d-e;" + uuid + ";R;/mnt/a;b;1;static;1", "a:b.c_d-e", host.StartsNext, ""},
		{"-v;;;;1;static;1", "-v", host.StartsNot, ""},
		{"BE6;;T;;1;static;1", "BE6", host.StartsOnce, ""},
		{"BE6;;RT;;1;static;1", "BE6", host.StartsNext, ""},
		{"BE7;;!;;1;static;1", "BE7", host.StartsNot, "beadm says that it is not bootable."},
		{"BE7;;!R;;1;static;1", "BE7", host.StartsNext, "beadm says that it is not bootable."},
		{"zbe;;x;;1;static;1", "zbe", host.StartsNot, "It belongs to a boot environment of the global zone that is not active."},
		{"zbe;;xb;;1;static;1", "zbe", host.StartsNot, "It belongs to a boot environment of the global zone that is not active."},
	} {
		systems := list(c.line + "\n")
		if one := systems[0]; len(systems) != 1 || one.Name != c.name || one.Starts != c.starts || one.Obstacle != c.obstacle || one.Running || one.Version != nil {
			t.Errorf("%s: %+v", c.line, systems)
		}
	}
	if one := list("BE;;;;4.5M;static;yesterday\n")[0]; one.Bytes != nil || one.CreatedMs != nil {
		t.Errorf("what is no number: %+v", one)
	}
	if got := list(""); len(got) != 0 {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"No boot environments found\n", "BE;;;/\n", ";;NR;/;1;static;1\n"} {
		if systems, err := environments(text); err == nil || !strings.Contains(err.Error(), "beadm printed a line that cannot be read") {
			t.Errorf("%q: %v %v", text, systems, err)
		}
	}

	// BE6 was to start once: after it, BE5 again.
	const once = "BE5;;NR;/;1;static;1\nBE6;;T;;1;static;1\n-v;;;;1;static;1\n"
	systems := list(once)
	if systems[0].Starts != host.StartsLater || systems[1].Starts != host.StartsOnce {
		t.Errorf("%+v", systems)
	}
	for _, c := range []struct{ name, fails, want string }{
		{"BE5", "nothing", "beadm activate -T -- BE6\n"},
		{"BE6", "nothing", "beadm activate -- BE6\nbeadm activate -T -- BE6\n"},
		{"-v", "nothing", "beadm activate -- -v\nbeadm activate -T -- BE6\n"},
		// Nothing has changed for the next time.
		{"-v", "activate -- -v", "beadm activate -- -v\n"},
		{"-v", "activate -T -- BE6", "beadm activate -- -v\nbeadm activate -T -- BE6\n"},
	} {
		put("fails", c.fails, 0o644)
		calls()
		err := machine.ActivateSystem(context.Background(), systems, c.name)
		if said := calls(); said != c.want || (err != nil) != (c.fails != "nothing") {
			t.Errorf("%s: %v, and it was told %q", c.name, err, said)
		}
		if err != nil && !strings.Contains(err.Error(), "Unable to activate") {
			t.Error(err)
		}
	}
}
