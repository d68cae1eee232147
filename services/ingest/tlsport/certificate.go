package tlsport

// The certificate that clients are shown: the appliance's own, whose key no other part can read, or a pair of files.

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"cistern/services/platform/vfs"
)

const (
	// ownFile has key and certificate in one, so that no crash can part them.
	ownFile = "identity.pem"
	// validity is how long an own certificate holds. Clients have a copy of it and nobody can revoke it, so a shorter time would
	// make nobody safer; it would break what sends.
	validity = 10 * 365 * 24 * time.Hour
	// clockSlack is how far a client's clock may be behind.
	clockSlack = 24 * time.Hour
	// lookEvery is how often it is looked whether the certificate still is the right one.
	lookEvery = time.Minute
	// becauseWord stands before the reason for which the certificate was made, in front of its PEM.
	becauseWord = "Because: "
)

// Files are where key and certificate are.
type Files struct {
	// Folder is for those of the appliance's own, which are made there. Nobody else may read it.
	Folder string
	// Certificate and Key are a pair of PEM files from a CA, in place of these.
	Certificate, Key string
}

// Identity is who the appliance is to clients of TLS ports; safe for many goroutines.
type Identity struct {
	files   Files
	host    func() (string, error)
	now     func() time.Time
	mu      sync.Mutex // one change after the other
	stamp   string     // what the pair of files was when it was read
	current atomic.Pointer[loaded]
}

type loaded struct {
	pair    tls.Certificate
	leaf    *x509.Certificate
	because string
	problem error // what kept the newest from being read
}

// Status is what clients must know.
type Status struct {
	PEM       string   `json:"pem"` // the certificates, the server's first
	SHA256    string   `json:"sha256"`
	Names     []string `json:"names"`
	NotBefore string   `json:"notBefore"` // RFC 3339
	NotAfter  string   `json:"notAfter"`
	Own       bool     `json:"own"` // made by the appliance, which is all that trusts it
	// Because is why an own one took the place of another; "" for the first.
	Because string `json:"because"`
	// Problem is what is wrong with the files; "" for nothing.
	Problem string `json:"problem"`
}

// NewIdentity reads and makes nothing yet.
func NewIdentity(files Files) *Identity {
	return &Identity{files: files, host: os.Hostname, now: time.Now}
}

// Own says whether it is made by the appliance.
func (i *Identity) Own() bool { return i.files.Certificate == "" }

// Ready loads the certificate, and makes an own one where there is none that can be used.
func (i *Identity) Ready() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.look()
}

// Certificate is the newest, for tls.Config.
func (i *Identity) Certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if one := i.current.Load(); one != nil && one.leaf != nil {
		return &one.pair, nil
	}
	return nil, errors.New("there is no certificate to show")
}

// Status is the certificate; nil as long as no port wanted one.
func (i *Identity) Status() *Status {
	one := i.current.Load()
	if one == nil {
		return nil
	}
	status := &Status{Own: i.Own(), Names: []string{}}
	if one.problem != nil {
		status.Problem = one.problem.Error()
	}
	if one.leaf == nil {
		return status
	}
	for _, der := range one.pair.Certificate {
		status.PEM += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	}
	sum := sha256.Sum256(one.leaf.Raw)
	status.SHA256, status.Because = hex.EncodeToString(sum[:]), one.because
	status.Names = append(status.Names, one.leaf.DNSNames...)
	for _, address := range one.leaf.IPAddresses {
		status.Names = append(status.Names, address.String())
	}
	status.NotBefore, status.NotAfter = one.leaf.NotBefore.UTC().Format(time.RFC3339), one.leaf.NotAfter.UTC().Format(time.RFC3339)
	return status
}

// Watch looks again and again until ctx ends; changed is told of another certificate, and failed of what cannot be read.
func (i *Identity) Watch(ctx context.Context, changed func(Status), failed func(error)) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	said := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		before := i.Status()
		if before == nil { // nobody wants one
			continue
		}
		err := i.Ready()
		if after := i.Status(); after.SHA256 != before.SHA256 {
			changed(*after)
		}
		switch {
		case err == nil:
			said = ""
		case err.Error() != said:
			said = err.Error()
			failed(err)
		}
	}
}

// Renew makes another own certificate now, and reads a pair of files again.
func (i *Identity) Renew() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	if !i.Own() {
		i.stamp = ""
		return i.look()
	}
	return i.make("somebody asked for another one")
}

// look loads what is there. What was loaded before stays where it cannot. The caller holds mu.
func (i *Identity) look() error {
	err := i.load()
	if err == nil {
		return nil
	}
	next := loaded{problem: err}
	if before := i.current.Load(); before != nil {
		next = *before
		next.problem = err
	}
	i.current.Store(&next)
	return err
}

func (i *Identity) load() error {
	if !i.Own() {
		return i.loadFiles()
	}
	if i.files.Folder == "" {
		return errors.New("a TLS port needs a certificate: name a folder for storaged's own (tls.folder), or the files of one from a CA (tls.certificate, tls.key)")
	}
	now := i.current.Load()
	if now == nil || now.leaf == nil {
		path := filepath.Join(i.files.Folder, ownFile)
		if err := private(path); err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return i.make("")
		}
		if err != nil {
			return fmt.Errorf("reading the key of TLS ports: %w", err)
		}
		if now, err = parse(text, text); err != nil {
			return i.make("the one before could not be read")
		}
		i.current.Store(now)
	}
	if because := i.outdated(now.leaf); because != "" {
		return i.make(because)
	}
	if now.problem != nil {
		well := *now
		well.problem = nil
		i.current.Store(&well)
	}
	return nil
}

