package tlsport

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

// refusals are what a listener refused, and why.
type refusals struct {
	mu  sync.Mutex
	all []string
}

func (r *refusals) add(from netip.Addr, reason tsdb.Reason, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, fmt.Sprintf("%s %s: %v", from, reason, why))
}

func (r *refusals) has(text string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.all, func(one string) bool { return strings.Contains(one, text) })
}

func (r *refusals) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Join(r.all, "\n")
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still not: " + what)
		}
	}
}

// listen is a listener that echoes, with a certificate of its own.
func listen(t *testing.T, o Options) (address string, pool *x509.CertPool, refused *refusals) {
	t.Helper()
	identity := NewIdentity(Files{Folder: filepath.Join(t.TempDir(), "tls")})
	if err := identity.Ready(); err != nil {
		t.Fatal(err)
	}
	refused = &refusals{}
	o.Certificate, o.Refused = identity.Certificate, refused.add
	l, err := Listen("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			served.Go(func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			})
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		served.Wait()
	})
	pool = x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(identity.Status().PEM)) {
		t.Fatal("no certificate")
	}
	return l.Addr().String(), pool, refused
}

// talk says a word, and hears it again.
func talk(address, from string, c *tls.Config) error {
	dialer := &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	connection, err := tls.DialWithDialer(dialer, "tcp", address, c)
	if err != nil {
		return err
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
	if _, err := connection.Write([]byte("word")); err != nil {
		return err
	}
	got := make([]byte, 4)
	if _, err := io.ReadFull(connection, got); err != nil {
		return err
	}
	if string(got) != "word" {
		return fmt.Errorf("heard %q", got)
	}
	return nil
}

func TestHandshakes(t *testing.T) {
	address, pool, refused := listen(t, Options{Senders: senders.New("test", senders.Options{
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("127.0.0.2/32")}})})
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		if err := talk(address, "127.0.0.1", &tls.Config{RootCAs: pool, MaxVersion: version, MinVersion: version}); err != nil {
			t.Errorf("%x: %v", version, err)
		}
	}
	if refused.text() != "" {
		t.Error(refused.text())
	}
	// Who does not trust it, comes with something old, or without TLS, or from elsewhere.
	if err := talk(address, "127.0.0.1", &tls.Config{}); err == nil {
		t.Error("trusted without reason")
	}
	until(t, "it is said who does not trust it", func() bool { return refused.has("127.0.0.1 tls_handshake: remote error: tls:") })
	if err := talk(address, "127.0.0.2", &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1")
	}
	until(t, "the old version is refused", func() bool {
		return refused.has("127.0.0.2 tls_handshake: tls: client offered only unsupported versions")
	})
	weak := &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}
	if err := talk(address, "127.0.0.2", weak); err == nil {
		t.Error("CBC")
	}
	until(t, "the cipher is refused", func() bool { return refused.has("tls: no cipher suite supported by both") })
	plain, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fmt.Fprint(plain, "room.temperature:21|g\n")
	_ = plain.SetReadDeadline(time.Now().Add(10 * time.Second))
	if said, err := io.ReadAll(plain); err != nil && !strings.Contains(err.Error(), "reset") || bytes.Contains(said, []byte("room")) {
		t.Errorf("%q %v", said, err)
	}
	until(t, "plain text is refused", func() bool { return refused.has("plain text belongs to the other port") })
	if err := talk(address, "127.0.0.3", &tls.Config{RootCAs: pool}); err == nil {
		t.Error("from elsewhere")
	}
	until(t, "it is refused by its network", func() bool { return refused.has("127.0.0.3 network_not_allowed") })
	// Who only looks whether the port is there is no trouble.
	before := refused.text()
	for range 20 {
		look, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		look.Close()
	}
	if err := talk(address, "127.0.0.1", &tls.Config{RootCAs: pool}); err != nil {
		t.Error(err)
	}
	if refused.text() != before {
		t.Error(refused.text())
	}
}

// A handshake that stands still is ended.
func TestSlowHandshake(t *testing.T) {
	address, _, refused := listen(t, Options{time: 100 * time.Millisecond})
	for _, said := range []string{"", "\x16\x03\x01\x02\x00\x01\x00"} {
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, said)
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		if _, err := io.ReadAll(c); os.IsTimeout(err) {
			t.Errorf("%q: still open", said)
		}
	}
	until(t, "both are counted", func() bool {
		return strings.Count(refused.text(), "tls_handshake: its handshake was not done in time") == 2
	})
}

