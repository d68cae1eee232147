package execd

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// plain is a zfs that knows one mounted file system, tank/a with its snapshots s1 and s2, and does what it is told.
const plain = `case "$1 $*" in
*mountpoint,canmount,mounted*) printf 'mountpoint\t/srv/a\ncanmount\ton\nmounted\tno\nkeystatus\t-\n' ;;
"get "*type,canmount*) printf 'type\tfilesystem\ncanmount\ton\n' ;;
"get "*type*) printf 'type\tfilesystem\nmounted\tno\nmountpoint\t/srv/a\nkeystatus\t-\n' ;;
"get "*local,received*) printf 'compression\tlz4\nmountpoint\t/srv/a\nkeylocation\tprompt\n' ;;
"get "*keylocation*) printf 'keylocation\tnone\nencryptionroot\t-\n' ;;
"list "*name,mounted*) printf 'tank/a\tyes\n' ;;
"list "*userrefs,clones*) printf 'tank/a@s1\t0\t\ntank/a@s2\t0\t\n' ;;
"list "*name,mountpoint*) ;;
"list "*filesystem,volume*) printf 'tank/a\n' ;;
esac`

func (b *bench) ran(command string) {
	b.t.Helper()
	if ran := b.read("ran"); !strings.Contains(ran, command+"\n") {
		b.t.Errorf("did not run %q:\n%s", command, ran)
	}
}

func (b *bench) notRan(command string) {
	b.t.Helper()
	if ran := b.read("ran"); strings.Contains(ran, command) {
		b.t.Errorf("ran %q:\n%s", command, ran)
	}
}

func TestDatasetIsMade(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", plain)
		b.want("dataset.create", `{"name":"tank/a","kind":"filesystem","properties":{"quota":"1073741824","compression":"`+k.compressed+`","mountpoint":"/srv/a"}}`, 200, "")
		b.ran("zfs create " + k.unmounted + "-o compression=" + k.compressed + " -o mountpoint=/srv/a -o quota=1073741824 tank/a")
		b.want("dataset.create", `{"name":"tank/v","kind":"volume","volumeBytes":1048576,"sparse":true,"properties":{"volblocksize":"16384"}}`, 200, "")
		b.ran("zfs create -s -V 1048576 -o volblocksize=16384 tank/v")
		if strings.Join(b.host.did, ", ") != "mount tank/a" {
			t.Errorf("did %v", b.host.did)
		}
	})
}

func TestBadDatasetsTouchNothing(t *testing.T) {
	b := start(t, "", plain)
	long := strings.Repeat("x", 260)
	for _, name := range []string{"tank", "", "tank/", "/a", "tank//a", "tank/a b ", "tank/ä", "tank/a@b", "-f/a", "tank/..", "tank/" + long, "tank/a#b", "tank/a%b", "tank" + strings.Repeat("/a", 60)} {
		b.want("dataset.create", fmt.Sprintf(`{"name":%q,"kind":"filesystem"}`, name), 400, "invalid_request")
	}
	for _, properties := range []string{`"compression":"brotli"`, `"quota":"1G"`, `"recordsize":"100000"`, `"mountpoint":"/etc"`, `"mountpoint":"/srv/../etc"`, `"mountpoint":"/srv/telemetry/x"`,
		`"exec":"on"`, `"sharenfs":"on"`, `"volsize":"1"`, `"keylocation":"file:///etc/shadow"`, `"compression":"lz4 -o x=y"`, `"atime":"on\n"`} {
		b.want("dataset.create", `{"name":"tank/a","kind":"filesystem","properties":{`+properties+`}}`, 400, "invalid_request")
	}
	b.want("dataset.create", `{"name":"tank/a","kind":"filesystem","volumeBytes":5}`, 400, "invalid_request")
	b.want("dataset.create", `{"name":"tank/a","kind":"volume"}`, 400, "invalid_request")
	b.want("dataset.create", `{"name":"tank/a","kind":"volume","volumeBytes":5,"properties":{"recordsize":"4096"}}`, 400, "invalid_request")
	b.want("dataset.create", `{"name":"tank/a","kind":"bookmark"}`, 400, "invalid_request")
	b.want("dataset.create", `{"name":"system/a","kind":"filesystem"}`, 409, "conflict")
	b.want("dataset.set", `{"name":"tank/a","properties":{"volblocksize":"4096"}}`, 400, "invalid_request")
	b.want("dataset.inherit", `{"name":"tank/a","properties":["quota"]}`, 400, "invalid_request")
	b.want("dataset.rename", `{"name":"tank/a","to":"other/a"}`, 400, "invalid_request")
	b.want("dataset.rename", `{"name":"tank/a","to":"tank/a/b"}`, 400, "invalid_request")
	b.want("dataset.rename", `{"name":"system/telemetry-old","to":"system/state2"}`, 409, "conflict")
	b.want("dataset.destroy", `{"name":"tank/a","confirm":"tank/b"}`, 400, "invalid_request")
	b.want("dataset.destroy", `{"name":"tank","confirm":"tank"}`, 400, "invalid_request")
	b.want("dataset.destroy", `{"name":"system/state","confirm":"system/state"}`, 409, "conflict")
	for _, verb := range []string{"create ", "set ", "destroy ", "rename ", "inherit "} {
		b.notRan("zfs " + verb)
	}
}

