package commands

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The real table: each form has its source, and was read a second time. How many there are, and what is open, stands in
// docs/OMNIOS.md; CISTERN_UPDATE=1 writes it.
func TestTheTable(t *testing.T) {
	table, err := Load("../../../../image/omnios/commands")
	if err != nil {
		t.Fatal(err)
	}
	forms, checked, questions, rows := 0, 0, 0, ""
	for _, c := range table.All() {
		if len(c.Sources) == 0 || len(c.Paths) == 0 {
			t.Errorf("%s: say its path and a source", c.Name)
		}
		for _, open := range c.Open {
			questions, rows = questions+1, rows+question("`"+c.Name+"`", open)
		}
		for _, f := range c.Forms {
			forms++
			if len(f.Read) == 0 {
				t.Errorf("%s:%d: the form %s has no source", c.Name, f.line, f.Subcommand)
			}
			if len(f.Checked) == 0 {
				t.Errorf("%s:%d: the form %s was not read a second time: add a line `checked`", c.Name, f.line, f.Subcommand)
			} else {
				checked++
			}
			for _, open := range f.Open {
				questions, rows = questions+1, rows+question("`"+strings.TrimSpace(c.Name+" "+f.Subcommand)+"`", open)
			}
		}
	}
	const begin, end = "<!-- of the table: services/platform/illumos/commands/table_test.go -->\n", "<!-- end of the table -->\n"
	made := fmt.Sprintf("The table has %d commands in %d forms. Each form has a source; %d were read a second time. %d questions are open:\n\n"+
		"| command | what is not known | what settles it |\n|---|---|---|\n%s", len(table.All()), forms, checked, questions, rows)
	const path = "../../../../docs/OMNIOS.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), begin)
	kept, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("docs/OMNIOS.md has no place for it: %q and %q", begin, end)
	}
	if os.Getenv("CISTERN_UPDATE") != "" {
		if err := os.WriteFile(path, []byte(before+begin+made+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if kept != made {
		t.Errorf("docs/OMNIOS.md does not say what the table does; CISTERN_UPDATE=1 go test ./platform/illumos/commands makes it anew")
	}
}

// question is a row of what is open: `WHAT; settled by HOW`.
func question(of, text string) string {
	what, how, said := strings.Cut(strings.Join(strings.Fields(text), " "), "; settled by ")
	if !said {
		how = "the source that it names, or a run there"
	}
	cell := strings.NewReplacer("|", "\\|").Replace
	return "| " + of + " | " + cell(what) + " | " + cell(how) + " |\n"
}
