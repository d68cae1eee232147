package execd

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each verb on a pool: what it runs, and what it refuses without running anything.
func TestPoolVerbs(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		disk, old := k.a, k.leaf
		for _, c := range []struct{ verb, body, code, ran string }{
			{"pool.scrub", `{"pool":"tank","action":"start"}`, "", "zpool scrub tank"},
			{"pool.scrub", `{"pool":"tank","action":"pause"}`, "", "zpool scrub -p tank"},
			{"pool.scrub", `{"pool":"tank","action":"stop"}`, "", "zpool scrub -s tank"},
			{"pool.scrub", `{"pool":"tank","action":"-s"}`, "invalid_request", ""},
			{"pool.scrub", `{"pool":"-a","action":"start"}`, "not_found", ""},
			{"pool.trim", `{"pool":"tank","action":"suspend"}`, "", "zpool trim -s tank"},
			{"pool.trim", `{"pool":"tank","action":"stop"}`, "invalid_request", ""},
			{"pool.clear", `{"pool":"tank"}`, "", "zpool clear tank"},
			{"pool.clear", `{"pool":"tank","device":"123456"}`, "", "zpool clear tank 123456"},
			{"pool.clear", `{"pool":"tank","device":"-F"}`, "invalid_request", ""},
			{"pool.set", `{"pool":"tank","property":"autotrim","value":"on"}`, "", "zpool set autotrim=on tank"},
			{"pool.set", `{"pool":"tank","property":"comment","value":"rack 3, top"}`, "", "zpool set comment=rack 3, top tank"},
			{"pool.set", `{"pool":"tank","property":"autotrim","value":"maybe"}`, "invalid_request", ""},
			{"pool.set", `{"pool":"tank","property":"altroot","value":"/x"}`, "invalid_request", ""},
			{"pool.set", `{"pool":"tank","property":"comment","value":"a\nb"}`, "invalid_request", ""},
			{"pool.upgrade", `{"name":"tank"}`, "", "zpool upgrade tank"},
			{"pool.upgrade", `{"name":"system"}`, "conflict", ""},
			{"pool.export", `{"name":"tank"}`, "", "zpool export tank"},
			{"pool.export", `{"name":"system"}`, "conflict", ""},
			{"pool.import", `{"guid":"12345","name":"other"}`, "", "zpool import -N -o cachefile=none 12345 other"},
			{"pool.import", `{"guid":"12345","name":"other","force":true}`, "", "zpool import -N -o cachefile=none -f 12345 other"},
			{"pool.import", `{"guid":"12345","name":"tank"}`, "pool_exists", ""},
			{"pool.import", `{"guid":"12345","name":"system"}`, "invalid_request", ""},
			{"pool.import", `{"guid":"tank","name":"other"}`, "invalid_request", ""},
			{"pool.destroy", `{"name":"tank","confirm":"tank"}`, "", "zpool destroy tank"},
			{"vdev.attach", `{"pool":"tank","device":"` + old + `","disk":"` + disk + `"}`, "", "zpool attach tank " + old + " " + disk},
			{"vdev.attach", `{"pool":"tank","device":"` + old + `","disk":"/dev/disk/by-id/gone"}`, "disk_missing", ""},
			{"vdev.attach", `{"pool":"system","device":"` + old + `","disk":"` + disk + `"}`, "conflict", ""},
			{"vdev.detach", `{"pool":"tank","device":"` + old + `"}`, "", "zpool detach tank " + old},
			{"vdev.detach", `{"pool":"tank","device":"/dev/../etc/passwd"}`, "invalid_request", ""},
			{"vdev.replace", `{"pool":"tank","device":"987","disk":"` + disk + `"}`, "", "zpool replace tank 987 " + disk},
			{"vdev.replace", `{"pool":"system","device":"987","disk":"` + disk + `"}`, "conflict", ""},
			{"vdev.state", `{"pool":"tank","device":"` + old + `","action":"offline","temporary":true}`, "", "zpool offline -t tank " + old},
			{"vdev.state", `{"pool":"tank","device":"` + old + `","action":"online","expand":true}`, "", "zpool online -e tank " + old},
			{"vdev.state", `{"pool":"tank","device":"` + old + `","action":"destroy"}`, "invalid_request", ""},
			{"vdev.remove", `{"pool":"tank","vdev":"mirror-1"}`, "", "zpool remove tank mirror-1"},
			{"vdev.remove", `{"pool":"tank","vdev":"-s"}`, "invalid_request", ""},
			{"vdev.add", `{"pool":"tank","kind":"spare","vdevs":[{"type":"stripe","disks":["` + disk + `"]}]}`, "", "zpool add tank spare " + disk},
			{"vdev.add", `{"pool":"tank","kind":"data","vdevs":[{"type":"mirror","disks":["` + disk + `"]}]}`, "invalid_request", ""},
			{"vdev.add", `{"pool":"tank","kind":"dedup","vdevs":[{"type":"stripe","disks":["` + disk + `"]}]}`, "invalid_request", ""},
			{"disk.wipe", `{"disk":"` + disk + `","confirm":"other"}`, "invalid_request", ""},
			{"disk.selftest", `{"disk":"` + disk + `","kind":"-X"}`, "invalid_request", ""},
		} {
			// tank and system exist, nothing else does.
			b := k.start(t, `case "$1" in list) [ "$5" = tank ] || [ "$5" = system ] ;; esac`, "")
			b.host.disks = map[string]string{disk: "/dev/sdn"}
			status, code := b.call(c.verb, c.body)
			if code != c.code || (code == "") != (status == 200) {
				t.Errorf("%s %s: %d %q, want %q", c.verb, c.body, status, code, c.code)
			}
			var ran []string
			for line := range strings.Lines(b.read("ran")) {
				if !strings.Contains(line, " list ") && !strings.HasPrefix(line, "zfs get") {
					ran = append(ran, strings.TrimSpace(line))
				}
			}
			if got := strings.Join(ran, "; "); got != c.ran {
				t.Errorf("%s %s ran %q, want %q", c.verb, c.body, got, c.ran)
			}
		}
	})
}

