package crash

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"cistern/services/daemon/unixsocket"
	"cistern/services/platform/illumos/commands/fake"
	"cistern/services/support/collect"
)

// gathered is gatherd for these files.
func gathered(t *testing.T, kinds ...collect.CrashFiles) *collect.Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ConnContext: unixsocket.ConnContext, Handler: (&collect.Server{Crashes: kinds}).Handler([]int{os.Getuid()})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	return &collect.Client{Socket: socket}
}

func TestCoresInAFolderBecomeRecords(t *testing.T) {
	dir := t.TempDir()
	credential, err := fake.Credential("../../../smf/manifest/supportd.xml")
	if err != nil {
		t.Fatal(err)
	}
	m := fake.New(t, credential)
	program := filepath.Join(m.Root, "pstack")
	m.Program("pstack", `read -r content <"$1"; [ "$content" = core ] || exit 1
echo "core '$1' of 812:	/usr/sbin/nginx"
echo " fffffd7fff1a5d2a epoll_wait (3, 4, 5)"
echo " 000000000046ca11 ngx_process_events_and_timers () + 41"
`)
	old := time.Now().Add(-time.Minute)
	for i, name := range []string{"core.nginx.812", "core.nginx.813", "core.ls.9", "other"} {
		path := write(t, filepath.Join(dir, name), "core\n")
		at := old.Add(time.Duration(i) * time.Second)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	files := gathered(t, collect.CrashFiles{Kind: collect.Core, Patterns: []string{filepath.Join(dir, "core.*.*")}, Most: 10, Limit: 1 << 20})
	c := Open(filepath.Join(dir, "crashes.json"), "1")
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); c.WatchCores(ctx, files, t.TempDir(), program) }()
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
	if _, err := files.CrashFiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "core.*")); len(left) != 10 {
		t.Errorf("%d cores are kept", len(left))
	}
}
