package main

// The parts of storaged and how they hang together.

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/daemon"
	"cistern/services/daemon/problem"
	"cistern/services/ingest/admission"
	"cistern/services/ingest/otlp"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/statsd"
	"cistern/services/outputs"
	"cistern/services/platform/fastclock"
	"cistern/services/store/api"
	"cistern/services/store/rules"
	"cistern/services/store/tsdb"
)

// writeTimeout is how long a request may take from its header to the last byte of its answer: as long as it may be read and
// evaluated, and then some minutes for a slow line.
const writeTimeout = 10 * time.Minute

type server struct {
	log     *slog.Logger
	config  *config
	store   *tsdb.Store
	clock   *fastclock.Clock
	figures *statistics
	queries *api.API
	rules   *rules.Manager // nil until the store is open
	otlp    *otlp.Handler
	senders map[string]*senders.Input // by the input's name
	gate    *admission.Gate
	outputs *outputs.Manager
	names   atomic.Pointer[statsd.Server] // which remembers them; nil while statsd is off
	ready   atomic.Bool
	inputSet

	serving sync.WaitGroup
}

// setup opens the store and what brings samples into it. When the daemon stops, running requests finish first, then the
// inputs end, and then the store is flushed, so that whatever was acknowledged is in a block afterwards.
func setup(ctx context.Context, p *daemon.Process, c *config) (err error) {
	s := &server{log: p.Log, config: c}
	s.store, err = tsdb.Open(c.Data, tsdb.Options{
		Log: p.Log, Retention: time.Duration(c.Retention.Raw), RetentionMinute: time.Duration(c.Retention.Minute),
		RetentionHour: time.Duration(c.Retention.Hour), OutOfOrder: time.Duration(c.Store.OutOfOrder),
		BlockEvery: time.Duration(c.Store.BlockEvery), HeadBytes: c.Limits.MemoryMiB << 20 * 6 / 10,
		Held: s.namesBytes, MaxSeries: c.Limits.Series, SeriesPerSecond: c.Limits.SeriesPerSecond, SeriesBurst: c.Limits.SeriesBurst,
	})
	if err != nil {
		return err
	}
	inputs, stopInputs := context.WithCancel(context.WithoutCancel(ctx)) // they outlive the requests
	p.OnStop(func() error {
		stopInputs()
		if s.rules != nil {
			s.rules.Close()
		}
		s.serving.Wait()
		return s.store.Close()
	})
	s.readInputs()
	s.senders, s.gate = s.openSenders(), admission.New(s.store)
	s.outputs = outputs.New(s.store, c.Data, s.ownPort, p.Log)
	s.clock = fastclock.New()
	s.input(func() { s.clock.Run(inputs.Done()) })
	if err := s.startInputs(inputs); err != nil {
		return err
	}
	s.queries = api.NewWith(s.store, p.Version, api.Options{
		Limits: c.limits(), Interval: time.Duration(c.Queries.SubqueryStep),
		ExperimentalFunctions: c.Queries.ExperimentalFunctions, DurationExpressions: c.Queries.DurationExpressions,
	})
	s.queries.Stopping = ctx.Done() // streams never end by themselves
	s.queries.Settings = s.settings
	if err := s.openRules(c); err != nil {
		return err
	}
	s.figures = newStatistics(s, c.Statistics.Host)
	routes := s.routes()
	if c.HTTP.Socket != "" {
		if err := p.Listen(daemon.Listener{Socket: c.HTTP.Socket, Handler: routes, Adjust: adjust}); err != nil {
			return err
		}
	}
	if c.HTTP.Address != "" {
		if err := p.Listen(daemon.Listener{Address: c.HTTP.Address, Handler: routes, Adjust: adjust}); err != nil {
			return err
		}
	}
	s.input(func() { s.figures.run(inputs) })
	s.input(func() { s.outputs.Run(inputs) })
	s.input(func() { adapt(inputs, s.store) })
	bound(c.Limits.MemoryMiB << 20)
	s.input(func() {
		s.queries.Pool().Watch(inputs, c.Limits.MemoryMiB<<20, func() int64 { return s.store.InMemory() + s.store.Working() + s.namesBytes() })
	})
	refused := &refusalLog{server: s, before: map[string]map[tsdb.Reason]uint64{}}
	s.input(func() { refused.run(inputs) })
	s.rules.Start()
	s.ready.Store(true)
	context.AfterFunc(ctx, func() { s.ready.Store(false) })
	p.Describe("data", c.Data)
	s.describe(p)
	return nil
}

