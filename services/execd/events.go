package execd

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/platform/command"
)

const (
	// A client that hears nothing for longer knows that nobody is there any more.
	heartbeatEvery = 15 * time.Second
	// A client that takes nothing in for so long is gone.
	takesIn  = 10 * time.Second
	maxEvent = 64 << 10
)

type poolEvent struct {
	Class string `json:"class,omitempty"`
	Text  string `json:"text,omitempty"`
}

// eventLines makes a JSON line of each line that is written to it, and sends it at once. After a write that failed,
// nothing is written any more.
type eventLines struct {
	w    http.ResponseWriter
	to   *http.ResponseController
	gone context.CancelFunc
	mu   sync.Mutex // the heartbeat writes as well
	rest []byte
}

func (l *eventLines) Write(p []byte) (int, error) {
	l.rest = append(l.rest, p...)
	for {
		line, rest, whole := bytes.Cut(l.rest, []byte("\n"))
		if !whole {
			break
		}
		l.rest = rest
		if text := strings.TrimSpace(string(line)); text != "" {
			// "Jan  1 2026 02:03:04.123456789", a tab, the class.
			event := poolEvent{Text: text}
			if at := strings.LastIndexAny(text, "\t "); strings.Contains(text[at+1:], ".fs.zfs.") {
				event.Class = text[at+1:]
			}
			if err := l.send(event); err != nil {
				return 0, err
			}
		}
	}
	if len(l.rest) > maxEvent { // no event; and it must not fill memory
		l.rest = nil
	}
	return len(p), nil
}

func (l *eventLines) send(event poolEvent) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	line, err := json.Marshal(event)
	if err != nil {
		return err
	}
	_ = l.to.SetWriteDeadline(time.Now().Add(takesIn)) // without one, writing just takes longer to fail
	if _, err = l.w.Write(append(line, '\n')); err == nil {
		err = l.to.Flush()
	}
	if err != nil {
		l.gone()
	}
	return err
}

// poolEvents tells what happens to pools as long as the client listens, where ZFS tells it: those that the kernel still knows of first. Like
// snapshotReadFile it writes its own answer.
func poolEvents(s *Server, w http.ResponseWriter, r *http.Request) (any, any, error) {
	var a struct{}
	if !problem.Decode(w, r, &a, 1<<10) {
		return nil, nil, errAnswered
	}
	s.audit(r, a, "asked", nil)
	follow := s.Host.EventsCommand()
	if follow == nil {
		return a, nil, problem.New(http.StatusConflict, "conflict", "The ZFS of this system tells no events.", "Look at the pools at intervals.")
	}
	ctx, cancel := context.WithCancel(r.Context())
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := &eventLines{w: w, to: http.NewResponseController(w), gone: cancel}
	var beating sync.WaitGroup
	defer beating.Wait() // nothing may write once the answer has ended
	defer cancel()
	// The first one at once: so the client knows that it is heard.
	if lines.send(poolEvent{}) != nil {
		return a, nil, errAnswered
	}
	beating.Add(1)
	go func() {
		defer beating.Done()
		beat := time.NewTicker(s.heartbeat())
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				_ = lines.send(poolEvent{}) // a failure ends ctx
			case <-s.Ending:
				cancel()
				return
			case <-ctx.Done():
				return
			}
		}
	}()
	if err := command.Follow(ctx, lines, follow...); err != nil {
		s.audit(r, a, "failed", err)
	}
	return a, nil, errAnswered
}

func (s *Server) heartbeat() time.Duration {
	if s.beatEvery > 0 {
		return s.beatEvery
	}
	return heartbeatEvery
}
