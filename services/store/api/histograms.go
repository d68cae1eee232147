package api

// What PromQL says clumsily: heatmaps, quantiles and their inverse, how many measurements (people, not percentages)
// were beyond a limit, whole distributions and their peaks. All series that match are merged. Window i is
// [start+i*step, start+(i+1)*step); there are as many as begin before end, one at least.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/histogram"
	"cistern/services/store/query/adapter"
	"cistern/services/store/tsdb"
)

// merged is what the histogram routes make their answers of.
type merged struct {
	start, end, step int64 // ms
	windows          []*histogram.Dense
	sparse           *histogram.Histogram // of one of them: see window
	approximate      bool                 // something in it was converted from other buckets
	warnings         []string
}

func (m *merged) at(i int) int64 { return m.start + int64(i)*m.step }

// badRequest answers what is wrong with a parameter.
func badRequest(w http.ResponseWriter, path string, err error, action string) {
	problem.Write(w, http.StatusBadRequest, "invalid_request", "The request cannot be answered: "+err.Error()+".", action,
		problem.Field{Path: path, Message: err.Error()})
}

// failed answers an error of a query.
func failed(w http.ResponseWriter, err error) {
	known := classify(err)
	code, action := "invalid_request", ""
	switch known.kind {
	case "canceled":
		code = "canceled"
	case "timeout":
		code, action = "timeout", "Ask for a shorter time, a larger step or fewer series."
	case "unavailable":
		code, action = "service_unavailable", "Ask again in a moment."
		w.Header().Set("Retry-After", "5")
	case "internal":
		code = "service_unavailable"
	}
	if known.kind == "bad_data" {
		name, _, _ := strings.Cut(known.Error(), ":")
		badRequest(w, name, known, "")
		return
	}
	problem.Write(w, known.status, code, "The query cannot be answered: "+known.Error()+".", action)
}

// merge reads what the routes have in common and merges the windows; it answers errors itself. Without a step it is one
// window of all.
func (a *API) merge(w http.ResponseWriter, r *http.Request, oneWindow bool) *merged {
	matchers, err := a.selector(r)
	if err != nil {
		badRequest(w, "query", err, "")
		return nil
	}
	m := &merged{}
	if oneWindow {
		start, err := neededTime(r, "start")
		if err != nil {
			badRequest(w, "start", err, "")
			return nil
		}
		end, err := neededTime(r, "end")
		if err == nil && !end.After(start) {
			err = errors.New("end: must be later than start")
		}
		if err != nil {
			badRequest(w, "end", err, "")
			return nil
		}
		m.start, m.end = start.UnixMilli(), end.UnixMilli()
		m.step = m.end - m.start // which a Duration cannot hold of more than 292 years
	} else {
		start, end, s, err := parseRange(r, time.Second)
		if err != nil {
			name, _, _ := strings.Cut(err.Error(), ":")
			badRequest(w, name, err, "")
			return nil
		}
		m.start, m.end, m.step = start.UnixMilli(), end.UnixMilli(), s.Milliseconds()
	}
	ctx, cancel, err := deadline(r)
	if err != nil {
		badRequest(w, "timeout", err, "")
		return nil
	}
	defer cancel()
	done, err := a.admit(ctx)
	if err == nil {
		defer done()
		err = a.mergeWindows(ctx, m, matchers)
	}
	if err != nil {
		m.done()
		failed(w, err)
		return nil
	}
	return m
}

func (a *API) mergeWindows(ctx context.Context, m *merged, matchers []*tsdb.Matcher) error {
	var warnings tsdb.Warnings
	ctx = tsdb.WithWarnings(ctx, &warnings)
	n := max(1, int((m.end-m.start+m.step-1)/m.step))
	last := m.start + int64(n)*m.step - 1
	apart := a.store.Granularity(m.start, last).Milliseconds()
	// How far before the windows a running total's earlier value is sought: where rollups are left it is as far away as those.
	back := lookback.Milliseconds() + apart
	found, release, err := a.store.Select(ctx, m.start-back, last, matchers...)
	defer release()
	if err != nil {
		return err
	}
	m.windows = make([]*histogram.Dense, n)
	for i := range m.windows {
		m.windows[i] = emptyDense()
	}
	if _, err := adapter.Windows(ctx, found, m.start, m.step, m.windows); err != nil {
		return err
	}
	for _, s := range found {
		if s.HasNatives() {
			m.approximate = true
			if _, err := adapter.NativeWindows(ctx, s, m.start, m.step, back, m.windows); err != nil {
				return err
			}
		}
	}
	m.warnings = warnings.List()
	if apart > 0 && (m.start%apart != 0 || (last+1)%apart != 0 || n > 1 && m.step%apart != 0) {
		m.warnings = append(m.warnings, fmt.Sprintf("of a part of this time only rollups of %s are left: each is in the window in which it begins", words(time.Duration(apart)*time.Millisecond)))
	}
	return ctx.Err()
}

