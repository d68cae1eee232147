// Package collectd takes what collectd's network plugin sends: its binary protocol over UDP, signed or encrypted when
// users are configured. Nobody waits for an answer: what came together is stored together, with interval durability.
package collectd

// The socket, and the way of a batch into the store.

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"time"

	"cistern/services/daemon/shutdown"
	"cistern/services/ingest/senders"
	"cistern/services/ingest/sockets"
	"cistern/services/journal"
	"cistern/services/store/tsdb"

	"golang.org/x/net/ipv4"
)

const (
	maxPacket = 64 << 10
	// wantedBuffer is how much the kernel is asked to hold while we are not scheduled.
	wantedBuffer = 16 << 20
	// batchPackets is how many are received in one call, where the system can. Senders fill some 1,400 bytes of each.
	batchPackets = 32
	// maxBatch is how many samples are stored at once; more are several batches.
	maxBatch = 10_000
)

// Durability is what holds for what came.
const Durability = journal.Interval

// Server listens for collectd.
type Server struct {
	store  tsdb.Ingester
	users  map[string]string
	from   *senders.Input
	udp    *net.UDPConn
	buffer int
	drops  sockets.Drops

	packets, values, bad atomic.Uint64
	report               atomic.Pointer[func(error)]
	reported             atomic.Int64 // when, in seconds
	end                  shutdown.End
	done                 chan struct{}
}

// Listen opens the socket and serves it until Close. users are passwords by name; when there are any, only what they have
// signed or encrypted is taken. from is who may send; nil for everybody.
func Listen(address string, users map[string]string, store tsdb.Ingester, from *senders.Input) (*Server, error) {
	resolved, err := net.ResolveUDPAddr("udp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for collectd on %s/udp: %w", address, err)
	}
	udp, err := net.ListenUDP("udp", resolved)
	if err != nil {
		return nil, fmt.Errorf("listening for collectd on %s/udp: %w", address, err)
	}
	s := &Server{store: store, users: users, from: from, udp: udp, buffer: sockets.Enlarge(udp, wantedBuffer), done: make(chan struct{})}
	go func() { defer close(s.done); s.receive() }()
	return s, nil
}

// Addr is the socket's address.
func (s *Server) Addr() string { return s.udp.LocalAddr().String() }

// Datagrams is how many bytes of packets the kernel holds, and how many packets it dropped because there were more; known is
// false where it does not tell.
func (s *Server) Datagrams() (buffer int, drops uint64, known bool) {
	drops, known = s.drops.Measure(s.udp)
	return s.buffer, drops, known
}

// Packets is how many packets came, Values how many values were handed to the store, Bad how many values and parts were
// refused before.
func (s *Server) Packets() uint64 { return s.packets.Load() }

// Values: see Packets.
func (s *Server) Values() uint64 { return s.values.Load() }

// Bad: see Packets.
func (s *Server) Bad() uint64 { return s.bad.Load() }

func (s *Server) receive() {
	connection := ipv4.NewPacketConn(s.udp) // the same system call for both families
	messages := make([]ipv4.Message, batchPackets)
	for i := range messages {
		messages[i].Buffers = [][]byte{make([]byte, maxPacket)}
	}
	b := batch{users: s.users}
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
		s.packets.Add(uint64(n))
		now := time.Now().UnixMilli()
		for i := range messages[:n] {
			from := senders.Address(messages[i].Addr)
			if reason := s.from.Unwanted(from); reason != "" {
				s.store.Reject(reason, 1)
				s.from.Refused(from, reason, 1)
				s.bad.Add(1)
				continue
			}
			b.begin(from)
			before := len(b.samples)
			b.packet(messages[i].Buffers[0][:messages[i].N], now)
			if reason := s.from.Admit(from, len(b.samples)-before); reason != "" {
				b.refuse(reason, len(b.samples)-before)
				b.samples = b.samples[:before]
			}
		}
		s.keep(&b)
	}
}

// keep stores and empties a batch.
func (s *Server) keep(b *batch) {
	for reason, n := range b.refused {
		s.store.Reject(reason, n)
		s.bad.Add(uint64(n))
	}
	for one, n := range b.blamed {
		s.from.Refused(one.from, one.reason, n)
	}
	clear(b.refused)
	clear(b.blamed)
	b.begin(b.from)
	done := 0
	for rest := b.samples; len(rest) > 0; {
		part := rest[:min(len(rest), maxBatch)]
		// What is refused one by one the store counts itself.
		ctx := senders.Under(context.Background(), b.spans.Of(s.from, done))
		if _, err := s.store.Ingest(ctx, "collectd", part, Durability); err != nil {
			s.tell(err)
			s.store.Reject(NotStored, len(rest))
			s.bad.Add(uint64(len(rest)))
			break
		}
		s.values.Add(uint64(len(part)))
		rest, done = rest[len(part):], done+len(part)
	}
	b.reset()
}

// tell reports an error, once a second at most.
func (s *Server) tell(err error) {
	now := time.Now().Unix()
	if report := s.report.Load(); report != nil && s.reported.Swap(now) != now {
		(*report)(fmt.Errorf("storing what came from collectd: %w", err))
	}
}

// Close stops listening, and returns when everything received was handed on, what the kernel still held too.
func (s *Server) Close() error {
	s.end.Begin()
	s.end.Limit(s.udp.SetReadDeadline, shutdown.Quiet)
	<-s.done
	err := s.udp.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Serve tells report of errors, and closes the socket when ctx ends. It returns when everything received was handed on.
func (s *Server) Serve(ctx context.Context, report func(error)) {
	s.report.Store(&report)
	<-ctx.Done()
	if err := s.Close(); err != nil {
		report(err)
	}
}
