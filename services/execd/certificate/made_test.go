package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

var present = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// issued is a certificate with its key, and who issued it.
type issued struct {
	*x509.Certificate
	key crypto.Signer
}

func newKey(t *testing.T) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// issue makes a certificate that by signs; nil: it signs itself. change is applied to what would be good.
func issue(t *testing.T, by *issued, key crypto.Signer, change func(*x509.Certificate)) *issued {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "cistern.example"}, DNSNames: []string{"cistern.example"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotBefore: present.Add(-time.Hour), NotAfter: present.Add(90 * 24 * time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, BasicConstraintsValid: true,
	}
	if change != nil {
		change(template)
	}
	parent, signer := template, key
	if by != nil {
		parent, signer = by.Certificate, by.key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	one, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &issued{one, key}
}

func authority(name string) func(*x509.Certificate) {
	return func(c *x509.Certificate) {
		c.Subject, c.DNSNames, c.IPAddresses, c.ExtKeyUsage = pkix.Name{CommonName: name}, nil, nil, nil
		c.IsCA, c.KeyUsage, c.NotAfter = true, x509.KeyUsageCertSign, present.Add(3650*24*time.Hour)
	}
}

// authorities are a root and one in between.
func authorities(t *testing.T) (root, between *issued) {
	t.Helper()
	root = issue(t, nil, newKey(t), authority("Test Root"))
	return root, issue(t, root, newKey(t), authority("Test Issuing"))
}

func chainOf(all ...*issued) (text string) {
	for _, one := range all {
		text += string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: one.Raw}))
	}
	return text
}

func keyOf(t *testing.T, key crypto.Signer) string {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
