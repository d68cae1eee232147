package crash

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cistern/services/platform/illumos/commands/fake"
)

func TestCoresInAFolderBecomeRecords(t *testing.T) {
	dir := t.TempDir()
	credential, err := fake.Credential("../../../smf/manifest/supportd.xml")
	if err != nil {
		t.Fatal(err)
	}
	m := fake.New(t, credential)
	program := filepath.Join(m.Root, "pstack")
	m.Program("pstack", `echo "core '$1' of 812:	/usr/sbin/nginx"
echo " fffffd7fff1a5d2a epoll_wait (3, 4, 5)"
echo " 000000000046ca11 ngx_process_events_and_timers () + 41"
`)
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
