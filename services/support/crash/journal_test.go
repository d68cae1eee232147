package crash

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/support/logs"
)

// The journal as systemd and systemd-coredump write it, by a program that prints it.
func TestTheJournalIsFollowed(t *testing.T) {
	dir := t.TempDir()
	message := func(text string) string { b, _ := json.Marshal(text); return string(b) }
	events := strings.Join([]string{
		`{"__CURSOR":"1","MESSAGE_ID":"` + coreTaken + `","MESSAGE":` + message(nginxCore) + `,"COREDUMP_UNIT":"nginx.service","COREDUMP_PID":"812","COREDUMP_EXE":"/usr/sbin/nginx","COREDUMP_SIGNAL_NAME":"SIGSEGV","COREDUMP_TIMESTAMP":"1767225600000000","COREDUMP_FILENAME":"/cores/1"}`,
		`{"__CURSOR":"2","MESSAGE_ID":"` + coreTaken + `","MESSAGE":"x","COREDUMP_UNIT":"user.service","COREDUMP_PID":"1","COREDUMP_EXE":"/bin/x","COREDUMP_TIMESTAMP":"1767225600000000"}`,
		`{"__CURSOR":"3","MESSAGE_ID":"` + unitExited + `","UNIT":"cistern-storaged.service","EXIT_CODE":"exited","EXIT_STATUS":"2","INVOCATION_ID":"abc","__REALTIME_TIMESTAMP":"1767225600000000"}`,
		`{"__CURSOR":"4","MESSAGE_ID":"` + unitExited + `","UNIT":"cistern-akd.service","EXIT_CODE":"exited","EXIT_STATUS":"1","INVOCATION_ID":"quiet","__REALTIME_TIMESTAMP":"1767225600000000"}`,
		`{"__CURSOR":"5","MESSAGE_ID":"` + unitExited + `","UNIT":"cistern-akd.service","EXIT_CODE":"killed","EXIT_STATUS":"15","INVOCATION_ID":"quiet"}`,
		`not json`, `{}`}, "\n")
	write(t, filepath.Join(dir, "events"), events+"\n")
	write(t, filepath.Join(dir, "abc"), "level=INFO msg=ready\nlevel=INFO msg=working\n"+goTrace+"\n")
	program := write(t, filepath.Join(dir, "journalctl"), `#!/bin/sh
for a in "$@"; do last=$a; done
case " $* " in
*" -f "*) cat "`+dir+`/events"; exec sleep 600 ;;
*_SYSTEMD_INVOCATION_ID=abc*) cat "`+dir+`/abc" ;;
*) echo "an ordinary line" ;;
esac
`)
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	c := Open(filepath.Join(dir, "crashes.json"), "1.2.3")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Watch(ctx, logs.Journal{Program: program}) }()
	defer func() { cancel(); <-ended }()
	deadline := time.After(20 * time.Second)
	for {
		list, _, changed := c.List()
		if len(list) >= 2 {
			break
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%+v", list)
		}
	}
	time.Sleep(300 * time.Millisecond)
	list, _, _ := c.List()
	if len(list) != 2 {
		t.Fatalf("%d records: %+v", len(list), list)
	}
	storaged, nginx := list[0], list[1]
	if nginx.Service != "nginx" || nginx.Signal != "SIGSEGV" || nginx.Core != "/cores/1" || nginx.Version != "1.2.3" || !strings.HasPrefix(nginx.Stacks, "Stack trace of thread 812") || len(nginx.Log) != 1 {
		t.Errorf("%+v", nginx)
	}
	if storaged.Service != "storaged" || storaged.Kind != KindFatal || storaged.Reason != "panic: assignment to entry in nil map" || len(storaged.Log) != 2 {
		t.Errorf("%+v", storaged)
	}
	if c.cursor != "5" {
		t.Errorf("cursor %s", c.cursor)
	}
}

