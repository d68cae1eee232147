package budget

// The last resort: what nobody charged. While queries run, the memory of the whole process is read every few milliseconds; near
// its limit the query that holds most is ended.

import (
	"context"
	"fmt"
	"runtime"
	"runtime/metrics"
	"time"
)

const (
	// every is how often memory is looked at: a query fills some ten MiB in that time.
	every = 10 * time.Millisecond
	// rest is how long a query that was ended is given to go, until another one is.
	rest = 200 * time.Millisecond
)

type watch struct {
	limit   int64 // bytes of the process at which a query is ended
	memory  func() usage
	collect func() // garbage
}

// usage is memory of the process, in bytes.
type usage struct {
	held   int64 // all of it, garbage too
	live   int64 // what the last collection of garbage has found in use
	others int64 // of that, what is known not to be of queries
}

// Watch ends queries while the process holds more than limit bytes, until the context ends. others says how many of them are known
// not to be of queries.
func (p *Pool) Watch(ctx context.Context, limit int64, others func() int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}, {Name: "/gc/heap/live:bytes"}}
	p.watchBy(ctx, watch{limit, func() usage {
		metrics.Read(samples)
		return usage{
			held:   int64(samples[0].Value.Uint64() - samples[1].Value.Uint64() - samples[2].Value.Uint64()),
			live:   int64(samples[3].Value.Uint64()),
			others: others(),
		}
	}, runtime.GC})
}

// blames says whether there is too much, and it is the queries that hold it: others may be near the limit by themselves, and between
// two collections all memory grows by garbage of whoever makes some.
func (w *watch) blames(first, now usage, charged int64) bool {
	much := w.limit / 16
	switch {
	case now.held < w.limit:
		return false
	case charged >= much, now.live-first.live-(now.others-first.others) >= much:
		return true
	}
	return now.held >= w.limit+much && now.held-first.held >= much
}

// tidies says whether garbage is to be collected: large queries have ended since it was, and what they left behind would be blamed on those
// that come after them. That is done while there is room for what these take meanwhile.
func (w *watch) tidies(p *Pool, now usage) bool {
	return now.held >= w.limit/4*3 && p.left(w.limit/8)
}

func (p *Pool) watchBy(ctx context.Context, w watch) {
	for {
		select { // nothing is looked at while nobody asks
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		var first usage
		for began := false; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			if !p.busy() {
				break
			}
			now := w.memory()
			if w.tidies(p, now) {
				w.collect()
				now = w.memory()
			}
			if !began {
				first, began = now, true
			}
			if largest := p.largest(); largest != nil && w.blames(first, now, largest.charged.Load()) {
				p.endFor(largest, now.held)
				select {
				case <-ctx.Done():
					return
				case <-time.After(rest):
				}
			}
		}
	}
}

func (p *Pool) busy() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.running) > 0
}

// left says whether queries that have ended had so much since it said so before.
func (p *Pool) left(bytes int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended < bytes {
		return false
	}
	p.ended = 0
	return true
}

// largest is the query that has charged most, of those that were not ended yet; nil for none.
func (p *Pool) largest() (largest *Budget) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for b := range p.running {
		if b.refused == "" && (largest == nil || b.charged.Load() > largest.charged.Load() ||
			b.charged.Load() == largest.charged.Load() && b.began > largest.began) {
			largest = b
		}
	}
	return largest
}

// endFor ends a query because the process holds so much.
func (p *Pool) endFor(b *Budget, now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b.note(Memory)
	b.cancel(&Busy{Memory, fmt.Sprintf("storaged is short of memory: it holds %s, which is as much as %s allows, and of all queries this one holds most; "+
		"ask for a shorter time, a larger step or fewer series, or raise %s", Size(now), MemorySetting, MemorySetting)})
}
