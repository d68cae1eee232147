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

	"cistern/services/graphite"
	"cistern/services/ingest"
	"cistern/services/problem"
	"cistern/services/promapi"
	"cistern/services/receive"
	"cistern/services/statsd"
	"cistern/services/tsdb"
	"cistern/services/unixlisten"
)

type server struct {
	config    config
	log       *slog.Logger
	store     *tsdb.Store
	http      *http.Server
	httpNames []string
	lines     *statsd.Aggregator
	statsd    *statsd.Server
	graphite  *graphite.Server
	requests  requests
	failed    chan error
	ready     atomic.Bool

	stopInputs context.CancelFunc
	inputs     sync.WaitGroup
}

func start(c config, log *slog.Logger) (_ *server, err error) {
	s := &server{config: c, log: log, failed: make(chan error, 4)}
	s.store, err = tsdb.Open(c.Data, tsdb.Options{
		Log: log, Retention: time.Duration(c.Retention.Raw), RetentionMinute: time.Duration(c.Retention.Minute), RetentionHour: time.Duration(c.Retention.Hour),
		OutOfOrder: time.Duration(c.Limits.OutOfOrder), BlockEvery: time.Duration(c.Limits.BlockEvery), HeadBytes: c.Limits.Memory << 20 * 6 / 10,
		MaxSeries: c.Limits.MaxSeries, SeriesPerSecond: c.Limits.SeriesPerSecond, SeriesBurst: c.Limits.SeriesBurst,
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
	if err := s.startInputs(ctx); err != nil {
		return nil, err
	}
	s.http = &http.Server{
		Handler: s.routes(), ConnContext: unixlisten.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, ReadTimeout: 2 * time.Minute, IdleTimeout: 5 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	if c.HTTP.Socket != "" {
		listener, err := unixlisten.Listen(c.HTTP.Socket)
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
	statistics := newStatistics(s, c.Statistics.Host)
	s.input(func() { statistics.run(ctx) })
	s.ready.Store(true)
	return s, nil
}

// startInputs opens what listens beside HTTP.
func (s *server) startInputs(ctx context.Context) (err error) {
	c := &s.config
	report := func(input string) func(error) {
		return func(err error) { s.log.Error("samples are not stored", "input", input, "error", err) }
	}
	if c.Statsd.Address != "" || c.Statsd.Socket != "" {
		s.lines = statsd.NewAggregator(s.store, statsd.Options{Durability: c.Statsd.Durability, MaxNames: c.Statsd.MaxNames,
			ForgetAfter: time.Duration(c.Statsd.ForgetAfter), Log: s.log})
		where := statsd.Listeners{Address: c.Statsd.Address, Socket: c.Statsd.Socket, Admin: c.Statsd.Admin}
		if s.statsd, err = statsd.Listen(where, s.lines); err != nil {
			s.statsd = nil
			return err
		}
		s.input(func() { s.statsd.Serve(ctx, report("statsd")) })
	}
	if c.Graphite.Address != "" || c.Graphite.Pickle != "" {
		where := graphite.Listeners{Plain: c.Graphite.Address, Pickle: c.Graphite.Pickle}
		if s.graphite, err = graphite.Listen(where, s.store, graphite.Options{Durability: c.Graphite.Durability, Report: report("graphite")}); err != nil {
			s.graphite = nil
			return err
		}
		s.input(func() { <-ctx.Done(); _ = s.graphite.Close() })
	}
	return nil
}

// addresses is what is listened on beside HTTP, for the log.
func (s *server) addresses() (pairs []any) {
	add := func(name, address string) {
		if address != "" {
			pairs = append(pairs, name, address)
		}
	}
	if s.statsd != nil {
		add("statsd", s.statsd.Addr())
		add("statsdSocket", s.config.Statsd.Socket)
		add("statsdAdmin", s.statsd.AdminAddr())
	}
	if s.graphite != nil {
		add("graphite", s.graphite.Addr())
		add("graphitePickle", s.graphite.PickleAddr())
	}
	for _, one := range s.sockets() {
		if one.datagrams != nil && one.transport == "udp" {
			pairs = append(pairs, one.input+"Buffer", one.datagrams.BufferBytes())
		}
	}
	return pairs
}

// socketsOf is what an input has open for one transport.
type socketsOf struct {
	input, transport string
	datagrams        *receive.Datagrams
	streams          *receive.Streams
}

func (s *server) sockets() (list []socketsOf) {
	add := func(input, transport string, d *receive.Datagrams, t *receive.Streams) {
		if d != nil || t != nil {
			list = append(list, socketsOf{input, transport, d, t})
		}
	}
	if s.statsd != nil {
		add("statsd", "udp", s.statsd.UDP(), nil)
		add("statsd", "unix", s.statsd.Unix(), nil)
		add("statsd", "tcp", nil, s.statsd.TCP())
	}
	if s.graphite != nil {
		add("graphite", "udp", s.graphite.UDP(), nil)
		add("graphite", "tcp", nil, s.graphite.TCP())
		add("graphite_pickle", "tcp", nil, s.graphite.Pickle())
	}
	return list
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

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	promapi.New(s.store, version).Register(mux)
	ingest.New(s.store, ingest.Options{Durability: s.config.HTTP.Durability}).Register(mux)
	mux.HandleFunc("GET /api/v1/status/storage", s.status)
	mux.HandleFunc("POST /admin/flush", s.flush)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "storaged is starting or stopping.", "")
			return
		}
		_, _ = w.Write([]byte("ok\n"))
	})
	mux.HandleFunc("GET /metrics", s.metrics)
	mux.HandleFunc("GET /debug/pprof/", nearby(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/profile", nearby(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/trace", nearby(pprof.Trace))
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
		counted := &answer{ResponseWriter: w, status: http.StatusOK}
		defer func() { s.requests.count(r.Pattern, counted.status) }()
		mux.ServeHTTP(counted, r)
	})
}

// nearby lets those through who are on this machine: by the Unix socket, to which the web server routes no such path, or
// by a loopback address.
func nearby(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil && !net.ParseIP(host).IsLoopback() {
			problem.Write(w, http.StatusForbidden, "forbidden", "Profiles are given on this machine only.", "")
			return
		}
		next(w, r)
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
