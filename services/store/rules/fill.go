package rules

// Filling the past: a rule is evaluated for times before it was made, window by window, as slowly as to leave half of the time to
// others. How far it is is kept, so that it goes on after a restart; what a window gives replaces what is there.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"cistern/services/store/query/budget"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql/parser"
)

// The states of a Fill.
const (
	Waiting   = "waiting" // for another one to end
	Running   = "running"
	Done      = "done"
	Cancelled = "cancelled"
	Failed    = "failed"
)

// Fill is the filling of one rule's past; From, To and Next are in ms, and To is the last time that is evaluated.
type Fill struct {
	Rule      string `json:"rule"`
	State     string `json:"state"`
	From      int64  `json:"from"`
	To        int64  `json:"to"`
	Next      int64  `json:"next"`    // the first time that is not evaluated yet
	Samples   uint64 `json:"samples"` // stored so far
	Refused   uint64 `json:"refused"` // by the store
	Error     string `json:"error"`   // why it failed, or was cancelled; the last refusal while it runs
	StartedAt string `json:"startedAt"`
	EndedAt   string `json:"endedAt"`
}

func (f *Fill) active() bool { return f.State == Waiting || f.State == Running }

const (
	stepsAtOnce   = 240
	busyFor       = 5 * time.Second // until what was too much beside others is tried again
	mostPause     = 2 * time.Second
	fillSaveEvery = 2 * time.Second
)

var (
	errChanged   = errors.New("the rule was changed, switched off or removed: fill its past again")
	errCancelled = errors.New("it was cancelled; what was filled so far stays")
)

// CannotFill is why a rule's past cannot be filled. Missing: there is no such rule.
type CannotFill struct {
	Missing bool
	Words   string
}

func (e *CannotFill) Error() string { return e.Words }

// StartFill fills the past of a rule from a time on, up to another one or, when that is zero, to where its evaluation is.
func (m *Manager) StartFill(id string, from, to time.Time) (Fill, error) {
	m.mu.Lock()
	r := m.rule(id)
	switch {
	case r == nil:
		m.mu.Unlock()
		return Fill{}, &CannotFill{true, fmt.Sprintf("There is no recording rule %.100s.", id)}
	case !r.Enabled:
		m.mu.Unlock()
		return Fill{}, &CannotFill{false, fmt.Sprintf("The rule %s is switched off, so its name is not reserved for it: switch it on first.", r.Name)}
	}
	running := slices.ContainsFunc(m.fills, func(f *Fill) bool { return f.Rule == id && f.active() })
	interval, last := r.interval(), r.last
	m.mu.Unlock()
	now := m.options.Now()
	newest := aligned(now.UnixMilli()-milliseconds(m.options.Delay), interval)
	if last > 0 {
		newest = min(newest, last)
	}
	f := &Fill{Rule: id, State: Waiting, From: nextAligned(from.UnixMilli()-1, interval), To: newest, StartedAt: now.UTC().Format(time.RFC3339Nano)}
	if !to.IsZero() {
		f.To = min(newest, aligned(to.UnixMilli(), interval))
	}
	f.Next = f.From
	kept := m.store.Retention().Raw
	switch {
	case running:
		return Fill{}, &CannotFill{false, fmt.Sprintf("The past of %s is being filled already: wait, or cancel that first.", r.Name)}
	case from.Before(now.Add(-kept)):
		return Fill{}, &CannotFill{false, fmt.Sprintf("Measurements are kept for %s, so results of %s would not be taken: fill from a later time on, or keep measurements longer.",
			days(kept), from.UTC().Format(time.RFC3339))}
	case f.From > f.To:
		return Fill{}, &CannotFill{false, fmt.Sprintf("There is nothing to fill from %s on: the rule has been evaluated since then, or the end lies before the beginning.",
			from.UTC().Format(time.RFC3339))}
	}
	within, cancel := context.WithTimeout(m.ctx, leastDeadline)
	defer cancel()
	if err := m.claim(within, r, newest); err != nil {
		return Fill{}, &CannotFill{false, "The rule writes nothing: " + err.Error() + "."}
	}
	m.mu.Lock()
	m.fills = append(slices.DeleteFunc(m.fills, func(old *Fill) bool { return old.Rule == id }), f)
	shown := *f
	m.mu.Unlock()
	m.saveState()
	select {
	case m.kick <- struct{}{}:
	default:
	}
	return shown, nil
}

