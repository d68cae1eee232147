package api

import (
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
)

func TestNamesWithDotsAreExplained(t *testing.T) {
	p := helpfulParser{parser.NewParser(parser.Options{})}
	for _, c := range []struct{ query, name string }{
		{`login.time`, "login.time"},
		{`sum by (region) (rate(stats.login.count{region="eu"}[5m]))`, "stats.login.count"},
		{`rate(http.2xx[5m])`, "http.2xx"},
		{`login.time{`, "login.time"},
		{`sum(`, ""},
		{`1.2.3`, ""},
		{`latency{quantile=0.5}`, ""},
		{`up offset 1.5x`, ""},
	} {
		_, err := p.ParseExpr(c.query)
		if err == nil {
			t.Errorf("%s is an expression", c.query)
			continue
		}
		want := `{"` + c.name + `"}`
		if said := strings.Contains(err.Error(), "a name with dots"); said != (c.name != "") || said && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", c.query, err)
		}
	}
	if _, err := p.ParseMetricSelectors([]string{`up`, `a.b`}); err == nil || !strings.Contains(err.Error(), `{"a.b"}`) {
		t.Errorf("selectors: %v", err)
	}
	// What is advised is understood.
	for _, query := range []string{`{"login.time"}`, `{"login.time",job="web"}`} {
		if _, err := p.ParseExpr(query); err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}

// The parser's time grows with the square of the depth, and it cannot be stopped.
func TestDeepExpressionsAreRefused(t *testing.T) {
	p := helpfulParser{parser.NewParser(parser.Options{})}
	for name, query := range map[string]string{
		"signs": strings.Repeat("-", 100_000) + "a", "parentheses": strings.Repeat("(", 100_000) + "a" + strings.Repeat(")", 100_000),
		"functions": strings.Repeat("abs(", 100_000) + "a" + strings.Repeat(")", 100_000), "operators": "a" + strings.Repeat(" or a", 100_000),
	} {
		if _, err := p.ParseExpr(query); err == nil || !strings.Contains(err.Error(), "nested deeper than 2000") {
			t.Errorf("%s: %v", name, err)
		}
	}
	// What is only long is not deep: many names in one matcher, or many arguments side by side.
	for _, query := range []string{`{__name__=~"` + strings.Repeat("a|", 100_000) + `b"}`, "a" + strings.Repeat(" + abs(a)", 1900)} {
		if _, err := p.ParseExpr(query); err != nil {
			t.Errorf("%.40s…: %v", query, err)
		}
	}
}
