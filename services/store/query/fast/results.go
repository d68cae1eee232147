package fast

// Results of what is evaluated here: as Prometheus has them, and as series that stand for parts of an expression which the
// engine evaluates the rest of.

import (
	"context"
	"slices"

	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/util/annotations"
)

// value makes Prometheus' types of rows.
func (r *run) value(rows []row, instant bool) (parser.Value, error) {
	if instant {
		vector := make(promql.Vector, 0, len(rows))
		for _, one := range rows {
			s := promql.Sample{T: r.at.start, Metric: one.labels}
			if one.hists != nil && one.hists[0] != nil {
				s.H = one.hists[0]
			} else {
				s.F = one.values[0]
			}
			vector = append(vector, s)
		}
		return vector, nil
	}
	slices.SortStableFunc(rows, func(a, b row) int { return labels.Compare(a.labels, b.labels) })
	matrix := make(promql.Matrix, 0, len(rows))
	for i := range rows {
		one := &rows[i]
		bytes := int64(0)
		if one.values != nil {
			bytes = pointBytes * int64(len(one.values))
		}
		if err := r.hold(bytes, "points of the answer"); err != nil {
			return nil, err
		}
		matrix = append(matrix, one.series(r.at))
		r.let(rowBytes * int64(len(one.values)))
		one.values = nil
	}
	return matrix, nil
}

// series is the row as Prometheus has it.
func (one *row) series(at steps) promql.Series {
	s := promql.Series{Metric: one.labels}
	for i, h := range one.hists {
		if h != nil {
			s.Histograms = append(s.Histograms, promql.HPoint{T: at.at(i), H: h})
		}
	}
	if one.values != nil {
		s.Floats = make([]promql.FPoint, 0, len(one.values))
		for i, v := range one.values {
			if !isAbsent(v) {
				s.Floats = append(s.Floats, promql.FPoint{T: at.at(i), F: v})
			}
		}
	}
	return s
}

// withResults is the store and the results that stand for parts of an expression.
type withResults struct {
	storage.Queryable
	results map[string][]row
	at      steps
}

func (w *withResults) Querier(minTime, maxTime int64) (storage.Querier, error) {
	q, err := w.Queryable.Querier(minTime, maxTime)
	return &resultsQuerier{q, w}, err
}

type resultsQuerier struct {
	storage.Querier
	with *withResults
}

func (q *resultsQuerier) Select(ctx context.Context, sortSeries bool, hints *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	if len(matchers) == 1 && matchers[0].Name == tsdb.NameLabel {
		if rows, ok := q.with.results[matchers[0].Value]; ok {
			return &rowSet{rows: rows, at: -1, steps: q.with.at}
		}
	}
	return q.Querier.Select(ctx, sortSeries, hints, matchers...)
}

type rowSet struct {
	rows  []row
	at    int
	steps steps
}

func (s *rowSet) Next() bool                        { s.at++; return s.at < len(s.rows) }
func (s *rowSet) At() storage.Series                { return rowSeries{&s.rows[s.at], s.steps} }
func (s *rowSet) Err() error                        { return nil }
func (s *rowSet) Warnings() annotations.Annotations { return nil }

type rowSeries struct {
	row   *row
	steps steps
}

func (s rowSeries) Labels() labels.Labels { return s.row.labels }
func (s rowSeries) Iterator(chunkenc.Iterator) chunkenc.Iterator {
	return &rowIterator{row: s.row, steps: s.steps, at: -1}
}

// rowIterator hands out a sample for each step: a stale marker where there is no result, so that none is found by
// looking back.
type rowIterator struct {
	row   *row
	steps steps
	at    int
}

func (it *rowIterator) kind() chunkenc.ValueType {
	switch {
	case it.at >= it.steps.n:
		return chunkenc.ValNone
	case it.row.hists != nil && it.row.hists[it.at] != nil:
		return chunkenc.ValFloatHistogram
	}
	return chunkenc.ValFloat
}

func (it *rowIterator) Next() chunkenc.ValueType {
	it.at++
	return it.kind()
}

// milliseconds keeps go vet from taking Seek for that of io.Seeker, which an interface of Prometheus forces on us.
type milliseconds = int64

func (it *rowIterator) Seek(t milliseconds) chunkenc.ValueType {
	it.at = max(it.at, 0)
	if t > it.steps.start {
		it.at = max(it.at, int((t-it.steps.start+it.steps.step-1)/it.steps.step))
	}
	return it.kind()
}

func (it *rowIterator) At() (int64, float64) {
	if it.row.values == nil {
		return it.AtT(), absent
	}
	return it.AtT(), it.row.values[it.at]
}

func (it *rowIterator) AtHistogram(*promhistogram.Histogram) (int64, *promhistogram.Histogram) {
	panic("results are float histograms")
}

func (it *rowIterator) AtFloatHistogram(to *promhistogram.FloatHistogram) (int64, *promhistogram.FloatHistogram) {
	if to == nil {
		return it.AtT(), it.row.hists[it.at].Copy()
	}
	it.row.hists[it.at].CopyTo(to)
	return it.AtT(), to
}

func (it *rowIterator) AtT() int64  { return it.steps.at(it.at) }
func (it *rowIterator) AtST() int64 { return 0 }
func (it *rowIterator) Err() error  { return nil }

// measure is what the set's series take.
func (s *rowSet) measure(names map[string]bool) chosen {
	sets := make([]labels.Labels, len(s.rows))
	result := chosen{}
	for i := range s.rows {
		sets[i] = s.rows[i].labels
		result.hists = result.hists || s.rows[i].hists != nil
	}
	found := summary(sets, names)
	found.hists, found.ours, found.points = result.hists, result.hists, int64(len(s.rows))*int64(s.steps.n)
	return found
}
