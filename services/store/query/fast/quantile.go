package fast

// quantile_over_time, as Prometheus' engine has it: between the two values that are nearest to the rank.

import (
	"cmp"
	"math"
	"slices"
)

func (w *window) quantiles(q float64, s *scratch) (any bool) {
	// The values of a counter that never falls are in their order already.
	rising := true
	for i, v := range w.values {
		if i > 0 && !(v >= w.values[i-1]) || v != v {
			rising = false
			break
		}
	}
	return w.each(func(lo, hi int) float64 {
		values := w.values[lo:hi]
		rank := q * float64(len(values)-1)
		lower := int(math.Floor(rank))
		upper := min(len(values)-1, lower+1)
		weight := rank - math.Floor(rank)
		if rising {
			return values[lower]*(1-weight) + values[upper]*weight
		}
		s.sorting = append(s.sorting[:0], values...)
		values = s.sorting
		if slices.ContainsFunc(values, func(v float64) bool { return v != v }) {
			slices.SortFunc(values, cmp.Compare[float64]) // what is no number comes first
		} else {
			choose(values, lower)
			if upper > lower {
				least := upper
				for i := upper + 1; i < len(values); i++ {
					if values[i] < values[least] {
						least = i
					}
				}
				values[upper], values[least] = values[least], values[upper]
			}
		}
		return values[lower]*(1-weight) + values[upper]*weight
	}, 1)
}

// choose puts the value that would be k-th, were they in their order, there, and none before it is greater, none behind it less
// (C. A. R. Hoare, Algorithm 65: Find). No value may be NaN.
func choose(values []float64, k int) {
	from, to := 0, len(values)-1
	for from < to {
		// The middle one of three, so that what is nearly in order takes no longer.
		a, b, c := values[from], values[(from+to)/2], values[to]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := from, to
		for i <= j {
			for values[i] < pivot {
				i++
			}
			for pivot < values[j] {
				j--
			}
			if i <= j {
				values[i], values[j] = values[j], values[i]
				i++
				j--
			}
		}
		if j < k {
			from = i
		}
		if k < i {
			to = j
		}
	}
}
