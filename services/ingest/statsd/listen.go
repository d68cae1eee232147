package statsd

// The sockets. How packets are received in batches, and how large the kernel's buffer may be, is the operating
// system's; see receive_linux.go and receive_other.go. TCP is in stream.go, the administrator's port in admin.go.

import (
	"context"
	"errors"
	"fmt"
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
	"cistern/services/platform/fastclock"
	"cistern/services/store/tsdb"
)

const (
	maxPacket    = 64 << 10
	batchPackets = 64
	// wantedBuffer is how much the kernel is asked to hold while we are not scheduled: PEERS.md's measurements show no
	// loss with this much.
	wantedBuffer = 64 << 20
	// packetCost is what a small packet takes of that buffer, with the kernel's book-keeping.
	packetCost = 768
)

// Options say where to listen. Nothing is listened on that has no address.
type Options struct {
	Address    string             // UDP and TCP
	Socket     string             // path of a Unix datagram socket, which everybody on the machine may write to
	Admin      string             // the administrator's text interface over TCP
	Readers    int                // UDP sockets, or readers where the kernel does not spread packets; one per processor, 8 at most
	Buffer     int                // bytes the kernel is asked to hold for each socket; 64 MiB
	Names      int                // how many names with their tags are kept; a million
	NamesBytes int64              // how much memory they may take, about; 0: any
	Durability journal.Durability // Interval
	Clock      *fastclock.Clock   // one of our own
	Senders    *senders.Input     // who may send and how many series each may make; nil: everybody, any number
	Settings   map[string]string  // what the administrator's "config" shows
}

// Server listens for statsd.
type Server struct {
	aggregator *Aggregator
	options    Options
	sockets    []*socket
	tcp, admin net.Listener
	tls        net.Listener
	streams    *shard
	began      time.Time
	down       atomic.Bool // what the administrator has it say of its health

	refusedConnections atomic.Uint64
	mu                 sync.Mutex
	connections        map[net.Conn]struct{} // nil: closed
	end                shutdown.End          // of connections; packets have their own way
	done               sync.WaitGroup
}

// socket is one socket that receives packets.
type socket struct {
	*endpoint               // the operating system's
	network   string        // udp, unixgram
	buffer    int           // what the kernel granted; 0 when it does not say
	pause     time.Duration // how long packets may pile up
	packets   atomic.Uint64
	truncated atomic.Uint64
	drops     sockets.Drops
}

