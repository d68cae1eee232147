package statsd

// Connections: lines over TCP, and the administrator's.

import (
	"bytes"
	"errors"
	"io"
	"net"
	"net/netip"
	"time"

	"cistern/services/ingest/senders"
)

const (
	// maxConnections and idleTimeout keep forgotten TCP clients from piling up.
	maxConnections = 1024
	// maxWithAdmin leaves the administrator room when they are all taken.
	maxWithAdmin = maxConnections + 16
	idleTimeout  = 10 * time.Minute
	streamBuffer = 2 * (maxLine + 2)
)

// serve accepts connections until the listener is closed; no more when there are as many as that, of both kinds.
func (s *Server) serve(listener net.Listener, most int, handle func(net.Conn)) {
	s.done.Go(func() {
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
			if s.connections == nil || len(s.connections) >= most {
				s.mu.Unlock()
				s.refusedConnections.Add(1)
				connection.Close()
				continue
			}
			s.connections[connection] = struct{}{}
			s.done.Go(func() {
				handle(connection)
				connection.Close()
				s.mu.Lock()
				delete(s.connections, connection)
				s.mu.Unlock()
			})
			s.mu.Unlock()
		}
	})
}

// limit says how long a connection may be idle.
func (s *Server) limit(connection net.Conn) {
	s.end.Limit(connection.SetDeadline, idleTimeout)
}

// admitEvery is how often a connection that waits asks whether it may go on.
const admitEvery = 100 * time.Millisecond

// stream reads lines from a connection: all that is there at once. One that is too long is refused and skipped to its
// end; the last one needs no newline when the sender ends the stream, else it may have been cut off anywhere.
func (s *Server) stream(connection net.Conn) {
	from := []netip.Addr{senders.Address(connection.RemoteAddr())}
	if reason := s.aggregator.senders.Unwanted(from[0]); reason != "" {
		s.streams.unwanted(from[0], reason)
		return
	}
	buffer := make([]byte, streamBuffer)
	held, skipping := 0, false
	take := func(text []byte) {
		if len(text) == 0 {
			return
		}
		// Who sends more than it may waits: nothing is read of it meanwhile. When the server ends it takes what it has.
		for s.aggregator.senders.Admit(from[0], linesOf(text)) != "" && !s.end.Begun() {
			time.Sleep(admitEvery)
		}
		s.streams.gather([][]byte{text}, from, s.aggregator.clock.Now(), false)
	}
	for {
		s.limit(connection)
		n, err := connection.Read(buffer[held:])
		text := buffer[:held+n]
		if reason := s.aggregator.senders.Unwanted(from[0]); reason != "" { // any more
			s.streams.unwanted(from[0], reason)
			return
		}
		if skipping {
			newline := bytes.IndexByte(text, '\n')
			if newline < 0 {
				if err != nil {
					return
				}
				held = 0
				continue
			}
			text, skipping = text[newline+1:], false
		}
		end := bytes.LastIndexByte(text, '\n') + 1
		take(text[:end])
		rest := text[end:]
		if err == io.EOF {
			take(rest)
		}
		if err != nil {
			return
		}
		if len(rest) > maxLine+1 { // with a carriage return
			s.streams.mu.Lock()
			s.streams.from = from
			s.streams.refuse(TooLong, 0)
			s.streams.blame(blame{})
			s.streams.mu.Unlock()
			held, skipping = 0, true
			continue
		}
		held = copy(buffer, rest)
	}
}
