package promapi

// The store as the PromQL engine wants to see it.

import (
	"context"
	"errors"
	"math"
	"slices"

	"cistern/services/histogram"
	"cistern/services/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// Queryable adapts a store to the engine.
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

// cumulativeFunctions are those that expect what they are given to grow: for them the histograms of the seconds are
// added up from the beginning of the query on, so that rate(latency[5m]) is what a user means by it. All others get
// the histogram of each second as it is.
var cumulativeFunctions = map[string]bool{"rate": true, "increase": true, "irate": true}

func (q *querier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	minTime, maxTime, cumulative := q.minTime, q.maxTime, false
	if hints != nil {
		minTime, maxTime = max(minTime, hints.Start), min(maxTime, hints.End)
		cumulative = cumulativeFunctions[hints.Func]
	}
	found, release, err := q.store.Select(ctx, minTime, maxTime, matchers...)
	q.releases = append(q.releases, release)
	if err != nil {
		return storage.ErrSeriesSet(err)
	}
	set := &seriesSet{at: -1}
	builder := labels.NewScratchBuilder(8)
	for _, one := range found {
		builder.Reset()
		for _, l := range one.Labels {
			builder.Add(l.Name, l.Value)
		}
		set.series = append(set.series, &series{ctx: ctx, labels: builder.Labels(), inner: one,
			minTime: minTime, maxTime: maxTime, cumulative: cumulative})
	}
	if sortSeries {
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

type seriesSet struct {
	series []*series
	at     int
}

func (s *seriesSet) Next() bool                        { s.at++; return s.at < len(s.series) }
func (s *seriesSet) At() storage.Series                { return s.series[s.at] }
func (s *seriesSet) Err() error                        { return nil }
func (s *seriesSet) Warnings() annotations.Annotations { return nil }

type series struct {
	ctx              context.Context
	labels           labels.Labels
	inner            *tsdb.Series
	minTime, maxTime int64
	cumulative       bool
}

func (s *series) Labels() labels.Labels { return s.labels }

func (s *series) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	it := &iterator{ctx: s.ctx, cumulative: s.cumulative, time: math.MinInt64,
		numbers: s.inner.Numbers(s.minTime, s.maxTime), histograms: s.inner.Histograms(s.minTime, s.maxTime)}
	it.hasNumber, it.hasHistogram = it.numbers.Next(), it.histograms.Next()
	return it
}

// iterator merges a series' numbers and histograms by time; nearly always there are only the ones or the others.
type iterator struct {
	ctx        context.Context
	numbers    *tsdb.NumberIterator
	histograms *tsdb.HistogramIterator
	cumulative bool
	total      histogram.Histogram
	steps      int
	err        error

	hasNumber, hasHistogram bool // the inner iterators stand on a sample not handed out yet
	time                    int64
	kind                    chunkenc.ValueType
	number                  float64
	histogram               histogram.Histogram
}

func (it *iterator) Next() chunkenc.ValueType {
	it.steps++
	if it.steps%4096 == 0 && it.ctx.Err() != nil {
		it.err = context.Cause(it.ctx)
	}
	it.kind = chunkenc.ValNone
	if it.err != nil {
		return it.kind
	}
	var numberTime, histogramTime int64 = math.MaxInt64, math.MaxInt64
	var number float64
	var one histogram.Histogram
	if it.hasNumber {
		numberTime, number = it.numbers.At()
	}
	if it.hasHistogram {
		histogramTime, one = it.histograms.At()
	}
	switch {
	case it.hasNumber && numberTime <= histogramTime:
		it.time, it.number, it.kind = numberTime, number, chunkenc.ValFloat
		it.hasNumber = it.numbers.Next()
		if it.hasHistogram && numberTime == histogramTime { // times must ascend
			it.hasHistogram = it.histograms.Next()
		}
	case it.hasHistogram:
		it.time, it.kind = histogramTime, chunkenc.ValFloatHistogram
		if it.cumulative {
			it.total.Merge(&one)
			one = it.total
		}
		it.histogram = one
		it.hasHistogram = it.histograms.Next()
	}
	return it.kind
}

// milliseconds keeps go vet from taking Seek for that of io.Seeker, which an interface of Prometheus forces on us.
type milliseconds = int64

func (it *iterator) Seek(t milliseconds) chunkenc.ValueType {
	if it.kind != chunkenc.ValNone && it.time >= t {
		return it.kind
	}
	for kind := it.Next(); kind != chunkenc.ValNone; kind = it.Next() {
		if it.time >= t {
			return kind
		}
	}
	return chunkenc.ValNone
}

func (it *iterator) At() (int64, float64) { return it.time, it.number }

func (it *iterator) AtHistogram(*promhistogram.Histogram) (int64, *promhistogram.Histogram) {
	panic("Cistern's histograms are float histograms to the engine")
}

func (it *iterator) AtFloatHistogram(to *promhistogram.FloatHistogram) (int64, *promhistogram.FloatHistogram) {
	if to == nil {
		to = &promhistogram.FloatHistogram{}
	}
	hint := promhistogram.GaugeType
	if it.cumulative {
		hint = promhistogram.NotCounterReset
	}
	fill(to, &it.histogram, hint)
	return it.time, to
}

func (it *iterator) AtT() int64  { return it.time }
func (it *iterator) AtST() int64 { return 0 }

func (it *iterator) Err() error {
	return errors.Join(it.err, it.numbers.Err(), it.histograms.Err())
}
