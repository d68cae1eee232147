// Package execd carries out Cistern's privileged actions: a fixed table of typed verbs, each with its own check of what
// it is given, none through a shell. Who may connect is decided by the peer's user id; every call that somebody has made is audited before and
// after it is carried out.
package execd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
	"cistern/services/execd/certificate"
	"cistern/services/execd/host"
	"cistern/services/execd/sshaccess"
)

// Server is execd's HTTP handler. Verbs about one pool that exists wait for each other, and so do all others, so that two
// pool creations never see the same free disk; but a pool whose disks do not answer holds up no other pool, and nobody who
// wants to restart a service or the machine.
type Server struct {
	State string    // /var/lib/cistern
	Host  host.Host // the operating system
	// Firewall keeps who may reach the machine.
	Firewall *Firewall
	// Network keeps the machine's addresses.
	Network *Network
	// Tunables keeps how the operating system is tuned.
	Tunables *Tunables
	// Time keeps whom the machine asks for the time.
	Time *Time
	UIDs []int // user ids that may connect
	// HTTPSPort is where the web page answers; 0 is 443.
	HTTPSPort int
	// Ending is closed when the process is to end: what would go on for ever does not hold it up. Nil is never.
	Ending <-chan struct{}
	// Failed hears of what went wrong when nobody had asked; nil is nobody.
	Failed func(error)
	// For tests: how often who follows events hears that there are none.
	beatEvery time.Duration
	// For tests: how long the management controller may take for what it is asked; 0 is controllerDeadline.
	controllerWithin time.Duration
	// For tests: how long an enclosure may take; 0 is enclosureDeadline.
	enclosureWithin time.Duration
	mu              sync.Mutex
	sshAccess       *sshaccess.Manager
	certificate     *certificate.Keeper
	locks           map[string]chan struct{} // by pool; "" is what belongs to none; see also looking
}

// inPool is an argument that is about one pool.
type inPool interface{ pool() string }

// makesPool is an argument of a verb that makes or takes away a whole pool: it waits for that pool's verbs, and for those
// that belong to none.
type makesPool interface{ wholePool() string }

// unlocked are the verbs that wait for nothing and that nothing waits for: they only read, which may take as long as a
// download's reader wants, or they take no disk and change no pool.
var unlocked = []string{"power", "service.action", "setup.finish", "pool.importable", "pool.history", "pool.errors", "pool.events", "pool.remembered", "disks.list", "disk.smart", "disk.locate", "faults.list", "hardware.inventory", "controller.read", "enclosures.read", "system.list",
	"dataset.sample", "snapshot.diff", "snapshot.list-files", "snapshot.read-file",
	// They wait for each other, and for no pool.
	"firewall.try", "firewall.confirm", "firewall.take-back", "firewall.set", "firewall.read",
	"network.try", "network.confirm", "network.take-back", "network.read",
	"time.read", "time.set", "tunables.read", "tunables.set",
	"tls.state", "tls.request", "tls.check", "tls.install", "tls.self-signed", "tls.restore"}

// polled are the verbs that the management plane calls again and again by itself, to look at the machine. They change
// nothing and name nobody, so they are left out of the audit trail, which they would fill.
var polled = []string{"pool.remembered", "disks.list", "disk.smart", "faults.list", "hardware.inventory", "controller.read", "enclosures.read", "firewall.read", "network.read", "time.read", "tunables.read", "tls.state"}

// lock keeps others from the argument's pool until the function that it returns is called. Whoever has gone while waiting
// wants nothing done any more: that is an error.
func (s *Server) lock(ctx context.Context, verb string, argument any) (unlock func(), err error) {
	if slices.Contains(unlocked, verb) {
		return func() {}, nil
	}
	if in, ok := argument.(inPool); ok {
		return s.wait(ctx, in.pool())
	}
	whole, ok := argument.(makesPool)
	if !ok || whole.wholePool() == "" {
		return s.wait(ctx, "")
	}
	pool := s.one(whole.wholePool())
	for {
		unlock, err := s.wait(ctx, "")
		if err != nil {
			return nil, err
		}
		select {
		case pool <- struct{}{}:
			return func() { <-pool; unlock() }, nil
		default:
		}
		// A pool that hangs must not hold up what belongs to none: wait for it without holding anything.
		unlock()
		if unlock, err = s.wait(ctx, whole.wholePool()); err != nil {
			return nil, err
		}
		unlock()
	}
}

// looking is the lock of "zpool import", also when it only lists: to look at a pool the kernel opens it for a moment, and
// tells whoever looks meanwhile that it is active already, which the command leaves out without a word. No pool has this
// name.
const looking = "/"

