package promapi

// What PromQL says clumsily: heatmaps, quantiles per column, and how many measurements (people, not percentages) were
// beyond a limit. All series that match are merged; a column is the merge of step's worth of seconds.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"cistern/services/histogram"
	"cistern/services/problem"
	"cistern/services/tsdb"

	"github.com/prometheus/prometheus/model/labels"
)

// maxHistograms is how many histograms one request may merge: about ten seconds' work.
const maxHistograms = 20_000_000

type column struct {
	time   int64 // ms, the column's start
	merged *histogram.Histogram
}

// columns answers the request's range as columns that are not empty, ascending.
func (a *API) columns(ctx context.Context, matchers []*labels.Matcher, start, end time.Time, step time.Duration) ([]column, error) {
	from, to, width := start.UnixMilli(), end.UnixMilli(), step.Milliseconds()
	found, release, err := a.store.Select(ctx, from, to, matchers...)
	defer release()
	if err != nil {
		return nil, err
	}
	merged := make([]*histogram.Histogram, (to-from)/width+1)
	seen := 0
	for _, one := range found {
		if one.Kind != tsdb.Histogram {
			continue
		}
		it := one.Histograms(from, to)
		for it.Next() {
			if seen++; seen%4096 == 0 {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				if seen > maxHistograms {
					return nil, fmt.Errorf("more than %d histograms would have to be merged; ask for a shorter time or fewer series", maxHistograms)
				}
			}
			t, h := it.At()
			i := (t - from) / width
			if merged[i] == nil {
				merged[i] = &histogram.Histogram{}
			}
			merged[i].Merge(&h)
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
	}
	var list []column
	for i, h := range merged {
		if h != nil {
			list = append(list, column{from + int64(i)*width, h})
		}
	}
	return list, nil
}

// histogramRequest reads what the three routes have in common, computes the columns, and answers errors itself.
func (a *API) histogramRequest(w http.ResponseWriter, r *http.Request) (start, end time.Time, step time.Duration, list []column, ok bool) {
	fail := func(status int, code, path string, err error) {
		problem.Write(w, status, code, "The histograms cannot be shown: "+err.Error()+".", "", problem.Field{Path: path, Message: err.Error()})
	}
	matchers, err := a.parser.ParseMetricSelector(r.FormValue("query"))
	if err == nil && matchesAll(matchers) {
		err = errMatchesAll
	}
	if err != nil {
		fail(http.StatusBadRequest, "invalid_request", "query", fmt.Errorf("query must select series, like latency{service=\"web\"}: %w", err))
		return
	}
	if start, end, step, err = a.parseRange(r, time.Second); err != nil {
		fail(http.StatusBadRequest, "invalid_request", "start", err)
		return
	}
	ctx, cancel, err := deadline(r)
	if err != nil {
		fail(http.StatusBadRequest, "invalid_request", "timeout", err)
		return
	}
	defer cancel()
	done, err := a.admit(ctx)
	if err == nil {
		defer done()
		list, err = a.columns(ctx, matchers, start, end, step)
	}
	switch {
	case err == nil:
		return start, end, step, list, true
	case errors.Is(err, context.Canceled):
		fail(499, "canceled", "query", err)
	case errors.Is(err, context.DeadlineExceeded):
		fail(http.StatusServiceUnavailable, "timeout", "query", err)
	case errors.Is(err, tsdb.ErrClosed):
		fail(http.StatusServiceUnavailable, "service_unavailable", "query", err)
	default:
		fail(http.StatusUnprocessableEntity, "invalid_request", "query", err)
	}
	return
}

func seconds(ms int64) float64 { return float64(ms) / 1000 }

// number is a float as JSON: nothing for NaN and infinities.
type number float64

func (n number) MarshalJSON() ([]byte, error) {
	if math.IsNaN(float64(n)) || math.IsInf(float64(n), 0) {
		return []byte("null"), nil
	}
	return json.Marshal(float64(n))
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}

func (a *API) heatmap(w http.ResponseWriter, r *http.Request) {
	start, end, step, list, ok := a.histogramRequest(w, r)
	if !ok {
		return
	}
	type one struct {
		Time float64      `json:"time"`
		Bins [][3]float64 `json:"bins"`
	}
	answer := struct {
		Start   float64 `json:"start"`
		End     float64 `json:"end"`
		Step    float64 `json:"step"`
		Columns []one   `json:"columns"`
	}{seconds(start.UnixMilli()), seconds(end.UnixMilli()), step.Seconds(), []one{}}
	for _, c := range list {
		bins := make([][3]float64, 0, len(c.merged.Bins))
		for i, bin := range c.merged.Bins {
			from, to := bin.Bounds()
			bins = append(bins, [3]float64{from, to, float64(c.merged.Counts[i])})
		}
		answer.Columns = append(answer.Columns, one{seconds(c.time), bins})
	}
	writeJSON(w, answer)
}

func (a *API) quantile(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	var qs []float64
	for _, text := range r.Form["q"] {
		q, err := strconv.ParseFloat(text, 64)
		if err != nil || !(q >= 0 && q <= 1) || len(qs) == 100 {
			problem.Write(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("%q is no quantile.", text),
				"Give q from 0 to 1, a hundred times at most.", problem.Field{Path: "q", Message: "must be a number from 0 to 1"})
			return
		}
		qs = append(qs, q)
	}
	if len(qs) == 0 {
		qs = []float64{0.5}
	}
	_, _, _, list, ok := a.histogramRequest(w, r)
	if !ok {
		return
	}
	// Quantiles wants them ascending; the answer is in the request's order.
	order := make([]int, len(qs))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(x, y int) int { return int(math.Copysign(1, qs[x]-qs[y])) })
	ascending := make([]float64, len(qs))
	for i, k := range order {
		ascending[i] = qs[k]
	}
	type one struct {
		Time      float64  `json:"time"`
		Count     uint64   `json:"count"`
		Quantiles []number `json:"quantiles"`
	}
	answer := struct {
		Columns []one `json:"columns"`
	}{[]one{}}
	for _, c := range list {
		values := make([]number, len(qs))
		for i, v := range c.merged.Quantiles(ascending...) {
			values[order[i]] = number(v)
		}
		answer.Columns = append(answer.Columns, one{seconds(c.time), c.merged.Count(), values})
	}
	writeJSON(w, answer)
}

