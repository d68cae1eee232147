package rules

// When each rule is evaluated, and what is known of it.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/query/fast"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Input is the name by which the store counts what rules write.
const Input = "rules"

// The callers as which rules take turns with users: as one of them, so that no number of rules delays anybody for long.
const (
	evaluations = "recording rules"
	backFill    = "filling of recording rules"
)

// Queries evaluates expressions.
type Queries interface {
	Parse(text string) (parser.Expr, error)
	// Evaluate gives take each series of the answer, which is valid during the call only. It waits for the caller's turn.
	Evaluate(ctx context.Context, caller string, q fast.Query, take func(promql.Series) error) error
}

// Store is where results go.
type Store interface {
	tsdb.Querier
	Ingest(ctx context.Context, input string, batch []tsdb.Sample, durability journal.Durability) ([]tsdb.Rejection, error)
	Describe(metadata []tsdb.Metadata)
	ReserveNames(names []string)
	Retention() tsdb.Retention
}

// Options choose how rules are evaluated.
type Options struct {
	FS     vfs.FS // vfs.OS
	Folder string
	Log    *slog.Logger
	Now    func() time.Time // time.Now
	// Delay is how long after a time it is evaluated, so that samples of it which are on their way are there.
	Delay time.Duration
	// CatchUp is how far back evaluations are made up that could not be made in time.
	CatchUp time.Duration
	// Fixed are the rules of files, which Set does not change.
	Fixed []Rule
}

const (
	saveEvery  = time.Minute
	retryAfter = time.Second
	// atOnce is how many groups are evaluated at a time.
	atOnce = 2
	// An evaluation may take as long as its interval, but not less than the one nor more than the other.
	leastDeadline, mostDeadline = 10 * time.Second, 2 * time.Minute
)

// RefusedSamples is what the store did not take of a rule's results, at its last evaluation at which it refused any.
type RefusedSamples struct {
	Reason  string `json:"reason"`
	Detail  string `json:"detail"`
	Samples int    `json:"samples"`
	At      string `json:"at"`
}

// State is how a rule is.
type State struct {
	// EvaluatedAt is when it was last evaluated, Moment the time for which; "" and 0 before the first time.
	EvaluatedAt     string          `json:"evaluatedAt"`
	Moment          float64         `json:"moment"`
	DurationSeconds float64         `json:"durationSeconds"`
	Samples         int             `json:"samples"`    // of the last evaluation
	Histograms      int             `json:"histograms"` // of these
	Error           string          `json:"error"`      // of the last evaluation
	ErrorSince      string          `json:"errorSince"`
	Evaluations     uint64          `json:"evaluations"` // since the start, as the next three
	Failures        uint64          `json:"failures"`
	Missed          uint64          `json:"missed"`
	RefusedTotal    uint64          `json:"refusedTotal"`
	Refused         *RefusedSamples `json:"refused"` // null: the last evaluation's results were all taken
}

// Evaluated is a rule with how it is.
type Evaluated struct {
	Rule
	Fixed bool  `json:"fixed"` // of a file
	State State `json:"state"`
	Fill  *Fill `json:"fill"` // the last one; null: none
}

type rule struct {
	Rule
	fixed bool
	expr  parser.Expr
	last  int64 // ms of the last evaluation, 0 for none
	// alive are the series of the last evaluation, by their keys, with whether they are histograms; nil when it is not known.
	alive map[string]bool
	state State
}

// Manager evaluates rules. Make one with Open.
type Manager struct {
	options Options
	store   Store
	queries Queries
	slots   chan struct{}

	changing sync.Mutex // Start, Set and Close
	started  bool
	ctx      context.Context
	cancel   context.CancelFunc
	halt     func() // ends the loops of the groups
	filling  sync.WaitGroup
	kick     chan struct{} // there may be something to fill

	saving  sync.Mutex
	unsaved bool
	state   []byte // as it was written last; nil: there is no file

	mu    sync.Mutex
	rules []*rule
	names map[string]int64 // names that rules write, or wrote not long ago, with the time of the last result
	owned map[string]bool  // those that nobody else may write
	fills []*Fill
	stop  map[string]context.CancelCauseFunc // of fills that run, by rule
}

