package api

// How long queries take: each request is one measurement, by what was asked. storaged stores them as it stores anybody's
// timers, one histogram a second.

import (
	"net/http"
	"sync"
	"time"

	"cistern/services/histogram"
)

// Latencies is a histogram of seconds for each kind of request; safe for many goroutines.
type Latencies struct {
	mu     sync.Mutex
	byKind map[string]*histogram.Accumulator
}

func (l *Latencies) observe(kind string, d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.byKind[kind]
	if h == nil {
		if l.byKind == nil {
			l.byKind = map[string]*histogram.Accumulator{}
		}
		h = &histogram.Accumulator{}
		l.byKind[kind] = h
	}
	_ = h.Record(d.Seconds(), 1) // a duration is a number
}

// Take gives what was observed since it was taken last. What was asked nothing of is not in it.
func (l *Latencies) Take() map[string]*histogram.Histogram {
	l.mu.Lock()
	defer l.mu.Unlock()
	taken := map[string]*histogram.Histogram{}
	for kind, h := range l.byKind {
		taken[kind] = h.Take()
	}
	l.byKind = nil
	return taken
}

// timed observes what the handler takes until its answer is written.
func (l *Latencies) timed(kind string, handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		defer func() { l.observe(kind, time.Since(began)) }()
		handler(w, r)
	}
}