// namesBytes is about what inputs take of memory to remember names.
func (s *server) namesBytes() int64 {
	if listening := s.names.Load(); listening != nil {
		return listening.NamesBytes()
	}
	return 0
}

// adjust sets how long a request may take.
func adjust(server *http.Server) {
	server.ReadTimeout, server.IdleTimeout = 2*time.Minute, 5*time.Minute
	// Whoever does not read keeps what he asked for in memory. Streams set a time for each write themselves.
	server.WriteTimeout = writeTimeout
	server.MaxHeaderBytes = 64 << 10
}

func (s *server) input(f func()) {
	s.serving.Go(f)
}

func (s *server) routes() http.Handler { return s.scoped(s.table()) }

func (s *server) table() *routeTable {
	mux := &routeTable{}
	s.queries.Register(mux)
	s.inputRoutes(s.config, mux)
	mux.HandleFunc("GET /api/v1/status/storage", s.status)
	mux.HandleFunc("GET /metrics", s.figures.expose)
	mux.HandleFunc("POST /admin/flush", s.flush)
	mux.Handle("POST /admin/write", s.historyRoute())
	// akd's, which says who may: by the Unix socket, or from this machine.
	mux.HandleFunc("GET /admin/retention", s.getRetention)
	mux.HandleFunc("PUT /admin/retention", here(s.putRetention))
	mux.HandleFunc("GET /admin/meanings", here(s.getMeanings))
	mux.HandleFunc("PUT /admin/meanings", here(s.putMeanings))
	mux.HandleFunc("GET /admin/names", here(s.getNames))
	mux.HandleFunc("POST /admin/watch", here(s.queries.Watch))
	mux.HandleFunc("GET /admin/inputs", here(s.getInputs))
	mux.HandleFunc("PUT /admin/inputs", here(s.putInputs))
	mux.HandleFunc("POST /admin/inputs/certificate", here(s.renewCertificate))
	mux.HandleFunc("POST /admin/selector/check", here(s.checkSelector))
	s.outputRoutes(mux)
	s.ruleRoutes(mux)
	mux.HandleFunc("GET /healthz", s.whenReady("ok\n"))
	// As Prometheus has them. Healthy is that it answers at all.
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("Cistern's store is healthy.\n")) })
	mux.HandleFunc("GET /-/ready", s.whenReady("Cistern's store is ready.\n"))
	// For the benches and for support: nginx does not route here, and the network is not answered.
	mux.HandleFunc("GET /debug/pprof/", here(pprof.Index))
	mux.HandleFunc("GET /debug/pprof/profile", here(pprof.Profile))
	mux.HandleFunc("GET /debug/pprof/trace", here(pprof.Trace))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		problem.Write(w, http.StatusNotFound, "not_found", fmt.Sprintf("There is no %s %.200s here.", r.Method, r.URL.Path), "")
	})
	return mux
}

// whenReady answers a text, and 503 while storaged starts or stops.
func (s *server) whenReady(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if !s.ready.Load() {
			problem.Write(w, http.StatusServiceUnavailable, "service_unavailable", "storaged is starting or stopping.", "")
			return
		}
		_, _ = w.Write([]byte(text))
	}
}

// here answers this machine only: a Unix socket, or loopback.
func here(handler http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		host, _, err := net.SplitHostPort(r.RemoteAddr)
		ip := net.ParseIP(host)
		// A user whom nginx has let in goes by the management service, which decides who may and notes who did.
		if err == nil && (ip == nil || !ip.IsLoopback()) || r.Header.Get("X-Cistern-User") != "" {
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
