package convert

// VictoriaMetrics' histograms: 18 geometric buckets a decade from 1e-9 to 1e18, named by their bounds in a label,
// vmrange="1.136e-03...1.292e-03", with one more at each end.

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"cistern/services/histogram"
)

const (
	vmPerDecade = 18
	vmLow       = -9
	vmHigh      = 18
)

// VMRange is one such bucket.
type VMRange struct {
	Range string // the label's value
	Count uint64
}

// FromVMRanges converts buckets of any bounds, which the labels give.
func FromVMRanges(ranges []VMRange) (h *histogram.Histogram, approximate bool, err error) {
	buckets := make([]Bucket, len(ranges))
	for i, r := range ranges {
		low, high, found := strings.Cut(r.Range, "...")
		from, err := strconv.ParseFloat(low, 64)
		to, err2 := strconv.ParseFloat(high, 64)
		if !found || err != nil || err2 != nil || math.IsNaN(from) || math.IsNaN(to) {
			return nil, false, fmt.Errorf("%w: the vmrange %.40q is not of the form 1.136e-03...1.292e-03", ErrBuckets, r.Range)
		}
		buckets[i] = Bucket{from, to, r.Count}
	}
	return FromBuckets(buckets, Geometric)
}

// ToVMRanges counts h's values by vmrange, ascending, without what is empty. Negative values have none: left is how many
// were left out.
func ToVMRanges(h *histogram.Histogram) (ranges []VMRange, left uint64, approximate bool) {
	const n = (vmHigh - vmLow) * vmPerDecade
	bounds := make([]float64, n+1)
	for i := range bounds {
		bounds[i] = math.Pow(10, vmLow+float64(i)/vmPerDecade)
		if i%vmPerDecade == 0 {
			bounds[i] = math.Pow10(vmLow + i/vmPerDecade)
		}
	}
	rest := &histogram.Histogram{}
	for i, bin := range h.Bins {
		if bin < 0 {
			left += h.Counts[i]
		} else {
			rest.Add(bin, h.Counts[i])
		}
	}
	counts, approximate := Between(rest, bounds, Geometric)
	for i, n := range counts {
		if n == 0 {
			continue
		}
		from, to := "0", "+Inf"
		if i > 0 {
			from = fmt.Sprintf("%.3e", bounds[i-1])
		}
		if i < len(bounds) {
			to = fmt.Sprintf("%.3e", bounds[i])
		}
		ranges = append(ranges, VMRange{from + "..." + to, n})
	}
	return ranges, left, approximate
}
