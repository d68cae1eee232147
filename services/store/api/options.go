package api

// What can be set.

import (
	"sync"
	"time"

	"cistern/services/store/query/budget"
	"cistern/services/store/query/fast"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

// Options are the settings of queries.
type Options struct {
	Limits budget.Limits
	// Interval is the step of a subquery that names none.
	Interval time.Duration
	// ExperimentalFunctions and DurationExpressions allow what Prometheus' library has behind switches of these names.
	ExperimentalFunctions, DurationExpressions bool
}

// DefaultMemory is what storaged aims to stay below when nobody says otherwise, in bytes.
const DefaultMemory = 1 << 30

// DefaultOptions are those of a process that aims to stay below so many bytes.
func DefaultOptions(memory int64) Options {
	return Options{Limits: Limits(memory, 0, 0, 0), Interval: time.Minute}
}

const (
	running       = 20  // queries at a time
	waiting       = 200 // that wait for their turn
	defaultPoints = 10_000_000
)

// Limits are those of queries in a process that aims to stay below memory bytes: together a third of it, one of them three
// quarters of that. What is not 0 is as it is given.
func Limits(memory, pool, query, points int64) budget.Limits {
	if pool == 0 {
		pool = memory / 3
	}
	if query == 0 {
		query = pool / 4 * 3
	}
	if points == 0 {
		points = defaultPoints
	}
	query = min(query, pool)
	return budget.Limits{Pool: pool, Query: query, Points: points, Running: running, Waiting: waiting, Own: ownCaller, Reserve: min(pool/8, pool-query)}
}

// New makes the API of a store, with the defaults.
func New(store Store, version string) *API {
	return NewWith(store, version, DefaultOptions(DefaultMemory))
}

// NewWith makes the API of a store.
func NewWith(store Store, version string, o Options) *API {
	p := helpfulParser{parser.NewParser(parser.Options{
		EnableExperimentalFunctions: o.ExperimentalFunctions, ExperimentalDurationExpr: o.DurationExpressions})}
	a := &API{store: store, parser: p, version: version, now: time.Now, pool: budget.New(o.Limits)}
	a.engine = &fast.Engine{Store: store, Parser: p, Interval: o.Interval, Rest: engines(p, o.Interval)}
	return a
}

// Pool is what the queries share.
func (a *API) Pool() *budget.Pool { return a.pool }

// engines gives Prometheus' engine for any number of samples: how many one keeps is fixed when it is made, so there is one for
// each power of two and the half between.
func engines(p parser.Parser, interval time.Duration) func(samples int) *promql.Engine {
	var mu sync.Mutex
	known := map[int]*promql.Engine{}
	return func(samples int) *promql.Engine {
		size := 1
		for size <= samples/2 {
			size *= 2
		}
		if size+size/2 <= samples {
			size += size / 2
		}
		mu.Lock()
		defer mu.Unlock()
		if known[size] == nil {
			known[size] = promql.NewEngine(promql.EngineOpts{
				MaxSamples: size, Timeout: Timeout, LookbackDelta: lookback,
				EnableAtModifier: true, EnableNegativeOffset: true, EnablePerStepStats: true, Parser: p,
				NoStepSubqueryIntervalFn: func(int64) int64 { return interval.Milliseconds() },
			})
		}
		return known[size]
	}
}
