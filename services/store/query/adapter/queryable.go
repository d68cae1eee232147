// Package adapter shows Cistern's store to Prometheus' query engine: numbers as they are, Cistern's histograms as
// native histograms with custom bounds (one bucket for each bin, nothing is re-binned), native histograms as they came.
package adapter

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"sort"
	"strings"

	"cistern/services/histogram"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// Queryable adapts a store to the engine. What of the store is damaged is left out; tsdb.WithWarnings tells.
func Queryable(store tsdb.Querier) storage.Queryable {
	return storage.QueryableFunc(func(minTime, maxTime int64) (storage.Querier, error) {
		return &querier{store: store, minTime: minTime, maxTime: maxTime}, nil
	})
}

type querier struct {
	store            tsdb.Querier
	minTime, maxTime int64
	releases         []func()
}

// cumulativeFunctions are those that expect what they are given to grow. A Cistern histogram is what was measured in
// one second; for these functions the seconds are added up from the beginning of the query on. Package fast replaces
// rate and increase of such histograms by the exact sum of the window wherever it can, which is nearly everywhere.
var cumulativeFunctions = map[string]bool{"rate": true, "increase": true, "irate": true}

// AggregateFor is what stands in for samples of which only rollups are left, when a function is about to see them.
func AggregateFor(function string) tsdb.Aggregate {
	switch function {
	case "min_over_time":
		return tsdb.Minimum
	case "max_over_time":
		return tsdb.Maximum
	case "sum_over_time":
		return tsdb.Sum
	case "rate", "increase", "resets":
		return tsdb.Growth
	case "irate", "last_over_time":
		return tsdb.Last
	}
	return tsdb.Default
}

// AggregateOf is AggregateFor by what an engine says of a selector: the function, and its range in ms. What a subquery looks
// at is a value of each moment, not what adds up in a range.
func AggregateOf(function string, width int64) tsdb.Aggregate {
	aggregate := AggregateFor(function)
	if width == 0 && (aggregate == tsdb.Sum || aggregate == tsdb.Growth) {
		return tsdb.Default
	}
	return aggregate
}

// countsName is that of a matcher that asks for how many samples there were, each of them being 1, instead of them.
const countsName = "\x01cistern counts"

// Counts makes a selector ask for how many samples there were. It must be given to sum_over_time.
func Counts(matchers []*labels.Matcher) []*labels.Matcher {
	return append(slices.Clip(matchers), labels.MustNewMatcher(labels.MatchEqual, countsName, ""))
}

// Labels are a series' labels as Prometheus has them. The builder is reused.
func Labels(builder *labels.ScratchBuilder, list []tsdb.Label) labels.Labels {
	builder.Reset()
	for _, l := range list {
		builder.Add(l.Name, l.Value)
	}
	return builder.Labels()
}

func (q *querier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	minTime, maxTime, cumulative, aggregate := q.minTime, q.maxTime, false, tsdb.Default
	most := 0
	if hints != nil {
		minTime, maxTime = max(minTime, hints.Start), min(maxTime, hints.End)
		cumulative, aggregate = cumulativeFunctions[hints.Func], AggregateOf(hints.Func, hints.Range)
		most = hints.Limit
	}
	if slices.ContainsFunc(matchers, func(m *labels.Matcher) bool { return m.Name == countsName }) {
		aggregate = tsdb.Count
		matchers = slices.DeleteFunc(slices.Clone(matchers), func(m *labels.Matcher) bool { return m.Name == countsName })
	}
	found, release, err := q.store.Select(ctx, minTime, maxTime, matchers...)
	q.releases = append(q.releases, release)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	Sort(found)
	set := &Set{at: -1}
	b := budget.From(ctx)
	held := &window{ctx: ctx, budget: b}
	if hints != nil {
		held.width = hints.Range
	}
	// The labels once more, as the engine has them, and what leads to the samples.
	bytes := int64(0)
	for _, one := range found {
		bytes += int64(len(one.Key)) + adaptedBytes
	}
	if err := b.Charge(ctx, bytes, "selected series"); err != nil {
		return storage.ErrSeriesSet(err)
	}
	builder := labels.NewScratchBuilder(16)
	for _, one := range found {
		if most > 0 && len(set.series) == most {
			break
		}
		if hints != nil && hints.Range > 0 && (cumulative || aggregate == tsdb.Sum || aggregate == tsdb.Count) {
			one = one.Within(hints.Range)
		}
		set.series = append(set.series, &series{ctx: ctx, held: held, labels: Labels(&builder, one.Labels), inner: one,
			minTime: minTime, maxTime: maxTime, cumulative: cumulative, aggregate: aggregate})
	}
	if sortSeries && len(found) > sortUpTo {
		slices.SortFunc(set.series, func(a, b *series) int { return labels.Compare(a.labels, b.labels) })
	}
	return set
}

