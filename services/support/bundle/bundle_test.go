package bundle

import (
	"archive/tar"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/support/collect"

	"github.com/klauspost/compress/zstd"
)

// The kinds of step, by short names.
var run, files, ask = collect.Command, collect.Files, collect.Ask

func maker(t *testing.T, steps ...collect.Step) *Maker {
	t.Helper()
	m := &Maker{Dir: t.TempDir(), MemoryDir: t.TempDir(), Steps: steps, Parallel: 3, Keep: 3, KeepSize: 1 << 30, Version: "test"}
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	return m
}

// made starts a bundle and waits for its end.
func made(t *testing.T, m *Maker) Bundle {
	t.Helper()
	b, err := m.Start(Options{Place: PlacePool})
	if err != nil {
		t.Fatal(err)
	}
	m.making.Wait()
	b, err = m.Get(b.ID)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	_, sum, err := fileSum(path)
	if err != nil {
		t.Fatal(err)
	}
	return sum
}

func unpack(t *testing.T, path string) map[string]string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	zipped, err := zstd.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for archive := tar.NewReader(zipped); ; {
		header, err := archive.Next()
		if err == io.EOF {
			return found
		}
		content, readErr := io.ReadAll(archive)
		if err := errors.Join(err, readErr); err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(header.Name, "/")
		found[name] = string(content)
	}
}

func TestFailedAndHangingStepsAreRecordedAndTheRestIsThere(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "conf")
	if err := os.WriteFile(secret, []byte("host=mail\npassword="+canary+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hang := run("a", "hang.txt", 300*time.Millisecond, "sh", "-c", "echo before; sleep 60")
	flood := run("a", "flood.txt", 10*time.Second, "head", "-c", "100000", "/dev/zero")
	flood.Limit = 1000
	m := maker(t, run("a", "good.txt", 10*time.Second, "echo", "hello"), hang, flood,
		run("a", "fails.txt", 10*time.Second, "sh", "-c", "echo partly; echo why >&2; exit 3"),
		run("b", "absent.txt", 10*time.Second, "no-such-program"), files("b", "conf.txt", secret), files("b", "none.txt", "/no/such/file"))
	b := made(t, m)
	if b.State != "done" || b.Percent != 100 || b.SHA256 != sumOf(t, m.Archive(b.ID)) {
		t.Fatalf("the bundle: %+v", b)
	}
	found := unpack(t, m.Archive(b.ID))
	var manifest struct{ Steps []StepState }
	if err := json.Unmarshal([]byte(found["manifest.json"]), &manifest); err != nil {
		t.Fatal(err)
	}
	states := map[string]string{}
	for _, s := range manifest.Steps {
		states[s.Name] = s.State
		if s.State != "done" && s.Error == "" {
			t.Errorf("%s %s without a reason", s.Name, s.State)
		}
		if s.State != "done" && !strings.Contains(found["README"], s.Name) {
			t.Errorf("the README does not name %s", s.Name)
		}
	}
	want := map[string]string{"good.txt": "done", "hang.txt": "timeout", "flood.txt": "failed", "fails.txt": "failed", "absent.txt": "failed", "conf.txt": "done", "none.txt": "failed"}
	if fmt.Sprint(states) != fmt.Sprint(want) {
		t.Errorf("states %v, want %v", states, want)
	}
	if found["a/good.txt"] != "hello\n" || !strings.HasPrefix(found["a/hang.txt"], "before") || len(found["a/flood.txt"]) != 1000 || !strings.HasPrefix(found["a/fails.txt"], "partly") {
		t.Errorf("contents: %q", found)
	}
	for name, content := range found {
		if strings.Contains(content, canary) {
			t.Errorf("%s holds the secret", name)
		}
	}
	if !strings.Contains(found["b/conf.txt"], "host=mail") {
		t.Errorf("conf.txt is %q", found["b/conf.txt"])
	}
}

func TestOldestGoFirstAndRestartKeepsTheRest(t *testing.T) {
	m := maker(t, run("a", "x", time.Minute, "echo", "x"))
	var last Bundle
	for range 5 {
		last = made(t, m)
	}
	if list := m.List(); len(list) != 3 || list[0].ID != last.ID {
		t.Fatalf("kept %d", len(list))
	}
	again := &Maker{Dir: m.Dir, MemoryDir: t.TempDir(), Keep: 3}
	if err := again.Open(); err != nil || len(again.List()) != 3 || again.List()[0].ID != last.ID {
		t.Fatalf("after a restart: %v %v", again.List(), err)
	}
}

func TestInterruptedBundleIsFailedAfterRestart(t *testing.T) {
	m := maker(t)
	if err := m.save(&kept{dir: m.Dir, Bundle: Bundle{ID: "00ff", State: "building", CreatedAt: time.Now()}}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"00ff.part", "00ff.tar.zst.new", "00ff.json.new"} {
		if err := os.WriteFile(filepath.Join(m.Dir, name), []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	again := &Maker{Dir: m.Dir, MemoryDir: t.TempDir(), Keep: 3}
	if err := again.Open(); err != nil {
		t.Fatal(err)
	}
	if left, _ := filepath.Glob(filepath.Join(m.Dir, "*.[pn]*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if b, err := again.Get("00ff"); err != nil || b.State != "failed" || b.Error == "" {
		t.Fatalf("got %+v, %v", b, err)
	}
}
