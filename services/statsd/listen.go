package statsd

// The sockets. How packets are received in batches, and how large the kernel's buffer may be, is the operating
// system's; see udp_linux.go and udp_other.go.

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxPacket = 64 << 10
	// wantedBuffer is how much the kernel is asked to hold while we are not scheduled: PEERS.md's measurements show no
	// loss with this much.
	wantedBuffer = 64 << 20
	// maxConnections and idleTimeout keep forgotten TCP clients from piling up.
	maxConnections = 1024
	idleTimeout    = 10 * time.Minute
)

// Server listens for statsd over UDP and TCP on one address.
type Server struct {
	aggregator *Aggregator
	udp        *net.UDPConn
	tcp        net.Listener
	// BufferBytes is what the kernel granted; 0 when it does not say.
	BufferBytes int

	packets, drops atomic.Uint64
	mu             sync.Mutex
	connections    map[net.Conn]struct{}
	done           sync.WaitGroup
}

// Listen opens both sockets and serves them until Close.
func Listen(address string, aggregator *Aggregator) (*Server, error) {
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for statsd on %s/tcp: %w", address, err)
	}
	// With port 0 both get the same.
	resolved, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		tcp.Close()
		return nil, fmt.Errorf("listening for statsd on %s/udp: %w", address, err)
	}
	resolved.Port = tcp.Addr().(*net.TCPAddr).Port
	udp, err := net.ListenUDP("udp", resolved)
	if err != nil {
		tcp.Close()
		return nil, fmt.Errorf("listening for statsd on %s/udp: %w", address, err)
	}
	s := &Server{aggregator: aggregator, udp: udp, tcp: tcp, connections: map[net.Conn]struct{}{}}
	s.BufferBytes = prepare(udp)
	s.done.Add(2)
	go func() { defer s.done.Done(); s.receive() }()
	go func() { defer s.done.Done(); s.accept() }()
	return s, nil
}

// Addr is the address of both sockets.
func (s *Server) Addr() string { return s.tcp.Addr().String() }

// Packets is how many UDP packets came; Drops how many the kernel dropped because its buffer was full, as far as it says.
func (s *Server) Packets() uint64 { return s.packets.Load() }

// Drops: see Packets.
func (s *Server) Drops() uint64 { return s.drops.Load() }

func (s *Server) accept() {
	for {
		connection, err := s.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.mu.Lock()
		if s.connections == nil || len(s.connections) >= maxConnections {
			s.mu.Unlock()
			connection.Close()
			continue
		}
		s.connections[connection] = struct{}{}
		s.done.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.done.Done()
			s.stream(connection)
			connection.Close()
			s.mu.Lock()
			delete(s.connections, connection)
			s.mu.Unlock()
		}()
	}
}

// stream reads lines from a connection. One that is too long is refused and skipped to its end.
func (s *Server) stream(connection net.Conn) {
	reader := bufio.NewReaderSize(connection, maxLine+2)
	for {
		_ = connection.SetReadDeadline(time.Now().Add(idleTimeout))
		text, err := reader.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			s.aggregator.store.Reject(TooLong, 1)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = reader.ReadSlice('\n')
			}
			text = nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return
		}
		// What is there already comes along under the same lock.
		if len(text) > 0 {
			s.aggregator.Packet(text)
		}
		if err != nil {
			return
		}
	}
}

// Close stops listening, and returns when everything received was handed on.
func (s *Server) Close() error {
	err := errors.Join(s.udp.Close(), s.tcp.Close())
	s.mu.Lock()
	for connection := range s.connections {
		connection.Close()
	}
	s.connections = nil
	s.mu.Unlock()
	s.done.Wait()
	return err
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