func TestDatasetIsChanged(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", plain)
		b.want("dataset.set", `{"name":"tank/a","properties":{"atime":"off","compression":"lz4"}}`, 200, "")
		b.ran("zfs set atime=off compression=lz4 tank/a")
		b.want("dataset.inherit", `{"name":"tank/a","properties":["atime","compression"]}`, 200, "")
		b.ran("zfs inherit atime tank/a")
		b.ran("zfs inherit compression tank/a")
		b.want("dataset.set", `{"name":"tank/a","properties":{"mountpoint":"/srv/b"}}`, 200, "")
		b.ran("zfs set " + k.unmounted + "mountpoint=/srv/b tank/a")
		b.want("dataset.rename", `{"name":"tank/a","to":"tank/b"}`, 200, "")
		b.ran("zfs rename " + k.unmounted + "tank/a tank/b")
		if did := strings.Join(b.host.did, ", "); !strings.HasPrefix(did, "unmount tank/a, mount tank/a") || !strings.HasSuffix(did, "unmount tank/a, mount tank/b") {
			t.Errorf("did %v", did)
		}
	})
}

func TestDestroyListsWhatHinders(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		hindered := strings.Replace(plain, `"list "*userrefs,clones*) printf 'tank/a@s1\t0\t\ntank/a@s2\t0\t\n'`,
			`"list "*name,type,userrefs,clones*) printf 'tank/a\tfilesystem\t-\t-\ntank/a@s1\tsnapshot\t1\t\ntank/a@s2\tsnapshot\t0\ttank/copy\n'`, 1)
		b := k.start(t, "", hindered)
		b.want("dataset.destroy", `{"name":"tank/a","confirm":"tank/a","recursive":true}`, 409, "conflict")
		b.notRan("zfs destroy")
		free := k.start(t, "", strings.Replace(plain, `'tank/a@s1\t0\t\ntank/a@s2\t0\t\n'`, `'tank/a\tfilesystem\t-\t-\ntank/a@s1\tsnapshot\t0\t\n'`, 1))
		free.want("dataset.destroy", `{"name":"tank/a","confirm":"tank/a","recursive":false}`, 409, "conflict")
		free.want("dataset.destroy", `{"name":"tank/a","confirm":"tank/a","recursive":true}`, 200, "")
		free.ran("zfs destroy -r tank/a")
		busy := k.start(t, "", strings.Replace(plain, `'tank/a@s1\t0\t\ntank/a@s2\t0\t\n'`, `'tank/a\tfilesystem\t-\t-\n'`, 1))
		busy.host.busy = "tank/a"
		busy.want("dataset.destroy", `{"name":"tank/a","confirm":"tank/a","recursive":true}`, 409, "dataset_in_use")
		busy.notRan("zfs destroy")
		telemetry := k.start(t, "", strings.Replace(plain, `"list "*name,mountpoint*)`, `"list "*name,mountpoint*) printf 'tank/a/telemetry\t/srv/telemetry\n'`, 1))
		telemetry.want("dataset.destroy", `{"name":"tank/a","confirm":"tank/a","recursive":true}`, 409, "conflict")
		telemetry.notRan("zfs destroy")
	})
}

