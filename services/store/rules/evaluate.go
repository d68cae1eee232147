package rules

// One evaluation: from the answer of a query to samples, and the ends of series.

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"cistern/services/journal"
	"cistern/services/store/query/budget"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"

	promhistogram "github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
)

// result is one series of an answer.
type result struct {
	key        []byte
	numbers    []promql.FPoint
	histograms []promql.HPoint
}

// maxPoints is how many results of several times are held at once; errTooMany says that there would be more.
const maxPoints = 200_000

var errTooMany = errors.New("too many results at a time")

// keptSeries is how many series a rule may have to be remembered until its next evaluation; of more, the store is asked.
const keptSeries = 1000

// batchSize is how many samples are handed to the store at a time.
const batchSize = 5000

// ask evaluates a rule's expression, at one time when the step is 0, and names the results.
func (m *Manager) ask(ctx context.Context, caller string, r *rule, start, end, step int64) ([]result, error) {
	q := fast.Query{Text: r.Expression, Start: time.UnixMilli(start), End: time.UnixMilli(end), Step: time.Duration(step) * time.Millisecond}
	builder := labels.NewBuilder(labels.EmptyLabels())
	var list []tsdb.Label
	var all []result
	seen, points := map[string]bool{}, 0
	err := m.queries.Evaluate(ctx, caller, q, func(one promql.Series) error {
		if len(one.Floats) == 0 && len(one.Histograms) == 0 {
			return nil
		}
		builder.Reset(one.Metric)
		builder.Set(tsdb.NameLabel, r.Name)
		for name, text := range r.Labels {
			builder.Set(name, text) // an empty one removes it
		}
		list = list[:0]
		builder.Range(func(l labels.Label) { list = append(list, tsdb.Label{Name: l.Name, Value: l.Value}) })
		key, err := tsdb.AppendKey(nil, list)
		if err != nil {
			return fmt.Errorf("a result cannot be stored: %w", err)
		}
		if seen[string(key)] {
			return fmt.Errorf("two results become the same series, %s: the labels that tell them apart are removed or replaced by those that the rule adds",
				tsdb.FormatLabels(list))
		}
		if len(seen) == maxResults {
			return fmt.Errorf("the expression gives more than %d series, which is the limit of a rule: aggregate more of them, or make several rules of it", maxResults)
		}
		seen[string(key)] = true
		if points += len(one.Floats) + len(one.Histograms); points > maxPoints && end > start {
			return errTooMany
		}
		copied := result{key: key, numbers: append([]promql.FPoint(nil), one.Floats...)}
		for _, p := range one.Histograms {
			copied.histograms = append(copied.histograms, promql.HPoint{T: p.T, H: p.H.Copy()})
		}
		all = append(all, copied)
		return nil
	})
	return all, err
}

func (r *result) samples(to []tsdb.Sample) []tsdb.Sample {
	for _, p := range r.numbers {
		to = append(to, tsdb.Sample{Key: r.key, Kind: tsdb.Guess, Time: p.T, Value: p.F})
	}
	for _, p := range r.histograms {
		to = append(to, tsdb.Sample{Key: r.key, Kind: tsdb.NativeHistogram, Time: p.T, Native: p.H})
	}
	return to
}

// ended is Prometheus' mark that a series has no value from a time on.
func ended(key []byte, native bool, at int64) tsdb.Sample {
	stale := math.Float64frombits(value.StaleNaN)
	if native {
		return tsdb.Sample{Key: key, Kind: tsdb.NativeHistogram, Time: at, Native: &promhistogram.FloatHistogram{Sum: stale}}
	}
	return tsdb.Sample{Key: key, Kind: tsdb.Guess, Time: at, Value: stale}
}