func days(d time.Duration) string {
	if d%(24*time.Hour) == 0 {
		return fmt.Sprintf("%d days", d/(24*time.Hour))
	}
	return d.String()
}

// CancelFill ends the filling of a rule's past.
func (m *Manager) CancelFill(id string) (Fill, error) {
	m.mu.Lock()
	if !m.stopFill(id, errCancelled) {
		missing := m.rule(id) == nil
		m.mu.Unlock()
		if missing {
			return Fill{}, &CannotFill{true, fmt.Sprintf("There is no recording rule %.100s.", id)}
		}
		return Fill{}, &CannotFill{false, "Nothing is being filled for this rule: it has ended already."}
	}
	at := slices.IndexFunc(m.fills, func(f *Fill) bool { return f.Rule == id })
	shown := *m.fills[at]
	m.mu.Unlock()
	m.saveState()
	return shown, nil
}

// rule is that of an id, or nil. The caller holds the mutex.
func (m *Manager) rule(id string) *rule {
	if at := slices.IndexFunc(m.rules, func(r *rule) bool { return r.ID == id }); at >= 0 {
		return m.rules[at]
	}
	return nil
}

// stopFill cancels what is being filled; false when nothing is. The caller holds the mutex.
func (m *Manager) stopFill(id string, because error) bool {
	at := slices.IndexFunc(m.fills, func(f *Fill) bool { return f.Rule == id && f.active() })
	if at < 0 {
		return false
	}
	m.finish(m.fills[at], Cancelled, because)
	if stop := m.stop[id]; stop != nil {
		stop(because)
	}
	return true
}

// finish notes the end. The caller holds the mutex.
func (m *Manager) finish(f *Fill, state string, why error) {
	f.State, f.EndedAt = state, m.options.Now().UTC().Format(time.RFC3339Nano)
	if why != nil {
		words := why.Error()
		f.Error = words[:min(len(words), maxWords)]
	}
}

// fillAll does one after the other, until ctx ends.
func (m *Manager) fillAll(ctx context.Context) {
	for ctx.Err() == nil {
		m.mu.Lock()
		var f *Fill
		var r *rule
		var within context.Context
		var cancel context.CancelCauseFunc
		if at := slices.IndexFunc(m.fills, func(f *Fill) bool { return f.active() }); at >= 0 {
			f = m.fills[at]
			if r = m.rule(f.Rule); r == nil {
				m.finish(f, Cancelled, errChanged)
			} else {
				f.State = Running
				within, cancel = context.WithCancelCause(ctx)
				m.stop[f.Rule] = cancel
			}
		}
		m.mu.Unlock()
		if f == nil {
			select {
			case <-ctx.Done():
			case <-m.kick:
			}
			continue
		}
		if r == nil {
			continue
		}
		err := m.fillPast(within, r, f)
		m.mu.Lock()
		delete(m.stop, f.Rule)
		if f.State == Running && ctx.Err() == nil {
			if err != nil {
				m.finish(f, Failed, err)
			} else {
				m.finish(f, Done, nil)
			}
		}
		m.mu.Unlock()
		cancel(nil)
		m.saveState()
	}
}

// window is how many steps are asked for at a time. What an expression means by the start and the end is those of one evaluation.
func window(expr parser.Expr) int64 {
	steps := int64(stepsAtOnce)
	parser.Inspect(expr, func(node parser.Node, _ []parser.Node) error {
		switch v := node.(type) {
		case *parser.VectorSelector:
			if v.StartOrEnd != 0 {
				steps = 1
			}
		case *parser.SubqueryExpr:
			if v.StartOrEnd != 0 {
				steps = 1
			}
		}
		return nil
	})
	return steps
}