// body begins an answer's object.
func (m *merged) body(w http.ResponseWriter) *out {
	w.Header().Set("Content-Type", "application/json")
	o := pieces.Get().(*out)
	o.w, o.b, o.failed = w, append(o.b[:0], '{'), false
	return o
}

// finish ends it; o is not to be used any more.
func (m *merged) finish(o *out) {
	if m.approximate {
		o.b = append(o.b, `,"approximate":true`...)
	}
	if len(m.warnings) > 0 {
		o.b = append(o.b, `,"warnings":[`...)
		for i, text := range m.warnings {
			if i > 0 {
				o.b = append(o.b, ',')
			}
			o.b = appendString(o.b, text)
		}
		o.b = append(o.b, ']')
	}
	o.b = append(o.b, "}\n"...)
	o.flush()
	if o.w = nil; cap(o.b) <= mostKept {
		pieces.Put(o)
	}
}

// columns writes one object for each window that is not empty.
func (m *merged) columns(o *out, each func(b []byte, h *histogram.Histogram, i int) []byte) {
	o.b = append(o.b, `"columns":[`...)
	first := true
	for i := range m.windows {
		h := m.window(i)
		if len(h.Bins) == 0 {
			continue
		}
		if !first {
			o.b = append(o.b, ',')
		}
		first = false
		o.b = appendTime(append(o.b, `{"time":`...), m.at(i))
		o.b = append(each(append(o.b, ','), h, i), '}')
		o.spill()
	}
	o.b = append(o.b, ']')
}

// numbersOf reads a parameter that may be there several times, or as a list with commas.
func numbersOf(r *http.Request, name string, valid func(float64) bool, what string) ([]float64, error) {
	var list []float64
	for _, given := range r.Form[name] {
		for text := range strings.SplitSeq(given, ",") {
			v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
			if err != nil || !valid(v) {
				return nil, fmt.Errorf("%s: %q is not %s", name, shorten(text), what)
			}
			if list = append(list, v); len(list) > 100 {
				return nil, fmt.Errorf("%s: more than 100 are too many", name)
			}
		}
	}
	return list, nil
}

func isNumber(v float64) bool { return !math.IsNaN(v) }

func (a *API) quantiles(w http.ResponseWriter, r *http.Request) {
	qs, err := numbersOf(r, "q", func(q float64) bool { return q >= 0 && q <= 1 }, "a number from 0 to 1")
	if err != nil {
		badRequest(w, "q", err, "Give q from 0 to 1, a hundred times at most.")
		return
	}
	if len(qs) == 0 {
		qs = []float64{0.5}
	}
	m := a.merge(w, r, false)
	if m == nil {
		return
	}
	defer m.done()
	// Quantiles wants them ascending; the answer is in the request's order.
	order := make([]int, len(qs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(x, y int) int {
		switch {
		case qs[x] < qs[y]:
			return -1
		case qs[x] > qs[y]:
			return 1
		}
		return 0
	})
	ascending := make([]float64, len(qs))
	for i, k := range order {
		ascending[i] = qs[k]
	}
	values := make([]float64, len(qs))
	compute := func(h *histogram.Histogram) []float64 {
		for i, v := range h.Quantiles(ascending...) {
			values[order[i]] = v
		}
		return values
	}
	if wantsColumns(r) {
		names := []string{"count"}
		for _, q := range qs {
			names = append(names, "q"+strconv.FormatFloat(q, 'g', -1, 64))
		}
		m.table(w, names, func(h *histogram.Histogram, _ int) []float64 {
			return append([]float64{float64(h.Count())}, compute(h)...)
		})
		return
	}
	o := m.body(w)
	m.columns(o, func(b []byte, h *histogram.Histogram, _ int) []byte {
		b = strconv.AppendUint(append(b, `"count":`...), h.Count(), 10)
		return appendFloats(append(b, `,"quantiles":`...), compute(h))
	})
	m.finish(o)
}

func appendFloats(b []byte, list []float64) []byte {
	b = append(b, '[')
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendFloat(b, v)
	}
	return append(b, ']')
}

