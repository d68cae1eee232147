// Package hosttest is what the tests of the operating systems share.
package hosttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// Recorded compares a verb's answer, made of what a driver found, with the file that akd's tests read in its place.
func Recorded(t *testing.T, file string, answer map[string]any) {
	t.Helper()
	got, err := json.MarshalIndent(answer, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("..", "..", "testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s:\n%s", file, got)
	}
}
