// Package sshaccess says who may come in by ssh, and until when: it checks keys, writes what sshd reads, and switches sshd off at the
// end. The account that everybody comes in as has no system shell (services/cmd/cistern/shell.go); whose key it was is in the
// command that goes with the key.
package sshaccess

import (
	"crypto/rsa"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/crypto/ssh"
)

// MinimumRSABits is what an RSA key must have at least.
const MinimumRSABits = 3072

const (
	longestKey  = 16 << 10
	mostRSABits = 16384
)

// algorithms are the kinds of keys that are taken.
var algorithms = []string{ssh.KeyAlgoED25519, ssh.KeyAlgoECDSA256, ssh.KeyAlgoECDSA384, ssh.KeyAlgoECDSA521, ssh.KeyAlgoRSA, ssh.KeyAlgoSKED25519, ssh.KeyAlgoSKECDSA256}

// PublicKey is a key that was looked at: what is written of it is made of its own bytes, never of what was typed.
type PublicKey struct {
	Algorithm   string `json:"algorithm"`
	Encoded     string `json:"encoded"` // base64
	Fingerprint string `json:"fingerprint"`
	Comment     string `json:"comment"`
}

// ParseKey reads one line as a *.pub file has it. What it refuses it says why.
func ParseKey(line string) (PublicKey, error) {
	line = strings.TrimSpace(line)
	switch {
	case line == "":
		return PublicKey{}, errors.New("the key is empty; paste the line of a .pub file")
	case strings.Contains(line, "PRIVATE KEY"):
		return PublicKey{}, errors.New("this is a private key, which must not leave its machine: paste the .pub file beside it, and make a new pair if this one was shown to anybody")
	case strings.HasPrefix(line, "---- BEGIN") || strings.HasPrefix(line, "-----BEGIN"):
		return PublicKey{}, errors.New("this is not OpenSSH's form of a key; “ssh-keygen -i -f FILE” converts it")
	case len(line) > longestKey:
		return PublicKey{}, fmt.Errorf("the key is longer than %d characters", longestKey)
	case strings.ContainsFunc(line, unicode.IsControl):
		return PublicKey{}, errors.New("the key has more than one line, or control characters: add keys one by one")
	}
	words := strings.SplitN(line, " ", 3)
	algorithm := words[0]
	switch {
	case algorithm == "ssh-dss":
		return PublicKey{}, errors.New("DSA keys are too weak; make one with “ssh-keygen -t ed25519”")
	case strings.Contains(algorithm, "-cert-v0"):
		return PublicKey{}, errors.New("this is a certificate; paste the plain public key")
	case !slices.Contains(algorithms, algorithm):
		return PublicKey{}, fmt.Errorf("a key begins with its kind (%s), with no options before it", strings.Join(algorithms, ", "))
	case len(words) < 2:
		return PublicKey{}, errors.New("the key itself is missing after its kind")
	}
	content, err := base64.StdEncoding.Strict().DecodeString(words[1])
	if err != nil {
		return PublicKey{}, errors.New("the key is not whole: what follows its kind is no base64")
	}
	key, err := ssh.ParsePublicKey(content)
	if err != nil {
		return PublicKey{}, fmt.Errorf("the key is damaged: %w", err)
	}
	if key.Type() != algorithm {
		return PublicKey{}, fmt.Errorf("it says %s, and is %s", algorithm, key.Type())
	}
	if err := strong(key); err != nil {
		return PublicKey{}, err
	}
	comment := ""
	if len(words) == 3 {
		comment = strings.TrimSpace(words[2])
	}
	return PublicKey{Algorithm: algorithm, Encoded: base64.StdEncoding.EncodeToString(key.Marshal()), Fingerprint: ssh.FingerprintSHA256(key), Comment: comment}, nil
}

func strong(key ssh.PublicKey) error {
	if key.Type() != ssh.KeyAlgoRSA {
		return nil
	}
	wrapped, ok := key.(ssh.CryptoPublicKey)
	if !ok {
		return errors.New("the RSA key cannot be looked into")
	}
	inner, ok := wrapped.CryptoPublicKey().(*rsa.PublicKey)
	if !ok {
		return errors.New("the RSA key cannot be looked into")
	}
	if bits := inner.N.BitLen(); bits < MinimumRSABits || bits > mostRSABits {
		return fmt.Errorf("the RSA key has %d bits; it must have %d to %d, or be ed25519", bits, MinimumRSABits, mostRSABits)
	}
	return nil
}
