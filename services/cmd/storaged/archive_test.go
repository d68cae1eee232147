package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"golang.org/x/sys/unix"
)

// A store's samples go to a file and into another store, in both formats; a wrong request is an error.
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

// slow lets the store's flushes and merges, once a second, have their turn while an export writes.
type slow struct{ bytes.Buffer }

func (s *slow) Write(p []byte) (int, error) {
	time.Sleep(2500 * time.Millisecond)
	return s.Buffer.Write(p)
}

// An export and an import do not know how long storaged keeps what is there: they let nothing go.
func TestExportLetsNothingGo(t *testing.T) {
	folder := t.TempDir()
	const year = 365 * 24 * time.Hour
	store, err := tsdb.Open(folder, tsdb.Options{Retention: 20 * year, OutOfOrder: 20 * year})
	if err != nil {
		t.Fatal(err)
	}
	key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: "depth"}})
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-12 * year).Truncate(time.Second)
	if refused, err := store.Ingest(t.Context(), "test", []tsdb.Sample{{Key: key, Kind: tsdb.Gauge, Time: old.UnixMilli(), Value: 7}}, journal.Fsync); err != nil || len(refused) > 0 {
		t.Fatal(refused, err)
	}
	if _, err := store.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	line := fmt.Sprintf("depth 7 %d\n", old.Unix())
	for range 2 {
		var out slow
		var errs bytes.Buffer
		if code := exportCommand([]string{"--data", folder, "--file", "-"}, &out, &errs); code != exitOK || !strings.Contains(out.String(), line) {
			t.Fatalf("exit code %d: %s%s, want %s", code, out.String(), errs.String(), line)
		}
	}
	// What is older than storaged would keep is refused, by its reason; it is taken where it is kept long enough.
	text, second := filepath.Join(t.TempDir(), "in.txt"), t.TempDir()
	if err := os.WriteFile(text, []byte("# TYPE depth gauge\n"+line+"# EOF\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(t.TempDir(), "storaged.toml")
	write(t, settings, "[retention]\nraw = '13y'\nminute = '13y'\nhour = '13y'\n")
	for _, one := range []struct {
		more []string
		code int
		want string
	}{
		{nil, exitDamage, "1 were refused (too_old), the first one because its time"},
		{[]string{"--retention", "13y"}, exitOK, "Took 1 samples"},
		{[]string{"--config", settings}, exitOK, "Took 1 samples"},
		{[]string{"--config", settings, "--retention", "1y"}, exitDamage, "Took 0 samples"},
		{[]string{"--retention", "long"}, exitFailed, "--retention"},
		{[]string{"--retention", "0d"}, exitFailed, "--retention"},
	} {
		var out bytes.Buffer
		if code := importCommand(append([]string{"--data", second, "--file", text}, one.more...), &out, &out); code != one.code || !strings.Contains(out.String(), one.want) {
			t.Errorf("%s: exit code %d: %s", one.more, code, out.String())
		}
	}
}

// A folder without a store stays as it is: an export makes none there, and fails.
func TestNoStore(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "letter.txt"), []byte("dear all"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "out.txt")
	for name, arguments := range map[string][]string{"export": {"--file", file}, "verify": nil, "repair": nil} {
		var out bytes.Buffer
		code := commands[name](append(arguments, "--data", folder), &out, &out)
		if code != exitFailed || !strings.Contains(out.String(), "there is no store in "+folder) {
			t.Errorf("%s: exit code %d: %s", name, code, out.String())
		}
	}
	if left, _ := os.ReadDir(folder); len(left) != 1 {
		t.Errorf("left are %v", left)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file was written")
	}
}

