package main

// cistern let-in: at the console, root lets an administrator in again who has lost the password or the second factor. What is
// asked for is a file in a folder that root alone may write, which is the proof: akd carries it out (appliance-kit/src/access/console),
// at its next start when it does not run. The one-time password is made here and shown here; the file has its hash.

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"os"
	"path/filepath"
	"strings"
	"time"
	"unicode"

	"golang.org/x/crypto/argon2"
)

// letInRequest is console/let-in.json (docs/FORMATS.md).
type letInRequest struct {
	Version      int       `json:"version"`
	ID           string    `json:"id"`
	User         string    `json:"user"`
	PasswordHash string    `json:"passwordHash"`
	Console      string    `json:"console"`
	At           time.Time `json:"at"`
}

// letInAnswer is akd/let-in-answer.json.
type letInAnswer struct {
	Version int    `json:"version"`
	ID      string `json:"id"`
	Outcome string `json:"outcome"`
}

const (
	letInVersion = 1
	// akd looks every ten seconds.
	letInPatience = 35 * time.Second
	// A password that nobody takes off the screen goes by itself.
	letInShown   = 10 * time.Minute
	longestInput = 256
	longestFile  = 4096
	// What can be taken for one another is not among them: they are read off a screen (appliance-kit/src/access/users/users.ts).
	readableLetters = "abcdefghjkmnpqrstuvwxyz23456789"
	clearScreen     = "\x1b[2J\x1b[3J\x1b[H"
)

// letInDialog is one conversation.
type letInDialog struct {
	streams
	state, console       string
	patience, look, show time.Duration
}

func letIn(s streams, arguments []string) error {
	set := flag.NewFlagSet("let-in", flag.ContinueOnError)
	set.SetOutput(s.err)
	console := set.String("console", "shell", "which console it is asked at, for the audit log")
	state := set.String("state", "/var/lib/cistern", "folder of the appliance's state")
	patience := set.Duration("patience", letInPatience, "how long to wait for the management plane")
	if err := set.Parse(arguments); err != nil || set.NArg() > 0 {
		return errUsage
	}
	d := letInDialog{streams: s, state: *state, console: *console, patience: *patience, look: 250 * time.Millisecond, show: letInShown}
	return d.run()
}

func (d *letInDialog) requestFile() string { return filepath.Join(d.state, "console", "let-in.json") }

func (d *letInDialog) say(format string, arguments ...any) { fmt.Fprintf(d.out, format, arguments...) }

func (d *letInDialog) run() error {
	d.say("\n  Let an administrator in again who has lost the password or the second factor.\n\n")
	if err := d.tellOfTheLast(); err != nil {
		return err
	}
	d.say("  Name of the administrator (Enter alone goes back): ")
	name, err := d.line()
	if err != nil || name == "" {
		return ignoreEnd(err)
	}
	if len(name) > 64 || strings.ContainsFunc(name, unicode.IsControl) {
		return d.goBack("This is no name of a user. Nothing was changed.")
	}
	d.say(`
  This will be done, if "%s" is an administrator with an account of this appliance:

    - A one-time password takes the place of the password. It is shown here, once.
      The first sign-in asks for another one.
    - All second factors end: apps, passkeys and recovery codes.
    - All sessions of the user end, on pages, in programs and by ssh.
    - If the account is disabled it is enabled, and its API tokens work again.
    - Addresses that were shut out for wrong passwords may try again.
    - It is in the audit log, and an alert tells all administrators.
    - The support page takes the user again once another password is chosen.

  Type yes to do it; anything else goes back: `, name)
	if answer, err := d.line(); err != nil || answer != "yes" {
		return ignoreEnd(err)
	}
	return d.ask(name)
}

