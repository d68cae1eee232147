package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/tsdb"
)

// A store's samples go to a file and into another store, in both formats; what is asked wrongly says so.
func TestExportAndImport(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "in.txt")
	now := time.Now().Unix()
	if err := os.WriteFile(text, fmt.Appendf(nil, "# TYPE depth gauge\ndepth{q=\"a\"} 1 %d\ndepth{q=\"a\"} 2 %d\ndepth{q=\"b\"} 3 %d\n# EOF\n", now-20, now-10, now), 0o600); err != nil {
		t.Fatal(err)
	}
	run := func(want int, name string, arguments ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := commands[name](arguments, &out, &out); code != want {
			t.Fatalf("%s %q: exit code %d, want %d: %s", name, arguments, code, want, out.String())
		}
		return out.String()
	}
	first, second := filepath.Join(folder, "first"), filepath.Join(folder, "second")
	for _, data := range []string{first, second} {
		if err := os.Mkdir(data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out := run(exitOK, "import", "--data", first, "--file", text); !strings.Contains(out, "Took 3 samples") {
		t.Error(out)
	}
	file := filepath.Join(folder, "all.parquet")
	if out := run(exitOK, "export", "--data", first, "--file", file); !strings.Contains(out, "3 samples of 2 series") {
		t.Error(out)
	}
	run(exitOK, "import", "--data", second, "--file", file)
	out := run(exitOK, "export", "--data", second, "--file", "-", "--match", `{q="a"}`, "--from", fmt.Sprint(now-15))
	if !strings.Contains(out, fmt.Sprintf("depth{q=\"a\"} 2 %d\n# EOF", now-10)) || strings.Contains(out, `q="b"`) {
		t.Error(out)
	}
	run(exitFailed, "export", "--data", first, "--file", "-", "--match", "{")
	run(exitFailed, "export", "--data", first, "--file", "-", "--from", "yesterday")
	run(exitFailed, "export", "--data", first)
	run(exitFailed, "import", "--data", first, "--file", filepath.Join(folder, "none"))
	run(exitFailed, "import", "--data", first, "--file", text, "--format", "csv")
}

// To export a store changes nothing in it, though its owner may keep samples for longer than is usual, and where only rollups
// are left it says so.
func TestExportOfWhatIsOld(t *testing.T) {
	folder := t.TempDir()
	text := filepath.Join(folder, "in.txt")
	at := time.Now().Add(-500 * 24 * time.Hour).Truncate(time.Hour).Unix()
	if err := os.WriteFile(text, fmt.Appendf(nil, "# TYPE depth gauge\ndepth 1 %d\ndepth 3 %d\n# EOF\n", at+10, at+20), 0o600); err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(folder, "data")
	if err := os.Mkdir(data, 0o700); err != nil {
		t.Fatal(err)
	}
	run := func(name string, arguments ...string) string {
		t.Helper()
		var out bytes.Buffer
		if code := commands[name](append(arguments, "--data", data), &out, &out); code != exitOK {
			t.Fatalf("%s %q: exit code %d: %s", name, arguments, code, out.String())
		}
		return out.String()
	}
	run("import", "--file", text)
	if out := run("export", "--file", "-"); !strings.Contains(out, "Wrote 2 samples") || strings.Contains(out, "rollups") {
		t.Error(out)
	}
	store, err := tsdb.Open(data, tsdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(store.Compact(t.Context()), store.Close()); err != nil {
		t.Fatal(err)
	}
	if out := run("export", "--file", "-"); !strings.Contains(out, fmt.Sprintf("depth 2 %d\n", at)) || !strings.Contains(out, "only rollups are left, up to 1h0m0s") {
		t.Error(out)
	}
}
