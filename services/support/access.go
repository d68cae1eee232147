package support

// The web server's log, as nginx tells it by datagrams: the last requests, in memory, never more than so many bytes of them
// however long it runs.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cistern/services/daemon/problem"
)

// Request is one that nginx answered.
type Request struct {
	Time      time.Time `json:"time"`
	Client    string    `json:"client"`
	Method    string    `json:"method"`
	URI       string    `json:"uri"`
	Status    int       `json:"status"`
	Seconds   float64   `json:"seconds"`
	Bytes     int64     `json:"bytes"`
	Upstream  string    `json:"upstream"` // seconds the part behind took; "" when none was asked
	Cache     string    `json:"cache"`    // HIT MISS STALE …; "" when no cache was asked
	Host      string    `json:"host"`
	UserAgent string    `json:"userAgent"`
	Referer   string    `json:"referer"`
	Type      string    `json:"contentType"`
}

// weight is about how much memory one takes.
func (r *Request) weight() int {
	return 256 + len(r.URI) + len(r.UserAgent) + len(r.Referer) + len(r.Host) + len(r.Client) + len(r.Type)
}

// AccessLog keeps the last requests.
type AccessLog struct {
	MaxBytes int // of memory

	mu      sync.Mutex
	kept    []Request // a ring is not worth it: the oldest half goes at once
	bytes   int
	changed chan struct{}
	seen    int64 // of all, ever
}

// parseRequest reads nginx' line, after the head that syslog gives it.
func parseRequest(datagram []byte) (Request, bool) {
	at := bytes.IndexByte(datagram, '{')
	if at < 0 {
		return Request{}, false
	}
	var line struct {
		C, U, M, S, T, B, Up, Ca, H, A, F, Ct, At string
	}
	if json.Unmarshal(datagram[at:], &line) != nil {
		return Request{}, false
	}
	r := Request{Client: line.C, Method: line.M, Upstream: line.Up, Cache: line.Ca, Host: line.H, Type: line.Ct, URI: shown(line.U), UserAgent: shown(line.A), Referer: shown(line.F)}
	r.Status, _ = strconv.Atoi(line.S)
	r.Seconds, _ = strconv.ParseFloat(line.T, 64)
	r.Bytes, _ = strconv.ParseInt(line.B, 10, 64)
	seconds, _ := strconv.ParseFloat(line.At, 64)
	r.Time = time.UnixMilli(int64(seconds * 1000)).UTC()
	return r, r.Status > 0
}

// Listen takes in what nginx sends to the datagram socket until ctx ends.
func (a *AccessLog) Listen(ctx context.Context, socket *net.UnixConn) {
	context.AfterFunc(ctx, func() { socket.Close() })
	buffer := make([]byte, 64<<10)
	for {
		n, err := socket.Read(buffer)
		if err != nil {
			return
		}
		if r, ok := parseRequest(buffer[:n]); ok {
			a.add(r)
		}
	}
}

func (a *AccessLog) add(r Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(a.kept, r)
	a.bytes += r.weight()
	a.seen++
	if a.bytes > a.MaxBytes {
		half := len(a.kept) / 2
		for i := range a.kept[:half] {
			a.bytes -= a.kept[i].weight()
		}
		a.kept = append(make([]Request, 0, len(a.kept)), a.kept[half:]...)
	}
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// since gives what came after the first n of all, and a channel that is closed when there is more.
func (a *AccessLog) since(n int64) (requests []Request, seen int64, more <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	fresh := min(a.seen-n, int64(len(a.kept)))
	return slices.Clone(a.kept[int64(len(a.kept))-max(0, fresh):]), a.seen, a.changed
}

// RequestFilter says which requests are wanted.
type RequestFilter struct {
	status string // 404, 5xx, "" any
	slower float64
	uri    string // a pattern: * and ?; without them a part of it
	header string // "user-agent: *curl*", "host: …", "referer: …"
	miss   bool
	limit  int
}

func matches(pattern, text string) bool {
	if pattern == "" {
		return true
	}
	pattern, text = strings.ToLower(pattern), strings.ToLower(text)
	if !strings.ContainsAny(pattern, "*?") {
		return strings.Contains(text, pattern)
	}
	// path.Match stops at slashes, which are letters as any here.
	ok, _ := path.Match(strings.ReplaceAll(pattern, "/", "\x00"), strings.ReplaceAll(text, "/", "\x00"))
	return ok
}

func (f *RequestFilter) wants(r *Request) bool {
	if f.status != "" {
		status := strconv.Itoa(r.Status)
		if class, ok := strings.CutSuffix(f.status, "xx"); ok && !strings.HasPrefix(status, class) || !ok && status != f.status {
			return false
		}
	}
	if r.Seconds < f.slower || f.miss && (r.Cache == "HIT" || r.Cache == "") || !matches(f.uri, r.URI) {
		return false
	}
	if f.header == "" {
		return true
	}
	name, pattern, _ := strings.Cut(f.header, ":")
	pattern = strings.TrimSpace(pattern)
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "user-agent":
		return matches(pattern, r.UserAgent)
	case "host":
		return matches(pattern, r.Host)
	case "referer":
		return matches(pattern, r.Referer)
	case "content-type":
		return matches(pattern, r.Type)
	}
	return false
}

