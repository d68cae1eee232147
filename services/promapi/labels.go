package promapi

// Prometheus' routes about what there is: labels, series, metadata, and the version.

import (
	"errors"
	"net/http"
	"slices"
	"sort"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

func parsePromDuration(text string) (time.Duration, error) {
	d, err := model.ParseDuration(text)
	return time.Duration(d), err
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
	return start.UnixMilli(), end.UnixMilli(), nil
}

func parseLimit(r *http.Request) (int, error) {
	text := r.FormValue("limit")
	if text == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return 0, badData("limit: must be a whole number, 0 for none")
	}
	return n, nil
}

// over collects a list over several selectors.
func (a *API) collect(r *http.Request, ask func(minTime, maxTime int64, matchers []*labels.Matcher) ([]string, error)) (any, annotations.Annotations, error) {
	minTime, maxTime, err := a.span(r)
	if err != nil {
		return nil, nil, err
	}
	most, err := parseLimit(r)
	if err != nil {
		return nil, nil, err
	}
	sets, err := a.matcherSets(r, false)
	if err != nil {
		return nil, nil, err
	}
	if sets == nil {
		sets = [][]*labels.Matcher{nil}
	}
	all := []string{}
	for _, matchers := range sets {
		list, err := ask(minTime, maxTime, matchers)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, list...)
	}
	slices.Sort(all)
	all = slices.Compact(all)
	if most > 0 && len(all) > most {
		all = all[:most]
	}
	return all, nil, nil
}

func (a *API) labelNames(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	return a.collect(r, func(minTime, maxTime int64, matchers []*labels.Matcher) ([]string, error) {
		return a.store.LabelNames(r.Context(), minTime, maxTime, matchers...)
	})
}

func (a *API) labelValues(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	name := r.PathValue("name")
	return a.collect(r, func(minTime, maxTime int64, matchers []*labels.Matcher) ([]string, error) {
		return a.store.LabelValues(r.Context(), name, minTime, maxTime, matchers...)
	})
}

func (a *API) series(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	minTime, maxTime, err := a.span(r)
	if err != nil {
		return nil, nil, err
	}
	most, err := parseLimit(r)
	if err != nil {
		return nil, nil, err
	}
	sets, err := a.matcherSets(r, true)
	if err != nil {
		return nil, nil, err
	}
	found := map[string]map[string]string{}
	for _, matchers := range sets {
		list, release, err := a.store.Select(r.Context(), minTime, maxTime, matchers...)
		if err != nil {
			return nil, nil, err
		}
		for _, one := range list {
			set := make(map[string]string, len(one.Labels))
			for _, l := range one.Labels {
				set[l.Name] = l.Value
			}
			found[one.Key] = set
		}
		release()
	}
	keys := make([]string, 0, len(found))
	for key := range found {
		keys = append(keys, key)
	}
	sort.Strings(keys)
	if most > 0 && len(keys) > most {
		keys = keys[:most]
	}
	answer := make([]map[string]string, 0, len(keys))
	for _, key := range keys {
		answer = append(answer, found[key])
	}
	return answer, nil, nil
}

func (a *API) metadata(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	most, err := parseLimit(r)
	if err != nil {
		return nil, nil, err
	}
	list, err := a.metrics("", 0)
	if err != nil {
		return nil, nil, err
	}
	type entry struct {
		Type string `json:"type"`
		Help string `json:"help"`
		Unit string `json:"unit"`
	}
	answer := map[string][]entry{}
	for _, one := range list {
		if only := r.FormValue("metric"); only != "" && only != one.Name {
			continue
		}
		if most > 0 && len(answer) == most {
			break
		}
		answer[one.Name] = []entry{{Type: one.Kind.String()}}
	}
	return answer, nil, nil
}

func (a *API) buildInfo(http.ResponseWriter, *http.Request) (any, annotations.Annotations, error) {
	// Grafana reads the version to choose what it may ask: it is that of the API's model, not Cistern's.
	return map[string]string{"version": "3.0.0", "application": "cistern", "cisternVersion": a.version}, nil, nil
}

func (a *API) formatQuery(_ http.ResponseWriter, r *http.Request) (any, annotations.Annotations, error) {
	if r.FormValue("query") == "" {
		return nil, nil, badData("query: %w", errors.New("is missing"))
	}
	expression, err := a.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return nil, nil, badData("query: %w", err)
	}
	return parser.Prettify(expression), nil, nil
}
