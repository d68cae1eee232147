package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"strings"

	"software.sslmate.com/src/go-pkcs12"
)

// mostCertificates is how many a file may have: a chain has three or four.
const mostCertificates = 20

// Given is what somebody wants installed: PEM, or PKCS #12 with its password.
type Given struct {
	// Certificate is the chain in PEM, in any order; the key may stand with it.
	Certificate string
	// Key is in PEM; "": that of the signing request, or the one in use.
	Key string
	// PKCS12 is a file in base64.
	PKCS12, Password string
	// ReachedAs is the host name or address by which the page is open; "": not known.
	ReachedAs string
	// Accept are the kinds of warnings that are accepted.
	Accept []string
}

// parts are what was found in it, in the order in which it was found.
type parts struct {
	certificates []*x509.Certificate
	key          crypto.Signer // nil: none was given
}

func (g Given) read() (parts, error) {
	if g.PKCS12 != "" {
		if g.Certificate != "" || g.Key != "" {
			return parts{}, refuse("pkcs12", "", "Give either a PKCS #12 file or PEM, not both.")
		}
		return g.readPKCS12()
	}
	if strings.TrimSpace(g.Certificate) == "" {
		return parts{}, refuse("certificate", "Paste the certificate that the authority has sent, with those in between, or choose its file.", "There is no certificate.")
	}
	found, err := readPEM("certificate", g.Certificate)
	if err != nil {
		return parts{}, err
	}
	if len(found.certificates) == 0 {
		return parts{}, refuse("certificate", "Paste text that begins with -----BEGIN CERTIFICATE-----.", "This is no certificate in PEM.")
	}
	if strings.TrimSpace(g.Key) == "" {
		return found, nil
	}
	key, err := readPEM("key", g.Key)
	switch {
	case err != nil:
		return parts{}, err
	case key.key == nil:
		return parts{}, refuse("key", "Paste text that begins with -----BEGIN PRIVATE KEY-----; leave it empty for a certificate of the signing request.", "This is no private key in PEM.")
	case found.key != nil:
		return parts{}, refuse("key", "Leave one out.", "There is a private key with the certificate already.")
	}
	found.key = key.key
	return found, nil
}

// readPEM reads certificates and at most one key. What it says of a key never quotes it.
func readPEM(field, text string) (parts, error) {
	var found parts
	rest := []byte(text)
	for {
		var block *pem.Block
		block, rest = pem.Decode(rest)
		if block == nil {
			break
		}
		switch {
		case block.Type == "CERTIFICATE" || block.Type == "X509 CERTIFICATE" || block.Type == "TRUSTED CERTIFICATE":
			if len(found.certificates) == mostCertificates {
				return found, refuse(field, "Give the certificate of the appliance and those that lead to its authority.", "These are more than %d certificates.", mostCertificates)
			}
			one, err := x509.ParseCertificate(block.Bytes)
			if err != nil {
				return found, refuse(field, "Ask the authority for it once more, in PEM.", "Certificate number %d cannot be read: %s.", len(found.certificates)+1, strings.TrimPrefix(err.Error(), "x509: "))
			}
			found.certificates = append(found.certificates, one)
		case block.Type == "CERTIFICATE REQUEST" || block.Type == "NEW CERTIFICATE REQUEST":
			return found, refuse(field, "Send it to the authority, and paste what comes back.", "This is a signing request, and no certificate.")
		case block.Type == "PKCS7" || block.Type == "CMS":
			return found, refuse(field, "Make PEM of it with “openssl pkcs7 -print_certs”, or ask the authority for PEM.", "This is PKCS #7, which is not read.")
		case block.Type == "ENCRYPTED PRIVATE KEY" || block.Headers["DEK-Info"] != "":
			return found, refuse(field, "Give it as PKCS #12 with its password, or without encryption (“openssl pkey” makes that).", "The private key is encrypted.")
		case strings.HasSuffix(block.Type, "PRIVATE KEY"):
			if found.key != nil {
				return found, refuse(field, "Leave those out that do not belong to the certificate.", "There is more than one private key.")
			}
			key, err := parseKey(block.Bytes)
			if err != nil {
				return found, refuse(field, "Give an RSA or ECDSA key as PKCS #8, PKCS #1 or SEC 1.", "The private key cannot be read.")
			}
			found.key = key
		}
	}
	if begun := strings.Count(string(rest), "-----BEGIN "); begun > 0 {
		return found, refuse(field, "Copy it once more, from -----BEGIN to the dashes behind END.", "The text is not whole: something that begins with -----BEGIN has no proper end.")
	}
	return found, nil
}

