package api

// Prometheus' routes about what there is: labels, series, metadata, exemplars; and deleting it.

import (
	"context"
	"encoding/json"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
)

// collect makes a list over several selectors.
func (a *API) collect(r *http.Request, ask func(ctx context.Context, minTime, maxTime int64, matchers []*labels.Matcher) ([]string, error)) (answer, error) {
	minTime, maxTime, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	most, err := parseLimit(r)
	if err != nil {
		return answer{}, err
	}
	sets, err := a.matcherSets(r, false)
	if err != nil {
		return answer{}, err
	}
	if sets == nil {
		sets = [][]*labels.Matcher{nil}
	}
	one, err := a.enter(r)
	if err != nil {
		return answer{}, err
	}
	warnings := &tsdb.Warnings{}
	all, err := timely(one, func(ctx context.Context) ([]string, error) {
		all := []string{}
		for _, matchers := range sets {
			list, err := ask(tsdb.WithWarnings(ctx, warnings), minTime, maxTime, matchers)
			if err != nil {
				return nil, err
			}
			bytes := int64(0)
			for _, text := range list {
				bytes += 32 + int64(len(text))
			}
			if err := one.budget.Charge(ctx, bytes, "names and values of labels"); err != nil {
				return nil, err
			}
			all = append(all, list...)
		}
		return sortedUnique(all), nil
	}, func([]string) {})
	if err != nil {
		one.end()
		return answer{}, err
	}
	result := answer{warnings: warnings.List(), ctx: one.ctx, close: one.end}
	if most > 0 && len(all) > most {
		all, result.warnings = all[:most], append(result.warnings, cutShort)
	}
	result.data = all
	return result, nil
}

func (a *API) labelNames(r *http.Request) (answer, error) {
	return a.collect(r, func(ctx context.Context, minTime, maxTime int64, matchers []*labels.Matcher) ([]string, error) {
		return a.store.LabelNames(ctx, minTime, maxTime, matchers...)
	})
}

func (a *API) labelValues(r *http.Request) (answer, error) {
	name := r.PathValue("name")
	if strings.HasPrefix(name, "U__") {
		name = model.UnescapeName(name, model.ValueEncodingEscaping)
	}
	if !model.UTF8Validation.IsValidLabelName(name) {
		return answer{}, badData("name: %q is no label's name", shorten(name))
	}
	return a.collect(r, func(ctx context.Context, minTime, maxTime int64, matchers []*labels.Matcher) ([]string, error) {
		return a.store.LabelValues(ctx, name, minTime, maxTime, matchers...)
	})
}

// labelSet is labels that become a JSON object; they are in order already.
type labelSet []tsdb.Label

func (s labelSet) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, l := range s {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendString(b, l.Name)
		b = appendString(append(b, ':'), l.Value)
	}
	return append(b, '}'), nil
}

// seriesKey is a key of the store that becomes a JSON object; its labels are in order already.
type seriesKey string

func (key seriesKey) append(b []byte) []byte {
	b = append(b, '{')
	for rest := string(key); rest != ""; {
		name, value, more, ok := tsdb.NextLabel(rest)
		if !ok {
			panic(http.ErrAbortHandler) // the client must not take what it has for the whole
		}
		if len(rest) < len(key) {
			b = append(b, ',')
		}
		b = appendString(b, name)
		b = appendString(append(b, ':'), value)
		rest = more
	}
	return append(b, '}')
}

func (a *API) series(r *http.Request) (answer, error) {
	minTime, maxTime, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	most, err := parseLimit(r)
	if err != nil {
		return answer{}, err
	}
	sets, err := a.matcherSets(r, true)
	if err != nil {
		return answer{}, err
	}
	one, err := a.enter(r)
	if err != nil {
		return answer{}, err
	}
	warnings := &tsdb.Warnings{}
	all, err := timely(one, func(ctx context.Context) ([]seriesKey, error) {
		return a.seriesOf(tsdb.WithWarnings(ctx, warnings), one.budget, minTime, maxTime, sets)
	}, func([]seriesKey) {})
	if err != nil {
		one.end()
		return answer{}, err
	}
	result := answer{warnings: warnings.List(), ctx: one.ctx, close: one.end}
	if most > 0 && len(all) > most {
		all, result.warnings = all[:most], append(result.warnings, cutShort)
	}
	result.data = all
	return result, nil
}

// seriesOf is the keys of the series that match any of the sets, in the order of their labels unless they are very many.
func (a *API) seriesOf(ctx context.Context, b *budget.Budget, minTime, maxTime int64, sets [][]*labels.Matcher) ([]seriesKey, error) {
	var found []string
	for _, matchers := range sets {
		list, err := a.store.Keys(ctx, minTime, maxTime, matchers...)
		if err != nil {
			return nil, err
		}
		bytes := int64(0)
		for _, key := range list {
			bytes += int64(len(key)) + 128
		}
		if err := b.Charge(ctx, bytes, "labels of the series"); err != nil {
			return nil, err
		}
		if found == nil {
			found = list
		} else {
			found = append(found, list...)
		}
	}
	if len(sets) > 1 {
		slices.Sort(found)
		found = slices.Compact(found)
	}
	adapter.SortKeys(found)
	all := make([]seriesKey, len(found))
	for i, key := range found {
		all[i] = seriesKey(key)
	}
	return all, nil
}

