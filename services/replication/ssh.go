package replication

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"

	"cistern/services/daemon/problem"
)

// Address is a machine that is reached by SSH.
type Address struct {
	Host    string `json:"host"`
	Port    int    `json:"port"`
	User    string `json:"user"`
	HostKey string `json:"hostKey"` // as in known_hosts, without the name: "ssh-ed25519 AAAA…". Nothing is sent to another one
}

const (
	dialDeadline = 20 * time.Second
	beatEvery    = 15 * time.Second
	beatMissed   = 45 * time.Second
)

// handshakeDeadline is long: a small machine that has just started takes its time for the keys.
var handshakeDeadline = 40 * time.Second

// HostKey asks a machine for its key, without signing in.
func HostKey(ctx context.Context, host string, port int) (ssh.PublicKey, error) {
	var seen ssh.PublicKey
	enough := errors.New("enough")
	_, err := dial(ctx, Address{Host: host, Port: port, User: "cistern"}, &ssh.ClientConfig{
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error { seen = key; return enough },
	})
	if seen != nil {
		return seen, nil
	}
	return nil, unreachable(host, err)
}

// unreachable names the machine in what went wrong before anybody signed in.
func unreachable(host string, err error) error {
	var document problem.Document
	switch {
	case errors.As(err, &document):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return problem.New(http.StatusBadGateway, "unreachable", fmt.Sprintf("%s takes a connection and then says nothing.", host), "Does it let this appliance in, and does a firewall let the port through? If it has just started, ask again.")
	}
	return problem.New(http.StatusBadGateway, "unreachable", fmt.Sprintf("%s does not speak SSH as expected: %s.", host, reason(err)), "Is it the right port?")
}

func dial(ctx context.Context, to Address, config *ssh.ClientConfig) (*ssh.Client, error) {
	address := net.JoinHostPort(to.Host, strconv.Itoa(to.Port))
	ctx, cancel := context.WithTimeout(ctx, dialDeadline)
	defer cancel()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, problem.New(http.StatusBadGateway, "unreachable", fmt.Sprintf("%s cannot be reached: %s.", address, reason(err)), "Is it switched on, is the port the right one, and does a firewall let it through?")
	}
	_ = connection.SetDeadline(time.Now().Add(handshakeDeadline))
	config.User = to.User
	conn, channels, requests, err := ssh.NewClientConn(connection, address, config)
	if err != nil {
		connection.Close()
		return nil, err
	}
	_ = connection.SetDeadline(time.Time{})
	return ssh.NewClient(conn, channels, requests), nil
}

// reason is an error without the address, which the sentence has already.
func reason(err error) string {
	var op *net.OpError
	if errors.As(err, &op) && op.Err != nil {
		err = op.Err
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "it does not answer"
	}
	return err.Error()
}

// There is a place behind SSH.
type There struct {
	client *ssh.Client
	stop   chan struct{}
}

// Dial signs in with the key, at the machine that has the address's host key and no other.
func Dial(ctx context.Context, to Address, key ssh.Signer) (*There, error) {
	wanted, _, _, _, err := ssh.ParseAuthorizedKey([]byte(to.HostKey))
	if err != nil {
		return nil, problem.New(http.StatusBadRequest, "invalid_request", "The target's host key is not one.", "Ask the target for its key again.", problem.Field{Path: "/target/hostKey", Message: "not a public key"})
	}
	var other ssh.PublicKey
	client, err := dial(ctx, to, &ssh.ClientConfig{
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(key)},
		HostKeyAlgorithms: algorithmsOf(wanted),
		HostKeyCallback: func(_ string, _ net.Addr, key ssh.PublicKey) error {
			if bytes.Equal(key.Marshal(), wanted.Marshal()) {
				return nil
			}
			other = key
			return errors.New("another key")
		},
	})
	if err == nil {
		there := &There{client: client, stop: make(chan struct{})}
		go there.beat()
		return there, nil
	}
	switch {
	case other != nil:
		return nil, problem.New(http.StatusBadGateway, "host_key_changed", fmt.Sprintf("%s has another key than the one that was confirmed: %s instead of %s. Nothing was sent.", to.Host, ssh.FingerprintSHA256(other), ssh.FingerprintSHA256(wanted)), "If it was installed anew, confirm its new key. If not, something else answers at its address.")
	case strings.Contains(err.Error(), "unable to authenticate"):
		return nil, problem.New(http.StatusBadGateway, "login_refused", fmt.Sprintf("%s does not let “%s” in with this appliance's key.", to.Host, to.User), "Give it this appliance's public key: on a Cistern under Replication, Senders; elsewhere in the user's authorized_keys.")
	}
	return nil, unreachable(to.Host, err)
}

