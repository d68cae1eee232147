// Package graphite takes what is sent to carbon: plaintext lines over TCP and UDP on one address, and pickled lists over
// TCP on another. Nobody waits for an answer: what came together is stored together, with interval durability.
package graphite

// The sockets: lines as package lines serves them, and messages of pickle.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"cistern/services/ingest/lines"
	"cistern/services/ingest/senders"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// maxDecoding is how many pickles are decoded at once: one may need a hundred times its size for a moment.
const maxDecoding = 2

// Durability is what holds for what came.
const Durability = journal.Interval

// Server listens for plaintext and pickle.
type Server struct {
	*lines.Server
	pickle   net.Listener
	decoding chan struct{}
}

// options are what Graphite's lines are.
func options(address string, from *senders.Input) lines.Options {
	return lines.Options{
		Name: "graphite", Title: "Graphite", Address: address, TooLong: TooLong, NotStored: NotStored, Durability: Durability, Senders: from,
		Line: func(b *lines.Batch, line []byte, now int64) { batch{b}.line(line, now) },
	}
}

// Listen opens the sockets and serves them until Close: address is plaintext's, TCP and UDP, pickleAddress pickle's. An
// empty one leaves its protocol out. from is who may send; nil for everybody.
func Listen(address, pickleAddress string, store tsdb.Ingester, from *senders.Input) (*Server, error) {
	text, err := lines.Listen(store, options(address, from))
	if err != nil {
		return nil, err
	}
	s := &Server{Server: text, decoding: make(chan struct{}, maxDecoding)}
	if pickleAddress != "" {
		if s.pickle, err = net.Listen("tcp", pickleAddress); err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("listening for Graphite's pickle on %s/tcp: %w", pickleAddress, err)
		}
		s.Also(s.pickle, s.streamPickles)
	}
	return s, nil
}

// PickleAddr is the address for pickle; "" without it.
func (s *Server) PickleAddr() string {
	if s.pickle == nil {
		return ""
	}
	return s.pickle.Addr().String()
}

// streamPickles reads messages: four bytes of length, the large end first, and a pickle.
func (s *Server) streamPickles(connection net.Conn, b *lines.Batch) {
	reader := bufio.NewReaderSize(connection, lines.MaxPacket)
	for {
		s.Limit(connection)
		var length [4]byte
		if _, err := io.ReadFull(reader, length[:]); err != nil {
			if errors.Is(err, io.ErrUnexpectedEOF) {
				b.Refuse(BadPickle)
				s.Keep(b, lines.Patience)
			}
			return
		}
		if s.Unwanted(b) {
			return
		}
		n := binary.BigEndian.Uint32(length[:])
		if n > maxPickle {
			b.Refuse(LongPickle)
			s.Keep(b, lines.Patience)
			return
		}
		// It grows with what comes, not with what is announced.
		var message bytes.Buffer
		if _, err := io.CopyN(&message, reader, int64(n)); err != nil {
			b.Refuse(BadPickle)
			s.Keep(b, lines.Patience)
			return
		}
		select {
		case s.decoding <- struct{}{}:
		default:
			select {
			case s.decoding <- struct{}{}:
			case <-s.Closing():
				return
			}
		}
		batch{b}.pickle(message.Bytes(), time.Now().UnixMilli())
		<-s.decoding
		if !s.Keep(b, lines.Patience) {
			return
		}
	}
}
