package api

// What shape the merged histograms have: heatmaps, whole distributions and their peaks.

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"

	"cistern/services/histogram"
)

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
	for i, bin := range h.Bins { // from the mean of the middles, because the moments' difference cancels out
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
	if len(h.Bins) > 0 {
		moments[0] = h.Mean()
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
