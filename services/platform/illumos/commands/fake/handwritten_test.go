package fake

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"cistern/services/platform/illumos/commands"
)

// ofLinux are tests whose scripts stand for a command of Linux that illumos has too, each with what they test.
var ofLinux = map[string]string{
	"services/trace/tracer/counters_linux_test.go": "the counters of Linux, of its zpool",
	"services/trace/tracer/standin_test.go":        "dtrace as it answers for seconds; how illumos' is started is tested beside it, by the table",
	"services/trace/tracer/launch_linux_test.go":   "dtrace of Linux, which is started by a second process",
	"services/execd/host/linux/time_linux_test.go": "whether chronyc of Linux has its sources read again",
	"services/execd/kinds_test.go":                 "the kind of machine that is Linux",
}

// A fake of a command that the table holds is made of the table: a script that is written by hand takes what the real one refuses.
func TestNoFakeIsWrittenByHand(t *testing.T) {
	table, err := commands.Load(Table())
	if err != nil {
		t.Fatal(err)
	}
	repo := filepath.Join(Table(), "../../..")
	used := map[string]bool{}
	held := func(file string, words []string) {
		for _, word := range words {
			if name := filepath.Base(word); table.Command(name) != nil && !strings.ContainsAny(word, " \n") {
				if used[file] = true; ofLinux[file] == "" {
					t.Errorf("%s: a script stands for %s, which image/omnios/commands holds: make it with Machine.Program (tests/omnios: machine.program)", file, name)
				}
			}
		}
	}
	for _, folder := range []string{"services", "tests/omnios", "appliance-kit/src"} {
		err := filepath.WalkDir(filepath.Join(repo, folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				if entry != nil && entry.Name() == "node_modules" {
					return filepath.SkipDir
				}
				return err
			}
			short, _ := filepath.Rel(repo, path)
			switch {
			case strings.HasSuffix(path, "_test.go"):
				words, err := scriptsOf(path)
				if err != nil {
					return err
				}
				held(short, words)
			case strings.HasSuffix(path, ".test.ts"):
				text, err := os.ReadFile(path)
				if err != nil {
					return err
				}
				for _, at := range regexp.MustCompile("[`'\"]#!/").FindAllIndex(text, -1) {
					// The name stands before the script, in the same statement.
					before := string(text[:at[0]])
					before = before[max(strings.LastIndex(before, ";\n"), strings.LastIndex(before, "{\n"))+1:]
					var words []string
					for _, one := range regexp.MustCompile(`'([^']+)'`).FindAllStringSubmatch(before, -1) {
						words = append(words, one[1])
					}
					held(short, words)
				}
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
	for file := range ofLinux {
		if file != "services/execd/kinds_test.go" && !used[file] {
			t.Errorf("%s has no such script any more: take it out of the list", file)
		}
	}
}

func TestHandwrittenFakesAreFound(t *testing.T) {
	for _, body := range []string{
		`os.WriteFile(filepath.Join(dir, "fmadm"), []byte("#!/bin/sh\n"), 0o755)`,
		`put(t, map[string]string{"fmadm": "#!/bin/sh\n"})`,
		`program := filepath.Join(dir, "fmadm"); script := "#!/bin/sh\n"; os.WriteFile(program, []byte(script), 0o755)`,
		`script := "#!/bin/sh\n"; if err := os.WriteFile(dir + "/fmadm", []byte(script), 0o755); err != nil { t.Fatal(err) }`,
	} {
		path := filepath.Join(t.TempDir(), "one_test.go")
		if err := os.WriteFile(path, []byte("package one\nfunc TestOne(t *testing.T) {\n"+body+"\n}\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if words, err := scriptsOf(path); err != nil || !slices.ContainsFunc(words, func(word string) bool { return filepath.Base(word) == "fmadm" }) {
			t.Errorf("%s: %q %v", body, words, err)
		}
	}
}

// scriptsOf are the words that stand in one statement with a script, and in what its variables were given: the file that it is
// written to is among them.
func scriptsOf(path string) (words []string, err error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, declaration := range file.Decls {
		function, ok := declaration.(*ast.FuncDecl)
		if !ok || function.Body == nil {
			continue
		}
		given := map[string][]string{}
		ast.Inspect(function.Body, func(n ast.Node) bool {
			if one, ok := n.(*ast.AssignStmt); ok && len(one.Lhs) == len(one.Rhs) {
				for at, to := range one.Lhs {
					if name, ok := to.(*ast.Ident); ok {
						given[name.Name] = append(given[name.Name], literals(one.Rhs[at], nil)...)
					}
				}
			}
			return true
		})
		ast.Inspect(function.Body, func(n ast.Node) bool {
			statement, ok := n.(ast.Stmt)
			if _, block := n.(*ast.BlockStmt); !ok || block {
				return true
			}
			all := literals(statement, given)
			if slices.ContainsFunc(all, func(text string) bool { return strings.HasPrefix(text, "#!/") }) {
				words = append(words, all...)
			}
			return true
		})
	}
	return words, nil
}

// literals are the texts in a statement, but not in the blocks within it, and those of its variables.
func literals(n ast.Node, given map[string][]string) (all []string) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BlockStmt:
			return false
		case *ast.BasicLit:
			if text, err := strconv.Unquote(n.Value); err == nil {
				all = append(all, text)
			}
		case *ast.Ident:
			all = append(all, given[n.Name]...)
		}
		return true
	})
	return all
}
