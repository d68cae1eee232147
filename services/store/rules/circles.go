package rules

// Rules that would read what they are about to write: their results would grow out of themselves.

import (
	"fmt"
	"slices"
	"strings"

	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// present is the selectors of an expression that read the moment at which it is evaluated. What is read with an offset, or of a
// fixed time, is of the past.
func present(expr parser.Expr) (all []*parser.VectorSelector) {
	parser.Inspect(expr, func(node parser.Node, path []parser.Node) error {
		v, ok := node.(*parser.VectorSelector)
		if !ok || v.Timestamp != nil || v.OriginalOffset > 0 || v.OriginalOffsetExpr != nil {
			return nil
		}
		for _, above := range path {
			if s, ok := above.(*parser.SubqueryExpr); ok && (s.OriginalOffset > 0 || s.Timestamp != nil || s.OriginalOffsetExpr != nil) {
				return nil
			}
		}
		all = append(all, v)
		return nil
	})
	return all
}

// selects says whether a selector may find a rule's result.
func selects(v *parser.VectorSelector, of *Rule) bool {
	for _, m := range v.LabelMatchers {
		value, known := of.Labels[m.Name]
		if m.Name == tsdb.NameLabel {
			value, known = of.Name, true
		}
		if known && !m.Matches(value) {
			return false
		}
	}
	return true
}

// readings is, for each rule, the rules whose results of the same moment it reads.
func readings(list []Rule, expressions []parser.Expr) [][]int {
	byName, all := map[string][]int{}, []int{}
	for i := range list {
		if list[i].Enabled {
			byName[list[i].Name] = append(byName[list[i].Name], i)
			all = append(all, i)
		}
	}
	next := make([][]int, len(list))
	for _, i := range all {
		for _, v := range present(expressions[i]) {
			candidates := all
			for _, m := range v.LabelMatchers {
				if m.Name == tsdb.NameLabel && m.Type == labels.MatchEqual {
					candidates = byName[m.Value]
				}
			}
			for _, k := range candidates {
				if selects(v, &list[k]) && !slices.Contains(next[i], k) {
					next[i] = append(next[i], k)
				}
			}
		}
	}
	return next
}

// circles is the rules that read their own results, by themselves or by way of others.
func circles(list []Rule, expressions []parser.Expr) (wrong []Field) {
	next := readings(list, expressions)
	const (
		unseen = iota
		open
		done
	)
	state, trail := make([]int, len(list)), []int{}
	var walk func(i int)
	walk = func(i int) {
		state[i], trail = open, append(trail, i)
		for _, k := range next[i] {
			switch state[k] {
			case unseen:
				walk(k)
			case open:
				wrong = append(wrong, Field{i, "expression", circleWords(list, trail, k)})
			}
		}
		state[i], trail = done, trail[:len(trail)-1]
	}
	for i := range list {
		if state[i] == unseen {
			walk(i)
		}
	}
	return wrong
}

// circleWords describes a circle: the end of the trail, from the rule at which it began.
func circleWords(list []Rule, trail []int, from int) string {
	if trail[len(trail)-1] == from {
		return fmt.Sprintf("it reads its own result, %s: read it with an offset of at least its interval (%s offset %ds), or give the result another name",
			list[from].Name, list[from].Name, list[from].IntervalSeconds)
	}
	var names []string
	for at := len(trail) - 1; at >= 0; at-- {
		names = append([]string{list[trail[at]].Name}, names...)
		if trail[at] == from {
			break
		}
	}
	names = append(names, list[from].Name)
	return fmt.Sprintf("these rules read each other in a circle: %s; read one of them with an offset", strings.Join(names, " ← "))
}
