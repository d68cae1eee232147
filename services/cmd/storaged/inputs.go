package main

// The inputs that bring a socket or routes of their own: one table. Remote write and import are always there.

import (
	"context"
	"errors"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"time"

	"cistern/services/daemon"
	"cistern/services/ingest/collectd"
	"cistern/services/ingest/graphite"
	"cistern/services/ingest/httptrap"
	"cistern/services/ingest/otlp"
	"cistern/services/ingest/statsd"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// input is one way in. Those that listen are opened by listen; those over HTTP add their routes.
type input struct {
	name    string
	enabled func(c *config) bool
	// listen opens the sockets. What it returns serves until ctx ends, and then returns with everything handed on.
	listen func(s *server, c *config) (serve func(ctx context.Context), err error)
	routes func(s *server, c *config, mux *http.ServeMux)
}

var inputs = []input{
	{name: "statsd", enabled: func(c *config) bool { return c.Statsd.Enabled }, listen: listenStatsd},
	{name: "graphite", enabled: func(c *config) bool { return c.Graphite.Enabled }, listen: listenGraphite},
	{name: "collectd", enabled: func(c *config) bool { return c.Collectd.Enabled }, listen: listenCollectd},
	{name: "otlp", enabled: func(c *config) bool { return c.OTLP.Enabled }, listen: listenOTLP, routes: routeOTLP},
	{name: "httptrap", enabled: func(c *config) bool { return c.HTTPTrap.Enabled }, routes: routeHTTPTrap},
}

// startInputs opens all that are enabled and serves them until ctx ends.
func (s *server) startInputs(ctx context.Context, c *config) error {
	for _, in := range inputs {
		if !in.enabled(c) {
			continue
		}
		if in.listen == nil {
			continue
		}
		serve, err := in.listen(s, c)
		if err != nil {
			return err
		}
		s.input(func() { serve(ctx) })
	}
	return nil
}

func (s *server) inputRoutes(c *config, mux *http.ServeMux) {
	for _, in := range inputs {
		if in.routes != nil && in.enabled(c) {
			in.routes(s, c, mux)
		}
	}
}

func listenStatsd(s *server, c *config) (func(context.Context), error) {
	o := statsd.Options{
		Address: c.Statsd.Address, Socket: c.Statsd.Socket, Admin: c.Statsd.Admin, Readers: c.Statsd.Readers,
		Buffer: c.Statsd.BufferMiB << 20, Names: c.Statsd.Names, Clock: s.clock, Durability: journal.Durability(c.Statsd.Durability),
		Settings: map[string]string{
			"address": c.Statsd.Address, "socket": c.Statsd.Socket, "admin": c.Statsd.Admin, "durability": string(c.Statsd.Durability),
			"names": strconv.Itoa(c.Statsd.Names), "flushInterval": "1000",
		},
	}
	listening, err := statsd.Listen(s.store, o)
	if err != nil {
		return nil, err
	}
	s.statsd = listening
	return func(ctx context.Context) {
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

func listenGraphite(s *server, c *config) (func(context.Context), error) {
	listening, err := graphite.Listen(c.Graphite.Address, c.Graphite.PickleAddress, durable{s.store, journal.Durability(c.Graphite.Durability)})
	if err != nil {
		return nil, err
	}
	s.graphite = listening
	return func(ctx context.Context) { listening.Serve(ctx, s.seldom("what came by Graphite was not stored")) }, nil
}

func listenCollectd(s *server, c *config) (func(context.Context), error) {
	listening, err := collectd.Listen(c.Collectd.Address, c.Collectd.Users, durable{s.store, journal.Durability(c.Collectd.Durability)})
	if err != nil {
		return nil, err
	}
	s.collectd = listening
	return func(ctx context.Context) { listening.Serve(ctx, s.seldom("what collectd sent was not stored")) }, nil
}

// listenOTLP makes the input, whose routes and port share the running totals, and opens the port when it is wanted.
func listenOTLP(s *server, c *config) (func(context.Context), error) {
	s.otlp = otlp.New(durable{s.store, journal.Durability(c.OTLP.Durability)}, c.otlpOptions())
	if c.OTLP.GRPCAddress == "" {
		return func(context.Context) {}, nil
	}
	listening, err := otlp.ListenGRPC(c.OTLP.GRPCAddress, s.otlp)
	if err != nil {
		return nil, err
	}
	if at, ok := listening.Address().(*net.TCPAddr); ok && !at.IP.IsLoopback() {
		s.log.Warn("otlp.grpc_address is not on loopback: whoever reaches the port may send, because it asks for no token", "listens", at.String())
	}
	s.otlpGRPC = listening
	return listening.Serve, nil
}

func routeOTLP(s *server, _ *config, mux *http.ServeMux) { s.otlp.Register(mux) }

func routeHTTPTrap(s *server, c *config, mux *http.ServeMux) {
	handler := httptrap.New(s.store)
	handler.Durability = journal.Durability(c.HTTPTrap.Durability)
	handler.Register(mux)
}

// describe adds the inputs to the line of the log that says that storaged is ready.
func (s *server) describe(p *daemon.Process) {
	if s.statsd != nil {
		stats := s.statsd.Stats()
		p.Describe("statsd", s.statsd.Addr(), "statsdSockets", stats.Sockets, "statsdBuffer", stats.BufferBytes, "statsdAdmin", s.statsd.AdminAddr())
	}
	if s.otlpGRPC != nil {
		p.Describe("otlpGrpc", s.otlpGRPC.Address().String())
	}
}