// Listen opens the sockets and serves them until Close.
func Listen(store tsdb.Ingester, o Options) (_ *Server, err error) {
	if o.Readers == 0 {
		o.Readers = defaultReaders()
	}
	if o.Buffer == 0 {
		o.Buffer = wantedBuffer
	}
	s := &Server{aggregator: NewAggregator(store, o), options: o, connections: map[net.Conn]struct{}{}, began: time.Now()}
	s.streams = s.aggregator.shard()
	defer func() {
		if err != nil {
			_ = s.Close()
		}
	}()
	if o.Address != "" {
		s.tcp, err = sockets.ListenBoth(o.Address, func(address string) error {
			endpoints, err := listenUDP(address, o.Readers)
			if err != nil {
				for _, one := range endpoints {
					_ = one.close()
				}
				return err
			}
			for _, one := range endpoints {
				s.sockets = append(s.sockets, &socket{network: "udp", endpoint: one})
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("listening for statsd on %w", err)
		}
	}
	if o.Socket != "" {
		connection, err := listenUnix(o.Socket)
		if err != nil {
			return nil, err
		}
		one, err := adopt(connection)
		if err != nil {
			return nil, fmt.Errorf("listening for statsd on %s: %w", o.Socket, err)
		}
		s.sockets = append(s.sockets, &socket{network: "unixgram", endpoint: one})
	}
	if o.Admin != "" {
		if s.admin, err = net.Listen("tcp", o.Admin); err != nil {
			return nil, fmt.Errorf("listening for statsd's administrator on %s: %w", o.Admin, err)
		}
		s.serve(s.admin, maxWithAdmin, s.administer)
	}
	for _, one := range s.sockets {
		one.prepare(o.Buffer)
		// A wake-up costs more than some packets: they are let pile up, to a quarter of what a million packets a second
		// would fill.
		if one.pause = min(2*time.Millisecond, time.Duration(one.buffer/packetCost/4)*time.Microsecond); one.pause < 200*time.Microsecond {
			one.pause = 0
		}
		for range readersOf(o.Readers, one.network) {
			reader := s.aggregator.shard()
			s.done.Go(func() { one.receive(reader) })
		}
	}
	if s.tcp != nil {
		s.serve(s.tcp, maxConnections, s.stream)
	}
	return s, nil
}

// listenUnix opens a datagram socket at a path, in place of one that nobody listens on any more.
func listenUnix(path string) (*net.UnixConn, error) {
	address := &net.UnixAddr{Name: path, Net: "unixgram"}
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket != 0 {
		if other, err := net.DialUnix("unixgram", nil, address); err == nil {
			other.Close()
			return nil, fmt.Errorf("listening for statsd on %s: another process listens there", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("listening for statsd on %s: %w", path, err)
		}
	}
	connection, err := net.ListenUnixgram("unixgram", address)
	if err == nil {
		// Whoever could send by UDP may send here.
		if err = os.Chmod(path, 0o666); err != nil {
			connection.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listening for statsd on %s: %w", path, err)
	}
	return connection, nil
}

// Addr is the address for UDP and TCP, "" when there is none.
func (s *Server) Addr() string { return addressOf(s.tcp) }

// ListenTLS serves lines by TLS on an address as well, until Close. The senders are the server's. told is told why somebody was
// refused; nil for nobody.
func (s *Server) ListenTLS(address string, o tlsport.Options, told func(netip.Addr, error)) error {
	o.Senders = s.options.Senders
	o.Refused = func(from netip.Addr, reason tsdb.Reason, why error) {
		s.streams.reject(reason)
		if told != nil && why != nil {
			told(from, why)
		}
	}
	listener, err := tlsport.Listen(address, o)
	if err != nil {
		return fmt.Errorf("listening for statsd: %w", err)
	}
	s.tls = listener
	s.serve(listener, maxConnections, s.stream)
	return nil
}

// TLSAddr is the address for TLS; "" when there is none.
func (s *Server) TLSAddr() string { return addressOf(s.tls) }

// AdminAddr is the administrator's.
func (s *Server) AdminAddr() string { return addressOf(s.admin) }

func addressOf(l net.Listener) string {
	if l == nil {
		return ""
	}
	return l.Addr().String()
}

// Stats is the server's figures since it began.
type Stats struct {
	Packets            uint64 // datagrams received
	Drops              uint64 // by the kernel, because its buffer was full
	DropsKnown         bool   // the kernel says
	Truncated          uint64 // datagrams longer than any may be
	Lines, BadLines    uint64
	Sockets            int
	BufferBytes        int // of each socket; 0 when the kernel does not say
	Names, Unstored    int
	NamesBytes         int64 // memory that the names take, about
	Connections        int
	RefusedConnections uint64
	Last               time.Time // when something came last
}

// Stats returns the figures.
func (s *Server) Stats() Stats {
	a := s.aggregator
	stats := Stats{Lines: a.lines.Load(), BadLines: a.bad.Load(), Names: len(a.all()), Sockets: len(s.sockets),
		RefusedConnections: s.refusedConnections.Load(), Last: a.timeOf(a.received.Load()), DropsKnown: len(s.sockets) > 0}
	for _, one := range s.sockets {
		one.measureDrops()
		stats.Packets += one.packets.Load()
		drops, known := one.drops.Total()
		stats.Drops += drops
		stats.Truncated += one.truncated.Load()
		if one.network == "udp" {
			stats.DropsKnown = stats.DropsKnown && known
			stats.BufferBytes = one.buffer
		}
	}
	if stats.BufferBytes == 0 && len(s.sockets) > 0 {
		stats.BufferBytes = s.sockets[0].buffer
	}
	s.mu.Lock()
	stats.Connections = len(s.connections)
	s.mu.Unlock()
	stats.Unstored, stats.NamesBytes = int(a.waiting.Load()), s.NamesBytes()
	return stats
}

// NamesBytes is about what the names take of memory.
func (s *Server) NamesBytes() int64 {
	return s.aggregator.bytes.Load()
}

// timeOf is the time of day of a reading of the clock; zero for none.
func (a *Aggregator) timeOf(reading int64) time.Time {
	if reading == 0 {
		return time.Time{}
	}
	return a.clock.Time().Add(time.Duration(reading - a.clock.Now()))
}

// maxRest bounds how long what is left in the kernel's buffer is read when the server closes, while packets still come.
const maxRest = time.Second

// Close stops listening, and returns when everything received was handed on, what the kernel still held too.
func (s *Server) Close() error {
	var errs []error
	for _, one := range s.sockets {
		one.stop()
	}
	for _, l := range []net.Listener{s.tcp, s.tls, s.admin} {
		if l != nil {
			errs = append(errs, l.Close())
		}
	}
	s.mu.Lock()
	s.end.Begin()
	for connection := range s.connections {
		s.limit(connection)
	}
	s.connections = nil
	s.mu.Unlock()
	s.done.Wait()
	for _, one := range s.sockets {
		one.measureDrops()
		errs = append(errs, one.close())
		if one.network == "unixgram" {
			_ = os.Remove(s.options.Socket)
		}
	}
	return errors.Join(errs...)
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
