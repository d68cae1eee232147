package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// minDisk is the smallest disk that a pool is made on: ZFS itself takes 64 MiB, but a mirror of less than 1 GiB is
// a typing mistake on any machine that stores telemetry.
const minDisk = 1 << 30

// TelemetryMount is where the telemetry dataset is mounted, on whichever pool it lies.
const TelemetryMount = "/srv/telemetry"

type vdevArgument struct {
	Type  string   `json:"type"`
	Disks []string `json:"disks"`
}

type poolCreateArgument struct {
	Name   string         `json:"name"`
	Vdevs  []vdevArgument `json:"vdevs"`
	Beside []struct {
		Kind  string         `json:"kind"` // spare, log, cache, special
		Vdevs []vdevArgument `json:"vdevs"`
	} `json:"beside"`
	Compression string `json:"compression"`
	Ashift      int    `json:"ashift"`
}

func (a poolCreateArgument) wholePool() string { return a.Name }

var (
	poolName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)
	// Names that zpool create would take for something else, or that are ours.
	reservedPool = regexp.MustCompile(`^(mirror|raidz|draid|spare|log|cache|special|dedup|system$|c[0-9])`)
	fewestDisks  = map[string]int{"stripe": 1, "mirror": 2, "raidz1": 3, "raidz2": 4, "raidz3": 5}
	compressions = []string{"off", "lz4", "zstd", "gzip", "lzjb", "zle"}
)

// poolCreate makes a pool. When it fails, no pool of that name is left, and no disk was written to before all of them
// had been checked.
func (s *Server) poolCreate(r *http.Request, a poolCreateArgument) (any, error) {
	if !poolName.MatchString(a.Name) || reservedPool.MatchString(a.Name) {
		return nil, host.Invalid("/name", "A pool's name is 1 to 32 lower-case letters, digits, - or _, begins with a letter, and is not a word of ZFS' own (mirror, raidz, spare, log, system …).")
	}
	if a.Compression == "" {
		a.Compression = "lz4"
	}
	compressions := slices.DeleteFunc(slices.Clone(compressions), func(name string) bool { return lacking(s.Host.ZFS(), "compression", name) != "" })
	if !slices.Contains(compressions, a.Compression) {
		return nil, host.Invalid("/compression", "Compression is one of "+strings.Join(compressions, ", ")+".")
	}
	if a.Ashift == 0 {
		a.Ashift = 12
	}
	if a.Ashift < 9 || a.Ashift > 16 {
		return nil, host.Invalid("/ashift", "ashift is 9 to 16; 12 (4 KiB) fits nearly every disk.")
	}
	ctx := context.WithoutCancel(r.Context()) // a client that goes away does not leave half a pool
	argv := []string{"zpool", "create", "-o", fmt.Sprintf("ashift=%d", a.Ashift), "-o", "cachefile=none",
		"-O", "compression=" + a.Compression, "-O", "atime=off", "-O", "canmount=off", "-O", "mountpoint=none"}
	argv = append(argv, s.Host.PoolOptions()...)
	argv = append(argv, a.Name)
	seen := map[string]string{}
	vdevs, err := s.vdevArguments("/vdevs", a.Vdevs, seen)
	if err != nil {
		return nil, err
	}
	argv = append(argv, vdevs...)
	for i, beside := range a.Beside {
		if beside.Kind == "data" || !slices.Contains(vdevKinds, beside.Kind) {
			return nil, host.Invalid(fmt.Sprintf("/beside/%d/kind", i), "Beside its data a pool has "+strings.Join(vdevKinds[1:], ", ")+".")
		}
		vdevs, err := s.vdevArguments(fmt.Sprintf("/beside/%d/vdevs", i), beside.Vdevs, seen)
		if err != nil {
			return nil, err
		}
		argv = append(append(argv, beside.Kind), vdevs...)
	}
	if poolExists(ctx, a.Name) {
		return nil, problem.New(http.StatusConflict, "pool_exists", fmt.Sprintf("There is a pool '%s' already.", a.Name), "Choose another name.")
	}
	// The name is written down first: a pool that is made and then forgotten by a crash would be missing at boot,
	// a name without a pool is only a line in the log.
	if err := s.rememberPool(a.Name, true); err != nil {
		return nil, err
	}
	if err := s.partitioning(ctx, argv...); err != nil {
		if poolExists(ctx, a.Name) { // stopped at its deadline, half-way
			_, _ = command.Run(ctx, time.Minute, 64<<10, "zpool", "destroy", "-f", a.Name)
		}
		_ = s.rememberPool(a.Name, false)
		return nil, createFailure(a, err)
	}
	return map[string]string{"pool": a.Name}, nil
}

