package tsdb

import (
	"errors"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/platform/vfs"
)

// What is said of metrics holds at once and after a restart; what cannot be is refused by name and changes nothing; and of a
// damaged file nothing is lost.
func TestMeanings(t *testing.T) {
	memory := vfs.NewMemory()
	options := testOptions(memory)
	s := openStore(t, options)
	limit := 0.25
	if err := s.SetMeanings([]Meaning{{Name: "checkout", Unit: "ms", Description: "until it is paid", Limit: &limit}, {Name: "b", Unit: "widgets"}}); err != nil {
		t.Fatal(err)
	}
	bad := math.NaN()
	for want, m := range map[string]Meaning{
		"name: ": {Unit: "s"}, "unit: ": {Name: "a", Unit: "\xff"}, "description: ": {Name: "a", Description: strings.Repeat("x", maxHelp+1)},
		"limit: ": {Name: "a", Limit: &bad},
	} {
		var said *MeaningError
		if err := s.SetMeanings([]Meaning{{Name: "c", Unit: "s"}, m}); !errors.As(err, &said) || !strings.HasPrefix(said.Detail, want) {
			t.Errorf("%+v: %v, want %q", m, err, want)
		}
	}
	if err := s.SetMeanings([]Meaning{{Name: "b"}}); err != nil {
		t.Fatal(err)
	}
	check := func() {
		t.Helper()
		all := s.Meanings()
		if m := all["checkout"]; len(all) != 1 || m.Unit != "milliseconds" || m.Description != "until it is paid" || *m.Limit != limit {
			t.Fatalf("%+v", all)
		}
	}
	check()
	folder := s.blocks
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, options)
	check()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	if err := vfs.Replace(memory, folder, filepath.Join(folder, meaningsFile), []byte(`{"metrics": [{"na`)); err != nil {
		t.Fatal(err)
	}
	s = openStore(t, options)
	if all := s.Meanings(); len(all) != 0 {
		t.Fatalf("%+v", all)
	}
	if err := s.SetMeanings([]Meaning{{Name: "b", Unit: "s"}}); err != nil {
		t.Fatal(err)
	}
	if text, err := vfs.ReadFile(memory, filepath.Join(folder, meaningsFile+".damaged")); err != nil || string(text) != `{"metrics": [{"na` {
		t.Fatalf("%s %v", text, err)
	}
}
