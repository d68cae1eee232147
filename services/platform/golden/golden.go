// Package golden keeps, for tests, files as the versions of Cistern wrote them: testdata/golden/VERSION/SET/FILE. What a
// released version has written must be read for ever, so each test reads those of all versions.
//
// go test -run Golden -update ./… writes those of the present version, and refuses when it has been released.
package golden

import (
	"bytes"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Current is the version that is worked on: the one of appliance-kit/package.json.
const Current = "0.1.0"

// Released are the versions that somebody has; when one is released it is added here, and Current goes on.
var Released = []string{}

const folder = "testdata/golden"

var update = flag.Bool("update", false, "write the golden files of the version that is worked on")

// Files are the files of a set, by their path within it.
type Files map[string][]byte

// Check reads the set of every version that has one. generate makes that of the present version, for -update.
func Check(t *testing.T, set string, generate func(t *testing.T) Files, check func(t *testing.T, files Files)) {
	t.Helper()
	if *update {
		if err := write(folder, Current, set, Released, generate(t)); err != nil {
			t.Fatal(err)
		}
	}
	found, err := filepath.Glob(filepath.Join(folder, "*", set))
	if err != nil || len(found) == 0 {
		t.Fatalf("there are no golden files of %s: %v; write them with -update", set, err)
	}
	for _, path := range found {
		t.Run(filepath.Base(filepath.Dir(path)), func(t *testing.T) {
			files, err := read(path)
			if err != nil {
				t.Fatal(err)
			}
			check(t, files)
		})
	}
}

func read(path string) (Files, error) {
	files := Files{}
	err := filepath.WalkDir(path, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		inside, err := filepath.Rel(path, name)
		if err != nil {
			return err
		}
		files[filepath.ToSlash(inside)], err = os.ReadFile(name)
		return err
	})
	return files, err
}

// releasedError is why a set is not written.
type releasedError struct{ version string }

func (e releasedError) Error() string {
	return "version " + e.version + " has been released: its golden files are what its users have, and stay as they are; raise Current"
}

// write replaces a set by files, unless it is that of a released version and would change.
func write(folder, version, set string, released []string, files Files) error {
	path := filepath.Join(folder, version, set)
	if slices.Contains(released, version) {
		there, err := read(path)
		if err != nil || len(there) != len(files) {
			return releasedError{version}
		}
		for name, content := range files {
			if !bytes.Equal(there[name], content) {
				return releasedError{version}
			}
		}
		return nil
	}
	if err := os.RemoveAll(path); err != nil {
		return err
	}
	for name, content := range files {
		file := filepath.Join(path, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
