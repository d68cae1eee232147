package fast

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"cistern/services/store/query/budget"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// costsOf estimates an expression over a selector of so many series, of ten labels' bytes each.
func costsOf(t *testing.T, text string, q Query, series int64) (*costs, estimated) {
	t.Helper()
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		t.Fatal(err)
	}
	if expr, err = promql.PreprocessExpr(expr, q.Start, q.End, q.Step); err != nil {
		t.Fatal(err)
	}
	c := &costs{interval: 60_000, selected: map[*parser.VectorSelector]chosen{}}
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if v, ok := node.(*parser.VectorSelector); ok {
			c.selected[v] = chosen{series: series, points: math.MaxInt64, labels: 10, longest: 7, texts: map[string]textual{"job": {3, 4}}}
		}
		return nil
	})
	at := q.steps()
	return c, c.of(expr, grid{at.start, at.end(), at.step})
}

// At how many points in time the engine evaluates subqueries: each of them all at once, over the ranges of those around it.
func TestPointsOfSubqueries(t *testing.T) {
	at := time.Unix(1_789_948_800, 0) // a whole day
	instant := Query{Start: at, End: at}
	eleven := Query{Start: at, End: at.Add(10 * time.Minute), Step: time.Minute}
	for _, c := range []struct {
		text   string
		q      Query
		points int64
	}{
		{`x`, instant, 0},
		{`max_over_time(x[1h:1m])`, instant, 60},
		{`max_over_time(x[1h:])`, instant, 60},
		{`x[1h:1s]`, instant, 3600},
		{`max_over_time(x[1h:1m])`, eleven, 70},
		{`max_over_time(x[1h:1m] @ 1000)`, eleven, 60},
		{`max_over_time(x[1h:1m] offset 1w)`, eleven, 70},
		{`max_over_time(max_over_time(x[1h:1m])[1d:1m])`, instant, 1440 + 1499},
		{`sum(max_over_time(x[1h:1m])) / sum(max_over_time(x[2h:1m]))`, instant, 180},
		{`max_over_time(x[1y:1ms])`, instant, 365 * 86_400_000},
		{`max_over_time(x[290y:1ms])`, instant, 290 * 365 * 86_400_000},
	} {
		found, result := costsOf(t, c.text, c.q, 1)
		if found.points != c.points {
			t.Errorf("%s: %d points, want %d", c.text, found.points, c.points)
		}
		if result.peak < found.points*trackedBytes/2 { // the engine's two numbers for each, one subquery after the other
			t.Errorf("%s: %d bytes for %d points", c.text, result.peak, found.points)
		}
	}
}

func TestLengthsOfLabels(t *testing.T) {
	q := Query{Start: time.Unix(1000, 0), End: time.Unix(1000, 0)}
	double := func(text string, times int) string {
		for range times {
			text = `label_replace(` + text + `, "x", "$1$1", "x", "(.*)")`
		}
		return text
	}
	for _, c := range []struct {
		text   string
		length int64 // of label x
	}{
		{`label_replace(m, "x", "abc", "job", ".*")`, 7}, // where it does not match the old one stays
		{`label_replace(m, "x", "value-$1", "job", "(.*)")`, 11},
		{`label_replace(m, "x", "$1$1$1", "other", "(.*)")`, 27},
		{`label_join(m, "x", "--", "job", "job", "other")`, 3 + 2 + 3 + 2 + 7},
		{double(`label_replace(m, "x", "1234567890", "", "")`, 10), 10<<10 + (1<<10-1)*4},
		{double(`m`, 80), math.MaxInt64},
		{`sum by (x) (label_replace(m, "x", "$1$1", "job", "(.*)"))`, 10},
	} {
		_, result := costsOf(t, c.text, q, 100)
		if got := result.longest("x"); got != c.length {
			t.Errorf("%.80s: %d characters, want %d", c.text, got, c.length)
		}
	}
	found, result := costsOf(t, double(`m`, 80), q, 100)
	if result.peak != math.MaxInt64 || !strings.Contains(found.what(), "label_replace") {
		t.Error(result.peak, found.what())
	}
}

// What of a comparison, a join or an aggregation is expected to be left.
func TestSeriesOfParts(t *testing.T) {
	q := Query{Start: time.Unix(0, 0), End: time.Unix(999, 0), Step: time.Second}
	for text, series := range map[string]int64{
		`m`: 1000, `sum(m)`: 1, `sum by (job) (m)`: 5, `sum by (job, pod) (m)`: 1000, `sum without (job) (m)`: 1000, `m or m`: 2000, `m and m`: 1000,
		`m * on(job) group_left m`: 1000, `vector(1)`: 1, `absent(m)`: 1, `topk(5, m)`: 12, `topk by (job) (5, m)`: 60, `abs(m) + 1`: 1000, `scalar(m)`: 1, `1 + 1`: 1,
		`histogram_quantile(0.9, m)`: 1000, `m + m`: 1000, `rate(m[5m])`: 1000,
	} {
		_, result := costsOf(t, text, q, 1000)
		if result.series != series {
			t.Errorf("%s: %d series, want %d", text, result.series, series)
		}
		if least := series * 1000 * pointBytes; result.held < least && !strings.HasPrefix(text, "topk") && !strings.Contains(text, " and ") {
			t.Errorf("%s: %d bytes are too few for %d", text, result.held, least)
		}
	}
}

// The engine is asked for nothing when even without series it would be too much, and the words say what was too much.
func TestRefusedBeforeAnythingIsSelected(t *testing.T) {
	e := newEngine(t)
	for text, words := range map[string][]string{
		`max_over_time(c_total[1y:1ms])`:    {"31536000000 points in time", "limits.query_points = 10000000", "c_total[1y:1ms]"},
		`max_over_time(vector(1)[100d:1s])`: {"8640000 points of vector(1)[1", "limits.query_mib = 64"},
	} {
		var exceeded *budget.Exceeded
		_, err := e.Exec(bounded(t, 64<<20, 10_000_000), Query{Text: text, Start: now, End: now, Lookback: time.Minute})
		if !errors.As(err, &exceeded) {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for _, word := range words {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q is not in: %v", text, word, err)
			}
		}
	}
}
