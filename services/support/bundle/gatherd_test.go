package bundle

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/daemon/unixsocket"
	"cistern/services/support/collect"
)

// gatherd is one that takes these steps, until the test ends or stop is called.
func gatherd(t *testing.T, server *collect.Server) (c *collect.Client, stop func()) {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{ConnContext: unixsocket.ConnContext, Handler: server.Handler([]int{os.Getuid()})}
	go func() { _ = web.Serve(listener) }()
	stop = func() { web.Close() }
	t.Cleanup(stop)
	return &collect.Client{Socket: socket}, stop
}

func ofRoot(s collect.Step) collect.Step {
	s.Root = true
	return s
}

// What root reads comes without secrets, too; when gatherd is gone the rest is there, and what is missing says why.
func TestStepsOfRoot(t *testing.T) {
	dir := t.TempDir()
	conf := write(t, filepath.Join(dir, "conf"), "host=mail\npassword="+canary+"\n")
	asked := ofRoot(files("a", "conf.txt", conf))
	made2 := ofRoot(run("a", "refined.txt", 10*time.Second, "echo", "raw"))
	made2.Refine = func(_ context.Context, raw io.Reader, w io.Writer) error {
		content, err := io.ReadAll(raw)
		_, _ = io.WriteString(w, "refined "+string(content))
		return err
	}
	hangs := ofRoot(run("a", "hangs.txt", 300*time.Millisecond, "sh", "-c", "echo begun; sleep 60"))
	m := maker(t, asked, made2, hangs, run("a", "own.txt", 10*time.Second, "echo", "mine"))
	var stop func()
	m.Gatherd, stop = gatherd(t, &collect.Server{Steps: collect.OfRoot(m.Steps)})
	b := made(t, m)
	found := unpack(t, m.Archive(b.ID))
	if b.failed() != 1 || b.Steps[2].State != "timeout" || !strings.HasPrefix(found["a/hangs.txt"], "begun") {
		t.Errorf("%+v", b.Steps)
	}
	if !strings.Contains(found["a/conf.txt"], "host=mail") || strings.Contains(found["a/conf.txt"], canary) || found["a/refined.txt"] != "refined raw\n" || found["a/own.txt"] != "mine\n" {
		t.Errorf("%q", found)
	}

	stop()
	b = made(t, m)
	found = unpack(t, m.Archive(b.ID))
	if b.State != "done" || b.failed() != 3 || found["a/own.txt"] != "mine\n" {
		t.Fatalf("%+v", b)
	}
	for _, s := range b.Steps[:3] {
		if s.State != "failed" || !strings.HasPrefix(s.Error, "gatherd, which alone may collect this, does not answer: ") || !strings.Contains(found["README"], s.Error) {
			t.Errorf("%+v\n%s", s, found["README"])
		}
	}
}

// One step finds out that gatherd hangs; the others do not wait for it.
func TestAGatherdThatHangs(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	var asked atomic.Int64
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			asked.Add(1)
			defer connection.Close()
		}
	}()
	m := maker(t, ofRoot(run("a", "first.txt", 200*time.Millisecond, "echo", "x")), ofRoot(run("a", "second.txt", time.Minute, "echo", "x")), run("a", "own.txt", time.Minute, "echo", "mine"))
	m.Gatherd, m.Parallel = &collect.Client{Socket: socket}, 1
	b := made(t, m)
	for _, s := range b.Steps[:2] {
		if s.State != "failed" || !strings.HasPrefix(s.Error, "gatherd, which alone may collect this, does not answer: ") {
			t.Errorf("%+v", s)
		}
	}
	if n := asked.Load(); n != 1 || b.Steps[2].State != "done" {
		t.Errorf("it was asked %d times; %+v", n, b.Steps[2])
	}
}

// The bundle is made here, and nothing of it stays here.
func TestABundleForADisk(t *testing.T) {
	disk := t.TempDir()
	m := maker(t, run("a", "x.txt", 10*time.Second, "echo", "x"))
	disks := []collect.Disk{{Device: "sdb1"}}
	real := pluggedIn
	t.Cleanup(func() { pluggedIn = real })
	pluggedIn = func() ([]collect.Disk, error) { return disks, nil }
	if _, err := m.Start(Options{Place: PlaceUSB}); err == nil {
		t.Error("it was begun without gatherd")
	}
	// It is tried, and written to, for each bundle; the second one does not arrive.
	unmounts := 0
	m.Gatherd, _ = gatherd(t, &collect.Server{Disks: &collect.Disks{List: pluggedIn, Dir: disk, Mount: func(string, string) (func() error, error) {
		return func() error {
			if unmounts++; unmounts == 4 {
				return io.ErrShortWrite
			}
			return nil
		}, nil
	}}})
	write := func() Bundle {
		b, err := m.Start(Options{Place: PlaceUSB})
		if err != nil {
			t.Fatal(err)
		}
		m.making.Wait()
		b, _ = m.Get(b.ID)
		return b
	}
	b := write()
	if b.State != "done" || b.Place != PlaceUSB || b.Device != "sdb1" || b.SHA256 != sumOf(t, filepath.Join(disk, b.File)) || unpack(t, filepath.Join(disk, b.File))["a/x.txt"] != "x\n" {
		t.Errorf("%+v", b)
	}
	if b = write(); b.State != "failed" || !strings.Contains(b.Error, "The disk sdb1 cannot be written to") {
		t.Errorf("%+v", b)
	}
	for _, dir := range []string{m.Dir, m.MemoryDir} {
		if left, _ := filepath.Glob(filepath.Join(dir, "*.[tpn]*")); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
	disks = nil
	if _, err := m.Start(Options{Place: PlaceUSB}); err == nil || !strings.Contains(err.Error(), "no removable disk") {
		t.Errorf("%v", err)
	}
}
