package fake

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// line are the words of one way to get to a call.
type line struct {
	at    token.Pos // where the words stand
	words []string
}

// most is how many ways are followed from one expression.
const most = 200

// way is a chain of calls that leads to an expression: what the parameters of each function are is in its caller.
type way struct {
	in   *body
	call *ast.CallExpr
	up   *way
}

// needed says whose parameter has to be known.
type needed struct{ of *body }

// arguments are the words of a call's arguments; where they are those of the function that it is in, one line for each of its callers.
func (p *program) arguments(at token.Pos, arguments []ast.Expr, spread bool) []line {
	var all []line
	var follow func(w *way, at token.Pos, depth int)
	follow = func(w *way, at token.Pos, depth int) {
		e := &evaluation{p: p, w: w, of: map[types.Object]bool{}}
		lists, needs := e.try(arguments, spread)
		if needs == nil || depth == 0 || len(p.callers[needs.of.object]) == 0 {
			if needs != nil {
				e.stop = true // its callers are not known: the words of parameters are not either
				lists, _ = e.try(arguments, spread)
			}
			for _, words := range lists {
				all = append(all, line{at, words})
			}
			return
		}
		for _, c := range p.callers[needs.of.object] {
			place := c.call.Pos()
			follow(&way{needs.of, c.call, w}, place, depth-1)
		}
	}
	follow(nil, at, 8)
	return all
}

// evaluation reads expressions within one chain of calls.
type evaluation struct {
	p    *program
	w    *way
	of   map[types.Object]bool // variables that are being read
	stop bool
}

func (e *evaluation) try(arguments []ast.Expr, spread bool) (lists [][]string, needs *needed) {
	defer func() {
		if caught := recover(); caught != nil {
			is, ok := caught.(*needed)
			if !ok {
				panic(caught)
			}
			needs = is
		}
	}()
	return e.row(arguments, spread), nil
}

// row are the words of several arguments, of which the last may be a list.
func (e *evaluation) row(arguments []ast.Expr, spread bool) [][]string {
	all := [][]string{nil}
	for at, one := range arguments {
		if spread && at == len(arguments)-1 {
			all = joined(all, e.list(one))
			continue
		}
		if value, ranged := e.ranged(one); ranged {
			all = joined(all, e.list(value))
			continue
		}
		var words [][]string
		for _, word := range e.word(one) {
			words = append(words, []string{word})
		}
		all = joined(all, words)
	}
	return all
}

func joined(all, more [][]string) [][]string {
	var both [][]string
	for _, before := range all {
		for _, behind := range more {
			if len(both) < most {
				both = append(both, slices.Concat(before, behind))
			}
		}
	}
	return both
}

// ranged is the list of which a variable is each element.
func (e *evaluation) ranged(one ast.Expr) (ast.Expr, bool) {
	if name, ok := one.(*ast.Ident); ok {
		if values := e.p.given[e.p.object(name)]; len(values) == 1 && values[0].ranged {
			return values[0].of, true
		}
	}
	return nil, false
}

var nobody = [][]string{{""}}

// list are the ways to read an expression that is a list of words.
func (e *evaluation) list(x ast.Expr) [][]string {
	switch x := x.(type) {
	case *ast.ParenExpr:
		return e.list(x.X)
	case *ast.CompositeLit:
		if _, isMap := x.Type.(*ast.MapType); isMap {
			var all [][]string
			for _, one := range x.Elts {
				all = append(all, e.list(one.(*ast.KeyValueExpr).Value)...)
			}
			return all
		}
		return e.row(x.Elts, false)
	case *ast.Ident:
		if x.Name == "nil" {
			return [][]string{nil}
		}
		return e.variable(x, nobody, e.list)
	case *ast.IndexExpr:
		return e.list(x.X)
	case *ast.SliceExpr:
		low := 0
		if literal, ok := x.Low.(*ast.BasicLit); ok {
			low = int(literal.Value[0] - '0')
		}
		var all [][]string
		for _, words := range e.list(x.X) {
			all = append(all, words[min(low, len(words)):])
		}
		return all
	case *ast.SelectorExpr:
		// A field of each element of a list: every list of words that stands in it, or none.
		if of, ok := x.X.(*ast.Ident); ok {
			if value, is := e.ranged(of); is {
				return e.within(value)
			}
		}
		return e.named(x, nobody, e.list)
	case *ast.CallExpr:
		return e.result(x)
	}
	return nobody
}