func (a *API) inverse(w http.ResponseWriter, r *http.Request) {
	xs, err := numbersOf(r, "x", isNumber, "a number")
	if err == nil && len(xs) == 0 {
		err = errors.New("x: is missing")
	}
	if err != nil {
		badRequest(w, "x", err, "Give x as a number: the answer is the share of what was not greater.")
		return
	}
	m := a.merge(w, r, false)
	if m == nil {
		return
	}
	defer m.done()
	values := make([]float64, len(xs))
	compute := func(h *histogram.Histogram) []float64 {
		count := float64(h.Count())
		for i, x := range xs {
			values[i] = (count - h.CountAbove(x)) / count
		}
		return values
	}
	if wantsColumns(r) {
		names := []string{"count"}
		for _, x := range xs {
			names = append(names, "x"+strconv.FormatFloat(x, 'g', -1, 64))
		}
		m.table(w, names, func(h *histogram.Histogram, _ int) []float64 {
			return append([]float64{float64(h.Count())}, compute(h)...)
		})
		return
	}
	o := m.body(w)
	m.columns(o, func(b []byte, h *histogram.Histogram, _ int) []byte {
		b = strconv.AppendUint(append(b, `"count":`...), h.Count(), 10)
		return appendFloats(append(b, `,"fractions":`...), compute(h))
	})
	m.finish(o)
}

// people is how many measurements were above a limit, not above one, or between two, and how many since start. As
// "over" it is the older name with the older field.
func (a *API) people(w http.ResponseWriter, r *http.Request) {
	old := strings.HasSuffix(r.URL.Path, "/over")
	above, below, field := math.Inf(-1), math.Inf(1), "people"
	given := false
	read := func(name string, to *float64) bool {
		text := r.FormValue(name)
		if text == "" {
			return true
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) {
			badRequest(w, name, fmt.Errorf("%s: %q is not a number", name, shorten(text)), "Give "+name+" as a number.")
			return false
		}
		*to, given = v, true
		return true
	}
	if !read("limit", &above) || !read("above", &above) || !read("below", &below) {
		return
	}
	if old {
		field = "over"
	}
	if !given {
		badRequest(w, "limit", errors.New("limit: is missing"), "Give limit (or above), or below, or above and below.")
		return
	}
	if above >= below {
		badRequest(w, "below", errors.New("below: must be greater than above"), "")
		return
	}
	m := a.merge(w, r, false)
	if m == nil {
		return
	}
	defer m.done()
	total := 0.0
	compute := func(h *histogram.Histogram) float64 {
		n := float64(h.Count())
		if !math.IsInf(above, -1) {
			n = h.CountAbove(above)
		}
		if !math.IsInf(below, 1) {
			n -= h.CountAbove(below)
		}
		total += n
		return n
	}
	if wantsColumns(r) {
		m.table(w, []string{"count", field, "total"}, func(h *histogram.Histogram, _ int) []float64 {
			return []float64{float64(h.Count()), compute(h), total}
		})
		return
	}
	o := m.body(w)
	m.columns(o, func(b []byte, h *histogram.Histogram, _ int) []byte {
		n := compute(h)
		b = strconv.AppendUint(append(b, `"count":`...), h.Count(), 10)
		b = appendFloat(append(append(append(b, `,"`...), field...), `":`...), n)
		return appendFloat(append(b, `,"total":`...), total)
	})
	m.finish(o)
}

func (a *API) heatmap(w http.ResponseWriter, r *http.Request) {
	rows := 0
	if text := r.FormValue("rows"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 || n > 1000 {
			badRequest(w, "rows", fmt.Errorf("rows: %q is not a whole number from 2 to 1000", shorten(text)), "")
			return
		}
		rows = n
	}
	limits := [2]float64{math.NaN(), math.NaN()}
	for i, name := range []string{"min", "max"} {
		if text := r.FormValue(name); text != "" {
			v, err := strconv.ParseFloat(text, 64)
			if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
				badRequest(w, name, fmt.Errorf("%s: %q is not a number", name, shorten(text)), "")
				return
			}
			limits[i] = v
		}
	}
	if limits[0] >= limits[1] {
		badRequest(w, "max", errors.New("max: must be greater than min"), "")
		return
	}
	m := a.merge(w, r, false)
	if m == nil {
		return
	}
	defer m.done()
	var bounds []float64
	if rows > 0 {
		bounds = m.bounds(rows, limits)
	}
	if wantsColumns(r) {
		m.bins(w, bounds)
		return
	}
	o := m.body(w)
	o.b = appendTime(append(o.b, `"start":`...), m.start)
	o.b = appendTime(append(o.b, `,"end":`...), m.end)
	o.b = append(appendTime(append(o.b, `,"step":`...), m.step), ',')
	if bounds != nil {
		o.b = append(appendFloats(append(o.b, `"bounds":`...), bounds), ',')
	}
	counts := make([]float64, max(0, len(bounds)-1))
	m.columns(o, func(b []byte, h *histogram.Histogram, _ int) []byte {
		if bounds == nil {
			return appendBins(b, h)
		}
		rebin(h, bounds, counts)
		b = append(b, `"rows":[`...)
		first := true
		for i, n := range counts {
			if n == 0 {
				continue
			}
			if !first {
				b = append(b, ',')
			}
			first = false
			b = strconv.AppendInt(append(b, '['), int64(i), 10)
			b = append(appendFloat(append(b, ','), n), ']')
		}
		return append(b, ']')
	})
	m.finish(o)
}

