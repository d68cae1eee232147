package histogram

// What can be said of the values from their counts. Every value counts as the middle of its bin, which is at most 5 %
// off; within a bin values are taken to be evenly spread. All are NaN for an empty histogram.

import (
	"math"
	"sort"
)

// InverseQuantile is the share of the values, 0..1, that are not greater than each limit: the inverse of Quantiles.
func (h *Histogram) InverseQuantile(limits ...float64) []float64 {
	answers := make([]float64, len(limits))
	total := float64(h.Count())
	for i, limit := range limits {
		answers[i] = h.CountBelow(limit) / total
	}
	return answers
}

// CountBetween is about how many values are greater than from and not greater than to; see CountAbove.
func (h *Histogram) CountBetween(from, to float64) float64 {
	if !(from < to) {
		return 0
	}
	return max(0, h.CountAbove(from)-h.CountAbove(to))
}

// CountNearby is how many values the bin of v holds: those of the same two digits.
func (h *Histogram) CountNearby(v float64) uint64 {
	bin, ok := BinOf(v)
	if !ok {
		return 0
	}
	if i := sort.Search(len(h.Bins), func(i int) bool { return h.Bins[i] >= bin }); i < len(h.Bins) && h.Bins[i] == bin {
		return h.Counts[i]
	}
	return 0
}

// StdDev is the standard deviation of the values, as of a whole population (divided by n, not n-1).
func (h *Histogram) StdDev() float64 {
	// About the mean, so that nothing cancels when it is far from zero.
	mean, total, sum := h.Mean(), 0.0, 0.0
	for i, n := range h.Counts {
		d := h.Bins[i].Middle() - mean
		sum += d * d * float64(n)
		total += float64(n)
	}
	return math.Sqrt(sum / total)
}

// Moment is the mean of the values to the power of k. (libcircllhist divides by the count to the power of k instead of
// the count; they agree for k = 1.)
func (h *Histogram) Moment(k int) float64 {
	total, sum := 0.0, 0.0
	for i, n := range h.Counts {
		sum += math.Pow(h.Bins[i].Middle(), float64(k)) * float64(n)
		total += float64(n)
	}
	return sum / total
}

// CentralMoment is the mean of the values' distances from their mean to the power of k.
func (h *Histogram) CentralMoment(k int) float64 {
	mean, total, sum := h.Mean(), 0.0, 0.0
	for i, n := range h.Counts {
		sum += math.Pow(h.Bins[i].Middle()-mean, float64(k)) * float64(n)
		total += float64(n)
	}
	return sum / total
}

// Skewness is the third central moment over the third power of the standard deviation; NaN when that is 0.
func (h *Histogram) Skewness() float64 { return h.CentralMoment(3) / math.Pow(h.StdDev(), 3) }

// Kurtosis is the fourth central moment over the fourth power of the standard deviation, 3 for a normal distribution;
// NaN when that is 0.
func (h *Histogram) Kurtosis() float64 { return h.CentralMoment(4) / math.Pow(h.StdDev(), 4) }

// Min is the bound of the lowest bin towards minus infinity: no value is below.
func (h *Histogram) Min() float64 { return h.Quantile(0) }

// Max is the bound of the highest bin towards infinity: no value is above.
func (h *Histogram) Max() float64 { return h.Quantile(1) }
