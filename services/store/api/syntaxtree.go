package api

// GET /api/v1/parse_query: an expression as a tree, in the form that Prometheus' own pages, Perses and editors read.

import (
	"net/http"
	"strconv"

	"github.com/prometheus/prometheus/promql/parser"
)

// maxTree is how deep an expression may be nested to be answered as a tree: JSON's readers have limits of their own.
const maxTree = 250

func (a *API) parseQuery(r *http.Request) (answer, error) {
	text := r.FormValue("query")
	if text == "" {
		return answer{}, badData("query: is missing; give a PromQL expression")
	}
	expression, err := a.parser.ParseExpr(text)
	if err != nil {
		return answer{}, badData("query: %w", err)
	}
	if n := nesting(text, maxTree); n > maxTree {
		return answer{}, badData("query: parentheses and operators are nested deeper than %d, which is the limit of a tree; ask for the parts in several requests", maxTree)
	}
	return answer{data: tree(expression)}, nil
}

type branch map[string]any

// tree is a node and what is below it.
func tree(node parser.Expr) any {
	switch n := node.(type) {
	case nil:
		return nil
	case *parser.AggregateExpr:
		return branch{"type": "aggregation", "op": n.Op.String(), "expr": tree(n.Expr), "param": tree(n.Param), "grouping": names(n.Grouping), "without": n.Without}
	case *parser.BinaryExpr:
		var matching any
		if m := n.VectorMatching; m != nil {
			matching = branch{"card": m.Card.String(), "labels": names(m.MatchingLabels), "on": m.On, "include": names(m.Include),
				"fillValues": branch{"lhs": m.FillValues.LHS, "rhs": m.FillValues.RHS}}
		}
		return branch{"type": "binaryExpr", "op": n.Op.String(), "lhs": tree(n.LHS), "rhs": tree(n.RHS), "matching": matching, "bool": n.ReturnBool}
	case *parser.Call:
		arguments := []any{}
		for _, one := range n.Args {
			arguments = append(arguments, tree(one))
		}
		return branch{"type": "call", "args": arguments,
			"func": branch{"name": n.Func.Name, "argTypes": n.Func.ArgTypes, "variadic": n.Func.Variadic, "returnType": n.Func.ReturnType}}
	case *parser.MatrixSelector:
		selector, _ := n.VectorSelector.(*parser.VectorSelector)
		b := vector("matrixSelector", selector)
		b["range"], b["rangeExpr"] = n.Range.Milliseconds(), duration(n.RangeExpr)
		return b
	case *parser.VectorSelector:
		return vector("vectorSelector", n)
	case *parser.SubqueryExpr:
		return branch{"type": "subquery", "expr": tree(n.Expr), "range": n.Range.Milliseconds(), "rangeExpr": duration(n.RangeExpr),
			"offset": n.OriginalOffset.Milliseconds(), "offsetExpr": duration(n.OriginalOffsetExpr), "step": n.Step.Milliseconds(), "stepExpr": duration(n.StepExpr),
			"timestamp": n.Timestamp, "startOrEnd": startOrEnd(n.StartOrEnd)}
	case *parser.NumberLiteral:
		return branch{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64)}
	case *parser.StringLiteral:
		return branch{"type": "stringLiteral", "val": n.Val}
	case *parser.ParenExpr:
		return branch{"type": "parenExpr", "expr": tree(n.Expr)}
	case *parser.UnaryExpr:
		return branch{"type": "unaryExpr", "op": n.Op.String(), "expr": tree(n.Expr)}
	case *parser.StepInvariantExpr:
		return tree(n.Expr)
	}
	return branch{"type": "placeholder"}
}

func vector(kind string, n *parser.VectorSelector) branch {
	matchers := []branch{}
	for _, m := range n.LabelMatchers {
		matchers = append(matchers, branch{"name": m.Name, "value": m.Value, "type": m.Type.String()})
	}
	return branch{"type": kind, "name": n.Name, "offset": n.OriginalOffset.Milliseconds(), "offsetExpr": duration(n.OriginalOffsetExpr), "matchers": matchers,
		"timestamp": n.Timestamp, "startOrEnd": startOrEnd(n.StartOrEnd), "anchored": n.Anchored, "smoothed": n.Smoothed}
}

// duration is a duration that is written as an expression; nil where it is a plain one.
func duration(node parser.Expr) any {
	switch n := node.(type) {
	case nil:
		return nil
	case *parser.DurationExpr:
		if n == nil {
			return nil
		}
		return branch{"type": "durationExpr", "op": n.Op.String(), "lhs": duration(n.LHS), "rhs": duration(n.RHS), "wrapped": n.Wrapped}
	case *parser.NumberLiteral:
		if n == nil {
			return nil
		}
		return branch{"type": "numberLiteral", "val": strconv.FormatFloat(n.Val, 'f', -1, 64), "duration": n.Duration}
	}
	return tree(node)
}

func names(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func startOrEnd(item parser.ItemType) any {
	if item == 0 {
		return nil
	}
	return item.String()
}
