package statsd

// The sockets: UDP and TCP of one address, a Unix datagram socket, and the admin interface.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"

	"cistern/services/receive"
)

// Listeners says where to listen; what is empty is not opened.
type Listeners struct {
	Address string // UDP and TCP
	Socket  string // path of a Unix datagram socket
	Admin   string // TCP, the admin interface
}

// Server is statsd on the network.
type Server struct {
	aggregator *Aggregator
	udp        *receive.Datagrams
	unix       *receive.Datagrams
	tcp        *receive.Streams
	admin      *receive.Streams
	down       atomic.Bool // said by the admin interface
}

// Listen opens the sockets and serves them until Close.
func Listen(where Listeners, aggregator *Aggregator) (s *Server, err error) {
	s = &Server{aggregator: aggregator}
	defer func() {
		if err != nil {
			err = fmt.Errorf("statsd: %w", errors.Join(err, s.Close()))
		}
	}()
	if where.Address != "" {
		if s.tcp, err = receive.TCP(where.Address, s.stream); err != nil {
			return s, err
		}
		if s.udp, err = receive.UDP(sameAddress(where.Address, s.tcp.Addr()), aggregator.Packets); err != nil {
			return s, err
		}
	}
	if where.Socket != "" {
		if s.unix, err = receive.Unix(where.Socket, aggregator.Packets); err != nil {
			return s, err
		}
	}
	if where.Admin != "" {
		if s.admin, err = receive.TCP(where.Admin, s.console); err != nil {
			return s, err
		}
	}
	return s, nil
}

// sameAddress is address with the port that a listener of it got: with port 0 both are to have the same.
func sameAddress(address, got string) string {
	host, _, err := net.SplitHostPort(address)
	_, port, err2 := net.SplitHostPort(got)
	if err != nil || err2 != nil {
		return address
	}
	return net.JoinHostPort(host, port)
}

// Addr is the address of UDP and TCP, "" when there is none; AdminAddr that of the admin interface.
func (s *Server) Addr() string { return streamAddr(s.tcp) }

// AdminAddr: see Addr.
func (s *Server) AdminAddr() string { return streamAddr(s.admin) }

func streamAddr(s *receive.Streams) string {
	if s == nil {
		return ""
	}
	return s.Addr()
}

// UDP and Unix are the datagram sockets, or nil; TCP the connections.
func (s *Server) UDP() *receive.Datagrams { return s.udp }

// Unix: see UDP.
func (s *Server) Unix() *receive.Datagrams { return s.unix }

// TCP: see UDP.
func (s *Server) TCP() *receive.Streams { return s.tcp }

func (s *Server) stream(connection net.Conn) {
	_ = receive.Lines(connection, maxLine, func(lines []byte) error {
		s.aggregator.Packet(lines)
		return nil
	}, func() { s.aggregator.store.Reject(TooLong, 1) })
}

// Close stops listening, and returns when everything received was handed on.
func (s *Server) Close() error {
	var all []error
	for _, d := range []*receive.Datagrams{s.udp, s.unix} {
		if d != nil {
			all = append(all, d.Close())
		}
	}
	for _, t := range []*receive.Streams{s.tcp, s.admin} {
		if t != nil {
			all = append(all, t.Close())
		}
	}
	return errors.Join(all...)
}

// Serve runs the aggregator, and closes the sockets when ctx ends: what was received until then is written.
func (s *Server) Serve(ctx context.Context, report func(error)) {
	inner, stop := context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		<-ctx.Done()
		_ = s.Close()
		stop()
	}()
	s.aggregator.Run(inner, report)
}