// What the kernel shows of a process whose core is being read, in a folder like /proc; then the core itself.
func TestACrashIsKnownBeforeItsCoreIsRead(t *testing.T) {
	proc := t.TempDir()
	process := func(pid, coreDumping, unit string) {
		write(t, filepath.Join(proc, pid, "status"), "Name:\tx\nCoreDumping:\t"+coreDumping+"\nThreads:\t1\n")
		write(t, filepath.Join(proc, pid, "cgroup"), "0::/system.slice/"+unit+"\n")
		write(t, filepath.Join(proc, pid, "cmdline"), "nginx: worker process\x00\x00")
	}
	process("811", "0", "nginx.service")
	process("812", "1", "nginx.service")
	process("900", "1", "user@1.service")
	path := filepath.Join(t.TempDir(), "crashes.json")
	c := Open(path, "1.2.3")
	w := &watcher{c: c, proc: proc}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	w.dumping(now)
	w.dumping(now.Add(time.Second)) // another core taker starts meanwhile
	list, before, _ := c.List()
	if len(list) != 1 || !list[0].Recording || list[0].Service != "nginx" || list[0].Process != "nginx" || list[0].PID != 812 || list[0].Count != 1 {
		t.Fatalf("%+v", list)
	}
	alert := list[0].Alert
	core := Record{Kind: KindSignal, Service: "nginx", Process: "nginx", PID: 812, Signal: "SIGSEGV", LastAt: now, Stacks: nginxCore}
	c.Note(core)
	list, after, _ := c.List()
	if len(list) != 1 || list[0].Recording || list[0].Alert != alert || list[0].ID == alert || after == before {
		t.Fatalf("the record is not that of the crash that was being recorded: %+v", list)
	}
	// The next one is the same, most likely: no second alert until it is known to be another.
	w.dumping(now.Add(time.Minute))
	if list, _, _ = c.List(); len(list) != 1 {
		t.Fatalf("%+v", list)
	}
	c.Note(core)
	again := Open(path, "1.2.3")
	if list, _, _ = again.List(); len(list) != 1 || list[0].Count != 2 || list[0].Alert != alert {
		t.Fatalf("after a restart: %+v", list)
	}
	// Dismissed, it is alerted anew.
	again.Dismiss(list[0].ID)
	(&watcher{c: again, proc: proc}).dumping(now.Add(time.Hour))
	again.Note(core)
	if list, _, _ = again.List(); len(list) != 1 || list[0].Count != 3 || list[0].Alert == alert || list[0].Dismissed {
		t.Fatalf("after it was dismissed: %+v", list)
	}
}

// A program is known by what everybody may read of its process.
func TestTheProgramOfAProcess(t *testing.T) {
	dir := t.TempDir()
	for cmdline, want := range map[string]string{"nginx: master process /usr/sbin/nginx -g x\x00": "nginx", "/opt/cistern/bin/node\x00--report-on-signal\x00akd.js\x00": "node", "storaged\x00": "storaged", "": ""} {
		write(t, filepath.Join(dir, "cmdline"), cmdline)
		if got := programOf(dir); got != want {
			t.Errorf("%q: %q, want %q", cmdline, got, want)
		}
	}
}

// The journal reports twice that a process ended with a core, in either order: that is one crash.
func TestACoreAndAnExitAreOneCrash(t *testing.T) {
	core := `{"__CURSOR":"1","__REALTIME_TIMESTAMP":"1767225600500000","MESSAGE_ID":"` + coreTaken + `","MESSAGE":"x","COREDUMP_UNIT":"nginx.service","COREDUMP_PID":"812","COREDUMP_EXE":"/usr/sbin/nginx","COREDUMP_SIGNAL_NAME":"SIGSEGV","COREDUMP_TIMESTAMP":"1767225600000000"}`
	exit := `{"__CURSOR":"2","__REALTIME_TIMESTAMP":"1767225601000000","MESSAGE_ID":"` + unitExited + `","UNIT":"nginx.service","EXIT_CODE":"dumped","EXIT_STATUS":"11"}`
	later := strings.Replace(exit, "17672256", "17672266", 1)
	for _, c := range []struct {
		lines   []string
		pending int
	}{{[]string{core, exit}, 0}, {[]string{exit, core}, 0}, {[]string{core, exit, exit}, 1}, {[]string{core, later}, 1}} {
		crashes := Open(filepath.Join(t.TempDir(), "crashes.json"), "")
		w := &watcher{c: crashes, journal: logs.Journal{Program: "/bin/false"}, pending: map[string]*time.Timer{}, taken: map[string]time.Time{}}
		for _, line := range c.lines {
			w.take(t.Context(), []byte(line))
		}
		if list, _, _ := crashes.List(); len(list) != 1 || list[0].Count != 1 || len(w.pending) != c.pending {
			t.Errorf("%d events: %d records, %d ends wait for a core, want %d", len(c.lines), len(list), len(w.pending), c.pending)
		}
		w.settle("nginx.service")
	}
}
