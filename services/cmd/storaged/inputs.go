package main

// The inputs: one table. Each has its section of the settings, and its senders.

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"sync/atomic"
	"time"

	"cistern/services/daemon"
	"cistern/services/ingest/collectd"
	"cistern/services/ingest/graphite"
	"cistern/services/ingest/httptrap"
	"cistern/services/ingest/importer"
	"cistern/services/ingest/influx"
	"cistern/services/ingest/otlp"
	"cistern/services/ingest/remotewrite"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/statsd"
	"cistern/services/ingest/tlsport"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// input is one way in. Those that listen are opened by listen; those over HTTP add their routes.
type input struct {
	name     string // of its section
	settings func(c *config) *inputConfig
	// listen opens the sockets. What it returns serves until ctx ends, and then returns with everything handed on. closed is
	// told then.
	listen func(s *server, c *config) (serve func(ctx context.Context), err error)
	closed func(l *openInputs)
	// patterns are the routes that register adds to a mux of the input's own.
	patterns []string
	register func(s *server, c *config, mux *http.ServeMux)
}

var inputs = []input{
	{name: "statsd", settings: func(c *config) *inputConfig { return &c.Statsd.inputConfig }, listen: listenStatsd,
		closed: func(l *openInputs) { l.statsd = nil }},
	{name: "graphite", settings: func(c *config) *inputConfig { return &c.Graphite.inputConfig }, listen: listenGraphite,
		closed: func(l *openInputs) { l.graphite = nil }},
	{name: "collectd", settings: func(c *config) *inputConfig { return &c.Collectd.inputConfig }, listen: listenCollectd,
		closed: func(l *openInputs) { l.collectd = nil }},
	{name: "influx_socket", settings: func(c *config) *inputConfig { return &c.InfluxSocket.inputConfig }, listen: listenInflux,
		closed: func(l *openInputs) { l.influx = nil }},
	{name: "remote_write", settings: func(c *config) *inputConfig { return &c.RemoteWrite }, patterns: []string{"POST /api/v1/write"}, register: routeRemoteWrite},
	{name: "import", settings: func(c *config) *inputConfig { return &c.Import }, patterns: []string{"POST /api/v1/import"}, register: routeImport},
	{name: "otlp", settings: func(c *config) *inputConfig { return &c.OTLP.inputConfig }, listen: listenOTLP, closed: func(l *openInputs) { l.otlpGRPC = nil },
		patterns: []string{"POST /v1/metrics", "POST /api/v1/otlp/v1/metrics"}, register: routeOTLP},
	{name: "httptrap", settings: func(c *config) *inputConfig { return &c.HTTPTrap }, register: routeHTTPTrap,
		patterns: []string{"POST /api/v1/trap", "PUT /api/v1/trap", "POST /api/v1/trap/{check}", "PUT /api/v1/trap/{check}"}},
	{name: "influx", settings: func(c *config) *inputConfig { return &c.Influx }, register: routeInflux,
		patterns: []string{"POST /write", "POST /api/v2/write", "GET /ping", "GET /query", "POST /query"}},
	{name: "collectd_http", settings: func(c *config) *inputConfig { return &c.CollectdHTTP }, patterns: []string{"POST /api/v1/collectd"}, register: routeCollectd},
}

