package collect

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/daemon/unixsocket"
)

// serve is gatherd with these steps, asked by processes with the user id.
func serve(t *testing.T, uid int, server *Server) *Client {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	web := &http.Server{ConnContext: unixsocket.ConnContext, Handler: server.Handler([]int{uid})}
	go func() { _ = web.Serve(listener) }()
	t.Cleanup(func() { web.Close() })
	return &Client{Socket: socket}
}

func step(name string, collect func(ctx context.Context, limit int64, w io.Writer) error) Step {
	return Step{Category: "a", Name: name, Deadline: 10 * time.Second, Limit: 1000, Root: true, Collect: collect}
}

func says(text string) func(context.Context, int64, io.Writer) error {
	return func(_ context.Context, _ int64, w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}
}

func taken(c *Client, s Step) (string, error) {
	var out bytes.Buffer
	err := c.Raw(context.Background(), &s, &out)
	return out.String(), err
}

func TestStepsAreTakenByName(t *testing.T) {
	fails := step("fails", func(_ context.Context, _ int64, w io.Writer) error {
		_, _ = io.WriteString(w, "partly")
		return errors.New("two lines\nof 100 % wörds")
	})
	panics := step("panics", func(context.Context, int64, io.Writer) error { panic("oops") })
	own := step("own", says("what supportd reads itself"))
	own.Root = false
	c := serve(t, os.Getuid(), &Server{Steps: []Step{step("good", says("hello")), step("none", func(context.Context, int64, io.Writer) error { return ErrNothing }), fails, panics, own}})
	if text, err := taken(c, step("good", nil)); text != "hello" || err != nil {
		t.Errorf("%q %v", text, err)
	}
	if text, err := taken(c, step("none", nil)); text != "" || !errors.Is(err, ErrNothing) {
		t.Errorf("%q %v", text, err)
	}
	if text, err := taken(c, fails); text != "partly" || err == nil || err.Error() != "two lines\nof 100 % wörds" {
		t.Errorf("%q %v", text, err)
	}
	if _, err := taken(c, panics); err == nil || !strings.Contains(err.Error(), "oops") {
		t.Errorf("%v", err)
	}
	// What is asked for is a name, never more.
	for _, name := range []string{"no-such", "own", "../a/good", "good?limit=5", "good/more"} {
		if text, err := taken(c, step(name, nil)); err == nil || text != "" || !strings.Contains(err.Error(), "There is no step 'a/"+name+"'.") && !strings.Contains(err.Error(), "gatherd answered 404") {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

func TestForeignUsersAreRefused(t *testing.T) {
	c := serve(t, os.Getuid()+1, &Server{Steps: []Step{step("good", says("hello"))}, Crashes: []CrashFiles{{Kind: Core, Patterns: []string{"/etc/passwd"}, Limit: 1 << 20}}, Disks: OfThisMachine(t.TempDir())})
	_, step := taken(c, step("good", says("hello")))
	_, list := c.CrashFiles(t.Context())
	_, open := c.OpenCrashFile(t.Context(), "/etc/passwd")
	for what, err := range map[string]error{"a step": step, "crash files": list, "a crash file": open, "a disk": c.TryDisk(t.Context(), "sda"),
		"a bundle": c.CopyToDisk(t.Context(), "sda", "x.tar.zst", strings.NewReader("x"), 1)} {
		if err == nil || !strings.Contains(err.Error(), "for supportd only") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A step that does not keep to its limit is cut, and who asks is told; who asks does not take more either.
func TestOutputIsCutAtTheLimit(t *testing.T) {
	ended := make(chan error, 1)
	c := serve(t, os.Getuid(), &Server{Steps: []Step{step("floods", func(_ context.Context, _ int64, w io.Writer) error {
		for {
			if _, err := w.Write(bytes.Repeat([]byte("x"), 700)); err != nil {
				ended <- err
				return nil
			}
		}
	}), step("fits", says(strings.Repeat("y", 1000)))}})
	floods := step("floods", nil)
	if text, err := taken(c, floods); len(text) != 1000 || !errors.Is(err, ErrCut) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	if err := <-ended; !errors.Is(err, ErrCut) {
		t.Errorf("the step was told %v", err)
	}
	if text, err := taken(c, step("fits", nil)); len(text) != 1000 || err != nil {
		t.Errorf("%d bytes, %v", len(text), err)
	}
	floods.Limit = 100
	if text, err := taken(c, floods); len(text) != 100 || !errors.Is(err, ErrCut) {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

// A read from a dying disk hears of no deadline: what it gave is kept, and it is not begun a second time.
func TestAStepThatHangsIsLeftBehind(t *testing.T) {
	goesOn, wrote := make(chan struct{}), make(chan error, 1)
	hangs := step("hangs", func(_ context.Context, _ int64, w io.Writer) error {
		_, _ = io.WriteString(w, "something")
		<-goesOn
		_, err := io.WriteString(w, "late")
		wrote <- err
		return nil
	})
	hangs.Deadline = 100 * time.Millisecond
	server := &Server{Steps: []Step{hangs, step("good", says("hello"))}}
	c := serve(t, os.Getuid(), server)
	if text, err := taken(c, hangs); text != "something" || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%q %v", text, err)
	}
	if _, err := taken(c, hangs); err == nil || !strings.Contains(err.Error(), "has not ended") {
		t.Errorf("begun a second time: %v", err)
	}
	if text, err := taken(c, step("good", nil)); text != "hello" || err != nil {
		t.Errorf("another step: %q %v", text, err)
	}
	close(goesOn)
	if err := <-wrote; !errors.Is(err, errLeftBehind) {
		t.Errorf("it wrote into what was answered: %v", err)
	}
}

// Who asks does not wait longer than the step may take, also for a gatherd that is stopped.
func TestAGatherdThatHangs(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	one := step("good", nil)
	var away *AwayError
	if err := (&Client{Socket: socket}).Raw(ctx, &one, io.Discard); !errors.As(err, &away) || !away.Hangs {
		t.Errorf("%v", err)
	}
	if err := (&Client{Socket: socket + "x"}).Raw(t.Context(), &one, io.Discard); !errors.As(err, &away) || away.Hangs {
		t.Errorf("%v", err)
	}
}

const childSocket = "GATHERD_TEST_SOCKET"

// TestMain is a gatherd, which the test below kills, when it is told a socket.
func TestMain(m *testing.M) {
	socket := os.Getenv(childSocket)
	if socket == "" {
		os.Exit(m.Run())
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		os.Exit(1)
	}
	server := &Server{Steps: []Step{endless}}
	_ = (&http.Server{ConnContext: unixsocket.ConnContext, Handler: server.Handler([]int{os.Getuid()})}).Serve(listener)
}

var endless = Step{Category: "a", Name: "endless", Deadline: time.Minute, Limit: 1 << 40, Root: true, Collect: func(_ context.Context, _ int64, w io.Writer) error {
	for {
		if _, err := w.Write([]byte("and on\n")); err != nil {
			return err
		}
	}
}}

// killer kills a process when something of a step has come.
type killer struct {
	process *os.Process
	got     int
}

func (k *killer) Write(p []byte) (int, error) {
	if k.got == 0 {
		_ = k.process.Kill()
	}
	k.got += len(p)
	return len(p), nil
}

func TestAGatherdThatIsKilledInTheMiddle(t *testing.T) {
	socket := filepath.Join(t.TempDir(), "s")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childSocket+"="+socket)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	})
	for deadline := time.Now().Add(time.Minute); ; {
		connection, err := net.Dial("unix", socket)
		if err == nil {
			connection.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	out := &killer{process: child.Process}
	if err := (&Client{Socket: socket}).Raw(t.Context(), &endless, out); !errors.Is(err, errEnded) || out.got == 0 {
		t.Errorf("%d bytes, %v", out.got, err)
	}
}

// A disk that is a folder: it is mounted, written to, and unmounted, once at a time.
func TestABundleIsCopiedToADisk(t *testing.T) {
	dir := t.TempDir()
	var mounted atomic.Int64
	disks := &Disks{List: func() ([]Disk, error) { return []Disk{{Device: "sdb1"}}, nil }, Dir: dir, Mount: func(device, at string) (func() error, error) {
		if device != "/dev/sdb1" || at != dir {
			t.Errorf("%s at %s", device, at)
		}
		mounted.Add(1)
		return func() error { mounted.Add(-1); return nil }, nil
	}}
	c := serve(t, os.Getuid(), &Server{Disks: disks})
	if err := c.TryDisk(t.Context(), "sdb1"); err != nil {
		t.Error(err)
	}
	if err := c.CopyToDisk(t.Context(), "sdb1", "cistern-x.tar.zst", strings.NewReader("bundle"), 6); err != nil {
		t.Error(err)
	}
	if content, err := os.ReadFile(filepath.Join(dir, "cistern-x.tar.zst")); string(content) != "bundle" {
		t.Errorf("%q %v", content, err)
	}
	for name, err := range map[string]error{"another disk": c.TryDisk(t.Context(), "sda"), "a path": c.CopyToDisk(t.Context(), "sdb1", "../x.tar.zst", strings.NewReader("x"), 1),
		"what is no bundle": c.CopyToDisk(t.Context(), "sdb1", "x.sh", strings.NewReader("x"), 1), "half of one": c.CopyToDisk(t.Context(), "sdb1", "y.tar.zst", io.LimitReader(strings.NewReader("xx"), 2), 4)} {
		if err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	// A link on the disk does not lead out of it.
	outside := write(t, filepath.Join(t.TempDir(), "outside"), "precious")
	if err := os.Symlink(outside, filepath.Join(dir, "z.tar.zst.new")); err != nil {
		t.Fatal(err)
	}
	if err := c.CopyToDisk(t.Context(), "sdb1", "z.tar.zst", strings.NewReader("x"), 1); err == nil {
		t.Error("a link was written through")
	}
	if content, _ := os.ReadFile(outside); string(content) != "precious" {
		t.Errorf("%q", content)
	}
	// Who was cut off is not waited for.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		left, _ := filepath.Glob(filepath.Join(dir, "*"))
		if len(left) == 2 && mounted.Load() == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left: %v, %d mounted", left, mounted.Load())
		}
	}
}
