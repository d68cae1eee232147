package journal

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cistern/services/platform/vfs"
)

// After a power cut the pages of the pre-commit buffer may be of different times. Records of an earlier round are in the
// journal already: they must not be written to it again, though they are whole and where a record is expected.
func TestPagesOfAnEarlierRound(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, precommitName)
	options := Options{FS: vfs.OS, PreCommit: MinPreCommit}
	j, err := Open(folder, options)
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	add := func(n int) {
		t.Helper()
		for range n {
			want = append(want, fmt.Sprintf("entry %05d, as long as the others", len(want)))
			if _, err := j.Append([]byte(want[len(want)-1])); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(20)
	earlier, err := os.ReadFile(file) // it is mapped: this is what the process has stored
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Flush(); err != nil {
		t.Fatal(err)
	}
	flushed := len(want)
	add(20)
	left := t.TempDir()
	if err := os.CopyFS(left, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(filepath.Join(left, precommitName))
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range []int{len(content), 500} { // from where on the pages are the earlier ones; the first: from nowhere
		mixed := append(slices.Clone(content[:old]), earlier[old:]...)
		if err := os.WriteFile(filepath.Join(left, precommitName), mixed, 0o600); err != nil {
			t.Fatal(err)
		}
		again := t.TempDir()
		if err := os.CopyFS(again, os.DirFS(left)); err != nil {
			t.Fatal(err)
		}
		j, err := Open(again, options)
		if err != nil {
			t.Fatal(err)
		}
		expected := want
		if old < len(content) {
			expected = want[:flushed]
		}
		if got := everything(t, j, 0); !slices.Equal(got, expected) {
			t.Errorf("earlier from byte %d on: %d entries, want %d:\n%q", old, len(got), len(expected), got)
		}
		if err := j.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
