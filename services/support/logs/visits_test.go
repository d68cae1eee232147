package logs

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// journalctl that writes down how it was asked, and prints the file “entries”.
func visitsOf(t *testing.T, script string) (Journal, func() string) {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "journalctl")
	if err := os.WriteFile(program, []byte("#!/bin/sh\ncd "+dir+"\necho \"$*\" >> asked\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	return Journal{Program: program}, func() string {
		content, _ := os.ReadFile(filepath.Join(dir, "asked"))
		return string(content)
	}
}

const visitLines = `cat <<'X'
{"__CURSOR":"c1","__REALTIME_TIMESTAMP":"1767225600000000","MESSAGE":"{\"what\":\"ssh.sign-in\",\"user\":\"ada\",\"key\":\"SHA256:x\",\"from\":\"192.0.2.7\",\"command\":\"\"}"}
{"__CURSOR":"c2","__REALTIME_TIMESTAMP":"1767225600500000","MESSAGE":"{\"what\":\"ssh.refuse\",\"user\":\"ada\",\"key\":\"SHA256:x\",\"from\":\"192.0.2.7\",\"command\":\"reboot {\\\"what\\\":\\\"ssh.run\\\"}\"}"}
{"__CURSOR":"c3","__REALTIME_TIMESTAMP":"1767225601000000","MESSAGE":"{\"what\":\"user.delete\",\"user\":\"ada\"}"}
{"__CURSOR":"c4","__REALTIME_TIMESTAMP":"1767225601000000","MESSAGE":[104,105,255]}
no JSON
{"__CURSOR":"c5","__REALTIME_TIMESTAMP":"1767225602000000","MESSAGE":"{\"what\":\"ssh.sign-out\",\"user\":\"ada\",\"key\":\"SHA256:x\",\"from\":\"192.0.2.7\",\"command\":\"\"}"}
X
`

func TestVisitsAreReadOnce(t *testing.T) {
	j, asked := visitsOf(t, visitLines)
	since := time.UnixMicro(1767225600000000).UTC()
	all, next, err := j.visits(t.Context(), "514", "", since.Add(-time.Hour), 100)
	if err != nil || len(all) != 3 || next != "c5" {
		t.Fatalf("%+v %q %v", all, next, err)
	}
	want := Visit{since.Add(500 * time.Millisecond), "ada", "192.0.2.7", "ssh.refuse", `reboot {"what":"ssh.run"}`, "SHA256:x"}
	if all[1] != want {
		t.Errorf("%+v", all[1])
	}
	if got := asked(); !strings.Contains(got, "--since=@1767222000 SYSLOG_IDENTIFIER=cistern-shell _UID=514") {
		t.Errorf("%s", got)
	}
	// A second is the finest that journalctl is asked for.
	if later, _, err := j.visits(t.Context(), "514", "", since.Add(500*time.Millisecond), 100); err != nil || len(later) != 1 || later[0].Action != "ssh.sign-out" {
		t.Errorf("%+v %v", later, err)
	}
	if first, next, err := j.visits(t.Context(), "514", "c0", time.Time{}, 2); err != nil || len(first) != 2 || next != "c2" || !strings.Contains(asked(), "--after-cursor=c0") {
		t.Errorf("%+v %q %v", first, next, err)
	}
	empty, _ := visitsOf(t, "exit 0\n")
	if none, next, err := empty.visits(t.Context(), "514", "c9", since, 2); err != nil || len(none) != 0 || next != "c9" {
		t.Errorf("%+v %q %v", none, next, err)
	}
}

// What a cursor points at is rotated away: it goes on by time, and nothing is read twice.
func TestVisitsGoOnByTime(t *testing.T) {
	j, asked := visitsOf(t, "case \"$*\" in *--after-cursor*) echo 'Failed to seek to cursor: Invalid argument' >&2; exit 1;; esac\n"+visitLines)
	since := time.UnixMicro(1767225600500000).UTC()
	found, next, err := j.visitsBehind(t.Context(), "514", "gone", since, 100)
	if err != nil || len(found) != 1 || found[0].Action != "ssh.sign-out" || next != "c5" || !strings.Contains(asked(), "--since=@1767225600 ") {
		t.Errorf("%+v %q %v\n%s", found, next, err, asked())
	}
	broken, _ := visitsOf(t, "echo 'Failed to open the journal' >&2; exit 1\n")
	if _, _, err := broken.visitsBehind(t.Context(), "514", "", since, 100); err == nil {
		t.Error("a journal that cannot be read is no empty one")
	}
}
