package api

// PromQL's parser, with a word of help where people stumble who come from statsd and Graphite: names with dots.

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// helpfulParser says how a name with dots is written where one stands in the way of an expression.
type helpfulParser struct{ parser.Parser }

func (p helpfulParser) ParseExpr(text string) (parser.Expr, error) {
	if n := nesting(text, maxNesting); n > maxNesting {
		return nil, fmt.Errorf("parentheses and operators are nested deeper than %d; ask for the parts in several queries", maxNesting)
	}
	expr, err := p.Parser.ParseExpr(text)
	if err != nil {
		return nil, explainDots(text, err)
	}
	return expr, withinRange(expr)
}

// maxNesting bounds an expression's depth. The parser looks through the whole tree at each level, and nothing stops it: a
// megabyte of minus signs would take it hours.
const maxNesting = 2000

// nesting is how deep an expression may be nested at most: an operator's left side is all that stands before it. It stops
// counting beyond most.
func nesting(text string, most int) int {
	if len(text) <= most { // each level is a character at least
		return 0
	}
	operators, open, deepest := 0, 0, 0
	lexer := parser.Lex(text)
	for item := (parser.Item{}); operators+deepest <= most; {
		lexer.NextItem(&item)
		switch {
		case item.Typ == parser.EOF || item.Typ == parser.ERROR: // the parser says what is wrong
			return operators + deepest
		case item.Typ == parser.LEFT_PAREN:
			open++
			deepest = max(deepest, open)
		case item.Typ == parser.RIGHT_PAREN:
			open--
		case item.Typ.IsOperator():
			operators++
		}
	}
	return operators + deepest
}

func (p helpfulParser) ParseMetricSelector(text string) ([]*labels.Matcher, error) {
	matchers, err := p.Parser.ParseMetricSelector(text)
	return matchers, explainDots(text, err)
}

func (p helpfulParser) ParseMetricSelectors(texts []string) ([][]*labels.Matcher, error) {
	sets := make([][]*labels.Matcher, 0, len(texts))
	for _, text := range texts {
		matchers, err := p.ParseMetricSelector(text)
		if err != nil {
			return nil, err
		}
		sets = append(sets, matchers)
	}
	return sets, nil
}

// explainDots adds to an error how the name about its place is written, if that is one with dots.
func explainDots(text string, err error) error {
	var all parser.ParseErrors
	if err == nil || !errors.As(err, &all) || len(all) == 0 {
		return err
	}
	at := int(all[0].PositionRange.Start)
	if at < 0 || at >= len(text) {
		return err
	}
	begin, end := at, at
	for begin > 0 && inName(text[begin-1]) {
		begin--
	}
	for end < len(text) && inName(text[end]) {
		end++
	}
	name := strings.Trim(text[begin:end], ".")
	// A number has dots too.
	if !strings.Contains(name, ".") || name[0] >= '0' && name[0] <= '9' {
		return err
	}
	return fmt.Errorf(`%w; a name with dots is written in quotation marks and braces: {"%s"}, with a label {"%s",job="web"}`, err, name, name)
}

// inName is whether a character can be part of a name with dots.
func inName(c byte) bool {
	return c == '.' || c == '_' || c == ':' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}