func listenStatsd(s *server, c *config) (func(context.Context), error) {
	o := statsd.Options{
		Address: c.Statsd.Address, Socket: c.Statsd.Socket, Admin: c.Statsd.Admin, Readers: c.Statsd.Readers,
		Buffer: c.Statsd.BufferMiB << 20, Names: c.Statsd.Names, NamesBytes: c.Limits.MemoryMiB << 20 / 4, Clock: s.clock, Durability: journal.Durability(c.Statsd.Durability),
		Senders: s.senders["statsd"],
		Settings: map[string]string{
			"address": c.Statsd.Address, "socket": c.Statsd.Socket, "admin": c.Statsd.Admin, "durability": string(c.Statsd.Durability),
			"names": strconv.Itoa(c.Statsd.Names), "flushInterval": "1000",
		},
	}
	listening, err := statsd.Listen(s.store, o)
	if err != nil {
		return nil, err
	}
	if err := s.listenTLS("statsd", c, listening); err != nil {
		return nil, err
	}
	s.opened(func(l *openInputs) { l.statsd = listening })
	s.names.Store(listening)
	return func(ctx context.Context) {
		defer s.names.CompareAndSwap(listening, nil)
		var last time.Time
		listening.Serve(ctx, func(err error) {
			switch {
			case errors.Is(err, statsd.ErrLost):
				s.log.Error("what statsd received is lost", "error", err)
			case time.Since(last) > time.Minute:
				s.log.Warn("a second of statsd was not stored", "error", err)
				last = time.Now()
			}
		})
	}, nil
}

// durable gives everything that an input stores the durability it was set to.
type durable struct {
	*tsdb.Store
	durability journal.Durability
}

func (l durable) Ingest(ctx context.Context, input string, samples []tsdb.Sample, _ journal.Durability) ([]tsdb.Rejection, error) {
	return l.Store.Ingest(ctx, input, samples, l.durability)
}

// seldom reports an input's trouble, once a minute at most.
func (s *server) seldom(what string) func(error) {
	var last atomic.Int64
	return func(err error) {
		now := time.Now().Unix()
		if before := last.Load(); now-before >= 60 && last.CompareAndSwap(before, now) {
			s.log.Error(what, "error", err)
		}
	}
}

// listenTLS opens an input's port for TLS when it is wanted; where it cannot the input is closed.
func (s *server) listenTLS(name string, c *config, in interface {
	ListenTLS(address string, o tlsport.Options, told func(netip.Addr, error)) error
	Close() error
}) error {
	t := c.tls(name)
	if t.TLSAddress == "" {
		return nil
	}
	var last atomic.Int64
	told := func(from netip.Addr, why error) { // these senders are seldom told by their own logs
		now := time.Now().Unix()
		if before := last.Load(); now-before >= 60 && last.CompareAndSwap(before, now) {
			s.log.Warn("a sender could not be let in by TLS", "input", name, "from", senders.Text(from), "error", why)
		}
	}
	err := in.ListenTLS(t.TLSAddress, tlsport.Options{Certificate: s.identity.Certificate, ClientCA: t.TLSClientCA}, told)
	if err != nil {
		return errors.Join(err, in.Close())
	}
	return nil
}

func listenGraphite(s *server, c *config) (func(context.Context), error) {
	listening, err := graphite.Listen(c.Graphite.Address, c.Graphite.PickleAddress, durable{s.store, journal.Durability(c.Graphite.Durability)}, s.senders["graphite"])
	if err != nil {
		return nil, err
	}
	if err := s.listenTLS("graphite", c, listening); err != nil {
		return nil, err
	}
	s.opened(func(l *openInputs) { l.graphite = listening })
	return func(ctx context.Context) { listening.Serve(ctx, s.seldom("what came by Graphite was not stored")) }, nil
}

func listenCollectd(s *server, c *config) (func(context.Context), error) {
	listening, err := collectd.Listen(c.Collectd.Address, c.Collectd.Users, durable{s.store, journal.Durability(c.Collectd.Durability)}, s.senders["collectd"])
	if err != nil {
		return nil, err
	}
	s.opened(func(l *openInputs) { l.collectd = listening })
	return func(ctx context.Context) { listening.Serve(ctx, s.seldom("what collectd sent was not stored")) }, nil
}

// otlpHandler is the input's, whose routes and port share the running totals.
func (s *server) otlpHandler(c *config) *otlp.Handler {
	if s.otlp == nil {
		s.otlp = otlp.New(durable{s.store, journal.Durability(c.OTLP.Durability)}, c.otlpOptions())
	}
	return s.otlp
}

