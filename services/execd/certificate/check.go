package certificate

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kinds of warnings.
const (
	// WarnName: the page is not reached by any name in it.
	WarnName = "name"
	// WarnChain: nothing is known of who issued it.
	WarnChain = "chain"
)

// Warning is what may be meant so: it has to be accepted.
type Warning struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Checked is a pair that may be installed.
type Checked struct {
	chain []*x509.Certificate
	key   crypto.Signer
	ofKey string

	// Certificate is what would be in use.
	Certificate Certificate `json:"certificate"`
	// Warnings have to be accepted; Notes say what was made of what was given.
	Warnings []Warning `json:"warnings"`
	Notes    []string  `json:"notes"`
}

// ownKey is one that is here already.
type ownKey struct {
	what string // KeyOfRequest, KeyInUse
	key  crypto.Signer
}

// Whose key a certificate is of that came without one.
const (
	KeyGiven     = "given"
	KeyOfRequest = "request"
	KeyInUse     = "current"
)

// surroundings are what a certificate is held against.
type surroundings struct {
	now   time.Time
	roots *x509.CertPool // nil: none are known
	own   []ownKey
	// names are those of the machine: one of them is enough where it is not known by which it is reached.
	names []string
}

func check(given Given, around surroundings) (*Checked, error) {
	found, err := given.read()
	if err != nil {
		return nil, err
	}
	field := "certificate"
	if given.PKCS12 != "" {
		field = "pkcs12"
	}
	leaf, key, ofKey, err := pair(field, given, found, around.own)
	if err != nil {
		return nil, err
	}
	if why := weak(leaf.PublicKey); why != "" {
		return nil, refuse(field, "Make a new signing request here, and have it signed.", "The key of the certificate for %s %s.", nameOf(leaf), why)
	}
	if err := usable(field, leaf, around.now); err != nil {
		return nil, err
	}
	chain, err := inOrder(field, leaf, found.certificates, around.now)
	if err != nil {
		return nil, err
	}
	checked := &Checked{chain: chain, key: key, ofKey: ofKey, Warnings: []Warning{}, Notes: []string{}}
	if !slices.EqualFunc(chain, found.certificates[:len(chain)], (*x509.Certificate).Equal) {
		checked.Notes = append(checked.Notes, "The certificates are put in order: that of the appliance first, then each with the one that signed the one before.")
	}
	if left := len(found.certificates) - len(chain); left > 0 {
		checked.Notes = append(checked.Notes, fmt.Sprintf("What does not lead from the appliance's certificate to its authority is left out: %d in number.", left))
	}
	switch ofKey {
	case KeyOfRequest:
		checked.Notes = append(checked.Notes, "It is for the key of the signing request.")
	case KeyInUse:
		checked.Notes = append(checked.Notes, "It is for the key that is in use, which stays.")
	}
	checked.Certificate = describe(chain, around.roots, around.now)
	if !checked.Certificate.Complete {
		checked.Warnings = append(checked.Warnings, Warning{WarnChain, missing(chain[len(chain)-1])})
	}
	if message := unnamed(leaf, given.ReachedAs, around.names); message != "" {
		checked.Warnings = append(checked.Warnings, Warning{WarnName, message})
	}
	return checked, nil
}

// refused are the warnings that were not accepted; nil when all were.
func (c *Checked) refused(accepted []string) error {
	left := slices.DeleteFunc(slices.Clone(c.Warnings), func(one Warning) bool { return slices.Contains(accepted, one.Kind) })
	if len(left) == 0 {
		return nil
	}
	return Unaccepted(left)
}

// pair finds the certificate that is of the key. Of several the one that ends last is meant.
func pair(field string, given Given, found parts, own []ownKey) (*x509.Certificate, crypto.Signer, string, error) {
	of := func(key crypto.Signer) (leaf *x509.Certificate) {
		for _, one := range found.certificates {
			if belongs(one, key) && (leaf == nil || one.NotAfter.After(leaf.NotAfter)) {
				leaf = one
			}
		}
		return leaf
	}
	if found.key != nil {
		if leaf := of(found.key); leaf != nil {
			return leaf, found.key, KeyGiven, nil
		}
		at := field
		if strings.TrimSpace(given.Key) != "" {
			at = "key"
		}
		return nil, nil, "", refuse(at, "Give the key with which this certificate was requested; leave it out when the request was made here.", "The private key does not belong to the certificate for %s.", nameOf(found.certificates[0]))
	}
	for _, one := range own {
		if leaf := of(one.key); leaf != nil {
			return leaf, one.key, one.what, nil
		}
	}
	what := "is not for the key that is in use, and there is no signing request"
	if slices.ContainsFunc(own, func(one ownKey) bool { return one.what == KeyOfRequest }) {
		what = "is neither for the present signing request nor for the key that is in use"
	}
	return nil, nil, "", refuse(field, "Give its private key too, or make a signing request here and have that signed.", "The certificate for %s %s.", nameOf(found.certificates[0]), what)
}

