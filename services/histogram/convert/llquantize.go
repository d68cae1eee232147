package convert

// DTrace's llquantize(): whole numbers, in orders of magnitude that are divided evenly. With a factor of 10 and 100 steps
// its buckets from 10 on are the log-linear bins.

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cistern/services/histogram"
)

// LLQuantize is an aggregation llquantize(value, Factor, Low, High, Steps). Counts[0] is what is below Factor^Low, the
// last one what is from Factor^(High+1) on.
type LLQuantize struct {
	Factor, Low, High, Steps int
	Counts                   []uint64
}

// bounds are the lower bounds of the buckets but the first, the last one's at the end.
func (l *LLQuantize) bounds() ([]int64, error) {
	if l.Factor < 2 || l.Steps < l.Factor || l.Steps%l.Factor != 0 || l.Low < 0 || l.High <= l.Low || l.Steps > math.MaxUint16 {
		return nil, errors.New("llquantize has a factor of 2 or more that divides the steps, and orders of magnitude that ascend")
	}
	start := int64(1)
	for range l.Low {
		if start > math.MaxInt64/int64(l.Factor) {
			return nil, errors.New("llquantize's lowest order of magnitude is beyond 64 bits")
		}
		start *= int64(l.Factor)
	}
	var list []int64
	for range l.High - l.Low + 1 {
		if start > math.MaxInt64/int64(l.Factor) {
			return nil, errors.New("llquantize's highest order of magnitude is beyond 64 bits")
		}
		next := start * int64(l.Factor)
		steps := min(next, int64(l.Steps))
		if next%steps != 0 {
			return nil, errors.New("llquantize's steps do not divide an order of magnitude evenly")
		}
		for at := start; at < next; at += next / steps {
			list = append(list, at)
		}
		start = next
	}
	return append(list, start), nil
}

// rows are the buckets with their bounds.
func (l *LLQuantize) rows() ([]Bucket, error) {
	bounds, err := l.bounds()
	if err != nil {
		return nil, err
	}
	if len(l.Counts) != len(bounds)+1 {
		return nil, fmt.Errorf("this llquantize has %d buckets, not %d", len(bounds)+1, len(l.Counts))
	}
	list := make([]Bucket, len(l.Counts))
	for i, n := range l.Counts {
		b := Bucket{math.Inf(-1), math.Inf(1), n}
		if i > 0 {
			b.From = float64(bounds[i-1])
		}
		if i < len(bounds) {
			b.To = float64(bounds[i])
		}
		list[i] = b
	}
	return list, nil
}

// FromLLQuantize makes a log-linear histogram of an aggregation. What is in the first bucket when that is all below 1 is
// taken to be zero.
func FromLLQuantize(l *LLQuantize) (h *histogram.Histogram, approximate bool, err error) {
	rows, err := l.rows()
	if err != nil {
		return nil, false, err
	}
	return fromRows(rows)
}

func fromRows(rows []Bucket) (*histogram.Histogram, bool, error) {
	var f filler
	for _, b := range rows {
		if math.IsInf(b.From, -1) && b.To == 1 {
			f.approximate = f.approximate || b.Count > 0
			b.From, b.To = 0, 0
		}
		f.add(b, wholes)
	}
	return f.done()
}

// ToLLQuantize counts h's values as llquantize does, which cuts off what is behind the point.
func ToLLQuantize(h *histogram.Histogram, factor, low, high, steps int) (l *LLQuantize, approximate bool, err error) {
	l = &LLQuantize{Factor: factor, Low: low, High: high, Steps: steps}
	whole, err := l.bounds()
	if err != nil {
		return nil, false, err
	}
	bounds := make([]float64, len(whole))
	for i, bound := range whole {
		bounds[i] = float64(bound)
	}
	if l.Counts, approximate, err = ToBuckets(h, bounds); err != nil {
		return nil, false, err
	}
	return l, approximate, nil
}

const (
	llHeader = "value  ------------- Distribution ------------- count"
	llBar    = 40
	llBars   = "@█▉▊▋▌▍▎▏"
	maxRows  = 1 << 17
)

