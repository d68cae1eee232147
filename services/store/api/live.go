package api

// New points as they come: GET /api/v1/live?query=SELECTOR answers with server-sent events.
//
//	event: points  data: {"series":[{"metric":{…},"values":[[t,"v"],…],"histograms":[[t,{"count","sum","bins"}],…]}],"dropped":n}
//
// Once a second the store is asked for its last seconds, because it tells nobody when samples arrive; what a client has
// been sent is remembered by its series' last time. A client that reads slowly loses the oldest events, and is told how
// many. A comment is sent when there was nothing for a while, so that nobody on the way closes the connection.

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/store/query/adapter"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
)

const (
	liveClients  = 64
	liveSeries   = 1000
	liveBehind   = 8                // events that wait for a slow client
	liveEvery    = time.Second      // how often the store is asked
	liveBeat     = 15 * time.Second // when there is nothing to tell
	liveWindow   = 10_000           // ms; how late a sample may come and still be sent
	livePatience = time.Minute      // how long a write may take
)

func (a *API) liveStream(w http.ResponseWriter, r *http.Request) {
	matchers, err := a.selector(r)
	if err != nil {
		badRequest(w, "query", err, "")
		return
	}
	if a.live.Add(1) > liveClients {
		a.live.Add(-1)
		w.Header().Set("Retry-After", "10")
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable",
			"There are "+strconv.Itoa(liveClients)+" live streams already, which is the limit.", "Close another one, or ask again later.")
		return
	}
	defer a.live.Add(-1)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	// Whether it can be answered at all is said before the stream begins.
	last := map[string]int64{}
	caller := callerOf(r)
	ask := func() ([]byte, error) {
		within, b := a.pool.Aside(ctx, caller)
		defer b.End()
		return a.newPoints(tsdb.WithMeter(within, b), matchers, last)
	}
	first, err := ask()
	if err != nil {
		failed(w, err)
		return
	}
	send := eventStream(w)
	if !send([]byte("retry: 2000\n\n")) {
		return
	}
	events := make(chan []byte, liveBehind)
	if first != nil {
		events <- first
	}
	go func() {
		defer close(events)
		ticker := time.NewTicker(liveEvery)
		defer ticker.Stop()
		dropped, quiet := 0, time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-a.Stopping:
				return
			case <-ticker.C:
			}
			points, err := ask()
			var event []byte
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				event = append(appendString([]byte("event: problem\ndata: {\"detail\":"), err.Error()), "}\n\n"...)
			case points != nil:
				event = points
			case time.Since(quiet) >= liveBeat:
				event = []byte(": still here\n\n")
			default:
				continue
			}
			quiet = time.Now()
			for len(events) == cap(events) { // only this goroutine adds
				select {
				case <-events:
					dropped++
				default:
				}
			}
			if dropped > 0 {
				event = append(event, "event: dropped\ndata: {\"events\":"+strconv.Itoa(dropped)+"}\n\n"...)
			}
			events <- event
		}
	}()
	for event := range events {
		if !send(event) {
			cancel()
			break
		}
	}
	cancel()
	for range events { // until the other goroutine has seen it
	}
}

// newPoints is an event with what came since the times in last, or nil.
func (a *API) newPoints(ctx context.Context, matchers []*labels.Matcher, last map[string]int64) ([]byte, error) {
	now := a.now().UnixMilli()
	from := now - liveWindow
	list, release, err := a.store.Select(ctx, from, now+1000, matchers...)
	defer release()
	if err != nil {
		return nil, err
	}
	if len(list) > liveSeries {
		return nil, badData("query: it selects %d series, %d are the limit for a live stream; select fewer", len(list), liveSeries)
	}
	for key, t := range last {
		if t < from {
			delete(last, key)
		}
	}
	b := []byte("event: points\ndata: {\"series\":[")
	builder := labels.NewScratchBuilder(16)
	any := false
	for _, s := range list {
		since, known := last[s.Key]
		if !known {
			since = from
		}
		mark := len(b)
		if any {
			b = append(b, ',')
		}
		b = appendMetric(append(b, '{'), adapter.Labels(&builder, s.Key))
		points := 0
		latest := since
		b, points, latest = appendNew(b, s, since+1, now+1000, latest)
		if points == 0 {
			b = b[:mark]
			continue
		}
		b, any = append(b, '}'), true
		last[s.Key] = latest
	}
	if !any {
		return nil, nil
	}
	return append(b, "]}\n\n"...), nil
}

func appendNew(b []byte, s *tsdb.Series, from, to, latest int64) ([]byte, int, int64) {
	n := 0
	list := func(name string) {
		if n++; n == 1 {
			b = append(append(append(b, `,"`...), name...), `":[`...)
		} else {
			b = append(b, ',')
		}
	}
	total := 0
	end := func() {
		if n > 0 {
			b = append(b, ']')
		}
		total, n = total+n, 0
	}
	for it := s.Numbers(from, to); it.Next(); {
		t, v := it.At()
		list("values")
		b, latest = appendPoint(b, t, v), max(latest, t)
	}
	end()
	if s.HasHistograms() {
		for it := s.Histograms(from, to); it.Next(); {
			t, h := it.At()
			list("histograms")
			b = appendTime(append(b, '['), t)
			b = strconv.AppendUint(append(b, `,{"count":`...), h.Count(), 10)
			b = appendFloat(append(b, `,"sum":`...), h.Sum())
			b = append(appendBins(append(b, ','), &h), "}]"...)
			latest = max(latest, t)
		}
	} else if s.HasNatives() {
		for it := s.Natives(from, to); it.Next(); {
			t, h := it.At()
			list("histograms")
			b, latest = appendHistogramPoint(b, t, h), max(latest, t)
		}
	}
	end()
	return b, total, latest
}