// Handshakes that are begun and left, more than there are places: another sender gets in at any time, and after a moment also
// who has the address that they come from.
func TestFloodOfHandshakes(t *testing.T) {
	address, pool, refused := listen(t, Options{giveWay: 200 * time.Millisecond})
	stop := make(chan struct{})
	var flood sync.WaitGroup
	t.Cleanup(flood.Wait)
	t.Cleanup(func() { close(stop) })
	for host := range 40 { // 40 × 32 are more than 1024
		flood.Go(func() {
			dialer := &net.Dialer{Timeout: 10 * time.Second, LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, byte(host+1))}}
			var open []net.Conn
			defer func() {
				for _, c := range open {
					c.Close()
				}
			}()
			for range maxOfSender + 4 {
				c, err := dialer.Dial("tcp", address)
				if err != nil {
					return
				}
				fmt.Fprint(c, "\x16\x03\x01")
				open = append(open, c)
			}
			<-stop
		})
	}
	// Where the machine is slow they do not come fast enough to find nobody who has had his time.
	until(t, "all places are taken, and some had to wait or gave theirs up", func() bool {
		return refused.has("too many handshakes at once") || refused.has("others wanted its place")
	})
	for _, from := range []string{"127.0.0.1", "127.0.1.1", "127.0.0.1"} {
		until(t, from+" gets in", func() bool { return talk(address, from, &tls.Config{RootCAs: pool}) == nil })
	}
	// On a slow machine they came in before all places were taken.
	until(t, "somebody gave a place up", func() bool {
		_ = talk(address, "127.0.0.1", &tls.Config{RootCAs: pool})
		return refused.has("others wanted its place")
	})
}

// issuer is a CA of a test.
type issuer struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func pemOf(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newIssuer(t *testing.T, name string) *issuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issuer{certificate, key}
}

