package execd

// Pools that come and go: export, import, and what could be imported.

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

type poolNameArgument struct {
	Name string `json:"name"`
}

func (a poolNameArgument) pool() string { return a.Name }

// poolExport gives a pool up, whole, so that another machine can take it. The telemetry's pool stops the store.
func (s *Server) poolExport(r *http.Request, a poolNameArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if a.Name == host.SystemPool {
		return nil, problem.New(http.StatusConflict, "conflict", "The appliance itself lives on this pool.", "Switch the appliance off to take its disks out.")
	}
	if err := mustExist(ctx, a.Name); err != nil {
		return nil, err
	}
	stopped, err := s.stopStore(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if _, err = s.away(ctx, a.Name); err == nil {
		err = zpool(ctx, fmt.Sprintf("Exporting the pool '%s'", a.Name), "export", a.Name)
	}
	if err == nil {
		return a, s.rememberPool(a.Name, false)
	}
	// It stays: so does what lives on it.
	_ = s.Host.MountPools(ctx)
	if stopped {
		_ = s.Host.Service(ctx, "storaged", "start")
	}
	return nil, err
}

// stopStore stops storaged when the telemetry is on the pool, and says whether it was.
func (s *Server) stopStore(ctx context.Context, pool string) (bool, error) {
	exists, dataset := telemetryDataset(ctx)
	if !exists || !strings.HasPrefix(dataset, pool+"/") {
		return false, nil
	}
	return true, s.Host.Service(ctx, "storaged", "stop")
}

type importableAnswer struct {
	// What "zpool import" lists. Reading it is the platform driver's business, as of all that ZFS prints.
	Listing string `json:"listing"`
}

// poolImportable looks at all disks for pools that are not imported; it changes nothing.
func (s *Server) poolImportable(r *http.Request, _ empty) (any, error) {
	unlock, err := s.wait(r.Context(), looking)
	if err != nil {
		return nil, err
	}
	defer unlock()
	argv := append([]string{"zpool", "import"}, s.Host.ImportOptions()...)
	said, err := command.Run(r.Context(), time.Minute, 1<<20, argv...)
	if failed, ok := err.(*command.Error); ok && failed.Code > 0 && strings.Contains(failed.Said, "no pools available") {
		return importableAnswer{}, nil
	}
	return importableAnswer{string(said.Stdout)}, host.Refused(err, "Looking for pools")
}

var poolGUID = regexp.MustCompile(`^[0-9]{1,20}$`)

type poolImportArgument struct {
	GUID string `json:"guid"`
	Name string `json:"name"` // what it is to be called here
	// Take it though another machine has not given it up. Two machines that write to one pool destroy it.
	Force bool `json:"force"`
}

func (a poolImportArgument) wholePool() string { return a.Name }

// poolImport takes a pool over. It is found again at the next boot.
func (s *Server) poolImport(r *http.Request, a poolImportArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if !poolGUID.MatchString(a.GUID) {
		return nil, host.Invalid("/guid", "A pool is named by its number, as the list of importable pools has it.")
	}
	if !anyPool.MatchString(a.Name) || reservedPool.MatchString(a.Name) {
		return nil, host.Invalid("/name", "This cannot be a pool's name here: it is ZFS' own word, or the system pool's.")
	}
	if poolExists(ctx, a.Name) {
		return nil, problem.New(http.StatusConflict, "pool_exists", fmt.Sprintf("There is a pool '%s' already.", a.Name), "Import it under another name.")
	}
	argv := append([]string{"import", "-N", "-o", "cachefile=none"}, s.Host.ImportOptions()...)
	if a.Force {
		argv = append(argv, "-f")
	}
	argv = append(argv, a.GUID, a.Name)
	what := fmt.Sprintf("Importing the pool '%s'", a.Name)
	unlock, err := s.wait(r.Context(), looking)
	if err != nil {
		return nil, err
	}
	err = zpool(ctx, what, argv...)
	if err != nil && strings.Contains(err.Error(), "no such pool available") {
		// The names of its disks are made anew just now, as they are after an export: it is there a moment later.
		s.Host.SettleDevices(ctx)
		err = zpool(ctx, what, argv...)
	}
	unlock()
	if err != nil {
		return nil, err
	}
	if err := s.rememberPool(a.Name, true); err != nil {
		return nil, err
	}
	hidden, err := s.keepFromHiding(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if err := s.Host.MountPools(ctx); err != nil {
		return nil, err
	}
	answer := importAnswer{a.Name, hidden}
	if exists, dataset := telemetryDataset(ctx); exists && strings.HasPrefix(dataset, a.Name+"/") && s.Host.Mounted(TelemetryMount) {
		return answer, s.Host.Service(ctx, "storaged", "start")
	}
	return answer, nil
}

type importAnswer struct {
	Pool string `json:"pool"`
	// File systems whose mount point was taken away (none), because something else is there.
	NotMounted []string `json:"notMounted"`
}

// keepFromHiding sees to it that a pool from elsewhere mounts nothing over what is here: another Cistern's telemetry over
// ours, or whatever else has files in the same place, which ZFS would do without a word (overlay=on); nor anything elsewhere than below
// /srv.
func (s *Server) keepFromHiding(ctx context.Context, pool string) ([]string, error) {
	listing, err := command.Run(ctx, time.Minute, 8<<20, "zfs", "list", "-H", "-r", "-t", "filesystem", "-o", "name,mountpoint,mounted", pool)
	if err != nil {
		return nil, host.Refused(err, fmt.Sprintf("Looking where '%s' wants to be mounted", pool))
	}
	hidden := []string{}
	for line := range strings.Lines(string(listing.Stdout)) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 3 || !strings.HasPrefix(f[1], "/") || f[2] == "yes" || isPlace(f[1]) && !s.hides(f[1]) {
			continue
		}
		if _, err := command.Run(ctx, time.Minute, 64<<10, "zfs", "set", "mountpoint=none", f[0]); err != nil {
			return nil, host.Refused(err, fmt.Sprintf("Keeping '%s' from hiding %s", f[0], f[1]))
		}
		hidden = append(hidden, f[0])
	}
	return hidden, nil
}

// hides says whether something mounted at path would hide what is there.
func (s *Server) hides(path string) bool {
	if s.Host.Mounted(path) {
		return true
	}
	entries, err := os.ReadDir(path)
	return len(entries) > 0 || err != nil && !errors.Is(err, os.ErrNotExist)
}

type poolClearArgument struct {
	Pool   string `json:"pool"`
	Device string `json:"device"` // only this one; all when empty
}

func (a poolClearArgument) pool() string { return a.Pool }

// poolClear forgets the errors that were counted, and lets a suspended pool go on.
func (s *Server) poolClear(r *http.Request, a poolClearArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := mustExist(ctx, a.Pool); err != nil {
		return nil, err
	}
	argv := []string{"clear", a.Pool}
	if a.Device != "" {
		if err := mustBeDevice("/device", a.Device); err != nil {
			return nil, err
		}
		argv = append(argv, a.Device)
	}
	return a, zpool(ctx, fmt.Sprintf("Clearing the pool '%s'", a.Pool), argv...)
}

type poolSetArgument struct {
	Pool     string `json:"pool"`
	Property string `json:"property"`
	Value    string `json:"value"`
}

func (a poolSetArgument) pool() string { return a.Pool }

var poolComment = regexp.MustCompile(`^[\x20-\x7e]{0,32}$`)

func (s *Server) poolSet(r *http.Request, a poolSetArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := mustExist(ctx, a.Pool); err != nil {
		return nil, err
	}
	switch a.Property {
	case "autoexpand", "autotrim":
		if a.Value != "on" && a.Value != "off" {
			return nil, host.Invalid("/value", a.Property+" is on or off.")
		}
	case "comment":
		if !poolComment.MatchString(a.Value) {
			return nil, host.Invalid("/value", "A comment is at most 32 printable ASCII characters.")
		}
	default:
		return nil, host.Invalid("/property", "What can be set is autoexpand, autotrim and comment.")
	}
	return a, zpool(ctx, fmt.Sprintf("Setting %s of the pool '%s'", a.Property, a.Pool), "set", a.Property+"="+a.Value, a.Pool)
}

// poolUpgrade enables the features that this system knows; an older one cannot read the pool afterwards.
func (s *Server) poolUpgrade(r *http.Request, a poolNameArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := mustExist(ctx, a.Name); err != nil {
		return nil, err
	}
	if a.Name == host.SystemPool {
		return nil, problem.New(http.StatusConflict, "conflict", "The system pool keeps its features: the other system slot must be able to read it.", "")
	}
	return a, zpool(ctx, fmt.Sprintf("Upgrading the pool '%s'", a.Name), "upgrade", a.Name)
}
