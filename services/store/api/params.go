package api

// The parameters of requests.

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"cistern/services/store/query/fast"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// parseRange reads start, end and step; step is defaultStep when it is missing and that is not 0.
func parseRange(r *http.Request, defaultStep time.Duration) (start, end time.Time, step time.Duration, err error) {
	none := time.Time{}
	if start, err = neededTime(r, "start"); err != nil {
		return none, none, 0, err
	}
	if end, err = neededTime(r, "end"); err != nil {
		return none, none, 0, err
	}
	if end.Before(start) {
		return none, none, 0, badData("end: lies before start")
	}
	step = defaultStep
	if text := r.FormValue("step"); text != "" || step == 0 {
		if step, err = parseDuration(text); err != nil {
			return none, none, 0, badData("step: %w", err)
		}
	}
	if step < time.Millisecond {
		return none, none, 0, badData("step: must be a millisecond at least")
	}
	step = step.Truncate(time.Millisecond)
	// Not end.Sub(start), which is 292 years at most.
	if points := (end.UnixMilli() - start.UnixMilli()) / step.Milliseconds(); points > maxPoints {
		return none, none, 0, badData("step: the answer would have %d points per series, the limit of points per series is %d; ask for a larger step or a shorter time",
			points, maxPoints)
	}
	return start, end, step, nil
}

func neededTime(r *http.Request, name string) (time.Time, error) {
	t, err := parseTime(r.FormValue(name), time.Time{})
	if err == nil && t.IsZero() {
		err = errors.New("is missing; give seconds since 1970 or RFC 3339")
	}
	if err != nil {
		return t, badData("%s: %w", name, err)
	}
	return t, nil
}

// The range of times that the engine, which counts nanoseconds, can tell from others.
var (
	firstTime = time.Unix(0, math.MinInt64).UTC()
	lastTime  = time.Unix(0, math.MaxInt64).UTC()
)

func tooFar(text string) error {
	return fmt.Errorf("%s is too far away: give a time from %s to %s", shorten(text), firstTime.Format("2006-01-02"), lastTime.Format("2006-01-02"))
}

// withinRange says which time after @ in an expression is beyond the range.
func withinRange(expr parser.Expr) error {
	return inspect(expr, func(node parser.Node) error {
		at := (*int64)(nil)
		switch node := node.(type) {
		case *parser.VectorSelector:
			at = node.Timestamp
		case *parser.SubqueryExpr:
			at = node.Timestamp
		}
		if at != nil && (*at < firstTime.UnixMilli() || *at > lastTime.UnixMilli()) {
			return fmt.Errorf("the time after @: %w", tooFar(strconv.FormatFloat(float64(*at)/1000, 'f', -1, 64)))
		}
		return nil
	})
}

// inspect calls f with all parts of an expression until one returns an error.
func inspect(expr parser.Expr, f func(parser.Node) error) (failure error) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if failure == nil && node != nil {
			failure = f(node)
		}
		return failure
	})
	return failure
}

// countable says whether a query's times are such as the engine, which counts nanoseconds, can tell from others: from 1678
// to 2262.
func countable(q fast.Query) error {
	for _, one := range []struct {
		name string
		at   time.Time
	}{{"start", q.Start}, {"end", q.End}} {
		if one.at.Before(firstTime) || one.at.After(lastTime) {
			name := one.name
			if q.Step == 0 {
				name = "time"
			}
			return badData("%s: %w", name, tooFar(one.at.UTC().Format(time.RFC3339)))
		}
	}
	return nil
}

// The ends of time: what Prometheus' clients send when they mean all of it.
var (
	minTime = time.Unix(math.MinInt64/1000+62135596801, 0).UTC()
	maxTime = time.Unix(math.MaxInt64/1000-62135596801, 999999999).UTC()
)

// farthest is how many seconds a time may be from 1970.
const farthest = 1e11

// parseTime reads seconds since 1970 or RFC 3339.
func parseTime(text string, missing time.Time) (time.Time, error) {
	if text == "" {
		return missing, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) {
			return time.Time{}, fmt.Errorf("%q is no time: seconds since 1970 or RFC 3339 are", shorten(text))
		}
		if math.Abs(seconds) > farthest {
			return time.Time{}, tooFar(strconv.Quote(text))
		}
		return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
	}
	switch text {
	case minTime.Format(time.RFC3339Nano):
		return time.UnixMilli(0), nil
	case maxTime.Format(time.RFC3339Nano):
		return time.Unix(farthest, 0), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		if year := t.Year(); year < 1 || year > 5000 {
			return time.Time{}, tooFar(strconv.Quote(text))
		}
		return t.Truncate(time.Millisecond), nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: seconds since 1970 or RFC 3339 are", shorten(text))
}

