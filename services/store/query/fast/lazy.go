package fast

// Answers that are larger than a query may hold: the histograms of many series at many steps. Each series is evaluated when it
// is written, and forgotten.

import (
	"errors"
	"slices"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/util/annotations"
)

// Lazy is a matrix whose series are evaluated one after the other. The query's context must not end before they are read.
type Lazy struct {
	run      *run
	node     *node
	selected *selected
	order    []int // of the series, by their labels
}

// Type implements parser.Value.
func (l *Lazy) Type() parser.ValueType { return parser.ValueTypeMatrix }

// String implements parser.Value.
func (l *Lazy) String() string { return "a matrix that is not evaluated yet" }

// Notes are those that came up so far.
func (l *Lazy) Notes() annotations.Annotations { return l.run.notes }

// ErrEnough ends Each without an error.
var ErrEnough = errors.New("no more series are wanted")

// together is how many series are evaluated at a time, on all processors.
const together = 16

// Each calls f with the series that are not empty, in the order of their labels.
func (l *Lazy) Each(f func(promql.Series) error) error {
	for chunk := range slices.Chunk(l.order, together) {
		before := l.run.held.Load()
		rows, err := l.run.leafOf(l.node, l.selected.pick(chunk))
		if err != nil {
			return err
		}
		for i := range rows {
			if err := f(rows[i].series(l.run.at)); err != nil {
				if errors.Is(err, ErrEnough) {
					return nil
				}
				return err
			}
		}
		l.run.let(l.run.held.Load() - before)
	}
	return nil
}

// pick is some of the series; they are released with the whole.
func (s *selected) pick(list []int) *selected {
	some := &selected{from: s.from, to: s.to}
	for _, k := range list {
		some.series, some.labels = append(some.series, s.series[k]), append(some.labels, s.labels[k])
	}
	return some
}

// usualHistogramBytes is what a histogram of an answer takes that has some twenty bins.
const usualHistogramBytes = 512

// answer evaluates all of a query.
func (r *run) answer(n *node, q Query) (Answer, error) {
	if n.op == parser.COUNT_VALUES && len(n.then) == 0 && q.Step != 0 {
		matrix, err := r.countedMatrix(n)
		return Answer{Value: matrix, Notes: r.notes, Read: r.read.Load(), By: "fast", Close: r.drop}, err
	}
	rows, lazy, err := r.wholeOrLazy(n, q)
	if err != nil {
		return Answer{}, err
	}
	if lazy != nil {
		return Answer{Value: lazy, By: "fast", Close: func() { lazy.selected.release(); r.drop() }}, nil
	}
	value, err := r.value(rows, q.Step == 0)
	return Answer{Value: value, Notes: r.notes, Read: r.read.Load(), By: "fast", Close: r.drop}, err
}

func (r *run) wholeOrLazy(n *node, q Query) ([]row, *Lazy, error) {
	if q.Step == 0 || n.inner != nil || len(n.then) > 0 || n.function != rate && n.function != increase && n.function != sumOver {
		rows, err := r.evaluate(n)
		return rows, nil, err
	}
	s, err := r.choose(n, 0) // of histograms one at a time may be all that is held
	if err != nil {
		return nil, nil, err
	}
	histograms := int64(0)
	for _, one := range s.series {
		if one.HasHistograms() {
			histograms++
		}
	}
	if _, _, err := kinds(s.series); err != nil || histograms*int64(r.at.n)*usualHistogramBytes <= r.budget.Left()/4 {
		defer s.release()
		rows, err := r.leafOf(n, s)
		return rows, nil, err
	}
	order := make([]int, len(s.series))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return labels.Compare(s.labels[a], s.labels[b]) })
	return nil, &Lazy{r, n, s, order}, nil
}
