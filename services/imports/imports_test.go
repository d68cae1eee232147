// Package imports checks that packages import only what the Go table of docs/ARCHITECTURE.md allows.
package imports

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	module = "cistern/services/"
	table  = "../../docs/ARCHITECTURE.md"
)

// rule is one line of the table. Folders are relative to services/ and include what is beneath them.
type rule struct {
	folder       string
	imports      []string
	testsImports []string // what its tests may import beside
	why          string
}

// allows says whether the rule lets the folder's packages import target.
func (r *rule) allows(target string, test bool) bool {
	if inside(target, r.folder) {
		return true
	}
	within := func(folder string) bool { return inside(target, folder) }
	return slices.ContainsFunc(r.imports, within) || test && slices.ContainsFunc(r.testsImports, within)
}

func inside(path, folder string) bool { return path == folder || strings.HasPrefix(path, folder+"/") }

var quoted = regexp.MustCompile("`([^`]+)`")

// readRules reads the Go table.
func readRules(text string) ([]rule, error) {
	_, text, found := strings.Cut(text, "\n### Go (`services/`)\n")
	if !found {
		return nil, errors.New(table + " has no section about services/")
	}
	text, _, _ = strings.Cut(text, "\n### ")
	var rules []rule
	for _, line := range strings.Split(text, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !strings.Contains(cells[1], "`") { // no line of the table, or its head
			continue
		}
		names := func(cell string) (all []string) {
			for _, match := range quoted.FindAllStringSubmatch(cell, -1) {
				all = append(all, match[1])
			}
			return all
		}
		imports, tests, _ := strings.Cut(cells[2], ";")
		for _, folder := range names(cells[1]) {
			rules = append(rules, rule{folder, names(imports), names(tests), strings.TrimSpace(cells[3])})
		}
	}
	if len(rules) < 10 {
		return nil, fmt.Errorf("%s: %d lines of the table were understood", table, len(rules))
	}
	return rules, nil
}

// ruleOf is the rule with the longest folder that path is in; nil when there is none.
func ruleOf(rules []rule, path string) *rule {
	var best *rule
	for i := range rules {
		if r := &rules[i]; inside(path, r.folder) && (best == nil || len(r.folder) > len(best.folder)) {
			best = r
		}
	}
	return best
}

// pack is what `go list -json` prints of a package.
type pack struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func list(t *testing.T, system string) []pack {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"...")
	cmd.Env = append(os.Environ(), "GOOS="+system, "GOARCH=amd64")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var all []pack
	for decoder := json.NewDecoder(out); ; {
		var one pack
		err := decoder.Decode(&one)
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return all
}

// check is what the rules say against a package's imports.
func check(rules []rule, p pack) []string {
	var problems []string
	path := strings.TrimPrefix(p.ImportPath, module)
	if inside(path, "cmd") { // may import everything; nothing imports it
		return nil
	}
	r := ruleOf(rules, path)
	if r == nil {
		return []string{fmt.Sprintf("%s has no line in the table of %s", path, table)}
	}
	look := func(imports []string, test bool) {
		for _, target := range imports {
			target, ours := strings.CutPrefix(target, module)
			if !ours || target == path {
				continue
			}
			if inside(target, "cmd") || !r.allows(target, test) {
				problems = append(problems, fmt.Sprintf("%s imports %s: %s", path, target, r.why))
			}
		}
	}
	look(p.Imports, false)
	look(p.TestImports, true)
	look(p.XTestImports, true)
	return problems
}

func TestImports(t *testing.T) {
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	rules, err := readRules(string(text))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, system := range []string{"linux", "illumos"} {
		for _, p := range list(t, system) {
			for _, problem := range check(rules, p) {
				if !seen[problem] {
					t.Error(problem)
				}
				seen[problem] = true
			}
		}
	}
	for _, r := range rules {
		for _, folder := range slices.Concat([]string{r.folder}, r.imports, r.testsImports) {
			if _, err := os.Stat("../" + folder); err != nil {
				t.Errorf("the table names %s: %v", folder, err)
			}
		}
	}
	if circle := circle(rules); circle != nil {
		t.Errorf("the table allows a circle: %s", strings.Join(circle, " → "))
	}
}

// circle is a way from a folder back to itself that the rules allow; nil when there is none. Tests are left out.
func circle(rules []rule) []string {
	done := map[string]bool{}
	var walk func(path []string) []string
	walk = func(path []string) []string {
		last := path[len(path)-1]
		if i := slices.Index(path[:len(path)-1], last); i >= 0 {
			return path[i:]
		}
		if done[last] {
			return nil
		}
		for _, r := range rules {
			if r.folder != last {
				continue
			}
			for _, target := range r.imports {
				if to := ruleOf(rules, target); to != nil && to.folder != last {
					if found := walk(append(slices.Clone(path), to.folder)); found != nil {
						return found
					}
				}
			}
		}
		done[last] = true
		return nil
	}
	for _, r := range rules {
		if found := walk([]string{r.folder}); found != nil {
			return found
		}
	}
	return nil
}

// The check finds what it is for.
func TestCheck(t *testing.T) {
	rules, err := readRules("\n### Go (`services/`)\n\n| folder | may import | why |\n|---|---|---|\n" +
		strings.Repeat("| `filler` | – | x |\n", 10) +
		"| `a` | `b/c`; its tests also `d` | A knows no D. |\n| `a/inner` | – | Alone. |\n| `b` | – | B is alone. |\n### Other\n| `e` | `a` | x |\n")
	if err != nil || len(rules) != 13 {
		t.Fatal(rules, err)
	}
	for _, c := range []struct {
		p    pack
		want string
	}{
		{pack{ImportPath: "a/x", Imports: []string{"b/c", "b/c/deep", "a", "a/inner"}, TestImports: []string{"d"}}, ""},
		{pack{ImportPath: "a/x", Imports: []string{"d"}}, "a/x imports d: A knows no D."},
		{pack{ImportPath: "a", Imports: []string{"b"}}, "a imports b: A knows no D."},
		{pack{ImportPath: "a/inner", Imports: []string{"a/x"}}, "a/inner imports a/x: Alone."},
		{pack{ImportPath: "b", XTestImports: []string{"a"}}, "b imports a: B is alone."},
		{pack{ImportPath: "ab"}, "ab has no line in the table of " + table},
		{pack{ImportPath: "a", Imports: []string{"cmd/x"}}, "a imports cmd/x: A knows no D."},
		{pack{ImportPath: "cmd/x", Imports: []string{"a", "b"}}, ""},
	} {
		for _, imports := range []*[]string{&c.p.Imports, &c.p.TestImports, &c.p.XTestImports} {
			for i, path := range *imports {
				(*imports)[i] = module + path
			}
		}
		c.p.ImportPath = module + c.p.ImportPath
		if got := strings.Join(check(rules, c.p), "; "); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
	if got := circle([]rule{{"a", []string{"b"}, nil, ""}, {"b", []string{"c/x"}, nil, ""}, {"c", []string{"a"}, nil, ""}}); len(got) != 4 {
		t.Errorf("%v", got)
	}
}
