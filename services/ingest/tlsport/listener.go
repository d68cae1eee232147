// Package tlsport lets connections in by TLS for inputs that are lines over TCP, and makes the certificate that they are shown.
// A handshake is bounded in time, and who does not finish his takes no place from anybody else.
package tlsport

// The listener: what it accepts has finished its handshake.

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

const (
	// Handshake is the reason for what did not become a connection by TLS: plain text, an old version, a client that does not
	// trust the certificate, or one that was not done in time.
	Handshake tsdb.Reason = "tls_handshake"
	// ClientCertificate is the reason where a certificate was asked for, and none or not a valid one was shown.
	ClientCertificate tsdb.Reason = "tls_client_certificate"
)

const (
	// handshakeTime is how long a handshake may take: four packets, from wherever they come.
	handshakeTime = 10 * time.Second
	// maxHandshakes and maxOfSender are how many may be under way, of all and of one sender. When there are as many, the oldest
	// gives way, if it has had giveWayAfter: who is there does his in less, unless his line is a very bad one.
	maxHandshakes = 1024
	maxOfSender   = 32
	giveWayAfter  = time.Second
	// maxClientCA is how long the certificates of client CAs may be together.
	maxClientCA = 64 << 10
)

// Options say by what certificate, and for whom, a listener is there.
type Options struct {
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// ClientCA is the PEM of those whose certificates clients must show; "": they need none.
	ClientCA string
	Senders  *senders.Input // nil: everybody may send
	// Refused counts what was refused, and says why. It may be nil.
	Refused func(from netip.Addr, reason tsdb.Reason, why error)

	time, giveWay time.Duration // of tests; 0: as above
}

// Listener is a net.Listener for TLS.
type Listener struct {
	tcp     net.Listener
	config  *tls.Config
	options Options
	ready   chan net.Conn
	closing chan struct{}
	done    sync.WaitGroup

	mu      sync.Mutex
	pending []*handshake // the oldest first; nil when closed
	closed  bool
}

type handshake struct {
	connection net.Conn
	from       netip.Addr
	account    netip.Addr // of IPv6 the network, of which every host has all addresses it likes
	began      time.Time
	gaveWay    bool
}

// CheckClientCA says what is wrong with the PEM of client CAs.
func CheckClientCA(text string) error {
	_, err := clientCAs(text)
	return err
}

func clientCAs(text string) (*x509.CertPool, error) {
	if len(text) > maxClientCA {
		return nil, fmt.Errorf("the client CA is longer than %d KiB", maxClientCA>>10)
	}
	pool, n := x509.NewCertPool(), 0
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("the client CA has a %.60s in it: paste its certificate only, and never a key", block.Type)
		}
		one, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("the client CA has a certificate that cannot be read: %w", err)
		}
		if !one.IsCA {
			return nil, fmt.Errorf("the certificate of %.80s is not a CA's: paste the certificate of who issues those of the clients", one.Subject)
		}
		pool.AddCert(one)
		n++
	}
	if n == 0 {
		return nil, errors.New("the client CA has no certificate in it: paste the text from -----BEGIN CERTIFICATE----- on")
	}
	return pool, nil
}

// Listen listens on an address.
func Listen(address string, o Options) (*Listener, error) {
	config := &tls.Config{
		GetCertificate: o.Certificate,
		MinVersion:     tls.VersionTLS12,
		// Of TLS 1.3 all are of this kind.
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		// Connections last: there is nothing to win, and a client certificate is looked at each time.
		SessionTicketsDisabled: true,
	}
	if o.ClientCA != "" {
		pool, err := clientCAs(o.ClientCA)
		if err != nil {
			return nil, err
		}
		config.ClientAuth, config.ClientCAs = tls.RequireAndVerifyClientCert, pool
	}
	tcp, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening for TLS on %s/tcp: %w", address, err)
	}
	if o.time == 0 {
		o.time = handshakeTime
	}
	if o.giveWay == 0 {
		o.giveWay = giveWayAfter
	}
	l := &Listener{tcp: tcp, config: config, options: o, ready: make(chan net.Conn), closing: make(chan struct{})}
	l.done.Go(l.accept)
	return l, nil
}

// Addr is where it listens.
func (l *Listener) Addr() net.Addr { return l.tcp.Addr() }

// Accept returns the next connection whose handshake is done.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case next := <-l.ready:
		return next, nil
	case <-l.closing:
		return nil, net.ErrClosed
	}
}

