package api

// What changed? GET /api/v1/changed?query=SELECTOR&start&end&against=before|week: the series that changed most between a time and
// one before it. As JSON, or, when server-sent events are accepted, with what is known so far while it is worked out:
//
//	event: progress  data: {"compared":n,"of":n,"changed":n,"series":[…]}   every quarter of a second
//	event: done      data: the answer
//	event: problem   data: {"detail":"…"}
//
// Whoever closes the connection ends the work.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"cistern/services/store/query/explain"
	"cistern/services/store/tsdb"
)

const (
	changedSeries = 10 // of an answer, unless it is asked for more
	changedMost   = 10_000
	changedNamed  = 10 // of those that began or ended
	changedEvery  = 250 * time.Millisecond
	weekMs        = 7 * 24 * 3600 * 1000
	// What is looked at is as long as this at least: in less there is nothing usual.
	shortestChange = 20 * time.Second
	before         = 4 // times as long
)

// timesOf reads what is compared with what.
func timesOf(r *http.Request) (explain.Times, string, error) {
	start, err := neededTime(r, "start")
	if err != nil {
		return explain.Times{}, "start", err
	}
	end, err := neededTime(r, "end")
	if err == nil && end.Sub(start) < shortestChange {
		err = fmt.Errorf("end: must be %v after start at least", shortestChange)
	}
	if err != nil {
		return explain.Times{}, "end", err
	}
	t := explain.Times{Start: start.UnixMilli(), End: end.UnixMilli()}
	switch against := r.FormValue("against"); against {
	case "", "before":
		t.BeforeFrom, t.BeforeUntil = t.Start-before*(t.End-t.Start), t.Start
	case "week":
		t.BeforeFrom, t.BeforeUntil = t.Start-weekMs, t.End-weekMs
		if t.BeforeUntil > t.Start {
			return t, "end", errors.New("end: must be within a week of start to be compared with the week before")
		}
	default:
		return t, "against", fmt.Errorf("against: %q is neither before nor week", shorten(against))
	}
	return t, "", nil
}

func (a *API) changed(w http.ResponseWriter, r *http.Request) {
	matchers, err := a.selector(r)
	if err != nil {
		badRequest(w, "query", err, "")
		return
	}
	times, field, err := timesOf(r)
	if err != nil {
		badRequest(w, field, err, "")
		return
	}
	most, err := parseLimit(r)
	if err == nil && most > changedMost {
		err = fmt.Errorf("limit: %d is more than %d", most, changedMost)
	}
	if err != nil {
		badRequest(w, "limit", err, "")
		return
	}
	if most == 0 {
		most = changedSeries
	}
	one, err := a.enter(r)
	if err != nil {
		failed(w, err)
		return
	}
	defer func() { one.end() }()
	var warnings tsdb.Warnings
	comparing := make(chan *explain.Comparison, 1)
	type outcome struct {
		c   *explain.Comparison
		err error
	}
	done := make(chan outcome, 1)
	go func() {
		c, err := timely(one, func(ctx context.Context) (*explain.Comparison, error) {
			ctx = tsdb.WithWarnings(ctx, &warnings)
			back := lookback.Milliseconds() + a.store.Granularity(times.From(), times.End-1).Milliseconds()
			list, release, err := a.store.Select(ctx, times.From()-back, times.End-1, matchers...)
			defer release()
			if err != nil {
				return nil, err
			}
			c := explain.NewComparison(list, times, back)
			comparing <- c
			return c, c.Run(ctx)
		}, func(*explain.Comparison) {})
		done <- outcome{c, err}
	}()
	if !strings.Contains(r.Header.Get("Accept"), "text/event-stream") {
		o := <-done
		if o.err != nil {
			failed(w, o.err)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(append(appendChanges(nil, o.c, times, most, warnings.List()), '\n'))
		return
	}
	send := eventStream(w)
	ticker := time.NewTicker(changedEvery)
	defer ticker.Stop()
	var c *explain.Comparison
	for {
		select {
		case c = <-comparing:
		case <-ticker.C:
			if c == nil {
				continue
			}
			if now := c.Now(most); !send(append(appendProgress([]byte("event: progress\ndata: {"), now, c.Count()), "}\n\n"...)) {
				one.cancel()
			}
		case o := <-done:
			if o.err != nil {
				send(append(appendString([]byte("event: problem\ndata: {\"detail\":"), o.err.Error()), "}\n\n"...))
				return
			}
			send(append(appendChanges([]byte("event: done\ndata: "), o.c, times, most, warnings.List()), "\n\n"...))
			return
		}
	}
}

// eventStream begins server-sent events. What it returns sends some, and says whether they have gone.
func eventStream(w http.ResponseWriter) func([]byte) bool {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's is about the request, and would end the stream
	return func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(livePatience)) // not all writers have one
		if _, err := w.Write(text); err != nil {
			return false
		}
		return control.Flush() == nil
	}
}

func appendProgress(b []byte, now explain.Progress, changed int) []byte {
	b = strconv.AppendInt(append(b, `"compared":`...), int64(now.Compared), 10)
	b = strconv.AppendInt(append(b, `,"of":`...), int64(now.Of), 10)
	b = strconv.AppendInt(append(b, `,"changed":`...), int64(changed), 10)
	b = append(b, `,"series":[`...)
	for i, one := range now.Changed {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendKeyLabels(append(b, `{"metric":`...), one.Key)
		b = append(append(append(b, `,"measure":"`...), one.Measure...), '"')
		b = appendFloat(append(b, `,"before":`...), one.Before)
		b = appendFloat(append(b, `,"after":`...), one.After)
		b = append(appendFloat(append(b, `,"score":`...), one.Score), '}')
	}
	return append(b, ']')
}

func appendKeyLabels(b []byte, key string) []byte {
	b = append(b, '{')
	first := true
	tsdb.EachLabel(key, func(name, value string) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = appendString(append(appendString(b, name), ':'), value)
	})
	return append(b, '}')
}

func appendChanges(b []byte, c *explain.Comparison, t explain.Times, most int, warnings []string) []byte {
	now := c.Now(most)
	b = append(appendProgress(append(b, '{'), now, c.Count()), `,"began":`...)
	some := func(keys []string) {
		b = strconv.AppendInt(append(b, `{"count":`...), int64(len(keys)), 10)
		b = append(b, `,"series":[`...)
		for i, key := range keys[:min(changedNamed, len(keys))] {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendKeyLabels(b, key)
		}
		b = append(b, "]}"...)
	}
	some(now.Began)
	b = append(b, `,"ended":`...)
	some(now.Ended)
	b = appendTime(append(b, `,"baseline":{"start":`...), t.BeforeFrom)
	b = append(appendTime(append(b, `,"end":`...), t.BeforeUntil), '}')
	return append(appendWarnings(b, warnings), '}')
}
