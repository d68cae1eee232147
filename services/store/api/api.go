// Package api is storaged's HTTP interface for reading: the Prometheus query API, evaluated by package fast and
// Prometheus' own engine over Cistern's store, and beside it what PromQL says clumsily about histograms.
package api

// The routes, and how requests become answers. Errors of Prometheus' routes have Prometheus' envelope, because its
// clients expect it; those of Cistern's own routes are problem documents. docs/api/store.md lists all routes.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/store/query/budget"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
	"github.com/prometheus/prometheus/util/stats"
)

// Limits of one query that cannot be set; Options has those that can.
const (
	Timeout   = 2 * time.Minute
	lookback  = 5 * time.Minute // how far an instant looks back for a series' latest sample
	maxPoints = 11_000          // per series of an answer: what Prometheus allows too
	maxForm   = 1 << 20
)

// Store is what the API asks.
type Store interface {
	tsdb.Querier
	Keys(ctx context.Context, minTime, maxTime int64, matchers ...*tsdb.Matcher) ([]string, error)
	Metrics(q tsdb.MetricQuery) (tsdb.MetricList, error)
	Cardinality(ctx context.Context, minTime, maxTime int64, most int) (tsdb.Cardinality, error)
	Hosts(epoch int64, since uint64) tsdb.Hosts
	Sizes(ctx context.Context, label string) ([]tsdb.Size, error)
	Metadata() map[string]tsdb.Metadata
	Described(name string) (tsdb.Metadata, bool)
	Meanings() map[string]tsdb.Meaning
	Exemplars(ctx context.Context, minTime, maxTime int64, matchers ...*tsdb.Matcher) []tsdb.ExemplarSet
	Delete(ctx context.Context, minTime, maxTime int64, matchers ...*tsdb.Matcher) error
	Status() tsdb.Status
	Granularity(minTime, maxTime int64) time.Duration
	Watch(limits []tsdb.Limit) *tsdb.Watching
}

// API answers queries. Make one with New.
type API struct {
	store    Store
	engine   *fast.Engine
	parser   parser.Parser
	version  string
	now      func() time.Time
	pool     *budget.Pool
	live     atomic.Int64 // clients of live
	watching atomic.Int64 // clients of Watch

	// Stopping is closed when streams are to end; nil for never.
	Stopping <-chan struct{}

	// Settings is what status/config and status/flags answer; nil for nothing.
	Settings func() Settings

	// Latencies is how long queries have taken; whoever stores that takes it.
	Latencies Latencies
}

// Mux is what routes are added to.
type Mux interface {
	Handle(pattern string, handler http.Handler)
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}

// Register adds the routes to a mux.
func (a *API) Register(mux Mux) {
	for _, route := range []struct {
		pattern string
		post    bool
		handler func(*http.Request) (answer, error)
	}{
		{"/api/v1/query", true, a.query},
		{"/api/v1/query_range", true, a.queryRange},
		{"/api/v1/query_exemplars", true, a.exemplars},
		{"/api/v1/labels", true, a.labelNames},
		{"/api/v1/label/{name}/values", false, a.labelValues},
		{"/api/v1/series", true, a.series},
		{"/api/v1/metadata", false, a.metadata},
		{"/api/v1/status/buildinfo", false, a.buildInfo},
		{"/api/v1/status/runtimeinfo", false, a.runtimeInfo},
		{"/api/v1/status/tsdb", false, a.statusTSDB},
		{"/api/v1/status/config", false, a.statusConfig},
		{"/api/v1/status/flags", false, a.statusFlags},
		{"/api/v1/format_query", true, a.formatQuery},
		{"/api/v1/parse_query", true, a.parseQuery},
		{"/api/v1/unit", true, a.unitOf},
	} {
		handler := envelope(route.handler)
		if kind := strings.TrimPrefix(route.pattern, "/api/v1/"); kind == "query" || kind == "query_range" || kind == "series" {
			handler = a.Latencies.timed(kind, handler)
		}
		mux.HandleFunc("GET "+route.pattern, handler)
		if route.post {
			mux.HandleFunc("POST "+route.pattern, handler)
		}
	}
	// Only as a POST, because a GET of anything below /api/v1 needs no more than to be a viewer. Below /admin it needs
	// to be an administrator; the first name is that of Prometheus' clients.
	for _, path := range []string{"/api/v1/admin/tsdb/delete_series", "/admin/tsdb/delete_series"} {
		mux.HandleFunc("POST "+path, envelope(a.deleteSeries))
		mux.HandleFunc("PUT "+path, envelope(a.deleteSeries))
	}
	mux.HandleFunc("POST /api/v1/query_batch", a.Latencies.timed("query_batch", a.queryBatch()))
	mux.HandleFunc("POST /api/v1/read", a.Latencies.timed("read", a.remoteRead))
	for name, handler := range map[string]http.HandlerFunc{
		"quantiles": a.quantiles, "inverse": a.inverse, "over": a.overLimit,
		"heatmap": a.heatmap, "distribution": a.distribution, "modes": a.modes,
	} {
		timed := a.Latencies.timed("histogram", form(handler))
		mux.HandleFunc("GET /api/v1/histogram/"+name, timed)
		mux.HandleFunc("POST /api/v1/histogram/"+name, timed)
	}
	why := a.Latencies.timed("why", form(a.why))
	mux.HandleFunc("GET /api/v1/why", why)
	mux.HandleFunc("POST /api/v1/why", why)
	changed := a.Latencies.timed("changed", form(a.changed))
	mux.HandleFunc("GET /api/v1/changed", changed)
	mux.HandleFunc("POST /api/v1/changed", changed)
	columns := a.Latencies.timed("columns", form(a.columns))
	mux.HandleFunc("GET /api/v1/columns", columns)
	mux.HandleFunc("POST /api/v1/columns", columns)
	mux.HandleFunc("GET /api/v1/live", form(a.liveStream))
	mux.HandleFunc("GET /federate", a.Latencies.timed("federate", form(a.federate)))
	mux.HandleFunc("GET /api/v1/metrics", form(a.listMetrics))
	mux.HandleFunc("GET /api/v1/sizes", form(a.listSizes))
	mux.HandleFunc("GET /api/v1/hosts", form(a.listHosts))
	for path, where := range map[string]string{
		"rules": "Alert rules are thresholds here: see /api/thresholds.", "alerts": "Alerts are at /api/alerts.",
		"targets": "Cistern scrapes nothing: metrics are sent to it, see /api/v1/write.", "alertmanagers": "Cistern sends its alerts itself: see /api/destinations.",
	} {
		mux.HandleFunc("/api/v1/"+path, func(w http.ResponseWriter, r *http.Request) {
			problem.Write(w, http.StatusNotFound, "not_found", fmt.Sprintf("There is no %.200s in Cistern.", r.URL.Path), where)
		})
	}
}

