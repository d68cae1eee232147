// Package graphite takes what is sent to carbon: plaintext lines over TCP and UDP on one address, and pickled lists over
// TCP on another. Nobody waits for an answer: what came together is stored together, with interval durability.
package graphite

// The sockets, and the way of a batch into the store.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/daemon/shutdown"
	"cistern/services/ingest/sockets"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"golang.org/x/net/ipv4"
)

const (
	maxLine   = 8 << 10
	maxPacket = 64 << 10
	// wantedBuffer is how much the kernel is asked to hold of UDP while we are not scheduled.
	wantedBuffer = 16 << 20
	// batchPackets is how many are received in one call, where the system can.
	batchPackets = 32
	// maxBatch is how many samples are stored at once; more are several batches.
	maxBatch = 10_000
	// maxConnections and idleTimeout keep forgotten clients from piling up.
	maxConnections = 1024
	idleTimeout    = 10 * time.Minute
	// patience is how long a connection's samples are held, and the connection not read, while the store takes nothing.
	// Its sender buffers meanwhile.
	patience = time.Minute
	// maxDecoding is how many pickles are decoded at once: one may need a hundred times its size for a moment.
	maxDecoding = 2
)

// Durability is what holds for what came.
const Durability = journal.Interval

// Server listens for plaintext and pickle.
type Server struct {
	store  tsdb.Ingester
	tcp    net.Listener
	udp    *net.UDPConn
	buffer int
	drops  sockets.Drops
	pickle net.Listener

	lines, bad atomic.Uint64
	report     atomic.Pointer[func(error)]
	reported   atomic.Int64 // when, in seconds
	decoding   chan struct{}

	closing     chan struct{}
	end         shutdown.End
	mu          sync.Mutex
	connections map[net.Conn]struct{} // nil when closed
	done        sync.WaitGroup
}

// Listen opens the sockets and serves them until Close: address is plaintext's, TCP and UDP, pickleAddress pickle's. An
// empty one leaves its protocol out.
func Listen(address, pickleAddress string, store tsdb.Ingester) (*Server, error) {
	s := &Server{
		store: store, connections: map[net.Conn]struct{}{}, closing: make(chan struct{}),
		decoding: make(chan struct{}, maxDecoding),
	}
	if err := s.open(address, pickleAddress); err != nil {
		_ = s.Close()
		return nil, err
	}
	if s.tcp != nil {
		s.done.Add(2)
		go func() { defer s.done.Done(); s.receive() }()
		go func() { defer s.done.Done(); s.accept(s.tcp, s.streamLines) }()
	}
	if s.pickle != nil {
		s.done.Add(1)
		go func() { defer s.done.Done(); s.accept(s.pickle, s.streamPickles) }()
	}
	return s, nil
}

func (s *Server) open(address, pickleAddress string) error {
	if address != "" {
		tcp, err := sockets.ListenBoth(address, func(address string) error {
			udp, err := net.ListenPacket("udp", address)
			if err == nil {
				s.udp = udp.(*net.UDPConn)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("listening for Graphite on %w", err)
		}
		s.tcp = tcp
		s.buffer = sockets.Enlarge(s.udp, wantedBuffer)
	}
	if pickleAddress != "" {
		pickle, err := net.Listen("tcp", pickleAddress)
		if err != nil {
			return fmt.Errorf("listening for Graphite's pickle on %s/tcp: %w", pickleAddress, err)
		}
		s.pickle = pickle
	}
	return nil
}

// Addr is the address of the plaintext sockets; "" without them.
func (s *Server) Addr() string { return addressOf(s.tcp) }

// Datagrams is how many bytes the kernel holds of those that came over UDP, and how many of them it dropped because there were
// more; known is false where it does not tell.
func (s *Server) Datagrams() (buffer int, drops uint64, known bool) {
	if s.udp == nil {
		return 0, 0, false
	}
	drops, known = s.drops.Measure(s.udp)
	return s.buffer, drops, known
}

// PickleAddr is the address for pickle; "" without it.
func (s *Server) PickleAddr() string { return addressOf(s.pickle) }

func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Lines is how many lines and pickled data points were handed to the store; Bad how many were refused before, or
// unreadable messages.
func (s *Server) Lines() uint64 { return s.lines.Load() }

// Bad: see Lines.
func (s *Server) Bad() uint64 { return s.bad.Load() }

func (s *Server) accept(listener net.Listener, stream func(net.Conn)) {
	for {
		connection, err := listener.Accept()
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
			stream(connection)
			connection.Close()
			s.mu.Lock()
			delete(s.connections, connection)
			s.mu.Unlock()
		}()
	}
}

// limit says how long a connection may be idle.
func (s *Server) limit(connection net.Conn) {
	s.end.Limit(connection.SetReadDeadline, idleTimeout)
}

// streamLines reads lines from a connection. One that is too long is refused and skipped to its end. What was read
// together is stored together.
func (s *Server) streamLines(connection net.Conn) {
	reader := bufio.NewReaderSize(connection, maxPacket)
	var b batch
	for {
		s.limit(connection)
		text, err := reader.ReadSlice('\n')
		now := time.Now().UnixMilli()
		if errors.Is(err, bufio.ErrBufferFull) {
			b.refuse(TooLong)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = reader.ReadSlice('\n')
			}
			text = nil
		}
		if err == nil || errors.Is(err, io.EOF) {
			b.line(bytes.TrimSuffix(text, []byte{'\n'}), now)
			// The rest of what is there, up to its last whole line.
			there, _ := reader.Peek(reader.Buffered())
			whole := bytes.LastIndexByte(there, '\n') + 1
			b.packet(there[:whole], now)
			_, _ = reader.Discard(whole)
		}
		if !s.keep(&b, patience) || err != nil {
			return
		}
	}
}

