package logs

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestLogFilesAreReadFilteredAndFollowed(t *testing.T) {
	dir := t.TempDir()
	var text strings.Builder
	for i := range 500 {
		fmt.Fprintf(&text, "2026-01-01T00:%02d:%02dZ line %d of akd\n", i/60, i%60, i)
	}
	write(t, filepath.Join(dir, "akd.log"), text.String())
	write(t, filepath.Join(dir, "nginx.log"), "2026-01-01T00:00:30Z ERROR upstream failed, password="+canary+"\nno time here\n")
	f := Files{Dir: dir}
	page, err := f.Read(context.Background(), Query{Service: "akd", Limit: 100})
	if err != nil || len(page.Lines) != 100 || page.Lines[0].Text != "line 499 of akd" || page.Older == "" {
		t.Fatalf("%v %d %q", err, len(page.Lines), page.Older)
	}
	more, err := f.Read(context.Background(), Query{Service: "akd", Limit: 100, Older: page.Older})
	if err != nil || more.Lines[0].Text != "line 399 of akd" {
		t.Fatalf("%v %+v", err, more.Lines[0])
	}
	bad, err := f.Read(context.Background(), Query{Level: "error", Limit: 10})
	if err != nil || len(bad.Lines) != 1 || bad.Lines[0].Service != "nginx" || strings.Contains(bad.Lines[0].Text, canary) {
		t.Fatalf("%v %+v", err, bad)
	}
	write(t, filepath.Join(dir, "application-cistern-storaged:default.log"), "[ Jan  1 00:00:00 Enabled. ]\n")
	if smf, _ := f.Read(context.Background(), Query{Service: "storaged", Limit: 10}); len(smf.Lines) != 1 || smf.Lines[0].Service != "storaged" {
		t.Errorf("%+v", smf)
	}
	if found, _ := f.Read(context.Background(), Query{Text: "LINE 42 OF", Limit: 10}); len(found.Lines) != 1 {
		t.Errorf("%+v", found)
	}
}

// What is written between reading and following, also into another file, and after the connection was lost comes once.
func TestFilesAreFollowedFromWhereTheyWereRead(t *testing.T) {
	dir := t.TempDir()
	add := func(name string, lines ...string) {
		t.Helper()
		out, err := os.OpenFile(filepath.Join(dir, name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		for _, text := range lines {
			if _, err := fmt.Fprintln(out, text); err != nil {
				t.Fatal(err)
			}
		}
	}
	// So much that only the end of it is read.
	add("akd.log", strings.Repeat("an old line\n", fileWindow/8))
	add("system-x:default.log", "old")
	f := Files{Dir: dir}
	page, err := f.Read(context.Background(), Query{Limit: 5})
	if err != nil || page.Newest == "" {
		t.Fatalf("%+v, %v", page, err)
	}
	follow := func(after string, want ...string) (last string) {
		t.Helper()
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		var got []string
		_ = f.Follow(ctx, Query{After: after}, func(l Line) error {
			got = append(got, l.Text)
			if last = l.At; len(got) == len(want) {
				return errEnough
			}
			return nil
		})
		if !slices.Equal(got, want) {
			t.Errorf("%q came, not %q", got, want)
		}
		return last
	}
	add("akd.log", "one", "two")
	add("system-x:default.log", "three")
	last := follow(page.Newest, "one", "two", "three")
	add("akd.log", "four")
	if err := os.Truncate(filepath.Join(dir, "system-x:default.log"), 0); err != nil {
		t.Fatal(err)
	}
	add("system-x:default.log", "a")
	follow(last, "four", "a")
}

// What our daemons write as text has its own time and level; what others write is judged by its words.
func TestLevelsOfFiles(t *testing.T) {
	at := time.Date(2026, 11, 23, 4, 5, 6, 789e6, time.UTC)
	for text, want := range map[string]Line{
		`time=2026-11-23T04:05:06.789Z level=WARN msg="samples are not stored" error=timeout`: {Time: at, Level: "warning", Text: `level=WARN msg="samples are not stored" error=timeout`},
		`time=2026-11-23T04:05:06.789Z level=ERROR msg=x`:                                     {Time: at, Level: "error", Text: "level=ERROR msg=x"},
		`time=2026-11-23T04:05:06.789Z level=INFO msg="no error"`:                             {Time: at, Level: "info", Text: `level=INFO msg="no error"`},
		`time=2026-11-23T04:05:06.789Z level=DEBUG msg=x`:                                     {Time: at, Level: "debug", Text: "level=DEBUG msg=x"},
		`2026-11-23T04:05:06.789Z an error`:                                                   {Time: at, Level: "error", Text: "an error"},
		`time=now level=ERROR`:                                                                {Level: "error", Text: "time=now level=ERROR"},
		`a warning`:                                                                           {Level: "warning", Text: "a warning"},
	} {
		want.Service = "x"
		if got := fileLine("x", text); got != want {
			t.Errorf("%s: %+v, want %+v", text, got, want)
		}
	}
}

// Lines of one moment, in more than one file, are all found, page by page, each once.
func TestPagesOfLinesOfOneMoment(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"akd", "tracerd"} {
		var text strings.Builder
		for i := range 450 {
			fmt.Fprintf(&text, "2026-01-01T00:00:%02d.5Z %s %d\n", i/200, name, i)
		}
		write(t, filepath.Join(dir, name+".log"), text.String())
	}
	seen := map[string]int{}
	older := ""
	for range 20 {
		page, err := Files{Dir: dir}.Read(context.Background(), Query{Limit: 100, Older: older})
		lines := page.Lines
		if err != nil || len(lines) > 100 {
			t.Fatalf("%v, %d lines", err, len(lines))
		}
		for i, l := range lines {
			seen[l.Text]++
			if i > 0 && l.Time.After(lines[i-1].Time) {
				t.Fatalf("%q is newer than the line before it", l.Text)
			}
		}
		if older = page.Older; older == "" {
			break
		}
	}
	if len(seen) != 900 {
		t.Errorf("%d lines were found of 900", len(seen))
	}
	for text, n := range seen {
		if n != 1 {
			t.Errorf("%q was found %d times", text, n)
		}
	}
}

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
