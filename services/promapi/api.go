// Package promapi is storaged's HTTP interface for reading: the Prometheus query API, evaluated by Prometheus' own
// engine over Cistern's store, and beside it what PromQL says clumsily about histograms.
package promapi

// The routes, and how requests and answers look. Errors of Prometheus' routes have Prometheus' envelope, because its
// clients expect it; docs/INTERFACES.md lists all routes.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"cistern/services/tsdb"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// Limits of one query.
const (
	Timeout   = 2 * time.Minute
	lookback  = 5 * time.Minute // how far an instant looks back for a series' latest sample
	maxPoints = 11_000          // per series of an answer: what Prometheus allows too
	// maxSamples is how many samples one query may hold at a time; 16 bytes each, and a histogram counts as its size.
	maxSamples = 10_000_000
	maxForm    = 1 << 20
)

// API answers queries. Make one with New.
type API struct {
	store    tsdb.Querier
	metrics  func(match string, limit int) ([]tsdb.Metric, error)
	engine   *promql.Engine
	parser   parser.Parser
	version  string
	now      func() time.Time
	inFlight chan struct{} // as many places as queries may run at once
}

// Store is what the API asks.
type Store interface {
	tsdb.Querier
	Metrics(match string, limit int) ([]tsdb.Metric, error)
}

// New makes the API of a store.
func New(store Store, version string) *API {
	p := parser.NewParser(parser.Options{})
	return &API{
		store: store, metrics: store.Metrics, parser: p, version: version, now: time.Now,
		inFlight: make(chan struct{}, 20),
		engine: promql.NewEngine(promql.EngineOpts{
			MaxSamples: maxSamples, Timeout: Timeout, LookbackDelta: lookback,
			EnableAtModifier: true, EnableNegativeOffset: true, Parser: p,
			NoStepSubqueryIntervalFn: func(int64) int64 { return 1000 },
		}),
	}
}

// Register adds the routes to a mux.
func (a *API) Register(mux *http.ServeMux) {
	for _, route := range []struct {
		pattern string
		post    bool
		handler func(http.ResponseWriter, *http.Request) (any, annotations.Annotations, error)
	}{
		{"/api/v1/query", true, a.query},
		{"/api/v1/query_range", true, a.queryRange},
		{"/api/v1/labels", true, a.labelNames},
		{"/api/v1/label/{name}/values", false, a.labelValues},
		{"/api/v1/series", true, a.series},
		{"/api/v1/metadata", false, a.metadata},
		{"/api/v1/status/buildinfo", false, a.buildInfo},
		{"/api/v1/format_query", true, a.formatQuery},
	} {
		handler := envelope(route.handler)
		mux.HandleFunc("GET "+route.pattern, handler)
		if route.post {
			mux.HandleFunc("POST "+route.pattern, handler)
		}
	}
	mux.HandleFunc("GET /api/v1/histogram/heatmap", a.heatmap)
	mux.HandleFunc("GET /api/v1/histogram/quantile", a.quantile)
	mux.HandleFunc("GET /api/v1/histogram/over", a.over)
	mux.HandleFunc("GET /api/v1/metrics", a.listMetrics)
}

// apiError is an error with Prometheus' type.
type apiError struct {
	kind   string
	status int
	err    error
}

func (e *apiError) Error() string { return e.err.Error() }
func (e *apiError) Unwrap() error { return e.err }

func badData(format string, args ...any) error {
	return &apiError{"bad_data", http.StatusBadRequest, fmt.Errorf(format, args...)}
}

// classify gives any error Prometheus' type and status.
func classify(err error) *apiError {
	var known *apiError
	var canceled promql.ErrQueryCanceled
	var timeout promql.ErrQueryTimeout
	var tooMany promql.ErrTooManySamples
	var inStorage promql.ErrStorage
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return &apiError{"canceled", 499, err}
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return &apiError{"timeout", http.StatusServiceUnavailable, err}
	case errors.Is(err, tsdb.ErrClosed):
		return &apiError{"unavailable", http.StatusServiceUnavailable, err}
	case errors.As(err, &inStorage):
		return &apiError{"internal", http.StatusInternalServerError, err}
	case errors.As(err, &tooMany):
		return &apiError{"execution", http.StatusUnprocessableEntity, err}
	}
	return &apiError{"execution", http.StatusUnprocessableEntity, err}
}

func envelope(handler func(http.ResponseWriter, *http.Request) (any, annotations.Annotations, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			writeError(w, badData("the form of the request cannot be read: %w", err))
			return
		}
		data, notes, err := handler(w, r)
		if err != nil {
			writeError(w, err)
			return
		}
		warnings, infos := notes.AsStrings(r.FormValue("query"), 10, 10)
		writeData(w, data, warnings, infos)
	}
}

