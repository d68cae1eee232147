package explain

// What changed? Every series of a selection, between a time and one before it: read once, compared by itself, on all processors.

import (
	"cmp"
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"
)

// Times are those that are compared, in ms, their ends not included.
type Times struct {
	Start, End int64 // what is looked at
	// BeforeFrom and BeforeUntil are what it is compared with.
	BeforeFrom, BeforeUntil int64
}

// steps is how often numbers are looked at in the time that is compared; a value that is older than lookbackSteps is none.
const (
	steps         = 20
	lookbackSteps = 6
	parts         = 4 // parts of the time before, between which histograms differ anyway
)

// Step is how far apart numbers are looked at.
func (t Times) Step() int64 { return max(1, (t.End-t.Start)/steps) }

// From is the earliest time that is read.
func (t Times) From() int64 { return min(t.BeforeFrom, t.Start) - lookbackSteps*t.Step() }

// Measure is what the numbers of a change are.
type Measure string

// The measures.
const (
	ByValue  Measure = "value"
	ByRate   Measure = "rate"
	ByMedian Measure = "median"
)

// SeriesChange is the change of one series.
type SeriesChange struct {
	Change
	Key     string
	Measure Measure
}

// Progress is what is known while series are compared.
type Progress struct {
	Compared, Of int
	// Changed are those with a score of Changed at least, the greatest first.
	Changed []SeriesChange
	// Began and Ended have values in one of the times only.
	Began, Ended []string
}

// changeBytes is what is kept of a series.
const changeBytes = 96

// Comparison is series that are being compared. Run does it; Now may be asked meanwhile.
type Comparison struct {
	times Times
	list  []*tsdb.Series
	back  int64

	next     atomic.Int64
	compared atomic.Int64
	mu       sync.Mutex
	found    Progress
}

// NewComparison is about series that were selected from times.From()-back on.
func NewComparison(list []*tsdb.Series, times Times, back int64) *Comparison {
	return &Comparison{times: times, list: list, back: back}
}

// Now is what is known by now; of what has changed no more than most.
func (c *Comparison) Now(most int) Progress {
	c.mu.Lock()
	defer c.mu.Unlock()
	slices.SortFunc(c.found.Changed, func(a, b SeriesChange) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(moved(b.Change), moved(a.Change)), cmp.Compare(a.Key, b.Key))
	})
	now := c.found
	now.Compared, now.Of = int(c.compared.Load()), len(c.list)
	now.Changed = slices.Clone(now.Changed[:min(most, len(now.Changed))])
	// Several look at the series at once: the order in which they were found means nothing.
	now.Began, now.Ended = slices.Sorted(slices.Values(now.Began)), slices.Sorted(slices.Values(now.Ended))
	return now
}

// Count is how many have changed by now.
func (c *Comparison) Count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.found.Changed)
}

// moved tells those apart that are as far away as can be: by how much of what they were they have moved.
func moved(c Change) float64 {
	all := math.Abs(c.After) + math.Abs(c.Before)
	if all == 0 {
		return 0
	}
	return math.Abs(c.After-c.Before) / all
}

// Run compares all of them.
func (c *Comparison) Run(ctx context.Context) error {
	var failure error
	var once sync.Once
	work := func() {
		r := &reader{}
		for {
			i := int(c.next.Add(1)) - 1
			if i >= len(c.list) {
				return
			}
			if err := c.one(ctx, r, c.list[i]); err != nil {
				once.Do(func() { failure = err })
				return
			}
		}
	}
	var others sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(c.list)) - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	return failure
}

// reader is memory in which series are read.
type reader struct {
	grid                  []float64
	before, after, recent []float64
	dense                 []*histogram.Dense
}

