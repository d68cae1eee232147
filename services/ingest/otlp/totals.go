package otlp

// Differences (delta temporality) as running totals, which is what PromQL's rate and increase are made for: sums and
// histograms alike. docs/decisions/0021 says why. The state of a series lives in memory and is bounded; after a restart it
// is read back from the store, and a series of which the last hour knows nothing begins at zero where its first interval
// does, which rate takes for what it is: the beginning of a counter.

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"cistern/services/ingest/seriesstate"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

const (
	// maxTotals bounds the series with running totals, defaultTotalsBytes their memory.
	maxTotals          = 200_000
	defaultTotalsBytes = 64 << 20
	// maxIntervals is how many of its latest intervals are remembered of a series, to know one that comes again from one of
	// another sender: clients repeat what was not answered within seconds.
	maxIntervals = 16
	// maxTotalBuckets bounds a histogram's total: the union of all that came may have more buckets than each.
	maxTotalBuckets = 320
)

// interval is what one difference was measured in. Of what was read back from the store only the end is known, to a
// millisecond.
type interval struct {
	start, end uint64 // ns
	readBack   bool
}

func (i interval) is(start, end uint64) bool {
	if i.readBack {
		return i.end/1e6 == end/1e6
	}
	return i.start == start && i.end == end
}

// running is the total of a series. It is never changed, only replaced: what was not stored leaves no trace.
type running struct {
	value     float64
	histogram *promhistogram.FloatHistogram // nil for a number
	last      int64                         // the time of the total stored last, ms
	latest    uint64                        // the latest end of an interval, ns
	intervals []interval                    // of the latest differences, in the order in which they came
}

func (r running) weight() int {
	size := 120 + 24*len(r.intervals)
	if r.histogram != nil {
		size += r.histogram.Size()
	}
	return size
}

// refuses says why a difference cannot be added, or "". What came before is not added twice, and what may have come before
// is not added either.
func (r running) refuses(start, end uint64) string {
	if len(r.intervals) == 0 {
		return ""
	}
	for _, i := range r.intervals {
		if i.is(start, end) {
			return "the same interval was added already"
		}
	}
	if end > r.latest {
		return ""
	}
	if start == 0 {
		return "a point of this time or a later one was added already, and without a start time it cannot be known whether this is another one"
	}
	oldest := slices.MinFunc(r.intervals, func(a, b interval) int { return cmp.Compare(a.end, b.end) })
	if end < oldest.end && len(r.intervals) == maxIntervals {
		return fmt.Sprintf("%d later intervals were added since, so that it cannot be known whether this one was too", maxIntervals)
	}
	return ""
}

// plus is the total after a difference, which is of the sample's own kind.
func (r running) plus(sample *tsdb.Sample, start, end uint64) running {
	if sample.Kind == tsdb.NativeHistogram {
		r.histogram = merged(r.histogram, sample.Native)
	} else {
		r.value += sample.Value
	}
	// One that comes after a later one, as those of two senders do, is in the total from now on.
	r.last = max(int64(end/1e6), r.last+1)
	r.latest = max(r.latest, end)
	kept := r.intervals
	if len(kept) == maxIntervals {
		kept = kept[1:]
	}
	r.intervals = append(slices.Clone(kept), interval{start: start, end: end})
	return r
}

// merged is a total and a difference, as a histogram of its own. Exponential buckets are merged to the coarser of both
// scales, and further where they would be too many; after a change of explicit bounds the total begins anew.
func merged(total, difference *promhistogram.FloatHistogram) *promhistogram.FloatHistogram {
	if total == nil || !sameBounds(total, difference) {
		return difference.Copy()
	}
	sum, _, _, err := total.Copy().Add(difference)
	if err != nil { // which layouts that can be stored do not
		return difference.Copy()
	}
	sum.Compact(0)
	for !sum.UsesCustomBuckets() && len(sum.PositiveBuckets)+len(sum.NegativeBuckets) > maxTotalBuckets && sum.Schema > promhistogram.ExponentialSchemaMin {
		if sum.ReduceResolution(sum.Schema-1) != nil {
			break
		}
	}
	return sum
}