func (q *querier) LabelValues(ctx context.Context, name string, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	values, err := q.store.LabelValues(ctx, name, q.minTime, q.maxTime, matchers...)
	return limit(values, hints), nil, err
}

func (q *querier) LabelNames(ctx context.Context, hints *storage.LabelHints, matchers ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	names, err := q.store.LabelNames(ctx, q.minTime, q.maxTime, matchers...)
	return limit(names, hints), nil, err
}

func limit(list []string, hints *storage.LabelHints) []string {
	if hints != nil && hints.Limit > 0 && len(list) > hints.Limit {
		return list[:hints.Limit]
	}
	return list
}

func (q *querier) Close() error {
	for _, release := range q.releases {
		release()
	}
	q.releases = nil
	return nil
}

// adaptedBytes is what a series takes here beside its labels.
const adaptedBytes = 160

// Set is the series of a selection.
type Set struct {
	series []*series
	at     int
}

// Next, At, Err and Warnings implement storage.SeriesSet.
func (s *Set) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *Set) At() storage.Series                { return s.series[s.at] }
func (s *Set) Err() error                        { return nil }
func (s *Set) Warnings() annotations.Annotations { return nil }

// Len is how many series there are.
func (s *Set) Len() int { return len(s.series) }

// Each calls f with each series' labels, the time in which its samples lie, and whether any of them are histograms.
func (s *Set) Each(f func(set labels.Labels, minTime, maxTime int64, histograms bool)) {
	for _, one := range s.series {
		minTime, maxTime := one.inner.Span()
		f(one.labels, max(minTime, one.minTime), min(maxTime, one.maxTime), one.inner.HasHistograms() || one.inner.HasNatives())
	}
}

type series struct {
	ctx              context.Context
	held             *window
	labels           labels.Labels
	inner            *tsdb.Series
	minTime, maxTime int64
	cumulative       bool
	aggregate        tsdb.Aggregate
}

func (s *series) Labels() labels.Labels { return s.labels }

func (s *series) Iterator(old chunkenc.Iterator) chunkenc.Iterator {
	it, _ := old.(*Iterator)
	if it == nil {
		it = &Iterator{}
	}
	it.reset(s.ctx, s.inner, s.minTime, s.maxTime, s.cumulative, s.aggregate)
	it.held, it.inWindow, it.windowEnd = s.held, 0, math.MinInt64
	return it
}

// NewIterator walks through a series' samples in [minTime, maxTime] as they are, or what stands in for them.
func NewIterator(ctx context.Context, s *tsdb.Series, minTime, maxTime int64, aggregate tsdb.Aggregate) *Iterator {
	it := &Iterator{}
	it.reset(ctx, s, minTime, maxTime, false, aggregate)
	return it
}

// stream is one kind's samples, a batch at a time.
type stream[V any] struct {
	next   func() ([]int64, []V, bool)
	times  []int64
	values []V
	at     int // of the sample that comes next
	last   V   // of the batch before
}

// ready says whether there is a sample to come, fetching a batch when the last one is used up.
func (s *stream[V]) ready() bool {
	for s.at >= len(s.times) {
		if s.next == nil {
			return false
		}
		var ok bool
		if n := len(s.values); n > 0 {
			s.last = s.values[n-1]
		}
		if s.times, s.values, ok = s.next(); !ok {
			s.times, s.values, s.next = nil, nil, nil
			return false
		}
		s.at = 0
	}
	return true
}

// skip steps over what lies before t.
func (s *stream[V]) skip(t int64) {
	for s.ready() {
		if n := len(s.times); s.times[n-1] < t {
			s.at = n
			continue
		}
		if rest := s.times[s.at:]; rest[0] < t {
			s.at += sort.Search(len(rest), func(i int) bool { return rest[i] >= t })
		}
		return
	}
}

