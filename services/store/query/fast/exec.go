package fast

// Running nodes: series are shared among the processors, aggregations are made as rows come.

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"cistern/services/store/query/adapter"
	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/schema"
	"github.com/prometheus/prometheus/util/annotations"
)

// errUnfit says that the engine must evaluate the expression: it holds what is not done here.
var errUnfit = errors.New("not for the fast path")

// row is one series of a result.
type row struct {
	labels labels.Labels
	values []float64 // absent where there is none; nil when it has histograms
	hists  []*promhistogram.FloatHistogram
}

func (r *row) empty() bool {
	for _, v := range r.values {
		if !isAbsent(v) {
			return false
		}
	}
	for _, h := range r.hists {
		if h != nil {
			return false
		}
	}
	return true
}

// run is one evaluation.
type run struct {
	ctx      context.Context
	engine   *Engine
	query    Query
	store    tsdb.Querier
	budget   *budget.Budget
	at       steps
	lookback int64
	interval int64        // ms: the step of a subquery that names none
	held     atomic.Int64 // bytes that were charged
	read     atomic.Int64

	mu    sync.Mutex
	notes annotations.Annotations
}

func newRun(ctx context.Context, e *Engine, q Query) *run {
	r := &run{ctx: ctx, engine: e, query: q, store: e.Store, budget: budget.From(ctx), at: q.steps(), lookback: q.Lookback.Milliseconds()}
	if r.interval = defaultInterval.Milliseconds(); e.Interval > 0 {
		r.interval = e.Interval.Milliseconds()
	}
	return r
}

// parallel calls f for 0 … n-1 from several goroutines and returns the first error.
func (r *run) parallel(n int, f func(i int, s *scratch) error) error { return r.parallelBy(1, n, f) }

// parallelBy is parallel, and lets others have the processor after so many calls: where a call takes a microsecond, that takes longer.
func (r *run) parallelBy(many, n int, f func(i int, s *scratch) error) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	var next atomic.Int64
	var failed atomic.Pointer[error]
	work := func() {
		s, turn := &scratch{}, r.budget.Turn()
		turn.Take()
		defer turn.Give()
		for calls := 1; failed.Load() == nil; calls++ {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			err := r.ctx.Err()
			if err == nil {
				err = guarded(func() error { return f(i, s) })
			} else {
				err = context.Cause(r.ctx)
			}
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			if calls%many == 0 {
				turn.Pass()
				runtime.Gosched() // whoever sends samples goes first
			}
		}
	}
	var others sync.WaitGroup
	for range workers - 1 {
		others.Go(work)
	}
	work()
	others.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// guarded keeps a panic in one goroutine from ending the process.
func guarded(f func() error) (err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = fmt.Errorf("an unexpected error: %v", broken)
		}
	}()
	return f()
}

// evaluate is the node's rows, in the order in which the engine has them; none is empty.
func (r *run) evaluate(n *node) ([]row, error) {
	var rows []row
	var err error
	switch {
	case n.absent:
		rows, err = r.absence(n)
	case n.subquery:
		rows, err = r.subquery(n)
	case n.top:
		rows, err = r.topRows(n)
	case n.isLeaf():
		rows, err = r.leaf(n)
	case n.rest != nil:
		return r.byEngine(n.rest)
	case n.op == parser.COUNT_VALUES:
		rows, err = r.countedRows(n)
	case n.inner.isLeaf():
		rows, err = r.aggregateLeaf(n)
	default:
		if rows, err = r.evaluate(n.inner); err == nil {
			rows, err = r.aggregateRows(n, rows)
		}
	}
	if err != nil || len(n.then) == 0 {
		return rows, err
	}
	for i := range rows {
		if err := n.finish(&rows[i]); err != nil {
			return nil, err
		}
	}
	// Before a comparison leaves some of them out: two of the same labels are an error whatever becomes of them.
	if err := unique(rows); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(one row) bool { return one.empty() }), nil
}

// finish does the operations that follow.
func (n *node) finish(one *row) error {
	for _, o := range n.then {
		if one.hists != nil {
			return errUnfit
		}
		o.apply(one.values)
		if o.dropsName() {
			one.labels = one.labels.DropReserved(schema.IsMetadataLabel)
		}
	}
	return nil
}

// unique refuses two rows of the same labels: the engine finds the words for that.
func unique(rows []row) error {
	if len(rows) < 2 {
		return nil
	}
	seen := make(map[uint64]struct{}, len(rows))
	for i := range rows {
		hash := rows[i].labels.Hash()
		if _, twice := seen[hash]; twice {
			return errUnfit
		}
		seen[hash] = struct{}{}
	}
	return nil
}

// selected is a leaf's series with the labels that its results have.
type selected struct {
	series  []*tsdb.Series
	labels  []labels.Labels
	release func()
	from    int64
	to      int64
}

func (n *node) keepsName() bool { return n.function == latest || n.function == lastOver }

