package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"
)

// letInPlace is the state of an appliance, as far as this command knows it.
type letInPlace struct {
	*testing.T
	state string
}

func newLetInPlace(t *testing.T) letInPlace {
	p := letInPlace{t, t.TempDir()}
	for _, folder := range []string{"console", "akd"} {
		if err := os.Mkdir(filepath.Join(p.state, folder), 0o750); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func (p letInPlace) file() string { return filepath.Join(p.state, "console", "let-in.json") }

func (p letInPlace) request() (r letInRequest) {
	p.Helper()
	content, err := os.ReadFile(p.file())
	if err == nil {
		err = json.Unmarshal(content, &r)
	}
	if err != nil {
		p.Fatal(err)
	}
	return r
}

func (p letInPlace) answer(id, outcome string) {
	p.Helper()
	path := filepath.Join(p.state, "akd", "let-in-answer.json")
	if err := os.WriteFile(path, fmt.Appendf(nil, `{"version":1,"id":"%s","outcome":"%s"}`, id, outcome), 0o600); err != nil {
		p.Fatal(err)
	}
}

// answered is the management plane, in so far as it answers the next request.
func (p letInPlace) answered(outcome string) {
	go func() {
		for ; p.Context().Err() == nil; time.Sleep(time.Millisecond) {
			if content, err := os.ReadFile(p.file()); err == nil {
				var r letInRequest
				if json.Unmarshal(content, &r) == nil {
					p.answer(r.ID, outcome)
					return
				}
			}
		}
	}()
}

func (p letInPlace) talk(patience time.Duration, typed string) string {
	p.Helper()
	var out bytes.Buffer
	d := letInDialog{streams: streams{strings.NewReader(typed), &out, &out}, state: p.state, console: "ttyS0", patience: patience, look: time.Millisecond, show: time.Minute}
	if err := d.run(); err != nil {
		p.Fatalf("%v\n%s", err, out.String())
	}
	return out.String()
}

func (p letInPlace) mustSay(said string, wanted ...string) {
	p.Helper()
	for _, one := range wanted {
		if !strings.Contains(said, one) {
			p.Errorf("it does not say %q:\n%s", one, said)
		}
	}
}

var oneTimePassword = regexp.MustCompile(`One-time password  \x1b\[1m(([a-z2-9]{4}-){3}[a-z2-9]{4})\x1b\[0m`)

func TestLetIn(t *testing.T) {
	p := newLetInPlace(t)
	p.answered("done")
	said := p.talk(time.Minute, "ada\nyes\n\n")
	p.mustSay(said, "if \"ada\" is an administrator", "All second factors end", "Done: \"ada\" is let in again.", "Enter clears the screen")
	if !oneTimePassword.MatchString(said) || !strings.HasSuffix(said, clearScreen) {
		t.Errorf("%q", said)
	}
	if _, err := os.Stat(p.file()); err == nil {
		t.Error("what was carried out is still asked for")
	}
}

// Without the management plane the request stays, in one file that only its owner may change; the next one says so, and takes its place.
func TestLetInWaits(t *testing.T) {
	p := newLetInPlace(t)
	said := p.talk(0, "ada\nyes\n\n")
	p.mustSay(said, "The management plane does not answer. The request is kept", "before anybody can sign in")
	password := oneTimePassword.FindStringSubmatch(said)
	first := p.request()
	if password == nil || first.User != "ada" || first.Console != "ttyS0" || first.Version != 1 || time.Since(first.At) > time.Minute {
		t.Fatalf("%v %+v", password, first)
	}
	content, err := os.ReadFile(p.file())
	if err != nil || strings.Contains(string(content), password[1]) {
		t.Errorf("the password itself is in it: %v", err)
	}
	files, _ := os.ReadDir(filepath.Dir(p.file()))
	info, err := os.Stat(p.file())
	if err != nil || len(files) != 1 || runtime.GOOS != "windows" && info.Mode() != 0o644 {
		t.Errorf("%v %v %v", err, files, info.Mode())
	}
	p.mustSay(p.talk(0, "eve\nyes\n\n"), "for \"ada\" was not carried out yet. Another one takes its place")
	second := p.request()
	if second.User != "eve" || second.ID == first.ID || second.PasswordHash == first.PasswordHash {
		t.Errorf("%+v", second)
	}
	p.answer(second.ID, "external")
	p.mustSay(p.talk(0, "\n"), "changed nothing: \"eve\" comes from an identity provider")
	if _, err := os.Stat(p.file()); err == nil {
		t.Error("what was refused is still asked for")
	}
}

// What failed is tried again, and stays.
func TestLetInFails(t *testing.T) {
	p := newLetInPlace(t)
	p.answered("failed")
	said := p.talk(time.Second, "ada\nyes\n\n")
	p.mustSay(said, "could not write it down", "The request is kept")
	p.answer(p.request().ID, "done")
	p.mustSay(p.talk(0, "\n"), "was carried out")
}

func TestLetInRefused(t *testing.T) {
	for outcome, words := range map[string]string{
		"unknown": "there is no user \"ada\"", "external": "Only accounts of this appliance", "not-administrator": "is no administrator",
		"expired": "more than a week old", "made\u001b[31m up": "answered \"made[31m up\"",
	} {
		p := newLetInPlace(t)
		p.answered(strings.ReplaceAll(outcome, "\u001b", `\u001b`))
		said := p.talk(time.Minute, "ada\nyes\n\n")
		p.mustSay(said, "Nothing was changed: ", words)
		if oneTimePassword.MatchString(said) {
			t.Errorf("%s: a password that is good for nothing is shown", outcome)
		}
		if _, err := os.Stat(p.file()); err == nil {
			t.Errorf("%s: it is still asked for", outcome)
		}
	}
}

// Nothing is left behind by who goes back, whatever was typed; nor by a terminal that goes away.
func TestLetInGoesBack(t *testing.T) {
	for _, typed := range []string{"\n", "", "ada", "ada\n\n", "ada\nno\n", "ada\nYES please\n", "ada\n", "a\x1b[D\n\n", strings.Repeat("x", 65) + "\n\n", strings.Repeat("x", 100_000) + "\n\n"} {
		p := newLetInPlace(t)
		said := p.talk(time.Minute, typed)
		if files, err := os.ReadDir(filepath.Join(p.state, "console")); err != nil || len(files) > 0 || strings.Contains(said, "One-time password  ") {
			t.Errorf("%.20q: %v %v\n%s", typed, files, err, said)
		}
	}
}

func TestLetInCannotBeKept(t *testing.T) {
	p := newLetInPlace(t)
	if err := os.Remove(filepath.Dir(p.file())); err != nil {
		t.Fatal(err)
	}
	said := p.talk(time.Minute, "ada\nyes\n\n")
	p.mustSay(said, "Nothing was changed, because the request could not be kept", "let-in.json")
	if oneTimePassword.MatchString(said) {
		t.Errorf("%s", said)
	}
}

// akd's folder is akd's: what it puts there for root to read is nothing but an answer.
func TestLetInFollowsNoLink(t *testing.T) {
	p := newLetInPlace(t)
	p.talk(0, "ada\nyes\n\n")
	p.answer(p.request().ID, "done")
	path := filepath.Join(p.state, "akd", "let-in-answer.json")
	if err := os.Rename(path, path+".elsewhere"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(path+".elsewhere", path); err != nil {
		t.Fatal(err)
	}
	p.mustSay(p.talk(0, "\n"), "was not carried out yet")
}

func TestReadableSecret(t *testing.T) {
	seen := map[string]bool{}
	for range 100 {
		secret := readableSecret()
		if seen[secret] || !regexp.MustCompile(`^([`+readableLetters+`]{4}-){3}[`+readableLetters+`]{4}$`).MatchString(secret) {
			t.Errorf("%s", secret)
		}
		seen[secret] = true
	}
}
