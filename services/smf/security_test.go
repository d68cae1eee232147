package smf

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// docs/SECURITY.md's table of processes is that of the manifests.
func TestSecurityDocument(t *testing.T) {
	text, err := os.ReadFile("../../docs/SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, found := strings.Cut(string(text), "\n## Processes\n")
	if !found {
		t.Fatal("docs/SECURITY.md has no section Processes")
	}
	table, _, _ = strings.Cut(table, "\n## ")
	rows := map[string]string{}
	for _, line := range strings.Split(table, "\n") {
		if cells := strings.Split(line, "|"); len(cells) == 7 && !strings.HasPrefix(line, "|-") {
			rows[strings.TrimSpace(cells[1])] = line
		}
	}
	delete(rows, "process")
	manifests, err := filepath.Glob("../../smf/manifest/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	orNone := func(text string) string {
		if text == "" {
			return "none"
		}
		return text
	}
	for _, path := range manifests {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		s, err := Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".xml")
		user := s.Context.Credential.User
		if other := s.property("linux", "user"); other != "" && other != user {
			user = other + ", on OmniOS " + user
		}
		var more []string
		for _, one := range strings.Split(s.Context.Credential.Privileges, ",") {
			if one != "basic" && !strings.HasPrefix(one, "!") {
				more = append(more, one)
			}
		}
		want := "| " + strings.Join([]string{name, user, orNone(s.property("linux", "capabilities")), orNone(strings.Join(more, " "))}, " | ") + " | "
		if why := s.property("linux", "capabilities_why"); why != "" && !strings.HasSuffix(rows[name], "| "+why+" |") {
			t.Errorf("%s: the reason is not that of its manifest: %s", name, why)
		}
		if !strings.HasPrefix(rows[name], want) {
			t.Errorf("docs/SECURITY.md has\n%s\nits manifest says\n%s…", rows[name], want)
		}
		delete(rows, name)
	}
	for name := range rows {
		t.Errorf("docs/SECURITY.md has %s, which has no manifest", name)
	}
}
