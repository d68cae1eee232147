// Package rules evaluates recording rules: expressions whose results are stored again and again as series of their own, so
// that what is asked often, or would be dear to ask, is there already. It promises:
//
//   - The results have aligned times, multiples of the rule's interval. Evaluating or filling the same time again replaces.
//   - What was not evaluated in time, because the daemon was down or busy, is made up for as long as Options.CatchUp says; beyond
//     that it is counted as missed.
//   - A series that a rule does not give any more ends with Prometheus' stale mark.
//   - A name is written by rules or by senders, never by both.
package rules

// What a rule is, and what it may not be.

import (
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"

	"cistern/services/store/tsdb"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// Rule is one recording rule. Those of a group are evaluated one after the other, in the order of the list.
type Rule struct {
	ID              string            `json:"id"`
	Group           string            `json:"group"`
	Name            string            `json:"name"`
	Expression      string            `json:"expression"`
	Labels          map[string]string `json:"labels"`
	IntervalSeconds int               `json:"intervalSeconds"`
	Description     string            `json:"description"`
	Enabled         bool              `json:"enabled"`
}

// Limits of rules.
const (
	MaxRules           = 1000
	ShortestInterval   = 1
	LongestInterval    = 3600
	maxExpression      = 8192
	maxText            = 2000
	maxResults         = 100_000 // series of one evaluation
	groupOfNone        = "rules"
	maxWords           = 600 // of an error that is kept
	defaultIntervalSec = 10
)

func (r *Rule) interval() int64 { return int64(r.IntervalSeconds) * 1000 }

// same says whether both give the same results.
func (r *Rule) same(other *Rule) bool {
	return r.Name == other.Name && r.Expression == other.Expression && r.IntervalSeconds == other.IntervalSeconds &&
		maps.Equal(r.Labels, other.Labels)
}

// Field is what is wrong with one field of one rule.
type Field struct {
	Index   int // of the rule in the list
	Name    string
	Message string
}

// Refused is a list of rules that cannot be taken; nothing was changed.
type Refused struct{ Fields []Field }

func (r *Refused) Error() string {
	words := make([]string, 0, len(r.Fields))
	for _, f := range r.Fields {
		words = append(words, fmt.Sprintf("rule %d, %s: %s", f.Index+1, f.Name, f.Message))
	}
	return strings.Join(words, "; ")
}

// Parse reads an expression.
type Parse func(text string) (parser.Expr, error)

var metricName = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)

// Check reads the rules' expressions. The error is a *Refused.
func Check(list []Rule, parse Parse) ([]parser.Expr, error) {
	refused := &Refused{}
	add := func(i int, field, format string, args ...any) {
		refused.Fields = append(refused.Fields, Field{i, field, fmt.Sprintf(format, args...)})
	}
	if len(list) > MaxRules {
		add(MaxRules, "rules", "there are %d rules; %d is the limit: remove those that nobody reads", len(list), MaxRules)
		return nil, refused
	}
	expressions, ids, results := make([]parser.Expr, len(list)), map[string]bool{}, map[string]bool{}
	for i := range list {
		r := &list[i]
		result := r.Name + labels.FromMap(r.Labels).String()
		switch {
		case results[result]:
			add(i, "name", "another rule has this name and the same added labels, so both would write the same series: add a label that tells them apart")
		case r.ID == "" || ids[r.ID]:
			add(i, "id", "is missing, or another rule's")
		}
		ids[r.ID], results[result] = true, true
		if message := checkName(r.Name); message != "" {
			add(i, "name", "%s", message)
		}
		if len(r.Group) > 200 || strings.ContainsAny(r.Group, "\n\r") {
			add(i, "group", "is one line of at most 200 bytes")
		}
		if len(r.Description) > maxText {
			add(i, "description", "is longer than %d bytes", maxText)
		}
		if r.IntervalSeconds < ShortestInterval || r.IntervalSeconds > LongestInterval {
			add(i, "intervalSeconds", "%d s is no interval: %d s to %d s are", r.IntervalSeconds, ShortestInterval, LongestInterval)
		}
		for _, name := range slices.Sorted(maps.Keys(r.Labels)) {
			switch value := r.Labels[name]; {
			case name == tsdb.NameLabel:
				add(i, "labels", "%s cannot be added: the result's name is the rule's", name)
			case !model.UTF8Validation.IsValidLabelName(name) || len(name) > tsdb.MaxLabelName:
				add(i, "labels", "%.40q cannot be a label's name", name)
			case !model.LabelValue(value).IsValid() || len(value) > tsdb.MaxLabelValue:
				add(i, "labels", "the value of %s is not UTF-8, or longer than %d bytes", name, tsdb.MaxLabelValue)
			}
		}
		expressions[i] = checkExpression(r.Expression, parse, func(format string, args ...any) { add(i, "expression", format, args...) })
	}
	if len(refused.Fields) == 0 {
		refused.Fields = circles(list, expressions)
	}
	if len(refused.Fields) > 0 {
		return nil, refused
	}
	return expressions, nil
}

// checkName says what is wrong with a result's name, "" when nothing is.
func checkName(name string) string {
	switch {
	case name == "":
		return "is missing: give the result a name, as job:requests:rate5m"
	case len(name) > tsdb.MaxLabelValue || !metricName.MatchString(name):
		return fmt.Sprintf("%.80q cannot be a metric's name: letters, digits, _ and : can, and it does not begin with a digit", name)
	case strings.HasPrefix(name, tsdb.OwnPrefix):
		return "names that begin with " + tsdb.OwnPrefix + " are those of the appliance's own series: choose another one"
	}
	return ""
}

func checkExpression(text string, parse Parse, add func(format string, args ...any)) parser.Expr {
	if strings.TrimSpace(text) == "" {
		add("is missing; give a PromQL expression")
		return nil
	}
	if len(text) > maxExpression {
		add("is %d bytes long; %d is the limit: make several rules of it", len(text), maxExpression)
		return nil
	}
	expr, err := parse(text)
	if err != nil {
		add("%s", err.Error())
		return nil
	}
	if kind := expr.Type(); kind != parser.ValueTypeVector && kind != parser.ValueTypeScalar {
		add("it gives a %s; a rule needs one value for each series, as rate(x[5m]) gives of x[5m]", parser.DocumentedType(kind))
		return nil
	}
	return expr
}

// nextAligned is the first multiple of the interval after a time.
func nextAligned(after, interval int64) int64 { return aligned(after, interval) + interval }

// aligned is the last multiple of the interval that is not after a time.
func aligned(at, interval int64) int64 {
	return int64(math.Floor(float64(at)/float64(interval))) * interval
}

func milliseconds(d time.Duration) int64 { return d.Milliseconds() }
