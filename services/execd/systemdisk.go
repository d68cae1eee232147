package execd

// The disks that the machine starts from. A second one holds copies of the boot loader and the system slots and the
// other side of the system pool's mirror: the machine starts from whichever is left.

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

type systemAttachArgument struct {
	Disk string `json:"disk"` // /dev/disk/by-id/…
}

// systemAttach adds a second system disk. The answer comes when the resilver has begun.
func (s *Server) systemAttach(r *http.Request, a systemAttachArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context()) // a client that goes away does not leave half a disk
	if _, err := s.Host.CheckDisk(a.Disk, minDisk); err != nil {
		return nil, err
	}
	leaves, err := host.SystemLeaves(ctx)
	if err != nil {
		return nil, err
	}
	if len(leaves) > 1 {
		return nil, problem.New(http.StatusConflict, "conflict", "The system pool has two sides already: "+strings.Join(leaves, " and ")+".",
			"Detach the one that is to be replaced first.")
	}
	return map[string]string{"disk": a.Disk}, s.Host.AttachSystemDisk(ctx, a.Disk)
}

type systemDetachArgument struct {
	Device string `json:"device"` // as zpool status names it, or the path of that or of the whole disk
}

// systemDetach takes a side out of the system pool's mirror; the other one is enough to run and to start from. ZFS refuses
// when the other one does not hold everything.
func (s *Server) systemDetach(r *http.Request, a systemDetachArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	leaves, err := host.SystemLeaves(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(leaves, func(leaf string) bool { return s.Host.IsLeaf(leaf, a.Device) })
	if at < 0 {
		return nil, host.Invalid("/device", fmt.Sprintf("'%s' is no side of the system pool; those are %s.", a.Device, strings.Join(leaves, " and ")))
	}
	if len(leaves) == 1 {
		return nil, problem.New(http.StatusConflict, "conflict", "This is the only disk of the system pool.", "Attach another one first.")
	}
	_, err = command.Run(ctx, time.Minute, 64<<10, "zpool", "detach", host.SystemPool, leaves[at])
	return a, err
}