// Iterator merges a series' numbers, histograms and native histograms by time; nearly always there is one kind.
type Iterator struct {
	ctx        context.Context
	numbers    stream[float64]
	histograms stream[histogram.Histogram]
	natives    stream[*promhistogram.FloatHistogram]
	only       bool // there are numbers only
	cumulative bool
	total      histogram.Histogram
	fails      [3]func() error
	err        error
	batches    int
	held       *window // nil: nobody keeps what it gives
	inWindow   int64   // samples that it gave of the first window
	windowEnd  int64

	kind      chunkenc.ValueType
	time      int64
	number    float64
	histogram *histogram.Histogram
	native    *promhistogram.FloatHistogram
	before    *promhistogram.FloatHistogram // the native histogram before it, when that is known
}

func noError() error { return nil }

const nativesBefore = 5 * 60_000 // ms

func (it *Iterator) reset(ctx context.Context, s *tsdb.Series, minTime, maxTime int64, cumulative bool, aggregate tsdb.Aggregate) {
	*it = Iterator{ctx: ctx, cumulative: cumulative, time: math.MinInt64, fails: [3]func() error{noError, noError, noError}}
	it.only = !s.HasHistograms() && !s.HasNatives()
	if s.HasNumbers() {
		inner := s.NumbersAs(minTime, maxTime, aggregate)
		it.numbers.next, it.fails[0] = inner.NextBatch, inner.Err
	}
	if s.HasHistograms() {
		inner := s.Histograms(minTime, maxTime)
		it.histograms.next, it.fails[1] = inner.NextBatch, inner.Err
	}
	if s.HasNatives() {
		// Whether the first one is a reset is decided by the one before it.
		inner := s.Natives(minTime-nativesBefore, maxTime)
		it.natives.next, it.fails[2] = inner.NextBatch, inner.Err
		it.natives.skip(minTime)
	}
}

// Next goes to the next sample.
func (it *Iterator) Next() chunkenc.ValueType {
	if n := &it.numbers; it.only && n.at < len(n.times) {
		it.time, it.number, it.kind = n.times[n.at], n.values[n.at], chunkenc.ValFloat
		n.at++
		return chunkenc.ValFloat
	}
	return it.slow()
}

func (it *Iterator) slow() chunkenc.ValueType {
	it.kind = chunkenc.ValNone
	if it.batches++; it.only || it.batches%1024 == 1 {
		if it.ctx.Err() != nil {
			it.err = context.Cause(it.ctx)
		}
		runtime.Gosched() // whoever sends samples goes first
	}
	if it.err != nil {
		return chunkenc.ValNone
	}
	earliest := int64(math.MaxInt64)
	number, hist, native := it.numbers.ready(), it.histograms.ready(), it.natives.ready()
	if number {
		earliest = it.numbers.times[it.numbers.at]
	}
	if hist {
		earliest = min(earliest, it.histograms.times[it.histograms.at])
	}
	if native {
		earliest = min(earliest, it.natives.times[it.natives.at])
	}
	// Times must ascend: of several kinds at one time one is handed out.
	it.time = earliest
	if it.held != nil && it.held.width > 0 && it.err == nil {
		if it.err = it.keep(earliest, number && it.only); it.err != nil {
			return chunkenc.ValNone
		}
	}
	if native && it.natives.times[it.natives.at] == earliest {
		it.native, it.histogram, it.kind = it.natives.values[it.natives.at], nil, chunkenc.ValFloatHistogram
		if it.before = it.natives.last; it.natives.at > 0 {
			it.before = it.natives.values[it.natives.at-1]
		}
		it.natives.at++
	}
	if hist && it.histograms.times[it.histograms.at] == earliest {
		it.native, it.histogram, it.kind = nil, &it.histograms.values[it.histograms.at], chunkenc.ValFloatHistogram
		it.histograms.at++
		if it.cumulative {
			it.total.Merge(it.histogram)
			it.histogram = &it.total
		}
	}
	if number && it.numbers.times[it.numbers.at] == earliest {
		it.number, it.kind = it.numbers.values[it.numbers.at], chunkenc.ValFloat
		it.numbers.at++
	}
	return it.kind
}

