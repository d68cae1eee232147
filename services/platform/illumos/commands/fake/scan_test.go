package fake

// Which commands a Go program runs on illumos, read from its source: each call of services/platform/command, of os/exec, and of
// whatever hands its own arguments on to them, is followed back to the words that stand in the source.

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
)

const module = "cistern/services"

// program is the part of the source that a process is built of, for illumos.
type program struct {
	root     string // the folder of the module
	fset     *token.FileSet
	info     *types.Info
	packages map[string]*types.Package
	files    map[string][]*ast.File
	// What a variable is given, and the function that a declaration is in.
	given   map[types.Object][]given
	bodies  map[types.Object]*body
	callers map[types.Object][]caller
	methods map[string][]types.Object // by their names
}

// given is one value of a variable: the at-th of an expression, or (ranged) each of its elements.
type given struct {
	of     ast.Expr
	at     int
	ranged bool
}

// body is a function of ours; of a literal the object is the variable that it was given to.
type body struct {
	object types.Object
	params []types.Object
	spread bool // the last parameter takes any number
	block  *ast.BlockStmt
}

type caller struct {
	call *ast.CallExpr
	in   *body
	pkg  string
}

// readProgram reads what a command of services/cmd is built of.
func readProgram(root, name string) (*program, error) {
	p := &program{
		root: root, fset: token.NewFileSet(), packages: map[string]*types.Package{}, files: map[string][]*ast.File{},
		info:  &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}},
		given: map[types.Object][]given{}, bodies: map[types.Object]*body{}, callers: map[types.Object][]caller{}, methods: map[string][]types.Object{},
	}
	if _, err := p.Import(module + "/cmd/" + name); err != nil {
		return nil, err
	}
	for _, files := range p.files {
		for _, file := range files {
			p.note(file)
		}
	}
	for pkg, files := range p.files {
		for _, file := range files {
			p.noteCalls(pkg, file)
		}
	}
	return p, nil
}

