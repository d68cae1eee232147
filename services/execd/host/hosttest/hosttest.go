// Package hosttest is what the tests of the operating systems share.
package hosttest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"cistern/services/execd/host"
)

// Recorded compares what a driver answers with the file that akd's contract test reads in its place.
func Recorded(t *testing.T, file string, systems []host.System) {
	t.Helper()
	got, err := json.MarshalIndent(map[string]any{"systems": systems}, "", "  ")
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
