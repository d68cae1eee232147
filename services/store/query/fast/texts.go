package fast

// How long labels can become, and how many values they can have: label functions may double them again and again.

import (
	"fmt"
	"regexp"
	"strings"

	"cistern/services/store/query/budget"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// relabelled is label_replace and label_join: the same points with longer labels.
func (c *costs) relabelled(e *parser.Call, result estimated) estimated {
	texts := make([]string, len(e.Args))
	for i, a := range e.Args {
		if literal, ok := a.(*parser.StringLiteral); ok {
			texts[i] = literal.Val
		}
	}
	name, length := texts[1], int64(0)
	if e.Func.Name == "label_replace" {
		length = replaced(texts[2], texts[4], result.longest(texts[3]))
	} else {
		for i, source := range texts[3:] {
			if i > 0 {
				length = budget.Add(length, int64(len(texts[2])))
			}
			length = budget.Add(length, result.longest(source))
		}
	}
	before := result.longest(name)
	result.texts = with(result.texts, name, textual{max(before, length), result.series})
	result.labels = budget.Add(result.labels, int64(len(name)), length)
	// The value as bytes and as a string, the labels that are built of it, and those of before.
	made := budget.Multiply(result.series, budget.Add(result.labels, length, length))
	result.peak = budget.Add(result.peak, made)
	result.held = budget.Add(result.held, budget.Multiply(result.series, result.labels))
	c.noteLargest(result.peak, func() string {
		return fmt.Sprintf("labels of %d characters in %d series, by %s", length, result.series, e.Func.Name)
	})
	return result
}

// replaced is how long label_replace's result can be: the replacement with each reference as long as the source. What a group
// of the expression cannot match at all is not longer than the whole.
func replaced(replacement, expression string, source int64) int64 {
	regex, err := regexp.Compile("^(?s:" + expression + ")$")
	if err != nil {
		return 0 // the engine refuses it
	}
	references := int64(strings.Count(replacement, "$"))
	if regex.NumSubexp() == 0 && !strings.Contains(replacement, "$0") && !strings.Contains(replacement, "${0}") {
		references = 0
	}
	return budget.Add(int64(len(replacement)), budget.Multiply(references, source))
}

// namesIn are the labels that an expression groups by, and those of label functions.
func namesIn(e parser.Expr) map[string]bool {
	names := map[string]bool{}
	parser.Inspect(e, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.AggregateExpr:
			for _, name := range node.Grouping {
				names[name] = true
			}
		case *parser.Call:
			if node.Func.Name != "label_replace" && node.Func.Name != "label_join" {
				break
			}
			for i, a := range node.Args {
				if literal, ok := a.(*parser.StringLiteral); ok && i != 2 && (i != 4 || node.Func.Name == "label_join") {
					names[literal.Val] = true
				}
			}
		}
		return nil
	})
	return names
}

// summary is chosen for a list of label sets.
func summary(sets []labels.Labels, names map[string]bool) chosen {
	result := chosen{series: int64(len(sets)), texts: make(map[string]textual, len(names))}
	values := make(map[string]map[string]struct{}, len(names))
	for name := range names {
		values[name] = map[string]struct{}{}
	}
	total, longest := int64(0), map[string]int64{}
	for _, set := range sets {
		set.Range(func(l labels.Label) {
			total += int64(len(l.Name) + len(l.Value) + 2)
			result.longest = max(result.longest, int64(len(l.Value)))
			if of, wanted := values[l.Name]; wanted {
				of[l.Value] = struct{}{}
				longest[l.Name] = max(longest[l.Name], int64(len(l.Value)))
			}
		})
	}
	for name := range names {
		result.texts[name] = textual{longest[name], int64(len(values[name]))}
	}
	if len(sets) > 0 {
		result.labels = total / int64(len(sets))
	}
	return result
}
