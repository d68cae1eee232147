package receive

// Streams: TCP connections, and the lines in them.

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// maxConnections and idleTimeout keep forgotten clients from piling up.
const (
	maxConnections = 1024
	idleTimeout    = 10 * time.Minute
)

// Streams is one TCP address.
type Streams struct {
	listener net.Listener
	serve    func(net.Conn)

	mu          sync.Mutex
	connections map[net.Conn]struct{} // nil when closed
	closing     atomic.Bool
	refused     atomic.Uint64
	done        sync.WaitGroup
}

// TCP opens address and has serve called for each connection, which is closed afterwards. When Close is called the
// connections' reading ends, and serve must return.
func TCP(address string, serve func(net.Conn)) (*Streams, error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s/tcp: %w", address, err)
	}
	s := &Streams{listener: listener, serve: serve, connections: map[net.Conn]struct{}{}}
	s.done.Go(s.accept)
	return s, nil
}

// Addr is the address.
func (s *Streams) Addr() string { return s.listener.Addr().String() }

// Open is how many connections there are, Refused how many were too many.
func (s *Streams) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.connections)
}

// Refused: see Open.
func (s *Streams) Refused() uint64 { return s.refused.Load() }

func (s *Streams) accept() {
	for {
		connection, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(100 * time.Millisecond)
			continue
		}
		_ = connection.SetReadDeadline(time.Now().Add(idleTimeout))
		s.mu.Lock()
		if s.connections == nil || len(s.connections) >= maxConnections {
			s.mu.Unlock()
			s.refused.Add(1)
			connection.Close()
			continue
		}
		s.connections[connection] = struct{}{}
		s.done.Add(1)
		s.mu.Unlock()
		go func() {
			defer s.done.Done()
			s.serve(&idle{connection, &s.closing})
			connection.Close()
			s.mu.Lock()
			delete(s.connections, connection)
			s.mu.Unlock()
		}()
	}
}

// Close stops listening, and returns when what was received was handed on. What is on the way still is not waited for.
func (s *Streams) Close() error {
	s.closing.Store(true)
	err := s.listener.Close()
	s.mu.Lock()
	for connection := range s.connections {
		_ = connection.SetReadDeadline(past) // answers may still be written
		_ = connection.SetWriteDeadline(time.Now().Add(time.Second))
	}
	s.connections = nil
	s.mu.Unlock()
	s.done.Wait()
	return err
}

// past ends reading at once.
var past = time.Unix(1, 0)

// idle is a connection that ends when nothing comes for long.
type idle struct {
	net.Conn
	closing *atomic.Bool
}

func (c *idle) Read(into []byte) (int, error) {
	n, err := c.Conn.Read(into)
	if n > 0 {
		_ = c.Conn.SetReadDeadline(time.Now().Add(idleTimeout))
		if c.closing.Load() { // Close's deadline is not to be undone
			_ = c.Conn.SetReadDeadline(past)
		}
	}
	return n, err
}

// Lines reads lines and hands them to take, as many whole ones at once as there are, each with its newline but for the
// last. A line longer than longest is skipped to its end, and tooLong called. An error of take ends it.
func Lines(reader io.Reader, longest int, take func(lines []byte) error, tooLong func()) error {
	buffer := make([]byte, max(64<<10, 2*longest))
	held, skipping := 0, false
	for {
		n, err := reader.Read(buffer[held:])
		fresh := buffer[held : held+n]
		if skipping {
			end := bytes.IndexByte(fresh, '\n')
			if end < 0 {
				if err != nil {
					return ended(err)
				}
				continue
			}
			fresh, skipping = fresh[:copy(buffer, fresh[end+1:])], false
			held = len(fresh)
		} else {
			held += n
		}
		whole := bytes.LastIndexByte(buffer[:held], '\n') + 1
		if err != nil {
			whole = held
		}
		if whole > 0 {
			if failed := take(buffer[:whole]); failed != nil {
				return failed
			}
			held = copy(buffer, buffer[whole:held])
		}
		if held > longest {
			tooLong()
			held, skipping = 0, true
		}
		if err != nil {
			return ended(err)
		}
	}
}

func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}
