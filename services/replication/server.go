package replication

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
	"cistern/services/platform/zfsname"
)

// Server is replicd's side towards akd: docs/api/replicd.md.
type Server struct {
	state string
	uids  []int
	key   ssh.Signer // with which this appliance signs in elsewhere
	gate  *Gate
	log   *slog.Logger
	ctx   context.Context

	mu        sync.Mutex
	accepting Accepting
	stop      context.CancelFunc // of the listener
	failure   string             // why it does not listen
}

// Accepting is who may replicate to here. Port 0 listens nowhere.
type Accepting struct {
	Port    int      `json:"port"`
	Senders []Sender `json:"senders"`
}

// NewServer reads state, a folder of the process' own, and makes the keys when it is new. It listens for others as long
// as ctx lasts.
func NewServer(ctx context.Context, state, version string, uids []int, log *slog.Logger) (*Server, error) {
	s := &Server{state: state, uids: uids, log: log, ctx: ctx, stop: func() {}}
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	var err error
	if s.key, err = keyFile(filepath.Join(state, "identity")); err != nil {
		return nil, err
	}
	host, err := keyFile(filepath.Join(state, "host"))
	if err != nil {
		return nil, err
	}
	s.gate = &Gate{Version: version, Key: host, Log: log}
	content, err := os.ReadFile(s.acceptFile())
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		if err := json.Unmarshal(content, &s.accepting); err != nil {
			// Nobody is let in until akd, which has the list, sends it again.
			log.Error("the list of senders cannot be read", "error", err)
			s.accepting = Accepting{}
		}
	}
	s.listen()
	return s, nil
}

func (s *Server) acceptFile() string { return filepath.Join(s.state, "accept.json") }

// keyFile reads a private key, or makes one.
func keyFile(path string) (ssh.Signer, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		_, private, made := ed25519.GenerateKey(rand.Reader)
		if made != nil {
			return nil, made
		}
		block, made := ssh.MarshalPrivateKey(private, "cistern")
		if made != nil {
			return nil, made
		}
		content = pem.EncodeToMemory(block)
		err = writeWhole(path, content)
	}
	if err != nil {
		return nil, err
	}
	key, err := ssh.ParsePrivateKey(content)
	if err != nil {
		return nil, fmt.Errorf("the key in %s cannot be read: %w; move it away to have another one made, which every other side has to be told", path, err)
	}
	return key, nil
}

// writeWhole replaces a file: either the old or the new one is there.
func writeWhole(path string, content []byte) error {
	file, err := os.OpenFile(path+".new", os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(path+".new", path)
	}
	if err != nil {
		return err
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(folder.Sync(), folder.Close())
}

// listen follows s.accepting. Called with the lock, or before anyone has the server.
func (s *Server) listen() {
	s.stop()
	s.stop, s.failure = func() {}, ""
	s.gate.Admit(s.accepting.Senders)
	if s.accepting.Port == 0 {
		return
	}
	listener, err := net.Listen("tcp", ":"+strconv.Itoa(s.accepting.Port))
	if err != nil {
		s.failure = err.Error()
		s.log.Error("replications of others cannot be taken", "error", err)
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	s.stop = func() {
		cancel()
		listener.Close()
	}
	go func() { _ = s.gate.Serve(ctx, listener) }() // its end is the listener's
}

// Target is where a replication goes. Kind "here" is this machine, and has no address.
type Target struct {
	Kind string `json:"kind"` // here, ssh
	Address
	Dataset string `json:"dataset"`
}

func (t Target) check() *problem.Field {
	wrong := func(path, message string) *problem.Field {
		return &problem.Field{Path: "/target" + path, Message: message}
	}
	if why := zfsname.Dataset(t.Dataset); why != "" {
		return wrong("/dataset", fmt.Sprintf("The dataset name '%s' %s.", t.Dataset, why))
	}
	switch t.Kind {
	case "here":
		return nil
	case "ssh":
		return checkAddress(t.Address)
	}
	return wrong("/kind", "It is “here” or “ssh”.")
}

func checkAddress(to Address) *problem.Field {
	switch {
	case to.Host == "" || len(to.Host) > 253 || strings.ContainsAny(to.Host, " /\x00\n\r"):
		return &problem.Field{Path: "/target/host", Message: "Give a host name or an address."}
	case to.Port < 1 || to.Port > 65535:
		return &problem.Field{Path: "/target/port", Message: "A port is 1 to 65535."}
	case to.User == "" || len(to.User) > 64 || strings.ContainsAny(to.User, " \x00\n\r"):
		return &problem.Field{Path: "/target/user", Message: "Give the user to sign in as."}
	}
	return nil
}

func (s *Server) place(ctx context.Context, t Target) (Place, error) {
	if t.Kind == "here" {
		return Here{}, nil
	}
	there, err := Dial(ctx, t.Address, s.key)
	if err != nil { // not a *There that is nil in an interface
		return nil, err
	}
	return there, nil
}

// Handler serves akd.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/identity", s.identity)
	mux.HandleFunc("POST /v1/host", s.host)
	mux.HandleFunc("POST /v1/look", s.look)
	mux.HandleFunc("POST /v1/send", s.send)
	mux.HandleFunc("PUT /v1/accept", s.accept)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if uid, err := unixsocket.RequestPeerUID(r); err != nil || !slices.Contains(s.uids, uid) {
			problem.Write(w, http.StatusForbidden, "forbidden", "This socket is for the management plane only.", "")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

func fail(w http.ResponseWriter, err error) {
	var document problem.Document
	if !errors.As(err, &document) {
		document = problem.New(http.StatusInternalServerError, "replication_failed", err.Error(), "The machine's log has more; a support bundle collects it.")
	}
	document.Send(w)
}

func line(key ssh.PublicKey) string {
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func (s *Server) identity(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	answer(w, map[string]any{
		"publicKey": line(s.key.PublicKey()), "fingerprint": ssh.FingerprintSHA256(s.key.PublicKey()),
		"hostKey": line(s.gate.Key.PublicKey()), "hostFingerprint": ssh.FingerprintSHA256(s.gate.Key.PublicKey()),
		"port": s.accepting.Port, "failure": s.failure,
	})
}

func (s *Server) host(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Host string `json:"host"`
		Port int    `json:"port"`
	}
	if !problem.Decode(w, r, &asked, 64<<10) {
		return
	}
	if wrong := checkAddress(Address{Host: asked.Host, Port: asked.Port, User: "any"}); wrong != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "There is no such address.", "", *wrong)
		return
	}
	key, err := HostKey(r.Context(), asked.Host, asked.Port)
	if err != nil {
		fail(w, err)
		return
	}
	answer(w, map[string]string{"hostKey": line(key), "fingerprint": ssh.FingerprintSHA256(key)})
}

func (s *Server) look(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Target Target `json:"target"`
	}
	if !problem.Decode(w, r, &asked, 64<<10) {
		return
	}
	if wrong := asked.Target.check(); wrong != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "The target makes no sense.", "", *wrong)
		return
	}
	place, err := s.place(r.Context(), asked.Target)
	if err != nil {
		fail(w, err)
		return
	}
	defer place.Close()
	var hello *Hello
	if there, ok := place.(*There); ok {
		// A machine that is no Cistern says that it knows no such command.
		if text, err := there.run(r.Context(), nil, []string{helloCommand}); err == nil {
			hello = &Hello{}
			if json.Unmarshal([]byte(text), hello) != nil {
				hello = nil
			}
		}
	}
	found, err := LookAt(r.Context(), place, asked.Target.Dataset)
	if err != nil {
		fail(w, inWords(err, Order{Target: asked.Target.Dataset}))
		return
	}
	answer(w, map[string]any{"cistern": hello, "dataset": found})
}