// sameBounds says whether a total can go on with a difference.
func sameBounds(total, difference *promhistogram.FloatHistogram) bool {
	return total.UsesCustomBuckets() == difference.UsesCustomBuckets() &&
		(!total.UsesCustomBuckets() || slices.Equal(total.CustomValues, difference.CustomValues))
}

// totals is the table of them all.
type totals struct {
	table    *seriesstate.Table[running]
	maxBytes int
	// past is where the totals of a series' last hour are, and began since when the table has seen all there was. nil: no past.
	past  tsdb.Querier
	began time.Time
}

func newTotals(store tsdb.Ingester, maxBytes int, now time.Time) *totals {
	t := &totals{table: seriesstate.New[running](maxTotals), maxBytes: cmp.Or(maxBytes, defaultTotalsBytes), began: now}
	t.table.Weigh = running.weight
	t.past, _ = store.(tsdb.Querier)
	return t
}

// apply makes the differences of a request totals, and rejects those that came before: a request may come twice. The
// totals go on from them when commit is called with what the store refused.
func (all *totals) apply(ctx context.Context, t *translation, now time.Time) (commit func(refused []tsdb.Rejection), err error) {
	all.table.Sweep(now)
	// In the order of their times, whatever order they came in.
	slices.SortStableFunc(t.deltas, func(a, b delta) int { return cmp.Compare(a.time, b.time) })
	type change struct {
		after   running
		known   bool // by the table
		changed bool
		sample  int // the last one of the total
	}
	next := map[string]*change{}
	added, weight := 0, 0
	refused := map[int]bool{}
	var zeros []tsdb.Sample
	var zeroNames []string
	for _, d := range t.deltas {
		sample := &t.samples[d.sample]
		reject := func(reason tsdb.Reason, detail string) {
			refused[d.sample] = true
			t.rejected = append(t.rejected, rejection{t.points[d.sample], reason, t.names[d.sample] + ": " + detail})
		}
		one := next[string(sample.Key)]
		if one == nil {
			one = &change{}
			if one.after, one.known = all.table.Get(sample.Key); !one.known {
				if all.table.Full(added) || all.table.Weight()+weight > all.maxBytes {
					reject(tsdb.SeriesLimit, fmt.Sprintf("the totals of %d delta series are kept already, which take %d bytes; %d series and %d bytes are the limits: send cumulative temporality",
						all.table.Len()+added, all.table.Weight()+weight, maxTotals, all.maxBytes))
					continue
				}
				if one.after, err = all.readBack(ctx, sample, d); err != nil {
					return nil, fmt.Errorf("the total of %s cannot be read back: %w", t.names[d.sample], err)
				}
				added++
				weight += len(sample.Key) + one.after.weight()
			}
			next[string(sample.Key)] = one
		}
		if why := one.after.refuses(d.start, d.time); why != "" {
			reject(OldDelta, why)
			continue
		}
		if zero, ok := one.after.zero(sample, d); ok {
			zeros, zeroNames = append(zeros, zero), append(zeroNames, t.names[d.sample])
			one.after.last = zero.Time
		}
		one.after = one.after.plus(sample, d.start, d.time)
		one.changed, one.sample = true, d.sample
		sample.Time = one.after.last
		if sample.Kind == tsdb.NativeHistogram {
			sample.Native = one.after.histogram
		} else {
			sample.Value = one.after.value
		}
	}
	moved := t.drop(refused)
	// First, because a total makes its series' time: what lies further behind that than the out-of-order window is refused.
	t.samples, t.names = append(zeros, t.samples...), append(zeroNames, t.names...)
	t.points = append(slices.Repeat([]int{beside}, len(zeros)), t.points...)
	return func(refused []tsdb.Rejection) {
		not := map[int]bool{}
		for _, r := range refused {
			not[r.Index] = true
		}
		for key, one := range next {
			// What is not stored is not in the total: it may come again.
			if (one.changed || !one.known) && !(one.changed && not[len(zeros)+moved(one.sample)]) {
				all.table.Set(key, one.after, now)
			}
		}
	}, nil
}

