package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestCoresInAFolderBecomeRecords(t *testing.T) {
	dir := t.TempDir()
	program := write(t, filepath.Join(dir, "pstack"), `#!/bin/sh
echo "core '$1' of 812:	/usr/sbin/nginx"
echo " fffffd7fff1a5d2a epoll_wait (3, 4, 5)"
echo " 000000000046ca11 ngx_process_events_and_timers () + 41"
`)
	if err := os.Chmod(program, 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	for i, name := range []string{"core.nginx.812", "core.nginx.813", "core.ls.9", "other"} {
		path := write(t, filepath.Join(dir, name), "core")
		at := old.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	c := Open(filepath.Join(dir, "crashes.json"), "1")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); c.WatchCores(ctx, dir, program) }()
	deadline := time.Now().Add(10 * time.Second)
	for {
		list, _, _ := c.List()
		if len(list) == 1 && list[0].Count == 2 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%+v", list)
		}
		time.Sleep(20 * time.Millisecond)
	}
	cancel()
	<-ended
	list, _, _ := c.List()
	if got := fmt.Sprint(frames(list[0].Stacks)); list[0].Service != "nginx" || list[0].PID != 813 || got != "[epoll_wait ngx_process_events_and_timers]" {
		t.Errorf("%+v %s", list[0], got)
	}
	for i := range 30 {
		write(t, filepath.Join(dir, fmt.Sprintf("core.nginx.%d", 1000+i)), "core")
	}
	c.newCores(dir, map[string]time.Time{})
	if left, _ := filepath.Glob(filepath.Join(dir, "core.*")); len(left) != maxCores {
		t.Errorf("%d cores are kept", len(left))
	}
}

func TestKernelDumpsBecomeRecords(t *testing.T) {
	dir := t.TempDir()
	messages := write(t, filepath.Join(dir, "messages"), "Nov  1 10:00:00 tank savecore: [ID 570001 auth.error] reboot after panic: an older one\n"+
		"Nov 21 10:00:00 tank savecore: [ID 570001 auth.error] reboot after panic: BAD TRAP: type=e (#pf Page fault) rp=fffffe00 addr=28\n"+
		"Nov 21 10:00:09 tank savecore: [ID 385089 auth.error] Saving compressed system crash dump in /var/crash/tank/vmdump.1\n")
	if err := os.MkdirAll(filepath.Join(dir, "crash/tank"), 0o700); err != nil {
		t.Fatal(err)
	}
	pattern := filepath.Join(dir, "crash/*/vmdump.*")
	put := func(n int, age time.Duration) string {
		path := write(t, filepath.Join(dir, fmt.Sprintf("crash/tank/vmdump.%d", n)), "\x00binary")
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write(t, filepath.Join(dir, "crash/tank/bounds"), "2\n")
	path := put(1, time.Hour)
	put(2, time.Second) // still being written
	c := Open(filepath.Join(dir, "crashes.json"), "1")
	look := func() []Record {
		c.noticeDumps(messages, time.Now().Add(-dumpSettled), pattern)
		list, _, _ := c.List()
		return list
	}
	look()
	list := look()
	if len(list) != 1 || list[0].Count != 1 || list[0].Kind != KindKernel || list[0].Core != path ||
		!strings.HasPrefix(list[0].Reason, "BAD TRAP: type=e") || strings.Contains(list[0].Stacks, "binary") {
		t.Fatalf("%+v", list)
	}
	put(2, 2*time.Minute)
	// After supportd was started anew it is known which were told.
	c = Open(filepath.Join(dir, "crashes.json"), "1")
	if list = look(); list[0].Count != 2 && len(list) != 2 {
		t.Errorf("the second dump is not told: %+v", list)
	}
	// Without a log there is still the dump.
	c = Open(filepath.Join(dir, "other.json"), "1")
	c.noticeDumps("/nowhere", time.Now(), pattern)
	if list, _, _ := c.List(); len(list) == 0 || list[0].Reason != "The kernel stopped" {
		t.Errorf("%+v", list)
	}
}
