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

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
	"cistern/services/ingest/admission"
	"cistern/services/ingest/collectd"
	"cistern/services/ingest/graphite"
	"cistern/services/ingest/importer"
	"cistern/services/ingest/remotewrite"
	"cistern/services/ingest/statsd"
	"cistern/services/journal"
	"cistern/services/platform/fastclock"
	"cistern/services/store/api"
	"cistern/services/store/tsdb"
)

// writeTimeout is how long a request may take from its header to the last byte of its answer: as long as it may be read and
// evaluated, and then some minutes for a slow line.
const writeTimeout = 10 * time.Minute

type server struct {
	log       *slog.Logger
	config    *config
	store     *tsdb.Store
	clock     *fastclock.Clock
	figures   *statistics
	queries   *api.API
	http      *http.Server
	httpNames []string
	statsd    *statsd.Server // these are nil when they are off
	graphite  *graphite.Server
	collectd  *collectd.Server
	failed    chan error
	ready     atomic.Bool

	stopInputs context.CancelFunc
	serving    sync.WaitGroup
}

func start(c *config, log *slog.Logger) (_ *server, err error) {
	s := &server{log: log, config: c, failed: make(chan error, 4)}
	s.store, err = tsdb.Open(c.Data, tsdb.Options{
		Log: log, Retention: time.Duration(c.Retention.Raw), RetentionMinute: time.Duration(c.Retention.Minute),
		RetentionHour: time.Duration(c.Retention.Hour), OutOfOrder: time.Duration(c.Store.OutOfOrder),
		BlockEvery: time.Duration(c.Store.BlockEvery), HeadBytes: c.Limits.MemoryMiB << 20 * 6 / 10,
		MaxSeries: c.Limits.Series, SeriesPerSecond: c.Limits.SeriesPerSecond, SeriesBurst: c.Limits.SeriesBurst,
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
	s.clock = fastclock.New()
	s.input(func() { s.clock.Run(ctx.Done()) })
	if err := s.startInputs(ctx, c); err != nil {
		return nil, err
	}
	s.queries = api.New(s.store, version)
	stopping := make(chan struct{})
	s.queries.Stopping = stopping
	s.figures = newStatistics(s, c.Statistics.Host)
	s.http = &http.Server{
		Handler: s.routes(), ConnContext: unixsocket.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 5 * time.Minute,
		// Whoever does not read keeps what he asked for in memory. Streams set a time for each write themselves.
		WriteTimeout:   writeTimeout,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	s.http.RegisterOnShutdown(func() { close(stopping) }) // Shutdown waits for streams, which end of themselves never
	if c.HTTP.Socket != "" {
		listener, err := unixsocket.Listen(c.HTTP.Socket)
		if err != nil {
			return nil, err
		}
		s.serve(listener, c.HTTP.Socket)
	}
	if c.HTTP.Address != "" {
		listener, err := net.Listen("tcp", c.HTTP.Address)
		if err != nil {
			return nil, fmt.Errorf("listening for HTTP on %s: %w", c.HTTP.Address, err)
		}
		s.serve(listener, listener.Addr().String())
	}
	s.input(func() { s.figures.run(ctx) })
	s.input(func() { adapt(ctx, s.store) })
	s.ready.Store(true)
	return s, nil
}

func (s *server) input(f func()) {
	s.serving.Go(f)
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
	s.serving.Wait()
	return errors.Join(httpErr, s.store.Close())
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	s.queries.Register(mux)
	gate := admission.New(s.store)
	written := remotewrite.New(s.store, gate)
	written.Durability = journal.Durability(s.config.RemoteWrite.Durability)
	written.Register(mux)
	imported := importer.New(s.store, gate)
	imported.Durability = journal.Durability(s.config.Import.Durability)
	imported.Register(mux)
	s.inputRoutes(s.config, mux)
	mux.HandleFunc("GET /api/v1/status/storage", s.status)
	mux.HandleFunc("GET /metrics", s.figures.expose)
	mux.HandleFunc("POST /admin/flush", s.flush)
	// akd's, which says who may: by the Unix socket, or from this machine.
	mux.HandleFunc("GET /admin/retention", here(s.getRetention))
	mux.HandleFunc("PUT /admin/retention", here(s.putRetention))
	mux.HandleFunc("POST /admin/watch", here(s.queries.Watch))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "storaged is starting or stopping.", "")
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	// For the benches and for support: nginx does not route here, and the network is not answered.
	mux.HandleFunc("GET /debug/pprof/", here(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/profile", here(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/trace", here(pprof.Trace))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, http.StatusNotFound, "not_found", fmt.Sprintf("There is no %s %.200s here.", r.Method, r.URL.Path), "")
	})
	return guarded(s.log, mux)
}

// guarded keeps one broken request from taking the others' samples down with it.
func guarded(log *slog.Logger, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch broken := recover(); broken {
			case nil:
			case http.ErrAbortHandler: // cuts the connection: a stream that ended well would be taken for all of the answer
				panic(broken)
			default:
				log.Error("a request failed unexpectedly", "path", r.URL.Path, "error", broken)
				problem.Write(w, http.StatusInternalServerError, "service_unavailable", "storaged met an error it did not expect.",
					"Make a support bundle and report it.")
			}
		}()
		handler.ServeHTTP(w, r)
	})
}

// here answers this machine only: a Unix socket, or loopback.
func here(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		if ip := net.ParseIP(host); err == nil && (ip == nil || !ip.IsLoopback()) {
			problem.Write(w, http.StatusForbidden, "forbidden", "This is for this machine only.", "Ask from the machine itself, or by the Unix socket.")
			return
		}
		handler(w, r)
	}
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
