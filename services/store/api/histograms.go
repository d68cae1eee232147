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
	asked            *asked
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
	one, err := a.enter(r)
	if err != nil {
		failed(w, err)
		return nil
	}
	m.asked = one
	// At the deadline the windows are still written to: whoever does that lets go of them.
	_, err = timely(one, func(ctx context.Context) (*merged, error) {
		err := a.mergeWindows(ctx, m, matchers)
		if err != nil {
			m.recycle()
		}
		return m, err
	}, (*merged).recycle)
	if err != nil {
		one.end()
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
	b := m.asked.budget
	if err := b.Charge(ctx, int64(n)*windowBytes, "histograms of the windows"); err != nil {
		return err
	}
	m.windows = make([]*histogram.Dense, n)
	for i := range m.windows {
		m.windows[i] = emptyDense()
	}
	if _, err := adapter.Windows(ctx, found, m.start, m.step, m.windows); err != nil {
		return err
	}
	rooms := int64(0)
	for _, d := range m.windows {
		if d != nil {
			rooms += 8 * int64(d.Room())
		}
	}
	if err := b.Charge(ctx, rooms, "histograms of the windows"); err != nil {
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

// windowBytes is what an empty window takes.
const windowBytes = 128

// body begins an answer's object.
func (m *merged) body(w http.ResponseWriter) *out {
	w.Header().Set("Content-Type", "application/json")
	o := pieces.Get().(*out)
	o.w, o.b, o.failed, o.begun, o.ctx = w, append(o.b[:0], '{'), false, false, m.asked.ctx
	return o
}

// finish ends it; o is not to be used any more.
func (m *merged) finish(o *out) {
	notes(o, m.approximate, m.warnings)
	if o.w, o.ctx = nil, nil; cap(o.b) <= maxKept {
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

// overLimit is how many measurements were above a limit, not above one, or between two, and how many since start.
func (a *API) overLimit(w http.ResponseWriter, r *http.Request) {
	above, below := math.Inf(-1), math.Inf(1)
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
	compute := func(h *histogram.Histogram) (n float64, within uint64) {
		n = float64(h.Count())
		if !math.IsInf(above, -1) {
			n = h.CountAbove(above)
		}
		if !math.IsInf(below, 1) {
			n -= h.CountAbove(below)
		}
		total += n
		return n, h.CountCut(above, below)
	}
	if wantsColumns(r) {
		m.table(w, []string{"count", "over", "total", "within"}, func(h *histogram.Histogram, _ int) []float64 {
			over, within := compute(h)
			return []float64{float64(h.Count()), over, total, float64(within)}
		})
		return
	}
	o := m.body(w)
	m.columns(o, func(b []byte, h *histogram.Histogram, _ int) []byte {
		over, within := compute(h)
		b = strconv.AppendUint(append(b, `"count":`...), h.Count(), 10)
		b = appendFloat(append(b, `,"over":`...), over)
		b = appendFloat(append(b, `,"total":`...), total)
		return strconv.AppendUint(append(b, `,"within":`...), within, 10)
	})
	m.finish(o)
}