func TestRefusalsOfZFSAreTold(t *testing.T) {
	b := start(t, `[ "$1" = list ] || { echo "cannot offline /dev/disk/by-id/a: no valid replicas" >&2; exit 1; }`, "")
	response, code := b.call("vdev.state", `{"pool":"tank","device":"/dev/disk/by-id/a","action":"offline"}`)
	if response != 409 || code != "command_failed" || !strings.Contains(b.read("execd/audit.log"), "ZFS says: cannot offline /dev/disk/by-id/a: no valid replicas.") {
		t.Errorf("%d %s\n%s", response, code, b.read("execd/audit.log"))
	}
}

// The pool that the telemetry is on: the store is stopped before, and started again when the pool stays.
func TestStoreIsStoppedForItsPool(t *testing.T) {
	const zfs = `[ "$1" = list ] && [ "$4" = name,mountpoint ] && printf 'tank/telemetry\t/srv/telemetry\n'; exit 0`
	b := start(t, `case "$1" in list) ;; export) echo "cannot export 'tank': pool is busy" >&2; exit 1 ;; esac`, zfs)
	b.want("pool.export", `{"name":"tank"}`, 409, "command_failed")
	if got := strings.Join(b.host.did, ", "); got != "stop storaged, mount, start storaged" {
		t.Errorf("did %s", got)
	}
	b = start(t, "", zfs)
	if err := os.WriteFile(filepath.Join(b.state, "execd", "pools"), []byte("tank\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.want("pool.export", `{"name":"tank"}`, 200, "")
	if got := strings.Join(b.host.did, ", "); got != "stop storaged" || b.read("execd/pools") != "" {
		t.Errorf("did %s, remembers %q", got, b.read("execd/pools"))
	}
}

// What hangs in one pool holds up neither another one nor a restart.
func TestPoolsDoNotWaitForEachOther(t *testing.T) {
	b := start(t, slowly, "")
	end := slowScrub(t, b)
	b.want("pool.scrub", `{"pool":"quick","action":"start"}`, 200, "")
	b.want("service.action", `{"service":"storaged","action":"restart"}`, 200, "")
	end()
}

// slowScrub begins a scrub of the pool "slow" that ends when the function it returns is called.
func slowScrub(t *testing.T, b *bench) (end func()) {
	t.Helper()
	var wait sync.WaitGroup
	wait.Go(func() { b.want("pool.scrub", `{"pool":"slow","action":"start"}`, 200, "") })
	for end := time.Now().Add(10 * time.Second); !strings.Contains(b.read("ran"), "scrub slow"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the scrub was not started")
		}
	}
	return func() {
		if err := os.WriteFile(filepath.Join(b.state, "bin", "go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		wait.Wait()
	}
}

const slowly = `case "$*" in "scrub slow") while [ ! -e "$(dirname "$0")/go" ]; do sleep 0.02; done ;; esac`

// Whoever has gone while waiting wants nothing done any more.
func TestNothingIsDoneForWhomHasGone(t *testing.T) {
	b := start(t, slowly, "")
	end := slowScrub(t, b)
	ctx, leave := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer leave()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://unix/v1/pool.clear", strings.NewReader(`{"pool":"slow"}`))
	if err != nil {
		t.Fatal(err)
	}
	if response, err := b.client.Do(request); err == nil {
		response.Body.Close()
		t.Errorf("answered %d while the pool was busy", response.StatusCode)
	}
	for end := time.Now().Add(10 * time.Second); !strings.Contains(b.read("execd/audit.log"), "nothing was done"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it still waits: %s", b.read("execd/audit.log"))
		}
	}
	end()
	b.want("pool.scrub", `{"pool":"slow","action":"pause"}`, 200, "")
	if ran := b.read("ran"); strings.Contains(ran, "clear") {
		t.Errorf("carried out for nobody: %s", ran)
	}
}

// A pool is not destroyed while something else is done to it; and whoever waits for that holds up nobody else.
func TestDestroyingWaitsForThePool(t *testing.T) {
	b := start(t, slowly, "")
	end := slowScrub(t, b)
	var wait sync.WaitGroup
	wait.Go(func() { b.want("pool.destroy", `{"name":"slow","confirm":"slow"}`, 200, "") })
	for end := time.Now().Add(10 * time.Second); !strings.Contains(b.read("execd/audit.log"), "pool.destroy"); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("destroying was not asked")
		}
	}
	b.want("pool.destroy", `{"name":"other","confirm":"other"}`, 200, "")
	time.Sleep(100 * time.Millisecond)
	if ran := b.read("ran"); strings.Contains(ran, "destroy slow") {
		t.Errorf("destroyed while it was busy: %s", ran)
	}
	end()
	wait.Wait()
	b.ran("zpool destroy slow")
}

