package support

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"cistern/services/platform/golden"
)

var goldenTime = time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)

// goldenCrashes are the golden records, the newest first. They must never change.
func goldenCrashes() []Crash {
	return []Crash{
		{Kind: CrashFatal, Service: "akd", Process: "node", Version: "0.1.0", Reason: "TypeError: x is not a function", FirstAt: goldenTime, LastAt: goldenTime,
			Count: 1, PID: 12, Stacks: "TypeError: x is not a function\n    at handler (file:///opt/cistern/akd/akd.js:1042:17)", Log: []string{"a line"}},
		{Kind: CrashSignal, Service: "nginx", Process: "nginx", Version: "0.1.0", Signal: "SIGSEGV", FirstAt: goldenTime.Add(-time.Hour), LastAt: goldenTime.Add(-time.Minute),
			Count: 2, PID: 11, Stacks: nginxCore, Log: []string{}, Core: "/var/lib/systemd/coredump/core.nginx", Dismissed: true},
	}
}

// Crash records that other versions kept are read.
func TestGoldenCrashes(t *testing.T) {
	golden.Check(t, "crashes", func(t *testing.T) golden.Files {
		path := filepath.Join(t.TempDir(), "crashes.json")
		c := OpenCrashes(path, "0.1.0")
		c.cursor = "s=1;i=2"
		all := goldenCrashes()
		first := all[1]
		first.LastAt = first.FirstAt
		c.Note(first)
		c.Note(all[1])
		list, _, _ := c.List()
		c.Dismiss(list[0].ID)
		c.Note(all[0])
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"crashes.json": content}
	}, func(t *testing.T, files golden.Files) {
		path := filepath.Join(t.TempDir(), "crashes.json")
		if err := os.WriteFile(path, files["crashes.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		c := OpenCrashes(path, "later")
		list, _, _ := c.List()
		want := goldenCrashes()
		if len(list) != len(want) || c.cursor != "s=1;i=2" {
			t.Fatalf("%d records, cursor %q", len(list), c.cursor)
		}
		for i := range want {
			// The same crash is still the same: its fingerprint is what a new one is compared with.
			want[i].ID = fingerprint(&want[i])
			want[i].Alert = want[i].ID
			want[i].Version = list[i].Version
			if !reflect.DeepEqual(list[i], want[i]) {
				t.Errorf("%+v, want %+v", list[i], want[i])
			}
		}
	})
}

// Bundles that other versions made are listed, and their archives read.
func TestGoldenBundle(t *testing.T) {
	step := run("logs", "hello.txt", 10*time.Second, "echo", "hello")
	fails := run("logs", "fails.txt", 10*time.Second, "sh", "-c", "exit 3")
	golden.Check(t, "bundle", func(t *testing.T) golden.Files {
		m := maker(t, step, fails)
		m.Version = "0.1.0"
		b, err := m.Start(Options{Place: PlacePool})
		if err != nil {
			t.Fatal(err)
		}
		m.making.Wait()
		files := golden.Files{}
		for _, name := range []string{b.ID + ".json", b.ID + ".tar.zst"} {
			if files[name], err = os.ReadFile(filepath.Join(m.Dir, name)); err != nil {
				t.Fatal(err)
			}
		}
		return files
	}, func(t *testing.T, files golden.Files) {
		m := &Maker{Dir: t.TempDir(), MemoryDir: t.TempDir(), Steps: []Step{step, fails}, Parallel: 3, Keep: 3, KeepSize: 1 << 30, Version: "later"}
		for name, content := range files {
			if err := os.WriteFile(filepath.Join(m.Dir, name), content, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.Open(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(m.Stop)
		list := m.List()
		if len(list) != 1 {
			t.Fatalf("%d bundles", len(list))
		}
		b := list[0]
		if b.State != "done" || b.Place != PlacePool || b.Percent != 100 || len(b.Steps) != 2 || b.FinishedAt == nil || b.SHA256 != sumOf(t, m.Archive(b.ID)) {
			t.Errorf("%+v", b)
		}
		found := unpack(t, m.Archive(b.ID))
		decoder := json.NewDecoder(bytes.NewReader([]byte(found["manifest.json"])))
		decoder.DisallowUnknownFields()
		var manifest Manifest
		if err := decoder.Decode(&manifest); err != nil {
			t.Fatal(err)
		}
		if manifest.Bundle != b.Name || manifest.Version != "0.1.0" || !manifest.CreatedAt.Equal(b.CreatedAt) || !reflect.DeepEqual(manifest.Steps, b.Steps) {
			t.Errorf("%+v", manifest)
		}
		if found["logs/hello.txt"] != "hello\n" || !strings.Contains(found["README"], "fails.txt") {
			t.Errorf("%q", found)
		}
		// The good entries are copied out of the old archive when the rest is tried again.
		again, err := m.Retry(b.ID)
		if err != nil {
			t.Fatal(err)
		}
		m.making.Wait()
		if found := unpack(t, m.Archive(again.ID)); found["logs/hello.txt"] != "hello\n" {
			t.Errorf("tried again: %q", found)
		}
	})
}

// Failed guesses that another version counted still count: an update unlocks nobody.
func TestGoldenGuesses(t *testing.T) {
	web := func(path string) *Web {
		s := &Web{Server: &Server{}, LockFile: path, Now: func() time.Time { return goldenTime }}
		s.Handler() // reads the file
		return s
	}
	golden.Check(t, "guesses", func(t *testing.T) golden.Files {
		path := filepath.Join(t.TempDir(), "guesses.json")
		s := web(path)
		for range maxGuesses {
			s.attempt("192.0.2.1")
		}
		s.attempt("2001:db8::1")
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"guesses.json": content}
	}, func(t *testing.T, files golden.Files) {
		path := filepath.Join(t.TempDir(), "guesses.json")
		if err := os.WriteFile(path, files["guesses.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		s := web(path)
		want := map[string]guesses{"192.0.2.1": {maxGuesses, goldenTime}, "2001:db8::1": {1, goldenTime}}
		if !reflect.DeepEqual(s.failures, want) {
			t.Errorf("%v, want %v", s.failures, want)
		}
		if wait := s.attempt("192.0.2.1"); wait != lockedFor {
			t.Errorf("locked for %v, want %v", wait, lockedFor)
		}
	})
}