// String is the aggregation as dtrace prints it: from the bucket before the first that is not empty to the one behind
// the last.
func (l *LLQuantize) String() string {
	rows, err := l.rows()
	if err != nil {
		return err.Error()
	}
	first, last, sum := len(rows), -1, 0.0
	for i, b := range rows {
		if b.Count > 0 {
			first, last, sum = min(first, i), i, sum+float64(b.Count)
		}
	}
	var text strings.Builder
	fmt.Fprintf(&text, "\n%16s %41s %-9s\n", "value", "------------- Distribution -------------", "count")
	if last < 0 {
		first, last = 0, 1
	}
	for i := max(0, first-1); i <= min(last+1, len(rows)-1); i++ {
		b := rows[i]
		label := strconv.FormatFloat(b.From, 'f', -1, 64)
		switch {
		case i == 0:
			label = "< " + strconv.FormatFloat(b.To, 'f', -1, 64)
		case i == len(rows)-1:
			label = ">= " + label
		}
		bar := 0
		if sum > 0 {
			bar = int(float64(b.Count)*llBar/sum + 0.5)
		}
		fmt.Fprintf(&text, "%16s |%-*s %-9d\n", label, llBar, strings.Repeat("@", bar), b.Count)
	}
	return text.String()
}

// ParseLLQuantize reads one aggregation as dtrace prints it. Which parameters it had is not there to be read, but what
// its buckets are: each ends where the next one begins. Bars may be of @ or, as in a UTF-8 terminal, of blocks.
func ParseLLQuantize(text string) ([]Bucket, error) {
	wrong := func(line string) error { return fmt.Errorf("%.80q is no line of llquantize's output", line) }
	var rows []Bucket
	header, open := false, false // open: the last row's upper bound is not known yet
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case line == "":
			continue
		case !header:
			if strings.Join(strings.Fields(line), " ") != strings.Join(strings.Fields(llHeader), " ") {
				return nil, wrong(line)
			}
			header = true
			continue
		}
		label, rest, ok := strings.Cut(line, "|")
		label = strings.TrimSpace(label)
		number := strings.TrimSpace(strings.TrimLeft(rest, llBars))
		count, err := strconv.ParseUint(number, 10, 64)
		under, isUnder := strings.CutPrefix(label, "<")
		over, isOver := strings.CutPrefix(label, ">=")
		digits := label
		if isUnder {
			digits = strings.TrimSpace(under)
		} else if isOver {
			digits = strings.TrimSpace(over)
		}
		bound, err2 := strconv.ParseUint(digits, 10, 63)
		if !ok || err != nil || err2 != nil || len(rows) > maxRows || isUnder && len(rows) > 0 {
			return nil, wrong(line)
		}
		value := float64(bound)
		if n := len(rows) - 1; n >= 0 {
			if open {
				rows[n].To = value
				if !(rows[n].From < value) {
					return nil, wrong(line)
				}
			} else if rows[n].To != value { // behind "< value", or ">= value" itself
				return nil, wrong(line)
			}
		}
		switch {
		case isUnder:
			rows, open = append(rows, Bucket{math.Inf(-1), value, count}), false
		case isOver:
			rows, open = append(rows, Bucket{value, math.Inf(1), count}), false
		default:
			rows, open = append(rows, Bucket{value, math.Inf(1), count}), true
		}
	}
	if !header {
		return nil, errors.New("llquantize's output begins with: " + llHeader)
	}
	// dtrace prints the bucket behind the last that is not empty, so the last row's end matters only if it is ">=".
	if open && len(rows) > 0 && rows[len(rows)-1].Count > 0 {
		return nil, errors.New("llquantize's output ends with an empty bucket, or with the one that has no end")
	}
	if open {
		rows = rows[:len(rows)-1]
	}
	return rows, nil
}

// FromLLQuantizeText makes a log-linear histogram of an aggregation as dtrace prints it; see FromLLQuantize.
func FromLLQuantizeText(text string) (h *histogram.Histogram, approximate bool, err error) {
	rows, err := ParseLLQuantize(text)
	if err != nil {
		return nil, false, err
	}
	return fromRows(rows)
}
