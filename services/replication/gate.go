package replication

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"

	"cistern/services/platform/command"
	"cistern/services/platform/zfsname"
)

// The gate is what others replicate to: an SSH server that knows a few forms of two zfs commands and nothing else. There
// is no shell, no terminal, no forwarding, no file transfer; whoever has a sender's key can add to datasets below the one
// that was given to it, and look at their snapshots. It cannot destroy anything: -F and all other verbs are refused here,
// whatever the other side asks.

// Sender is a machine that may replicate to here.
type Sender struct {
	Name      string `json:"name"`
	PublicKey string `json:"publicKey"` // a line as in authorized_keys
	Under     string `json:"under"`     // its targets lie below this dataset
}

// check says what is wrong with it, or "".
func (s Sender) check() (key ssh.PublicKey, wrong string) {
	key, _, options, rest, err := ssh.ParseAuthorizedKey([]byte(s.PublicKey))
	switch {
	case err != nil || len(bytes.TrimSpace(rest)) > 0:
		return nil, "this is not a public key: one line that begins with ssh-ed25519, as the sender shows it"
	case len(options) > 0:
		return nil, "a key with options is not taken"
	}
	if wrong := zfsname.Dataset(s.Under); wrong != "" {
		return nil, fmt.Sprintf("the dataset '%s' %s", s.Under, wrong)
	}
	return key, ""
}

// Gate takes in replications of others.
type Gate struct {
	Version string
	Key     ssh.Signer // its own, that others pin
	Log     *slog.Logger
	// ZFS runs zfs here; for tests. Nil is Here.
	ZFS func(ctx context.Context, channel ssh.Channel, arguments []string) (code int)

	mu      sync.Mutex
	senders []Sender
	open    map[*ssh.ServerConn]string // the sender's key
}

const (
	maxConnections = 32
	handshakeTime  = 20 * time.Second
	endsByItself   = 30 * time.Second
)

// Admit replaces the senders. Connections of those that are not among them any more are cut.
func (g *Gate) Admit(senders []Sender) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.senders = slices.Clone(senders)
	for connection, key := range g.open {
		if !slices.ContainsFunc(senders, func(s Sender) bool { return s.id() == key }) {
			connection.Close()
		}
	}
}

// id is what a sender's rights hang on.
func (s Sender) id() string {
	key, wrong := s.check()
	if wrong != "" {
		return ""
	}
	return ssh.FingerprintSHA256(key) + " " + s.Under
}

func (g *Gate) sender(key ssh.PublicKey) (Sender, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, s := range g.senders {
		if known, wrong := s.check(); wrong == "" && bytes.Equal(known.Marshal(), key.Marshal()) {
			return s, true
		}
	}
	return Sender{}, false
}

// Serve takes connections until the listener is closed or ctx ends, which also cuts those that are open.
func (g *Gate) Serve(ctx context.Context, listener net.Listener) error {
	stop := context.AfterFunc(ctx, func() {
		listener.Close()
		g.Admit(nil)
	})
	defer stop()
	slots := make(chan struct{}, maxConnections)
	for {
		connection, err := listener.Accept()
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				return nil
			}
			// Too many open files, say: others are still served meanwhile.
			g.Log.Warn("a connection could not be taken", "error", err)
			time.Sleep(time.Second)
			continue
		}
		select {
		case slots <- struct{}{}:
			go func() {
				defer func() { <-slots }()
				g.serve(ctx, connection)
			}()
		default:
			connection.Close()
		}
	}
}

