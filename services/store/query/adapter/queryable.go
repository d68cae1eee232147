// Package adapter shows Cistern's store to Prometheus' query engine: numbers as they are, Cistern's histograms as
// native histograms with custom bounds (one bucket for each bin, nothing is re-binned), native histograms as they came.
package adapter

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
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
func Labels(builder *labels.ScratchBuilder, key string) labels.Labels {
	builder.Reset()
	for rest := key; rest != ""; {
		name, value, more, ok := tsdb.NextLabel(rest)
		if !ok {
			break
		}
		builder.Add(name, value)
		rest = more
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
		set.series = append(set.series, &series{ctx: ctx, held: held, labels: Labels(&builder, one.Key), inner: one,
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

// Each calls f with each series' labels, the time in which its samples lie, and whether there are histograms among them,
// Cistern's or native ones.
func (s *Set) Each(f func(set labels.Labels, minTime, maxTime int64, ours, natives bool)) {
	for _, one := range s.series {
		minTime, maxTime := one.inner.Span()
		f(one.labels, max(minTime, one.minTime), min(maxTime, one.maxTime), one.inner.HasHistograms(), one.inner.HasNatives())
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

// CompareKeys orders series by their labels, as Prometheus does.
func CompareKeys(x, y string) int {
	for x != "" && y != "" {
		name, value, restX, ok := tsdb.NextLabel(x)
		other, its, restY, too := tsdb.NextLabel(y)
		if !ok || !too {
			break
		}
		if c := cmp.Or(strings.Compare(name, other), strings.Compare(value, its)); c != 0 {
			return c
		}
		x, y = restX, restY
	}
	return strings.Compare(x, y)
}

// sortUpTo is up to how many series are put in the order of their labels when nobody asks for it: the answers of
// instant queries have that order then. The store's is by key, which differs where a value is longer than another.
const sortUpTo = 2000

// Sort puts series in the order of their labels, unless there are very many.
func Sort(list []*tsdb.Series) {
	if len(list) <= sortUpTo {
		slices.SortFunc(list, func(x, y *tsdb.Series) int { return CompareKeys(x.Key, y.Key) })
	}
}

// SortKeys does the same to keys of series.
func SortKeys(list []string) {
	if len(list) <= sortUpTo {
		slices.SortFunc(list, CompareKeys)
	}
}
