package conformance

// The randomised comparison. CONFORMANCE_SEED repeats a run, CONFORMANCE_EXPRESSIONS makes it longer.

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

type bucket struct{ lower, upper, count float64 }

type value64 struct {
	t       int64
	v       float64
	hist    bool
	sum     float64
	buckets []bucket
}

type result struct {
	labels string
	points []value64
}

// generator makes expressions.
type generator struct{ *rand.Rand }

func (g generator) one(list ...string) string { return list[g.IntN(len(list))] }

func (g generator) matchers() string {
	return g.one("", "", `{job="j1"}`, `{job=~"j[01]"}`, `{instance!="i2"}`, `{job="j0",instance=~"i.*"}`, `{job="none"}`, `{job!~"j1|j2"}`)
}

func (g generator) offset() string {
	return g.one("", "", "", "", " offset 7m", " offset 90s", " offset -3m")
}

func (g generator) window() string { return g.one("1m", "5m", "5m", "47s", "13m", "1h", "90s") }

func (g generator) floats() string {
	return g.one("c_total", "c_total", "g", "noise", "lat_bucket", "g")
}

func (g generator) selector() string { return g.floats() + g.matchers() + g.offset() }

func (g generator) ranged() string {
	name, m := g.floats(), g.matchers()
	if g.IntN(12) == 0 {
		name, m = "", `{__name__=~"c_total|g"}`
	}
	return name + m + "[" + g.window() + "]" + g.offset()
}

func (g generator) grouping() string {
	return g.one("", "", " by (job)", " by (job, instance)", " without (instance)", " by (le)", " without (job, le)", " by (nothing)", " by (__name__)")
}

// vector is an expression that gives floats.
func (g generator) vector(depth int) string {
	if depth <= 0 {
		switch g.IntN(4) {
		case 0:
			return g.selector()
		default:
			return g.one("rate", "rate", "increase", "delta", "irate", "idelta", "sum_over_time", "avg_over_time", "min_over_time",
				"max_over_time", "count_over_time", "last_over_time", "changes", "resets", "stddev_over_time", "deriv", "present_over_time") + "(" + g.ranged() + ")"
		}
	}
	inner := func() string { return g.vector(depth - 1 - g.IntN(2)) }
	number := func() string { return g.one("2", "0.5", "-3", "10", "1e3", "(4 - 1)", "+7") }
	switch g.IntN(16) {
	case 0, 1, 2, 3, 4, 5:
		return g.one("sum", "sum", "avg", "min", "max", "count", "group") + g.grouping() + " (" + inner() + ")"
	case 6:
		return g.one("stddev", "stdvar") + g.grouping() + " (" + inner() + ")"
	case 7:
		// Of equals any may be taken: only what has none is asked.
		return g.one("topk", "bottomk") + g.one("", " by (job)") + " (" + g.one("1", "2", "5") + ", " +
			g.one("noise", "sum by (job, instance) (noise)", "rate(noise[5m])", "avg_over_time(noise[13m]) * 2") + ")"
	case 8:
		return "quantile" + g.grouping() + " (" + g.one("0.5", "0.9", "0") + ", " + inner() + ")"
	case 9:
		return "(" + inner() + ") " + g.one("+", "-", "*", "/", "%", "^") + " " + number()
	case 10:
		return number() + " " + g.one("+", "-", "*", "/") + " (" + inner() + ")"
	case 11:
		return "(" + inner() + ") " + g.one(">", "<", ">=", "<=", "!=", "> bool", "< bool") + " " + number()
	case 12:
		by := g.one("by (job)", "by (job, instance)")
		return "sum " + by + " (" + inner() + ") " + g.one("/", "+", "-", "and", "or", "unless", ">") + " max " + by + " (" + inner() + ")"
	case 13:
		return g.one("abs", "ceil", "floor", "-", "sgn", "exp", "absent", "sort") + "(" + inner() + ")"
	case 14:
		return g.one("max_over_time", "avg_over_time", "sum_over_time", "rate", "count_over_time") + "((" + inner() + ")[10m:" + g.one("1m", "47s", "") + "])"
	default:
		return `label_replace(` + inner() + `, "copy", "$1-x", "job", "(.*)")`
	}
}

