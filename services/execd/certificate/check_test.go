package certificate

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"software.sslmate.com/src/go-pkcs12"
)

func checked(given Given, own ...ownKey) (*Checked, error) {
	return check(given, surroundings{now: present, own: own, names: []string{"cistern.example"}})
}

func TestWhatIsRefused(t *testing.T) {
	root, between := authorities(t)
	good := issue(t, between, newKey(t), nil)
	with := func(change func(*x509.Certificate)) *issued { return issue(t, between, newKey(t), change) }
	of := func(key crypto.Signer, err error) *issued {
		if err != nil {
			t.Fatal(err)
		}
		return issue(t, between, key, nil)
	}
	text := func(one *issued) Given {
		return Given{Certificate: chainOf(one, between, root), Key: keyOf(t, one.key)}
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: []byte("what is no key")})
	locked := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"DEK-Info": "AES-128-CBC,00"}, Bytes: []byte{1}})
	other := issue(t, root, newKey(t), authority("Test Issuing")) // the name of one, and not its key
	ended := issue(t, root, newKey(t), func(c *x509.Certificate) { authority("Ended")(c); c.NotAfter = present.Add(-time.Minute) })
	noAuthority := issue(t, root, newKey(t), func(c *x509.Certificate) { authority("No CA")(c); c.IsCA = false; c.KeyUsage = 0 })
	for what, c := range map[string]struct {
		given       Given
		field, says string
	}{
		"nothing":                 {Given{}, "certificate", "There is no certificate"},
		"no PEM":                  {Given{Certificate: "hello"}, "certificate", "no certificate in PEM"},
		"cut off":                 {Given{Certificate: chainOf(good)[:300]}, "certificate", "not whole"},
		"damaged":                 {Given{Certificate: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: good.Raw[:100]}))}, "certificate", "Certificate number 1 cannot be read"},
		"a request":               {Given{Certificate: "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n-----END CERTIFICATE REQUEST-----\n"}, "certificate", "signing request"},
		"PKCS #7":                 {Given{Certificate: "-----BEGIN PKCS7-----\nAAAA\n-----END PKCS7-----\n"}, "certificate", "PKCS #7"},
		"another key":             {Given{Certificate: chainOf(good, between, root), Key: keyOf(t, newKey(t))}, "key", "does not belong to the certificate for cistern.example"},
		"another key beside":      {Given{Certificate: chainOf(good, between, root) + keyOf(t, newKey(t))}, "certificate", "does not belong"},
		"a key that is none":      {Given{Certificate: chainOf(good), Key: string(small)}, "key", "cannot be read"},
		"an encrypted key":        {Given{Certificate: chainOf(good), Key: string(locked)}, "key", "encrypted"},
		"no key in the key":       {Given{Certificate: chainOf(good), Key: chainOf(good)}, "key", "no private key in PEM"},
		"two keys":                {Given{Certificate: chainOf(good) + keyOf(t, good.key) + keyOf(t, good.key)}, "certificate", "more than one private key"},
		"no key":                  {Given{Certificate: chainOf(good)}, "certificate", "there is no signing request"},
		"both":                    {Given{Certificate: chainOf(good), PKCS12: "AAAA"}, "pkcs12", "not both"},
		"expired":                 {text(with(func(c *x509.Certificate) { c.NotAfter = present.Add(-time.Minute) })), "certificate", "expired on 2026-06-01 11:59 UTC; the appliance's clock says 2026-06-01 12:00 UTC"},
		"not yet valid":           {text(with(func(c *x509.Certificate) { c.NotBefore = present.Add(time.Hour) })), "certificate", "valid only from 2026-06-01 13:00 UTC on"},
		"no names":                {text(with(func(c *x509.Certificate) { c.DNSNames, c.IPAddresses = nil, nil })), "certificate", "names no host name"},
		"for people":              {text(with(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth} })), "certificate", "not meant for a web server"},
		"a key that may not sign": {text(with(func(c *x509.Certificate) { c.KeyUsage = x509.KeyUsageKeyAgreement })), "certificate", "may not sign"},
		"1,024 bits":              {text(of(rsa.GenerateKey(rand.Reader, 1024))), "certificate", "has 1024 bits"},
		"P-521":                   {text(of(ecdsa.GenerateKey(elliptic.P521(), rand.Reader))), "certificate", "the curve P-521"},
		"Ed25519":                 {text(of(edwards, nil)), "certificate", "browsers do not take"},
		"a false authority":       {Given{Certificate: chainOf(good, other), Key: keyOf(t, good.key)}, "certificate", "“Test Issuing” bears the name of who issued the one for cistern.example, but did not sign it"},
		"an expired authority":    {Given{Certificate: chainOf(issue(t, ended, good.key, nil), ended), Key: keyOf(t, good.key)}, "certificate", "authority's certificate “Ended” expired"},
		"by no authority":         {Given{Certificate: chainOf(issue(t, noAuthority, good.key, nil), noAuthority), Key: keyOf(t, good.key)}, "certificate", "did not sign it"},
	} {
		got, err := checked(c.given)
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Field != c.field || !strings.Contains(refusal.Message, c.says) {
			t.Errorf("%s: %v %+v, not “%s” at %s", what, got, err, c.says, c.field)
		}
	}
	if _, err := checked(text(good)); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