// one is the lock of a pool: whoever can put something into it holds it.
func (s *Server) one(pool string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.locks == nil {
		s.locks = map[string]chan struct{}{}
	}
	if s.locks[pool] == nil {
		s.locks[pool] = make(chan struct{}, 1)
	}
	return s.locks[pool]
}

func (s *Server) wait(ctx context.Context, pool string) (unlock func(), err error) {
	one := s.one(pool)
	select {
	case one <- struct{}{}:
		if ctx.Err() == nil {
			return func() { <-one }, nil
		}
		<-one
	case <-ctx.Done():
	}
	what := fmt.Sprintf("What was asked before of the pool '%s'", pool)
	switch pool {
	case "":
		what = "Another change"
	case looking:
		what = "An earlier look for pools on the disks"
	}
	return nil, problem.New(http.StatusGatewayTimeout, "timeout", what+" did not end in time, so nothing was done.", "It may be waiting for a disk that does not answer. Look at the pool's present state before trying again.")
}

// verb is one row of the table: it reads its own typed argument and answers with a value for JSON.
type verb func(s *Server, w http.ResponseWriter, r *http.Request) (argument, answer any, err error)

// verbs is the whole of what execd does.
var verbs = map[string]verb{
	"pool.create":        typed((*Server).poolCreate),
	"pool.destroy":       typed((*Server).poolDestroy),
	"telemetry.place":    typed((*Server).telemetryPlace),
	"service.action":     typed((*Server).serviceAction),
	"pool.export":        typed((*Server).poolExport),
	"pool.importable":    typed((*Server).poolImportable),
	"pool.import":        typed((*Server).poolImport),
	"pool.clear":         typed((*Server).poolClear),
	"pool.set":           typed((*Server).poolSet),
	"pool.upgrade":       typed((*Server).poolUpgrade),
	"pool.scrub":         typed((*Server).poolScrub),
	"pool.trim":          typed((*Server).poolTrim),
	"pool.history":       typed((*Server).poolHistory),
	"pool.errors":        typed((*Server).poolErrors),
	"pool.events":        poolEvents,
	"pool.remembered":    typed((*Server).poolRemembered),
	"vdev.add":           typed((*Server).vdevAdd),
	"vdev.remove":        typed((*Server).vdevRemove),
	"vdev.attach":        typed((*Server).vdevAttach),
	"vdev.detach":        typed((*Server).vdevDetach),
	"vdev.replace":       typed((*Server).vdevReplace),
	"vdev.state":         typed((*Server).vdevState),
	"disks.list":         typed((*Server).disksList),
	"disk.wipe":          typed((*Server).diskWipe),
	"disk.smart":         typed((*Server).diskSmart),
	"disk.selftest":      typed((*Server).diskSelfTest),
	"disk.locate":        typed((*Server).diskLocate),
	"faults.list":        typed((*Server).faultsList),
	"hardware.inventory": typed((*Server).hardwareInventory),
	"controller.read":    typed((*Server).controllerRead),
	"enclosures.read":    typed((*Server).enclosuresRead),
	"system.identity":    typed((*Server).systemIdentity),
	"system.attach":      typed((*Server).systemAttach),
	"system.detach":      typed((*Server).systemDetach),
	"system.list":        typed((*Server).systemList),
	"system.activate":    typed((*Server).systemActivate),
	"setup.finish":       typed((*Server).setupFinish),
	"snmp.configure":     typed((*Server).snmpConfigure),
	"firewall.try":       typed((*Server).firewallTry),
	"firewall.confirm":   typed((*Server).firewallConfirm),
	"firewall.take-back": typed((*Server).firewallTakeBack),
	"firewall.set":       typed((*Server).firewallSet),
	"firewall.read":      typed((*Server).firewallRead),
	"network.try":        typed((*Server).networkTry),
	"network.confirm":    typed((*Server).networkConfirm),
	"network.take-back":  typed((*Server).networkTakeBack),
	"network.read":       typed((*Server).networkRead),
	"tunables.read":      typed((*Server).tunablesRead),
	"tunables.set":       typed((*Server).tunablesSet),
	"time.read":          typed((*Server).timeRead),
	"time.set":           typed((*Server).timeSet),
	"ssh.configure":      typed((*Server).sshConfigure),
	"ssh.check-key":      typed((*Server).sshCheckKey),
	"tls.state":          typed((*Server).tlsState),
	"tls.request":        typed((*Server).tlsRequest),
	"tls.check":          typed((*Server).tlsCheck),
	"tls.install":        typed((*Server).tlsInstall),
	"tls.self-signed":    typed((*Server).tlsSelfSigned),
	"tls.restore":        typed((*Server).tlsRestore),
	"power":              typed((*Server).power),

	"dataset.create":  typed((*Server).datasetCreate),
	"dataset.set":     typed((*Server).datasetSet),
	"dataset.inherit": typed((*Server).datasetInherit),
	"dataset.rename":  typed((*Server).datasetRename),
	"dataset.destroy": typed((*Server).datasetDestroy),
	"dataset.mount":   typed((*Server).datasetMount),
	"dataset.unmount": typed((*Server).datasetUnmount),
	"dataset.key":     typed((*Server).datasetKey),
	"dataset.sample":  typed((*Server).datasetSample),

	"snapshot.create":   typed((*Server).snapshotCreate),
	"snapshot.destroy":  typed((*Server).snapshotDestroy),
	"snapshot.hold":     typed((*Server).snapshotHold),
	"snapshot.release":  typed((*Server).snapshotRelease),
	"snapshot.rename":   typed((*Server).snapshotRename),
	"snapshot.rollback": typed((*Server).snapshotRollback),
	"snapshot.clone":    typed((*Server).snapshotClone),

	"replication.allow": typed((*Server).replicationAllow),

	"snapshot.diff":       typed((*Server).snapshotDiff),
	"snapshot.list-files": typed((*Server).snapshotListFiles),
	"snapshot.read-file":  snapshotReadFile,
}

