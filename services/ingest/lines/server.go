// Package lines serves inputs that are lines of text over TCP and UDP on one address, and whose senders wait for no
// answer: what came together is stored together. What a line means is the input's.
package lines

// The sockets, and the way of a batch into the store.

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/daemon/shutdown"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/sockets"
	"cistern/services/ingest/tlsport"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"golang.org/x/net/ipv4"
)

const (
	// MaxLine is how long a line may be.
	MaxLine = 8 << 10
	// MaxPacket is how long a datagram may be.
	MaxPacket = 64 << 10
	// wantedBuffer is how much the kernel is asked to hold of UDP while we are not scheduled.
	wantedBuffer = 16 << 20
	// batchPackets is how many are received in one call, where the system can.
	batchPackets = 32
	// maxBatch is how many samples are stored at once; more are several batches.
	maxBatch = 10_000
	// maxConnections and idleTimeout keep forgotten clients from piling up.
	maxConnections = 1024
	idleTimeout    = 10 * time.Minute
	// Patience is how long a connection's samples are kept, and the connection not read, while the store takes nothing.
	// Its sender buffers meanwhile.
	Patience = time.Minute
)

// Options are what an input is.
type Options struct {
	Name    string // as samples are counted under
	Title   string // as errors name it
	Address string // TCP and UDP; none are opened without
	// Line takes one line, without its end, which came at now, ms.
	Line func(b *Batch, line []byte, now int64)
	// The reasons for a line that is too long, and for what the store did not take in time.
	TooLong, NotStored tsdb.Reason
	Durability         journal.Durability
	Senders            *senders.Input // nil: everybody may send
}

// Server listens for lines.
type Server struct {
	options Options
	store   tsdb.Ingester
	tcp     net.Listener
	tls     net.Listener
	udp     *net.UDPConn
	buffer  int
	drops   sockets.Drops

	lines, bad atomic.Uint64
	report     atomic.Pointer[func(error)]
	reported   atomic.Int64 // when, in seconds

	closing     chan struct{}
	others      []net.Listener
	end         shutdown.End
	mu          sync.Mutex
	connections map[net.Conn]struct{} // nil when closed
	done        sync.WaitGroup
}

// New makes a server that listens nowhere yet, and stores what is kept by it.
func New(store tsdb.Ingester, o Options) *Server {
	return &Server{options: o, store: store, connections: map[net.Conn]struct{}{}, closing: make(chan struct{})}
}

// Listen opens the sockets and serves them until Close.
func Listen(store tsdb.Ingester, o Options) (*Server, error) {
	s := New(store, o)
	if o.Address == "" {
		return s, nil
	}
	tcp, err := sockets.ListenBoth(o.Address, func(address string) error {
		udp, err := net.ListenPacket("udp", address)
		if err == nil {
			s.udp = udp.(*net.UDPConn)
		}
		return err
	})
	if err != nil {
		_ = s.Close()
		return nil, fmt.Errorf("listening for %s on %w", o.Title, err)
	}
	s.tcp = tcp
	s.buffer = sockets.Enlarge(s.udp, wantedBuffer)
	s.done.Add(2)
	go func() { defer s.done.Done(); s.receive() }()
	go func() { defer s.done.Done(); s.accept(s.tcp, s.stream) }()
	return s, nil
}

// Also serves the connections of one more listener until Close. stream has the batch of its connection.
func (s *Server) Also(listener net.Listener, stream func(net.Conn, *Batch)) {
	s.mu.Lock()
	s.others = append(s.others, listener)
	s.done.Add(1)
	s.mu.Unlock()
	go func() { defer s.done.Done(); s.accept(listener, stream) }()
}

// ListenTLS serves lines by TLS on an address as well, until Close. The senders are the server's. told is told why somebody was
// refused; nil for nobody.
func (s *Server) ListenTLS(address string, o tlsport.Options, told func(netip.Addr, error)) error {
	o.Senders = s.options.Senders
	o.Refused = func(from netip.Addr, reason tsdb.Reason, why error) {
		s.store.Reject(reason, 1)
		s.bad.Add(1)
		if told != nil && why != nil {
			told(from, why)
		}
	}
	listener, err := tlsport.Listen(address, o)
	if err != nil {
		return fmt.Errorf("listening for %s: %w", s.options.Title, err)
	}
	s.tls = listener
	s.Also(listener, s.stream)
	return nil
}

// Addr is the address of the sockets; "" without them.
func (s *Server) Addr() string { return addressOf(s.tcp) }

// TLSAddr is the address for TLS; "" without it.
func (s *Server) TLSAddr() string { return addressOf(s.tls) }

// Datagrams is how many bytes the kernel holds of those that came over UDP, and how many of them it dropped because there were
// more; known is false where it does not tell.
func (s *Server) Datagrams() (buffer int, drops uint64, known bool) {
	if s.udp == nil {
		return 0, 0, false
	}
	drops, known = s.drops.Measure(s.udp)
	return s.buffer, drops, known
}

func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Lines is how many samples were handed to the store; Bad how many lines were refused before, or unreadable messages.
func (s *Server) Lines() uint64 { return s.lines.Load() }

// Bad: see Lines.
func (s *Server) Bad() uint64 { return s.bad.Load() }

// Connections is how many there are.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}

// Closing is closed when the server closes.
func (s *Server) Closing() <-chan struct{} { return s.closing }