// choose finds a leaf's series; share is as of find.
func (r *run) choose(n *node, share int64) (*selected, error) {
	s, err := r.find(n, share, true)
	if err != nil {
		return nil, err
	}
	if err := s.label(n); err != nil {
		s.release()
		return nil, err
	}
	return s, nil
}

// width is how far before a moment a leaf looks.
func (r *run) width(n *node) int64 {
	if n.function == latest {
		return r.lookback
	}
	return n.window
}

// find is choose without the labels. share is what is taken of each series of numbers that has a sample in the time.
func (r *run) find(n *node, share int64, labelled bool) (*selected, error) {
	s := &selected{from: r.at.start - n.offset - r.width(n) + 1, to: r.at.end() - n.offset}
	var err error
	s.series, s.release, err = r.store.Select(tsdb.WithShare(r.ctx, share), s.from, s.to, n.matchers...)
	if err != nil {
		s.release()
		return nil, err
	}
	bytes := placeBytes * int64(len(s.series))
	if labelled {
		for _, one := range s.series {
			bytes += int64(len(one.Key)) + labelsBytes
		}
	}
	if err := r.hold(bytes, "selected series"); err != nil {
		s.release()
		return nil, err
	}
	adapter.Sort(s.series)
	return s, nil
}

// label makes the labels that the results have.
func (s *selected) label(n *node) error {
	builder := labels.NewScratchBuilder(16)
	pinned := slices.ContainsFunc(n.matchers, func(m *labels.Matcher) bool {
		return m.Type == labels.MatchEqual && m.Name == tsdb.NameLabel && m.Value != ""
	})
	sure := pinned // that no two are the same without their names
	s.labels = make([]labels.Labels, len(s.series))
	for i, one := range s.series {
		if n.keepsName() {
			s.labels[i] = adapter.Labels(&builder, one.Key)
			continue
		}
		builder.Reset()
		tsdb.EachLabel(one.Key, func(name, value string) {
			if !schema.IsMetadataLabel(name) {
				builder.Add(name, value)
			} else if name != tsdb.NameLabel {
				sure = false
			}
		})
		s.labels[i] = builder.Labels()
	}
	if !sure && !n.keepsName() {
		rows := make([]row, len(s.labels))
		for i := range rows {
			rows[i].labels = s.labels[i]
		}
		return unique(rows)
	}
	return nil
}

// countersBy are the endings of a counter's name; for others rate and increase tell that it may be none.
var countersBy = []string{"_total", "_sum", "_count", "_bucket"}

func (r *run) noteCounter(n *node, s *tsdb.Series) {
	if n.function != rate && n.function != increase {
		return
	}
	name := tsdb.LabelOf(s.Key, tsdb.NameLabel)
	if name == "" || slices.ContainsFunc(countersBy, func(end string) bool { return strings.HasSuffix(name, end) }) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.notes.Add(annotations.NewPossibleNonCounterInfo(name, n.position))
}

// compute fills the scratch's row from a series' numbers, and says whether there is anything in it.
func (r *run) compute(n *node, s *tsdb.Series, from, to int64, memory *scratch) (found bool, err error) {
	if n.function == sumOver || n.function == countOver {
		s = s.Within(n.window)
	}
	if s.HasHistograms() {
		if found, err = r.presence(n, s, from, to, memory); err != nil || !found {
			return false, err
		}
		return r.then(n, memory), nil
	}
	if n.function == countOver && !s.HasNatives() {
		if found, done, err := r.counted(n, s, from, to, memory); done || err != nil {
			return found && err == nil && r.then(n, memory), err
		}
	}
	if (n.function == countOver || n.function == avgOver && s.Within(n.window) == s) && s.RolledUp(from, to) {
		found, err = r.weighted(n, s, from, to, memory)
	} else {
		found, err = r.samplesOf(n, s, from, to, adapter.AggregateFor(n.name), memory)
	}
	if err != nil || !found {
		return false, err
	}
	r.noteCounter(n, s)
	return r.then(n, memory), nil
}

// then does the operations that follow, and says whether a comparison has left anything.
func (r *run) then(n *node, memory *scratch) bool {
	for _, o := range n.then {
		o.apply(memory.row)
	}
	return len(n.then) == 0 || !(&row{values: memory.row}).empty()
}

// samplesOf is compute without what follows.
func (r *run) samplesOf(n *node, s *tsdb.Series, from, to int64, aggregate tsdb.Aggregate, memory *scratch) (bool, error) {
	// The engine holds no more than a window of it.
	if err := s.ReadNumbers(from, to, aggregate, maxRead, &memory.numbers); err != nil {
		return false, err
	}
	memory.values = memory.numbers.Values
	if len(memory.values) > maxRead {
		return false, errUnfit
	}
	r.read.Add(int64(len(memory.values)))
	if err := r.ready(memory); err != nil {
		return false, err
	}
	found, done := n.evaluateRegular(r.at, memory)
	if !done {
		memory.times = memory.numbers.AllTimes()
		memory.ended = r.ended
		if found = n.evaluate(r.at, r.lookback, memory); r.ended() {
			return false, context.Cause(r.ctx)
		}
	}
	return found, nil
}