func parseKey(der []byte) (crypto.Signer, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		if signer, ok := key.(crypto.Signer); ok {
			return signer, nil
		}
		return nil, errors.New("no key that signs")
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	return x509.ParseECPrivateKey(der)
}

func (g Given) readPKCS12() (parts, error) {
	const again = "Export it once more, as .p12 or .pfx, with the key and the whole chain."
	file, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(g.PKCS12), ""))
	if err != nil {
		return parts{}, refuse("pkcs12", again, "The PKCS #12 file is not whole.")
	}
	key, leaf, others, err := pkcs12.DecodeChain(file, g.Password)
	switch {
	case errors.Is(err, pkcs12.ErrIncorrectPassword) && g.Password == "":
		return parts{}, refuse("password", "Give the password with which it was exported.", "The PKCS #12 file has a password.")
	case errors.Is(err, pkcs12.ErrIncorrectPassword):
		return parts{}, refuse("password", "Give the password with which it was exported.", "This is not the password of the PKCS #12 file.")
	case err != nil:
		return parts{}, refuse("pkcs12", again, "The PKCS #12 file cannot be read: %s.", strings.TrimPrefix(err.Error(), "pkcs12: "))
	}
	signer, ok := key.(crypto.Signer)
	if !ok {
		return parts{}, refuse("pkcs12", again, "The key in the PKCS #12 file is none that signs.")
	}
	if len(others) >= mostCertificates {
		return parts{}, refuse("pkcs12", again, "The PKCS #12 file has more than %d certificates.", mostCertificates)
	}
	return parts{append([]*x509.Certificate{leaf}, others...), signer}, nil
}

// belongs says whether a certificate is of that key.
func belongs(one *x509.Certificate, key crypto.Signer) bool {
	public, ok := key.Public().(interface{ Equal(crypto.PublicKey) bool })
	return ok && public.Equal(one.PublicKey)
}

// kindOf is a public key in words.
func kindOf(public crypto.PublicKey) string {
	switch key := public.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", key.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA " + key.Curve.Params().Name
	}
	return strings.TrimSuffix(strings.TrimPrefix(fmt.Sprintf("%T", public), "*"), ".PublicKey")
}

// weak is why no browser, or no careful one, takes a key; "" when all do.
func weak(public crypto.PublicKey) string {
	const instead = "RSA of 2,048 to 8,192 bits, or ECDSA with P-256 or P-384"
	switch key := public.(type) {
	case *rsa.PublicKey:
		if bits := key.N.BitLen(); bits < 2048 || bits > 8192 {
			return fmt.Sprintf("has %d bits; use %s", bits, instead)
		}
	case *ecdsa.PublicKey:
		if key.Curve != elliptic.P256() && key.Curve != elliptic.P384() {
			return fmt.Sprintf("is on the curve %s, which browsers do not take; use %s", key.Curve.Params().Name, instead)
		}
	default:
		return fmt.Sprintf("is of a kind (%s) that browsers do not take; use %s", kindOf(public), instead)
	}
	return ""
}

// encode is a pair as it is kept: the chain, and the key behind it.
func encode(chain []*x509.Certificate, key crypto.Signer) ([]byte, error) {
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	for _, one := range chain {
		_ = pem.Encode(&text, &pem.Block{Type: "CERTIFICATE", Bytes: one.Raw}) // a buffer takes everything
	}
	_ = pem.Encode(&text, &pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	return text.Bytes(), nil
}

// decode reads a kept pair, and makes sure that it is one.
func decode(text []byte) (parts, error) {
	found, err := readPEM("certificate", string(text))
	switch {
	case err != nil:
		return found, err
	case len(found.certificates) == 0:
		return found, errors.New("there is no certificate in it")
	case found.key == nil:
		return found, errors.New("there is no key in it")
	case !belongs(found.certificates[0], found.key):
		return found, errors.New("the key does not belong to the certificate")
	}
	return found, nil
}
