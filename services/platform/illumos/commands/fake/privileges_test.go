package fake

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/platform/illumos/commands"
)

// act is one line of image/omnios/calls.
type act struct {
	process, manifest, how, by, does string
}

func acts(t *testing.T) []act {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(Table(), "../calls"))
	if err != nil {
		t.Fatal(err)
	}
	var all []act
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSuffix(line, "\n"); strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(line, "\t")
		if len(f) != 5 || !slices.Contains([]string{"reads", "asks", "changes", "itself", "refused"}, f[2]) {
			t.Fatalf("image/omnios/calls: %q", line)
		}
		all = append(all, act{f[0], f[1], f[2], f[3], f[4]})
	}
	return all
}

// manifestOf finds a manifest: those of illumos alone lie in a folder of their own.
func manifestOf(t *testing.T, repo, name string) string {
	t.Helper()
	for _, folder := range []string{"smf/manifest", "smf/illumos"} {
		if _, err := os.Stat(filepath.Join(repo, folder, name)); err == nil {
			return filepath.Join(folder, name)
		}
	}
	t.Fatalf("there is no manifest %s", name)
	return ""
}

// The table in docs/OMNIOS-PRIVILEGES.md is made from the above, the manifests and the commands' table; CISTERN_UPDATE=1 writes it.
func TestPrivilegesAreEnough(t *testing.T) {
	table, err := commands.Load(Table())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(Table(), "../../..")
	var doc strings.Builder
	doc.WriteString(`# What each process may do on OmniOS

Made by ` + "`services/platform/illumos/commands/fake/privileges_test.go`" + ` of ` + "`image/omnios/calls`" + `, the manifests in ` + "`smf/`" + ` and
[image/omnios/commands](../image/omnios/commands/README.md), which names the source of each need. That it is true only a real system
shows: ` + "`selftest`" + ` runs there what only reads, as its process.
`)
	process := ""
	for _, a := range acts(t) {
		manifest := manifestOf(t, repo, a.manifest)
		credential, err := Credential(filepath.Join(repo, manifest))
		if err != nil {
			t.Fatal(err)
		}
		caller := CallerOf(credential)
		if a.process != process {
			process = a.process
			who := strings.ReplaceAll(credential, ",", ", ")
			if who == "" {
				who = "root, all privileges"
			}
			fmt.Fprintf(&doc, "\n## %s\n\n`%s`: %s\n\n| what it does | by | what that needs | what lets it |\n|---|---|---|---|\n", process, manifest, who)
		}
		by, needs, lets := "itself", []string(nil), []string(nil)
		if a.how == "itself" {
			for need := range strings.SplitSeq(a.by, ";") {
				if need = strings.TrimSpace(need); need != "" {
					needs = append(needs, need)
				}
			}
		} else {
			command, instead, _ := strings.Cut(a.by, ";")
			argv := strings.Fields(command)
			_, refused, err := table.Check(argv, caller)
			if err != nil || (refused != nil) != (a.how == "refused") {
				t.Errorf("%s: %s: %+v %v, though the list says %q", process, command, refused, err, a.how)
			}
			by, needs = "`"+command+"`", needsOf(table, argv)
			if a.how == "refused" {
				lets = []string{"nothing: it" + instead}
			}
		}
		if lets == nil {
			for _, need := range needs {
				lets = append(lets, letsBy(t, process+": "+a.does, need, caller))
			}
		}
		fmt.Fprintf(&doc, "| %s | %s | %s | %s |\n", a.does, by, orNothing(needs), orNothing(slices.Compact(lets)))
	}
	path := filepath.Join(repo, "docs/OMNIOS-PRIVILEGES.md")
	if os.Getenv("CISTERN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(strings.TrimRight(doc.String(), "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || strings.TrimRight(string(kept), "\n") != strings.TrimRight(doc.String(), "\n") {
		t.Errorf("docs/OMNIOS-PRIVILEGES.md is not what the manifests and the table say; CISTERN_UPDATE=1 go test ./platform/illumos/commands/fake makes it anew (%v)", err)
	}
}

func needsOf(table *commands.Table, argv []string) []string {
	c := table.Command(argv[0])
	if c == nil {
		return nil
	}
	f := c.Form("")
	for at := 1; f == nil && at < len(argv); at++ {
		f = c.Form(argv[at])
	}
	var all []string
	for _, need := range f.Needs {
		text := strings.TrimSpace(need.Kind + " " + strings.ToLower(need.Name))
		if need.Kind != "privilege" {
			text = strings.TrimSpace(need.Kind + " " + need.Name)
		}
		if need.When != "" {
			text += " when " + need.When
		}
		all = append(all, text)
	}
	return all
}

// letsBy is what of a caller satisfies a need; a need with a condition may stay open.
func letsBy(t *testing.T, what, text string, caller commands.Caller) string {
	t.Helper()
	plain, _, conditional := strings.Cut(text, " when ")
	kind, name, _ := strings.Cut(plain, " ")
	need := commands.Need{Kind: kind, Name: name}
	if !caller.Has(need) {
		switch {
		case !conditional:
			t.Errorf("%s needs %s, and has it not", what, text)
		case strings.Contains(text, "delegated"):
			return "`zfs allow` on the dataset, by execd (`replication.allow`)"
		}
		return "does not apply"
	}
	switch {
	case kind == "privilege":
		return strings.ToLower(name)
	case caller.Root:
		return "user root"
	}
	return "its manifest"
}

func orNothing(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return strings.ReplaceAll(strings.Join(words, "; "), "|", "\\|")
}