func (r *run) ended() bool { return r.ctx.Err() != nil }

// weighted is how many samples there were, or their mean, where records stand for many each.
func (r *run) weighted(n *node, s *tsdb.Series, from, to int64, memory *scratch) (bool, error) {
	sums := *n
	sums.function = sumOver
	found, err := r.samplesOf(&sums, s, from, to, tsdb.Count, memory)
	if err != nil || !found || n.function == countOver {
		return found, err
	}
	counts := slices.Clone(memory.row)
	if found, err = r.samplesOf(&sums, s, from, to, tsdb.Sum, memory); err != nil || !found {
		return false, err
	}
	for i, sum := range memory.row {
		if !isAbsent(sum) {
			memory.row[i] = sum / counts[i]
		}
	}
	return true, nil
}

// kinds says what the series hold; one that holds several, or native histograms, is for the engine.
func kinds(list []*tsdb.Series) (numbers, histograms bool, err error) {
	for _, s := range list {
		if s.HasNatives() || s.HasNumbers() && s.HasHistograms() {
			return false, false, errUnfit
		}
		numbers, histograms = numbers || s.HasNumbers(), histograms || s.HasHistograms()
	}
	return numbers, histograms, nil
}

// rowOf is what the row takes of a series of numbers that has a sample in the time, where one surely makes a row: not of functions that
// want two, nor where moments are so far apart that samples lie between what is looked at.
func (r *run) rowOf(n *node) int64 {
	switch n.function {
	case latest, sumOver, avgOver, minOver, maxOver, countOver, lastOver, quantileOver:
	default:
		return 0
	}
	if r.at.n > 1 && r.at.step > r.width(n) {
		return 0
	}
	return rowBytes*int64(r.at.n) + rowSize
}

// leaf is the rows of a leaf that is not aggregated; n.then is left to the caller.
func (r *run) leaf(n *node) ([]row, error) {
	s, err := r.choose(n, r.rowOf(n))
	if err != nil {
		return nil, err
	}
	defer s.release()
	return r.leafOf(n, s)
}

// leafOf is leaf for series that were chosen.
func (r *run) leafOf(n *node, s *selected) ([]row, error) {
	if slices.ContainsFunc(s.series, func(one *tsdb.Series) bool { return one.HasNatives() }) {
		return r.nativeRows(n, s)
	}
	_, histograms, err := kinds(s.series)
	if err != nil {
		return nil, err
	}
	if histograms && (len(n.then) > 0 || n.function == latest || n.function == quantileOver) && n.function != countOver {
		return nil, errUnfit
	}
	bare := *n
	bare.then = nil
	rows := make([]row, len(s.series))
	var single []float64 // the values of all, where each has one
	many := 1
	if r.at.n == 1 && !histograms {
		single = make([]float64, len(s.series))
		if n.function == latest {
			many = 16
		}
	}
	err = r.parallelBy(many, len(s.series), func(i int, memory *scratch) error {
		one := s.series[i]
		if one.HasHistograms() && n.function != countOver {
			hists, err := r.windows(n, s.series[i:i+1])
			if err != nil || hists == nil {
				return err
			}
			rows[i] = row{labels: s.labels[i], hists: hists}
			return nil
		}
		found, err := r.compute(&bare, one, s.from, s.to, memory)
		if err != nil || !found {
			return err
		}
		if err := r.hold(rowBytes*int64(r.at.n)+rowSize, "results of the series"); err != nil {
			return err
		}
		if single != nil {
			single[i] = memory.row[0]
			rows[i] = row{labels: s.labels[i], values: single[i : i+1 : i+1]}
			return nil
		}
		rows[i] = row{labels: s.labels[i], values: slices.Clone(memory.row)}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(rows, func(one row) bool { return one.empty() }), nil
}

// rows are those of finished totals, by their first members.
func (r *run) rows(n *node, totals []*total, set func(int) labels.Labels) ([]row, error) {
	for _, t := range totals {
		r.let(t.besides())
	}
	totals = slices.DeleteFunc(totals, func(t *total) bool { return t.first < 0 })
	slices.SortFunc(totals, func(a, b *total) int { return a.first - b.first })
	rows, builder := make([]row, 0, len(totals)), labels.NewScratchBuilder(len(n.grouping))
	for _, t := range totals {
		values, ok := t.result()
		if !ok {
			return nil, errUnfit
		}
		if one := (row{labels: n.groupLabels(set(t.first), &builder), values: values}); !one.empty() {
			rows = append(rows, one)
		}
	}
	return rows, nil
}