// answer is what a handler of Prometheus' routes gives: a query's value, or anything that becomes JSON.
type answer struct {
	value    parser.Value
	data     any
	stats    any
	warnings []string
	infos    []string
	nothing  bool            // 204
	ctx      context.Context // of its query; nil when it does not matter
	most     int             // series of a value that is evaluated as it is written; 0: all
	late     func(*answer)   // adds what is known when the value is written; may be nil
	close    func()
}

// note adds what an engine remarks.
func (a *answer) note(query string, notes annotations.Annotations) {
	warnings, infos := notes.AsStrings(query, 10, 10)
	a.warnings, a.infos = append(a.warnings, warnings...), append(a.infos, infos...)
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
	var exceeded *budget.Exceeded
	var busy *budget.Busy
	var inStorage promql.ErrStorage
	var badQuery fast.BadQuery
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &known):
		return known
	case errors.As(err, &badQuery):
		return &apiError{"bad_data", http.StatusBadRequest, fmt.Errorf("query: %w", err)}
	case errors.As(err, &tooLarge):
		return &apiError{"bad_data", http.StatusRequestEntityTooLarge, err}
	case errors.As(err, &exceeded):
		return &apiError{"execution", http.StatusUnprocessableEntity, exceeded}
	case errors.As(err, &busy) && busy.Reason == budget.Memory:
		return &apiError{"execution", http.StatusUnprocessableEntity, busy}
	case errors.As(err, &busy):
		return &apiError{"unavailable", http.StatusServiceUnavailable, busy}
	case errors.As(err, &canceled), errors.Is(err, context.Canceled):
		return &apiError{"canceled", 499, err}
	case errors.As(err, &timeout), errors.Is(err, context.DeadlineExceeded):
		return &apiError{"timeout", http.StatusServiceUnavailable, fmt.Errorf("%w; ask for a shorter time, a larger step or fewer series", err)}
	case errors.Is(err, tsdb.ErrClosed):
		return &apiError{"unavailable", http.StatusServiceUnavailable, err}
	case errors.As(err, &inStorage):
		return &apiError{"internal", http.StatusInternalServerError, err}
	}
	return &apiError{"execution", http.StatusUnprocessableEntity, err}
}

func envelope(handler func(*http.Request) (answer, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				writeError(w, &apiError{"bad_data", http.StatusRequestEntityTooLarge, fmt.Errorf("the form of the request is larger than %d bytes", maxForm)})
				return
			}
			writeError(w, badData("the form of the request cannot be read: %w", err))
			return
		}
		result, err := handler(r)
		if err != nil {
			writeError(w, err)
			return
		}
		if result.close != nil {
			defer result.close()
		}
		if result.nothing {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		writeAnswer(w, &result)
	}
}

// form reads the request's form for Cistern's own routes.
func form(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, maxForm)
		if err := r.ParseForm(); err != nil {
			var tooLarge *http.MaxBytesError
			if errors.As(err, &tooLarge) {
				problem.Write(w, http.StatusRequestEntityTooLarge, "body_too_large", fmt.Sprintf("The request's form is larger than %d bytes.", maxForm), "")
				return
			}
			problem.Write(w, http.StatusBadRequest, "invalid_request", "The request's form cannot be read: "+err.Error()+".", "")
			return
		}
		handler(w, r)
	}
}