func (g generator) histogram() string {
	name := g.one("nh", "nh", "nc", "mixed")
	one := name + g.matchers()
	switch g.IntN(5) {
	case 0:
		one = g.one("rate", "increase", "sum_over_time", "last_over_time", "delta", "irate") + "(" + one + "[" + g.window() + "])"
	case 1:
		one = g.one("sum", "avg") + g.one("", " by (job)", " without (instance)") + " (rate(" + one + "[" + g.window() + "]))"
	case 2:
		one = "sum" + g.one("", " by (job)") + " (" + one + ")"
	}
	switch g.IntN(6) {
	case 0:
		return "histogram_quantile(" + g.one("0.5", "0.99", "0.1", "1") + ", " + one + ")"
	case 1:
		return g.one("histogram_count", "histogram_sum", "histogram_avg", "histogram_stddev") + "(" + one + ")"
	case 2:
		return "histogram_fraction(0, " + g.one("1", "0.3", "+Inf") + ", " + one + ")"
	case 3:
		return "count(" + one + ")"
	}
	return one
}

func (g generator) expression() string {
	switch g.IntN(10) {
	case 0:
		return "histogram_quantile(" + g.one("0.5", "0.95") + ", sum by (" + g.one("le", "job, le") + ") (rate(lat_bucket" + g.matchers() + "[" + g.window() + "])))"
	case 1, 2:
		return g.histogram()
	case 3:
		return g.one(`rate({"a.b/c"}[5m])`, `{"a.b/c", "label with.dots"="ü"}`, `count({__name__=~".+"})`, `sum({__name__=~"g|nh"})`, `vector(1)`, `time()`,
			`scalar(sum(c_total))`, `sum(c_total) * scalar(sum(g{job="j1",instance="i1"}))`, `timestamp(c_total)`, `timestamp(sum(c_total))`, `absent(sum(none))`,
			`absent(rate(none{a="b"}[5m]))`, `sum(rate(c_total[5m] @ end()))`, `sum(c_total @ start())`, `count_values("v", count by (job) (c_total))`,
			`sum(rate({job="j0"}[5m]))`, `sum by (job) (mixed)`, `rate(mixed[10m])`, `1 + 1`, `"text"`, `sum(rate(c_total[5m])) > 1 or vector(0)`,
			`rate({__name__=~"c_total|noise"}[5m])`, `last_over_time({__name__=~"c_total|noise"}[5m]) * 2`, `sum(last_over_time({__name__=~"c_total|noise"}[5m]) * 2)`,
			`sum(10 / last_over_time({__name__=~"c_total|g"}[5m]) > 1e9)`)
	}
	return g.vector(1 + g.IntN(3))
}

