package golden

import (
	"encoding/json"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
)

// A released version's files are never replaced.
func TestWrite(t *testing.T) {
	folder := t.TempDir()
	first, second := Files{"a": []byte("1"), "b/c": []byte("2")}, Files{"a": []byte("3")}
	if err := write(folder, "1.0", "set", nil, first); err != nil {
		t.Fatal(err)
	}
	if err := write(folder, "1.0", "set", []string{"1.0"}, first); err != nil {
		t.Errorf("the same again: %v", err)
	}
	var refused releasedError
	if err := write(folder, "1.0", "set", []string{"1.0"}, second); !errors.As(err, &refused) {
		t.Errorf("a released version was written over: %v", err)
	}
	if err := write(folder, "1.0", "new", []string{"1.0"}, second); !errors.As(err, &refused) {
		t.Errorf("a released version was added to: %v", err)
	}
	if got, err := read(folder + "/1.0/set"); err != nil || !slices.Equal(slices.Sorted(maps.Keys(got)), []string{"a", "b/c"}) || string(got["a"]) != "1" {
		t.Errorf("%s %v", got, err)
	}
	if err := write(folder, "1.0", "set", []string{"0.9"}, second); err != nil {
		t.Error(err)
	}
	if got, err := read(folder + "/1.0/set"); err != nil || len(got) != 1 || string(got["a"]) != "3" {
		t.Errorf("%s %v", got, err)
	}
}

// Current is the product's version.
func TestCurrent(t *testing.T) {
	content, err := os.ReadFile("../../../appliance-kit/package.json")
	if err != nil {
		t.Fatal(err)
	}
	var product struct{ Version string }
	if err := json.Unmarshal(content, &product); err != nil || product.Version != Current {
		t.Errorf("the product is %q (%v), golden files are written for %s", product.Version, err, Current)
	}
	if slices.Contains(Released, Current) {
		t.Error("the version that is worked on has been released")
	}
}