// listenOTLP opens the port for gRPC when it is wanted.
func listenOTLP(s *server, c *config) (func(context.Context), error) {
	if c.OTLP.GRPCAddress == "" {
		return func(context.Context) {}, nil
	}
	listening, err := otlp.ListenGRPC(c.OTLP.GRPCAddress, s.otlpHandler(c), s.senders["otlp"])
	if err != nil {
		return nil, err
	}
	if at, ok := listening.Address().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		s.log.Warn("otlp.grpc_address is not on loopback: whoever reaches the port may send, because it asks for no token", "listens", at.String())
	}
	s.opened(func(l *openInputs) { l.otlpGRPC = listening })
	return listening.Serve, nil
}

func listenInflux(s *server, c *config) (func(context.Context), error) {
	listening, err := influx.Listen(c.InfluxSocket.Address, s.store, journal.Durability(c.InfluxSocket.Durability), s.senders["influx_socket"])
	if err != nil {
		return nil, err
	}
	if err := s.listenTLS("influx_socket", c, listening); err != nil {
		return nil, err
	}
	s.opened(func(l *openInputs) { l.influx = listening })
	return func(ctx context.Context) {
		listening.Serve(ctx, s.seldom("what came as InfluxDB's lines was not stored"))
	}, nil
}

func routeRemoteWrite(s *server, c *config, mux *http.ServeMux) {
	handler := remotewrite.New(s.store, s.gate)
	handler.Durability = journal.Durability(c.RemoteWrite.Durability)
	handler.Register(mux)
}

// historyRoute takes history from administrators, who import what they have elsewhere: by the limits of the input remote_write,
// whether that is enabled or not.
func (s *server) historyRoute() http.Handler {
	own := http.NewServeMux()
	handler := remotewrite.NewHistory(s.store, s.gate)
	handler.Durability = journal.Durability(s.config.RemoteWrite.Durability)
	handler.Register(own)
	input := s.senders["remote_write"]
	known := input.Handler(s.store, own)
	return here(func(w http.ResponseWriter, r *http.Request) {
		// Also what comes by the socket is somebody else's history, which must not be taken for the appliance's own series.
		known.ServeHTTP(w, r.WithContext(tsdb.WithSender(r.Context(), input.From(netip.Addr{}))))
	})
}

func routeImport(s *server, c *config, mux *http.ServeMux) {
	handler := importer.New(s.store, s.gate)
	handler.Durability = journal.Durability(c.Import.Durability)
	handler.Register(mux)
}

func routeInflux(s *server, c *config, mux *http.ServeMux) {
	handler := influx.New(s.store, s.gate)
	handler.Durability = journal.Durability(c.Influx.Durability)
	handler.Register(mux)
}

func routeCollectd(s *server, c *config, mux *http.ServeMux) {
	handler := collectd.New(s.store, s.gate)
	handler.Durability = journal.Durability(c.CollectdHTTP.Durability)
	handler.Register(mux)
}

func routeOTLP(s *server, c *config, mux *http.ServeMux) { s.otlpHandler(c).Register(mux) }

func routeHTTPTrap(s *server, c *config, mux *http.ServeMux) {
	handler := httptrap.New(s.store)
	handler.Durability = journal.Durability(c.HTTPTrap.Durability)
	handler.Register(mux)
}

// describe adds the inputs to the line of the log that says that storaged is ready.
func (s *server) describe(p *daemon.Process) {
	on := s.listening.Load()
	if on.statsd != nil {
		stats := on.statsd.Stats()
		p.Describe("statsd", on.statsd.Addr(), "statsdSockets", stats.Sockets, "statsdBuffer", stats.BufferBytes, "statsdAdmin", on.statsd.AdminAddr())
	}
	if on.otlpGRPC != nil {
		p.Describe("otlpGrpc", on.otlpGRPC.Address().String())
	}
}