func TestRandomComparison(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("CONFORMANCE_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	count := 600
	if text := os.Getenv("CONFORMANCE_EXPRESSIONS"); text != "" {
		count, _ = strconv.Atoi(text)
	}
	t.Logf("CONFORMANCE_SEED=%d repeats this", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	p := newPair(t, samples(random), random)
	g := generator{random}
	asked, refused, filled := 0, 0, 0
	for range count {
		expression := g.expression()
		from := begin.Add(time.Duration(random.Int64N(int64(150 * time.Minute)))).Truncate(time.Second)
		var step time.Duration
		to := from
		if random.IntN(3) > 0 {
			step = []time.Duration{15 * time.Second, time.Minute, 47 * time.Second, 5 * time.Minute}[random.IntN(4)]
			to = from.Add(time.Duration(random.Int64N(int64(time.Hour))).Truncate(time.Second))
		}
		got, want := p.ask(t, expression, from, to, step), p.expect(t, expression, from, to, step)
		if asked++; want.err != nil {
			refused++
		} else if len(want.list) > 0 {
			filled++
		}
		if strings.Contains(expression, "_quantile(") || strings.Contains(expression, ")[") || strings.Contains(expression, "count_values") {
			// The engine takes these out of a map: any order is right.
			byLabels := func(a, b result) int { return strings.Compare(a.labels, b.labels) }
			slices.SortFunc(got.list, byLabels)
			slices.SortFunc(want.list, byLabels)
		}
		if complaint := differ(got, want); complaint != "" {
			t.Errorf("%s from %d to %d by %s: %s", expression, from.Unix(), to.Unix(), step, complaint)
		}
	}
	t.Logf("%d expressions, %d with results, %d refused by both", asked, filled, refused)
	if filled < count/2 {
		t.Errorf("only %d of %d expressions have results: the comparison says little", filled, asked)
	}
}

type reply struct {
	kind  string
	list  []result
	notes []string
	err   error
}

// ask is Cistern's answer by HTTP.
func (p *pair) ask(t *testing.T, expression string, from, to time.Time, step time.Duration) reply {
	t.Helper()
	form := url.Values{"query": {expression}}
	path := "/api/v1/query"
	if step == 0 {
		form.Set("time", fmt.Sprint(from.Unix()))
	} else {
		path += "_range"
		form.Set("start", fmt.Sprint(from.Unix()))
		form.Set("end", fmt.Sprint(to.Unix()))
		form.Set("step", fmt.Sprint(step.Seconds()))
	}
	r := httptest.NewRequest("POST", path, strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	w := httptest.NewRecorder()
	p.mux.ServeHTTP(w, r)
	var body struct {
		Status, Error   string
		Warnings, Infos []string
		Data            struct {
			ResultType string
			Result     json.RawMessage
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%s: %d %.300s: %v", expression, w.Code, w.Body, err)
	}
	if body.Status != "success" {
		return reply{err: fmt.Errorf("%d %s", w.Code, body.Error)}
	}
	if w.Code != http.StatusOK {
		t.Fatal(w.Code)
	}
	a := reply{kind: body.Data.ResultType, notes: append(body.Warnings, body.Infos...)}
	type histogramJSON struct {
		Count, Sum string
		Buckets    [][4]any
	}
	number := func(text string) float64 {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %q", expression, text)
		}
		return v
	}
	pointOf := func(raw [2]json.RawMessage, hist bool) value64 {
		var seconds float64
		if err := json.Unmarshal(raw[0], &seconds); err != nil {
			t.Fatal(err)
		}
		one := value64{t: int64(math.Round(seconds * 1000)), hist: hist}
		if !hist {
			var text string
			if err := json.Unmarshal(raw[1], &text); err != nil {
				t.Fatal(err)
			}
			if a.kind == "string" {
				return one
			}
			one.v = number(text)
			return one
		}
		var h histogramJSON
		if err := json.Unmarshal(raw[1], &h); err != nil {
			t.Fatal(err)
		}
		one.v, one.sum = number(h.Count), number(h.Sum)
		for _, b := range h.Buckets {
			one.buckets = append(one.buckets, bucket{number(b[1].(string)), number(b[2].(string)), number(b[3].(string))})
		}
		return one
	}
	switch a.kind {
	case "scalar", "string":
		var raw [2]json.RawMessage
		if err := json.Unmarshal(body.Data.Result, &raw); err != nil {
			t.Fatal(err)
		}
		a.list = []result{{points: []value64{pointOf(raw, false)}}}
		return a
	}
	var list []struct {
		Metric     map[string]string
		Value      *[2]json.RawMessage
		Histogram  *[2]json.RawMessage
		Values     [][2]json.RawMessage
		Histograms [][2]json.RawMessage
	}
	if err := json.Unmarshal(body.Data.Result, &list); err != nil {
		t.Fatal(err)
	}
	for _, one := range list {
		r := result{labels: labels.FromMap(one.Metric).String()}
		for _, raw := range one.Values {
			r.points = append(r.points, pointOf(raw, false))
		}
		for _, raw := range one.Histograms {
			r.points = append(r.points, pointOf(raw, true))
		}
		if one.Value != nil {
			r.points = append(r.points, pointOf(*one.Value, false))
		}
		if one.Histogram != nil {
			r.points = append(r.points, pointOf(*one.Histogram, true))
		}
		a.list = append(a.list, r)
	}
	return a
}

// expect is Prometheus' answer.
func (p *pair) expect(t *testing.T, expression string, from, to time.Time, step time.Duration) reply {
	t.Helper()
	var query promql.Query
	var err error
	if step == 0 {
		query, err = p.engine.NewInstantQuery(context.Background(), p.prom, nil, expression, from)
	} else {
		query, err = p.engine.NewRangeQuery(context.Background(), p.prom, nil, expression, from, to, step)
	}
	if err != nil {
		return reply{err: err}
	}
	defer query.Close()
	answer := query.Exec(context.Background())
	if answer.Err != nil {
		return reply{err: answer.Err}
	}
	a := replyOf(answer.Value)
	warnings, infos := answer.Warnings.AsStrings(expression, 10, 10)
	a.notes = append(warnings, infos...)
	return a
}

// replyOf is a value in the form that is compared.
func replyOf(value parser.Value) reply {
	a := reply{kind: string(value.Type())}
	hist := func(at int64, h *promhistogram.FloatHistogram) value64 {
		one := value64{t: at, hist: true, v: h.Count, sum: h.Sum}
		for it := h.AllBucketIterator(); it.Next(); {
			if b := it.At(); b.Count != 0 {
				one.buckets = append(one.buckets, bucket{b.Lower, b.Upper, b.Count})
			}
		}
		return one
	}
	switch v := value.(type) {
	case promql.Scalar:
		a.list = []result{{points: []value64{{t: v.T, v: v.V}}}}
	case promql.String:
		a.list = []result{{points: []value64{{t: v.T}}}}
	case promql.Vector:
		for _, s := range v {
			if s.H != nil {
				a.list = append(a.list, result{s.Metric.String(), []value64{hist(s.T, s.H)}})
			} else {
				a.list = append(a.list, result{s.Metric.String(), []value64{{t: s.T, v: s.F}}})
			}
		}
	case promql.Matrix:
		for _, s := range v {
			one := result{labels: s.Metric.String()}
			for _, f := range s.Floats {
				one.points = append(one.points, value64{t: f.T, v: f.F})
			}
			for _, h := range s.Histograms {
				one.points = append(one.points, hist(h.T, h.H))
			}
			a.list = append(a.list, one)
		}
	}
	return a
}

// near says whether two are the same but for rounding; what was cancelled out cannot be better than what it came from.
func near(a, b float64) bool {
	switch {
	case math.IsNaN(a) || math.IsNaN(b):
		return math.IsNaN(a) && math.IsNaN(b)
	case math.IsInf(a, 0) || math.IsInf(b, 0):
		return a == b
	}
	return math.Abs(a-b) <= 1e-12*max(math.Abs(a), math.Abs(b))+1e-10
}

func differ(got, want reply) string {
	switch {
	case (got.err == nil) != (want.err == nil):
		return fmt.Sprintf("errors: %v, Prometheus: %v", got.err, want.err)
	case want.err != nil:
		return ""
	case got.kind != want.kind:
		return fmt.Sprintf("it is a %s, Prometheus': %s", got.kind, want.kind)
	case len(got.list) != len(want.list):
		return fmt.Sprintf("%d results, Prometheus has %d: %.600s | %.600s", len(got.list), len(want.list), names(got.list), names(want.list))
	}
	for i, g := range got.list {
		w := want.list[i]
		if g.labels != w.labels {
			return fmt.Sprintf("result %d is %s, Prometheus': %s", i, g.labels, w.labels)
		}
		if len(g.points) != len(w.points) {
			return fmt.Sprintf("%s has %d points, Prometheus' has %d", g.labels, len(g.points), len(w.points))
		}
		for k, x := range g.points {
			y := w.points[k]
			same := x.t == y.t && x.hist == y.hist && near(x.v, y.v) && near(x.sum, y.sum) &&
				slices.EqualFunc(x.buckets, y.buckets, func(a, b bucket) bool {
					return near(a.lower, b.lower) && near(a.upper, b.upper) && near(a.count, b.count)
				})
			if !same {
				return fmt.Sprintf("%s at %d is %v, Prometheus': %v", g.labels, x.t, x, y)
			}
		}
	}
	// Notes about histograms depend on where chunks of Prometheus begin; those about numbers do not.
	slices.Sort(got.notes)
	slices.Sort(want.notes)
	if !strings.Contains(strings.Join(append(got.notes, want.notes...), " "), "istogram") && !slices.Equal(got.notes, want.notes) {
		return fmt.Sprintf("notes: %q, Prometheus: %q", got.notes, want.notes)
	}
	return ""
}

func names(list []result) string {
	var all []string
	for _, one := range list {
		all = append(all, one.labels)
	}
	return strings.Join(all, " ")
}
