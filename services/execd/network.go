package execd

// The machine's addresses: a document is tried, and taken back unless somebody confirms it in time, or when it certainly does not work.
// That one is being tried is on disk before anything is touched, so that neither the end of this process nor that of the machine
// leaves what nobody wanted.

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/execd/host/network"
)

// Network keeps the machine's addresses as the document says.
type Network struct {
	host host.Host
	dir  string
	log  *slog.Logger
	// For tests: how long after the answer the network is changed, how long what is tried may take to be there, and how often that is
	// looked at.
	delay, settle, look time.Duration

	mu     sync.Mutex // also held while the network is changed
	kept   network.Document
	origin string
	tried  *triedNetwork
	ended  *networkEnd
	// What is loaded is not known to be what should be.
	unsure bool
	// What the gateways answered last, by address and interface.
	answers map[string]bool
}

type triedNetwork struct {
	document network.Document
	token    string
	until    time.Time // with the monotonic clock
	stop     context.CancelFunc
	// What of the document is not there (yet); "": it all is.
	missing string
}

// networkEnd is how the last try ended that was not confirmed.
type networkEnd struct {
	At  time.Time `json:"at"`
	Why string    `json:"why"`
}

const (
	leastNetworkTry, mostNetworkTry = 60, 600
	// Whether another machine has an address takes up to seven seconds to find out (RFC 5227, 2.1.1).
	networkSettle = 10 * time.Second
	networkLook   = 500 * time.Millisecond
	// The answer, with what confirming needs, goes out over the address that may be gone afterwards.
	networkDelay = 2 * time.Second
)

// NewNetwork reads what is kept.
func NewNetwork(h host.Host, state string, log *slog.Logger) *Network {
	n := &Network{host: h, dir: filepath.Join(state, "execd", "network"), log: log, answers: map[string]bool{}, delay: networkDelay, settle: networkSettle, look: networkLook}
	n.kept, n.origin = n.readKept()
	if n.origin == originBroken {
		log.Error("the network's document cannot be read: every port asks for its addresses", "path", n.file("document.json"))
	}
	if text, err := os.ReadFile(n.file("ended.json")); err == nil {
		var end networkEnd
		if json.Unmarshal(text, &end) == nil {
			n.ended = &end
		}
	}
	return n
}

func (n *Network) file(name string) string { return filepath.Join(n.dir, name) }

func (n *Network) readKept() (network.Document, string) {
	d, err := readNetwork(n.file("document.json"))
	if errors.Is(err, os.ErrNotExist) {
		return network.Default(), originDefault
	}
	if path, _ := d.Wrong(); err != nil || path != "" {
		return network.Default(), originBroken
	}
	return d, originKept
}

func readNetwork(path string) (network.Document, error) {
	var d network.Document
	text, err := os.ReadFile(path)
	if err == nil {
		read := json.NewDecoder(bytes.NewReader(text))
		read.DisallowUnknownFields()
		err = read.Decode(&d)
	}
	return d.Normal(), err
}

// Prepare has the kept document hold when the system brings its network up.
func (n *Network) Prepare() error { return n.host.PrepareNetwork(n.kept) }