// usable is about the appliance's own certificate.
func usable(field string, leaf *x509.Certificate, now time.Time) error {
	if err := dates(field, "The certificate for "+nameOf(leaf), leaf, now); err != nil {
		return err
	}
	if len(leaf.DNSNames)+len(leaf.IPAddresses) == 0 {
		return refuse(field, "Ask the authority for one with the names as “subject alternative names”; a signing request of this page has them.", "The certificate names no host name or address where browsers look for them.")
	}
	uses := len(leaf.ExtKeyUsage) + len(leaf.UnknownExtKeyUsage)
	if uses > 0 && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageServerAuth) && !slices.Contains(leaf.ExtKeyUsage, x509.ExtKeyUsageAny) {
		return refuse(field, "Ask the authority for one for “server authentication”.", "The certificate for %s is not meant for a web server.", nameOf(leaf))
	}
	if leaf.KeyUsage != 0 && leaf.KeyUsage&x509.KeyUsageDigitalSignature == 0 {
		return refuse(field, "Ask the authority for one with the key usage “digital signature”.", "The key of the certificate for %s may not sign, which a web server has to.", nameOf(leaf))
	}
	return signed(field, leaf)
}

func dates(field, what string, one *x509.Certificate, now time.Time) error {
	day := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04 UTC") }
	switch {
	case now.After(one.NotAfter):
		return refuse(field, "Have a new one issued. If it should still be valid, set the appliance's clock.", "%s expired on %s; the appliance's clock says %s.", what, day(one.NotAfter), day(now))
	case now.Before(one.NotBefore):
		return refuse(field, "Wait until then. If it should be valid already, set the appliance's clock.", "%s is valid only from %s on; the appliance's clock says %s.", what, day(one.NotBefore), day(now))
	}
	return nil
}

func signed(field string, one *x509.Certificate) error {
	switch one.SignatureAlgorithm {
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.DSAWithSHA256, x509.ECDSAWithSHA1, x509.UnknownSignatureAlgorithm:
		return refuse(field, "Ask the authority for one that is signed with SHA-256.", "The certificate of %s is signed by a method (%s) that browsers refuse.", nameOf(one), one.SignatureAlgorithm)
	}
	return nil
}

// inOrder is the way from the appliance's certificate to its authority, as far as there are certificates of it.
func inOrder(field string, leaf *x509.Certificate, all []*x509.Certificate, now time.Time) ([]*x509.Certificate, error) {
	chain := []*x509.Certificate{leaf}
	for last := leaf; !selfSigned(last); last = chain[len(chain)-1] {
		var named, next *x509.Certificate
		for _, one := range all {
			if !bytes.Equal(one.RawSubject, last.RawIssuer) || slices.ContainsFunc(chain, one.Equal) {
				continue
			}
			named = one
			// One authority may have several certificates for its key.
			if last.CheckSignatureFrom(one) == nil && (next == nil || one.NotAfter.After(next.NotAfter)) {
				next = one
			}
		}
		if next == nil && named != nil {
			return nil, refuse(field, "Take the chain that the authority offers for exactly this certificate.", "The certificate of “%s” bears the name of who issued the one for %s, but did not sign it.", nameOf(named), nameOf(last))
		}
		if next == nil {
			return chain, nil
		}
		what := fmt.Sprintf("The authority's certificate “%s”", nameOf(next))
		if err := dates(field, what, next, now); err != nil {
			return nil, err
		}
		if why := weak(next.PublicKey); why != "" {
			return nil, refuse(field, "Ask for a certificate of another authority.", "The key of the authority's certificate “%s” %s.", nameOf(next), why)
		}
		if !selfSigned(next) {
			if err := signed(field, next); err != nil {
				return nil, err
			}
		}
		chain = append(chain, next)
	}
	return chain, nil
}

func selfSigned(one *x509.Certificate) bool {
	return bytes.Equal(one.RawIssuer, one.RawSubject) && one.CheckSignature(one.SignatureAlgorithm, one.RawTBSCertificate, one.Signature) == nil
}