// zero is where a counter begins of which nothing is known, or a histogram that has other bounds than before: just after the
// interval's start. Not at the start itself, where the last total of a series may be that was forgotten.
func (r running) zero(sample *tsdb.Sample, d delta) (tsdb.Sample, bool) {
	h := sample.Native
	fresh := len(r.intervals) == 0 || r.histogram != nil && h != nil && !sameBounds(r.histogram, h)
	at := max(int64(d.start/1e6), r.last) + 1
	if !fresh || !d.grows || d.start == 0 || at >= int64(d.time/1e6) {
		return tsdb.Sample{}, false
	}
	zero := tsdb.Sample{Key: sample.Key, Kind: sample.Kind, Time: at}
	if sample.Kind == tsdb.NativeHistogram {
		zero.Native = &promhistogram.FloatHistogram{Schema: h.Schema, ZeroThreshold: h.ZeroThreshold, CustomValues: h.CustomValues}
	}
	return zero, true
}

// readBack is the total that the store has of a series' last hour, when the table has not seen all of that; else an empty
// one. What it holds of the intervals are the times of the last totals.
func (all *totals) readBack(ctx context.Context, sample *tsdb.Sample, d delta) (running, error) {
	from := int64(d.time/1e6) - seriesstate.ForgetAfter.Milliseconds()
	if all.past == nil || from > all.began.UnixMilli() {
		return running{}, nil
	}
	list, err := tsdb.ParseKey(string(sample.Key))
	if err != nil {
		return running{}, err
	}
	matchers := make([]*tsdb.Matcher, 0, len(list))
	for _, l := range list {
		matcher, err := labels.NewMatcher(labels.MatchEqual, l.Name, l.Value)
		if err != nil {
			return running{}, err
		}
		matchers = append(matchers, matcher)
	}
	found, release, err := all.past.Select(ctx, from, math.MaxInt64, matchers...)
	defer release()
	if err != nil {
		return running{}, err
	}
	var r running
	seen := func(ms int64) {
		r.last, r.latest = ms, uint64(ms)*1e6+999_999
		if len(r.intervals) == maxIntervals {
			r.intervals = r.intervals[1:]
		}
		r.intervals = append(r.intervals, interval{end: uint64(ms) * 1e6, readBack: true})
	}
	for _, one := range found {
		if one.Key != string(sample.Key) { // it has more labels
			continue
		}
		if sample.Kind != tsdb.NativeHistogram {
			for it := one.Numbers(from, math.MaxInt64); it.Next(); {
				if ms, v := it.At(); !math.IsNaN(v) && !math.IsInf(v, 0) {
					r.value = v
					seen(ms)
				}
			}
			continue
		}
		for it := one.Natives(from, math.MaxInt64); it.Next(); {
			if ms, h := it.At(); !math.IsNaN(h.Sum) && h.CounterResetHint != promhistogram.GaugeType {
				r.histogram = h.Copy()
				r.histogram.CounterResetHint = promhistogram.UnknownCounterReset
				seen(ms)
			}
		}
	}
	return r, nil
}

// drop leaves samples out; the function it returns says where another one is now.
func (t *translation) drop(refused map[int]bool) (moved func(int) int) {
	if len(refused) == 0 {
		return func(i int) int { return i }
	}
	at := make([]int, len(t.samples))
	kept := 0
	for i := range t.samples {
		at[i] = kept
		if !refused[i] {
			t.samples[kept], t.points[kept], t.names[kept] = t.samples[i], t.points[i], t.names[i]
			kept++
		}
	}
	t.samples, t.points, t.names = t.samples[:kept], t.points[:kept], t.names[:kept]
	return func(i int) int { return at[i] }
}