func (c *Comparison) one(ctx context.Context, r *reader, s *tsdb.Series) error {
	if err := ctx.Err(); err != nil {
		return context.Cause(ctx)
	}
	var change Change
	var ok, had, has, ended bool
	measure := ByValue
	switch {
	case s.HasNumbers():
		if s.Kind == tsdb.Counter {
			measure = ByRate
		}
		before, err := c.numbers(r, s, c.times.BeforeFrom, c.times.BeforeUntil, r.before[:0])
		if err != nil {
			return err
		}
		after, err := c.numbers(r, s, c.times.Start, c.times.End, r.after[:0])
		if err != nil {
			return err
		}
		recent, err := c.numbers(r, s, c.times.End-(c.times.End-c.times.Start)/5, c.times.End, r.recent[:0])
		if err != nil {
			return err
		}
		r.before, r.after, r.recent = before, after, recent
		had, has, ended = len(before) > 0, len(after) > 0, len(recent) == 0
		change, ok = numberChange(before, after, recent)
	case s.HasHistograms() || s.HasNatives():
		measure = ByMedian
		before, err := c.histograms(ctx, r, s, c.times.BeforeFrom, c.times.BeforeUntil, parts)
		if err != nil {
			return err
		}
		after, err := c.histograms(ctx, r, s, c.times.Start, c.times.End, 1)
		if err != nil {
			return err
		}
		had, has = slices.ContainsFunc(before, func(h *histogram.Histogram) bool { return len(h.Bins) > 0 }), len(after[0].Bins) > 0
		ended = !has
		change, ok = shapeChange(before, after[0])
	}
	c.compared.Add(1)
	changed := ok && change.Score >= Changed
	began := has && !had
	ended = had && ended
	if !changed && !began && !ended {
		return nil
	}
	if err := budget.From(ctx).Charge(ctx, changeBytes, "series that have changed"); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case began:
		c.found.Began = append(c.found.Began, s.Key)
	case ended:
		c.found.Ended = append(c.found.Ended, s.Key)
	}
	if changed {
		c.found.Changed = append(c.found.Changed, SeriesChange{change, s.Key, measure})
	}
	return nil
}

// numbers are what a series was at each step of a time: the newest value then. A running total is what it grew by a second
// since the step before; where it began again, what it has grown since.
func (c *Comparison) numbers(r *reader, s *tsdb.Series, from, until int64, into []float64) ([]float64, error) {
	step := c.times.Step()
	n := int((until - from) / step)
	r.grid = slices.Grow(r.grid[:0], n+1)[:n+1]
	for i := range r.grid {
		r.grid[i] = math.NaN()
	}
	// Point i of the grid is at from+i*step; a sample is the newest of the points from the one behind it on.
	it := s.Numbers(from-lookbackSteps*step, until-1)
	filled := 0 // points before this one are done
	var last float64
	lastAt := int64(math.MinInt64)
	fill := func(to int) {
		for ; filled < to && filled <= n; filled++ {
			if at := from + int64(filled)*step; lastAt != math.MinInt64 && at-lastAt < lookbackSteps*step {
				r.grid[filled] = last
			}
		}
	}
	for times, values, ok := it.NextBatch(); ok; times, values, ok = it.NextBatch() {
		for i, v := range values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				continue
			}
			if behind := times[i] - from; behind > 0 {
				fill(int((behind + step - 1) / step))
			}
			last, lastAt = v, times[i]
		}
	}
	fill(n + 1)
	if err := it.Err(); err != nil {
		return into, err
	}
	if s.Kind != tsdb.Counter {
		for _, v := range r.grid[1:] {
			if !math.IsNaN(v) {
				into = append(into, v)
			}
		}
		return into, nil
	}
	before := -1
	for i, v := range r.grid {
		if math.IsNaN(v) {
			continue
		}
		if before >= 0 {
			grown := v - r.grid[before]
			if grown < 0 {
				grown = v
			}
			into = append(into, grown/(float64(int64(i-before)*step)/1000))
		}
		before = i
	}
	return into, nil
}

// histograms are what a series measured in n equal parts of a time.
func (c *Comparison) histograms(ctx context.Context, r *reader, s *tsdb.Series, from, until int64, n int) ([]*histogram.Histogram, error) {
	width := max(1, (until-from)/int64(n))
	for len(r.dense) < n {
		r.dense = append(r.dense, &histogram.Dense{})
	}
	into := r.dense[:n]
	for _, d := range into {
		d.Reset()
	}
	if _, err := s.Windows(ctx, from, width, into); err != nil {
		return nil, err
	}
	if s.HasNatives() {
		if _, err := adapter.NativeWindows(ctx, s, from, width, c.back, into); err != nil {
			return nil, err
		}
	}
	list := make([]*histogram.Histogram, n)
	for i, d := range into {
		list[i] = d.Histogram()
	}
	return list, ctx.Err()
}