// Load has the kept document hold. One that was being tried is taken back by that.
func (n *Network) Load(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, err := os.Stat(n.file("tried.json")); errors.Is(err, os.ErrNotExist) && n.origin == originDefault {
		return nil
	}
	if err := n.load(ctx, n.kept); err != nil {
		return err
	}
	tried, err := readNetwork(n.file("tried.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err := os.Remove(n.file("tried.json")); err != nil {
		return err
	}
	// It was confirmed, and what was killed had not removed the file yet.
	if err == nil && reflect.DeepEqual(tried, n.kept) {
		return nil
	}
	return n.note("The appliance was started again before anybody had confirmed it.")
}

// note keeps why a try was taken back.
func (n *Network) note(why string) error {
	n.log.Warn("a change of the network is taken back", "reason", why)
	n.ended = &networkEnd{time.Now().UTC(), why}
	return writeJSON(n.file("ended.json"), n.ended)
}

// read is how the network is, with what the gateways answered last where they are being asked; and has them asked again.
func (n *Network) read(ctx context.Context) (network.State, error) {
	now, err := n.host.ReadNetwork(ctx)
	if err != nil {
		return now, err
	}
	answers := map[string]bool{}
	for i, one := range now.Gateways {
		key := one.Address + " " + one.Interface
		last, known := n.answers[key]
		if one.Answers != nil {
			last, known = *one.Answers, true
		}
		if known {
			answers[key] = last
			now.Gateways[i].Answers = &last
		}
	}
	n.answers = answers
	n.host.AskGateways(ctx, now)
	return now, nil
}

func (n *Network) load(ctx context.Context, d network.Document) error {
	err := n.host.LoadNetwork(ctx, d)
	n.unsure = err != nil
	return err
}

// Watch has the document hold that should, when it could not be loaded, until ctx ends.
func (n *Network) Watch(ctx context.Context) {
	every(ctx, ownEvery, n.again)
}

func (n *Network) again(ctx context.Context) {
	n.mu.Lock()
	defer n.mu.Unlock()
	// The kernel forgets within seconds that a gateway has not answered.
	_, _ = n.read(ctx)
	if !n.unsure || n.tried != nil {
		return
	}
	if err := n.load(ctx, n.kept); err != nil {
		n.log.Error("the network cannot be set; it is tried again", "error", err)
		return
	}
	// Why it was taken back is noted already.
	if err := os.Remove(n.file("tried.json")); err != nil && !errors.Is(err, os.ErrNotExist) {
		n.log.Error("a change of the network that was taken back cannot be forgotten", "error", err)
	}
}

type networkTryArgument struct {
	Document network.Document `json:"document"`
	Seconds  int              `json:"seconds"`
	// Isolated: it is meant that there is no way to other networks any more.
	Isolated bool `json:"isolated"`
}

// CheckNetwork is the problem of a document in its normal form, on a machine whose network is as said; nil: it may be tried.
func CheckNetwork(d network.Document, now network.State, kept network.Document, isolated bool) error {
	if path, message := d.Wrong(); path != "" {
		return host.Invalid("/document"+path, message)
	}
	if path, message := d.Loses(now, kept, isolated); path != "" {
		return host.Invalid("/document"+path, message)
	}
	return nil
}

// networkTry has a document hold for some seconds; then what held before does again, unless network.confirm was called.
func (s *Server) networkTry(r *http.Request, a networkTryArgument) (any, error) {
	n := s.Network
	document := a.Document.Normal()
	if a.Seconds < leastNetworkTry || a.Seconds > mostNetworkTry {
		return nil, host.Invalid("/seconds", fmt.Sprintf("A change of the network is tried for %d to %d seconds.", leastNetworkTry, mostNetworkTry))
	}
	ctx := context.WithoutCancel(r.Context())
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tried != nil {
		return nil, problem.New(http.StatusConflict, "conflict", "Another change of the network is being tried.", "Confirm it or take it back first.")
	}
	now, err := n.host.ReadNetwork(ctx)
	if err != nil {
		return nil, err
	}
	if err := CheckNetwork(document, now, n.kept, a.Isolated); err != nil {
		return nil, err
	}
	// Before anything is touched: whoever finds this file takes back.
	if err := writeJSON(n.file("tried.json"), document); err != nil {
		return nil, err
	}
	watching, stop := context.WithCancel(context.Background())
	one := &triedNetwork{document: document, token: rand.Text(), until: time.Now().Add(time.Duration(a.Seconds) * time.Second), stop: stop, missing: "It is being set."}
	n.tried = one
	go n.carryOut(watching, one)
	return map[string]any{"token": one.token, "seconds": a.Seconds}, nil
}

// carryOut has hold what is tried, and looks whether it is there. What certainly does not work is taken back at once, the rest when its
// time is over.
func (n *Network) carryOut(ctx context.Context, one *triedNetwork) {
	select {
	case <-ctx.Done():
		return
	case <-time.After(n.delay):
	}
	if !n.begun(ctx, one) {
		return
	}
	ticker := time.NewTicker(n.look)
	defer ticker.Stop()
	settled := time.Now().Add(n.settle)
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		if n.watched(ctx, one, !time.Now().Before(settled)) {
			return
		}
	}
}

