package log

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

func TestFormats(t *testing.T) {
	var out bytes.Buffer
	New(&out, Text, slog.LevelWarn).Info("not wanted")
	New(&out, Text, slog.LevelInfo).Info("ready", "path", "/a b")
	if got := out.String(); !strings.HasSuffix(got, " level=INFO msg=ready path=\"/a b\"\n") || !strings.HasPrefix(got, "time=") {
		t.Errorf("%q", got)
	}
	out.Reset()
	New(&out, JSON, slog.LevelDebug).Debug("ready")
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "ready" {
		t.Errorf("%s %v", out.Bytes(), err)
	}
	var f Format
	if err := f.UnmarshalText([]byte("xml")); err == nil || !strings.Contains(err.Error(), `"xml" is no format`) {
		t.Error(err)
	}
}

// Every key of every line of the log is in Keys, and every one of Keys is used.
func TestKeys(t *testing.T) {
	used := map[string]bool{}
	set := token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(set, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			for i, argument := range keysOf(call) {
				literal, ok := argument.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					if call.Ellipsis == token.NoPos && i%2 == 0 {
						t.Errorf("%s: a key that is no literal", set.Position(argument.Pos()))
					}
					continue
				}
				if i%2 != 0 {
					continue
				}
				key, _ := strconv.Unquote(literal.Value)
				if used[key] = true; Keys[key] == "" {
					t.Errorf("%s: the key %q is not in keys.go", set.Position(argument.Pos()), key)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range keysOfManagement(t) {
		if used[key] = true; Keys[key] != value {
			t.Errorf("akd's key %q is %q there, and %q in keys.go", key, value, Keys[key])
		}
	}
	for key := range Keys {
		if !used[key] {
			t.Errorf("the key %q is used nowhere", key)
		}
	}
}

// keysOfManagement are akd's. Its compiler allows no others.
func keysOfManagement(t *testing.T) map[string]string {
	const path = "../../../appliance-kit/src/base/log-keys.ts"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, match := range regexp.MustCompile(`(?m)^  (\w+): '(.*)',$`).FindAllStringSubmatch(string(text), -1) {
		keys[match[1]] = match[2]
	}
	if lines := strings.Count(string(text), "\n  "); len(keys) == 0 || len(keys) != lines {
		t.Fatalf("%s: %d keys in %d lines", path, len(keys), lines)
	}
	return keys
}

// keysOf are keys and values of a call that logs; nil of any other call.
func keysOf(call *ast.CallExpr) []ast.Expr {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		// append([]any{key, value}, more...), by which keys are handed on.
		if f.Name == "append" && len(call.Args) > 0 {
			return pairs(call.Args[0])
		}
	case *ast.SelectorExpr:
		var on string
		switch x := f.X.(type) {
		case *ast.Ident:
			on = x.Name
		case *ast.SelectorExpr:
			on = x.Sel.Name
		case *ast.CallExpr: // log.New(…).Error
			if s, ok := x.Fun.(*ast.SelectorExpr); ok && s.Sel.Name == "New" {
				on = "log"
			}
		}
		if f.Sel.Name == "Describe" && on == "p" {
			return call.Args
		}
		if on = strings.ToLower(on); on == "log" || on == "logger" || on == "slog" {
			switch f.Sel.Name {
			case "Debug", "Info", "Warn", "Error":
				return call.Args[1:]
			case "With":
				return call.Args
			}
		}
	}
	return nil
}

// pairs are the elements of a []any.
func pairs(list ast.Expr) []ast.Expr {
	literal, ok := list.(*ast.CompositeLit)
	if !ok {
		return nil
	}
	array, ok := literal.Type.(*ast.ArrayType)
	if !ok {
		return nil
	}
	if element, ok := array.Elt.(*ast.Ident); !ok || element.Name != "any" {
		return nil
	}
	return literal.Elts
}
