package tracer

import (
	"os"
	"path/filepath"
	"testing"

	"cistern/services/platform/golden"
)

// What other versions recorded goes on, and what was suspended stays so.
func TestGolden(t *testing.T) {
	golden.Check(t, "recorded", func(t *testing.T) golden.Files {
		dir := t.TempDir()
		b := start(t, dir)
		must(b.Record("io.ops[disk]", true))
		must(b.Record("io.bytes", true))
		must(b.Suspend("io.bytes"))
		b.stop()
		content, err := os.ReadFile(filepath.Join(dir, "datasets.json"))
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"datasets.json": content}
	}, func(t *testing.T, files golden.Files) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "datasets.json"), files["datasets.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		b := start(t, dir)
		for name, suspended := range map[string]bool{"io.ops[disk]": false, "io.bytes": true} {
			if v := b.state(t, name); !v.Recorded || (v.State == Suspended) != suspended {
				t.Errorf("%s: %+v", name, v)
			}
		}
	})
}
