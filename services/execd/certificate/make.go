package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"regexp"
	"strings"
	"time"
)

const (
	// ownValidity is how long a certificate holds that the appliance makes itself: as long as that of its first boot.
	ownValidity = 3650 * 24 * time.Hour
	// clockSlack is how far behind the clock of a browser may be.
	clockSlack = 24 * time.Hour

	mostNames = 50
)

// Names are what the page is reached by.
type Names struct {
	Names     []string `json:"names"`
	Addresses []string `json:"addresses"`
}

// Labels of letters, digits and hyphens; the first may be a star.
var dnsName = regexp.MustCompile(`^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

func (n Names) parsed() (names []string, addresses []net.IP, err error) {
	if len(n.Names)+len(n.Addresses) == 0 {
		return nil, nil, refuse("names", "Give each name and address under which the page is opened.", "There is neither a name nor an address.")
	}
	if len(n.Names)+len(n.Addresses) > mostNames {
		return nil, nil, refuse("names", "Leave some out.", "These are more than %d names and addresses.", mostNames)
	}
	for _, name := range n.Names {
		name = strings.ToLower(strings.TrimSuffix(strings.TrimSpace(name), "."))
		if len(name) > 253 || !dnsName.MatchString(name) || net.ParseIP(name) != nil {
			return nil, nil, refuse("names", "A name looks like cistern.example.", "“%s” is no host name.", name)
		}
		names = append(names, name)
	}
	for _, text := range n.Addresses {
		address := net.ParseIP(strings.TrimSpace(text))
		if address == nil {
			return nil, nil, refuse("addresses", "An address looks like 192.0.2.7 or 2001:db8::7.", "“%s” is no IP address.", text)
		}
		addresses = append(addresses, address)
	}
	return names, addresses, nil
}

// commonName is what old programs show; it holds 64 characters.
func commonName(names []string, addresses []net.IP) string {
	for _, name := range names {
		if len(name) <= 64 {
			return name
		}
	}
	if len(addresses) > 0 {
		return addresses[0].String()
	}
	return ""
}

// makeSelfSigned makes a key and a certificate of it. No CA: who trusts it trusts this appliance, and nobody else.
func makeSelfSigned(wanted Names, now time.Time) ([]*x509.Certificate, crypto.Signer, error) {
	names, addresses, err := wanted.parsed()
	if err != nil {
		return nil, nil, err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 126))
	if err != nil {
		return nil, nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{Organization: []string{"Cistern"}, CommonName: commonName(names, addresses)},
		NotBefore: now.Add(-clockSlack).Truncate(time.Second), NotAfter: now.Add(ownValidity).Truncate(time.Second),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, DNSNames: names, IPAddresses: addresses,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, err
	}
	made, err := x509.ParseCertificate(der)
	return []*x509.Certificate{made}, key, err
}

// Wanted is what a signing request asks for.
type Wanted struct {
	Names
	Organization string `json:"organization"`
	Country      string `json:"country"` // two letters, or empty
	Key          string `json:"key"`     // of keyKinds
}

var keyKinds = map[string]func() (crypto.Signer, error){
	"ecdsa-p256": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P256(), rand.Reader) },
	"ecdsa-p384": func() (crypto.Signer, error) { return ecdsa.GenerateKey(elliptic.P384(), rand.Reader) },
	"rsa-2048":   func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 2048) },
	"rsa-4096":   func() (crypto.Signer, error) { return rsa.GenerateKey(rand.Reader, 4096) },
}

var (
	countryCode = regexp.MustCompile(`^([A-Z]{2})?$`)
	oneLine     = regexp.MustCompile(`^[^\x00-\x1f\x7f]{0,64}$`)
)

// makeRequest makes a key and a signing request of it: PEM of both.
func makeRequest(wanted Wanted) ([]byte, error) {
	names, addresses, err := wanted.parsed()
	if err != nil {
		return nil, err
	}
	generate, ok := keyKinds[wanted.Key]
	switch {
	case !ok:
		return nil, refuse("key", "", "A key is ecdsa-p256, ecdsa-p384, rsa-2048 or rsa-4096.")
	case !countryCode.MatchString(wanted.Country):
		return nil, refuse("country", "It looks like DE or CH.", "A country is two capital letters.")
	case !oneLine.MatchString(wanted.Organization):
		return nil, refuse("organization", "", "An organization is one line of at most 64 characters.")
	}
	key, err := generate()
	if err != nil {
		return nil, err
	}
	subject := pkix.Name{CommonName: commonName(names, addresses)}
	if wanted.Organization != "" {
		subject.Organization = []string{wanted.Organization}
	}
	if wanted.Country != "" {
		subject.Country = []string{wanted.Country}
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject, DNSNames: names, IPAddresses: addresses}, key)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}) // a buffer takes everything
	_ = pem.Encode(&text, &pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	return text.Bytes(), nil
}

// Request is a signing request whose answer is waited for.
type Request struct {
	Names
	Subject string `json:"subject"`
	Key     string `json:"key"`
	// PEM is what the authority is given.
	PEM string `json:"pem"`
}

func decodeRequest(text []byte) (*Request, crypto.Signer, error) {
	var request *x509.CertificateRequest
	var key crypto.Signer
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		var err error
		if block.Type == "CERTIFICATE REQUEST" {
			request, err = x509.ParseCertificateRequest(block.Bytes)
		} else {
			key, err = parseKey(block.Bytes)
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if request == nil || key == nil {
		return nil, nil, errors.New("it is not whole")
	}
	one := &Request{
		Subject: request.Subject.String(), Key: kindOf(request.PublicKey), Names: Names{append([]string{}, request.DNSNames...), []string{}},
		PEM: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: request.Raw})),
	}
	for _, address := range request.IPAddresses {
		one.Addresses = append(one.Addresses, address.String())
	}
	return one, key, nil
}
