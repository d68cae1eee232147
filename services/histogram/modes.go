package histogram

// Where the values crowd. The density is taken per unit of the logarithm, because bins, and mostly the values as well,
// are spread that way: a timer's fast path and its slow path are both hills then.

import (
	"cmp"
	"math"
	"slices"
)

// Mode is a hill of the density.
type Mode struct {
	// Value is where the density is greatest.
	Value float64 `json:"value"`
	// From and To are how far the hill goes: to the lowest points on both sides, or to the ends of the values.
	From float64 `json:"from"`
	To   float64 `json:"to"`
	// Share is which part of all values is there, 0 to 1.
	Share float64 `json:"share"`
}

// ModeOptions say what a hill is. The zero value is the usual.
type ModeOptions struct {
	// Prominence is how far the density must fall on both sides of a hill before a higher one begins, as a share of the
	// highest hill; 0 is 0.05. A fall that chance explains does not count either: it must be three times the standard
	// deviation of the smoothed density at the top.
	Prominence float64
	// Smoothing is how many times each cell becomes the mean of itself (twice) and its neighbours; 0 chooses by how many
	// values there are and how wide they spread (half of what Silverman's rule gives), negative is none.
	Smoothing int
}

const (
	// modeCells is how many cells a decade has, each as wide on the logarithm as the widest bin, 1.0 to 1.1.
	modeCells    = 24
	maxSmoothing = 64
)

// Modes finds the modes, most values first. Positive and negative values are looked at separately; zero is a mode of its
// own when its share of the values is at least the prominence.
func (h *Histogram) Modes(o ModeOptions) []Mode { return h.cells().modes(o) }

func (c cellView) modes(o ModeOptions) []Mode {
	total := c.total()
	if total == 0 {
		return nil
	}
	if !(o.Prominence > 0) {
		o.Prominence = 0.05
	}
	var found []Mode
	for _, negative := range []bool{true, false} {
		for _, m := range c.side(negative, o) {
			if negative {
				m.Value, m.From, m.To = -m.Value, -m.To, -m.From
			}
			m.Share /= total
			found = append(found, m)
		}
	}
	for i, n := range c.counts {
		if share := float64(n) / total; c.bin(i) == 0 && share >= o.Prominence {
			found = append(found, Mode{Share: share})
		}
	}
	slices.SortStableFunc(found, func(a, b Mode) int { return cmp.Compare(b.Share, a.Share) })
	return found
}

// side is the modes of the positive values, or of the negative ones with their sign turned; Share is a count.
func (c cellView) side(negative bool, o ModeOptions) []Mode {
	// Cells of equal width on the logarithm, each bin spread over those that it covers.
	low, high := math.Inf(1), math.Inf(-1)
	each := func(do func(from, to, n float64)) {
		for i, n := range c.counts {
			bin := c.bin(i)
			if n == 0 || bin == 0 || (bin < 0) != negative {
				continue
			}
			from, to := bin.Bounds()
			if negative {
				from, to = -to, -from
			}
			do(math.Log10(from)*modeCells, math.Log10(to)*modeCells, float64(n))
		}
	}
	sum, squares, total := 0.0, 0.0, 0.0
	each(func(from, to, n float64) {
		low, high = min(low, from), max(high, to)
		middle := (from + to) / 2
		sum, squares, total = sum+middle*n, squares+middle*middle*n, total+n
	})
	if total == 0 {
		return nil
	}
	passes := o.Smoothing
	if passes == 0 {
		// Half of Silverman's bandwidth, in cells; each pass adds a variance of a half.
		spread := math.Sqrt(max(0, squares/total-sum/total*sum/total))
		width := 0.45 * spread * math.Pow(total, -0.2)
		passes = max(1, int(math.Round(2*width*width)))
	}
	passes = min(max(passes, 0), maxSmoothing)
	margin := passes + 1 // zeros on both sides, so that smoothing loses nothing and every hill has slopes
	first := int(math.Floor(low)) - margin
	cells := make([]float64, int(math.Ceil(high))-first+margin+1)
	each(func(from, to, n float64) {
		for k := int(math.Floor(from)); float64(k) < to; k++ {
			if part := (min(to, float64(k+1)) - max(from, float64(k))) / (to - from); part > 0 {
				cells[k-first] += n * part
			}
		}
	})
	raw := slices.Clone(cells)
	for range passes {
		before := 0.0
		for i, n := range cells {
			after := 0.0
			if i+1 < len(cells) {
				after = cells[i+1]
			}
			cells[i] = (before + 2*n + after) / 4
			before = n
		}
	}
	// The share of a count's variance that is left in a smoothed cell: 1 without smoothing, 1/(2σ√π) with much.
	kept := 1 / math.Sqrt(1+2*math.Pi*float64(passes))
	highest := slices.Max(cells)
	enough := func(top, bottom float64) bool {
		return top-bottom >= max(o.Prominence*highest, 3*math.Sqrt(top*kept))
	}
	// Hills and the valleys between them, from left to right. A valley that is not deep enough below the lower of its
	// two hills goes, together with that hill, the shallowest first.
	var tops []int
	valleys := []int{0} // valleys[i] is to the left of tops[i]; one more closes
	lowest, rising := 0, true
	for i := 1; i < len(cells); i++ {
		switch {
		case rising && cells[i] < cells[i-1]:
			top := i - 1
			for top > lowest && cells[top-1] == cells[i-1] { // the middle of a level top
				top--
			}
			tops, rising, lowest = append(tops, (top+i-1)/2), false, i
		case !rising && cells[i] > cells[lowest]:
			valleys, rising = append(valleys, lowest), true
		case !rising && cells[i] < cells[lowest]:
			lowest = i
		}
	}
	valleys = append(valleys, len(cells)-1)
	for len(tops) > 1 {
		weakest, depth := -1, math.Inf(1)
		for i := 1; i < len(tops); i++ {
			top, bottom := min(cells[tops[i-1]], cells[tops[i]]), cells[valleys[i]]
			if !enough(top, bottom) && top-bottom < depth {
				weakest, depth = i, top-bottom
			}
		}
		if weakest < 0 {
			break
		}
		gone := weakest
		if cells[tops[weakest-1]] < cells[tops[weakest]] {
			gone = weakest - 1
		}
		tops, valleys = slices.Delete(tops, gone, gone+1), slices.Delete(valleys, weakest, weakest+1)
	}
	var found []Mode
	for i, top := range tops {
		if cells[top] < o.Prominence*highest {
			continue
		}
		from, to := valleys[i], valleys[i+1]
		n := 0.0
		for k := from; k < to; k++ {
			n += raw[k]
		}
		// The top of the parabola through the three cells.
		at, left, right := float64(top)+0.5, cells[max(top-1, 0)], cells[min(top+1, len(cells)-1)]
		if bend := left - 2*cells[top] + right; bend < 0 {
			at += min(max((left-right)/(2*bend), -0.5), 0.5)
		}
		value := func(cell float64) float64 { return math.Pow(10, (cell+float64(first))/modeCells) }
		found = append(found, Mode{
			Value: value(at), Share: n,
			From: value(max(float64(from), low-float64(first))), To: value(min(float64(to), high-float64(first))),
		})
	}
	return found
}
