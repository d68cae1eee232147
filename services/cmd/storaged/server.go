package main

// The parts of storaged and how they hang together.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/ingest"
	"cistern/services/problem"
	"cistern/services/promapi"
	"cistern/services/statsd"
	"cistern/services/tsdb"
	"cistern/services/unixlisten"
)

type server struct {
	log       *slog.Logger
	store     *tsdb.Store
	http      *http.Server
	httpNames []string
	lines     *statsd.Aggregator
	statsd    *statsd.Server
	failed    chan error
	ready     atomic.Bool

	stopInputs context.CancelFunc
	inputs     sync.WaitGroup
}

func start(o options, log *slog.Logger) (_ *server, err error) {
	s := &server{log: log, failed: make(chan error, 4)}
	s.store, err = tsdb.Open(o.data, tsdb.Options{
		Log: log, Retention: o.retention, OutOfOrder: o.outOfOrder, BlockEvery: o.blockEvery, HeadBytes: o.memory << 20 * 6 / 10,
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.stopInputs = cancel
	defer func() {
		if err != nil {
			err = errors.Join(err, s.stop())
		}
	}()
	if o.statsdAddress != "" {
		s.lines = statsd.NewAggregator(s.store, statsd.Options{Log: log})
		if s.statsd, err = statsd.Listen(statsd.Listeners{Address: o.statsdAddress}, s.lines); err != nil {
			return nil, err
		}
		s.input(func() {
			s.statsd.Serve(ctx, func(err error) { log.Error("statsd's second was not stored", "error", err) })
		})
	}
	s.http = &http.Server{
		Handler: s.routes(), ConnContext: unixlisten.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if o.httpSocket != "" {
		listener, err := unixlisten.Listen(o.httpSocket)
		if err != nil {
			return nil, err
		}
		s.serve(listener, o.httpSocket)
	}
	if o.httpAddress != "" {
		listener, err := net.Listen("tcp", o.httpAddress)
		if err != nil {
			return nil, fmt.Errorf("listening for HTTP on %s: %w", o.httpAddress, err)
		}
		s.serve(listener, listener.Addr().String())
	}
	statistics := newStatistics(s, o.hostStatistics)
	s.input(func() { statistics.run(ctx) })
	s.ready.Store(true)
	return s, nil
}

func (s *server) input(f func()) {
	s.inputs.Add(1)
	go func() { defer s.inputs.Done(); f() }()
}

func (s *server) serve(listener net.Listener, name string) {
	s.httpNames = append(s.httpNames, name)
	go func() {
		if err := s.http.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- fmt.Errorf("serving HTTP on %s: %w", name, err)
		}
	}()
}

// stop ends the inputs, lets running requests finish, and flushes: in that order, so that whatever was acknowledged is
// in a block afterwards.
func (s *server) stop() error {
	s.ready.Store(false)
	var httpErr error
	if s.http != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		if httpErr = s.http.Shutdown(ctx); httpErr != nil {
			httpErr = s.http.Close() // a query that takes longer is cut off
		}
		cancel()
	}
	s.stopInputs()
	s.inputs.Wait()
	return errors.Join(httpErr, s.store.Close())
}

func (s *server) statsdName() string {
	if s.statsd == nil {
		return ""
	}
	return s.statsd.Addr()
}

func (s *server) statsdBuffer() int {
	if s.statsd == nil {
		return 0
	}
	return s.statsd.UDP().BufferBytes()
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	promapi.New(s.store, version).Register(mux)
	ingest.New(s.store, ingest.Options{}).Register(mux)
	mux.HandleFunc("GET /api/v1/status/storage", s.status)
	mux.HandleFunc("POST /admin/flush", s.flush)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "storaged is starting or stopping.", "")
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	// For the benches and for support: nginx does not route here, so it is for those who can reach the socket.
	mux.HandleFunc("GET /debug/pprof/", pprof.Index)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, http.StatusNotFound, "not_found", fmt.Sprintf("There is no %s %.200s here.", r.Method, r.URL.Path), "")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			// One broken request must not take the others' samples down with it.
			if broken := recover(); broken != nil && broken != http.ErrAbortHandler {
				s.log.Error("a request failed unexpectedly", "path", r.URL.Path, "error", broken)
				problem.Write(w, http.StatusInternalServerError, "service_unavailable", "storaged met an error it did not expect.",
					"Make a support bundle and report it.")
			}
		}()
		mux.ServeHTTP(w, r)
	})
}

func (s *server) flush(w http.ResponseWriter, _ *http.Request) {
	blocks, err := s.store.Flush()
	if err != nil {
		problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "The samples could not be written to a block: "+err.Error()+".",
			"They are in the journal and stay there. Look whether the pool is full or suspended.")
		return
	}
	writeJSON(w, map[string]any{"flushed": true, "blocks": blocks})
}

func writeJSON(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value)
}
