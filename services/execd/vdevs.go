package execd

// The devices of a pool that exists: added, taken out, replaced, switched off and on.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
)

type vdevAddArgument struct {
	Pool  string         `json:"pool"`
	Kind  string         `json:"kind"` // data, spare, log, cache, special
	Vdevs []vdevArgument `json:"vdevs"`
}

func (a vdevAddArgument) pool() string { return a.Pool }

// vdevAdd adds vdevs. zpool's own check that they are as redundant as the others is never switched off.
func (s *Server) vdevAdd(r *http.Request, a vdevAddArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := mustExist(ctx, a.Pool); err != nil {
		return nil, err
	}
	if !slices.Contains(vdevKinds, a.Kind) {
		return nil, host.Invalid("/kind", "What is added is one of "+strings.Join(vdevKinds, ", ")+".")
	}
	argv := []string{"zpool", "add", a.Pool}
	if a.Kind != "data" {
		argv = append(argv, a.Kind)
	}
	vdevs, err := s.vdevArguments("/vdevs", a.Vdevs, map[string]string{})
	if err != nil {
		return nil, err
	}
	return a, host.Refused(s.partitioning(ctx, append(argv, vdevs...)...), fmt.Sprintf("Adding to the pool '%s'", a.Pool))
}

var vdevKinds = []string{"data", "spare", "log", "cache", "special"}

// vdevArguments are the words for zpool create and add; every disk is checked first, and none may be there twice:
// seen has those of the same command so far, by their devices.
func (s *Server) vdevArguments(path string, vdevs []vdevArgument, seen map[string]string) ([]string, error) {
	var words []string
	if len(vdevs) == 0 {
		return nil, host.Invalid(path, "There must be at least one vdev.")
	}
	for i, v := range vdevs {
		fewest, ok := fewestDisks[v.Type]
		if !ok {
			return nil, host.Invalid(fmt.Sprintf("%s/%d/type", path, i), "A vdev is a stripe, mirror, raidz1, raidz2 or raidz3.")
		}
		if len(v.Disks) < fewest {
			return nil, host.Invalid(fmt.Sprintf("%s/%d/disks", path, i), fmt.Sprintf("A %s needs at least %d disks; %d given.", v.Type, fewest, len(v.Disks)))
		}
		if v.Type != "stripe" {
			words = append(words, v.Type)
		}
		for _, disk := range v.Disks {
			device, err := s.Host.CheckDisk(disk, minDisk)
			if err != nil {
				return nil, err
			}
			if other, twice := seen[device]; twice {
				return nil, host.Invalid(fmt.Sprintf("%s/%d/disks", path, i), fmt.Sprintf("%s and %s are the same disk.", other, disk))
			}
			seen[device] = disk
			words = append(words, disk)
		}
	}
	return words, nil
}

type vdevArgumentOne struct {
	Pool   string `json:"pool"`
	Device string `json:"device"` // as zpool status -P names it
}

func (a vdevArgumentOne) pool() string { return a.Pool }

func (a vdevArgumentOne) check(ctx context.Context) error {
	if err := mustExist(ctx, a.Pool); err != nil {
		return err
	}
	return mustBeDevice("/device", a.Device)
}

type vdevRemoveArgument struct {
	Pool string `json:"pool"`
	Vdev string `json:"vdev"` // a device, or a group such as mirror-1
}

func (a vdevRemoveArgument) pool() string { return a.Pool }

// vdevRemove takes a spare, log, cache or whole data vdev out; of the latter ZFS moves the data first.
func (s *Server) vdevRemove(r *http.Request, a vdevRemoveArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := mustExist(ctx, a.Pool); err != nil {
		return nil, err
	}
	if !anyGroup.MatchString(a.Vdev) {
		if err := mustBeDevice("/vdev", a.Vdev); err != nil {
			return nil, err
		}
	}
	return a, zpool(ctx, fmt.Sprintf("Removing %s from the pool '%s'", a.Vdev, a.Pool), "remove", a.Pool, a.Vdev)
}

