package main

// Tokens that may only a part: what nginx says of the token of a request, and which routes go by it.
//
//	X-Cistern-Labels: site=berlin&rack=7             labels that are forced on all that is sent
//	X-Cistern-Selector: %7Bsite%3D%22berlin%22%7D    the series that may be read
//
// All names and values, and the selector as a whole, are percent-encoded. nginx sets both, whatever a client sent. A route that
// is not known here, or cannot keep to them, refuses.

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/store/tsdb"
)

const (
	labelsHeader   = "X-Cistern-Labels"
	selectorHeader = "X-Cistern-Selector"
)

// scope says what a route does for a token that may only a part.
type scope uint8

const (
	refused  scope = iota // it is about all series, changes something, or is not for clients
	narrowed              // it reads by the request's context, and sees what the selector lets it see
	labelled              // it stores under the request's context, with the forced labels
	dataless              // its answer to such a request has nothing of the store
)

// scopes is every route's, by its path. A test holds it against the routes that there are.
var scopes = map[string]scope{
	"/api/v1/query": narrowed, "/api/v1/query_range": narrowed, "/api/v1/query_exemplars": narrowed, "/api/v1/query_batch": narrowed,
	"/api/v1/labels": narrowed, "/api/v1/label/{name}/values": narrowed, "/api/v1/series": narrowed, "/api/v1/metadata": narrowed,
	"/api/v1/read": narrowed, "/api/v1/columns": narrowed, "/api/v1/live": narrowed, "/api/v1/why": narrowed, "/api/v1/changed": narrowed, "/federate": narrowed,
	"/api/v1/histogram/quantiles": narrowed, "/api/v1/histogram/inverse": narrowed, "/api/v1/histogram/over": narrowed,
	"/api/v1/histogram/heatmap": narrowed, "/api/v1/histogram/distribution": narrowed, "/api/v1/histogram/modes": narrowed,

	"/api/v1/write": labelled, "/api/v1/import": labelled, "/api/v1/collectd": labelled,
	"/api/v1/trap": labelled, "/api/v1/trap/{check}": labelled,
	"/v1/metrics": labelled, "/api/v1/otlp/v1/metrics": labelled, "/write": labelled, "/api/v2/write": labelled,

	"/api/v1/status/buildinfo": dataless, "/api/v1/format_query": dataless, "/api/v1/parse_query": dataless, "/api/v1/unit": dataless,
	"/-/healthy": dataless, "/-/ready": dataless, "/healthz": dataless, "/ping": dataless, "/query": dataless, "/": dataless,
	"/api/v1/rules": dataless, "/api/v1/alerts": dataless, "/api/v1/targets": dataless, "/api/v1/alertmanagers": dataless,

	"/api/v1/metrics": refused, "/api/v1/sizes": refused, "/api/v1/hosts": refused, "/api/v1/status/tsdb": refused, "/api/v1/status/storage": refused,
	"/api/v1/status/runtimeinfo": refused, "/api/v1/status/config": refused, "/api/v1/status/flags": refused,
	"/api/v1/admin/tsdb/delete_series": refused, "/admin/tsdb/delete_series": refused, "/admin/flush": refused, "/admin/write": refused,
	"/admin/retention": refused, "/admin/meanings": refused, "/admin/names": refused, "/admin/watch": refused, "/admin/selector/check": refused,
	"/admin/inputs": refused, "/admin/inputs/certificate": refused, "/admin/outputs": refused, "/admin/outputs/check": refused, "/admin/outputs/test": refused,
	"/admin/recording-rules": refused, "/admin/recording-rules/preview": refused, "/admin/recording-rules/read-file": refused,
	"/admin/recording-rules/{id}/fill": refused,
	"/metrics":                         refused, "/debug/pprof/": refused, "/debug/pprof/profile": refused, "/debug/pprof/trace": refused,
}

// routeTable is a mux that knows what was added to it.
type routeTable struct {
	http.ServeMux
	patterns []string
}

// Handle and HandleFunc are the mux's.
func (t *routeTable) Handle(pattern string, handler http.Handler) {
	t.patterns = append(t.patterns, pattern)
	t.ServeMux.Handle(pattern, handler)
}