// within are the lists of words anywhere in the value of a variable.
func (e *evaluation) within(x ast.Expr) [][]string {
	all := [][]string{nil}
	name, ok := x.(*ast.Ident)
	if !ok {
		return nobody
	}
	for _, value := range e.p.given[e.p.object(name)] {
		ast.Inspect(value.of, func(n ast.Node) bool {
			if literal, ok := n.(*ast.CompositeLit); ok {
				if kind, ok := literal.Type.(*ast.ArrayType); ok {
					if of, ok := kind.Elt.(*ast.Ident); ok && of.Name == "string" {
						all = append(all, e.row(literal.Elts, false)...)
					}
				}
			}
			return true
		})
	}
	return all
}

// result are the lists that a call returns.
func (e *evaluation) result(x *ast.CallExpr) [][]string {
	if name, ok := x.Fun.(*ast.Ident); ok && name.Name == "append" {
		return joined(e.list(x.Args[0]), e.row(x.Args[1:], x.Ellipsis.IsValid()))
	}
	if selector, ok := x.Fun.(*ast.SelectorExpr); ok {
		if of, ok := selector.X.(*ast.Ident); ok && of.Name == "slices" {
			all := [][]string{nil}
			for _, one := range x.Args {
				all = joined(all, e.list(one))
			}
			return all
		}
	}
	return e.returned(x, 0)
}

// returned is the at-th result of a function of ours.
func (e *evaluation) returned(x *ast.CallExpr, at int) [][]string {
	var all [][]string
	for _, called := range e.p.called(x) {
		b := e.p.bodies[called]
		if b == nil || b.block == nil || e.of[called] {
			continue
		}
		inner := &evaluation{p: e.p, w: &way{b, x, e.w}, of: map[types.Object]bool{called: true}, stop: true}
		for object := range e.of {
			inner.of[object] = true
		}
		ast.Inspect(b.block, func(n ast.Node) bool {
			if _, literal := n.(*ast.FuncLit); literal {
				return false
			}
			if back, ok := n.(*ast.ReturnStmt); ok && len(back.Results) > at {
				all = append(all, inner.list(back.Results[at])...)
			}
			return true
		})
	}
	if all == nil {
		return nobody
	}
	return all
}

// variable are the values of a variable: what it is given anew, each with all that is added to it.
func (e *evaluation) variable(x *ast.Ident, unknown [][]string, read func(ast.Expr) [][]string) [][]string {
	return e.value(e.p.object(x), unknown, read)
}

func (e *evaluation) named(x *ast.SelectorExpr, unknown [][]string, read func(ast.Expr) [][]string) [][]string {
	return e.value(e.p.info.Uses[x.Sel], unknown, read)
}

func (e *evaluation) value(object types.Object, unknown [][]string, read func(ast.Expr) [][]string) [][]string {
	if object == nil || e.of[object] {
		return [][]string{nil}
	}
	if b, at := e.parameter(object); b != nil {
		if values := e.passed(b, at, read); values != nil {
			return values
		}
	}
	e.of[object] = true
	defer delete(e.of, object)
	var bases [][]string
	added := []string(nil)
	for _, one := range e.p.given[object] {
		var values [][]string
		call, isCall := one.of.(*ast.CallExpr)
		switch {
		case one.ranged:
			values = unknown
		case one.at > 0 || isCall && e.p.bodies[e.first(call)] != nil:
			if !isCall {
				values = unknown
			} else {
				values = e.returned(call, one.at)
			}
		default:
			values = read(one.of)
		}
		if mentions(e.p, one.of, object) {
			for _, more := range values {
				added = append(added, more...)
			}
			continue
		}
		bases = append(bases, values...)
	}
	if bases == nil && added == nil {
		return unknown
	}
	if bases == nil {
		bases = [][]string{nil}
	}
	return joined(bases, [][]string{added})
}