// private says of a file that others can read that its key is not one any more.
func private(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return nil // who reads it says why
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is no plain file", path)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("others can read the key %s (mode %04o): delete it, so that another one is made, or chmod it to 0600 when nobody has", path, info.Mode().Perm())
	}
	return nil
}

// outdated is why an own certificate cannot stay; "" when it can.
func (i *Identity) outdated(leaf *x509.Certificate) string {
	now := i.now()
	if now.After(leaf.NotAfter) {
		return "the one before had ended"
	}
	if now.Before(leaf.NotBefore) {
		return "the clock was set back, and the one before did not hold yet"
	}
	host, err := i.host()
	if name := dnsName(host); err == nil && name != "" && !slices.Contains(leaf.DNSNames, name) {
		return fmt.Sprintf("the host name is %s now; it was %s", name, leaf.Subject.CommonName)
	}
	return ""
}

func dnsName(host string) string { return strings.ToLower(strings.TrimSuffix(host, ".")) }

// make makes key and certificate. The caller holds mu.
func (i *Identity) make(because string) error {
	host, err := i.host()
	if err != nil || host == "" {
		host = "cistern"
	}
	host = dnsName(host)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return err
	}
	names := []string{host}
	if !strings.Contains(host, ".") {
		names = append(names, host+".local")
	}
	// No CA: who trusts it trusts this appliance, and nobody that a thief of its key might sign for.
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Cistern"}, CommonName: host},
		NotBefore: i.now().Add(-clockSlack).Truncate(time.Second), NotAfter: i.now().Add(validity).Truncate(time.Second),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: append(names, "localhost"), IPAddresses: addresses(),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	text := "The key and certificate of the TLS ports of this appliance's inputs.\n"
	if because != "" {
		text += becauseWord + because + "\n"
	}
	text += string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})) + string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
	if err := i.keep([]byte(text)); err != nil {
		return fmt.Errorf("the key of TLS ports cannot be kept: %w", err)
	}
	made, err := parse([]byte(text), []byte(text))
	if err == nil {
		i.current.Store(made)
	}
	return err
}

// keep writes the file, which nobody else can read at any time.
func (i *Identity) keep(text []byte) error {
	if err := os.MkdirAll(i.files.Folder, 0o700); err != nil {
		return err
	}
	path := filepath.Join(i.files.Folder, ownFile)
	temporary, err := os.CreateTemp(i.files.Folder, ".identity-*") // 0600
	if err != nil {
		return err
	}
	_, err = temporary.Write(text)
	err = errors.Join(err, temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
		return err
	}
	return vfs.OS.SyncDir(i.files.Folder)
}

// addresses are those that clients may reach the machine by.
func addresses() (all []net.IP) {
	all = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	interfaces, _ := net.InterfaceAddrs()
	for _, one := range interfaces {
		if network, ok := one.(*net.IPNet); ok && network.IP.IsGlobalUnicast() {
			all = append(all, network.IP)
		}
	}
	return all
}

// loadFiles reads a pair of files when they have changed.
func (i *Identity) loadFiles() error {
	stamp := ""
	for _, path := range []string{i.files.Certificate, i.files.Key} {
		info, err := os.Stat(path)
		if err != nil {
			return fmt.Errorf("the certificate of TLS ports: %w", err)
		}
		stamp += fmt.Sprintf("%s %d %d\n", info.ModTime(), info.Size(), info.Mode())
		if path == i.files.Key && info.Mode().Perm()&0o007 != 0 {
			return fmt.Errorf("everybody can read the key %s (mode %04o): chmod it to 0640 or 0600", path, info.Mode().Perm())
		}
	}
	if now := i.current.Load(); stamp == i.stamp && now != nil && now.problem == nil {
		return nil
	}
	certificate, err := os.ReadFile(i.files.Certificate)
	if err != nil {
		return fmt.Errorf("the certificate of TLS ports: %w", err)
	}
	key, err := os.ReadFile(i.files.Key)
	if err != nil {
		return fmt.Errorf("the key of TLS ports: %w", err)
	}
	next, err := parse(certificate, key)
	if err != nil {
		return fmt.Errorf("%s and %s: %w", i.files.Certificate, i.files.Key, err)
	}
	i.stamp = stamp
	i.current.Store(next)
	return nil
}

func parse(certificate, key []byte) (*loaded, error) {
	pair, err := tls.X509KeyPair(certificate, key)
	if err != nil {
		return nil, err
	}
	leaf, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return nil, err
	}
	one := &loaded{pair: pair, leaf: leaf}
	head, _, _ := strings.Cut(string(certificate), "-----BEGIN")
	for line := range strings.Lines(head) {
		if because, ok := strings.CutPrefix(strings.TrimSpace(line), becauseWord); ok {
			one.because = because
		}
	}
	return one, nil
}