func (m *Manager) fillPast(ctx context.Context, r *rule, f *Fill) error {
	step := r.interval()
	steps := window(r.expr)
	alive, err := m.seriesAt(ctx, r, f.Next-step)
	if err != nil {
		return err
	}
	saved := time.Now()
	for f.Next <= f.To {
		began := time.Now()
		end := min(f.To, f.Next+(steps-1)*step)
		within, cancel := context.WithTimeout(ctx, mostDeadline)
		found, err := m.ask(within, backFill, r, f.Next, end, step)
		cancel()
		var busy *budget.Busy
		var exceeded *budget.Exceeded
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case steps > 1 && (errors.Is(err, errTooMany) || errors.As(err, &exceeded) || errors.Is(err, context.DeadlineExceeded)):
			steps = max(1, steps/4)
			continue
		case errors.As(err, &busy):
			pause(ctx, busyFor)
			continue
		case err != nil:
			return fmt.Errorf("%s: %w", time.UnixMilli(f.Next).UTC().Format(time.RFC3339), err)
		}
		var samples []tsdb.Sample
		samples, alive = fillSamples(found, alive, f.Next, end, step)
		refused, err := m.put(ctx, samples)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil { // the store's
			m.note(f, func() { f.Error = err.Error() })
			pause(ctx, busyFor)
			continue
		}
		m.note(f, func() {
			f.Next, f.Error = end+step, ""
			f.Samples += uint64(len(samples) - len(refused))
			f.Refused += uint64(len(refused))
			if len(refused) > 0 {
				f.Error = fmt.Sprintf("%d results were refused: %s", len(refused), refused[0].Detail)
			}
		})
		if time.Since(saved) > fillSaveEvery {
			m.saveState()
			saved = time.Now()
		}
		pause(ctx, min(time.Since(began), mostPause))
	}
	return m.closeGap(ctx, r, f.To+step, alive)
}

func (m *Manager) note(f *Fill, change func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f.active() {
		change()
	}
}

// fillSamples is a window's results with the ends of the series that have no value at a step after one at which they had. It
// returns the series that are alive at the window's end.
func fillSamples(found []result, alive map[string]bool, start, end, step int64) ([]tsdb.Sample, map[string]bool) {
	var samples []tsdb.Sample
	now := map[string]bool{}
	for i := range found {
		one := &found[i]
		samples = one.samples(samples)
		has := make(map[int64]bool, len(one.numbers)+len(one.histograms)) // whether it is a histogram
		for _, p := range one.numbers {
			has[p.T] = false
		}
		for _, p := range one.histograms {
			has[p.T] = true
		}
		native, on := alive[string(one.key)]
		for t := start; t <= end; t += step {
			kind, there := has[t]
			if on && !there {
				samples = append(samples, ended(one.key, native, t))
			}
			on = there
			if there {
				native = kind
			}
		}
		if on {
			now[string(one.key)] = native
		}
		delete(alive, string(one.key))
	}
	for key, native := range alive {
		samples = append(samples, ended([]byte(key), native, start))
	}
	return samples, now
}

// closeGap ends the series that the last step had, where the rule has been evaluated behind it and they had no value.
func (m *Manager) closeGap(ctx context.Context, r *rule, at int64, alive map[string]bool) error {
	m.mu.Lock()
	last := r.last
	m.mu.Unlock()
	if at > last {
		return nil
	}
	there, err := m.seriesAt(ctx, r, at)
	if err != nil {
		return err
	}
	var samples []tsdb.Sample
	for key, native := range alive {
		if _, goesOn := there[key]; !goesOn {
			samples = append(samples, ended([]byte(key), native, at))
		}
	}
	_, err = m.put(ctx, samples)
	return err
}