// Open reads what is kept in the folder. Nothing is evaluated before Start.
func Open(store Store, queries Queries, o Options) (*Manager, error) {
	if o.FS == nil {
		o.FS = vfs.OS
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	m := &Manager{options: o, store: store, queries: queries, slots: make(chan struct{}, atOnce), halt: func() {}, kick: make(chan struct{}, 1),
		names: map[string]int64{}, owned: map[string]bool{}, stop: map[string]context.CancelCauseFunc{}}
	m.ctx, m.cancel = context.WithCancel(context.Background())
	var saved savedRules
	var state savedState
	if _, err := m.read(rulesFile, &saved, &saved.Version); err != nil {
		o.Log.Error("the recording rules cannot be read; those of the management service are taken when it sends them", "error", err)
		saved.Rules = nil
	}
	kept, err := m.read(stateFile, &state, &state.Version)
	if err != nil {
		o.Log.Error("how far the recording rules are cannot be read; they begin now", "error", err)
		state = savedState{}
	}
	if kept || err != nil {
		m.state = []byte{}
	}
	all := append(slices.Clone(o.Fixed), saved.Rules...)
	expressions, err := Check(all, queries.Parse)
	if err != nil && len(o.Fixed) > 0 {
		if _, wrong := Check(o.Fixed, queries.Parse); wrong != nil {
			return nil, fmt.Errorf("rules.files: %w", wrong)
		}
	}
	if err != nil { // as when what was experimental is not allowed any more
		o.Log.Error("the recording rules that were kept cannot be evaluated; those of the management service are taken when it sends them", "error", err)
		all = o.Fixed
		if expressions, err = Check(all, queries.Parse); err != nil {
			return nil, err
		}
	}
	for name, at := range state.Names {
		m.names[name] = at
	}
	for i := range all {
		r := &rule{Rule: all[i], fixed: i < len(o.Fixed), expr: expressions[i], last: state.Moments[all[i].ID]}
		m.rules = append(m.rules, r)
		if _, wrote := m.names[r.Name]; wrote && r.Enabled {
			m.owned[r.Name] = true
		}
	}
	for i := range state.Fills {
		m.fills = append(m.fills, &state.Fills[i])
	}
	m.store.ReserveNames(m.ownedNames())
	return m, nil
}

// Start begins to evaluate, until Close.
func (m *Manager) Start() {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.started = true
	m.describe()
	m.run()
	m.filling.Go(func() { m.fillAll(m.ctx) })
	m.filling.Go(func() {
		for {
			select {
			case <-m.ctx.Done():
				return
			case <-time.After(saveEvery):
				m.saveState()
			}
		}
	})
}

// Close ends everything and keeps how far it is.
func (m *Manager) Close() {
	m.changing.Lock()
	defer m.changing.Unlock()
	m.cancel()
	m.halt()
	m.filling.Wait()
	m.saveState()
}

// Set replaces all rules but those of files. The error is a *Refused when one of them cannot be.
func (m *Manager) Set(list []Rule) error {
	m.changing.Lock()
	defer m.changing.Unlock()
	fixed := len(m.options.Fixed)
	all := append(slices.Clone(m.options.Fixed), list...)
	expressions, err := Check(all, m.queries.Parse)
	if refused := (*Refused)(nil); errors.As(err, &refused) {
		for i := range refused.Fields {
			refused.Fields[i].Index -= fixed
		}
	}
	if err != nil {
		return err
	}
	if err := m.write(rulesFile, savedRules{fileVersion, list}); err != nil {
		return err
	}
	m.halt()
	m.mu.Lock()
	before := map[string]*rule{}
	for _, r := range m.rules {
		before[r.ID] = r
	}
	m.rules = nil
	for i := range all {
		r := &rule{Rule: all[i], fixed: i < fixed, expr: expressions[i]}
		if old := before[r.ID]; old != nil {
			r.last, r.state = old.last, old.state
			if old.Name == r.Name && r.Enabled && old.Enabled {
				// What it does not give any more ends at the next evaluation.
				r.alive = old.alive
				delete(before, r.ID)
			}
			if !r.Enabled || !old.Enabled {
				r.last, r.state.Error, r.state.ErrorSince, r.state.Refused = 0, "", "", nil
			}
			if !old.same(&r.Rule) || !r.Enabled {
				m.stopFill(r.ID, errChanged)
			}
		}
		m.rules = append(m.rules, r)
	}
	m.forget()
	m.mu.Unlock()
	for _, gone := range before {
		m.end(gone)
	}
	m.store.ReserveNames(m.ownedNames())
	m.describe()
	m.saveState()
	if m.started && m.ctx.Err() == nil {
		m.run()
	}
	return nil
}

// forget gives up the names and the fills of rules that are gone. The caller holds the mutex.
func (m *Manager) forget() {
	written, there := map[string]bool{}, map[string]bool{}
	for _, r := range m.rules {
		there[r.ID] = true
		written[r.Name] = written[r.Name] || r.Enabled
	}
	now := m.options.Now().UnixMilli()
	for name, at := range m.names {
		if !written[name] {
			delete(m.owned, name)
			if at < now-milliseconds(time.Hour) {
				delete(m.names, name)
			}
		}
	}
	m.fills = slices.DeleteFunc(m.fills, func(f *Fill) bool {
		if !there[f.Rule] {
			m.stopFill(f.Rule, errChanged)
		}
		return !there[f.Rule]
	})
}

func (m *Manager) ownedNames() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	names := make([]string, 0, len(m.owned))
	for name := range m.owned {
		names = append(names, name)
	}
	return names
}