// put stores samples. Those that the store refuses are returned; their keys are those of the batch.
func (m *Manager) put(ctx context.Context, samples []tsdb.Sample) (refused []tsdb.Rejection, err error) {
	ctx = tsdb.WithHistory(ctx) // a rule's times are its own, and what is made up is behind
	for start := 0; start < len(samples); start += batchSize {
		part := samples[start:min(start+batchSize, len(samples))]
		rejected, err := m.store.Ingest(ctx, Input, part, journal.Interval)
		if err != nil {
			return refused, fmt.Errorf("the results could not be stored: %w", err)
		}
		for _, one := range rejected {
			one.Index += start
			refused = append(refused, one)
		}
	}
	return refused, nil
}

// evaluate does it for one time. False: it could not be done now, and is tried again.
func (m *Manager) evaluate(ctx context.Context, r *rule, at int64) bool {
	began := time.Now()
	deadline := min(max(time.Duration(r.interval())*time.Millisecond, leastDeadline), mostDeadline)
	within, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	if err := m.claim(within, r, at); err != nil {
		m.failed(r, at, began, err, errors.Is(err, tsdb.ErrClosed) || ctx.Err() != nil)
		return ctx.Err() == nil
	}
	alive, err := m.before(within, r)
	var found []result
	if err == nil {
		found, err = m.ask(within, evaluations, r, at, at, 0)
	}
	if ctx.Err() != nil {
		return false
	}
	var busy *budget.Busy
	if errors.As(err, &busy) && busy.Reason != budget.Memory {
		m.failed(r, at, began, err, true)
		return false
	}
	if err != nil {
		m.failed(r, at, began, err, false)
		return true
	}
	now, histograms := make(map[string]bool, len(found)), 0
	var samples []tsdb.Sample
	for i := range found {
		samples = found[i].samples(samples)
		now[string(found[i].key)] = len(found[i].histograms) > 0
		histograms += len(found[i].histograms)
	}
	count := len(samples)
	for key, native := range alive {
		if _, still := now[key]; !still {
			samples = append(samples, ended([]byte(key), native, at))
		}
	}
	refused, err := m.put(within, samples)
	if err != nil { // the store's: it is made up when it takes samples again
		m.failed(r, at, began, err, true)
		return false
	}
	for _, one := range refused {
		delete(now, string(samples[one.Index].Key))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.last, r.alive = at, now; len(now) > keptSeries {
		r.alive = nil
	}
	m.names[r.Name] = max(m.names[r.Name], at)
	s := &r.state
	s.Evaluations++
	s.EvaluatedAt, s.Moment, s.DurationSeconds = m.options.Now().UTC().Format(time.RFC3339Nano), float64(at)/1000, time.Since(began).Seconds()
	s.Samples, s.Histograms, s.Error, s.ErrorSince, s.Refused = count, histograms, "", "", nil
	if len(refused) > 0 {
		s.RefusedTotal += uint64(len(refused))
		s.Refused = &RefusedSamples{Reason: string(refused[0].Reason), Detail: refused[0].Detail, Samples: len(refused), At: s.EvaluatedAt}
	}
	return true
}

// failed notes why there is no result. One that is tried again is not counted, and stays due.
func (m *Manager) failed(r *rule, at int64, began time.Time, err error, again bool) {
	if errors.Is(err, context.Canceled) {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	words, s := err.Error(), &r.state
	now := m.options.Now().UTC().Format(time.RFC3339Nano)
	if s.Error == "" {
		s.ErrorSince = now
	}
	s.Error, s.DurationSeconds = words[:min(len(words), maxWords)], time.Since(began).Seconds()
	if again {
		return
	}
	r.last = at
	s.EvaluatedAt, s.Moment, s.Samples, s.Histograms = now, float64(at)/1000, 0, 0
	s.Evaluations++
	s.Failures++
}

// before is the series of the rule's last evaluation, which after a start are those that have a sample of its time.
func (m *Manager) before(ctx context.Context, r *rule) (map[string]bool, error) {
	m.mu.Lock()
	alive, last := r.alive, r.last
	_, wrote := m.names[r.Name]
	m.mu.Unlock()
	if alive != nil || last == 0 || !wrote {
		return alive, nil
	}
	alive, err := m.seriesAt(ctx, r, last)
	if err == nil && len(alive) <= keptSeries {
		m.mu.Lock()
		r.alive = alive
		m.mu.Unlock()
	}
	return alive, err
}

// seriesAt is the rule's series that have a sample of exactly this time, with whether it is a histogram.
func (m *Manager) seriesAt(ctx context.Context, r *rule, at int64) (map[string]bool, error) {
	matchers := []*tsdb.Matcher{nameMatcher(r.Name)}
	for name, text := range r.Labels {
		matchers = append(matchers, labels.MustNewMatcher(labels.MatchEqual, name, text))
	}
	list, release, err := m.store.Select(ctx, at, at, matchers...)
	defer release()
	if err != nil {
		return nil, err
	}
	alive := map[string]bool{}
	for _, one := range list {
		numbers, natives := one.Numbers(at, at), one.Natives(at, at)
		for numbers.Next() {
			if _, v := numbers.At(); !value.IsStaleNaN(v) {
				alive[strings.Clone(one.Key)] = false
			}
		}
		for natives.Next() {
			if _, h := natives.At(); !value.IsStaleNaN(h.Sum) {
				alive[strings.Clone(one.Key)] = true
			}
		}
		if err := errors.Join(numbers.Err(), natives.Err()); err != nil {
			return nil, err
		}
	}
	return alive, nil
}

// recently is how old a sender's latest sample of a name may be for the name to count as theirs.
const recently = 10 * time.Minute

// claim makes the rule's name one that only rules write. It fails when somebody else sends measurements of this name.
func (m *Manager) claim(ctx context.Context, r *rule, at int64) error {
	m.mu.Lock()
	owned, wrote := m.owned[r.Name], m.names[r.Name]
	if !owned {
		m.owned[r.Name] = true
	}
	m.mu.Unlock()
	if owned {
		return nil
	}
	m.store.ReserveNames(m.ownedNames()) // first, so that nothing comes between
	newest, err := m.newest(ctx, r.Name, at)
	if err == nil && newest > wrote && newest > 0 {
		err = fmt.Errorf("measurements named %s are sent to the appliance, the last at %s: give the rule's result another name, or stop what sends them",
			r.Name, time.UnixMilli(newest).UTC().Format(time.RFC3339))
	}
	m.mu.Lock()
	if err == nil {
		m.names[r.Name] = wrote
	} else {
		delete(m.owned, r.Name)
	}
	m.mu.Unlock()
	if err != nil {
		m.store.ReserveNames(m.ownedNames())
		return err
	}
	m.saveState()
	return nil
}

// newest is the time of the newest sample of a name, 0 when there is none of the last minutes.
func (m *Manager) newest(ctx context.Context, name string, at int64) (newest int64, err error) {
	list, release, err := m.store.Select(ctx, at-milliseconds(recently), at+milliseconds(recently), nameMatcher(name))
	defer release()
	if err != nil {
		return 0, err
	}
	for _, one := range list {
		if _, last := one.Span(); last >= at-milliseconds(recently) {
			newest = max(newest, last)
		}
	}
	return newest, nil
}

// end writes the ends of a rule's series when it is gone or switched off.
func (m *Manager) end(r *rule) {
	alive, err := m.before(m.ctx, r)
	if err != nil {
		m.options.Log.Warn("the ends of a recording rule's series could not be stored: they seem to go on for some minutes", "rule", r.Name, "error", err)
		return
	}
	if len(alive) == 0 {
		return
	}
	at := max(r.last+1, m.options.Now().UnixMilli())
	var samples []tsdb.Sample
	for key, native := range alive {
		samples = append(samples, ended([]byte(key), native, at))
	}
	if _, err := m.put(m.ctx, samples); err != nil {
		m.options.Log.Warn("the ends of a recording rule's series could not be stored: they seem to go on for some minutes", "rule", r.Name, "error", err)
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.names[r.Name] = max(m.names[r.Name], at)
}

func nameMatcher(name string) *tsdb.Matcher {
	return labels.MustNewMatcher(labels.MatchEqual, tsdb.NameLabel, name)
}