// client is a certificate that ends after a time, for clients or for servers.
func (i *issuer) client(t *testing.T, ends time.Duration, use x509.ExtKeyUsage) tls.Certificate {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "sender"}, NotBefore: time.Now().Add(-2 * time.Hour),
		NotAfter: time.Now().Add(ends), ExtKeyUsage: []x509.ExtKeyUsage{use}}
	der, err := x509.CreateCertificate(rand.Reader, template, i.certificate, key.Public(), i.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

func TestClientCertificates(t *testing.T) {
	ours, theirs := newIssuer(t, "ours"), newIssuer(t, "ours")
	address, pool, refused := listen(t, Options{ClientCA: pemOf("CERTIFICATE", ours.certificate.Raw)})
	say := func(own ...tls.Certificate) error {
		// Whatever is asked for: a client that is told of CAs would show none that is not of them.
		c := &tls.Config{RootCAs: pool}
		if len(own) > 0 {
			c.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &own[0], nil }
		}
		return talk(address, "127.0.0.1", c)
	}
	if err := say(ours.client(t, time.Hour, x509.ExtKeyUsageClientAuth)); err != nil {
		t.Error(err)
	}
	for words, own := range map[string][]tls.Certificate{
		"it shows no certificate, and one is asked for":  nil,
		"certificate has expired or is not yet valid":    {ours.client(t, -time.Minute, x509.ExtKeyUsageClientAuth)},
		"certificate signed by unknown authority":        {theirs.client(t, time.Hour, x509.ExtKeyUsageClientAuth)},
		"certificate specifies an incompatible key usag": {ours.client(t, time.Hour, x509.ExtKeyUsageServerAuth)},
	} {
		if err := say(own...); err == nil {
			t.Errorf("%s: let in", words)
		}
		until(t, words, func() bool {
			return refused.has("127.0.0.1 tls_client_certificate: x509: "+words) || refused.has("tls_client_certificate: "+words)
		})
	}
	for text, words := range map[string]string{
		"": "has no certificate in it", "nonsense": "has no certificate in it",
		pemOf("PRIVATE KEY", []byte("x")): "never a key",
		pemOf("CERTIFICATE", []byte("x")): "cannot be read",
		pemOf("CERTIFICATE", ours.client(t, time.Hour, x509.ExtKeyUsageClientAuth).Certificate[0]): "is not a CA's",
		strings.Repeat(" ", maxClientCA+1): "longer than",
	} {
		if err := CheckClientCA(text); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

func TestIdentity(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "tls")
	host, now := "berlin", time.Now()
	open := func() *Identity {
		i := NewIdentity(Files{Folder: folder})
		i.host, i.now = func() (string, error) { return host, nil }, func() time.Time { return now }
		return i
	}
	one := open()
	if one.Status() != nil {
		t.Error("it was made before anybody wanted it")
	}
	if err := one.Ready(); err != nil {
		t.Fatal(err)
	}
	first := *one.Status()
	if info, err := os.Stat(folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	file := filepath.Join(folder, ownFile)
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info.Mode(), err)
	}
	if !first.Own || !slices.Contains(first.Names, "berlin") || !slices.Contains(first.Names, "127.0.0.1") || strings.Contains(first.PEM, "PRIVATE") || first.Because != "" {
		t.Errorf("%+v", first)
	}
	block, _ := pem.Decode([]byte(first.PEM))
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	if leaf.IsCA || leaf.NotAfter.Sub(now).Round(time.Hour) != validity || leaf.CheckSignatureFrom(leaf) == nil {
		t.Errorf("%+v", leaf)
	}
	// It stays over a restart, and goes when it must.
	again := open()
	if err := again.Ready(); err != nil || again.Status().SHA256 != first.SHA256 {
		t.Error(err, again.Status())
	}
	last := first.SHA256
	renewed := func(why string, i *Identity) {
		t.Helper()
		if err := i.Ready(); err != nil {
			t.Fatal(err)
		}
		status := i.Status()
		if status.SHA256 == last || !strings.Contains(status.Because, why) {
			t.Errorf("%s: %+v", why, status)
		}
		last = status.SHA256
		if reread := open(); reread.Ready() != nil || reread.Status().Because != status.Because || reread.Status().SHA256 != last {
			t.Errorf("%s: %+v", why, reread.Status())
		}
	}
	host = "Paris"
	renewed("the host name is paris now; it was berlin", again)
	now = now.Add(validity + time.Hour)
	renewed("had ended", again)
	now = now.Add(-validity)
	renewed("the clock was set back", open())
	if err := os.WriteFile(file, []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	renewed("could not be read", open())
	if err := again.Renew(); err != nil || again.Status().SHA256 == last || again.Status().Because == "" {
		t.Error(err, again.Status())
	}
	last = again.Status().SHA256
	// A key that others can read is none, and is not shown to anybody.
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	exposed := open()
	if err := exposed.Ready(); err == nil || !strings.Contains(err.Error(), "others can read the key") {
		t.Error(err)
	}
	if _, err := exposed.Certificate(nil); err == nil {
		t.Error("it is shown all the same")
	}
	if status := exposed.Status(); status == nil || !strings.Contains(status.Problem, "mode 0640") || status.PEM != "" {
		t.Errorf("%+v", status)
	}
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := exposed.Ready(); err != nil || exposed.Status().Problem != "" || exposed.Status().SHA256 != last {
		t.Error(err, exposed.Status())
	}
	if err := NewIdentity(Files{}).Ready(); err == nil || !strings.Contains(err.Error(), "tls.folder") {
		t.Error(err)
	}
	// Nothing of what was made on the way is left.
	if left, err := os.ReadDir(folder); err != nil || len(left) != 1 {
		t.Error(left, err)
	}
}

func TestPairOfFiles(t *testing.T) {
	folder := t.TempDir()
	ours := newIssuer(t, "ours")
	files := Files{Certificate: filepath.Join(folder, "cert.pem"), Key: filepath.Join(folder, "key.pem")}
	put := func() {
		t.Helper()
		own := ours.client(t, time.Hour, x509.ExtKeyUsageServerAuth)
		key, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
		if err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string]string{files.Certificate: pemOf("CERTIFICATE", own.Certificate[0]), files.Key: pemOf("PRIVATE KEY", key)} {
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	i := NewIdentity(files)
	if err := i.Ready(); err == nil || !strings.Contains(err.Error(), "cert.pem") {
		t.Error(err)
	}
	put()
	if err := i.Ready(); err != nil {
		t.Fatal(err)
	}
	first := i.Status()
	if first.Own || first.Problem != "" {
		t.Errorf("%+v", first)
	}
	put()
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(files.Key, later, later); err != nil {
		t.Fatal(err)
	}
	if err := i.Ready(); err != nil || i.Status().SHA256 == first.SHA256 {
		t.Error(err, i.Status())
	}
	// Everybody's key, and a key of another certificate: the one before is shown, with what is wrong.
	if err := os.Chmod(files.Key, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := i.Ready(); err == nil || !strings.Contains(err.Error(), "everybody can read the key") || i.Status().Problem == "" || i.Status().PEM == "" {
		t.Error(err, i.Status())
	}
	if err := os.Chmod(files.Key, 0o600); err != nil {
		t.Fatal(err)
	}
	before := i.Status().SHA256
	if err := os.WriteFile(files.Certificate, []byte(pemOf("CERTIFICATE", ours.certificate.Raw)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := i.Ready(); err == nil || !strings.Contains(err.Error(), "does not match") || i.Status().SHA256 != before {
		t.Error(err, i.Status())
	}
}

// OpenSSL, by which many clients are made, trusts the certificate when it is named as that of a CA.
func TestOpenSSL(t *testing.T) {
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatal("openssl is needed: ", err)
	}
	identity := NewIdentity(Files{Folder: filepath.Join(t.TempDir(), "tls")})
	if err := identity.Ready(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "cistern.pem")
	if err := os.WriteFile(file, []byte(identity.Status().PEM), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, more := range [][]string{nil, {"-x509_strict"}} {
		said, err := exec.Command(openssl, append(append([]string{"verify"}, more...), "-purpose", "sslserver", "-verify_hostname", "localhost", "-CAfile", file, file)...).CombinedOutput()
		if err != nil || !strings.Contains(string(said), ": OK") {
			t.Errorf("%v: %v %s", more, err, said)
		}
	}
}
