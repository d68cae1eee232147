package graphite

// The sockets.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	"cistern/services/receive"
	"cistern/services/tsdb"
)

// Listeners says where to listen; what is empty is not opened.
type Listeners struct {
	Plain  string // TCP and UDP, lines
	Pickle string // TCP, carbon's pickled batches
}

// Server is Graphite on the network.
type Server struct {
	sink   *sink
	tcp    *receive.Streams
	udp    *receive.Datagrams
	pickle *receive.Streams
	ctx    context.Context
	stop   context.CancelFunc
	spare  sync.Pool // decoders
}

// Listen opens the sockets and serves them until Close.
func Listen(where Listeners, store tsdb.Ingester, options Options) (s *Server, err error) {
	s = &Server{sink: newSink(store, options), spare: sync.Pool{New: func() any { return newDecoder() }}}
	s.ctx, s.stop = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			err = fmt.Errorf("graphite: %w", errors.Join(err, s.Close()))
		}
	}()
	if where.Plain != "" {
		if s.tcp, err = receive.TCP(where.Plain, s.lines); err != nil {
			return s, err
		}
		address := where.Plain
		if host, port, err := net.SplitHostPort(where.Plain); err == nil && port == "0" { // both have the same
			_, port, _ = net.SplitHostPort(s.tcp.Addr())
			address = net.JoinHostPort(host, port)
		}
		if s.udp, err = receive.UDP(address, s.packets); err != nil {
			return s, err
		}
	}
	if where.Pickle != "" {
		if s.pickle, err = receive.TCP(where.Pickle, s.batches); err != nil {
			return s, err
		}
	}
	return s, nil
}

// Addr is the address of the lines, PickleAddr that of the batches; "" when there is none.
func (s *Server) Addr() string {
	if s.tcp == nil {
		return ""
	}
	return s.tcp.Addr()
}

// PickleAddr: see Addr.
func (s *Server) PickleAddr() string {
	if s.pickle == nil {
		return ""
	}
	return s.pickle.Addr()
}

// UDP is the datagram sockets, or nil; TCP and Pickle the connections.
func (s *Server) UDP() *receive.Datagrams { return s.udp }

// TCP: see UDP.
func (s *Server) TCP() *receive.Streams { return s.tcp }

// Pickle: see UDP.
func (s *Server) Pickle() *receive.Streams { return s.pickle }

func (s *Server) lines(connection net.Conn) {
	d := newDecoder()
	_ = receive.Lines(connection, maxLine, func(text []byte) error {
		d.reset()
		d.lines(text)
		s.sink.put(s.ctx, d, true)
		return nil
	}, func() { s.sink.store.Reject(TooLong, 1) })
}

func (s *Server) packets(packets [][]byte) {
	d := s.spare.Get().(*decoder)
	defer s.spare.Put(d)
	d.reset()
	for _, packet := range packets {
		d.lines(packet)
	}
	s.sink.put(s.ctx, d, false)
}

// Close stops listening, and returns when everything received was handed on.
func (s *Server) Close() error {
	s.stop()
	var all []error
	if s.udp != nil {
		all = append(all, s.udp.Close())
	}
	for _, t := range []*receive.Streams{s.tcp, s.pickle} {
		if t != nil {
			all = append(all, t.Close())
		}
	}
	return errors.Join(all...)
}