// Close stops listening, and ends the handshakes that are under way.
func (l *Listener) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil
	}
	l.closed = true
	close(l.closing)
	for _, one := range l.pending {
		_ = one.connection.Close()
	}
	l.mu.Unlock()
	err := l.tcp.Close()
	l.done.Wait()
	return err
}

func (l *Listener) accept() {
	for {
		accepted, err := l.tcp.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, most likely
			time.Sleep(100 * time.Millisecond)
			continue
		}
		from := senders.Address(accepted.RemoteAddr())
		if reason := l.options.Senders.Unwanted(from); reason != "" { // before anything is reckoned for him
			l.refuse(from, reason, nil)
			_ = accepted.Close()
			continue
		}
		one := &handshake{connection: accepted, from: from, account: senders.Account(from), began: time.Now()}
		if !l.begin(one) {
			_ = accepted.Close()
			continue
		}
		l.done.Go(func() { l.shake(one) })
	}
}

// begin makes room for a handshake; false: there is none, or the listener is closed.
func (l *Listener) begin(one *handshake) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return false
	}
	own := 0
	var oldest *handshake // of the same sender
	for _, other := range l.pending {
		if other.account == one.account {
			if own++; oldest == nil {
				oldest = other
			}
		}
	}
	switch {
	case own >= maxOfSender:
	case len(l.pending) >= maxHandshakes:
		oldest = l.pending[0]
	default:
		oldest = nil
	}
	if oldest != nil {
		if one.began.Sub(oldest.began) < l.options.giveWay {
			l.refuse(one.from, Handshake, errors.New("there are too many handshakes at once"))
			return false
		}
		oldest.gaveWay = true
		l.remove(oldest)
		_ = oldest.connection.Close()
	}
	l.pending = append(l.pending, one)
	return true
}

// remove takes a handshake off the list. The caller holds mu.
func (l *Listener) remove(one *handshake) {
	for i, other := range l.pending {
		if other == one {
			l.pending = append(l.pending[:i], l.pending[i+1:]...)
			return
		}
	}
}

func (l *Listener) shake(one *handshake) {
	_ = one.connection.SetDeadline(one.began.Add(l.options.time))
	raw := &transport{Conn: one.connection}
	secure := &connection{tls.Server(raw, l.config), raw}
	err := secure.HandshakeContext(context.Background())
	l.mu.Lock()
	l.remove(one)
	gaveWay, closed := one.gaveWay, l.closed
	l.mu.Unlock()
	if err == nil && !gaveWay && !closed {
		_ = one.connection.SetDeadline(time.Time{})
		select {
		case l.ready <- secure:
			return
		case <-l.closing:
			_ = secure.Close()
			return
		}
	}
	_ = one.connection.Close()
	switch {
	case closed:
	case gaveWay:
		l.refuse(one.from, Handshake, errors.New("its handshake was not finished, and others wanted its place"))
	case errors.Is(err, io.EOF): // who looks whether the port is there says nothing
	default:
		reason, why := explain(err)
		l.refuse(one.from, reason, why)
	}
}

// connection tells a stream that its sender has ended from one that was cut off. crypto/tls takes the end of TCP for the end of
// the stream, which anybody on the way can make: half of a line would be taken for a whole one.
type connection struct {
	*tls.Conn
	raw *transport
}

// Read is the connection's, and returns io.EOF only when the sender has said that it ends.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err == io.EOF && c.raw.ended.Load() {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// transport notes the end of TCP, behind which nothing came. What ends a stream of TLS comes before that.
type transport struct {
	net.Conn
	ended atomic.Bool
}

func (t *transport) Read(b []byte) (int, error) {
	n, err := t.Conn.Read(b)
	if err == io.EOF {
		t.ended.Store(true)
	}
	return n, err
}

// explain says of a handshake that failed what was wrong with it.
func explain(err error) (tsdb.Reason, error) {
	var plain tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var network net.Error
	switch {
	case errors.As(err, &plain):
		return Handshake, errors.New("what it sends is not TLS: plain text belongs to the other port")
	case errors.As(err, &certificate):
		return ClientCertificate, certificate.Err
	case strings.Contains(err.Error(), "client didn't provide a certificate"): // crypto/tls has no value for it
		return ClientCertificate, errors.New("it shows no certificate, and one is asked for")
	case errors.As(err, &network) && network.Timeout():
		return Handshake, errors.New("its handshake was not done in time")
	}
	return Handshake, err
}

func (l *Listener) refuse(from netip.Addr, reason tsdb.Reason, why error) {
	l.options.Senders.Refused(from, reason, 1)
	if l.options.Refused != nil {
		l.options.Refused(from, reason, why)
	}
}
