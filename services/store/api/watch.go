package api

// Limits that the store watches as samples arrive (services/store/tsdb/watch.go), so that a threshold is not noticed only when its
// rule's turn comes: akd asks at once for the rules that are named here, and for all of them every few seconds as before.
//
//	POST /admin/watch {"limits":[{"query":"load{group=\"a\"}","above":10},{"query":"free","below":5},…]}
//	→ 200, a JSON object a line, until the client closes or the store stops:
//	  {"leftOut":[3,17]}   first: places of those that cannot be watched, because they are more than a plain selector
//	  {"crossed":[0,4]}    a series of these has just gone beyond its limit
//	  {}                   nothing for 15 seconds
//
// A hint, which may be missing or needless: see the store.

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/promql/parser"
)

const (
	maxLimits    = 100_000
	maxLimitBody = 64 << 20
	watchClients = 8
	watchEvery   = 20 * time.Millisecond // lines are this far apart
)

// Watch is the handler.
func (a *API) Watch(w http.ResponseWriter, r *http.Request) {
	var request struct {
		Limits []struct {
			Query string   `json:"query"`
			Above *float64 `json:"above"`
			Below *float64 `json:"below"`
		} `json:"limits"`
	}
	if !problem.Decode(w, r, &request, maxLimitBody) {
		return
	}
	if len(request.Limits) > maxLimits {
		problem.Write(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("These are %d limits; %d can be watched at most.", len(request.Limits), maxLimits), "Watch those that matter most.")
		return
	}
	limits, places, leftOut := make([]tsdb.Limit, 0, len(request.Limits)), make([]int, 0, len(request.Limits)), []int{}
	for i, one := range request.Limits {
		if (one.Above == nil) == (one.Below == nil) {
			problem.Write(w, http.StatusBadRequest, "invalid_request", "A limit has either “above” or “below”.", "", problem.Field{Path: "limits/" + strconv.Itoa(i), Message: "has both or neither"})
			return
		}
		expr, err := a.parser.ParseExpr(one.Query)
		selector, ok := expr.(*parser.VectorSelector)
		if err != nil || !ok || !plain(selector) {
			leftOut = append(leftOut, i)
			continue
		}
		limit := tsdb.Limit{Matchers: selector.LabelMatchers}
		if one.Above != nil {
			limit.Value = *one.Above
		} else {
			limit.Value, limit.Below = *one.Below, true
		}
		limits, places = append(limits, limit), append(places, i)
	}
	if a.watching.Add(1) > watchClients {
		a.watching.Add(-1)
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "There are "+strconv.Itoa(watchClients)+" watchers already, which is the limit.", "Close another one first.")
		return
	}
	defer a.watching.Add(-1)
	watching := a.store.Watch(limits)
	defer watching.Close()

	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("Cache-Control", "no-store")
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{}) // the server's is about the request, and would end the stream
	var line bytes.Buffer
	send := func(name string, numbers []int) bool {
		line.Reset()
		line.WriteByte('{')
		for i, n := range numbers {
			if i == 0 {
				fmt.Fprintf(&line, "%q:[", name)
			} else {
				line.WriteByte(',')
			}
			line.WriteString(strconv.Itoa(n))
		}
		if len(numbers) > 0 {
			line.WriteByte(']')
		}
		line.WriteString("}\n")
		_ = control.SetWriteDeadline(time.Now().Add(livePatience)) // not all writers have one
		if _, err := w.Write(line.Bytes()); err != nil {
			return false
		}
		return control.Flush() == nil
	}
	beat := time.NewTicker(liveBeat)
	defer beat.Stop()
	if !send("leftOut", leftOut) {
		return
	}
	for {
		quiet := false
		select {
		case <-r.Context().Done():
			return
		case <-a.Stopping:
			return
		case <-beat.C:
			quiet = true
		case <-watching.Bell:
			time.Sleep(watchEvery) // what crosses meanwhile is in the same line
		}
		crossed := watching.Take()
		if len(crossed) == 0 && !quiet {
			continue // it rang for what the line before had already
		}
		for i := range crossed {
			crossed[i] = places[crossed[i]]
		}
		if !send("crossed", crossed) {
			return
		}
	}
}