func (a *API) metadata(r *http.Request) (answer, error) {
	most, err := parseLimit(r)
	if err != nil {
		return answer{}, err
	}
	type entry struct {
		Type string `json:"type"`
		Help string `json:"help"`
		Unit string `json:"unit"`
	}
	visible, err := a.visibleNames(r)
	if err != nil {
		return answer{}, err
	}
	all := map[string][]entry{}
	for name, m := range a.store.Metadata() {
		kind := m.Type
		if kind == "" {
			kind = "unknown"
		}
		all[name] = []entry{{kind, m.Help, m.Unit}}
	}
	// What nobody described has the type of its kind.
	list, err := a.store.Metrics(tsdb.MetricQuery{})
	if err != nil {
		return answer{}, err
	}
	for _, one := range list.Metrics {
		if _, described := all[one.Name]; described {
			continue
		}
		kind := one.Kind.String()
		if one.Kind == tsdb.NativeHistogram {
			kind = "histogram"
		}
		all[one.Name] = []entry{{Type: kind}}
	}
	for name, m := range a.store.Meanings() {
		if one, there := all[name]; there {
			if m.Unit != "" {
				one[0].Unit = m.Unit
			}
			if m.Description != "" {
				one[0].Help = m.Description
			}
		}
	}
	if visible != nil {
		maps.DeleteFunc(all, func(name string, _ []entry) bool { return !visible[name] })
	}
	if only := r.FormValue("metric"); only != "" {
		entries, ok := all[only]
		all = map[string][]entry{}
		if ok {
			all[only] = entries
		}
	}
	if most > 0 && len(all) > most {
		names := make([]string, 0, len(all))
		for name := range all {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names[most:] {
			delete(all, name)
		}
	}
	return answer{data: all}, nil
}

// visibleNames is the names of the metrics that the request may see; nil when it may see all.
func (a *API) visibleNames(r *http.Request) (map[string]bool, error) {
	if !tsdb.Narrowed(r.Context()) {
		return nil, nil
	}
	one, err := a.enter(r)
	if err != nil {
		return nil, err
	}
	defer one.end()
	list, err := timely(one, func(ctx context.Context) ([]string, error) {
		return a.store.LabelValues(ctx, tsdb.NameLabel, 0, a.now().Add(time.Hour).UnixMilli())
	}, func([]string) {})
	visible := make(map[string]bool, len(list))
	for _, name := range list {
		visible[name] = true
	}
	return visible, err
}

// maxPretty is how deep an expression may be nested to be spread over lines, which takes the cube of that; the rest is
// formatted on one line.
const maxPretty = 250

func (a *API) formatQuery(r *http.Request) (answer, error) {
	if r.FormValue("query") == "" {
		return answer{}, badData("query: is missing; give a PromQL expression")
	}
	expression, err := a.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return answer{}, badData("query: %w", err)
	}
	if nesting(r.FormValue("query"), maxPretty) > maxPretty {
		return answer{data: expression.String()}, nil
	}
	return answer{data: parser.Prettify(expression)}, nil
}

func (a *API) exemplars(r *http.Request) (answer, error) {
	if r.FormValue("query") == "" {
		return answer{}, badData("query: is missing; give a PromQL expression")
	}
	// Grafana asks with milliseconds whether there are exemplars, and offers none when that is refused: to Prometheus such
	// times are only ones that no sample has.
	for _, name := range []string{"start", "end"} {
		if seconds, err := strconv.ParseFloat(r.FormValue(name), 64); err == nil && seconds > farthest && !math.IsInf(seconds, 1) {
			r.Form.Set(name, strconv.FormatFloat(farthest, 'f', -1, 64))
		}
	}
	start, end, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	expression, err := a.parser.ParseExpr(r.FormValue("query"))
	if err != nil {
		return answer{}, badData("query: %w", err)
	}
	type exemplar struct {
		Labels    labelSet        `json:"labels"`
		Value     string          `json:"value"`
		Timestamp json.RawMessage `json:"timestamp"`
	}
	type set struct {
		Series    labelSet   `json:"seriesLabels"`
		Exemplars []exemplar `json:"exemplars"`
	}
	answered := []set{}
	seen := map[string]bool{}
	for _, matchers := range parser.ExtractSelectors(expression) {
		for _, found := range a.store.Exemplars(r.Context(), start, end, matchers...) {
			one := set{Series: found.Labels}
			name, _ := one.Series.MarshalJSON()
			if seen[string(name)] {
				continue
			}
			seen[string(name)] = true
			for _, e := range found.Exemplars {
				one.Exemplars = append(one.Exemplars, exemplar{e.Labels, string(appendNumber(nil, e.Value)), appendTime(nil, e.Time)})
			}
			answered = append(answered, one)
		}
	}
	return answer{data: answered}, nil
}

func (a *API) deleteSeries(r *http.Request) (answer, error) {
	minTime, maxTime, err := a.span(r)
	if err != nil {
		return answer{}, err
	}
	sets, err := a.matcherSets(r, true)
	if err != nil {
		return answer{}, err
	}
	for _, matchers := range sets {
		if err := a.store.Delete(r.Context(), minTime, maxTime, matchers...); err != nil {
			return answer{}, err
		}
	}
	return answer{nothing: true}, nil
}
