package web

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"cistern/services/daemon/problem"
	"cistern/services/support/logs"
)

// maxLines is how many lines or requests one answer has at most.
const maxLines = 1000

func logQuery(w http.ResponseWriter, r *http.Request) (logs.Query, bool) {
	v := r.URL.Query()
	q := logs.Query{Service: v.Get("service"), Level: v.Get("level"), Text: v.Get("text"), Older: v.Get("older"), After: v.Get("after"), Limit: 200}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		q.Limit = max(1, min(n, maxLines))
	}
	if q.Level != "" && !slices.Contains(logs.Levels, q.Level) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "There is no level '"+q.Level+"'.", "It is one of "+strings.Join(logs.Levels, ", ")+".")
		return q, false
	}
	if strings.ContainsFunc(q.Service, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' }) || strings.HasPrefix(q.Older, "-") {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "There is no service '"+q.Service+"'.", "The page Services lists them.")
		return q, false
	}
	if !position.MatchString(q.After) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "'"+q.After+"' is not a place in a log.", "Give what the last answer had as newest, or leave it out.")
		return q, false
	}
	return q, true
}

// position is what Page.Newest and Line.At are made of: a cursor of the journal, a time, or names of files with offsets.
var position = regexp.MustCompile(`^([A-Za-z0-9][A-Za-z0-9_.,+-]*=[0-9a-f]+;?)*$`)

func (a *API) noLogs(w http.ResponseWriter) bool {
	if a.Logs == nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The logs of this machine cannot be read: it has no journal.", "A support bundle holds what there is.")
	}
	return a.Logs == nil
}

func (a *API) readLogs(w http.ResponseWriter, r *http.Request) {
	q, ok := logQuery(w, r)
	if !ok || a.noLogs(w) {
		return
	}
	page, err := a.Logs.Read(r.Context(), q)
	if err != nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The log could not be read: "+err.Error()+".", "Try again; make a support bundle if it lasts.")
		return
	}
	answer(w, http.StatusOK, map[string]any{"lines": append([]logs.Line{}, page.Lines...), "older": page.Older, "newest": page.Newest})
}

func (a *API) followLogs(w http.ResponseWriter, r *http.Request) {
	q, ok := logQuery(w, r)
	if !ok || a.noLogs(w) {
		return
	}
	stream(w, r, func(ctx context.Context, send sender) error {
		return a.Logs.Follow(ctx, q, func(l logs.Line) error { return send(l.At, l) })
	})
}

// sender sends one value; at is where it is gone on behind it, which a browser whose connection broke asks with.
type sender func(at string, v any) error

// stream answers with server-sent events, one for each value, until the client goes.
func stream(w http.ResponseWriter, r *http.Request, run func(ctx context.Context, send sender) error) {
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	_, _ = io.WriteString(w, ": begun\n\n")
	_ = out.Flush()
	_ = run(ctx, func(at string, v any) error {
		content, err := json.Marshal(v)
		if err == nil {
			_, err = fmt.Fprintf(w, "id: %s\ndata: %s\n\n", at, content)
		}
		if err == nil {
			err = out.Flush()
		}
		if err != nil {
			cancel()
		}
		return err
	})
}

// readVisits answers what users did by ssh behind what the management plane has.
func (a *API) readVisits(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	since, err := time.Parse(time.RFC3339Nano, query.Get("since"))
	if err != nil || strings.ContainsFunc(query.Get("cursor"), unicode.IsSpace) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "There is no time to begin at.", "Give since, as 2027-01-31T00:00:00Z.")
		return
	}
	visits, next := []logs.Visit{}, query.Get("cursor")
	if a.Journal != nil {
		visits, next, err = a.Journal.Visits(r.Context(), query.Get("cursor"), since, maxLines)
	}
	if err != nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The log could not be read: "+err.Error()+".", "Try again; make a support bundle if it lasts.")
		return
	}
	answer(w, http.StatusOK, map[string]any{"entries": visits, "cursor": next, "more": len(visits) == maxLines})
}
