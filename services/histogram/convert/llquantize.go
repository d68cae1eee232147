package convert

// DTrace's llquantize(factor, low, high, steps): whole numbers from factor^low to factor^(high+1); what lies between one
// power of factor and the next is cut into steps of (the next power / steps), or of one where that is less.

import (
	"bufio"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cistern/services/histogram"
)

// LLQuantize is an aggregation of llquantize. Counts[0] is what is below factor^low, then the buckets, then what is
// factor^(high+1) or more.
type LLQuantize struct {
	Factor, Low, High, Steps int
	Counts                   []uint64
}

// maxLLBuckets is more than DTrace lets an aggregation have.
const maxLLBuckets = 1 << 16

// Bounds are the buckets' bounds, ascending: Counts has one more.
func (l *LLQuantize) Bounds() ([]int64, error) {
	if l.Factor < 2 || l.Low < 0 || l.High < l.Low || l.Steps < 1 || l.Steps > maxLLBuckets ||
		float64(l.High+1)*math.Log2(float64(l.Factor)) >= 63 {
		return nil, fmt.Errorf("%w: llquantize(%d, %d, %d, %d)", ErrBuckets, l.Factor, l.Low, l.High, l.Steps)
	}
	power := l.Factor // as dtrace checks: each power's steps are whole and of the same width
	for power < l.Steps {
		power *= l.Factor
	}
	if l.Steps < l.Factor || power%l.Steps != 0 || l.Steps%l.Factor != 0 {
		return nil, fmt.Errorf("%w: llquantize's steps, %d, must be a multiple of the factor, %d, and divide a power of it", ErrBuckets, l.Steps, l.Factor)
	}
	this := int64(1)
	for range l.Low {
		this *= int64(l.Factor)
	}
	bounds := []int64{this}
	for range l.High - l.Low + 1 {
		next := this * int64(l.Factor)
		step := next / min(next, int64(l.Steps))
		if (next-this)/step > maxLLBuckets-int64(len(bounds)) {
			return nil, fmt.Errorf("%w: llquantize(%d, %d, %d, %d) has too many", ErrBuckets, l.Factor, l.Low, l.High, l.Steps)
		}
		for this+step < next {
			this += step
			bounds = append(bounds, this)
		}
		bounds, this = append(bounds, next), next
	}
	return bounds, nil
}

// Buckets are the counts with their bounds times unit, such as 1e-9 for nanoseconds that are to be seconds. What lies
// below is from zero on.
func (l *LLQuantize) Buckets(unit float64) ([]Bucket, error) {
	bounds, err := l.Bounds()
	if err != nil {
		return nil, err
	}
	if len(l.Counts) != len(bounds)+1 {
		return nil, fmt.Errorf("%w: llquantize(%d, %d, %d, %d) has %d counts, not %d", ErrBuckets, l.Factor, l.Low, l.High, l.Steps, len(bounds)+1, len(l.Counts))
	}
	buckets := make([]Bucket, len(l.Counts))
	for i, n := range l.Counts {
		buckets[i].Count = n
		if i > 0 {
			buckets[i].From = scale(bounds[i-1], unit)
		}
		if i < len(bounds) {
			buckets[i].To = scale(bounds[i], unit)
		} else {
			buckets[i].To = math.Inf(1)
		}
	}
	return buckets, nil
}

// scale keeps decimal bounds decimal: 5 × 1e-9 is the double nearest to 5e-9.
func scale(v int64, unit float64) float64 {
	if inverse := math.Round(1 / unit); unit < 1 && inverse < 1<<53 && unit == 1/inverse {
		return float64(v) / inverse
	}
	return float64(v) * unit
}

// FromLLQuantize converts an aggregation; unit is as in Buckets.
func FromLLQuantize(l *LLQuantize, unit float64) (h *histogram.Histogram, approximate bool, err error) {
	buckets, err := l.Buckets(unit)
	if err != nil {
		return nil, false, err
	}
	return FromBuckets(buckets, Linear)
}

// ToLLQuantize fills l.Counts with h's values in units of unit.
func (l *LLQuantize) ToLLQuantize(h *histogram.Histogram, unit float64) (approximate bool, err error) {
	whole, err := l.Bounds()
	if err != nil {
		return false, err
	}
	bounds := make([]float64, len(whole))
	for i, b := range whole {
		bounds[i] = scale(b, unit)
	}
	l.Counts, approximate = Between(h, bounds, Linear)
	return approximate, nil
}

// ParseDTrace reads the rows that dtrace prints of quantize, lquantize and llquantize, "value |@@@@ count" each; other
// lines are skipped. text is of one aggregation. A row reaches up to the value of the next one; the last without an end is one value wide, or, when
// it is ">= value", without limit.
func ParseDTrace(text string, unit float64) ([]Bucket, error) {
	var buckets []Bucket
	above, first := false, false // the last row is ">= value", "< value"
	last := int64(0)
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		left, right, found := strings.Cut(lines.Text(), "|")
		left = strings.TrimSpace(left)
		if !found || left == "" {
			continue
		}
		right = strings.TrimLeft(right, "@ ")
		count, err := strconv.ParseUint(strings.TrimSpace(right), 10, 64)
		if err != nil {
			continue
		}
		if above {
			return nil, fmt.Errorf("%w: %.60q follows the last row", ErrBuckets, lines.Text())
		}
		number, below := strings.CutPrefix(left, "<")
		if !below {
			number, above = strings.CutPrefix(left, ">=")
		}
		value, err := strconv.ParseInt(strings.TrimSpace(number), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%w: the row %.60q", ErrBuckets, lines.Text())
		}
		at := scale(value, unit)
		if n := len(buckets); n > 0 {
			if value < last || value == last && !first {
				return nil, fmt.Errorf("%w: the rows do not ascend at %d", ErrBuckets, value)
			}
			if !first {
				buckets[n-1].To = at
			}
		}
		last, first = value, below
		switch {
		case below && len(buckets) > 0:
			return nil, fmt.Errorf("%w: %q is not the first row", ErrBuckets, left)
		case below && at > 0:
			buckets = append(buckets, Bucket{0, at, count})
		case below:
			buckets = append(buckets, Bucket{math.Inf(-1), at, count})
		case above:
			buckets = append(buckets, Bucket{at, math.Inf(1), count})
		default:
			buckets = append(buckets, Bucket{at, scale(value+1, unit), count})
		}
	}
	if err := lines.Err(); err != nil {
		return nil, err
	}
	return buckets, nil
}

// String is what dtrace prints: the rows from before the first to behind the last that is not zero.
func (l *LLQuantize) String() string {
	const bar = 40
	bounds, err := l.Bounds()
	if err != nil || len(l.Counts) != len(bounds)+1 {
		return ""
	}
	first, last, total := len(l.Counts), -1, 0.0
	for i, n := range l.Counts {
		if n > 0 {
			first, last = min(first, i), i
		}
		total += float64(n)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%16s %41s %-9s\n", "value", "------------- Distribution -------------", "count")
	for i := max(0, first-1); i <= min(len(l.Counts)-1, last+1); i++ {
		name := ""
		switch i {
		case 0:
			name = fmt.Sprintf("< %d", bounds[0])
		case len(bounds):
			name = fmt.Sprintf(">= %d", bounds[i-1])
		default:
			name = strconv.FormatInt(bounds[i-1], 10)
		}
		share := 0
		if total > 0 {
			share = int(math.Round(bar * float64(l.Counts[i]) / total))
		}
		fmt.Fprintf(&out, "%16s |%-*s %-9d\n", name, bar, strings.Repeat("@", share), l.Counts[i])
	}
	return out.String()
}