var errAnswered = errors.New("answered")

func typed[A any](run func(*Server, *http.Request, A) (any, error)) verb {
	return func(s *Server, w http.ResponseWriter, r *http.Request) (any, any, error) {
		var argument A
		if !problem.Decode(w, r, &argument, 256<<10) {
			return nil, nil, errAnswered
		}
		s.audit(r, argument, "asked", nil)
		unlock, err := s.lock(r.Context(), r.PathValue("verb"), argument)
		if err != nil {
			return argument, nil, err
		}
		defer unlock()
		answer, err := run(s, r, argument)
		return argument, answer, err
	}
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	uid, err := unixsocket.RequestPeerUID(r)
	if err != nil || !slices.Contains(s.UIDs, uid) {
		problem.Write(w, http.StatusForbidden, "forbidden", "This socket is for the management plane only.", "")
		return
	}
	run, ok := verbs[r.PathValue("verb")]
	if !ok || r.Method != http.MethodPost {
		problem.Write(w, http.StatusNotFound, "not_found", "There is no such verb.", "The verbs are listed in docs/api/execd.md.")
		return
	}
	argument, answer, err := run(s, w, r)
	switch {
	case errors.Is(err, errAnswered):
	case err != nil:
		var document problem.Document
		if !errors.As(err, &document) {
			document = problem.New(http.StatusInternalServerError, "command_failed", err.Error(), "The machine's log has more; a support bundle collects it.")
		}
		s.audit(r, argument, "failed", err)
		document.Send(w)
	default:
		s.audit(r, argument, "done", nil)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer) // the client has gone: the action is done and audited
	}
}

// Handler is the server with its route.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/{verb}", s)
	return mux
}

// audit appends one JSON line to execd/audit.log and makes it durable: what was asked is known even when carrying it
// out takes the machine down. A secret in an argument is of the type secret, which is written as asterisks.
func (s *Server) audit(r *http.Request, argument any, outcome string, failure error) {
	if slices.Contains(polled, r.PathValue("verb")) {
		return
	}
	uid, _ := unixsocket.RequestPeerUID(r)
	entry := struct {
		Time     time.Time `json:"time"`
		Verb     string    `json:"verb"`
		UID      int       `json:"uid"`
		By       string    `json:"by,omitempty"` // who asked the management plane, in its own words
		Argument any       `json:"argument"`
		Outcome  string    `json:"outcome"`
		Error    string    `json:"error,omitempty"`
	}{time.Now().UTC(), r.PathValue("verb"), uid, r.Header.Get("X-Cistern-User"), argument, outcome, ""}
	if failure != nil {
		entry.Error = failure.Error()
	}
	line, err := json.Marshal(entry)
	if err != nil {
		return
	}
	line = append(line, '\n')
	_, _ = os.Stderr.Write(line)
	f, err := os.OpenFile(filepath.Join(s.State, "execd", "audit.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o640)
	if err != nil {
		return // the journal of the machine has the line; a full disk must not stop a reboot
	}
	defer f.Close()
	if _, err := f.Write(line); err == nil {
		_ = f.Sync()
	}
}
