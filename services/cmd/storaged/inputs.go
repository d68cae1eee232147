package main

// The inputs that bring a socket or routes of their own: one table. Remote write and import are always there.

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"cistern/services/journal"
	"cistern/services/statsd"
)

// input is one way in. Those that listen are opened by listen; those over HTTP add their routes.
type input struct {
	name    string
	enabled func(c *config) bool
	// listen opens the sockets. What it returns serves until ctx ends, and then returns with everything handed on.
	listen func(s *server, c *config) (serve func(ctx context.Context), err error)
	routes func(s *server, c *config, mux *http.ServeMux)
}

// Graphite, OTLP, HTTPTrap and collectd get their functions here when their packages are merged; until then switching
// one on is an error.
var inputs = []input{
	{name: "statsd", enabled: func(c *config) bool { return c.Statsd.Enabled }, listen: listenStatsd},
	{name: "graphite", enabled: func(c *config) bool { return c.Graphite.Enabled }},
	{name: "collectd", enabled: func(c *config) bool { return c.Collectd.Enabled }},
	{name: "otlp", enabled: func(c *config) bool { return c.OTLP.Enabled }},
	{name: "httptrap", enabled: func(c *config) bool { return c.HTTPTrap.Enabled }},
}

// startInputs opens all that are enabled and serves them until ctx ends.
func (s *server) startInputs(ctx context.Context, c *config) error {
	for _, in := range inputs {
		if !in.enabled(c) {
			continue
		}
		if in.listen == nil && in.routes == nil {
			return fmt.Errorf("the input %s is enabled, but this storaged has none", in.name)
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
			if time.Since(last) > time.Minute {
				s.log.Error("statsd's second was not stored; timers are kept and tried again", "error", err)
				last = time.Now()
			}
		})
	}, nil
}

// described is what the inputs say of themselves in the log when they are ready.
func (s *server) described() []any {
	if s.statsd == nil {
		return nil
	}
	stats := s.statsd.Stats()
	return []any{"statsd", s.statsd.Addr(), "statsdSockets", stats.Sockets, "statsdBuffer", stats.BufferBytes, "statsdAdmin", s.statsd.AdminAddr()}
}
