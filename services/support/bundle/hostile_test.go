package bundle

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/support/collect"

	"filippo.io/age"
	"golang.org/x/sys/unix"
)

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What must not take a bundle with it, nor its memory: a program that prints for ever, a log of 10 GB, a program that
// does not end when asked to, one that leaves a child behind, a pipe that nobody writes to, a step of ours that fails.
func TestHostileSteps(t *testing.T) {
	dir := t.TempDir()
	log := write(t, filepath.Join(dir, "log"), "")
	f, err := os.OpenFile(log, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteAt([]byte("\nthe last line\n"), 10<<30); err != nil {
		t.Fatal(err)
	}
	f.Close()
	pipe := filepath.Join(dir, "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	mark := filepath.Join(dir, "pids")
	forever := run("a", "forever.txt", 10*time.Minute, "sh", "-c", "yes aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | head -c 400000000")
	forever.Limit = 300 << 20
	endless := run("a", "endless.txt", 2*time.Second, "yes", "and on")
	stubborn := run("a", "stubborn.txt", 500*time.Millisecond, "sh", "-c", `trap "" TERM INT HUP; (trap "" TERM; echo $$ >`+mark+`; sleep 600) & echo begun; while :; do sleep 1; done`)
	hangs := collect.Step{Name: "hangs.txt", Category: "a", Deadline: 300 * time.Millisecond, Limit: 100, Collect: func(_ context.Context, _ int64, w io.Writer) error {
		_, _ = io.WriteString(w, "something\n")
		time.Sleep(6 * time.Second) // as a read from a dying disk: it does not hear of the deadline
		for range 100 {
			_, _ = w.Write([]byte("late\n"))
		}
		return nil
	}}
	panics := collect.Step{Name: "panics.txt", Category: "a", Deadline: time.Second, Limit: 100, Collect: func(context.Context, int64, io.Writer) error { panic("oops") }}
	m := maker(t, forever, endless, stubborn, hangs, panics, files("a", "log.txt", log), files("a", "pipe.txt", pipe), run("a", "after.txt", time.Minute, "echo", "here"))

	var peak atomic.Uint64
	stop := make(chan struct{})
	go func() {
		for {
			var s runtime.MemStats
			runtime.ReadMemStats(&s)
			peak.Store(max(peak.Load(), s.HeapInuse+s.StackInuse))
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	started := time.Now()
	b := made(t, m)
	close(stop)
	took := time.Since(started)
	for _, s := range b.Steps {
		if s.Name == forever.Name {
			// It ends at its limit, after as many megabytes as it takes: how soon is the machine's affair.
			took -= time.Duration(s.Seconds * float64(time.Second))
		}
	}
	if took > 60*time.Second {
		t.Errorf("the other steps took %v", took)
	}
	if used := peak.Load(); used > 100<<20 {
		t.Errorf("%d MB of memory in use", used>>20)
	}
	t.Logf("at most %d MB in use, %d MB collected, %d kB archive", peak.Load()>>20, 300, b.Bytes>>10)
	if b.State != "done" {
		t.Fatalf("%+v", b)
	}
	want := map[string]string{"forever.txt": "failed", "endless.txt": "timeout", "stubborn.txt": "timeout", "hangs.txt": "timeout", "panics.txt": "failed", "log.txt": "done", "pipe.txt": "failed", "after.txt": "done"}
	for _, s := range b.Steps {
		if s.State != want[s.Name] || s.State != "done" && s.Error == "" {
			t.Errorf("%s is %s (%s), want %s", s.Name, s.State, s.Error, want[s.Name])
		}
	}
	found := unpack(t, m.Archive(b.ID))
	if len(found["a/forever.txt"]) != 300<<20 || !strings.HasSuffix(found["a/log.txt"], "the last line\n\n") || found["a/after.txt"] != "here\n" || found["a/hangs.txt"] != "something\n" {
		t.Errorf("contents: forever %d bytes, log …%q, after %q, hangs %q", len(found["a/forever.txt"]), found["a/log.txt"][max(0, len(found["a/log.txt"])-40):], found["a/after.txt"], found["a/hangs.txt"])
	}
	if pid, err := os.ReadFile(mark); err != nil {
		t.Error(err)
	} else if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Errorf("the process %s of a step that was cut lives on", strings.TrimSpace(string(pid)))
	}
}

// A suspended pool may hang each command that asks for pools: the first takes its whole time, the others a moment each.
func TestWhatHangsForAllIsWaitedForOnce(t *testing.T) {
	locked := func(name string) collect.Step {
		step := run("zfs", name, 2*time.Second, "sleep", "600")
		step.Lock = "zfs"
		return step
	}
	short := locked("short.txt")
	short.Deadline = 50 * time.Millisecond
	other := run("a", "other.txt", time.Second, "sleep", "600")
	m := maker(t, locked("first.txt"), locked("second.txt"), locked("third.txt"), short, other)
	m.Parallel, m.AfterHang = 1, 200*time.Millisecond
	want := []string{
		"did not finish in 2s; what it had given until then was kept",
		"did not finish in 200ms, which is all that it was given after zfs/first.txt hung; what it had given until then was kept",
		"did not finish in 200ms, which is all that it was given after zfs/first.txt hung; what it had given until then was kept",
		"did not finish in 50ms; what it had given until then was kept",
		"did not finish in 1s; what it had given until then was kept",
	}
	for i, s := range made(t, m).Steps {
		if s.State != "timeout" || s.Error != want[i] {
			t.Errorf("%s: %s, %q, want %q", s.Name, s.State, s.Error, want[i])
		}
	}
}

func TestAFullPoolSendsTheBundleToMemory(t *testing.T) {
	m := maker(t, run("a", "x.txt", time.Second, "echo", "x"))
	real := statfs
	t.Cleanup(func() { statfs = real })
	statfs = func(dir string) (int64, error) {
		if dir == m.Dir {
			return 100 << 10, nil
		}
		return 1 << 30, nil
	}
	b, err := m.Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	m.making.Wait()
	b, _ = m.Get(b.ID)
	if b.State != "done" || b.Place != PlaceMemory || !strings.Contains(b.Note, "in memory") || filepath.Dir(m.Archive(b.ID)) != m.MemoryDir {
		t.Fatalf("%+v", b)
	}
	if found := unpack(t, m.Archive(b.ID)); found["a/x.txt"] != "x\n" || !strings.Contains(found["README"], "in memory") {
		t.Errorf("%q", found)
	}
	if _, err := m.Start(Options{Place: PlacePool}); !errors.Is(err, errNoRoom) {
		t.Errorf("a full pool was taken: %v", err)
	}
}

// When room ends in the middle, what does not fit is named, and the archive is whole.
func TestNoRoomForAStep(t *testing.T) {
	big := collect.Step{Name: "big.bin", Category: "a", Deadline: 10 * time.Second, Limit: 8 << 20, Binary: true, Collect: func(_ context.Context, _ int64, w io.Writer) error {
		f, err := os.Open("/dev/urandom")
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.CopyN(w, f, 4<<20)
		return err
	}}
	m := maker(t, run("a", "small.txt", time.Second, "echo", "small"), big, run("a", "last.txt", time.Second, "echo", "last"))
	m.Parallel = 1
	real := statfs
	t.Cleanup(func() { statfs = real })
	statfs = func(string) (int64, error) { return keptFree + 2<<20, nil }
	b := made(t, m)
	found := unpack(t, m.Archive(b.ID))
	if b.State != "done" || b.Steps[1].State != "failed" || !strings.Contains(b.Steps[1].Error, "no room") {
		t.Fatalf("%+v", b)
	}
	if _, there := found["a/big.bin"]; there || found["a/small.txt"] != "small\n" || found["a/last.txt"] != "last\n" || !strings.Contains(found["README"], "big.bin") {
		t.Errorf("%d entries", len(found))
	}
}

func TestRetryRunsOnlyWhatFailed(t *testing.T) {
	dir := t.TempDir()
	m := maker(t, run("a", "good.txt", time.Second, "sh", "-c", "echo once >>"+dir+"/runs; echo good"), run("a", "later.txt", time.Second, "cat", dir+"/later"))
	b := made(t, m)
	if b.failed() != 1 {
		t.Fatalf("%+v", b.Steps)
	}
	write(t, dir+"/later", "now it is there\n")
	if _, err := m.Retry(b.ID); err != nil {
		t.Fatal(err)
	}
	m.making.Wait()
	again, _ := m.Get(b.ID)
	found := unpack(t, m.Archive(b.ID))
	if again.State != "done" || again.failed() != 0 || found["a/later.txt"] != "now it is there\n" || found["a/good.txt"] != "good\n" || again.SHA256 != sumOf(t, m.Archive(b.ID)) {
		t.Fatalf("%+v %q", again, found)
	}
	if runs, _ := os.ReadFile(dir + "/runs"); string(runs) != "once\n" {
		t.Errorf("the good step ran again: %q", runs)
	}
	if _, err := m.Retry(b.ID); !errors.Is(err, ErrRequest) {
		t.Errorf("nothing had failed: %v", err)
	}
}

func TestEncryptedToARecipient(t *testing.T) {
	identity, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	m := maker(t, run("a", "x.txt", time.Second, "echo", "inside"))
	if _, err := m.Start(Options{Recipient: "age1nonsense"}); !errors.Is(err, ErrRequest) {
		t.Errorf("nonsense was taken for a recipient: %v", err)
	}
	b, err := m.Start(Options{Recipient: identity.Recipient().String()})
	if err != nil {
		t.Fatal(err)
	}
	m.making.Wait()
	content, err := os.ReadFile(m.Archive(b.ID))
	if err != nil || bytes.Contains(content, []byte("inside")) {
		t.Fatalf("%v, or it is in the clear", err)
	}
	plain, err := age.Decrypt(bytes.NewReader(content), identity)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	if found := unpack(t, write(t, filepath.Join(t.TempDir(), "plain"), string(opened))); found["a/x.txt"] != "inside\n" {
		t.Errorf("%q", found)
	}
	left, _ := filepath.Glob(filepath.Join(m.Dir, "*"))
	for _, path := range left {
		if strings.HasSuffix(path, ".zst") || strings.HasSuffix(path, ".new") || strings.HasSuffix(path, ".part") {
			t.Errorf("%s is left behind", path)
		}
	}
}

func TestCancelLeavesNothing(t *testing.T) {
	m := maker(t, run("a", "long.txt", time.Minute, "sleep", "60"))
	b, err := m.Start(Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Delete(b.ID); err != nil {
		t.Fatal(err)
	}
	m.making.Wait()
	b, _ = m.Get(b.ID)
	left, _ := filepath.Glob(filepath.Join(m.Dir, "*.[tpn]*"))
	if b.State != "cancelled" || len(left) != 0 {
		t.Errorf("%s, left: %v", b.State, left)
	}
}

// akd's state may be anything: the step reports an error, and the rest is there.
func TestADestroyedDatabase(t *testing.T) {
	dir := t.TempDir()
	write(t, dir+"/state.db", strings.Repeat("\x00garbage", 1000))
	broken := collect.Configuration("/bin/false", "x.js", dir, "")
	missing := collect.Configuration("/bin/false", "x.js", t.TempDir(), "")
	missing.Name = "missing.json"
	m := maker(t, broken, missing, run("a", "x.txt", time.Second, "echo", "x"))
	b := made(t, m)
	if b.State != "done" || b.Steps[0].State != "failed" || b.Steps[1].State != "failed" || b.Steps[2].State != "done" || !strings.Contains(b.Steps[1].Error, "no database") {
		t.Fatalf("%+v", b)
	}
}

func TestTheViewerHoldsItsData(t *testing.T) {
	day := collect.Step{Name: "last-day.json", Category: "statistics", Deadline: time.Second, Limit: collect.UsualLimit, Collect: func(_ context.Context, _ int64, w io.Writer) error {
		_, err := io.WriteString(w, `{"start":0,"end":86400,"step":300,"charts":[{"title":"</script><b>","unit":"x","series":[]}]}`)
		return err
	}}
	m := maker(t, day)
	b := made(t, m)
	page := unpack(t, m.Archive(b.ID))["viewer.html"]
	if strings.Count(page, "</script>") != 1 || !strings.Contains(page, `\u003c/script>\u003cb>`) || !strings.Contains(page, b.Name) {
		t.Errorf("%s", page)
	}
}

func TestCategoriesAndRequests(t *testing.T) {
	core := collect.Newest("cores", "newest.core", 1<<20, filepath.Join(t.TempDir(), "*"))
	m := maker(t, run("a", "x.txt", time.Second, "echo", "x"), run("b", "y.txt", time.Second, "echo", "y"), core)
	if b := made(t, m); len(b.Steps) != 2 {
		t.Errorf("a core nobody asked for: %+v", b.Steps)
	}
	b, err := m.Start(Options{Categories: []string{"b", "cores"}})
	if err != nil {
		t.Fatal(err)
	}
	m.making.Wait()
	if b, _ = m.Get(b.ID); len(b.Steps) != 2 || b.Steps[0].Name != "y.txt" || b.Steps[1].State != "done" {
		t.Errorf("%+v", b.Steps)
	}
	for _, o := range []Options{{Categories: []string{"none"}}, {Place: "moon"}} {
		if _, err := m.Start(o); !errors.Is(err, ErrRequest) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