// What zpool says when it has made partitions, and on a busy machine their names came later than it waits for them.
var partitionsLate = regexp.MustCompile(`currently unavailable|no such pool or dataset|failed to detect device partitions`)

// partitioning runs a command of zpool that takes whole disks, which changes the pool wholly or not at all: a second time, when its
// partitions were late.
func (s *Server) partitioning(ctx context.Context, argv ...string) error {
	_, err := command.Run(ctx, 3*time.Minute, 64<<10, argv...)
	if failed := (*command.Error)(nil); errors.As(err, &failed) && partitionsLate.MatchString(failed.Said) {
		s.Host.SettleDevices(ctx)
		_, err = command.Run(ctx, 3*time.Minute, 64<<10, argv...)
	}
	return err
}

// What zpool says of a disk that it does not take: of OpenZFS (zpool_vdev.c) and illumos (also libdiskmgt's entry.c).
var (
	diskHoldsSomething = regexp.MustCompile(`contains a|is part of|in use and`)
	diskInUse          = regexp.MustCompile(`in use|is currently (used by|mounted on)|is normally mounted on|is reserved as a hot spare`)
	diskMissing        = regexp.MustCompile(`no such device|cannot resolve path|cannot open '[^']*': No such file or directory`)
	// Only a warning: it could not look. The line's end is a semicolon in a command.Error.
	notChecked = regexp.MustCompile(`warning: device in use checking failed: [^;]*`)
)

// createFailure puts a name to the disk that zpool create refused.
func createFailure(a poolCreateArgument, err error) error {
	var failed *command.Error
	if !errors.As(err, &failed) {
		return err
	}
	said := notChecked.ReplaceAllString(failed.Said, "")
	all := slices.Clone(a.Vdevs)
	for _, beside := range a.Beside {
		all = append(all, beside.Vdevs...)
	}
	for _, v := range all {
		for _, disk := range v.Disks {
			name := filepath.Base(disk)
			switch {
			case !strings.Contains(said, name) && len(all)*len(v.Disks) > 1:
			case diskHoldsSomething.MatchString(said):
				return problem.New(http.StatusConflict, "disk_in_use", fmt.Sprintf("The disk %s holds something already, and was not touched. ZFS says: %s", name, failed.Said),
					"If nothing on it is needed, erase it first; otherwise choose another disk.")
			case diskInUse.MatchString(said):
				return problem.New(http.StatusConflict, "disk_in_use", fmt.Sprintf("The disk %s is in use, and was not touched. ZFS says: %s", name, failed.Said), "Choose another disk, or end that use first.")
			case diskMissing.MatchString(said):
				return problem.New(http.StatusConflict, "disk_missing", fmt.Sprintf("The disk %s has gone. ZFS says: %s", name, failed.Said), "Plug it in again, or choose another one.")
			}
		}
	}
	return problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The pool '%s' could not be made: %v. Nothing of it was left behind.", a.Name, err), "Check the disks it names, and try again.")
}

type poolDestroyArgument struct {
	Name    string `json:"name"`
	Confirm string `json:"confirm"`
}

func (a poolDestroyArgument) wholePool() string { return a.Name }

