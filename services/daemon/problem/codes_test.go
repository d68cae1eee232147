package problem

// docs/api/daemon-errors.md is printed from the calls that make problems, which are read here, and from Codes. To print it
// after a change: go test ./daemon/problem -update

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/api/daemon-errors.md")

// daemonOf is whose answers the problems of a folder are; "" is every daemon's.
var daemonOf = map[string]string{"store": "storaged", "ingest": "storaged", "cmd/storaged": "storaged", "execd": "execd", "trace": "tracerd", "cmd/tracerd": "tracerd",
	"replication": "replicd", "cmd/replicd": "replicd", "support": "supportd", "cmd/supportd": "supportd", "support/collect": "gatherd", "cmd/gatherd": "gatherd", "daemon": ""}

// maker is a function that makes a problem: which of its arguments are the status and the code, -1 when it sets that itself.
type maker struct {
	status, code int
	statuses     []int // those that it sets
}

type found struct {
	all     []source
	makers  map[string]maker // by their names, in one package "FOLDER NAME"
	answers map[string]map[string]map[int]bool
}

type source struct {
	path, folder string
	file         *ast.File
}

func sources(t *testing.T, set *token.FileSet) (all []source) {
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		relative, _ := filepath.Rel(root, path)
		all = append(all, source{path, filepath.ToSlash(filepath.Dir(relative)), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// statusNumbers are those of net/http by the names of its constants.
func statusNumbers() map[string]int {
	numbers := map[string]int{}
	for n := range 600 {
		name := strings.Map(func(c rune) rune {
			if c == ' ' || c == '-' || c == '\'' {
				return -1
			}
			return c
		}, http.StatusText(n))
		if name != "" {
			numbers["Status"+name] = n
		}
	}
	return numbers
}

// read takes codes and statuses from all calls; makers found on the way are taken in the next round.
func (f *found) read(t *testing.T, set *token.FileSet, numbers map[string]int) {
	for _, s := range f.all {
		for _, declaration := range s.file.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok || function.Body == nil {
				continue
			}
			parameters := map[string]int{}
			for _, field := range function.Type.Params.List {
				for _, name := range field.Names {
					parameters[name.Name] = len(parameters)
				}
			}
			// What a variable may be: every literal that the function gives it.
			words := map[string][]string{}
			ast.Inspect(function.Body, func(n ast.Node) bool {
				if assign, ok := n.(*ast.AssignStmt); ok && len(assign.Lhs) == len(assign.Rhs) {
					for i := range assign.Lhs {
						name, isName := assign.Lhs[i].(*ast.Ident)
						if text, isText := literal(assign.Rhs[i]); isName && isText {
							words[name.Name] = append(words[name.Name], text)
						}
					}
				}
				return true
			})
			ast.Inspect(function.Body, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				m, ok := f.maker(s, call)
				if !ok {
					return true
				}
				statuses := m.statuses
				own := maker{status: -1, code: -1}
				if m.status >= 0 {
					switch status := call.Args[m.status].(type) {
					case *ast.SelectorExpr:
						if number := numbers[status.Sel.Name]; number != 0 {
							statuses = []int{number}
						}
					case *ast.Ident:
						if at, ok := parameters[status.Name]; ok {
							own.status = at
						}
					}
				}
				if text, ok := literal(call.Args[m.code]); ok {
					f.note(s.folder, text, statuses)
				} else if name, ok := call.Args[m.code].(*ast.Ident); ok {
					if at, isParameter := parameters[name.Name]; isParameter {
						own.code, own.statuses = at, statuses
						f.makers[s.folder+" "+function.Name.Name] = own
					} else if len(words[name.Name]) == 0 {
						t.Errorf("%s: where the code comes from is not found", set.Position(call.Pos()))
					}
					for _, text := range words[name.Name] {
						f.note(s.folder, text, statuses)
					}
				} else {
					t.Errorf("%s: a code that is no literal", set.Position(call.Pos()))
				}
				return true
			})
		}
	}
}

func (f *found) maker(s source, call *ast.CallExpr) (maker, bool) {
	switch function := call.Fun.(type) {
	case *ast.SelectorExpr:
		if on, ok := function.X.(*ast.Ident); ok && on.Name == "problem" {
			switch function.Sel.Name {
			case "New":
				return maker{status: 0, code: 1}, true
			case "Write":
				return maker{status: 1, code: 2}, true
			}
		}
		m, ok := f.makers[s.folder+" "+function.Sel.Name]
		return m, ok
	case *ast.Ident:
		if s.folder == "daemon/problem" && function.Name == "New" && len(call.Args) > 1 {
			if _, ok := literal(call.Args[1]); ok { // not Write, which hands its own on
				return maker{status: 0, code: 1}, true
			}
		}
		m, ok := f.makers[s.folder+" "+function.Name]
		return m, ok
	}
	return maker{}, false
}

func literal(e ast.Expr) (string, bool) {
	text, ok := e.(*ast.BasicLit)
	if !ok || text.Kind != token.STRING {
		return "", false
	}
	value, err := strconv.Unquote(text.Value)
	return value, err == nil && value != ""
}

func (f *found) note(folder, code string, statuses []int) {
	daemon, known := "", false
	for at := folder; at != "." && !known; at = filepath.ToSlash(filepath.Dir(at)) {
		daemon, known = daemonOf[at]
	}
	if f.answers[daemon] == nil {
		f.answers[daemon] = map[string]map[int]bool{}
	}
	if f.answers[daemon][code] == nil {
		f.answers[daemon][code] = map[int]bool{}
	}
	for _, status := range statuses {
		f.answers[daemon][code][status] = true
	}
}

// Every code that a daemon answers with has its meaning in Codes, every one there is used, and the page is up to date.
func TestCodes(t *testing.T) {
	set := token.NewFileSet()
	f := &found{all: sources(t, set), makers: map[string]maker{}}
	for before := -1; before != len(f.makers); {
		before = len(f.makers)
		f.answers = map[string]map[string]map[int]bool{}
		f.read(t, set, statusNumbers())
	}
	used := map[string]bool{}
	for daemon, codes := range f.answers {
		for code := range codes {
			if used[code] = true; Codes[code] == "" {
				t.Errorf("the code %q of %s is not in codes.go", code, cmp.Or(daemon, "every daemon"))
			}
		}
	}
	for code := range Codes {
		if !used[code] {
			t.Errorf("the code %q is used nowhere", code)
		}
	}
	page := f.page()
	path := filepath.Join("..", "..", "..", "docs", "api", "daemon-errors.md")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || string(kept) != page {
		t.Errorf("%s is out of date: run go test ./daemon/problem -update in services/ (%v)", path, err)
	}
}

func (f *found) page() string {
	var b strings.Builder
	b.WriteString(`<!-- Printed from the code by ` + "`go test ./daemon/problem -update`" + ` in services/; changes are made there, and lost here. -->

# Errors of the daemons

The codes of the problem documents (RFC 9457) that the Go daemons answer with, and the HTTP statuses that each has there.
akd passes most of them on as they are; its own are in [errors.md](errors.md). Codes are stable; the words beside them are not.
Queries are answered as Prometheus does, with ` + "`errorType`" + `, wherever Prometheus has such an answer ([store.md](store.md)).
`)
	for _, daemon := range slices.Sorted(maps.Keys(f.answers)) {
		fmt.Fprintf(&b, "\n## %s\n\n| code | HTTP | when |\n| --- | --- | --- |\n", cmp.Or(daemon, "Every daemon"))
		for _, code := range slices.Sorted(maps.Keys(f.answers[daemon])) {
			var statuses []string
			for _, status := range slices.Sorted(maps.Keys(f.answers[daemon][code])) {
				statuses = append(statuses, strconv.Itoa(status))
			}
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", code, cmp.Or(strings.Join(statuses, ", "), "as the cause has it"), Codes[code])
		}
	}
	return b.String()
}
