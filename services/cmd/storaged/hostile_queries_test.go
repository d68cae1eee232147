package main

// Queries that ask for far too much, made of a grammar.

import (
	"fmt"
	"math/rand/v2"
	"net/url"
	"strings"
)

// hostile makes requests of a seed.
type hostile struct {
	*rand.Rand
	now int64 // seconds
}

// anyOf is one of some.
func anyOf[T any](h *hostile, of ...T) T { return of[h.IntN(len(of))] }

// request is a path with its form.
func (h *hostile) request() string {
	form := url.Values{"timeout": {anyOf(h, "0.3", "0.6", "1")}}
	form.Set("query", h.vector(h.IntN(4)))
	path := anyOf(h, "query", "query", "query_range", "query_range", "query_range", "columns", "series", "labels", "label/i/values",
		"histogram/quantiles", "histogram/heatmap", "status/tsdb")
	width := anyOf[int64](h, 60, 3600, 86_400, 30*86_400, 365*86_400)
	switch {
	case path == "query":
		form.Set("time", fmt.Sprint(h.now-h.Int64N(600)))
		if h.IntN(6) == 0 {
			form.Set("query", h.matrix(h.IntN(2)))
		}
	case path == "series" || path == "labels" || strings.HasPrefix(path, "label/"):
		form.Set("match[]", h.selector())
	case strings.HasPrefix(path, "histogram/"):
		form.Set("query", anyOf(h, "tm", "broad", "tm{i=~\".*1.*\"}", h.selector()))
		form.Set("q", "0.5,0.99")
		fallthrough
	default:
		form.Set("start", fmt.Sprint(h.now-width))
		form.Set("end", fmt.Sprint(h.now))
		form.Set("step", fmt.Sprint(max(1, width/anyOf[int64](h, 1, 11, 500, 10_999))))
	}
	return "/api/v1/" + path + "?" + form.Encode()
}

func (h *hostile) selector() string {
	return anyOf(h, "good", "c_total", "tm", "broad", "wide", "nothing", `{__name__=~".+"}`, `{__name__=~"tm|c_total"}`,
		`wide{path=~".*(a|b|ab)*[0-9]+.*x?.*"}`, `c_total{i!~"1.*"}`, `wide{path!=""}`, `c_total{job="j1"}`)
}

func (h *hostile) width() string {
	return anyOf(h, "1m", "5m", "1h", "1d", "30d", "1y", "10y")
}

func (h *hostile) step() string {
	return anyOf(h, ":", ":1ms", ":7ms", ":1s", ":15s", ":1m", ":1h")
}

// matrix is a range vector.
func (h *hostile) matrix(depth int) string {
	if depth == 0 {
		return h.selector() + "[" + h.width() + "]" + anyOf(h, "", "", " offset 5m", " @ end()")
	}
	return "(" + h.vector(depth-1) + ")[" + h.width() + h.step() + "]" + anyOf(h, "", "", " offset 1h", " @ start()")
}

// vector is an instant vector.
func (h *hostile) vector(depth int) string {
	if depth == 0 {
		return anyOf(h, h.selector(), h.selector(), "vector(1)", "vector(time())")
	}
	inner := func() string { return h.vector(depth - 1) }
	switch h.IntN(11) {
	case 0, 1:
		return anyOf(h, "rate", "increase", "max_over_time", "sum_over_time", "avg_over_time", "count_over_time", "stddev_over_time", "deriv",
			"changes", "last_over_time", "absent_over_time", "present_over_time", "resets") + "(" + h.matrix(h.IntN(depth+1)) + ")"
	case 2:
		return "quantile_over_time(0.9, " + h.matrix(h.IntN(depth+1)) + ")"
	case 3:
		return anyOf(h, "sum", "max", "avg", "count", "group", "stddev") + anyOf(h, "", " by (i)", " by (path)", " without (job)") + " (" + inner() + ")"
	case 4:
		return anyOf(h, "topk(10, ", "bottomk(100000, ", "quantile(0.5, ", `count_values("value", `) + inner() + ")"
	case 5:
		return inner() + anyOf(h, " + ", " / ", " and ", " or ", " unless ", " > ", " == bool ", " ^ ") +
			anyOf(h, "", "on(i) ", "on() ", "ignoring(job) ", "on(i) ", "ignoring(i) ") + inner()
	case 6:
		return inner() + anyOf(h, " * on(i) group_left(path) ", " + on() group_right ", " - on(job) group_left ") + inner()
	case 7: // doubles a label's length again and again
		text := inner()
		for range h.IntN(30) {
			text = `label_replace(` + text + `, "x", "$1$1", "` + anyOf(h, "x", "i", "path", "__name__") + `", "(.*)")`
		}
		return text
	case 8:
		text := inner()
		for range 1 + h.IntN(20) {
			text = `label_join(` + text + `, "x", "` + strings.Repeat("-", h.IntN(500)) + `", "x", "x", "path", "i")`
		}
		return text
	case 9:
		return anyOf(h, "histogram_quantile(0.9, ", "histogram_count(", "histogram_sum(", "abs(", "absent(", "sort(", "timestamp(", "-(", "clamp_max(9, ", "scalar(") +
			inner() + ")"
	}
	return anyOf(h, "1", "1e300", "scalar(good)") + anyOf(h, " + ", " > bool ", " % ") + "(" + inner() + ")"
}
