package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A quick section stands beside a full one until that is measured again, and the first table knows both.
func TestKeep(t *testing.T) {
	path := filepath.Join(t.TempDir(), "RESULTS.md")
	order := []string{"a", "b"}
	write := func(name string, quick bool, ours float64) string {
		t.Helper()
		s := &section{name: name, about: "About.", quick: quick, began: time.Unix(0, 0), commit: "c0ffee", systems: []string{cistern, victoria}}
		f := s.add("cost", "s", goal{victoria, 1, 2})
		f.put(cistern, ours)
		f.put(victoria, 4)
		if err := keep(path, "- Machine\n", order, s); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	headings := func(text string) (all []string) {
		for line := range strings.Lines(text) {
			if name, ok := strings.CutPrefix(line, "## "); ok {
				all = append(all, strings.TrimSpace(name))
			}
		}
		return all
	}
	for _, step := range []struct {
		name  string
		quick bool
		ours  float64
		want  string
	}{
		{"b", true, 1, "overview|b"},
		{"b", false, 2, "overview|b"},
		{"b", true, 3, "overview|b|b, quick"},
		{"a", false, 5, "overview|a|b|b, quick"},
		{"b", false, 2, "overview|a|b"},
	} {
		if got := strings.Join(headings(write(step.name, step.quick, step.ours)), "|"); got != step.want {
			t.Errorf("after %s, quick %v: %s, want %s", step.name, step.quick, got, step.want)
		}
	}
	text := write("b", true, 3)
	for _, want := range []string{"[a](#a)", "[b](#b)", "[b, quick](#b-quick)", "1970-01-01 00:00 UTC", "| 4.00 "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	// What came of the goals: 5 of 4 is below, half is reached, three quarters are what must be.
	var counted []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "| [") {
			cells := strings.Fields(strings.ReplaceAll(line, "|", " "))
			counted = append(counted, strings.Join(cells[len(cells)-5:], " "))
		}
	}
	if got := strings.Join(counted, "; "); got != "1 0 0 1 0; 1 1 0 0 0; 1 0 1 0 0" {
		t.Errorf("%q\n%s", got, text)
	}
}
