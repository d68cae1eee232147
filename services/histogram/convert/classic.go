package convert

// Buckets as series carry them: Prometheus' le labels, VictoriaMetrics' vmrange labels.

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"cistern/services/histogram"
)

// ClassicBucket is how many values are not greater than a bound.
type ClassicBucket struct {
	UpperBound float64
	Cumulative uint64
}

// FromClassic makes a log-linear histogram of classic buckets, in ascending order, of which the last has the bound +Inf.
func FromClassic(buckets []ClassicBucket) (h *histogram.Histogram, approximate bool, err error) {
	if len(buckets) == 0 || !math.IsInf(buckets[len(buckets)-1].UpperBound, 1) {
		return nil, false, errors.New("classic buckets end with one that has the bound +Inf")
	}
	var f filler
	from, below := math.Inf(-1), uint64(0)
	for _, b := range buckets {
		if !(b.UpperBound > from) || b.Cumulative < below {
			return nil, false, errors.New("classic buckets ascend, and so do their counts")
		}
		f.add(Bucket{from, b.UpperBound, b.Cumulative - below}, Linear)
		from, below = b.UpperBound, b.Cumulative
	}
	return f.done()
}

// ToClassic makes classic buckets with the bounds and +Inf; without any bounds, with those of the bins that h has, which
// is exact.
func ToClassic(h *histogram.Histogram, bounds []float64) (buckets []ClassicBucket, approximate bool, err error) {
	if bounds == nil {
		bounds = Bounds(h)
	}
	if n := len(bounds); n > 0 && math.IsInf(bounds[n-1], 1) {
		bounds = bounds[:n-1]
	}
	counts, approximate, err := ToBuckets(h, bounds)
	if err != nil {
		return nil, false, err
	}
	sum := uint64(0)
	for i, n := range counts {
		sum += n
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i]
		}
		buckets = append(buckets, ClassicBucket{bound, sum})
	}
	return buckets, approximate, nil
}

// FromVmrange makes a log-linear histogram of VictoriaMetrics' buckets, whose keys are their vmrange labels, as in
// "1.000e-01...1.136e-01". What is in the bucket from zero is taken to be zero.
func FromVmrange(buckets map[string]uint64) (h *histogram.Histogram, approximate bool, err error) {
	var f filler
	for label, n := range buckets {
		lower, upper, ok := strings.Cut(label, "...")
		from, ok1 := vmBound(lower)
		to, ok2 := vmBound(upper)
		if upper == "+Inf" {
			to, ok2 = math.Inf(1), true
		}
		if !ok || !ok1 || !ok2 || !(from < to) {
			return nil, false, fmt.Errorf("%.60q is no vmrange", label)
		}
		if from == 0 {
			f.approximate = f.approximate || n > 0
			to = 0
		}
		f.add(Bucket{from, to, n}, Geometric)
	}
	return f.done()
}

// vmBound reads a decimal number that is not negative.
func vmBound(text string) (float64, bool) {
	if len(text) > 30 || strings.Trim(text, "0123456789.e+-") != "" || strings.HasPrefix(text, "-") {
		return 0, false
	}
	v, err := strconv.ParseFloat(text, 64)
	return v, err == nil
}

const (
	// vmFirst and vmLast are the powers of ten between which VictoriaMetrics has buckets, vmPerDecade in each decade.
	vmFirst, vmLast, vmPerDecade = -9, 18, 18
)

// vmLabels are the bounds between VictoriaMetrics' buckets as its labels have them, vmBounds the same as numbers.
var vmLabels, vmBounds = func() (func() []string, func() []float64) {
	labels := sync.OnceValue(func() (list []string) {
		for i := vmFirst * vmPerDecade; i <= vmLast*vmPerDecade; i++ {
			list = append(list, fmt.Sprintf("%.3e", math.Pow(10, float64(i)/vmPerDecade)))
		}
		return list
	})
	return labels, sync.OnceValue(func() (list []float64) {
		for _, label := range labels() {
			v, _ := strconv.ParseFloat(label, 64)
			list = append(list, v)
		}
		return list
	})
}()

// ToVmrange makes VictoriaMetrics' buckets, those that are not empty, by their vmrange labels.
func ToVmrange(h *histogram.Histogram) (buckets map[string]uint64, approximate bool, err error) {
	if first := slices.IndexFunc(h.Counts, func(n uint64) bool { return n > 0 }); first >= 0 && h.Bins[first] < 0 {
		return nil, false, ErrNegative
	}
	labels := vmLabels()
	counts, approximate, err := ToBuckets(h, vmBounds())
	if err != nil {
		return nil, false, err
	}
	buckets = map[string]uint64{}
	for i, n := range counts {
		if n == 0 {
			continue
		}
		from, to := "0", "+Inf"
		if i > 0 {
			from = labels[i-1]
		}
		if i < len(labels) {
			to = labels[i]
		}
		buckets[from+"..."+to] = n
	}
	return buckets, approximate, nil
}
