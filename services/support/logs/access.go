package logs

// The web server's log, which nginx sends as datagrams: the last requests, in memory, never more than so many bytes of them
// however long it runs.

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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
	r := Request{Client: line.C, Method: line.M, Upstream: line.Up, Cache: line.Ca, Host: line.H, Type: line.Ct, URI: Clean(line.U), UserAgent: Clean(line.A), Referer: Clean(line.F)}
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

// Since returns what is kept of the requests after the first n, how many there have been in all, and a channel that is
// closed when there is another.
func (a *AccessLog) Since(n int64) (requests []Request, seen int64, more <-chan struct{}) {
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
	Status string  // 404, 5xx; empty: all
	Slower float64 // seconds at least
	URI    string  // a pattern: * and ?; without them a part of it
	Header string  // "user-agent: *curl*", "host: …", "referer: …"
	Misses bool    // only those that no cache answered
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

// Wants returns whether a request is one of those.
func (f *RequestFilter) Wants(r *Request) bool {
	if f.Status != "" {
		status := strconv.Itoa(r.Status)
		if class, ok := strings.CutSuffix(f.Status, "xx"); ok && !strings.HasPrefix(status, class) || !ok && status != f.Status {
			return false
		}
	}
	if r.Seconds < f.Slower || f.Misses && (r.Cache == "HIT" || r.Cache == "") || !matches(f.URI, r.URI) {
		return false
	}
	if f.Header == "" {
		return true
	}
	name, pattern, _ := strings.Cut(f.Header, ":")
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

// WriteJSON writes all requests that are kept as lines of JSON, oldest first.
func (a *AccessLog) WriteJSON(ctx context.Context, w io.Writer) error {
	requests, _, _ := a.Since(0)
	out := json.NewEncoder(w)
	for i := range requests {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err := out.Encode(&requests[i]); err != nil {
			return err
		}
	}
	return nil
}

// ListenAccess opens the datagram socket.
func ListenAccess(path string) (*net.UnixConn, error) {
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", path, err)
	}
	return socket, nil
}