// bounds of n rows over all that was measured: evenly on the logarithm, or evenly when there is zero or less.
func (m *merged) bounds(n int, limits [2]float64) []float64 {
	from, to := math.Inf(1), math.Inf(-1)
	for i := range m.windows {
		if h := m.window(i); len(h.Bins) > 0 {
			lower, _ := h.Bins[0].Bounds()
			_, upper := h.Bins[len(h.Bins)-1].Bounds()
			from, to = min(from, lower), max(to, upper)
		}
	}
	if from > to {
		from, to = 0, 1
	}
	if !math.IsNaN(limits[0]) {
		from = limits[0]
	}
	if !math.IsNaN(limits[1]) {
		to = limits[1]
	}
	if !(to > from) {
		to = from + max(1, math.Abs(from))
	}
	list := make([]float64, n+1)
	for i := range list {
		share := float64(i) / float64(n)
		if from > 0 {
			list[i] = from * math.Pow(to/from, share)
		} else {
			list[i] = from + (to-from)*share
		}
	}
	list[0], list[n] = from, to
	return list
}

// rebin spreads each bin evenly over the rows that it covers. What is beyond the ends goes to the first or last row.
func rebin(h *histogram.Histogram, bounds, counts []float64) {
	clear(counts)
	last := len(counts) - 1
	row := 0
	for i, bin := range h.Bins {
		from, to := bin.Bounds()
		n := float64(h.Counts[i])
		for row < last && bounds[row+1] <= from {
			row++
		}
		if to <= from || to <= bounds[row+1] || row == last {
			counts[row] += n
			continue
		}
		for k, at := row, from; k <= last && at < to; k++ {
			upper := to
			if k < last {
				upper = min(to, bounds[k+1])
			}
			counts[k] += n * (upper - at) / (to - from)
			at = upper
		}
	}
}