func (a *API) query(r *http.Request) (answer, error) {
	at, err := parseTime(r.FormValue("time"), a.now())
	if err != nil {
		return answer{}, badData("time: %w", err)
	}
	return a.run(r, fast.Query{Start: at, End: at})
}

func (a *API) queryRange(r *http.Request) (answer, error) {
	start, end, step, err := parseRange(r, 0)
	if err != nil {
		return answer{}, err
	}
	return a.run(r, fast.Query{Start: start, End: end, Step: step})
}

// run answers a query whose times are read already.
func (a *API) run(r *http.Request, q fast.Query) (answer, error) {
	most, err := parseLimit(r)
	if err != nil {
		return answer{}, err
	}
	began := time.Now()
	one, err := a.begin(r)
	if err != nil {
		return answer{}, err
	}
	found, infos, err := a.exec(one, r, q)
	if err != nil {
		one.end()
		return answer{}, err
	}
	result := answer{value: found.Value, warnings: found.Warnings, ctx: one.ctx, most: most, close: func() { found.Close(); one.end() }}
	result.infos = infos
	text := r.FormValue("query")
	if lazy, ok := found.Value.(*fast.Lazy); ok {
		result.late = func(a *answer) { a.note(text, lazy.Notes()) }
	} else {
		result.note(text, found.Notes)
	}
	if most > 0 {
		cut := false
		switch v := result.value.(type) {
		case promql.Matrix:
			if cut = len(v) > most; cut {
				result.value = v[:most]
			}
		case promql.Vector:
			if cut = len(v) > most; cut {
				result.value = v[:most]
			}
		}
		if cut {
			result.warnings = append(result.warnings, cutShort)
		}
	}
	if text := r.FormValue("stats"); text != "" {
		if found.Stats != nil {
			result.stats = stats.NewQueryStats(found.Stats)
		} else {
			type figures map[string]any
			result.stats = figures{"timings": figures{"evalTotalTime": time.Since(began).Seconds(), "execTotalTime": time.Since(began).Seconds()},
				"samples": figures{"totalQueryableSamples": found.Read, "peakSamples": found.Read}, "evaluatedBy": found.By}
		}
	}
	return result, nil
}

// cutShort is Prometheus' warning for an answer that was limited.
const cutShort = "results truncated due to limit"

// exec evaluates the request's expression.
func (a *API) exec(one *asked, r *http.Request, q fast.Query) (fast.Answer, []string, error) {
	q.Text = r.FormValue("query")
	if strings.TrimSpace(q.Text) == "" {
		return fast.Answer{}, nil, badData("query: is missing; give a PromQL expression")
	}
	expr, err := a.parser.ParseExpr(q.Text)
	if err != nil {
		return fast.Answer{}, nil, badData("query: %w", err)
	}
	if err := countable(q); err != nil {
		return fast.Answer{}, nil, err
	}
	q.Lookback = lookback
	q.PerStepStatistic = r.FormValue("stats") == "all"
	var infos []string
	if text := r.FormValue("lookback_delta"); text != "" {
		if q.Lookback, err = parseDuration(text); err != nil || q.Lookback < time.Millisecond {
			return fast.Answer{}, nil, badData("lookback_delta: %q is no duration: seconds or 5m are, and more than 0", text)
		}
	} else {
		// Where rollups are all that is left, samples are as far apart as those.
		from, to := promql.FindMinMaxTime(&parser.EvalStmt{Expr: expr, Start: q.Start, End: q.End, Interval: q.Step, LookbackDelta: lookback})
		apart := a.store.Granularity(from, to)
		if apart >= lookback {
			q.Lookback = apart + lookback
		}
		if shortest, any := shortestRange(expr); apart >= lookback || apart > 0 && any && shortest < 2*apart {
			infos = append(infos, fmt.Sprintf("of a part of this time only rollups of %s are left: ranges must be longer than that to find something in it", words(apart)))
		}
	}
	if err := a.admit(one); err != nil {
		return fast.Answer{}, nil, err
	}
	found, err := timely(one, func(ctx context.Context) (fast.Answer, error) { return a.engine.Exec(ctx, q) }, closed)
	return found, infos, err
}

// closed lets go of an answer that nobody waits for any more.
func closed(found fast.Answer) {
	if found.Close != nil {
		found.Close()
	}
}

// shortestRange is that of an expression's ranges of samples.
func shortestRange(expr parser.Expr) (shortest time.Duration, any bool) {
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		if m, ok := node.(*parser.MatrixSelector); ok && (!any || m.Range < shortest) {
			shortest, any = m.Range, true
		}
		return nil
	})
	return shortest, any
}

// words is 1m or 1h.
func words(apart time.Duration) string {
	return strings.TrimSuffix(strings.TrimSuffix(apart.String(), "0s"), "0m")
}

// sortedUnique puts a list in order and takes out what is there twice.
func sortedUnique(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