func TestAChainIsPutInOrder(t *testing.T) {
	root, between := authorities(t)
	good, stranger := issue(t, between, newKey(t), nil), issue(t, nil, newKey(t), authority("Somebody else"))
	got, err := checked(Given{Certificate: keyOf(t, good.key) + chainOf(root, stranger, between, good)})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range got.chain {
		names = append(names, nameOf(one))
	}
	if strings.Join(names, ", ") != "cistern.example, Test Issuing, Test Root" || !got.Certificate.Complete || got.Certificate.Trusted || len(got.Warnings) > 0 {
		t.Errorf("%q %+v", names, got)
	}
	if len(got.Notes) != 2 || !strings.Contains(got.Notes[0], "put in order") || !strings.Contains(got.Notes[1], "left out: 1") {
		t.Errorf("%q", got.Notes)
	}
}

func TestWarningsAreAccepted(t *testing.T) {
	root, between := authorities(t)
	good := issue(t, between, newKey(t), func(c *x509.Certificate) { c.IssuingCertificateURL = []string{"http://ca.example/issuing.crt"} })
	alone := Given{Certificate: chainOf(good), Key: keyOf(t, good.key), ReachedAs: "other.example"}
	got, err := checked(alone)
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Warnings) != 2 || got.Warnings[0].Kind != WarnChain || got.Warnings[1].Kind != WarnName {
		t.Fatalf("%+v", got.Warnings)
	}
	if says := got.Warnings[0].Message; !strings.Contains(says, "“Test Issuing”") || !strings.Contains(says, "http://ca.example/issuing.crt") {
		t.Error(says)
	}
	if says := got.Warnings[1].Message; !strings.Contains(says, "open as other.example, and the certificate is for cistern.example, 127.0.0.1") {
		t.Error(says)
	}
	var left Unaccepted
	if err := got.refused([]string{WarnChain}); !errors.As(err, &left) || len(left) != 1 || left[0].Kind != WarnName {
		t.Errorf("%v", err)
	}
	if err := got.refused([]string{WarnChain, WarnName}); err != nil {
		t.Error(err)
	}
	// What the system knows needs no root in the file.
	known := x509.NewCertPool()
	known.AddCert(root.Certificate)
	around := surroundings{now: present, roots: known, names: []string{"cistern.example"}}
	trusted, err := check(Given{Certificate: chainOf(good, between), Key: keyOf(t, good.key)}, around)
	if err != nil || !trusted.Certificate.Trusted || len(trusted.Warnings) > 0 {
		t.Errorf("%+v %v", trusted, err)
	}
	if still, err := check(Given{Certificate: chainOf(good), Key: keyOf(t, good.key)}, around); err != nil || len(still.Warnings) != 1 || still.Certificate.Complete {
		t.Errorf("without the one in between: %+v %v", still, err)
	}
	// An address is a name like another.
	for reached, warnings := range map[string]int{"127.0.0.1": 0, "127.0.0.2": 1} {
		if got, err := checked(Given{Certificate: chainOf(good, between, root), Key: keyOf(t, good.key), ReachedAs: reached}); err != nil || len(got.Warnings) != warnings {
			t.Errorf("%s: %+v %v", reached, got, err)
		}
	}
}

