package collect

// gatherd: what runs as root takes names of a fixed list, and gives bytes. It reads no request's body, but to copy a finished
// bundle to a disk, and nothing of what it collects.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
)

// HangGrace is how long a step may go on after its deadline: a read from a dying disk does not end by one.
const HangGrace = 3 * time.Second

// How a step went is told behind what it gave.
const (
	resultHeader = "Cistern-Result"
	errorHeader  = "Cistern-Error" // its words, escaped as in a path

	resultDone    = "done"
	resultNothing = "nothing"
	resultCut     = "cut"
	resultTimeout = "timeout"
	resultFailed  = "failed"
)

// Server is what gatherd answers: see docs/api/gatherd.md.
type Server struct {
	Steps   []Step
	Crashes []CrashFiles
	// Disks are those that a bundle may be copied to.
	Disks *Disks

	mu      sync.Mutex
	running map[string]bool // steps that have not ended, also those that were left behind
}

// Handler is for supportd and root: those whose user ids are in uids.
func (s *Server) Handler(uids []int) http.Handler {
	s.running = map[string]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /steps/{category}/{name}", s.step)
	mux.HandleFunc("GET /crash-files", s.listCrashFiles)
	mux.HandleFunc("GET /crash-files/content", s.crashFile)
	mux.HandleFunc("POST /disks/{device}", s.tryDisk)
	mux.HandleFunc("PUT /disks/{device}/{file}", s.copyToDisk)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixsocket.RequestPeerUID(r); err != nil || !slices.Contains(uids, uid) {
			problem.Write(w, http.StatusForbidden, "forbidden", "This socket is for supportd only.", "")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// begin returns false when the step runs, or hangs, since it was asked for before: there are never more than the list has.
func (s *Server) begin(path string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[path] {
		return false
	}
	s.running[path] = true
	return true
}

func (s *Server) end(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.running, path)
}

func (s *Server) step(w http.ResponseWriter, r *http.Request) {
	path := r.PathValue("category") + "/" + r.PathValue("name")
	i := slices.IndexFunc(s.Steps, func(one Step) bool { return one.Root && one.ID() == path })
	if i < 0 {
		problem.Write(w, http.StatusNotFound, "not_found", "There is no step '"+path+"'.", "The steps are those of this version of the appliance.")
		return
	}
	if !s.begin(path) {
		problem.Write(w, http.StatusConflict, "conflict", "The step '"+path+"' has not ended since it was begun before.", "Wait until it has.")
		return
	}
	one := &s.Steps[i]
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Trailer", resultHeader+", "+errorHeader)
	w.WriteHeader(http.StatusOK)
	answer := http.NewResponseController(w)
	_ = answer.SetWriteDeadline(time.Now().Add(one.Deadline + 3*HangGrace)) // who asks may hang as well
	_ = answer.Flush()                                                      // who asks knows that the step has begun
	out := &output{w: w, left: one.rawLimit()}
	ctx, cancel := context.WithTimeout(r.Context(), one.Deadline)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		defer s.end(path)
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("the step itself failed: %v", p)
			}
		}()
		ended <- one.Raw(ctx, out)
	}()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		select {
		case err = <-ended:
		case <-time.After(HangGrace):
			err = ctx.Err()
		}
	}
	result := out.result(ctx, err)
	w.Header().Set(resultHeader, result)
	if result == resultFailed {
		said := err.Error()
		w.Header().Set(errorHeader, url.PathEscape(said[:min(len(said), 4<<10)]))
	}
}

// output is where a step writes: no more than its limit, and nothing after it was left behind.
type output struct {
	w    io.Writer
	mu   sync.Mutex
	left int64
	cut  bool
	shut bool
}

var errLeftBehind = errors.New("the step has been left behind")

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.shut {
		return 0, errLeftBehind
	}
	if int64(len(p)) > o.left {
		n, _ := o.w.Write(p[:o.left])
		o.left, o.cut = 0, true
		return n, ErrCut
	}
	n, err := o.w.Write(p)
	o.left -= int64(n)
	return n, err
}

// result shuts it, and says how the step went.
func (o *output) result(ctx context.Context, err error) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.shut = true
	switch {
	case o.cut || errors.Is(err, ErrCut):
		return resultCut
	case errors.Is(err, ErrNothing):
		return resultNothing
	case err == nil:
		return resultDone
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return resultTimeout
	default:
		return resultFailed
	}
}