// streamPickles reads messages: four bytes of length, the large end first, and a pickle.
func (s *Server) streamPickles(connection net.Conn) {
	reader := bufio.NewReaderSize(connection, maxPacket)
	var b batch
	for {
		s.limit(connection)
		var length [4]byte
		if _, err := io.ReadFull(reader, length[:]); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				b.refuse(BadPickle)
				s.keep(&b, patience)
			}
			return
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > maxPickle {
			b.refuse(LongPickle)
			s.keep(&b, patience)
			return
		}
		// It grows with what comes, not with what is announced.
		var message bytes.Buffer
		if _, err := io.CopyN(&message, reader, int64(n)); err != nil {
			b.refuse(BadPickle)
			s.keep(&b, patience)
			return
		}
		select {
		case s.decoding <- struct{}{}:
		default:
			select {
			case s.decoding <- struct{}{}:
			case <-s.closing:
				return
			}
		}
		b.pickle(message.Bytes(), time.Now().UnixMilli())
		<-s.decoding
		if !s.keep(&b, patience) {
			return
		}
	}
}

func (s *Server) receive() {
	connection := ipv4.NewPacketConn(s.udp) // the same system call for both families
	messages := make([]ipv4.Message, batchPackets)
	for i := range messages {
		messages[i].Buffers = [][]byte{make([]byte, maxPacket)}
	}
	var b batch
	for {
		if s.end.Begun() {
			s.end.Limit(s.udp.SetReadDeadline, shutdown.Quiet)
		}
		n, err := connection.ReadBatch(messages, 0)
		if errors.Is(err, net.ErrClosed) || errors.Is(err, os.ErrDeadlineExceeded) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond)
			continue
		}
		now := time.Now().UnixMilli()
		for i := range messages[:n] {
			b.packet(messages[i].Buffers[0][:messages[i].N], now)
		}
		s.keep(&b, 0)
	}
}

// keep stores and empties a batch. While the store takes nothing it tries again until patience ends; false means that
// samples were lost, and counted.
func (s *Server) keep(b *batch, patience time.Duration) bool {
	for reason, n := range b.refused {
		s.store.Reject(reason, n)
		s.bad.Add(uint64(n))
	}
	clear(b.refused)
	defer b.reset()
	end := time.Now().Add(patience)
	for rest := b.samples; len(rest) > 0; {
		part := rest[:min(len(rest), maxBatch)]
		// What is refused one by one the store counts itself.
		_, err := s.store.Ingest(context.Background(), "graphite", part, Durability)
		if err == nil {
			s.lines.Add(uint64(len(part)))
			rest = rest[len(part):]
			continue
		}
		s.tell(err)
		if time.Now().Before(end) && s.wait() {
			continue
		}
		s.store.Reject(NotStored, len(rest))
		s.bad.Add(uint64(len(rest)))
		return false
	}
	return true
}

// wait waits a second; false means that the server closes.
func (s *Server) wait() bool {
	select {
	case <-s.closing:
		return false
	case <-time.After(time.Second):
		return true
	}
}

// tell reports an error, once a second at most.
func (s *Server) tell(err error) {
	now := time.Now().Unix()
	if report := s.report.Load(); report != nil && s.reported.Swap(now) != now {
		(*report)(fmt.Errorf("storing what came by Graphite: %w", err))
	}
}

// Close stops listening, and returns when everything received was handed on, what the kernel still held too.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.connections == nil {
		s.mu.Unlock()
		s.done.Wait()
		return nil
	}
	s.end.Begin()
	close(s.closing)
	for connection := range s.connections {
		s.limit(connection)
	}
	s.connections = nil
	s.mu.Unlock()
	var errs []error
	for _, l := range []net.Listener{s.tcp, s.pickle} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	if s.udp != nil {
		s.end.Limit(s.udp.SetReadDeadline, shutdown.Quiet)
	}
	s.done.Wait()
	if s.udp != nil {
		errs = append(errs, s.udp.Close())
	}
	return errors.Join(errs...)
}

// Serve tells report of errors, and closes the sockets when ctx ends. It returns when everything received was handed on.
func (s *Server) Serve(ctx context.Context, report func(error)) {
	s.report.Store(&report)
	<-ctx.Done()
	if err := s.Close(); err != nil {
		report(err)
	}
}