// send answers with a line of JSON about once a second: {"progress":…}, and at last {"sent":…} or {"problem":…}. Whoever
// closes the connection cancels it.
func (s *Server) send(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Dataset        string `json:"dataset"`
		Snapshot       string `json:"snapshot"`
		Target         Target `json:"target"`
		Intermediate   bool   `json:"intermediate"`
		BytesPerSecond int64  `json:"bytesPerSecond"`
	}
	if !problem.Decode(w, r, &asked, 64<<10) {
		return
	}
	wrong := asked.Target.check()
	if _, _, why := zfsname.Snapshot(asked.Dataset + "@" + asked.Snapshot); why != "" {
		wrong = &problem.Field{Path: "/snapshot", Message: "The name " + why + "."}
	}
	if asked.BytesPerSecond < 0 {
		wrong = &problem.Field{Path: "/bytesPerSecond", Message: "A limit is positive; 0 is none."}
	}
	if wrong != nil {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "This cannot be sent.", "", *wrong)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := json.NewEncoder(w)
	var mu sync.Mutex
	write := func(what string, v any) {
		mu.Lock()
		defer mu.Unlock()
		_ = lines.Encode(map[string]any{what: v}) // the client has gone: r's context ends
		_ = http.NewResponseController(w).Flush()
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	begun := func() error {
		place, err := s.place(ctx, asked.Target)
		if err != nil {
			return err
		}
		defer place.Close()
		sent, err := Send(ctx, place, Order{
			Dataset: asked.Dataset, Snapshot: asked.Snapshot, Target: asked.Target.Dataset,
			Intermediate: asked.Intermediate, BytesPerSecond: asked.BytesPerSecond,
		}, func(p Progress) { write("progress", p) })
		if err == nil {
			write("sent", sent)
		}
		return err
	}
	if err := begun(); err != nil {
		var document problem.Document
		if !errors.As(err, &document) {
			document = problem.New(http.StatusBadGateway, "replication_failed", err.Error(), "")
		}
		s.log.Warn("a replication failed", "snapshot", asked.Dataset+"@"+asked.Snapshot, "target", asked.Target.Dataset, "host", asked.Target.Host, "error", document.Detail)
		write("problem", document)
	}
}

func (s *Server) accept(w http.ResponseWriter, r *http.Request) {
	var asked Accepting
	if !problem.Decode(w, r, &asked, 1<<20) {
		return
	}
	if asked.Port < 0 || asked.Port > 65535 {
		problem.Write(w, http.StatusBadRequest, "invalid_request", "A port is 1 to 65535; 0 listens nowhere.", "", problem.Field{Path: "/port", Message: "not a port"})
		return
	}
	for i, sender := range asked.Senders {
		if _, wrong := sender.check(); wrong != "" {
			problem.Write(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("The sender “%s” was refused: %s.", sender.Name, wrong), "", problem.Field{Path: fmt.Sprintf("/senders/%d", i), Message: wrong})
			return
		}
	}
	content, err := json.Marshal(asked)
	if err == nil {
		err = writeWhole(s.acceptFile(), content)
	}
	if err != nil {
		fail(w, err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	same := asked.Port == s.accepting.Port && s.failure == ""
	s.accepting = asked
	if same {
		s.gate.Admit(asked.Senders) // replications that run go on
	} else {
		s.listen()
	}
	answer(w, map[string]any{"port": asked.Port, "failure": s.failure})
}
