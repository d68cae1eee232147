package otlp

// Delta sums as running totals, which is what PromQL's rate and increase want. The totals live in memory: after a restart
// of the daemon, or an hour without a point, they begin at zero again, which both functions take for a counter's restart.

import (
	"fmt"
	"time"

	"cistern/services/ingest/seriesstate"
	"cistern/services/store/tsdb"
)

// maxTotals bounds them; each costs its key and some hundred bytes.
const maxTotals = 200_000

type running struct {
	value float64
	last  uint64 // the latest point's time in ns
}

// apply makes the differences of a request totals, and rejects those that came before: a request may come twice. The
// totals go on from them when commit is called, which is when they are stored.
func apply(totals *seriesstate.Table[running], t *translation, now time.Time) (commit func()) {
	totals.Sweep(now)
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
			if one, known = totals.Get(sample.Key); !known {
				if totals.Full(added) {
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
		one.last = at
		next[string(sample.Key)] = one
		sample.Value = one.value
	}
	t.drop(refused)
	return func() {
		for key, one := range next {
			totals.Set(key, one, now)
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
