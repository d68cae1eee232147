package statistics

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProgramsArePrinted(t *testing.T) {
	folder := t.TempDir()
	n, err := Print(Illumos, folder)
	files, _ := filepath.Glob(filepath.Join(folder, "*.d"))
	if err != nil || n < 20 || len(files) != n {
		t.Fatalf("%d, in %d files: %v", n, len(files), err)
	}
	for _, file := range files {
		if text, err := os.ReadFile(file); err != nil || !strings.Contains(string(text), "tick-") {
			t.Errorf("%s: %s %v", file, text, err)
		}
	}
	if _, err := Print(Illumos, filepath.Join(folder, "not-there")); err == nil {
		t.Error("a folder that is not there is written to")
	}
}