// admit waits for a place among the running queries; the function it returns gives the place back.
func (a *API) admit(ctx context.Context) (func(), error) {
	select {
	case a.inFlight <- struct{}{}:
		return func() { <-a.inFlight }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// deadline is the request's context with the query's timeout; it ends when the client leaves.
func deadline(r *http.Request) (context.Context, context.CancelFunc, error) {
	timeout := Timeout
	if text := r.FormValue("timeout"); text != "" {
		asked, err := parseDuration(text)
		if err != nil {
			return nil, nil, badData("timeout: %w", err)
		}
		timeout = min(timeout, asked)
	}
	ctx, cancel := context.WithTimeout(r.Context(), timeout)
	return ctx, cancel, nil
}

func (a *API) query(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	at, err := parseTime(r.FormValue("time"), a.now())
	if err != nil {
		return nil, nil, badData("time: %w", err)
	}
	return a.run(r, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewInstantQuery(ctx, Queryable(a.store), opts, r.FormValue("query"), at)
	})
}

func (a *API) queryRange(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	start, end, step, err := a.parseRange(r, 0)
	if err != nil {
		return nil, nil, err
	}
	return a.run(r, func(ctx context.Context, opts promql.QueryOpts) (promql.Query, error) {
		return a.engine.NewRangeQuery(ctx, Queryable(a.store), opts, r.FormValue("query"), start, end, step)
	})
}

func (a *API) run(r *http.Request, prepare func(context.Context, promql.QueryOpts) (promql.Query, error)) (any, annotations.Annotations, error) {
	ctx, cancel, err := deadline(r)
	if err != nil {
		return nil, nil, err
	}
	defer cancel()
	done, err := a.admit(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	look := time.Duration(0)
	if text := r.FormValue("lookback_delta"); text != "" {
		if look, err = parseDuration(text); err != nil {
			return nil, nil, badData("lookback_delta: %w", err)
		}
	}
	query, err := prepare(ctx, promql.NewPrometheusQueryOpts(false, look))
	if err != nil {
		return nil, nil, badData("query: %w", err)
	}
	defer query.Close()
	result := query.Exec(ctx)
	if result.Err != nil {
		return nil, nil, classify(result.Err)
	}
	// The answer is written before Close gives the points back: so it is encoded here.
	encoded := encodeValue(result.Value)
	return encoded, result.Warnings, nil
}

// parseRange reads start, end and step; step is defaultStep when it is missing and that is not 0.
func (a *API) parseRange(r *http.Request, defaultStep time.Duration) (start, end time.Time, step time.Duration, err error) {
	none := time.Time{}
	if start, err = parseTime(r.FormValue("start"), none); err == nil && start.IsZero() {
		err = errors.New("is missing")
	}
	if err != nil {
		return none, none, 0, badData("start: %w", err)
	}
	if end, err = parseTime(r.FormValue("end"), none); err == nil && end.IsZero() {
		err = errors.New("is missing")
	}
	if err != nil {
		return none, none, 0, badData("end: %w", err)
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
	if points := end.Sub(start) / step; points > maxPoints {
		return none, none, 0, badData("step: %d points per series are too many, %d is the limit; ask for a larger step or a shorter time",
			points, maxPoints)
	}
	return start, end, step, nil
}

// parseTime reads seconds since 1970 or RFC 3339.
func parseTime(text string, missing time.Time) (time.Time, error) {
	if text == "" {
		return missing, nil
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) || math.Abs(seconds) > 1e11 {
			return time.Time{}, fmt.Errorf("%q is no time", text)
		}
		return time.UnixMilli(int64(math.Round(seconds * 1000))).UTC(), nil
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		return t, nil
	}
	return time.Time{}, fmt.Errorf("%q is no time: seconds since 1970 or RFC 3339 are", text)
}

// parseDuration reads seconds or PromQL's form (5m).
func parseDuration(text string) (time.Duration, error) {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if !(seconds >= 0 && seconds < 1e9) {
			return 0, fmt.Errorf("%q is no duration", text)
		}
		return time.Duration(seconds * float64(time.Second)), nil
	}
	if d, err := parsePromDuration(text); err == nil {
		return d, nil
	}
	return 0, fmt.Errorf("%q is no duration: seconds or 5m are", text)
}

// matcherSets reads match[] selectors.
func (a *API) matcherSets(r *http.Request, needed bool) ([][]*labels.Matcher, error) {
	if len(r.Form["match[]"]) == 0 {
		if needed {
			return nil, badData("match[]: is missing")
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
