package execd

import (
	"strings"
	"testing"
)

func TestSystemDisks(t *testing.T) {
	const one = `[ "$1" != list ] || printf 'system\n\t/dev/disk/by-partuuid/aa0\n'`
	b := start(t, one, "")
	b.host.disks = map[string]string{"/dev/disk/by-id/b": "/dev/sdb"}
	b.want("system.attach", `{"disk":"/dev/disk/by-id/b"}`, 200, "")
	b.want("system.attach", `{"disk":"/dev/disk/by-id/gone"}`, 409, "disk_missing")
	b.want("system.detach", `{"device":"/dev/disk/by-partuuid/aa0"}`, 409, "conflict")
	b.want("system.detach", `{"device":"-f"}`, 400, "invalid_request")
	if got := strings.Join(b.host.did, ", "); got != "attach /dev/disk/by-id/b" {
		t.Errorf("did %s", got)
	}

	const two = `[ "$1" != list ] || printf 'system\n\tmirror-0\n\t\t/dev/disk/by-partuuid/aa0\n\t\t12345678901234567890\n'`
	b = start(t, two, "")
	b.host.disks = map[string]string{"/dev/disk/by-id/b": "/dev/sdb"}
	b.want("system.attach", `{"disk":"/dev/disk/by-id/b"}`, 409, "conflict")
	b.want("system.detach", `{"device":"12345678901234567890"}`, 200, "")
	if ran := b.read("ran"); !strings.HasSuffix(ran, "zpool detach system 12345678901234567890\n") || len(b.host.did) != 0 {
		t.Errorf("ran:\n%s", ran)
	}
}