func (a *API) distribution(w http.ResponseWriter, r *http.Request) {
	m := a.merge(w, r, true)
	if m == nil {
		return
	}
	defer m.done()
	if wantsColumns(r) {
		m.bins(w, nil)
		return
	}
	h := m.window(0)
	o := m.body(w)
	o.b = appendTime(append(o.b, `"start":`...), m.start)
	o.b = appendTime(append(o.b, `,"end":`...), m.end)
	o.b = strconv.AppendUint(append(o.b, `,"count":`...), h.Count(), 10)
	o.b = appendFloat(append(o.b, `,"sum":`...), h.Sum())
	count, moments := float64(h.Count()), [4]float64{}
	lowest, highest := math.NaN(), math.NaN()
	for i, bin := range h.Bins {
		x, power := bin.Middle(), 1.0
		for k := range moments {
			power *= x
			moments[k] += power * float64(h.Counts[i]) / count
		}
	}
	variance := 0.0
	for i, bin := range h.Bins { // from the mean, because the moments' difference cancels out
		d := bin.Middle() - moments[0]
		variance += d * d * float64(h.Counts[i]) / count
	}
	if n := len(h.Bins); n > 0 {
		lowest, _ = h.Bins[0].Bounds()
		_, highest = h.Bins[n-1].Bounds()
	} else {
		moments = [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
		variance = math.NaN()
	}
	o.b = appendFloat(append(o.b, `,"mean":`...), moments[0])
	o.b = appendFloat(append(o.b, `,"stddev":`...), math.Sqrt(variance))
	o.b = appendFloats(append(o.b, `,"moments":`...), moments[:])
	o.b = appendFloat(append(o.b, `,"min":`...), lowest)
	o.b = appendFloat(append(o.b, `,"max":`...), highest)
	o.b = appendBins(append(o.b, ','), h)
	m.finish(o)
}

func (a *API) modes(w http.ResponseWriter, r *http.Request) {
	m := a.merge(w, r, r.FormValue("step") == "")
	if m == nil {
		return
	}
	defer m.done()
	o := m.body(w)
	m.columns(o, func(b []byte, h *histogram.Histogram, _ int) []byte {
		b = strconv.AppendUint(append(b, `"count":`...), h.Count(), 10)
		b = append(b, `,"modes":[`...)
		for i, p := range peaks(h) {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendFloat(append(b, `{"value":`...), p.value)
			b = append(appendFloat(append(b, `,"share":`...), p.share), '}')
		}
		return append(b, ']')
	})
	m.finish(o)
}

type peak struct{ value, share float64 }

// peaks are where measurements gather, the greatest first: maxima of the density on a logarithmic scale (bins are wider
// at the beginning of a decade than at its end), smoothed over five bins so that a few counts more or less make none,
// with a valley below half of the lower one between two, and holding a hundredth of all at least.
func peaks(h *histogram.Histogram) []peak {
	n := len(h.Bins)
	if n == 0 {
		return nil
	}
	total := float64(h.Count())
	density := make([]float64, 0, n+2)
	bins := make([]int, 0, n+2) // where in h; -1 for a gap
	put := func(i int, d float64) { density, bins = append(density, d), append(bins, i) }
	for i, bin := range h.Bins {
		if i > 0 && bin-h.Bins[i-1] > 3 {
			for range 5 { // as far as smoothing reaches
				put(-1, 0)
			}
		}
		from, to := bin.Bounds()
		width := 0.1
		if from*to > 0 {
			width = math.Abs(math.Log(to / from))
		}
		put(i, float64(h.Counts[i])/width)
	}
	smooth := make([]float64, len(density))
	weights := [5]float64{1, 2, 3, 2, 1}
	for i := range density {
		sum, weight := 0.0, 0.0
		for k := -2; k <= 2; k++ {
			if at := i + k; at >= 0 && at < len(density) {
				sum += weights[k+2] * density[at]
			}
			weight += weights[k+2]
		}
		smooth[i] = sum / weight
	}
	var found []peak
	// Hills are cut at valleys that are less than half as high as the hill on either side.
	start, top, valley := 0, 0, -1
	finish := func(end int) {
		mass, at, best := 0.0, -1, -1.0
		for k := start; k < end; k++ {
			if bins[k] < 0 {
				continue
			}
			mass += float64(h.Counts[bins[k]])
			if smooth[k] > best {
				best, at = smooth[k], bins[k]
			}
		}
		if at >= 0 && mass >= total/100 {
			found = append(found, peak{h.Bins[at].Middle(), mass / total})
		}
	}
	for i := range smooth {
		switch {
		case valley >= 0 && smooth[valley] < smooth[top]/2 && smooth[i] > 2*smooth[valley] && smooth[i] > 0:
			finish(valley)
			start, top, valley = valley, i, -1
		case smooth[i] >= smooth[top]:
			top, valley = i, -1
		case valley < 0 || smooth[i] < smooth[valley]:
			valley = i
		}
	}
	finish(len(smooth))
	slices.SortStableFunc(found, func(x, y peak) int {
		switch {
		case x.share > y.share:
			return -1
		case x.share < y.share:
			return 1
		}
		return 0
	})
	return found[:min(10, len(found))]
}

func (a *API) listMetrics(w http.ResponseWriter, r *http.Request) {
	most, err := parseLimit(r)
	if err != nil {
		badRequest(w, "limit", err, "")
		return
	}
	list, err := a.store.Metrics(r.FormValue("match"), most)
	if err != nil {
		failed(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	o := &out{w: w, b: append(make([]byte, 0, 4096), `{"metrics":[`...)}
	for i, m := range list {
		if i > 0 {
			o.b = append(o.b, ',')
		}
		o.b = appendString(append(o.b, `{"name":`...), m.Name)
		o.b = append(append(append(o.b, `,"type":"`...), m.Kind.String()...), `","series":`...)
		o.b = strconv.AppendInt(o.b, int64(m.Series), 10)
		o.b = append(appendTime(append(o.b, `,"lastTime":`...), m.LastTime), '}')
		o.spill()
	}
	o.b = append(o.b, "]}\n"...)
	o.flush()
}
