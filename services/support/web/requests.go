package web

import (
	"context"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/support/logs"
)

func requestFilter(w http.ResponseWriter, r *http.Request) (f logs.RequestFilter, limit int, ok bool) {
	v := r.URL.Query()
	f = logs.RequestFilter{Status: strings.ToLower(v.Get("status")), URI: v.Get("uri"), Header: v.Get("header"), Misses: v.Get("misses") == "true"}
	limit = 200
	bad := func(detail, action string) (logs.RequestFilter, int, bool) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", detail, action)
		return f, 0, false
	}
	if text := v.Get("slower"); text != "" {
		var err error
		if f.Slower, err = strconv.ParseFloat(text, 64); err != nil || f.Slower < 0 {
			return bad("'"+text+"' is not a number of seconds.", "Give seconds, as 0.5.")
		}
	}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		limit = max(1, min(n, maxLines))
	}
	if f.Status != "" && (len(f.Status) != 3 || f.Status[0] < '1' || f.Status[0] > '5') {
		return bad("'"+f.Status+"' is not a status.", "Give one as 404, or a class as 5xx.")
	}
	if name, _, there := strings.Cut(f.Header, ":"); f.Header != "" {
		if !there || !slices.Contains([]string{"user-agent", "host", "referer", "content-type"}, strings.ToLower(strings.TrimSpace(name))) {
			return bad("The header pattern '"+f.Header+"' names no header that is kept.", "Write NAME: PATTERN; kept are User-Agent, Host, Referer and Content-Type.")
		}
	}
	if _, err := path.Match(f.URI, ""); err != nil {
		return bad("The pattern '"+f.URI+"' cannot be read.", "* stands for anything, ? for one character.")
	}
	return f, limit, true
}

func (a *API) noAccess(w http.ResponseWriter) bool {
	if a.Access == nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The web server's log is not taken in on this machine.", "")
	}
	return a.Access == nil
}

// readRequests answers with the last that are wanted, newest first.
func (a *API) readRequests(w http.ResponseWriter, r *http.Request) {
	f, limit, ok := requestFilter(w, r)
	if !ok || a.noAccess(w) {
		return
	}
	all, seen, _ := a.Access.Since(0)
	found := []logs.Request{}
	for _, one := range slices.Backward(all) {
		if f.Wants(&one) {
			found = append(found, one)
		}
		if len(found) >= limit {
			break
		}
	}
	var since *time.Time
	if len(all) > 0 {
		since = &all[0].Time
	}
	answer(w, http.StatusOK, map[string]any{"requests": found, "kept": len(all), "seen": seen, "since": since})
}

func (a *API) followRequests(w http.ResponseWriter, r *http.Request) {
	f, _, ok := requestFilter(w, r)
	if !ok || a.noAccess(w) {
		return
	}
	_, seen, _ := a.Access.Since(1 << 62)
	if text := r.URL.Query().Get("after"); text != "" {
		after, err := strconv.ParseInt(text, 10, 64)
		if err != nil || after < 0 {
			problem.Write(w, http.StatusBadRequest, "invalid_request", "'"+text+"' is not a number of requests.", "Give what the last answer had as seen, or leave it out.")
			return
		}
		// More than there were: supportd began to count anew, and what it has is new to who asks.
		if seen < after {
			after = 0
		}
		seen = after
	}
	stream(w, r, func(ctx context.Context, send sender) error {
		for {
			fresh, now, more := a.Access.Since(seen)
			for i := range fresh {
				if f.Wants(&fresh[i]) {
					at := now - int64(len(fresh)-1-i)
					if err := send(strconv.FormatInt(at, 10), fresh[i]); err != nil {
						return err
					}
				}
			}
			seen = now
			select {
			case <-ctx.Done():
				return nil
			case <-more:
			}
		}
	})
}