// missing says what a chain lacks.
func missing(last *x509.Certificate) string {
	text := fmt.Sprintf("Nothing here vouches for “%s”, which issued the certificate of %s. If it is an authority in between, its certificate has to be added, or browsers and programs refuse the page", issuerOf(last), nameOf(last))
	if len(last.IssuingCertificateURL) > 0 {
		text += "; it is offered at " + last.IssuingCertificateURL[0]
	}
	return text + ". If it is an authority of your own that everybody here trusts, all is well."
}

// unnamed says that the page is not reached by what the certificate names; "" when it is.
func unnamed(leaf *x509.Certificate, reachedAs string, names []string) string {
	covers := func(name string) bool { return leaf.VerifyHostname(name) == nil }
	whom := strings.Join(hosts(leaf), ", ")
	if reachedAs != "" {
		if covers(reachedAs) {
			return ""
		}
		return fmt.Sprintf("The page is open as %s, and the certificate is for %s: browsers warn of it under that name.", reachedAs, whom)
	}
	if len(names) == 0 || slices.ContainsFunc(names, covers) {
		return ""
	}
	return fmt.Sprintf("The appliance is called %s, and the certificate is for %s: browsers warn of it under that name.", names[0], whom)
}

// hosts are all names and addresses of a certificate.
func hosts(one *x509.Certificate) []string {
	all := slices.Clone(one.DNSNames)
	for _, address := range one.IPAddresses {
		all = append(all, address.String())
	}
	return all
}

func nameOf(one *x509.Certificate) string {
	switch {
	case one.Subject.CommonName != "":
		return one.Subject.CommonName
	case len(hosts(one)) > 0:
		return hosts(one)[0]
	}
	return one.Subject.String()
}

func issuerOf(one *x509.Certificate) string {
	if one.Issuer.CommonName != "" {
		return one.Issuer.CommonName
	}
	return one.Issuer.String()
}

// Fingerprint is the SHA-256 of a certificate, as the console shows it.
func Fingerprint(der []byte) string {
	sum := sha256.Sum256(der)
	var pairs []string
	for _, one := range sum {
		pairs = append(pairs, fmt.Sprintf("%02X", one))
	}
	return strings.Join(pairs, ":")
}

// Certificate is what is said of one.
type Certificate struct {
	Subject   string    `json:"subject"`
	Names     []string  `json:"names"`
	Addresses []string  `json:"addresses"`
	Issuer    string    `json:"issuer"`
	ValidFrom time.Time `json:"validFrom"`
	ValidTo   time.Time `json:"validTo"`
	// Fingerprint is its SHA-256, as the console shows it.
	Fingerprint string `json:"fingerprint"`
	Key         string `json:"key"`
	SelfSigned  bool   `json:"selfSigned"`
	// Complete: the chain ends with an authority that signed itself, or with one that this system knows.
	Complete bool `json:"complete"`
	// Trusted: by an authority that this system knows, and so by browsers.
	Trusted bool `json:"trusted"`
	// Chain are the authorities on the way, nearest first.
	Chain []Authority `json:"chain"`
}

// Authority is one on the way to who vouches for a certificate.
type Authority struct {
	Subject string    `json:"subject"`
	ValidTo time.Time `json:"validTo"`
}

func describe(chain []*x509.Certificate, roots *x509.CertPool, now time.Time) Certificate {
	leaf := chain[0]
	one := Certificate{
		Subject: nameOf(leaf), Names: append([]string{}, leaf.DNSNames...), Addresses: []string{}, Issuer: issuerOf(leaf),
		ValidFrom: leaf.NotBefore.UTC(), ValidTo: leaf.NotAfter.UTC(), Fingerprint: Fingerprint(leaf.Raw), Key: kindOf(leaf.PublicKey),
		SelfSigned: selfSigned(leaf), Chain: []Authority{},
	}
	for _, address := range leaf.IPAddresses {
		one.Addresses = append(one.Addresses, address.String())
	}
	between := x509.NewCertPool()
	for _, authority := range chain[1:] {
		between.AddCert(authority)
		one.Chain = append(one.Chain, Authority{nameOf(authority), authority.NotAfter.UTC()})
	}
	if roots != nil {
		_, err := leaf.Verify(x509.VerifyOptions{Roots: roots, Intermediates: between, CurrentTime: now})
		one.Trusted = err == nil
	}
	one.Complete = one.Trusted || selfSigned(chain[len(chain)-1])
	return one
}