// begun has hold what is tried; false when it has ended.
func (n *Network) begun(ctx context.Context, one *triedNetwork) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tried != one {
		return false
	}
	ctx = context.WithoutCancel(ctx)
	if err := n.load(ctx, one.document); err != nil {
		n.end(ctx, "It could not be set: "+err.Error())
		return false
	}
	return true
}

// end takes back what is tried when nobody waits for the answer.
func (n *Network) end(ctx context.Context, why string) {
	if err := n.takeBack(ctx, why); err != nil {
		n.log.Error("the network could not be taken back; it is tried again", "error", err)
	}
}

// watched is true when there is nothing to look at any more.
func (n *Network) watched(ctx context.Context, one *triedNetwork, settled bool) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tried != one {
		return true
	}
	now, err := n.read(ctx)
	why := ""
	switch {
	case err != nil:
		one.missing = "How the network is cannot be read: " + err.Error()
	default:
		missing, certain := one.document.Missing(now)
		one.missing = missing
		if missing != "" && (certain || settled) {
			why = missing
		}
	}
	if why == "" && !time.Now().Before(one.until) {
		why = "Nobody confirmed it in time."
	}
	if why == "" {
		return false
	}
	n.end(context.WithoutCancel(ctx), why)
	return true
}

// takeBack ends a try. Also when loading fails the document that is kept is the one that Watch loads.
func (n *Network) takeBack(ctx context.Context, why string) error {
	n.tried.stop()
	n.tried = nil
	said := n.note(why)
	if err := n.load(ctx, n.kept); err != nil {
		return errors.Join(err, said)
	}
	return errors.Join(os.Remove(n.file("tried.json")), said)
}

type networkTokenArgument struct {
	Token string `json:"token"`
}

func (n *Network) find(token string) error {
	if n.tried == nil || n.tried.token != token {
		action := "Nobody confirmed it in time, or somebody else has ended it. Try it again."
		if n.ended != nil {
			action = "Why: " + n.ended.Why + " Try it again."
		}
		return problem.New(http.StatusConflict, "conflict", "This change of the network is not being tried any more.", action)
	}
	return nil
}

// networkConfirm keeps the document that is tried, once all of it is there.
func (s *Server) networkConfirm(_ *http.Request, a networkTokenArgument) (any, error) {
	n := s.Network
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.find(a.Token); err != nil {
		return nil, err
	}
	if n.tried.missing != "" {
		return nil, problem.New(http.StatusConflict, "conflict", "The change of the network does not hold yet. "+n.tried.missing, "Wait a few seconds, and confirm it again.")
	}
	if err := writeJSON(n.file("document.json"), n.tried.document); err != nil {
		return nil, err
	}
	n.tried.stop()
	n.kept, n.origin, n.tried, n.ended = n.tried.document, originKept, nil, nil
	err := errors.Join(os.Remove(n.file("tried.json")), os.RemoveAll(n.file("ended.json")))
	return empty{}, err
}

// networkTakeBack ends the try before its time.
func (s *Server) networkTakeBack(r *http.Request, a networkTokenArgument) (any, error) {
	n := s.Network
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.find(a.Token); err != nil {
		return nil, err
	}
	return empty{}, n.takeBack(context.WithoutCancel(r.Context()), "Somebody took it back.")
}

type networkTried struct {
	Document    network.Document `json:"document"`
	Token       string           `json:"token"`
	SecondsLeft float64          `json:"secondsLeft"`
	Missing     string           `json:"missing"`
}

type networkAnswer struct {
	Kept   network.Document `json:"kept"`
	Origin string           `json:"origin"`
	Tried  *networkTried    `json:"tried"`
	// Ended is how the last try ended, unless one was confirmed since.
	Ended *networkEnd   `json:"ended"`
	Now   network.State `json:"now"`
}

// networkRead is what is set, and what there is.
func (s *Server) networkRead(r *http.Request, _ empty) (any, error) {
	n := s.Network
	n.mu.Lock()
	defer n.mu.Unlock()
	now, err := n.read(r.Context())
	if err != nil {
		return nil, err
	}
	a := networkAnswer{Kept: n.kept, Origin: n.origin, Ended: n.ended, Now: now}
	if n.tried != nil {
		a.Tried = &networkTried{n.tried.document, n.tried.token, max(0, time.Until(n.tried.until).Seconds()), n.tried.missing}
	}
	return a, nil
}