func TestKeysAreKeptSecret(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", `case "$1 $*" in
"create "*|"change-key "*|"load-key "*) [ -t 0 ] || cat >>"$(dirname "$0")/../told" ;;
"get "*encryption,*) printf 'encryption\taes-256-gcm\nencryptionroot\ttank/a\nkeystatus\tavailable\nkeylocation\tprompt\n' ;;
esac`)
		b.want("dataset.create", `{"name":"tank/a","kind":"filesystem","encryption":{"format":"passphrase","passphrase":"correct horse"}}`, 200, "")
		b.ran("zfs create " + k.unmounted + "-o encryption=on -o keyformat=passphrase -o keylocation=prompt tank/a")
		if b.read("told") != "correct horse\n" {
			t.Errorf("zfs was told %q", b.read("told"))
		}
		b.want("dataset.key", `{"name":"tank/a","action":"change","encryption":{"format":"keyFile"}}`, 200, "")
		files, _ := filepath.Glob(filepath.Join(b.state, "keys", "*.key"))
		if len(files) != 1 {
			t.Fatalf("key files: %v", files)
		}
		b.ran("zfs change-key -o keyformat=hex -o keylocation=file://" + files[0] + " tank/a")
		info, err := os.Stat(files[0])
		content, _ := os.ReadFile(files[0])
		if err != nil || info.Mode().Perm() != 0o400 || len(content) != 65 {
			t.Errorf("the key file has mode %v and %d bytes", info.Mode(), len(content))
		}
		for _, where := range []string{"execd/audit.log", "ran"} {
			if text := b.read(where); strings.Contains(text, "correct horse") || strings.Contains(text, strings.TrimSpace(string(content))) {
				t.Errorf("%s holds a secret:\n%s", where, text)
			}
		}
		if !strings.Contains(b.read("execd/audit.log"), `"passphrase":"********"`) {
			t.Error("the audit does not say that there was a passphrase")
		}
		b.want("dataset.create", `{"name":"tank/b","kind":"filesystem","encryption":{"format":"passphrase","passphrase":"short"}}`, 400, "invalid_request")
		b.want("dataset.create", `{"name":"tank/b","kind":"filesystem","encryption":{"format":"passphrase","passphrase":"two lines\nof it"}}`, 400, "invalid_request")
		b.want("dataset.create", `{"name":"tank/b","kind":"filesystem","encryption":{"format":"none"}}`, 400, "invalid_request")
	})
}

func TestSnapshotsAreOfOneMoment(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", plain)
		var names []string
		for i := range 500 {
			names = append(names, fmt.Sprintf("tank/data%03d@cistern-1", i))
		}
		names = append(names, "archive/a@cistern-1")
		b.want("snapshot.create", `{"names":["`+strings.Join(names, `","`)+`"],"recursive":false,"schedule":"ss-1"}`, 200, "")
		if ran := b.read("ran"); strings.Count(ran, "zfs snapshot -o cistern:schedule=ss-1 ") != 2 {
			t.Errorf("ran:\n%s", ran)
		}
		b.want("snapshot.create", `{"names":["tank@a"],"recursive":true,"reason":"before the update"}`, 200, "")
		b.ran("zfs snapshot -r -o cistern:reason=before the update tank@a")
		for _, body := range []string{`{"names":[]}`, `{"names":["tank"]}`, `{"names":["tank@a","tank@a"]}`, `{"names":["tank@a@b"]}`, `{"names":["tank@a,b"]}`, `{"names":["-r@a"]}`, `{"names":["tank@a"],"reason":"a\nb"}`} {
			b.want("snapshot.create", body, 400, "invalid_request")
		}
	})
}

func TestSnapshotsThatAreKeptAreNotDestroyed(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", strings.Replace(plain, `'tank/a@s1\t0\t\ntank/a@s2\t0\t\n'`, `'tank/a@s1\t0\t\ntank/a@s2\t2\t\ntank/a@s3\t0\ttank/copy\ntank/a@s4\t0\t\n'`, 1))
		b.want("snapshot.destroy", `{"names":["tank/a@s1","tank/a@s2","tank/a@s3","tank/a@s4","tank/a@gone"],"deferred":false}`, 200, "")
		b.ran("zfs destroy tank/a@s1,s4")
		b.want("snapshot.destroy", `{"names":["system/state@s1"]}`, 409, "conflict")
		b.want("snapshot.hold", `{"names":["tank/a@s1","tank/a@s2"],"tag":"audit-2026"}`, 200, "")
		b.ran("zfs hold audit-2026 tank/a@s1 tank/a@s2")
		b.want("snapshot.release", `{"names":["tank/a@s1"],"tag":"-r"}`, 400, "invalid_request")
		b.want("snapshot.rename", `{"name":"tank/a@s1","to":"tank/b@s1"}`, 400, "invalid_request")
	})
}

func TestCloneIsMountedForAll(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", plain)
		b.want("snapshot.clone", `{"snapshot":"tank/a@s1","name":"tank/copy","properties":{"mountpoint":"/srv/copy"}}`, 200, "")
		b.ran("zfs clone -o canmount=noauto -o mountpoint=/srv/copy tank/a@s1 tank/copy")
		b.ran("zfs set canmount=on tank/copy")
		b.want("snapshot.clone", `{"snapshot":"tank/a@s1","name":"other/copy"}`, 400, "invalid_request")
		b.want("snapshot.clone", `{"snapshot":"system/telemetry@s1","name":"system/slot-a/etc"}`, 409, "conflict")
		b.want("snapshot.clone", `{"snapshot":"system/telemetry@s1","name":"system/telemetryx"}`, 409, "conflict")
		if strings.Join(b.host.did, ", ") != "mount tank/copy" {
			t.Errorf("did %v", b.host.did)
		}
	})
}

// order fails unless the commands were run in this order.
func (b *bench) order(commands ...string) {
	b.t.Helper()
	rest := b.read("ran")
	for _, command := range commands {
		at := strings.Index(rest, command)
		if at < 0 {
			b.t.Fatalf("%q did not come in its turn:\n%s", command, b.read("ran"))
		}
		rest = rest[at:]
	}
}

const onTelemetry = `printf 'tank/a\t/srv/telemetry\n'`

func TestRollback(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", plain)
		b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s1","keep":false,"destroyNewer":false}`, 409, "conflict")
		b.notRan("zfs rollback")
		b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s2","keep":false,"destroyNewer":false}`, 200, "")
		b.ran("zfs rollback tank/a@s2")
		b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s1","keep":false,"destroyNewer":true}`, 200, "")
		b.ran("zfs rollback -r tank/a@s1")
		b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s9","keep":true,"destroyNewer":false}`, 404, "not_found")
		b.want("snapshot.rollback", `{"dataset":"system/state","snapshot":"s1","keep":true,"destroyNewer":false}`, 409, "conflict")
		held := k.start(t, "", strings.Replace(plain, `tank/a@s2\t0`, `tank/a@s2\t1`, 1))
		held.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s1","keep":false,"destroyNewer":true}`, 409, "conflict")
		held.notRan("zfs rollback")
	})
}

