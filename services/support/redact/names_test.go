package redact

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPseudonymsAreConsistentAndLeaveTheRest(t *testing.T) {
	p := namesFor([]byte("key"), "box.lan")
	line := "box sent 192.168.1.7 and 192.168.1.7 to ops@corp.example.com via fe80::1%eth0, 2001:db8::7, MAC 52:54:00:12:34:56"
	got := p.Replace(line)
	for _, gone := range []string{"box", "192.168.1.7", "corp.example", "2001:db8", "52:54:00", "fe80::1"} {
		if strings.Contains(got, gone) {
			t.Errorf("%q is in %q", gone, got)
		}
	}
	if again := p.Replace(line); again != got || strings.Count(got, p.Word("ip", "192.168.1.7")) != 2 {
		t.Errorf("not consistent: %q", got)
	}
	if other := namesFor([]byte("other"), "box.lan").Replace(line); other == got {
		t.Error("another appliance's words are the same: they can be guessed")
	}
	same := "12:34:56.789 nginx.conf cistern-akd.service 127.0.0.1 ::1 255.255.255.0 v1.2.3 libc.so.6 github.com/x/y.go:12 main.run(0xc000) 2026-11-21T10:00:00Z std::string a::b"
	if got := p.Replace(same); got != same {
		t.Errorf("%q became %q", same, got)
	}
	dir := t.TempDir()
	first, err := OpenNames(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := OpenNames(dir)
	if err != nil || first.Word("ip", "x") != second.Word("ip", "x") {
		t.Errorf("the key was not kept: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "pseudonyms.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
