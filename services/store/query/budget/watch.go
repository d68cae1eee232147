package budget

// The last resort: what nobody charged. While queries run, the memory of the whole process is read every few milliseconds; near
// its limit the query that holds most is ended.

import (
	"context"
	"fmt"
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
	limit  int64                // bytes of the process at which a query is ended
	memory func() (bytes int64) // what the process holds
}

// Watch ends queries while the process holds more than limit bytes, until the context ends.
func (p *Pool) Watch(ctx context.Context, limit int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"},
		{Name: "/memory/classes/heap/free:bytes"}}
	p.watchBy(ctx, watch{limit, func() int64 {
		metrics.Read(samples)
		return int64(samples[0].Value.Uint64() - samples[1].Value.Uint64() - samples[2].Value.Uint64())
	}})
}

func (p *Pool) watchBy(ctx context.Context, w watch) {
	for {
		select { // nothing is looked at while nobody asks
		case <-ctx.Done():
			return
		case <-p.wake:
		}
		first, began := int64(0), false
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(every):
			}
			if !p.busy() {
				break
			}
			now := w.memory()
			if !began {
				first, began = now, true
			}
			// When it was near the limit before anybody asked, it is not the queries that are too many.
			if now >= w.limit && now-first >= w.limit/16 && p.endLargest(now) {
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

// endLargest ends the query that has charged most, of those that were not ended yet.
func (p *Pool) endLargest(now int64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	var largest *Budget
	for b := range p.running {
		if b.refused == "" && (largest == nil || b.charged.Load() > largest.charged.Load() ||
			b.charged.Load() == largest.charged.Load() && b.began > largest.began) {
			largest = b
		}
	}
	if largest == nil {
		return false
	}
	largest.note(Memory)
	largest.cancel(&Busy{Memory, fmt.Sprintf("storaged is short of memory: it holds %s, which is as much as %s allows, and of all queries this one holds most; "+
		"ask for a shorter time, a larger step or fewer series, or raise %s", Size(now), MemorySetting, MemorySetting)})
	return true
}