// A time that is only half understood is refused: 2026-11-21 is not the second 2026.
func TestMoment(t *testing.T) {
	for text, want := range map[string]int64{"": 5, "0": 0, "1700000000.5": 1700000000500, "-1.5": -1500, "2026-11-21T12:00:00Z": 1795262400000, "1.7e9": 1700000000000} {
		if got, err := moment(text, 5); err != nil || got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"2026-11-21", "12abc", "1 2", " 1", "1h", "yesterday", "nan", "inf", "0x10", "1_0", "1e300", "2026-11-21 12:00:00"} {
		if got, err := moment(text, 5); err == nil || !strings.Contains(err.Error(), "seconds since 1970") {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}

// full is a file system that is.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

// What could not be said was not done: an answer that did not reach its file is no success.
func TestAnswersThatAreNotWritten(t *testing.T) {
	folder := t.TempDir()
	store, err := tsdb.Open(folder, tsdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range [][]string{{"verify"}, {"verify", "--json"}, {"repair"}, {"export", "--file", "-"}} {
		var errs bytes.Buffer
		code := commands[arguments[0]](append(arguments[1:], "--data", folder), full{}, &errs)
		if code != exitFailed || !strings.Contains(errs.String(), "no space") {
			t.Errorf("%q: exit code %d: %s", arguments, code, errs.String())
		}
	}
	for _, arguments := range [][]string{{"--print-config"}, {"--help"}, {"--version"}} {
		if _, err := parseFlags(arguments, full{}); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%q: %v", arguments, err)
		}
	}
}

// interrupted is where somebody looks on and has enough.
type interrupted struct{ bytes.Buffer }

func (i *interrupted) Write(p []byte) (int, error) {
	if i.Len() == 0 {
		_ = syscall.Kill(os.Getpid(), syscall.SIGINT)
		time.Sleep(100 * time.Millisecond)
	}
	return i.Buffer.Write(p)
}

// An export that is interrupted ends in order, and says that nothing came of it.
func TestInterruptedExport(t *testing.T) {
	folder := t.TempDir()
	var text bytes.Buffer
	text.WriteString("# TYPE depth gauge\n")
	for i := range 20_000 {
		fmt.Fprintf(&text, "depth{q=\"%d\"} 1 %d\n", i, time.Now().Unix())
	}
	text.WriteString("# EOF\n")
	file := filepath.Join(t.TempDir(), "in.txt")
	if err := os.WriteFile(file, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	if code := importCommand([]string{"--data", folder, "--file", file}, &errs, &errs); code != exitOK {
		t.Fatal(errs.String())
	}
	var out interrupted
	if code := exportCommand([]string{"--data", folder, "--file", "-"}, &out, &errs); code != exitFailed || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// What is no file, a pipe or a device, is written to, and not replaced by a file.
func TestExportIntoAPipe(t *testing.T) {
	folder := t.TempDir()
	store, err := tsdb.Open(folder, tsdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	read := make(chan string)
	go func() {
		text, _ := os.ReadFile(pipe)
		read <- string(text)
	}()
	var errs bytes.Buffer
	if code := commands["export"]([]string{"--data", folder, "--file", pipe}, &errs, &errs); code != exitOK {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if info, err := os.Lstat(pipe); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Fatal("the pipe is gone")
	}
	if got := <-read; got != "# EOF\n" {
		t.Errorf("%q", got)
	}
	errs.Reset()
	if code := commands["export"]([]string{"--data", folder, "--file", folder}, &errs, &errs); code != exitFailed || !strings.Contains(errs.String(), "is a directory") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

// Damage in the journal, which no repair brings back, is reported with what there is to do about it; also beside a block's.
func TestVerifyDamagedJournal(t *testing.T) {
	folder, copied := t.TempDir(), t.TempDir()
	store, err := tsdb.Open(folder, tsdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	for i := range 10 {
		key, err := tsdb.AppendKey(nil, []tsdb.Label{{Name: tsdb.NameLabel, Value: fmt.Sprint("depth", i)}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store.Ingest(t.Context(), "test", []tsdb.Sample{{Key: key, Kind: tsdb.Gauge, Time: time.Now().UnixMilli(), Value: 7}}, journal.Fsync); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.CopyFS(copied, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	segments, _ := filepath.Glob(filepath.Join(copied, "journal", "*.journal"))
	content, err := os.ReadFile(segments[0])
	if err != nil {
		t.Fatal(err)
	}
	content[100] ^= 0x55
	write(t, segments[0], string(content))
	var out bytes.Buffer
	if code := commands["verify"]([]string{"--data", copied}, &out, &out); code != exitDamage || !strings.Contains(out.String(), "of the journal are damaged") || !strings.Contains(out.String(), "snapshot") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	started := t.TempDir()
	if err := os.CopyFS(started, os.DirFS(copied)); err != nil {
		t.Fatal(err)
	}
	// An export has what can be read, and says that it is not all.
	out.Reset()
	if code := commands["export"]([]string{"--data", started, "--file", "-"}, &out, &out); code != exitDamage || strings.Count(out.String(), " 7 ") != 9 ||
		!strings.Contains(out.String(), "damagedBytes=") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
	block := t.TempDir()
	if err := os.CopyFS(block, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(block, "blocks", "0000000000000001.block"), "no block")
	for range 2 { // the first time it is set aside
		out.Reset()
		if code := commands["export"]([]string{"--data", block, "--file", "-"}, &out, &out); code != exitDamage || strings.Count(out.String(), " 7 ") != 10 ||
			!strings.Contains(out.String(), "0000000000000001") {
			t.Errorf("exit code %d: %s", code, out.String())
		}
	}
	write(t, filepath.Join(copied, "blocks", "0000000000000001.block"), "no block")
	out.Reset()
	if code := commands["verify"]([]string{"--data", copied}, &out, &out); code != exitDamage || !strings.Contains(out.String(), "of the journal are damaged") ||
		!strings.Contains(out.String(), "1 blocks are damaged. Restore") {
		t.Errorf("exit code %d: %s", code, out.String())
	}
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
	run("import", "--file", text, "--retention", "600d")
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