func (s *Server) accept(listener net.Listener, stream func(net.Conn, *Batch)) {
	for {
		connection, err := listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(100 * time.Millisecond)
			continue
		}
		from := senders.Address(connection.RemoteAddr())
		if reason := s.options.Senders.Unwanted(from); reason != "" {
			s.unwanted(from, reason)
			connection.Close()
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
			stream(connection, &Batch{from: from})
			connection.Close()
			s.mu.Lock()
			delete(s.connections, connection)
			s.mu.Unlock()
		}()
	}
}

// Unwanted says whether who sends a batch may no longer do so, and counts what has come of it. Of what may be sent it has the
// batch know which label host it gets now.
func (s *Server) Unwanted(b *Batch) bool {
	if reason := s.options.Senders.Unwanted(b.from); reason != "" {
		s.unwanted(b.from, reason)
		return true
	}
	b.host = s.options.Senders.Host(&b.hosts, b.from)
	return false
}

// unwanted counts a packet or a connection of somebody who may not send.
func (s *Server) unwanted(from netip.Addr, reason tsdb.Reason) {
	s.store.Reject(reason, 1)
	s.options.Senders.Refused(from, reason, 1)
	s.bad.Add(1)
}

// Limit says how long a connection may be idle.
func (s *Server) Limit(connection net.Conn) {
	s.end.Limit(connection.SetReadDeadline, idleTimeout)
}

// stream reads lines from a connection. One that is too long is refused and skipped to its end. What was read
// together is stored together.
func (s *Server) stream(connection net.Conn, b *Batch) {
	reader := bufio.NewReaderSize(connection, MaxPacket)
	for {
		s.Limit(connection)
		text, err := reader.ReadSlice('\n')
		if s.Unwanted(b) {
			return
		}
		now := time.Now().UnixMilli()
		if errors.Is(err, bufio.ErrBufferFull) {
			b.Refuse(s.options.TooLong)
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = reader.ReadSlice('\n')
			}
			text = nil
		}
		if err == nil || errors.Is(err, io.EOF) {
			s.line(b, bytes.TrimSuffix(text, []byte{'\n'}), now)
			// The rest of what is there, up to its last whole line.
			there, _ := reader.Peek(reader.Buffered())
			whole := bytes.LastIndexByte(there, '\n') + 1
			s.Packet(b, there[:whole], now)
			_, _ = reader.Discard(whole)
		}
		if !s.Keep(b, Patience) || err != nil {
			return
		}
	}
}

func (s *Server) receive() {
	connection := ipv4.NewPacketConn(s.udp) // the same system call for both families
	messages := make([]ipv4.Message, batchPackets)
	for i := range messages {
		messages[i].Buffers = [][]byte{make([]byte, MaxPacket)}
	}
	var b Batch
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
			from := senders.Address(messages[i].Addr)
			if reason := s.options.Senders.Unwanted(from); reason != "" {
				s.unwanted(from, reason)
				continue
			}
			b.begin(from)
			b.host = s.options.Senders.Host(&b.hosts, from)
			before := b.Samples()
			s.Packet(&b, messages[i].Buffers[0][:messages[i].N], now)
			b.drop(before, s.options.Senders.Admit(from, b.Samples()-before))
		}
		s.Keep(&b, 0)
	}
}

// Packet takes the lines of a packet or of what was read.
func (s *Server) Packet(b *Batch, text []byte, now int64) {
	for len(text) > 0 {
		line, rest, _ := bytes.Cut(text, []byte{'\n'})
		text = rest
		s.line(b, line, now)
	}
}

func (s *Server) line(b *Batch, line []byte, now int64) {
	if len(line) > MaxLine {
		b.Refuse(s.options.TooLong)
		return
	}
	s.options.Line(b, line, now)
}

// Keep stores and empties a batch. While the store takes nothing it tries again until patience ends; false means that
// samples were lost, and counted. A connection that sends more than its sender may waits: nothing is read of it meanwhile.
func (s *Server) Keep(b *Batch, patience time.Duration) bool {
	if patience > 0 {
		for reason := s.options.Senders.Admit(b.from, b.Samples()); reason != ""; reason = s.options.Senders.Admit(b.from, b.Samples()) {
			if !s.wait() {
				break // the server ends, and takes what it has
			}
		}
	}
	for one, n := range b.refused {
		s.store.Reject(one.reason, n)
		s.options.Senders.Refused(one.from, one.reason, n)
		s.bad.Add(uint64(n))
	}
	clear(b.refused)
	b.begin(b.from)
	defer b.reset()
	done, end := 0, time.Now().Add(patience)
	for rest := b.samples; len(rest) > 0; {
		part := rest[:min(len(rest), maxBatch)]
		// What is refused one by one the store counts itself.
		ctx := senders.Under(context.Background(), b.parts.Of(s.options.Senders, done))
		_, err := s.store.Ingest(ctx, s.options.Name, part, s.options.Durability)
		if err == nil {
			s.lines.Add(uint64(len(part)))
			rest, done = rest[len(part):], done+len(part)
			continue
		}
		s.tell(err)
		if time.Now().Before(end) && s.wait() {
			continue
		}
		s.store.Reject(s.options.NotStored, len(rest))
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
		(*report)(fmt.Errorf("storing what came by %s: %w", s.options.Title, err))
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
		s.Limit(connection)
	}
	others := s.others
	s.connections = nil
	s.mu.Unlock()
	var errs []error
	if s.tcp != nil {
		errs = append(errs, s.tcp.Close())
	}
	for _, l := range others {
		errs = append(errs, l.Close())
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