// Two that look at one pool at a time: the kernel shows it to one of them only.
func TestPoolsOnTheDisksAreLookedForOneAtATime(t *testing.T) {
	b := start(t, `[ "$1" != list ] || exit 1
[ "$1" = import ] || exit 0
mkdir "$0.looking" || { echo again >>"$0.twice"; exit 1; }
sleep 0.02
rmdir "$0.looking"`, "")
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() { b.want("pool.importable", `{}`, 200, "") })
	}
	wait.Go(func() { b.want("pool.import", `{"guid":"12345","name":"other"}`, 200, "") })
	wait.Wait()
	if strings.Count(b.read("ran"), "zpool import") != 5 || b.read("bin/zpool.twice") != "" {
		t.Errorf("ran:\n%s", b.read("ran"))
	}
}

func TestDisksAreAskedAndWiped(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "", "")
		b.host.disks = k.disks()
		// smartctl's exit code tells how the disk is (bit 3: failing); its report counts.
		b.program("smartctl", `echo '{"smart_status":{"passed":false}}'
exit 8`)
		b.want("disk.smart", `{"disk":"`+k.a+`"}`, 200, "")
		b.want("disk.selftest", `{"disk":"`+k.a+`","kind":"short"}`, 409, "command_failed")
		b.ran("smartctl --json=c --all " + k.raw)
		b.ran("smartctl --test=short " + k.raw)
		b.want("disk.smart", `{"disk":"/dev/disk/by-id/gone"}`, 409, "disk_missing")
		b.program("smartctl", "exit 2")
		b.want("disk.smart", `{"disk":"`+k.a+`"}`, 502, "command_failed")
		b.want("disk.wipe", `{"disk":"`+k.a+`","confirm":"`+filepath.Base(k.a)+`"}`, 200, "")
		if got := strings.Join(b.host.did, ", "); got != "wipe "+k.disks()[k.a] {
			t.Errorf("did %s", got)
		}
	})
}

// A pool from elsewhere must not be mounted over what is here, nor anywhere else than below /srv.
func TestImportHidesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		const zfs = `case "$*" in *name,mountpoint,mounted*) printf 'other\tnone\tno\nother/a\t/srv/taken\tno\nother/b\t/srv/no-such-folder\tno\nother/c\t/etc/no-such-folder\tno\nother/d\t/srv/../etc/x\tno\nother/root\t/\tno\n' ;; esac`
		b := k.start(t, `[ "$1" != list ]`, zfs)
		b.host.taken = "/srv/taken"
		b.want("pool.import", `{"guid":"1","name":"other"}`, 200, "")
		ran := b.read("ran")
		for dataset, set := range map[string]bool{"other/a": true, "other/b": false, "other/c": true, "other/d": true, "other/root": true} {
			if strings.Contains(ran, "zfs set mountpoint=none "+dataset+"\n") != set {
				t.Errorf("%s: %v expected\n%s", dataset, set, ran)
			}
		}
		full, empty := t.TempDir(), t.TempDir()
		if err := os.WriteFile(filepath.Join(full, "file"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		s := &Server{Host: b.host}
		if !s.hides(full) || s.hides(empty) || s.hides(filepath.Join(empty, "new")) {
			t.Error("what hides files is not seen")
		}
	})
}

// A mount point that came with a pool or a replication is not followed out of /srv.
func TestMountsOnlyBelowSrv(t *testing.T) {
	for _, mountpoint := range []string{"/etc/cron.d", "/", "/srv", "/srv/../etc", "/srvx/a"} {
		b := start(t, "", `case "$*" in *type*) printf 'type\tfilesystem\nmounted\tno\nmountpoint\t`+mountpoint+`\nkeystatus\t-\ncanmount\ton\n' ;; esac`)
		b.want("dataset.mount", `{"name":"tank/a"}`, 409, "conflict")
		if len(b.host.did) > 0 {
			t.Errorf("%s: %v", mountpoint, b.host.did)
		}
	}
}
