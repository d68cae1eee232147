package execd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"

	"cistern/services/execd/host"
	"cistern/services/execd/host/tunables"
)

// Tunables keeps how the operating system is tuned as the document says.
type Tunables struct {
	host  host.Host
	state string
	log   *slog.Logger

	mu     sync.Mutex // also held while the system is told
	told   bool
	before startValues
}

// startValues are what the system had when it started, which is what taking a change back leads to.
type startValues struct {
	BootID string           `json:"bootId"`
	Values map[string]int64 `json:"values"`
}

// NewTunables knows the document of the state folder.
func NewTunables(h host.Host, state string, log *slog.Logger) *Tunables {
	return &Tunables{host: h, state: state, log: log}
}

func (t *Tunables) file(name string) string {
	return filepath.Join(filepath.Dir(tunables.File(t.state)), name)
}

// Watch has the system be as the document says, and tries again what did not succeed, until ctx ends.
func (t *Tunables) Watch(ctx context.Context) {
	if _, origin := tunables.Read(t.state); origin == tunables.Unreadable {
		t.log.Error("the document of the tunables cannot be read: everything is as the system has it", "path", tunables.File(t.state))
	}
	said := ""
	follow := func(ctx context.Context) {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.told {
			return
		}
		document, _ := tunables.Read(t.state)
		err := t.load(ctx, document)
		if err != nil && err.Error() != said && ctx.Err() == nil {
			said = err.Error()
			t.log.Error("the system cannot be tuned; it is tried again", "error", err)
		}
	}
	follow(ctx)
	every(ctx, ownEvery, follow)
}

// atStart are the values of the start of the system. An execd that begins before anything was tuned notes them.
func (t *Tunables) atStart(ctx context.Context) (map[string]int64, error) {
	boot, err := t.host.BootID()
	if err != nil {
		return nil, err
	}
	if t.before.BootID == boot {
		return t.before.Values, nil
	}
	var noted startValues
	if text, err := os.ReadFile(t.file("start.json")); err == nil && json.Unmarshal(text, &noted) == nil && noted.BootID == boot {
		t.before = noted
		return noted.Values, nil
	}
	now, err := t.host.ReadTunables(ctx)
	if err != nil {
		return nil, err
	}
	noted = startValues{boot, now}
	if err := writeJSON(t.file("start.json"), noted); err != nil {
		return nil, err
	}
	t.before = noted
	return now, nil
}

func (t *Tunables) load(ctx context.Context, d tunables.Document) error {
	t.told = false
	defaults := map[string]int64{}
	if _, atStart := t.host.Tunables(); !atStart {
		var err error
		if defaults, err = t.atStart(ctx); err != nil {
			return err
		}
	}
	if err := t.host.LoadTunables(ctx, d.Values, defaults); err != nil {
		return err
	}
	t.told = true
	return nil
}

type tunableNow struct {
	Name string `json:"name"`
	tunables.Bounds
	// Set is what the document says; nil: nothing.
	Set *int64 `json:"set"`
	// Now holds; nil: the system does not say.
	Now *int64 `json:"now"`
	// Default is what the system had when it started; nil: it decides by itself.
	Default *int64 `json:"default"`
}

type tunablesAnswer struct {
	Origin string `json:"origin"`
	// AtStart: what is set holds from the next start of the system on.
	AtStart  bool         `json:"atStart"`
	Tunables []tunableNow `json:"tunables"`
}

func (t *Tunables) now(ctx context.Context) (any, error) {
	document, origin := tunables.Read(t.state)
	names, atStart := t.host.Tunables()
	memory, err := t.host.Memory()
	if err != nil {
		return nil, err
	}
	now, err := t.host.ReadTunables(ctx)
	if err != nil {
		return nil, err
	}
	defaults := map[string]int64{}
	if !atStart {
		if defaults, err = t.atStart(ctx); err != nil {
			return nil, err
		}
	}
	number := func(in map[string]int64, name string) *int64 {
		if value, ok := in[name]; ok {
			return &value
		}
		return nil
	}
	a := tunablesAnswer{Origin: origin, AtStart: atStart, Tunables: []tunableNow{}}
	bounds := tunables.Of(memory)
	for _, name := range names {
		one := tunableNow{Name: name, Bounds: bounds[name], Set: number(document.Values, name), Now: number(now, name), Default: number(defaults, name)}
		if one.Now == nil && !atStart {
			one.Now = one.Set // nothing but the document says it
		}
		a.Tunables = append(a.Tunables, one)
	}
	return a, nil
}

func (s *Server) tunablesRead(r *http.Request, _ empty) (any, error) {
	t := s.Tunables
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.now(r.Context())
}

type tunablesSetArgument struct {
	Document tunables.Document `json:"document"`
}

// tunablesSet keeps how the system is tuned, and tunes it. On failure all is as it was.
func (s *Server) tunablesSet(r *http.Request, a tunablesSetArgument) (any, error) {
	t := s.Tunables
	memory, err := t.host.Memory()
	if err != nil {
		return nil, err
	}
	names, _ := t.host.Tunables()
	if path, message := a.Document.Wrong(memory, names); path != "" {
		return nil, host.Invalid("/document"+path, message)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	ctx := context.WithoutCancel(r.Context())
	before, origin := tunables.Read(t.state)
	if err := writeJSON(tunables.File(t.state), a.Document); err != nil {
		return nil, err
	}
	if err := t.load(ctx, a.Document); err != nil {
		err = errors.Join(err, t.load(ctx, before))
		if origin == tunables.Unset {
			return nil, errors.Join(err, os.Remove(tunables.File(t.state)))
		}
		return nil, errors.Join(err, writeJSON(tunables.File(t.state), before))
	}
	return t.now(ctx)
}