// describe says of each name where it comes from, for those who look at it.
func (m *Manager) describe() {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []tsdb.Metadata
	for _, r := range m.rules {
		help := "Recording rule: " + r.Expression
		if r.Description != "" {
			help = r.Description + " (recording rule: " + r.Expression + ")"
		}
		all = append(all, tsdb.Metadata{Name: r.Name, Type: "unknown", Help: help[:min(len(help), 1000)]})
	}
	if len(all) > 0 {
		m.store.Describe(all)
	}
}

// run starts a loop for each group. The caller holds changing.
func (m *Manager) run() {
	ctx, cancel := context.WithCancel(m.ctx)
	var loops sync.WaitGroup
	m.mu.Lock()
	defer m.mu.Unlock()
	groups, order := map[string][]*rule{}, []string{}
	for _, r := range m.rules {
		if !r.Enabled {
			continue
		}
		if groups[r.Group] == nil {
			order = append(order, r.Group)
		}
		groups[r.Group] = append(groups[r.Group], r)
	}
	for _, name := range order {
		loops.Go(func() { m.loop(ctx, groups[name]) })
	}
	m.halt = func() {
		cancel()
		loops.Wait()
	}
}

// loop evaluates a group's rules until ctx ends.
func (m *Manager) loop(ctx context.Context, group []*rule) {
	for ctx.Err() == nil {
		at, due := m.due(group)
		if wait := time.Duration(at+milliseconds(m.options.Delay)-m.options.Now().UnixMilli()) * time.Millisecond; wait > 0 {
			pause(ctx, min(wait, time.Second)) // the clock may be set
			continue
		}
		select {
		case m.slots <- struct{}{}:
		case <-ctx.Done():
			return
		}
		began, busy := m.options.Now(), false
		for _, r := range due {
			busy = !m.evaluate(ctx, r, at) || busy
		}
		<-m.slots
		took := m.options.Now().Sub(began)
		switch late := began.UnixMilli() - at - milliseconds(m.options.Delay); {
		case busy:
			pause(ctx, retryAfter)
		case late > 2*due[0].interval():
			pause(ctx, took) // what is made up takes half of the time at most
		}
		if !busy {
			m.skip(group, took)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// due is the rules that are to be evaluated next, and for which time.
func (m *Manager) due(group []*rule) (at int64, due []*rule) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.options.Now().UnixMilli() - milliseconds(m.options.Delay)
	for _, r := range group {
		newest := aligned(now, r.interval())
		oldest := nextAligned(now-milliseconds(m.options.CatchUp)-1, r.interval())
		switch {
		case r.last == 0 || r.last > newest+r.interval(): // a new one, or the clock was set back
			r.last = newest - r.interval()
		case nextAligned(r.last, r.interval()) < oldest:
			m.miss(r, min(oldest, newest))
		}
		next := nextAligned(r.last, r.interval())
		if due == nil || next < at {
			at, due = next, nil
		}
		if next == at {
			due = append(due, r)
		}
	}
	return at, due
}

// miss gives up what is due before a time. The caller holds the mutex.
func (m *Manager) miss(r *rule, before int64) {
	if n := (before - nextAligned(r.last, r.interval())) / r.interval(); n > 0 {
		r.state.Missed += uint64(n)
		r.last, r.alive = before-r.interval(), nil
	}
}

// skip gives up what became due while a group that takes longer than an interval was evaluated: it would never catch up.
func (m *Manager) skip(group []*rule, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.options.Now().UnixMilli() - milliseconds(m.options.Delay)
	for _, r := range group {
		if milliseconds(took) > r.interval() {
			alive := r.alive
			m.miss(r, aligned(now, r.interval()))
			r.alive = alive
		}
	}
}

// Rules are all, with how they are, in the order in which they were set.
func (m *Manager) Rules() []Evaluated {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := make([]Evaluated, 0, len(m.rules))
	for _, r := range m.rules {
		one := Evaluated{Rule: r.Rule, Fixed: r.fixed, State: r.state}
		for _, f := range m.fills {
			if f.Rule == r.ID {
				shown := *f
				one.Fill = &shown
			}
		}
		all = append(all, one)
	}
	return all
}