// algorithmsOf are the signatures that a key of this type is used with.
func algorithmsOf(key ssh.PublicKey) []string {
	if key.Type() == ssh.KeyAlgoRSA {
		return []string{ssh.KeyAlgoRSASHA512, ssh.KeyAlgoRSASHA256}
	}
	return []string{key.Type()}
}

// beat notices a machine that went away without a word.
func (t *There) beat() { beats(t.client, t.stop) }

// beats asks the other side for a sign of life, and closes the connection when there is none.
func beats(connection ssh.Conn, stop <-chan struct{}) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	for {
		select {
		case <-stop:
			return
		case <-tick.C:
		}
		answered := make(chan error, 1)
		go func() {
			_, _, err := connection.SendRequest("keepalive@openssh.com", true, nil)
			answered <- err
		}()
		select {
		case <-stop:
			return
		case err := <-answered:
			if err != nil {
				return
			}
		case <-time.After(beatMissed):
			connection.Close()
			return
		}
	}
}

// Close ends the connection.
func (t *There) Close() error {
	close(t.stop)
	return t.client.Close()
}

// ZFS runs it there. SSH takes a command as one text, which the other side's shell takes apart: each word is quoted.
func (t *There) ZFS(ctx context.Context, input io.Reader, arguments ...string) (string, error) {
	return t.run(ctx, input, append([]string{"zfs"}, arguments...))
}

func (t *There) run(ctx context.Context, input io.Reader, words []string) (string, error) {
	session, err := t.client.NewSession()
	if err != nil {
		return "", err
	}
	defer session.Close()
	stop := context.AfterFunc(ctx, func() { session.Close() })
	defer stop()
	var out, said limited
	out.left, said.left = maxListed, 64<<10
	session.Stdout, session.Stderr = &out, &said
	pipe, err := session.StdinPipe()
	if err != nil {
		return "", err
	}
	if err := session.Start(quote(words)); err != nil {
		return "", err
	}
	var reading error
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		if input != nil {
			if _, reading = io.Copy(pipe, input); reading != nil {
				// A stream that broke off here must not end properly there.
				session.Close()
				return
			}
		}
		pipe.Close()
	}()
	err = session.Wait()
	// The command is over: what it did not take is of no use. Whoever feeds the input ends it.
	if closer, ok := input.(io.Closer); ok && err != nil {
		closer.Close()
	}
	if err == nil {
		<-copied
		return out.String(), reading
	}
	var exit *ssh.ExitError
	if errors.As(err, &exit) {
		text := strings.TrimSpace(said.String())
		if text == "" {
			text = fmt.Sprintf("it ended with %d", exit.ExitStatus())
		}
		return out.String(), &Refusal{strings.Join(strings.FieldsFunc(text, func(c rune) bool { return c == '\n' || c == '\r' }), "; ")}
	}
	if ctx.Err() != nil {
		return out.String(), ctx.Err()
	}
	if missing := (*ssh.ExitMissingError)(nil); errors.As(err, &missing) {
		err = errors.New("it broke off without a word")
	}
	return out.String(), err
}

// limited keeps the first bytes and passes over the rest.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	keep := p[:min(len(p), l.left)]
	l.left -= len(keep)
	l.Buffer.Write(keep)
	return len(p), nil
}

// quote makes one text of words, each in single quotes, as sh(1) takes them apart.
func quote(words []string) string {
	quoted := make([]string, len(words))
	for i, word := range words {
		quoted[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// unquote takes apart what quote made, and nothing else: it is not a shell.
func unquote(text string) ([]string, error) {
	var words []string
	for i := 0; i < len(text); {
		if len(words) > 0 {
			if text[i] != ' ' {
				return nil, errors.New("words are not parted by one space")
			}
			i++
		}
		if i == len(text) || text[i] != '\'' {
			return nil, errors.New("a word is not in single quotes")
		}
		var word strings.Builder
		for i++; ; {
			end := strings.IndexByte(text[i:], '\'')
			if end < 0 {
				return nil, errors.New("a quote does not end")
			}
			word.WriteString(text[i : i+end])
			i += end + 1
			if !strings.HasPrefix(text[i:], `\''`) {
				break
			}
			word.WriteByte('\'')
			i += 3
		}
		words = append(words, word.String())
	}
	return words, nil
}
