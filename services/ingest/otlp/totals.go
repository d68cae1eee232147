package otlp

// Delta sums as running totals, which is what PromQL's rate and increase want. The totals live in memory: after a restart
// of the daemon, or an hour without a point, they begin at zero again, which both functions take for a counter's restart.

import (
	"context"
	"errors"
	"fmt"
	"time"

	"cistern/services/store/tsdb"
)

// Limits of the totals; each costs its key and some hundred bytes.
const (
	maxTotals   = 200_000
	forgetAfter = time.Hour
	sweepEvery  = time.Minute
)

type running struct {
	value float64
	last  uint64 // the latest point's time in ns
	seen  time.Time
}

// totals is the running totals by series. Whoever holds the place in busy may use it.
type totals struct {
	busy  chan struct{}
	byKey map[string]running
	swept time.Time
}

func newTotals() *totals {
	return &totals{busy: make(chan struct{}, 1), byKey: map[string]running{}}
}

// enter waits for the totals; release gives them back.
func (r *totals) enter(ctx context.Context) (release func(), err error) {
	select {
	case r.busy <- struct{}{}:
		return func() { <-r.busy }, nil
	case <-ctx.Done():
		return nil, errors.New("the client left")
	}
}

// apply makes the differences of a request totals, and rejects those that came before: a request may come twice. The
// totals go on from them when commit is called, which is when they are stored.
func (r *totals) apply(t *translation, now time.Time) (commit func()) {
	r.sweep(now)
	next := map[string]running{}
	added := 0
	refused := map[int]bool{}
	for _, d := range t.deltas {
		sample := &t.samples[d.sample]
		reject := func(reason tsdb.Reason, detail string) {
			refused[d.sample] = true
			t.rejected = append(t.rejected, rejection{t.points[d.sample], reason, t.names[d.sample] + ": " + detail})
		}
		at := d.time
		if at == 0 {
			at = uint64(now.UnixNano())
		}
		one, known := next[string(sample.Key)]
		if !known {
			if one, known = r.byKey[string(sample.Key)]; !known {
				if len(r.byKey)+added >= maxTotals {
					reject(tsdb.SeriesLimit, fmt.Sprintf("there are %d delta sums already, which is the limit", maxTotals))
					continue
				}
				added++
			}
		}
		if known && at <= one.last {
			reject(OldDelta, "a point of this time or a later one was added already")
			continue
		}
		one.value += sample.Value
		one.last, one.seen = at, now
		next[string(sample.Key)] = one
		sample.Value = one.value
	}
	t.drop(refused)
	return func() {
		for key, one := range next {
			r.byKey[key] = one
		}
	}
}

// sweep forgets totals that have ended.
func (r *totals) sweep(now time.Time) {
	if now.Sub(r.swept) < sweepEvery {
		return
	}
	r.swept = now
	for key, one := range r.byKey {
		if now.Sub(one.seen) > forgetAfter {
			delete(r.byKey, key)
		}
	}
}

// drop leaves samples out.
func (t *translation) drop(refused map[int]bool) {
	if len(refused) == 0 {
		return
	}
	kept := 0
	for i := range t.samples {
		if !refused[i] {
			t.samples[kept], t.points[kept], t.names[kept] = t.samples[i], t.points[i], t.names[i]
			kept++
		}
	}
	t.samples, t.points, t.names = t.samples[:kept], t.points[:kept], t.names[:kept]
}