func TestRollbackKeepsWhatThereWas(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", strings.Replace(plain, `"list "*name,mountpoint*)`, `"list "*name,mountpoint*) `+onTelemetry, 1))
		b.host.mounted = true
		b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s1","keep":true,"destroyNewer":false}`, 200, "")
		b.order("zfs snapshot -o cistern:reason=before the rollback to s1 tank/a@cistern-before-rollback-", "zfs rename "+k.unmounted+"tank/a tank/a-before-rollback-",
			"zfs set "+k.unmounted+"mountpoint=none tank/a-before-rollback-", "zfs clone -o canmount=noauto -o compression=lz4 -o mountpoint=/srv/a tank/a-before-rollback-", "zfs promote tank/a", "zfs set canmount=on tank/a")
		b.notRan("keylocation=prompt")
		if did := strings.Join(b.host.did, ", "); did != "stop storaged, unmount tank/a, mount tank/a, start storaged" {
			t.Errorf("did %v", did)
		}
	})
}

func TestRollbackThatFailsIsUndone(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		for _, failing := range []string{"rename " + k.unmounted + "tank/a ", "clone", "promote"} {
			b := k.start(t, "", `case "$*" in "`+failing+`"*) echo "cannot do it" >&2; exit 1 ;; esac
`+strings.Replace(plain, `"list "*name,mountpoint*)`, `"list "*name,mountpoint*) `+onTelemetry, 1))
			b.host.mounted = true
			b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s1","keep":true,"destroyNewer":false}`, 500, "command_failed")
			if failing != "rename "+k.unmounted+"tank/a " {
				b.order("zfs rename "+k.unmounted+"tank/a tank/a-before", "zfs "+failing, "zfs set "+k.unmounted+"mountpoint=/srv/a tank/a-before", "zfs rename "+k.unmounted+"tank/a-before")
			}
			if did := strings.Join(b.host.did, ", "); did != "stop storaged, unmount tank/a, mount tank/a, start storaged" {
				t.Errorf("%s: did %v", failing, did)
			}
		}
	})
}

func TestRollbackWithoutAMountDoesNotStartTheStore(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", strings.Replace(plain, `"list "*name,mountpoint*)`, `"list "*name,mountpoint*) `+onTelemetry, 1))
		b.want("snapshot.rollback", `{"dataset":"tank/a","snapshot":"s2","keep":false,"destroyNewer":false}`, 500, "command_failed")
		if strings.Contains(strings.Join(b.host.did, ","), "start storaged") {
			t.Errorf("did %v", b.host.did)
		}
	})
}