func TestPKCS12(t *testing.T) {
	root, between := authorities(t)
	good := issue(t, between, newKey(t), nil)
	for name, encoder := range map[string]*pkcs12.Encoder{"AES": pkcs12.Modern2023, "RC2": pkcs12.LegacyRC2} {
		file, err := encoder.Encode(good.key, good.Certificate, []*x509.Certificate{root.Certificate, between.Certificate}, "geheim")
		if err != nil {
			t.Fatal(err)
		}
		given := Given{PKCS12: base64.StdEncoding.EncodeToString(file), Password: "geheim"}
		if got, err := checked(given); err != nil || len(got.chain) != 3 || !got.Certificate.Complete {
			t.Errorf("%s: %+v %v", name, got, err)
		}
		for password, says := range map[string]string{"wrong": "not the password", "": "has a password"} {
			given.Password = password
			var refusal *Refusal
			if _, err := checked(given); !errors.As(err, &refusal) || refusal.Field != "password" || !strings.Contains(refusal.Message, says) {
				t.Errorf("%s, %q: %v", name, password, err)
			}
		}
	}
	// As OpenSSL 3 writes it: PBES2 with AES-256, and a MAC with SHA-256.
	file, err := os.ReadFile("testdata/openssl3.p12")
	if err != nil {
		t.Fatal(err)
	}
	around := surroundings{now: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}
	if got, err := check(Given{PKCS12: base64.StdEncoding.EncodeToString(file), Password: "geheim"}, around); err != nil || got.Certificate.Subject != "cistern.test" || got.Certificate.Key != "RSA 2048" {
		t.Errorf("%+v %v", got, err)
	}
	for _, broken := range []string{"%%%", base64.StdEncoding.EncodeToString(file[:200])} {
		var refusal *Refusal
		if _, err := check(Given{PKCS12: broken, Password: "geheim"}, around); !errors.As(err, &refusal) || refusal.Field != "pkcs12" {
			t.Errorf("%v", err)
		}
	}
}

func TestNamesOfARequest(t *testing.T) {
	for what, c := range map[string]struct {
		wanted Wanted
		field  string
	}{
		"none":           {Wanted{Key: "ecdsa-p256"}, "names"},
		"a space":        {Wanted{Names: Names{Names: []string{"a b"}}, Key: "ecdsa-p256"}, "names"},
		"an address":     {Wanted{Names: Names{Names: []string{"192.0.2.7"}}, Key: "ecdsa-p256"}, "names"},
		"no address":     {Wanted{Names: Names{Addresses: []string{"cistern"}}, Key: "ecdsa-p256"}, "addresses"},
		"another key":    {Wanted{Names: Names{Names: []string{"a"}}, Key: "dsa"}, "key"},
		"a long country": {Wanted{Names: Names{Names: []string{"a"}}, Key: "ecdsa-p256", Country: "Germany"}, "country"},
		"two lines":      {Wanted{Names: Names{Names: []string{"a"}}, Key: "ecdsa-p256", Organization: "a\nb"}, "organization"},
	} {
		var refusal *Refusal
		if _, err := makeRequest(c.wanted); !errors.As(err, &refusal) || refusal.Field != c.field {
			t.Errorf("%s: %v", what, err)
		}
	}
	text, err := makeRequest(Wanted{Names: Names{[]string{"Cistern.Example.", "*.example"}, []string{"2001:db8::7"}}, Organization: "Example", Country: "DE", Key: "rsa-2048"})
	if err != nil {
		t.Fatal(err)
	}
	request, key, err := decodeRequest(text)
	if err != nil || request.Subject != "CN=cistern.example,O=Example,C=DE" || request.Key != "RSA 2048" || key == nil {
		t.Fatalf("%+v %v", request, err)
	}
	if names := strings.Join(append(request.Names.Names, request.Addresses...), " "); names != "cistern.example *.example 2001:db8::7" {
		t.Error(names)
	}
	if strings.Contains(request.PEM, "PRIVATE") {
		t.Error("the key is in what the authority is given")
	}
}