func (s *Server) poolDestroy(r *http.Request, a poolDestroyArgument) (any, error) {
	if !anyPool.MatchString(a.Name) || a.Name == host.SystemPool {
		return nil, host.Invalid("/name", "This pool cannot be destroyed: it is the system's own, or no pool's name.")
	}
	if a.Confirm != a.Name {
		return nil, host.Invalid("/confirm", "To destroy a pool, repeat its name.")
	}
	ctx := context.WithoutCancel(r.Context())
	if !poolExists(ctx, a.Name) {
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("There is no pool '%s'.", a.Name), "")
	}
	stopped, err := s.stopStore(ctx, a.Name)
	if err != nil {
		return nil, err
	}
	if _, err = s.away(ctx, a.Name); err == nil {
		err = zpool(ctx, fmt.Sprintf("Destroying the pool '%s'", a.Name), "destroy", a.Name)
	}
	if err == nil {
		return map[string]string{"pool": a.Name}, s.rememberPool(a.Name, false)
	}
	_ = s.Host.MountPools(ctx)
	if stopped {
		_ = s.Host.Service(ctx, "storaged", "start")
	}
	return nil, err
}

type telemetryPlaceArgument struct {
	Pool string `json:"pool"`
}

// telemetryPlace makes the telemetry dataset on a pool and starts storaged on it. Calling it again is harmless.
func (s *Server) telemetryPlace(r *http.Request, a telemetryPlaceArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if !poolName.MatchString(a.Pool) || !poolExists(ctx, a.Pool) {
		return nil, problem.New(http.StatusNotFound, "not_found", fmt.Sprintf("There is no pool '%s'.", a.Pool), "Make the pool first.")
	}
	dataset := a.Pool + "/telemetry"
	switch exists, other := telemetryDataset(ctx); {
	case exists && other != dataset:
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The telemetry is on '%s' already.", other), "Moving it to another pool is not possible yet.")
	case !exists:
		if err := s.unmounted(ctx, "create", "-o", "mountpoint="+TelemetryMount, dataset); err != nil && !madeAllTheSame(err) {
			return nil, zfsFailure(err, fmt.Sprintf("The dataset '%s' was not made", dataset))
		}
	}
	if err := s.Host.MountPools(ctx); err != nil {
		return nil, err
	}
	if !s.Host.Mounted(TelemetryMount) {
		return nil, problem.New(http.StatusInternalServerError, "command_failed", fmt.Sprintf("The dataset %s exists but was not mounted at %s.", dataset, TelemetryMount), "See the log of the service cistern-pools.")
	}
	if err := s.Host.Service(ctx, "storaged", "start"); err != nil {
		return nil, err
	}
	return map[string]string{"dataset": dataset}, nil
}

func poolExists(ctx context.Context, name string) bool {
	_, err := command.Run(ctx, 20*time.Second, 4096, "zpool", "list", "-H", "-o", "name", name)
	return err == nil
}

// telemetryDataset is the dataset whose mountpoint is TelemetryMount, wherever it lies.
func telemetryDataset(ctx context.Context) (exists bool, name string) {
	r, err := command.Run(ctx, 20*time.Second, 1<<20, "zfs", "list", "-H", "-o", "name,mountpoint", "-t", "filesystem")
	if err != nil {
		return false, ""
	}
	for line := range strings.Lines(string(r.Stdout)) {
		if fields := strings.Split(strings.TrimSpace(line), "\t"); len(fields) == 2 && fields[1] == TelemetryMount {
			return true, fields[0]
		}
	}
	return false, ""
}

// remembered are the names of the data pools that the machine imports at boot, and the file that keeps them, one a line.
func (s *Server) remembered() (names []string, path string, err error) {
	path = filepath.Join(s.State, "execd", "pools")
	text, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, path, err
	}
	return strings.Fields(string(text)), path, nil
}

// poolRemembered answers which data pools are meant to be there: one of them that is not was lost, or not imported.
func (s *Server) poolRemembered(*http.Request, empty) (any, error) {
	names, _, err := s.remembered()
	if names == nil {
		names = []string{}
	}
	return map[string][]string{"pools": names}, err
}

func (s *Server) rememberPool(name string, there bool) error {
	names, path, err := s.remembered()
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return n == name })
	if there {
		names = append(names, name)
	}
	return replaceFile(path, []byte(strings.Join(append(names, ""), "\n")), 0o644)
}