func (t *routeTable) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	t.Handle(pattern, http.HandlerFunc(handler))
}

// pathOf is a pattern without its method.
func pathOf(pattern string) string {
	if _, path, ok := strings.Cut(pattern, " "); ok {
		return path
	}
	return pattern
}

// scoped lets requests through to the routes under what their token is limited to.
func (s *server) scoped(mux *routeTable) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		labels, selector := r.Header.Values(labelsHeader), r.Header.Values(selectorHeader)
		if len(labels) == 0 && len(selector) == 0 {
			mux.ServeHTTP(w, r)
			return
		}
		_, pattern := mux.Handler(r)
		does := scopes[pathOf(pattern)]
		ctx := r.Context()
		if len(selector) > 0 {
			if does != narrowed && does != dataless {
				refuseScope(w, fmt.Sprintf("The token has a selector of the series that it may read, and %.200s cannot be limited to those.", r.URL.Path),
					"Ask by /api/v1/query, /api/v1/series or /api/v1/labels, or use a token without a selector.")
				return
			}
			matchers, err := s.readSelector(selector)
			if err != nil {
				refuseScope(w, "The selector of the token cannot be understood: "+err.Error()+".", "Make another token.")
				return
			}
			ctx = tsdb.WithSelector(ctx, matchers)
		}
		if len(labels) > 0 {
			if does != labelled && does != dataless {
				refuseScope(w, fmt.Sprintf("The token forces labels on what it sends, and %.200s takes no samples from it.", r.URL.Path),
					"Use a token of the role viewer to read.")
				return
			}
			forced, err := readLabels(labels)
			if err != nil {
				refuseScope(w, "The labels of the token cannot be understood: "+err.Error()+".", "Make another token.")
				return
			}
			ctx = tsdb.WithForcedLabels(ctx, forced)
		}
		mux.ServeHTTP(w, r.WithContext(ctx))
	})
}

func refuseScope(w http.ResponseWriter, detail, action string) {
	problem.Write(w, http.StatusForbidden, "forbidden", detail, action)
}

var errTwice = errors.New("the header is there more than once")

func (s *server) readSelector(header []string) ([]*tsdb.Matcher, error) {
	if len(header) != 1 {
		return nil, errTwice
	}
	text, err := url.PathUnescape(header[0])
	if err != nil {
		return nil, err
	}
	return s.queries.ParseSelector(text)
}

func readLabels(header []string) ([]tsdb.Label, error) {
	if len(header) != 1 {
		return nil, errTwice
	}
	var labels []tsdb.Label
	for pair := range strings.SplitSeq(header[0], "&") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			return nil, fmt.Errorf("%.80q is no label and its value", pair)
		}
		var one tsdb.Label
		var err error
		if one.Name, err = url.PathUnescape(name); err != nil {
			return nil, err
		}
		if one.Value, err = url.PathUnescape(value); err != nil {
			return nil, err
		}
		if one.Name == tsdb.NameLabel || one.Value == "" {
			return nil, fmt.Errorf("the label %.80q cannot be forced", one.Name)
		}
		labels = append(labels, one)
	}
	// With a name, so that these alone are what can be wrong.
	if _, err := tsdb.AppendKey(nil, append([]tsdb.Label{{Name: tsdb.NameLabel, Value: "x"}}, labels...)); err != nil {
		return nil, err
	}
	return labels, nil
}

// checkSelector says whether a text is a selector that a token may have.
func (s *server) checkSelector(w http.ResponseWriter, r *http.Request) {
	var wanted struct {
		Selector string `json:"selector"`
	}
	if !problem.Decode(w, r, &wanted, 64<<10) {
		return
	}
	matchers, err := s.queries.ParseSelector(wanted.Selector)
	if err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The selector cannot be so: "+err.Error()+".", `Write it as {site="berlin"}.`,
			problem.Field{Path: "/selector", Message: err.Error()})
		return
	}
	writeJSON(w, map[string]any{"matchers": len(matchers)})
}