func requestFilter(w http.ResponseWriter, r *http.Request) (f RequestFilter, ok bool) {
	v := r.URL.Query()
	f = RequestFilter{status: strings.ToLower(v.Get("status")), uri: v.Get("uri"), header: v.Get("header"), miss: v.Get("misses") == "true", limit: 200}
	bad := func(detail, action string) (RequestFilter, bool) {
		problem.Write(w, http.StatusBadRequest, "invalid_request", detail, action)
		return f, false
	}
	if text := v.Get("slower"); text != "" {
		var err error
		if f.slower, err = strconv.ParseFloat(text, 64); err != nil || f.slower < 0 {
			return bad("'"+text+"' is not a number of seconds.", "Give seconds, as 0.5.")
		}
	}
	if n, err := strconv.Atoi(v.Get("limit")); err == nil {
		f.limit = max(1, min(n, maxLogLines))
	}
	if f.status != "" && (len(f.status) != 3 || f.status[0] < '1' || f.status[0] > '5') {
		return bad("'"+f.status+"' is not a status.", "Give one as 404, or a class as 5xx.")
	}
	if name, _, there := strings.Cut(f.header, ":"); f.header != "" {
		if !there || !slices.Contains([]string{"user-agent", "host", "referer", "content-type"}, strings.ToLower(strings.TrimSpace(name))) {
			return bad("The header pattern '"+f.header+"' names no header that is kept.", "Write NAME: PATTERN; kept are User-Agent, Host, Referer and Content-Type.")
		}
	}
	if _, err := path.Match(f.uri, ""); err != nil {
		return bad("The pattern '"+f.uri+"' cannot be read.", "* stands for anything, ? for one character.")
	}
	return f, true
}

func (s *Server) noAccess(w http.ResponseWriter) bool {
	if s.Access == nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The web server's log is not taken in on this machine.", "")
	}
	return s.Access == nil
}

// readRequests answers with the last that are wanted, newest first.
func (s *Server) readRequests(w http.ResponseWriter, r *http.Request) {
	f, ok := requestFilter(w, r)
	if !ok || s.noAccess(w) {
		return
	}
	all, seen, _ := s.Access.since(0)
	found := []Request{}
	for _, one := range slices.Backward(all) {
		if f.wants(&one) {
			found = append(found, one)
		}
		if len(found) >= f.limit {
			break
		}
	}
	var since *time.Time
	if len(all) > 0 {
		since = &all[0].Time
	}
	answer(w, http.StatusOK, map[string]any{"requests": found, "kept": len(all), "seen": seen, "since": since})
}

func (s *Server) followRequests(w http.ResponseWriter, r *http.Request) {
	f, ok := requestFilter(w, r)
	if !ok || s.noAccess(w) {
		return
	}
	stream(w, r, func(ctx context.Context, send func(any) error) error {
		_, seen, more := s.Access.since(1 << 62)
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-more:
			}
			var fresh []Request
			fresh, seen, more = s.Access.since(seen)
			for i := range fresh {
				if f.wants(&fresh[i]) {
					if err := send(fresh[i]); err != nil {
						return err
					}
				}
			}
		}
	})
}

// Step is the last requests as lines of JSON, for a bundle.
func (a *AccessLog) Step() Step {
	return Step{Name: "web-requests.jsonl", Category: "logs", Deadline: short, Limit: usualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		requests, _, _ := a.since(0)
		out := json.NewEncoder(&limited{w: w, left: limit})
		for i := range requests {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := out.Encode(&requests[i]); err != nil {
				return err
			}
		}
		return nil
	}}
}

// ListenAccess opens the datagram socket.
func ListenAccess(path string) (*net.UnixConn, error) {
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	return socket, nil
}