type vdevAttachArgument struct {
	Pool   string `json:"pool"`
	Device string `json:"device"` // the side that is there
	Disk   string `json:"disk"`   // /dev/disk/by-id/…
}

func (a vdevAttachArgument) pool() string { return a.Pool }

// vdevAttach makes a mirror of a disk, or gives a mirror one more side; the resilver has begun when it answers.
func (s *Server) vdevAttach(r *http.Request, a vdevAttachArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := (vdevArgumentOne{a.Pool, a.Device}).check(ctx); err != nil {
		return nil, err
	}
	if a.Pool == host.SystemPool {
		return nil, problem.New(http.StatusConflict, "conflict", "A side of the system pool must be able to start the machine.", "Use system.attach.")
	}
	if _, err := s.Host.CheckDisk(a.Disk, minDisk); err != nil {
		return nil, err
	}
	err := s.partitioning(ctx, "zpool", "attach", a.Pool, a.Device, a.Disk)
	return a, host.Refused(err, fmt.Sprintf("Attaching a disk to the pool '%s'", a.Pool))
}

func (s *Server) vdevDetach(r *http.Request, a vdevArgumentOne) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := a.check(ctx); err != nil {
		return nil, err
	}
	return a, zpool(ctx, fmt.Sprintf("Detaching %s from the pool '%s'", a.Device, a.Pool), "detach", a.Pool, a.Device)
}

type vdevReplaceArgument struct {
	Pool   string `json:"pool"`
	Device string `json:"device"` // the old one: its path, or its guid when it is gone
	Disk   string `json:"disk"`   // /dev/disk/by-id/…; may be the old one's own name, when a new disk has taken its place
}

func (a vdevReplaceArgument) pool() string { return a.Pool }

// vdevReplace puts a new disk in an old one's place; the resilver has begun when it answers.
func (s *Server) vdevReplace(r *http.Request, a vdevReplaceArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := (vdevArgumentOne{a.Pool, a.Device}).check(ctx); err != nil {
		return nil, err
	}
	if a.Pool == host.SystemPool {
		return nil, problem.New(http.StatusConflict, "conflict", "A disk of the system pool must be able to start the machine.", "Attach the new disk as a system disk, then detach the old one.")
	}
	if _, err := s.Host.CheckDisk(a.Disk, minDisk); err != nil {
		return nil, err
	}
	err := s.partitioning(ctx, "zpool", "replace", a.Pool, a.Device, a.Disk)
	return a, host.Refused(err, fmt.Sprintf("Replacing %s in the pool '%s'", a.Device, a.Pool))
}

type vdevStateArgument struct {
	Pool      string `json:"pool"`
	Device    string `json:"device"`
	Action    string `json:"action"`    // online, offline
	Temporary bool   `json:"temporary"` // offline until the next import
	Expand    bool   `json:"expand"`    // online, and use all of a disk that has grown
}

func (a vdevStateArgument) pool() string { return a.Pool }

// vdevState takes a device out of use for a while, or into it again. ZFS refuses the last copy.
func (s *Server) vdevState(r *http.Request, a vdevStateArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if err := (vdevArgumentOne{a.Pool, a.Device}).check(ctx); err != nil {
		return nil, err
	}
	var argv []string
	switch {
	case a.Action == "online" && a.Expand:
		argv = []string{"online", "-e"}
	case a.Action == "online":
		argv = []string{"online"}
	case a.Action == "offline" && a.Temporary:
		argv = []string{"offline", "-t"}
	case a.Action == "offline":
		argv = []string{"offline"}
	default:
		return nil, host.Invalid("/action", "The action is online or offline.")
	}
	return a, zpool(ctx, fmt.Sprintf("Taking %s %s", a.Device, a.Action), append(argv, a.Pool, a.Device)...)
}