func shorten(text string) string {
	if len(text) > 80 {
		return text[:80] + "…"
	}
	return text
}

// maxSeconds is what a duration, which counts nanoseconds, is certainly able to hold.
const maxSeconds = 1_000_000_000

// parseDuration reads seconds or PromQL's form (5m).
func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, errors.New("is missing; give seconds or a duration like 5m")
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= 0 && seconds < maxSeconds) {
			return 0, fmt.Errorf("%q is no duration: from 0 to %d seconds are", shorten(text), maxSeconds-1)
		}
		return time.Duration(math.Round(seconds * float64(time.Second))), nil // 1.001 s are 1000999999.9999999 ns
	}
	if d, err := model.ParseDuration(text); err == nil {
		return time.Duration(d), nil
	}
	return 0, fmt.Errorf("%q is no duration: seconds or 5m are", shorten(text))
}

// span is the time that labels and series are asked for; all of it when it is not said.
func (a *API) span(r *http.Request) (minTime, maxTime int64, err error) {
	start, err := parseTime(r.FormValue("start"), time.UnixMilli(0))
	if err != nil {
		return 0, 0, badData("start: %w", err)
	}
	end, err := parseTime(r.FormValue("end"), a.now().Add(time.Hour))
	if err != nil {
		return 0, 0, badData("end: %w", err)
	}
	if end.Before(start) {
		return 0, 0, badData("end: lies before start")
	}
	return start.UnixMilli(), end.UnixMilli(), nil
}

// parseLimit reads limit; 0 is none.
func parseLimit(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badData("limit: %q is no limit: a whole number is, 0 for none", shorten(text))
	}
	return n, nil
}

// matcherSets reads match[] selectors.
func (a *API) matcherSets(r *http.Request, needed bool) ([][]*labels.Matcher, error) {
	if len(r.Form["match[]"]) == 0 {
		if needed {
			return nil, badData("match[]: is missing; give a selector like up{job=\"node\"}")
		}
		return nil, nil
	}
	sets, err := a.parser.ParseMetricSelectors(r.Form["match[]"])
	if err != nil {
		return nil, badData("match[]: %w", err)
	}
	for _, set := range sets {
		if matchesAll(set) {
			return nil, badData("match[]: %w", errMatchesAll)
		}
	}
	return sets, nil
}

var errMatchesAll = errors.New("a selector must have a matcher that does not match the empty string; {} would be everything")

func matchesAll(set []*labels.Matcher) bool {
	for _, m := range set {
		if !m.Matches("") {
			return false
		}
	}
	return true
}

// MaxSelectorMatchers and MaxSelectorBytes are the limits of a selector that narrows what a token may read.
const (
	MaxSelectorMatchers = 10
	MaxSelectorBytes    = 1000
)

// ParseSelector reads such a selector. Unlike one of a query it may consist of matchers that the empty string satisfies.
func (a *API) ParseSelector(text string) ([]*labels.Matcher, error) {
	if len(text) > MaxSelectorBytes {
		return nil, fmt.Errorf("it is %d bytes long, %d is the limit", len(text), MaxSelectorBytes)
	}
	matchers, err := a.parser.ParseMetricSelector(text)
	switch {
	case err != nil:
		return nil, err
	case len(matchers) == 0:
		return nil, errors.New("it has no matcher, so that it would be everything")
	case len(matchers) > MaxSelectorMatchers:
		return nil, fmt.Errorf("it has %d matchers, %d is the limit", len(matchers), MaxSelectorMatchers)
	}
	return matchers, nil
}

// selector reads query as a selector of series.
func (a *API) selector(r *http.Request) ([]*labels.Matcher, error) {
	text := r.FormValue("query")
	if text == "" {
		text = r.FormValue("match[]")
	}
	if text == "" {
		return nil, errors.New(`query: is missing; give a selector of series, like latency{service="web"}`)
	}
	matchers, err := a.parser.ParseMetricSelector(text)
	if err == nil && matchesAll(matchers) {
		err = errMatchesAll
	}
	if err != nil {
		return nil, fmt.Errorf("query must select series, like latency{service=\"web\"}: %w", err)
	}
	return matchers, nil
}
