package bundle

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
	"cistern/services/support/collect"
)

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
		m := &Maker{Dir: t.TempDir(), MemoryDir: t.TempDir(), Steps: []collect.Step{step, fails}, Parallel: 3, Keep: 3, KeepSize: 1 << 30, Version: "later"}
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