func (g *Gate) serve(ctx context.Context, raw net.Conn) {
	defer raw.Close()
	var sender Sender
	config := &ssh.ServerConfig{
		MaxAuthTries:  3,
		ServerVersion: "SSH-2.0-Cistern",
		PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
			if _, known := g.sender(key); known {
				return &ssh.Permissions{Extensions: map[string]string{"key": string(key.Marshal())}}, nil
			}
			return nil, errors.New("this key is not among the senders")
		},
	}
	config.AddHostKey(g.Key)
	_ = raw.SetDeadline(time.Now().Add(handshakeTime))
	connection, channels, requests, err := ssh.NewServerConn(raw, config)
	if err != nil {
		return
	}
	defer connection.Close()
	_ = raw.SetDeadline(time.Time{})
	// The key that was asked about last is not always the one that was signed with: the permissions are those of the latter.
	key, err := ssh.ParsePublicKey([]byte(connection.Permissions.Extensions["key"]))
	if err != nil {
		return
	}
	sender, known := g.sender(key)
	if !known {
		return
	}
	g.mu.Lock()
	if g.open == nil {
		g.open = map[*ssh.ServerConn]string{}
	}
	g.open[connection] = sender.id()
	g.mu.Unlock()
	defer func() {
		g.mu.Lock()
		delete(g.open, connection)
		g.mu.Unlock()
	}()
	g.Log.Info("a sender has signed in", "sender", sender.Name, "from", connection.RemoteAddr().String())
	stop := make(chan struct{})
	defer close(stop)
	go beats(connection, stop)
	go ssh.DiscardRequests(requests)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for offered := range channels {
		if offered.ChannelType() != "session" {
			_ = offered.Reject(ssh.Prohibited, "only replication is possible here")
			continue
		}
		channel, requests, err := offered.Accept()
		if err != nil {
			return
		}
		go g.session(ctx, sender, channel, requests)
	}
}

// session carries out one command.
func (g *Gate) session(ctx context.Context, sender Sender, channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close()
	// A receive whose input ends keeps what it has and ends by itself; only what does not is killed.
	gone := ctx
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(gone, func() { time.AfterFunc(endsByItself, cancel) })()
	for request := range requests {
		if request.Type != "exec" {
			_ = request.Reply(false, nil)
			continue
		}
		var asked struct{ Command string }
		if err := ssh.Unmarshal(request.Payload, &asked); err != nil {
			_ = request.Reply(false, nil)
			return
		}
		_ = request.Reply(true, nil)
		go func() {
			for later := range requests { // a window that changed its size, a signal
				_ = later.Reply(false, nil)
			}
			time.AfterFunc(endsByItself, cancel) // the other side has closed the session
		}()
		code := g.carryOut(ctx, sender, channel, asked.Command)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Code uint32 }{uint32(code)}))
		return
	}
}

// Hello is what a Cistern says of itself.
type Hello struct {
	Product string `json:"product"`
	Version string `json:"version"`
	Under   string `json:"under"`
}

const helloCommand = "cistern-hello"

func (g *Gate) carryOut(ctx context.Context, sender Sender, channel ssh.Channel, text string) int {
	refuse := func(why string) int {
		g.Log.Warn("a sender asked for what it may not have", "sender", sender.Name, "reason", why)
		fmt.Fprintln(channel.Stderr(), why)
		return 126
	}
	words, err := unquote(text)
	if err != nil {
		return refuse("Only replication is possible here: " + err.Error() + ".")
	}
	if len(words) == 1 && words[0] == helloCommand {
		_ = json.NewEncoder(channel).Encode(Hello{"Cistern", g.Version, sender.Under})
		return 0
	}
	if why := allowed(words, sender.Under); why != "" {
		return refuse(why)
	}
	if g.ZFS != nil {
		return g.ZFS(ctx, channel, words[1:])
	}
	stderr, err := command.Through(ctx, channel, maxListed, channel, words...)
	var failed *command.Error
	switch {
	case err == nil:
		return 0
	case errors.As(err, &failed) && failed.Code > 0:
		_, _ = channel.Stderr().Write(stderr)
		return failed.Code
	}
	fmt.Fprintln(channel.Stderr(), err)
	return 125
}

// allowed are the commands that a sender needs, word for word; the dataset is the last one. It says why another one is
// refused, or "".
func allowed(words []string, under string) string {
	for _, form := range [][]string{
		{"zfs", "get", "-Hp", "-o", "property,value", lookProperties},
		{"zfs", "list", "-Hp", "-t", "snapshot", "-d", "1", "-s", "createtxg", "-o", "name,guid"},
		{"zfs", "receive", "-s", "-u", "-o", "readonly=on"},
	} {
		if len(words) != len(form)+1 || !slices.Equal(words[:len(form)], form) {
			continue
		}
		dataset := words[len(form)]
		if wrong := zfsname.Dataset(dataset); wrong != "" {
			return fmt.Sprintf("The dataset name '%s' %s.", dataset, wrong)
		}
		if !strings.HasPrefix(dataset, under+"/") {
			return fmt.Sprintf("This sender may replicate to datasets below '%s', and '%s' is none.", under, dataset)
		}
		return ""
	}
	return "Only replication is possible here."
}