// Import implements types.Importer: packages that are not ours are empty, and what is missed of them is no matter here.
func (p *program) Import(path string) (*types.Package, error) {
	if found := p.packages[path]; found != nil {
		return found, nil
	}
	if !strings.HasPrefix(path, module) {
		p.packages[path] = types.NewPackage(path, filepath.Base(path))
		p.packages[path].MarkComplete()
		return p.packages[path], nil
	}
	dir := filepath.Join(p.root, strings.TrimPrefix(path, module))
	illumos := build.Default
	illumos.GOOS, illumos.GOARCH, illumos.CgoEnabled = "illumos", "amd64", false
	found, err := illumos.ImportDir(dir, 0)
	if err != nil {
		return nil, err
	}
	for _, name := range found.GoFiles {
		if strings.HasSuffix(name, "_debian.go") {
			continue // built on every system, used on Debian
		}
		file, err := parser.ParseFile(p.fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		p.files[path] = append(p.files[path], file)
	}
	config := types.Config{Importer: p, Error: func(error) {}}
	p.packages[path], _ = config.Check(path, p.fset, p.files[path], p.info)
	return p.packages[path], nil
}

// note collects what variables are given, and functions.
func (p *program) note(file *ast.File) {
	give := func(to ast.Expr, value given) {
		if name, ok := to.(*ast.Ident); ok {
			if object := p.object(name); object != nil {
				p.given[object] = append(p.given[object], value)
				if literal, ok := value.of.(*ast.FuncLit); ok {
					p.noteBody(object, literal.Type, literal.Body)
				}
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			object := p.info.Defs[n.Name]
			p.noteBody(object, n.Type, n.Body)
			if n.Recv != nil {
				p.methods[n.Name.Name] = append(p.methods[n.Name.Name], object)
			}
		case *ast.AssignStmt:
			for at, to := range n.Lhs {
				if len(n.Lhs) == len(n.Rhs) {
					give(to, given{of: n.Rhs[at]})
				} else {
					give(to, given{of: n.Rhs[0], at: at})
				}
			}
		case *ast.ValueSpec:
			for at, to := range n.Names {
				switch {
				case len(n.Values) == len(n.Names):
					give(to, given{of: n.Values[at]})
				case len(n.Values) > 0:
					give(to, given{of: n.Values[0], at: at})
				}
			}
		case *ast.RangeStmt:
			if n.Value != nil {
				give(n.Value, given{of: n.X, ranged: true})
			}
		}
		return true
	})
}

func (p *program) noteBody(object types.Object, kind *ast.FuncType, block *ast.BlockStmt) {
	b := &body{object: object, block: block}
	for _, field := range kind.Params.List {
		_, b.spread = field.Type.(*ast.Ellipsis)
		for _, name := range field.Names {
			b.params = append(b.params, p.info.Defs[name])
		}
		if field.Names == nil {
			b.params = append(b.params, nil)
		}
	}
	p.bodies[object] = b
}

// noteCalls notes from where each function of ours is called.
func (p *program) noteCalls(pkg string, file *ast.File) {
	var inside []*body
	var ends []token.Pos
	ast.Inspect(file, func(n ast.Node) bool {
		if n == nil {
			return true
		}
		for len(ends) > 0 && n.Pos() >= ends[len(ends)-1] {
			inside, ends = inside[:len(inside)-1], ends[:len(ends)-1]
		}
		enter := func(block *ast.BlockStmt) {
			for _, b := range p.bodies {
				if b.block == block && block != nil {
					inside, ends = append(inside, b), append(ends, n.End())
				}
			}
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			enter(n.Body)
		case *ast.FuncLit:
			enter(n.Body)
		case *ast.CallExpr:
			in := &body{}
			if len(inside) > 0 {
				in = inside[len(inside)-1]
			}
			for _, called := range p.called(n) {
				p.callers[called] = append(p.callers[called], caller{n, in, pkg})
			}
		}
		return true
	})
}

func (p *program) object(name *ast.Ident) types.Object {
	if object := p.info.Defs[name]; object != nil {
		return object
	}
	return p.info.Uses[name]
}

// called is the function that a call calls: of a method of an interface every one of that name.
func (p *program) called(call *ast.CallExpr) []types.Object {
	switch called := call.Fun.(type) {
	case *ast.Ident:
		if object := p.object(called); object != nil {
			return []types.Object{object}
		}
	case *ast.SelectorExpr:
		if selection := p.info.Selections[called]; selection != nil {
			if types.IsInterface(selection.Recv()) {
				return p.methods[called.Sel.Name]
			}
			return []types.Object{selection.Obj()}
		}
		if object := p.info.Uses[called.Sel]; object != nil {
			return []types.Object{object}
		}
	}
	return nil
}

// found is a call of a program, with the words that are known; an empty one is not.
type found struct {
	place string // file:line
	words []string
}

// sinks are where arguments of a command go, by the position of its first word. Of os/exec only the name is looked at: it is
// an empty package here.
var sinks = map[string]int{"Run": 3, "RunInput": 4, "Stream": 4, "Follow": 2, "Through": 4}

// runs are the commands that the program runs.
func (p *program) runs() []found {
	var all []found
	for pkg, files := range p.files {
		if pkg == module+"/platform/command" {
			continue
		}
		for _, file := range files {
			ast.Inspect(file, func(n ast.Node) bool {
				var arguments []ast.Expr
				var spread bool
				switch n := n.(type) {
				case *ast.CallExpr:
					selector, ok := n.Fun.(*ast.SelectorExpr)
					if !ok {
						return true
					}
					of, ok := selector.X.(*ast.Ident)
					if !ok {
						return true
					}
					name, _ := p.info.Uses[of].(*types.PkgName)
					first := -1
					switch {
					case name == nil:
					case name.Imported().Path() == module+"/platform/command":
						if at, is := sinks[selector.Sel.Name]; is {
							first = at
						}
					case name.Imported().Path() == "os/exec" && selector.Sel.Name == "Command":
						first = 0
					case name.Imported().Path() == "os/exec" && selector.Sel.Name == "CommandContext":
						first = 1
					}
					if first < 0 {
						return true
					}
					arguments, spread = n.Args[first:], n.Ellipsis.IsValid()
				case *ast.KeyValueExpr: // a step of a support bundle
					if key, ok := n.Key.(*ast.Ident); !ok || key.Name != "Command" || pkg != module+"/support/collect" {
						return true
					}
					arguments, spread = []ast.Expr{n.Value}, true
				default:
					return true
				}
				for _, words := range p.arguments(n.Pos(), arguments, spread) {
					all = append(all, found{p.place(words.at), words.words})
				}
				return true
			})
		}
	}
	slices.SortFunc(all, func(a, b found) int {
		return cmp.Or(strings.Compare(a.place, b.place), slices.Compare(a.words, b.words))
	})
	return slices.CompactFunc(all, func(a, b found) bool { return a.place == b.place && slices.Equal(a.words, b.words) })
}

func (p *program) place(at token.Pos) string {
	position := p.fset.Position(at)
	short, _ := filepath.Rel(p.root, position.Filename)
	return fmt.Sprintf("services/%s:%d", filepath.ToSlash(short), position.Line)
}

// text is the value of a constant.
func (p *program) text(e ast.Expr) (string, bool) {
	value := p.info.Types[e].Value
	if value == nil || value.Kind() != constant.String {
		return "", false
	}
	return constant.StringVal(value), true
}
