package execd

// The firewall: a document is tried, and taken back unless somebody confirms it in time. What would be taken back to is on disk
// before anything is touched, so that neither the end of this process nor that of the machine leaves what nobody wanted.

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/execd/host/firewall"
)

// Firewall keeps the rules that are loaded as the document says.
type Firewall struct {
	host host.Host
	dir  string
	own  func() ([]netip.Prefix, error)
	log  *slog.Logger

	mu     sync.Mutex // also held while rules are loaded: one load after the other
	kept   firewall.Document
	origin string // where kept is from
	tried  *tried
	now    []netip.Prefix // own networks that the loaded rules are made for
	loaded bool
}

// tried is a document that nobody has confirmed yet.
type tried struct {
	document firewall.Document
	token    string
	until    time.Time // with the monotonic clock
	timer    *time.Timer
}

// Where the document that is kept is from.
const (
	originKept    = "kept"
	originDefault = "default" // none was ever kept
	originBroken  = "broken"  // what was kept cannot be read: the default holds
)

// NewFirewall reads what is kept. A document that was tried and not confirmed before is forgotten.
func NewFirewall(h host.Host, state string, own func() ([]netip.Prefix, error), log *slog.Logger) *Firewall {
	f := &Firewall{host: h, dir: filepath.Join(state, "execd", "firewall"), own: own, log: log}
	f.kept, f.origin = f.readKept()
	if f.origin == originBroken {
		log.Error("the firewall's document cannot be read: the page is open to everybody, the inputs to the machine's own networks", "path", f.keptFile())
	}
	return f
}

func (f *Firewall) keptFile() string  { return filepath.Join(f.dir, "document.json") }
func (f *Firewall) triedFile() string { return filepath.Join(f.dir, "tried.json") }

func (f *Firewall) readKept() (firewall.Document, string) {
	text, err := os.ReadFile(f.keptFile())
	if errors.Is(err, os.ErrNotExist) {
		return firewall.Default(), originDefault
	}
	var d firewall.Document
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if path, _ := d.Wrong(); err != nil || path != "" {
		return firewall.Default(), originBroken
	}
	return d, originKept
}

// Load has the rules of the kept document hold. A machine whose rules could not be loaded says so; it is tried again by Watch.
func (f *Firewall) Load(ctx context.Context) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := f.load(ctx, f.kept, false)
	if err != nil {
		return err
	}
	if err := os.Remove(f.triedFile()); err == nil {
		f.log.Warn("a change of the firewall was not confirmed before execd or the machine ended: it is taken back")
	} else if !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

func (f *Firewall) load(ctx context.Context, d firewall.Document, anew bool) error {
	own, err := f.own()
	if err != nil {
		f.log.Warn("the machine's own networks cannot be read; those of before hold", "error", err)
		own = f.now
	}
	if err := f.host.LoadFirewall(ctx, d.Rules(own), anew); err != nil {
		f.loaded = false
		return err
	}
	f.now, f.loaded = own, true
	return nil
}

// holds is the document whose rules are to be loaded now.
func (f *Firewall) holds() firewall.Document {
	if f.tried != nil {
		return f.tried.document
	}
	return f.kept
}

// ownEvery is how often the machine's addresses are asked for, as storaged does for its inputs.
const ownEvery = 5 * time.Second

// Watch loads the rules again when the machine's addresses have changed, or when they could not be loaded, until ctx ends.
func (f *Firewall) Watch(ctx context.Context) {
	every(ctx, ownEvery, f.follow)
}

func (f *Firewall) follow(ctx context.Context) {
	f.mu.Lock()
	defer f.mu.Unlock()
	own, err := f.own()
	if err != nil || f.loaded && slices.Equal(own, f.now) {
		return
	}
	if err := f.load(ctx, f.holds(), false); err != nil {
		f.log.Error("the firewall's rules cannot be loaded", "error", err)
	}
}

type firewallTryArgument struct {
	Document firewall.Document `json:"document"`
	Seconds  int               `json:"seconds"`
}

// Bounds of how long a document is tried.
const leastTry, mostTry = 5, 600

func checked(d firewall.Document) error {
	if path, message := d.Wrong(); path != "" {
		return host.Invalid("/document"+path, message)
	}
	return nil
}

// firewallTry has a document hold for some seconds; then what held before does again, unless firewall.confirm was called.
func (s *Server) firewallTry(r *http.Request, a firewallTryArgument) (any, error) {
	f := s.Firewall
	if err := checked(a.Document); err != nil {
		return nil, err
	}
	if a.Seconds < leastTry || a.Seconds > mostTry {
		return nil, host.Invalid("/seconds", fmt.Sprintf("A document is tried for %d to %d seconds.", leastTry, mostTry))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.tried != nil {
		return nil, problem.New(http.StatusConflict, "conflict", "Another change of the firewall is being tried.", "Confirm it or take it back first.")
	}
	// Before anything is touched: whoever finds this file takes back.
	if err := writeJSON(f.triedFile(), a.Document); err != nil {
		return nil, err
	}
	one := &tried{document: a.Document, token: rand.Text()}
	within := time.Duration(a.Seconds) * time.Second
	one.until = time.Now().Add(within)
	f.tried = one
	if err := f.load(context.WithoutCancel(r.Context()), a.Document, false); err != nil {
		return nil, errors.Join(err, f.takeBack(context.WithoutCancel(r.Context())))
	}
	one.timer = time.AfterFunc(time.Until(one.until), func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.tried != one {
			return
		}
		f.log.Warn("a change of the firewall was not confirmed in time: it is taken back")
		if err := f.takeBack(context.Background()); err != nil {
			f.log.Error("the firewall's rules could not be taken back; it is tried again", "error", err)
		}
	})
	return map[string]any{"token": one.token, "seconds": a.Seconds}, nil
}