func (e *evaluation) first(call *ast.CallExpr) types.Object {
	if called := e.p.called(call); len(called) > 0 {
		return called[0]
	}
	return nil
}

// mentions: `argv = append(argv, …)`.
func mentions(p *program, x ast.Expr, object types.Object) bool {
	is := false
	ast.Inspect(x, func(n ast.Node) bool {
		if name, ok := n.(*ast.Ident); ok && p.object(name) == object {
			is = true
		}
		return true
	})
	return is
}

// parameter is the function that an object is a parameter of.
func (e *evaluation) parameter(object types.Object) (*body, int) {
	for _, b := range e.p.bodies {
		if at := slices.Index(b.params, object); at >= 0 {
			return b, at
		}
	}
	return nil, 0
}

// passed is what a parameter is given by the caller on this way. It panics with the function whose caller has to be known.
func (e *evaluation) passed(b *body, at int, read func(ast.Expr) [][]string) [][]string {
	for w := e.w; w != nil; w = w.up {
		if w.in != b || w.call == nil {
			continue
		}
		// The words may be parameters of the caller: the rest of the chain says what those are.
		outer := &evaluation{p: e.p, w: without(e.w, w), of: e.of, stop: e.stop}
		if b.spread && at == len(b.params)-1 {
			if len(w.call.Args) < at {
				return nil
			}
			return outer.row(w.call.Args[at:], w.call.Ellipsis.IsValid())
		}
		if at >= len(w.call.Args) {
			return nil
		}
		if _, isLine := b.params[at].Type().Underlying().(*types.Basic); isLine {
			var all [][]string
			for _, word := range outer.word(w.call.Args[at]) {
				all = append(all, []string{word})
			}
			return all
		}
		return outer.list(w.call.Args[at])
	}
	if e.stop {
		return nil
	}
	panic(&needed{b})
}

// without is the chain but for one link, so that a function that calls itself ends.
func without(w, link *way) *way {
	if w == nil {
		return nil
	}
	if w == link {
		return w.up
	}
	return &way{w.in, w.call, without(w.up, link)}
}

// word are the ways to read an expression that is one word; an empty one is not known. Of a word whose beginning is known that is
// it; of a path below a folder that is not, its end.
func (e *evaluation) word(x ast.Expr) []string {
	if text, known := e.p.text(x); known {
		return []string{text}
	}
	switch x := x.(type) {
	case *ast.ParenExpr:
		return e.word(x.X)
	case *ast.BinaryExpr:
		if text, known := e.p.text(x.X); known {
			return []string{text}
		}
		if text, known := e.p.text(x.Y); known && strings.HasPrefix(text, "/") {
			return []string{text}
		}
	case *ast.CallExpr:
		if selector, ok := x.Fun.(*ast.SelectorExpr); ok && selector.Sel.Name == "Sprintf" {
			return e.word(x.Args[0])
		}
	case *ast.Ident:
		return flat(e.variable(x, nobody, e.one))
	case *ast.IndexExpr:
		return flat(e.list(x.X))
	case *ast.SelectorExpr:
		if object, ok := e.p.info.Uses[x.Sel].(*types.Var); ok && object.IsField() {
			return []string{fields[object.Pkg().Path()+"."+object.Name()]}
		}
		return flat(e.named(x, nobody, e.one))
	}
	return []string{""}
}

func (e *evaluation) one(x ast.Expr) [][]string {
	var all [][]string
	for _, word := range e.word(x) {
		all = append(all, []string{word})
	}
	return all
}

// flat are all the words, each once.
func flat(lists [][]string) []string {
	var all []string
	for _, words := range lists {
		for _, word := range words {
			if !slices.Contains(all, word) {
				all = append(all, word)
			}
		}
	}
	if all == nil {
		return []string{""}
	}
	return all
}
