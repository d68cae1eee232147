package log

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

// Lines have their priority where the journal reads them, and nowhere else.
func TestPriorityOfTheJournal(t *testing.T) {
	for _, c := range []struct {
		name    string
		stream  func(device uint64, inode uint64) string
		prefix  bool
		format  Format
		pattern string
	}{
		{"connected", func(d, i uint64) string { return fmt.Sprintf("%d:%d", d, i) }, true, Text, ` level=%s msg=m who=x g.path="/a b"`},
		{"as JSON", func(d, i uint64) string { return fmt.Sprintf("%d:%d", d, i) }, true, JSON, `"level":"%s","msg":"m","who":"x","g":{"path":"/a b"}}`},
		{"another stream", func(d, i uint64) string { return fmt.Sprintf("%d:%d", d, i+1) }, false, Text, " level=%s msg=m who=x"},
		{"no journal", func(uint64, uint64) string { return "" }, false, Text, " level=%s msg=m who=x"},
		{"nonsense", func(uint64, uint64) string { return "journal" }, false, Text, " level=%s msg=m who=x"},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := os.Create(filepath.Join(t.TempDir(), "log"))
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			var stat syscall.Stat_t
			if err := syscall.Fstat(int(file.Fd()), &stat); err != nil {
				t.Fatal(err)
			}
			t.Setenv("JOURNAL_STREAM", c.stream(stat.Dev, stat.Ino))
			logger := New(file, c.format, slog.LevelDebug).With("who", "x").WithGroup("g")
			levels := []slog.Level{slog.LevelError, slog.LevelWarn, slog.LevelInfo + 2, slog.LevelInfo, slog.LevelDebug}
			for _, level := range levels {
				logger.Log(t.Context(), level, "m", "path", "/a b")
			}
			text, err := os.ReadFile(file.Name())
			if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
			if len(lines) != len(levels) {
				t.Fatalf("%d lines:\n%s", len(lines), text)
			}
			for n, line := range lines {
				prefix := ""
				if c.prefix {
					prefix = fmt.Sprintf("<%d>", n+3)
				}
				if !regexp.MustCompile("^"+prefix+`(time=|\{"time":)`).MatchString(line) || !strings.Contains(line, fmt.Sprintf(c.pattern, levels[n])) {
					t.Errorf("%s", line)
				}
			}
		})
	}
}
