package explain

// By how much a series has changed: a number by median and median absolute deviation, a histogram by the earth mover's
// distance. Both are multiples of what is usual for that series, so that one list can hold them.

import (
	"cmp"
	"math"
	"slices"

	"cistern/services/histogram"
)

// Change is where a series was and is: of a counter its rate a second, of a histogram its median.
type Change struct {
	Before, After float64
	Score         float64 // how many times its usual deviation it is away from where it was
}

const (
	// Less than so many values, or measurements, say nothing about what is usual.
	leastBefore   = 8
	leastAfter    = 2
	leastMeasured = 10
	// The scale of a normal distribution, from the median, and from the mean, of its absolute deviations.
	ofMedian, ofMean = 1.4826, 1.2533
	// Nothing is so steady that a change of a fiftieth of it counts for much.
	steady = 0.02
	// Farthest is the score of what never moved before, which is infinitely far from it: a list needs a number.
	Farthest = 1000
	// Changed is the least score of what is said to have changed; less is what series do anyway.
	Changed = 4
)

// median puts the values in order.
func median(values []float64) float64 {
	slices.Sort(values)
	half := len(values) / 2
	if len(values)%2 == 1 {
		return values[half]
	}
	return (values[half-1] + values[half]) / 2
}

func scoreOf(distance, usual float64) float64 {
	switch {
	case distance == 0:
		return 0
	case usual == 0:
		return Farthest
	}
	return min(Farthest, distance/usual)
}

// numberChange compares numbers; it puts them in order. What began within the last fifth of the time is seen as well: the median
// of recent is taken when it lies farther away than that of after.
func numberChange(before, after, recent []float64) (Change, bool) {
	if len(before) < leastBefore || len(after) < leastAfter {
		return Change{}, false
	}
	middle := median(before)
	sum := 0.0
	deviations := before // not needed any more
	for i, v := range before {
		deviations[i] = math.Abs(v - middle)
		sum += deviations[i]
	}
	mean := sum / float64(len(deviations)) * ofMean
	spread := median(deviations) * ofMedian
	if spread == 0 { // more than half of the values may be the same, and the rest are its usual deviation all the same
		spread = mean
	}
	now := median(after)
	if len(recent) >= leastAfter {
		if last := median(recent); math.Abs(last-middle) > math.Abs(now-middle) {
			now = last
		}
	}
	return Change{middle, now, scoreOf(math.Abs(now-middle), max(spread, steady*math.Abs(middle)))}, true
}

// edge is where the share of a histogram that lies below changes its slope.
type edge struct {
	at    float64
	slope float64 // share per unit, from here on
	jump  float64 // share at this very value: of zeros
}

// distance is how far what one histogram holds would have to be moved to be the other, a measurement on average: the earth
// mover's distance, which in one dimension is the area between the two cumulative distributions. Within a bin they rise evenly.
func distance(a, b *histogram.Histogram) float64 {
	all, others := float64(a.Count()), float64(b.Count())
	if all == 0 || others == 0 {
		return 0
	}
	edges := make([]edge, 0, 2*(len(a.Bins)+len(b.Bins)))
	add := func(h *histogram.Histogram, weight float64) {
		for i, bin := range h.Bins {
			from, to := bin.Bounds()
			share := weight * float64(h.Counts[i])
			if from == to {
				edges = append(edges, edge{at: from, jump: share})
				continue
			}
			slope := share / (to - from)
			edges = append(edges, edge{at: from, slope: slope}, edge{at: to, slope: -slope})
		}
	}
	add(a, 1/all)
	add(b, -1/others)
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Compare(x.at, y.at) })
	area, height, slope := 0.0, 0.0, 0.0
	for i, e := range edges {
		if i > 0 {
			width := e.at - edges[i-1].at
			next := height + slope*width
			// Between two edges the difference is a line, which may cross zero.
			l, r := math.Abs(height), math.Abs(next)
			if height*next < 0 {
				area += width * (l*l + r*r) / (2 * (l + r))
			} else {
				area += width * (l + r) / 2
			}
			height = next
		}
		height, slope = height+e.jump, slope+e.slope
	}
	return area
}

// shapeChange compares histograms. before are the slices of the time before: how they differ from all of it is what is usual.
func shapeChange(before []*histogram.Histogram, after *histogram.Histogram) (Change, bool) {
	all := &histogram.Histogram{}
	measured := 0
	for _, slice := range before {
		if len(slice.Bins) > 0 {
			all.Merge(slice)
			measured++
		}
	}
	if measured < 2 || all.Count() < leastMeasured || after.Count() < leastMeasured {
		return Change{}, false
	}
	middle := all.Quantile(0.5)
	distances := make([]float64, 0, measured)
	for _, slice := range before {
		if len(slice.Bins) > 0 {
			distances = append(distances, distance(slice, all))
		}
	}
	usual := max(median(distances), steady*math.Abs(middle))
	return Change{middle, after.Quantile(0.5), scoreOf(distance(after, all), usual)}, true
}
