package execd

import (
	"bufio"
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A zpool that prints an event and then waits, with a child that holds its output open.
const eventful = `echo $$ >"$(dirname "$0")/../pid"
printf 'Jan  1 2026 02:03:04.123456789\tsysevent.fs.zfs.config_sync\n'
printf 'Jan  1 2026 02:03:05.123456789\tresource.fs.zfs.state'
sleep 0.3
printf 'change\n\n"odd"\n'
sleep 600 &
wait`

func follow(t *testing.T, b *bench) (lines *bufio.Scanner, leave func()) {
	t.Helper()
	ctx, leave := context.WithCancel(context.Background())
	t.Cleanup(leave)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://unix/v1/pool.events", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	response, err := b.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { response.Body.Close() })
	if response.StatusCode != http.StatusOK {
		t.Fatalf("status %d", response.StatusCode)
	}
	return bufio.NewScanner(response.Body), leave
}

// dead waits until the process group of the fake zpool is gone.
func dead(t *testing.T, b *bench) {
	t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(b.read("pid")))
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if syscall.Kill(-pid, 0) != nil {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Errorf("zpool events (process group %d) still runs", pid)
}

func TestEventsAreToldAsTheyHappen(t *testing.T) {
	b := start(t, eventful, "")
	lines, leave := follow(t, b)
	var events []string
	for len(events) < 3 && lines.Scan() {
		if lines.Text() != "{}" {
			events = append(events, lines.Text())
		}
	}
	want := []string{
		`{"class":"sysevent.fs.zfs.config_sync","text":"Jan  1 2026 02:03:04.123456789\tsysevent.fs.zfs.config_sync"}`,
		`{"class":"resource.fs.zfs.statechange","text":"Jan  1 2026 02:03:05.123456789\tresource.fs.zfs.statechange"}`,
		`{"text":"\"odd\""}`,
	}
	if strings.Join(events, "\n") != strings.Join(want, "\n") {
		t.Errorf("told\n%s\nwant\n%s", strings.Join(events, "\n"), strings.Join(want, "\n"))
	}
	// Nothing more happens: there is a heartbeat nevertheless.
	if !lines.Scan() || lines.Text() != "{}" {
		t.Errorf("no heartbeat: %q %v", lines.Text(), lines.Err())
	}
	// Other verbs do not wait for somebody who listens.
	b.want("power", `{"action":"reboot"}`, 200, "")
	leave()
	dead(t, b)
	b.ran("zpool events -f -H")
	log, err := os.ReadFile(filepath.Join(b.state, "execd", "audit.log"))
	if err != nil || strings.Count(string(log), `"verb":"pool.events"`) != 1 {
		t.Errorf("audited: %s %v", log, err)
	}
}

func TestEventsEndWithTheProcess(t *testing.T) {
	b := start(t, eventful, "")
	lines, _ := follow(t, b)
	for lines.Scan() && lines.Text() == "{}" {
	}
	b.end()
	for lines.Scan() {
	}
	if err := lines.Err(); err != nil {
		t.Errorf("the stream did not end in order: %v", err)
	}
	dead(t, b)
}

func TestEventsEndWhenZpoolFails(t *testing.T) {
	b := start(t, "echo 'no /dev/zfs' >&2; exit 1", "")
	lines, _ := follow(t, b)
	for lines.Scan() {
		if lines.Text() != "{}" {
			t.Errorf("told %s", lines.Text())
		}
	}
	// What went wrong is in the audit log, which is written before the answer ends.
	log, err := os.ReadFile(filepath.Join(b.state, "execd", "audit.log"))
	if err != nil || !strings.Contains(string(log), "no /dev/zfs") {
		t.Errorf("audited: %s %v", log, err)
	}
}
