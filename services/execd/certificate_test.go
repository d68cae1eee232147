package execd

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/execd/certificate"
)

// newPair is a key and a certificate that it has signed itself, for 127.0.0.1.
func newPair(t *testing.T) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}))
}

// withPage gives the bench the certificate of a first boot, and a page that reads it anew when it is told to.
func (b *bench) withPage() (shown func() string) {
	b.t.Helper()
	folder := filepath.Join(b.state, "tls")
	if err := os.Mkdir(folder, 0o750); err != nil {
		b.t.Fatal(err)
	}
	chain, key := newPair(b.t)
	for name, text := range map[string]string{"cert.pem": chain, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o640); err != nil {
			b.t.Fatal(err)
		}
	}
	var pair atomic.Pointer[tls.Certificate]
	b.host.service = func(string, string) error {
		next, err := tls.LoadX509KeyPair(filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"))
		if err == nil {
			pair.Store(&next)
		}
		return err
	}
	if err := b.host.service("nginx", "reload"); err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*pair.Load()}}, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	b.t.Cleanup(server.Close)
	b.server.HTTPSPort = server.Listener.Addr().(*net.TCPAddr).Port
	return func() string { return certificate.Fingerprint(pair.Load().Certificate[0]) }
}

func (b *bench) certificateState(verb, body string) certificate.State {
	b.t.Helper()
	status, _, text := b.answer(verb, body)
	var state certificate.State
	if err := json.Unmarshal([]byte(text), &state); err != nil || status != 200 || state.Current == nil {
		b.t.Fatalf("%s: %d %s %v", verb, status, text, err)
	}
	return state
}

func TestTheCertificateOfThePage(t *testing.T) {
	b := start(t, "", "")
	shown := b.withPage()
	first := b.certificateState("tls.state", `{}`)
	if first.Current.Fingerprint != shown() {
		t.Errorf("%+v", first)
	}
	chain, key := newPair(t)
	body := func(certificate, key string) string {
		text, err := json.Marshal(map[string]any{"certificate": certificate, "key": key, "reachedAs": "127.0.0.1"})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	_, other := newPair(t)
	b.want("tls.install", body(chain, other), 400, "invalid_request")
	b.want("tls.check", body(chain, key), 200, "")
	if len(b.host.did) > 0 {
		t.Errorf("something was done: %q", b.host.did)
	}
	installed := b.certificateState("tls.install", body(chain, key))
	if installed.Current.Fingerprint != shown() || installed.Current.Fingerprint == first.Current.Fingerprint || installed.Previous.Fingerprint != first.Current.Fingerprint {
		t.Errorf("%+v", installed)
	}
	if !slices.Equal(b.host.did, []string{"reload nginx", "identity"}) {
		t.Errorf("%q", b.host.did)
	}
	if back := b.certificateState("tls.restore", `{}`); back.Current.Fingerprint != first.Current.Fingerprint || shown() != first.Current.Fingerprint {
		t.Errorf("%+v", back)
	}
	if own := b.certificateState("tls.self-signed", `{"names":["cistern"],"addresses":["127.0.0.1"]}`); !own.Current.SelfSigned || shown() != own.Current.Fingerprint {
		t.Errorf("%+v", own)
	}
	if asked := b.certificateState("tls.request", `{"names":["cistern"],"addresses":[],"organization":"","country":"","key":"ecdsa-p256"}`); asked.Request == nil {
		t.Errorf("%+v", asked)
	}
	// Nothing of a key is written anywhere but into the folder, nor answered.
	b.want("tls.install", body(chain+key, ""), 200, "")
	audit := b.read("execd/audit.log")
	for _, line := range strings.Split(strings.TrimSpace(key), "\n") {
		if strings.Contains(audit, line) && !strings.HasPrefix(line, "-----") {
			t.Fatal("the audit trail has the key")
		}
	}
	if !strings.Contains(audit, `"verb":"tls.install"`) || !strings.Contains(audit, `"key":"********"`) || strings.Contains(audit, "tls.state") {
		t.Error(audit)
	}
}

// A change that was cut off before the page was asked is taken back when execd starts.
func TestACertificateThatWasCutOff(t *testing.T) {
	b := start(t, "", "")
	shown := b.withPage()
	before := b.certificateState("tls.self-signed", `{"names":["old"],"addresses":[]}`)
	folder := filepath.Join(b.state, "tls")
	chain, key := newPair(t)
	if err := os.Rename(filepath.Join(folder, "page.pem"), filepath.Join(folder, "before.pem")); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "page.pem"), []byte(chain+key), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := b.server.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	if after := b.certificateState("tls.state", `{}`); after.Current.Fingerprint != before.Current.Fingerprint || shown() != before.Current.Fingerprint {
		t.Errorf("%+v", after)
	}
}