func (a *API) over(w http.ResponseWriter, r *http.Request) {
	limit, err := strconv.ParseFloat(r.FormValue("limit"), 64)
	if err != nil || math.IsNaN(limit) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("%q is no limit.", r.FormValue("limit")),
			"Give limit as a number.", problem.Field{Path: "limit", Message: "must be a number"})
		return
	}
	_, _, _, list, ok := a.histogramRequest(w, r)
	if !ok {
		return
	}
	type one struct {
		Time  float64 `json:"time"`
		Count uint64  `json:"count"`
		Over  float64 `json:"over"`
		Total float64 `json:"total"`
	}
	answer := struct {
		Columns []one `json:"columns"`
	}{[]one{}}
	total := 0.0
	for _, c := range list {
		over := c.merged.CountAbove(limit)
		total += over
		answer.Columns = append(answer.Columns, one{seconds(c.time), c.merged.Count(), over, total})
	}
	writeJSON(w, answer)
}

func (a *API) listMetrics(w http.ResponseWriter, r *http.Request) {
	most, err := parseLimit(r)
	if err != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The metrics cannot be listed: "+err.Error()+".", "",
			problem.Field{Path: "limit", Message: "must be a whole number"})
		return
	}
	list, err := a.metrics(r.FormValue("match"), most)
	if err != nil {
		problem.Write(w, http.StatusInternalServerError, "service_unavailable", "The metrics cannot be listed: "+err.Error()+".", "")
		return
	}
	type one struct {
		Name     string  `json:"name"`
		Type     string  `json:"type"`
		Series   int     `json:"series"`
		LastTime float64 `json:"lastTime"`
	}
	answer := struct {
		Metrics []one `json:"metrics"`
	}{[]one{}}
	for _, m := range list {
		answer.Metrics = append(answer.Metrics, one{m.Name, m.Kind.String(), m.Series, seconds(m.LastTime)})
	}
	writeJSON(w, answer)
}