// window is what the engine keeps of a series while a function goes over its ranges: of one at a time, all of them alike.
type window struct {
	ctx     context.Context
	budget  *budget.Budget
	width   int64 // ms
	charged int64 // samples, of the series that had most
}

// keptBytes is what the engine keeps of a sample in a range beside the samples that it counts itself: its buffer, which grows by
// doubling, and the slice that it copies from there.
const keptBytes = 64

// keep charges samples of the first window: those that follow take the place of those that leave it.
func (it *Iterator) keep(t int64, batch bool) error {
	w := it.held
	if it.windowEnd == math.MinInt64 {
		it.windowEnd = t + w.width
	}
	if t > it.windowEnd {
		return nil
	}
	n, bytes := int64(1), int64(keptBytes)
	if batch {
		n = int64(len(it.numbers.times) - it.numbers.at)
	} else {
		bytes += 512
	}
	if it.inWindow += n; it.inWindow <= w.charged {
		return nil
	}
	more := max(it.inWindow-w.charged, 1024)
	w.charged += more
	return w.budget.Charge(w.ctx, more*bytes, "samples in a range")
}

// milliseconds keeps go vet from taking Seek for that of io.Seeker, which an interface of Prometheus forces on us.
type milliseconds = int64

// Seek goes to the first sample at t or later; it does not go back.
func (it *Iterator) Seek(t milliseconds) chunkenc.ValueType {
	if it.kind != chunkenc.ValNone && it.time >= t {
		return it.kind
	}
	if it.err != nil {
		return chunkenc.ValNone
	}
	it.numbers.skip(t)
	it.natives.skip(t)
	if !it.cumulative {
		it.histograms.skip(t)
	}
	kind := it.Next()
	for kind != chunkenc.ValNone && it.time < t {
		kind = it.Next()
	}
	return kind
}

// At is the present number.
func (it *Iterator) At() (int64, float64) { return it.time, it.number }

// AtHistogram is never asked for: all histograms are float histograms to the engine.
func (it *Iterator) AtHistogram(*promhistogram.Histogram) (int64, *promhistogram.Histogram) {
	panic("Cistern's histograms are float histograms to the engine")
}

// AtFloatHistogram is the present histogram; its memory is to's when that is given.
func (it *Iterator) AtFloatHistogram(to *promhistogram.FloatHistogram) (int64, *promhistogram.FloatHistogram) {
	if to == nil {
		to = &promhistogram.FloatHistogram{}
	}
	if it.native != nil {
		it.native.CopyTo(to)
		if to.CounterResetHint == promhistogram.UnknownCounterReset && it.before != nil && !value.IsStaleNaN(it.before.Sum) && !value.IsStaleNaN(to.Sum) {
			// As Prometheus' own store tells what it found when the sample came: that there was no reset, or nothing.
			if !it.native.DetectReset(it.before) {
				to.CounterResetHint = promhistogram.NotCounterReset
			}
		}
		return it.time, to
	}
	hint := promhistogram.GaugeType
	if it.cumulative {
		hint = promhistogram.NotCounterReset
	}
	Fill(to, it.histogram, hint)
	return it.time, to
}

// AtT is the present sample's time.
func (it *Iterator) AtT() int64 { return it.time }

// AtST is 0: when a counter started is not stored.
func (it *Iterator) AtST() int64 { return 0 }

// Err is what ended the iteration early.
func (it *Iterator) Err() error {
	return errors.Join(it.err, it.fails[0](), it.fails[1](), it.fails[2]())
}

// CompareLabels orders series as Prometheus does.
func CompareLabels(x, y []tsdb.Label) int {
	return slices.CompareFunc(x, y, func(a, b tsdb.Label) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.Value, b.Value)
	})
}

// sortUpTo is up to how many series are put in the order of their labels when nobody asks for it: the answers of
// instant queries have that order then. The store's is by key, which differs where a value is longer than another.
const sortUpTo = 2000

// Sort puts series in the order of their labels, unless there are very many.
func Sort(list []*tsdb.Series) {
	if len(list) <= sortUpTo {
		slices.SortFunc(list, func(x, y *tsdb.Series) int { return CompareLabels(x.Labels, y.Labels) })
	}
}
