package histogram

// Where values gather: the humps that a heat map on a logarithmic axis would show. A cache's hits and misses, say, are two
// modes of one latency.

import (
	"math"
	"slices"
)

// Mode is a value about which values gather, and the stretch of values that belong to it.
type Mode struct {
	At       float64 // where they are densest, per relative width
	From, To float64 // from the valley before to the valley behind
	Count    uint64  // how many values are about there
}

const (
	// modeStep is the distance of the points at which density is looked at: the logarithm's, about a fifth of a wide
	// bin's width.
	modeStep = 0.02
	// Smoothing by three boxes of this many points to either side comes to a bell of deviation 0.17: narrower humps than
	// two of these apart cannot be told from the bins' own grain.
	modeRadius = 8
	// A hump must rise this much above the higher of its valleys, as a share of its height,
	modeRise = 0.25
	// and this many deviations of chance,
	modeSure = 4
	// and hold this share of all values.
	modeShare = 0.01
)

// Modes estimates where the values gather, most values first; none of an empty histogram. Zero is a mode of its own when
// a hundredth of the values are zero.
func (h *Histogram) Modes() []Mode {
	total := h.Count()
	if total == 0 {
		return nil
	}
	var modes []Mode
	zero := 0
	for zero < len(h.Bins) && h.Bins[zero] < 0 {
		zero++
	}
	positive := zero
	if zero < len(h.Bins) && h.Bins[zero] == 0 {
		positive++
		if float64(h.Counts[zero]) >= modeShare*float64(total) {
			modes = append(modes, Mode{Count: h.Counts[zero]})
		}
	}
	modes = append(modes, humps(h.Bins[positive:], h.Counts[positive:], float64(total))...)
	mirrored, counts := slices.Clone(h.Bins[:zero]), slices.Clone(h.Counts[:zero])
	slices.Reverse(mirrored)
	slices.Reverse(counts)
	for i := range mirrored {
		mirrored[i] = -mirrored[i]
	}
	for _, m := range humps(mirrored, counts, float64(total)) {
		modes = append(modes, Mode{At: -m.At, From: -m.To, To: -m.From, Count: m.Count})
	}
	slices.SortStableFunc(modes, func(a, b Mode) int {
		switch {
		case a.Count > b.Count:
			return -1
		case a.Count < b.Count:
			return 1
		}
		return 0
	})
	return modes
}

// humps finds the modes of positive bins, out of total values.
func humps(bins []Bin, counts []uint64, total float64) []Mode {
	if len(bins) == 0 {
		return nil
	}
	margin := 3*modeRadius + 1
	from := math.Log(lower[bins[0]]) - float64(margin)*modeStep
	points := int((math.Log(lower[bins[len(bins)-1]+1])-from)/modeStep) + 1 + margin
	mass := make([]float64, points)
	for i, bin := range bins {
		spread(mass, (math.Log(lower[bin])-from)/modeStep, (math.Log(lower[bin+1])-from)/modeStep, float64(counts[i]))
	}
	smooth := slices.Clone(mass)
	for range 3 {
		smooth = box(smooth)
	}
	// From the highest point down: each point joins the hump beside it or begins one; where two meet, the lower ends,
	// or was none. What it is worth is decided at the valley.
	type hump struct{ at, low, high, into int }
	order := make([]int, 0, points)
	for i, v := range smooth {
		if v > 0 {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case smooth[a] > smooth[b]:
			return -1
		case smooth[a] < smooth[b]:
			return 1
		}
		return a - b
	})
	var list []hump
	owner := make([]int, points) // 1 + which hump
	find := func(i int) int {
		for list[i].into != i {
			i = list[i].into
		}
		return i
	}
	for _, i := range order {
		before, after := -1, -1
		if i > 0 && owner[i-1] > 0 {
			before = find(owner[i-1] - 1)
		}
		if i+1 < points && owner[i+1] > 0 {
			after = find(owner[i+1] - 1)
		}
		switch {
		case before < 0 && after < 0:
			list = append(list, hump{i, i, i, len(list)})
			owner[i] = len(list)
		case after < 0 || before == after:
			owner[i], list[before].high = before+1, max(list[before].high, i)
		case before < 0:
			owner[i], list[after].low = after+1, min(list[after].low, i)
		default:
			lesser, greater := before, after
			if smooth[list[before].at] > smooth[list[after].at] {
				lesser, greater = after, before
			}
			owner[i] = greater + 1
			top, valley := smooth[list[lesser].at], smooth[i]
			// smooth is values per point; a bell takes in about 2·(2·radius+1) points.
			chance := math.Sqrt((top + valley) / (2 * (2*modeRadius + 1)))
			inside := 0.0
			for k := list[lesser].low; k <= list[lesser].high; k++ {
				inside += mass[k]
			}
			if top-valley > modeRise*top && top-valley > modeSure*chance && inside >= modeShare*total {
				continue // they stay two, and what lies lower belongs to whom it is next to
			}
			list[lesser].into = greater
			list[greater].low, list[greater].high = min(list[greater].low, list[lesser].low), max(list[greater].high, list[lesser].high)
		}
	}
	var modes []Mode
	for k := range list {
		if list[k].into != k {
			continue
		}
		m := Mode{At: math.Exp(from + (float64(list[k].at)+0.5)*modeStep)}
		first, last, inside := -1, 0, 0.0
		for i := range mass {
			if owner[i] > 0 && find(owner[i]-1) == k && mass[i] > 0 {
				if first < 0 {
					first = i
				}
				last, inside = i, inside+mass[i]
			}
		}
		if first < 0 || inside < modeShare*total {
			continue
		}
		m.From, m.To, m.Count = math.Exp(from+float64(first)*modeStep), math.Exp(from+float64(last+1)*modeStep), uint64(math.Round(inside))
		modes = append(modes, m)
	}
	return modes
}

// spread puts n evenly between two places of points.
func spread(points []float64, from, to, n float64) {
	for i := int(from); i < len(points) && float64(i) < to; i++ {
		points[i] += n * (min(to, float64(i+1)) - max(from, float64(i))) / (to - from)
	}
}

// box is the mean over modeRadius points to either side.
func box(points []float64) []float64 {
	out := make([]float64, len(points))
	sum := 0.0
	for i := 0; i < min(modeRadius, len(points)); i++ {
		sum += points[i]
	}
	for i := range out {
		if i+modeRadius < len(points) {
			sum += points[i+modeRadius]
		}
		if i-modeRadius > 0 {
			sum -= points[i-modeRadius-1]
		}
		out[i] = max(0, sum) / (2*modeRadius + 1)
	}
	return out
}
