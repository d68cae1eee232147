package api

// The compact form of answers, for charts (Accept: application/vnd.cistern.columns, and always of /api/v1/columns).
// Numbers are little-endian; u is an unsigned varint (seven bits a byte, the lowest first).
//
//	"CSC1" · byte kind · byte flags (1: approximate) · int64 start (ms) · int64 step (ms) · u n: points, or windows
//	kind 1, series:  u number of series, each: u number of labels, each u length, name, u length, value;
//	                 n float64, NaN where there is none
//	kind 2, table:   u number of columns, each: u length, name; n float64, NaN where the window is empty
//	kind 3, bins:    u number of windows that are not empty, each: u its number minus that of the one before (the first:
//	                 its number), u number of bins, each: u bin's number minus the one before's (the first: plus 23040,
//	                 so that none is negative), u count. A bin is one of OpenHistogram's: number 0 is zero, b > 0 has
//	                 the bounds m·10^(e-1) and (m+1)·10^(e-1) with m = (b-1) mod 90 + 10, e = floor((b-1)/90) - 128; negative
//	                 numbers mirror them
//	kind 4, rows:    u number of rows, that many + 1 float64: their bounds; u number of windows that are not empty, each:
//	                 u its number as in kind 3, and a float64 for each row

import (
	"encoding/binary"
	"math"
	"net/http"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/histogram"
	"cistern/services/store/query/fast"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
)

const columnsType = "application/vnd.cistern.columns"

// wantsColumns says whether the client asks for the compact form.
func wantsColumns(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), columnsType) || r.FormValue("format") == "columns"
}

const (
	kindSeries = 1 + iota
	kindTable
	kindBins
	kindRows
)

func columnsHeader(w http.ResponseWriter, kind byte, approximate bool, start, step int64, n int) *out {
	w.Header().Set("Content-Type", columnsType)
	o := &out{w: w, b: append(make([]byte, 0, 4096), "CSC1"...)}
	flags := byte(0)
	if approximate {
		flags = 1
	}
	o.b = append(o.b, kind, flags)
	o.b = binary.LittleEndian.AppendUint64(o.b, uint64(start))
	o.b = binary.LittleEndian.AppendUint64(o.b, uint64(step))
	o.b = binary.AppendUvarint(o.b, uint64(n))
	return o
}

func (o *out) text(s string) {
	o.b = append(binary.AppendUvarint(o.b, uint64(len(s))), s...)
}

func (o *out) float(v float64) {
	o.b = binary.LittleEndian.AppendUint64(o.b, math.Float64bits(v))
}

// table sends named columns of a number per window.
func (m *merged) table(w http.ResponseWriter, names []string, compute func(h *histogram.Histogram, i int) []float64) {
	n := len(m.windows)
	columns := make([]float64, len(names)*n)
	for i := range columns {
		columns[i] = math.NaN()
	}
	for i := range m.windows {
		h := m.window(i)
		if len(h.Bins) == 0 {
			continue
		}
		for k, v := range compute(h, i) {
			columns[k*n+i] = v
		}
	}
	o := columnsHeader(w, kindTable, m.approximate, m.start, m.step, n)
	o.ctx = m.asked.ctx
	o.b = binary.AppendUvarint(o.b, uint64(len(names)))
	for k, name := range names {
		o.text(name)
		for _, v := range columns[k*n : (k+1)*n] {
			o.float(v)
		}
		o.spill()
	}
	o.flush()
}

// bins sends the windows' bins, or their counts in rows.
func (m *merged) bins(w http.ResponseWriter, bounds []float64) {
	kind := byte(kindBins)
	if bounds != nil {
		kind = kindRows
	}
	o := columnsHeader(w, kind, m.approximate, m.start, m.step, len(m.windows))
	o.ctx = m.asked.ctx
	counts := make([]float64, max(0, len(bounds)-1))
	if bounds != nil {
		o.b = binary.AppendUvarint(o.b, uint64(len(counts)))
		for _, v := range bounds {
			o.float(v)
		}
	}
	filled := 0
	for _, d := range m.windows {
		if !d.Empty() {
			filled++
		}
	}
	o.b = binary.AppendUvarint(o.b, uint64(filled))
	last := 0
	for i := range m.windows {
		h := m.window(i)
		if len(h.Bins) == 0 {
			continue
		}
		o.b = binary.AppendUvarint(o.b, uint64(i-last))
		last = i
		if bounds != nil {
			rebin(h, bounds, counts)
			for _, v := range counts {
				o.float(v)
			}
			o.spill()
			continue
		}
		o.b = binary.AppendUvarint(o.b, uint64(len(h.Bins)))
		before := -int(histogram.MaxBin)
		for k, bin := range h.Bins {
			o.b = binary.AppendUvarint(o.b, uint64(int(bin)-before))
			o.b = binary.AppendUvarint(o.b, h.Counts[k])
			before = int(bin)
		}
		o.spill()
	}
	o.flush()
}

// columns is query_range in the compact form.
func (a *API) columns(w http.ResponseWriter, r *http.Request) {
	start, end, step, err := parseRange(r, 0)
	if err != nil {
		name, _, _ := strings.Cut(err.Error(), ":")
		badRequest(w, name, err, "")
		return
	}
	most, err := parseLimit(r)
	if err != nil {
		badRequest(w, "limit", err, "")
		return
	}
	one, err := a.begin(r)
	if err != nil {
		failed(w, err)
		return
	}
	defer one.end()
	found, _, err := a.exec(one, r, fast.Query{Start: start, End: end, Step: step})
	if err != nil {
		failed(w, err)
		return
	}
	defer found.Close()
	if _, ok := found.Value.(*fast.Lazy); ok {
		noHistograms(w)
		return
	}
	matrix, ok := found.Value.(promql.Matrix)
	if !ok {
		problem.Write(w, http.StatusUnprocessableEntity, "invalid_request", "The expression gives no series.", "Use /api/v1/query_range.")
		return
	}
	if most > 0 && len(matrix) > most {
		matrix = matrix[:most]
	}
	for _, s := range matrix {
		if len(s.Histograms) > 0 {
			noHistograms(w)
			return
		}
	}
	from, width := start.UnixMilli(), step.Milliseconds()
	n := int((end.UnixMilli()-from)/width) + 1
	o := columnsHeader(w, kindSeries, false, from, width, n)
	o.ctx = one.ctx
	o.b = binary.AppendUvarint(o.b, uint64(len(matrix)))
	for _, s := range matrix {
		o.b = binary.AppendUvarint(o.b, uint64(s.Metric.Len()))
		s.Metric.Range(func(l labels.Label) {
			o.text(l.Name)
			o.text(l.Value)
		})
		next := 0
		for _, p := range s.Floats {
			at := int((p.T - from) / width)
			for ; next < at; next++ {
				o.float(math.NaN())
			}
			o.float(p.F)
			next++
		}
		for ; next < n; next++ {
			o.float(math.NaN())
		}
		o.spill()
	}
	o.flush()
}

func noHistograms(w http.ResponseWriter) {
	problem.Write(w, http.StatusUnprocessableEntity, "invalid_request", "The expression gives histograms, which have no compact form.",
		"Ask for a number of them, like histogram_quantile(0.99, …), or use /api/v1/histogram/heatmap.")
}