// ignoreEnd: nobody is there any more, or has typed what goes back.
func ignoreEnd(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// ask leaves the request and waits for what comes of it.
func (d *letInDialog) ask(name string) error {
	password := readableSecret()
	request := letInRequest{Version: letInVersion, ID: hex.EncodeToString(random(16)), User: name, PasswordHash: passwordHash(password), Console: d.console, At: time.Now().UTC()}
	if err := d.keep(request); err != nil {
		return d.goBack(fmt.Sprintf("Nothing was changed, because the request could not be kept: %v.", err))
	}
	d.say("\n  Waiting for the management plane ...\n")
	outcome := ""
	for deadline := time.Now().Add(d.patience); ; time.Sleep(d.look) {
		// What failed is tried again meanwhile.
		if outcome = d.outcomeOf(request.ID); outcome != "" && outcome != "failed" || time.Now().After(deadline) {
			break
		}
	}
	switch outcome {
	case "done":
		_ = os.Remove(d.requestFile())
		d.say("\n  Done: \"%s\" is let in again.\n", name)
	case "", "failed":
		d.say("\n  %s The request is kept. It is\n  carried out as soon as that is possible, at the latest when the management plane\n"+
			"  starts, before anybody can sign in, if \"%s\" is such an administrator.\n"+
			"  Until then everything is as it was, the support page included.\n", undone[outcome], name)
	default:
		_ = os.Remove(d.requestFile())
		return d.goBack("Nothing was changed: " + refused(outcome, name))
	}
	d.say("\n  One-time password  \x1b[1m%s\x1b[0m\n\n  It is good for a week and is not shown again. Enter clears the screen. ", password)
	d.enter(d.show)
	d.say(clearScreen)
	if d.outcomeOf(request.ID) == "done" {
		_ = os.Remove(d.requestFile())
	}
	return nil
}

var undone = map[string]string{
	"":       "The management plane does not answer.",
	"failed": "The management plane could not write it down (its log says why).",
}

func refused(outcome, name string) string {
	switch outcome {
	case "unknown":
		return fmt.Sprintf("there is no user \"%s\".\n  Type the name as at the sign-in, in small letters. Another administrator finds all\n  names in Settings → Users.", name)
	case "external":
		return fmt.Sprintf("\"%s\" comes from an identity provider.\n  Only accounts of this appliance are let in here; who manages the provider lets this\n  user in again.", name)
	case "not-administrator":
		return fmt.Sprintf("\"%s\" is no administrator.\n  An administrator gives this user a one-time password: Settings → Users.", name)
	case "expired":
		return "the request was more than a week old\n  when the management plane found it, or the clock was set. Ask again."
	}
	return "the management plane answered \"" + outcome + "\"."
}

// tellOfTheLast says what came of a request that nobody waited for, and removes what was dealt with.
func (d *letInDialog) tellOfTheLast() error {
	var last letInRequest
	if !readSmall(d.requestFile(), &last) {
		return nil
	}
	at := last.At.Local().Format("2006-01-02 15:04")
	switch outcome := d.outcomeOf(last.ID); outcome {
	case "", "failed":
		d.say("  The request of %s for \"%s\" was not carried out yet. Another one takes its place.\n\n", at, last.User)
		return nil
	case "done":
		d.say("  The request of %s for \"%s\" was carried out.\n\n", at, last.User)
	default:
		d.say("  The request of %s changed nothing: %s\n\n", at, refused(outcome, last.User))
	}
	return os.Remove(d.requestFile())
}

// keep writes the request in one piece, on the disk when it returns.
func (d *letInDialog) keep(request letInRequest) error {
	content, err := json.Marshal(request)
	if err != nil {
		return err
	}
	path := d.requestFile()
	// The group of the folder, which akd is in, may read what is in it; nobody else gets there.
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(content, '\n'))
	if err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close()); err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		_ = os.Remove(path + ".new")
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

func (d *letInDialog) outcomeOf(id string) string {
	var answer letInAnswer
	if !readSmall(filepath.Join(d.state, "akd", "let-in-answer.json"), &answer) || answer.ID != id || answer.Version != letInVersion {
		return ""
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, answer.Outcome)
}

// readSmall reads a file that another user may have put there: no link is followed, and what does not fit is none.
func readSmall(path string, into any) bool {
	named, err := os.Lstat(path)
	if err != nil || named.Mode()&fs.ModeType != 0 {
		return false
	}
	file, err := os.Open(path)
	if err != nil {
		return false
	}
	defer file.Close()
	opened, err := file.Stat()
	if err != nil || !os.SameFile(named, opened) {
		return false
	}
	return json.NewDecoder(io.LimitReader(file, longestFile)).Decode(into) == nil
}

func (d *letInDialog) goBack(text string) error {
	d.say("\n  %s\n\n  Enter goes back. ", text)
	_, err := d.line()
	return ignoreEnd(err)
}

// line reads one byte at a time: what follows is for whoever reads next.
func (d *letInDialog) line() (string, error) {
	var typed []byte
	for one := make([]byte, 1); ; {
		n, err := d.in.Read(one)
		switch {
		case n == 1 && one[0] == '\n':
			return strings.TrimSpace(string(typed)), nil
		case n == 1 && len(typed) < longestInput:
			typed = append(typed, one[0])
		case err != nil:
			return "", err
		}
	}
}

// enter waits for it, and not for ever.
func (d *letInDialog) enter(atMost time.Duration) {
	typed := make(chan struct{})
	go func() {
		_, _ = d.line()
		close(typed)
	}()
	select {
	case <-typed:
	case <-time.After(atMost):
	}
}

func random(n int) []byte {
	bytes := make([]byte, n)
	_, _ = rand.Read(bytes) // it never fails, or ends the program
	return bytes
}

// readableSecret has sixteen letters in four groups: 79 bits.
func readableSecret() string {
	var b strings.Builder
	for i := range 16 {
		if i > 0 && i%4 == 0 {
			b.WriteByte('-')
		}
		n, err := rand.Int(rand.Reader, big.NewInt(int64(len(readableLetters))))
		if err != nil {
			panic(err) // it never fails
		}
		b.WriteByte(readableLetters[n.Int64()])
	}
	return b.String()
}

// passwordHash is what akd would make of it (appliance-kit/src/access/users/passwords.ts).
func passwordHash(password string) string {
	const memory, passes, lanes, keyBytes = 19_456, 2, 1, 32
	salt := random(16)
	key := argon2.IDKey([]byte(password), salt, passes, memory, lanes, keyBytes)
	text := base64.RawStdEncoding.EncodeToString
	return fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", memory, passes, lanes, text(salt), text(key))
}
