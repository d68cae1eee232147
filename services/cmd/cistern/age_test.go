package main

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"filippo.io/age"
	"filippo.io/age/armor"
)

func seal(t *testing.T, passphrase, content string) string {
	t.Helper()
	var out bytes.Buffer
	if err := ageSeal(streams{strings.NewReader(passphrase + "\n" + content), &out, io.Discard}, nil); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What the appliance seals is what the age tool opens with the same passphrase: its own library, with its own limits.
func TestSealedIsAge(t *testing.T) {
	sealed := seal(t, "correct horse battery", "{\"secret\": \"äöü\"}\n\n")
	if !strings.HasPrefix(sealed, armor.Header) {
		t.Fatalf("it is not armored: %.60s", sealed)
	}
	identity, err := age.NewScryptIdentity("correct horse battery")
	if err != nil {
		t.Fatal(err)
	}
	opening, err := age.Decrypt(armor.NewReader(strings.NewReader(sealed)), identity)
	if err != nil {
		t.Fatal(err)
	}
	if opened, err := io.ReadAll(opening); err != nil || string(opened) != "{\"secret\": \"äöü\"}\n\n" {
		t.Fatalf("%q %v", opened, err)
	}
	var out bytes.Buffer
	if err := ageOpen(streams{strings.NewReader("correct horse battery\n" + sealed), &out, io.Discard}, nil); err != nil || out.String() != "{\"secret\": \"äöü\"}\n\n" {
		t.Fatalf("%q %v", out.String(), err)
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	sealed := seal(t, "correct horse battery", "secret")
	middle := len(sealed) - 80
	for _, c := range []struct {
		name, in string
		code     int
	}{
		{"another passphrase", "incorrect horse battery\n" + sealed, exitWrongPassphrase},
		{"no age file", "correct horse battery\nnothing of the kind", exitNotAge},
		{"cut off", "correct horse battery\n" + sealed[:middle], exitNotAge},
		{"changed", "correct horse battery\n" + sealed[:middle] + "AAAA" + sealed[middle+4:], exitNotAge},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			err := ageOpen(streams{strings.NewReader(c.in), &out, io.Discard}, nil)
			var coded exitCode
			if !errors.As(err, &coded) || coded.code != c.code || out.Len() > 0 {
				t.Errorf("%v, %d bytes written", err, out.Len())
			}
		})
	}
	if err := ageOpen(streams{strings.NewReader("\nx"), io.Discard, io.Discard}, nil); err == nil {
		t.Error("an empty passphrase was taken")
	}
}