// takeBack ends a try. Also when loading fails the document that is kept is the one that follow loads.
func (f *Firewall) takeBack(ctx context.Context) error {
	if f.tried != nil && f.tried.timer != nil {
		f.tried.timer.Stop()
	}
	f.tried = nil
	if err := f.load(ctx, f.kept, false); err != nil {
		return err
	}
	return os.Remove(f.triedFile())
}

type firewallTokenArgument struct {
	Token string `json:"token"`
}

func (f *Firewall) find(token string) error {
	if f.tried == nil || f.tried.token != token {
		return problem.New(http.StatusConflict, "conflict", "This change of the firewall is not being tried any more.", "It was taken back, because nobody confirmed it in time, or somebody else has ended it. Try it again.")
	}
	return nil
}

// firewallConfirm keeps the document that is tried.
func (s *Server) firewallConfirm(_ *http.Request, a firewallTokenArgument) (any, error) {
	f := s.Firewall
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.find(a.Token); err != nil {
		return nil, err
	}
	if err := writeJSON(f.keptFile(), f.tried.document); err != nil {
		return nil, err
	}
	f.tried.timer.Stop()
	f.kept, f.origin, f.tried = f.tried.document, originKept, nil
	return empty{}, os.Remove(f.triedFile())
}

// firewallTakeBack ends the try before its time.
func (s *Server) firewallTakeBack(r *http.Request, a firewallTokenArgument) (any, error) {
	f := s.Firewall
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.find(a.Token); err != nil {
		return nil, err
	}
	return empty{}, f.takeBack(context.WithoutCancel(r.Context()))
}

type firewallSetArgument struct {
	Document firewall.Document `json:"document"`
}

// firewallSet keeps a document without a try, which cannot lock anybody out: who may open the page stays as it is. While another is
// tried it is kept, and holds once that has ended.
func (s *Server) firewallSet(r *http.Request, a firewallSetArgument) (any, error) {
	f := s.Firewall
	if err := checked(a.Document); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	before, _ := f.kept.Service(firewall.HTTPS)
	after, _ := a.Document.Service(firewall.HTTPS)
	if !reflect.DeepEqual(before, after) {
		return nil, problem.New(http.StatusConflict, "conflict", "Who may open the page is changed by a try only.", "Use firewall.try and firewall.confirm.")
	}
	if err := writeJSON(f.keptFile(), a.Document); err != nil {
		return nil, err
	}
	f.kept, f.origin = a.Document, originKept
	if f.tried != nil {
		return empty{}, nil
	}
	return empty{}, f.load(context.WithoutCancel(r.Context()), f.kept, false)
}

type firewallSender struct {
	Address  string `json:"address"`
	Protocol string `json:"protocol"`
	Port     uint16 `json:"port"`
	Packets  uint64 `json:"packets"`
	// Of the first of them: so many seconds ago.
	SinceSeconds int64 `json:"sinceSeconds"`
}

type firewallTried struct {
	Document    firewall.Document `json:"document"`
	SecondsLeft float64           `json:"secondsLeft"`
}

type firewallAnswer struct {
	Kept   firewall.Document `json:"kept"`
	Origin string            `json:"origin"`
	Tried  *firewallTried    `json:"tried"`
	Own    []string          `json:"own"`
	// What was found to be otherwise than it should be; it has been loaded anew.
	Differs []string `json:"differs"`
	// Packets by service, and `other`.
	Dropped map[string]uint64 `json:"dropped"`
	// Packets of connections that were one too many of their address, by service; null where the system has no such limit.
	OverLimit map[string]uint64 `json:"overLimit"`
	// Null where the system does not tell.
	Senders     []firewallSender `json:"senders"`
	SendersFull bool             `json:"sendersFull"`
}

// firewallRead is what is really loaded; what is not as it should be is loaded again.
func (s *Server) firewallRead(r *http.Request, _ empty) (any, error) {
	f := s.Firewall
	f.mu.Lock()
	defer f.mu.Unlock()
	ctx := context.WithoutCancel(r.Context())
	loaded, err := f.host.ReadFirewall(ctx, f.holds().Rules(f.now))
	if err != nil {
		return nil, err
	}
	a := firewallAnswer{Kept: f.kept, Origin: f.origin, Own: []string{}, Differs: []string{}, Dropped: loaded.Dropped, OverLimit: loaded.OverLimit, SendersFull: loaded.SendersFull}
	if len(loaded.Differs) > 0 {
		a.Differs = loaded.Differs
		f.log.Error("the firewall's rules were not as they should be; they are loaded anew", "reason", loaded.Differs)
		if err := f.load(ctx, f.holds(), true); err != nil {
			return nil, err
		}
	}
	if a.Dropped == nil {
		a.Dropped = map[string]uint64{}
	}
	for _, one := range f.now {
		a.Own = append(a.Own, one.String())
	}
	if f.tried != nil {
		a.Tried = &firewallTried{f.tried.document, max(0, time.Until(f.tried.until).Seconds())}
	}
	if loaded.Senders != nil {
		a.Senders = []firewallSender{}
	}
	for _, one := range loaded.Senders {
		a.Senders = append(a.Senders, firewallSender{one.Address.String(), one.Port.Protocol, one.Port.Port, one.Packets, int64(one.SinceAgo.Seconds())})
	}
	// The worst first; nobody reads them all.
	slices.SortStableFunc(a.Senders, func(x, y firewallSender) int { return int(min(y.Packets, 1<<40)) - int(min(x.Packets, 1<<40)) })
	if len(a.Senders) > mostSendersTold {
		a.Senders, a.SendersFull = a.Senders[:mostSendersTold], true
	}
	return a, nil
}

// mostSendersTold is how many senders are told of.
const mostSendersTold = 200
