package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/support/collect"
)

func TestKernelCrashIsNoticedOnce(t *testing.T) {
	dir := t.TempDir()
	c := Open(filepath.Join(dir, "crashes.json"), "")
	write(t, filepath.Join(dir, "pstore/1/dmesg.txt"), "<0>[1.0] Kernel panic - not syncing: Attempted to kill init!\nCall Trace:\n")
	files := gathered(t, collect.CrashFiles{Kind: collect.KernelMessage, Patterns: []string{filepath.Join(dir, "pstore/*/*.txt")}, Limit: 1 << 10})
	for range 2 {
		c.NoticeKernel(t.Context(), files)
	}
	if list, _, _ := c.List(); len(list) != 1 || list[0].Count != 1 || !strings.HasPrefix(list[0].Reason, "Kernel panic - not syncing") {
		t.Errorf("%+v", list)
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
	files := gathered(t, collect.CrashFiles{Kind: collect.KernelDump, Patterns: []string{pattern}})
	dumps := func() []collect.CrashFile {
		list, err := files.CrashFiles(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return list
	}
	look := func() []Record {
		c.noticeDumps(dumps(), messages, time.Now().Add(-dumpSettled))
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
	// After a restart it is known which have a record.
	c = Open(filepath.Join(dir, "crashes.json"), "1")
	if list = look(); list[0].Count != 2 && len(list) != 2 {
		t.Errorf("the second dump has no record: %+v", list)
	}
	// Without a log there is still the dump.
	c = Open(filepath.Join(dir, "other.json"), "1")
	c.noticeDumps(dumps(), "/nowhere", time.Now())
	if list, _, _ := c.List(); len(list) == 0 || list[0].Reason != "The kernel stopped" {
		t.Errorf("%+v", list)
	}
	// The dump itself is for root.
	if in, err := files.OpenCrashFile(t.Context(), path); err == nil {
		in.Close()
		t.Error("a kernel's memory was given")
	}
}
