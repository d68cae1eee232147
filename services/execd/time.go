package execd

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"slices"
	"sync"
	"time"

	"cistern/services/execd/host"
	"cistern/services/execd/host/chrony"
)

// Time keeps whom chrony asks for the time as the document says.
type Time struct {
	host  host.Host
	state string
	log   *slog.Logger

	mu     sync.Mutex // also held while chrony is told
	loaded []chrony.Asked
}

// NewTime knows the document of the state folder.
func NewTime(h host.Host, state string, log *slog.Logger) *Time {
	return &Time{host: h, state: state, log: log}
}

// Watch has chrony ask as the document says, also when the network names others than before, or chrony could not be told, until ctx ends.
func (k *Time) Watch(ctx context.Context) {
	if _, origin := chrony.Read(k.state); origin == chrony.Unreadable {
		k.log.Error("the document of the time servers cannot be read: those that the network names are asked, or Debian's", "path", chrony.File(k.state))
	}
	ticker := time.NewTicker(ownEvery)
	defer ticker.Stop()
	said := ""
	for {
		err := k.follow(ctx)
		if err != nil && err.Error() != said && ctx.Err() == nil {
			k.log.Error("chrony cannot be told whom to ask for the time; it is tried again", "error", err)
		}
		said = ""
		if err != nil {
			said = err.Error()
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

func (k *Time) follow(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.load(ctx)
}

// load tells chrony, unless it has been told the same.
func (k *Time) load(ctx context.Context) error {
	document, _ := chrony.Read(k.state)
	asked := document.Asked(k.host.NetworkTimeServers())
	if k.loaded != nil && slices.Equal(k.loaded, asked) {
		return nil
	}
	if err := k.host.LoadTimeServers(ctx, asked); err != nil {
		k.loaded = nil
		return err
	}
	k.loaded = asked
	return nil
}

type timeAnswer struct {
	Document chrony.Document `json:"document"`
	Origin   string          `json:"origin"`
	// Those that are asked by now, and who named them.
	Asked []chrony.Asked `json:"asked"`
	chrony.Status
}

func (k *Time) now(ctx context.Context) (timeAnswer, error) {
	document, origin := chrony.Read(k.state)
	status, err := chrony.ReadStatus(ctx)
	return timeAnswer{document, origin, document.Asked(k.host.NetworkTimeServers()), status}, err
}

func (s *Server) timeRead(r *http.Request, _ empty) (any, error) { return s.Time.now(r.Context()) }

type timeSetArgument struct {
	Document chrony.Document `json:"document"`
}

// timeSet keeps whom the machine asks for the time, and has chrony ask them from now on. On failure all is as it was.
func (s *Server) timeSet(r *http.Request, a timeSetArgument) (any, error) {
	document := a.Document.Normal()
	if path, message := document.Wrong(); path != "" {
		return nil, host.Invalid("/document"+path, message)
	}
	k := s.Time
	k.mu.Lock()
	defer k.mu.Unlock()
	file := chrony.File(k.state)
	before, unknown := os.ReadFile(file)
	if err := writeJSON(file, document); err != nil {
		return nil, err
	}
	ctx := context.WithoutCancel(r.Context())
	if err := k.load(ctx); err != nil {
		// Watch tells chrony of what is kept then.
		if unknown != nil {
			return nil, errors.Join(err, os.Remove(file))
		}
		return nil, errors.Join(err, replaceFile(file, before, 0o600))
	}
	return k.now(ctx)
}
