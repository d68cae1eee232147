package main

// Sealing with a passphrase, for akd's settings documents: the passphrase is the first line of standard input, what is sealed or
// opened is the rest. It is a process of its own because a guess costs 256 MiB and a second, by age's design.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"filippo.io/age"
	"filippo.io/age/armor"
)

const (
	exitWrongPassphrase = 3
	exitNotAge          = 4
	// mostSealed is how large what is sealed may be; a document is not larger than that (LARGEST_DOCUMENT in akd).
	mostSealed = 32 << 20
)

// exitCode is an error with which the program ends by a code of its own.
type exitCode struct {
	error
	code int
}

func (e exitCode) Unwrap() error { return e.error }

// passphraseAndRest reads the first line, and then all else.
func passphraseAndRest(in io.Reader) (passphrase string, rest []byte, err error) {
	all := bufio.NewReader(io.LimitReader(in, mostSealed+1))
	line, err := all.ReadString('\n')
	if err != nil {
		return "", nil, fmt.Errorf("the passphrase is to be the first line of standard input: %w", err)
	}
	if passphrase = strings.TrimSuffix(line, "\n"); passphrase == "" {
		return "", nil, errors.New("the passphrase is empty")
	}
	rest, err = io.ReadAll(all)
	if err == nil && len(rest)+len(line) > mostSealed {
		err = fmt.Errorf("there is more than %d bytes", mostSealed)
	}
	return passphrase, rest, err
}

// ageSeal writes what it reads as an armored age file.
func ageSeal(s streams, arguments []string) error {
	if len(arguments) > 0 {
		return errUsage
	}
	passphrase, content, err := passphraseAndRest(s.in)
	if err != nil {
		return err
	}
	recipient, err := age.NewScryptRecipient(passphrase)
	if err != nil {
		return err
	}
	armored := armor.NewWriter(s.out)
	sealing, err := age.Encrypt(armored, recipient)
	if err != nil {
		return err
	}
	if _, err := sealing.Write(content); err != nil {
		return err
	}
	return errors.Join(sealing.Close(), armored.Close())
}

// ageOpen writes what was sealed. It writes nothing unless all of it is whole.
func ageOpen(s streams, arguments []string) error {
	if len(arguments) > 0 {
		return errUsage
	}
	passphrase, content, err := passphraseAndRest(s.in)
	if err != nil {
		return err
	}
	identity, err := age.NewScryptIdentity(passphrase)
	if err != nil {
		return err
	}
	opening, err := age.Decrypt(armor.NewReader(bytes.NewReader(content)), identity)
	var noMatch *age.NoIdentityMatchError
	switch {
	case errors.As(err, &noMatch):
		return exitCode{errors.New("the passphrase is wrong"), exitWrongPassphrase}
	case err != nil:
		return exitCode{fmt.Errorf("it is no age file of a passphrase, or is damaged: %w", err), exitNotAge}
	}
	opened, err := io.ReadAll(opening)
	if err != nil {
		return exitCode{fmt.Errorf("it is damaged: %w", err), exitNotAge}
	}
	_, err = s.out.Write(opened)
	return err
}
