package execd

// Disks by themselves: emptied, asked how they are, told to test themselves.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

type diskWipeArgument struct {
	Disk    string `json:"disk"`    // /dev/disk/by-id/…
	Confirm string `json:"confirm"` // its name again
}

// diskWipe erases what says that a disk belongs to something, so that it can be used anew. The disk must be in no use;
// its data are not overwritten.
func (s *Server) diskWipe(r *http.Request, a diskWipeArgument) (any, error) {
	ctx := context.WithoutCancel(r.Context())
	if a.Confirm != filepath.Base(a.Disk) {
		return nil, host.Invalid("/confirm", "To erase a disk, repeat its name.")
	}
	device, err := s.Host.CheckDisk(a.Disk, 0)
	if err != nil {
		return nil, err
	}
	return a, s.Host.WipeDisk(ctx, device)
}

type diskArgument struct {
	Disk string `json:"disk"`
}

// diskSmart answers what smartctl says, as smartctl's own JSON: understanding it is the platform driver's business.
func (s *Server) diskSmart(r *http.Request, a diskArgument) (any, error) {
	device, err := s.Host.DiskDevice(a.Disk)
	if err != nil {
		return nil, err
	}
	said, err := command.Run(r.Context(), 20*time.Second, 4<<20, "smartctl", "--json=c", "--all", s.Host.SmartDevice(device))
	// Bits of the exit code say how the disk is; only a text that is no JSON means that nothing was learned.
	var report json.RawMessage
	if parsed := json.Unmarshal(said.Stdout, &report); parsed != nil {
		if failed, ok := err.(*command.Error); ok && failed.Timeout {
			return nil, problem.New(http.StatusGatewayTimeout, "timeout", fmt.Sprintf("The disk %s did not answer within 20 seconds.", filepath.Base(a.Disk)), "A disk that hangs is often about to fail. See whether its pool shows errors.")
		}
		return nil, problem.New(http.StatusBadGateway, "command_failed", fmt.Sprintf("The disk %s could not be asked how it is: %v.", filepath.Base(a.Disk), err), "")
	}
	return report, nil
}

// disksList answers which disks there are, where the management plane may not look at them itself.
func (s *Server) disksList(r *http.Request, _ struct{}) (any, error) {
	disks, err := s.Host.Disks(r.Context())
	if disks == nil {
		disks = []host.Disk{}
	}
	return map[string]any{"disks": disks}, err
}

// faultsList answers what the system's fault manager prints: understanding it is the platform driver's business.
func (s *Server) faultsList(r *http.Request, _ struct{}) (any, error) {
	text, err := s.Host.Faults(r.Context())
	return map[string]string{"text": text}, err
}

type diskLocateArgument struct {
	Disk string `json:"disk"`
	On   bool   `json:"on"`
}

// diskLocate switches the light of the disk's slot, so that a person finds it.
func (s *Server) diskLocate(r *http.Request, a diskLocateArgument) (any, error) {
	device, err := s.Host.DiskDevice(a.Disk)
	if err != nil {
		return nil, err
	}
	err = s.Host.Locate(r.Context(), device, a.On)
	if errors.Is(err, host.ErrNoLight) {
		return nil, problem.New(http.StatusConflict, "conflict", fmt.Sprintf("The slot of %s has no light that this system can switch.", filepath.Base(a.Disk)), "Find the disk by its serial number; it is printed on it.")
	}
	return a, err
}

type diskTestArgument struct {
	Disk string `json:"disk"`
	Kind string `json:"kind"` // short, long, or abort
}

// diskSelfTest starts a test that the disk does by itself; its result is in what disk.smart says.
func (s *Server) diskSelfTest(r *http.Request, a diskTestArgument) (any, error) {
	device, err := s.Host.DiskDevice(a.Disk)
	if err != nil {
		return nil, err
	}
	device = s.Host.SmartDevice(device)
	argv := []string{"smartctl", "--test=" + a.Kind, device}
	switch a.Kind {
	case "short", "long":
	case "abort":
		argv = []string{"smartctl", "--abort", device}
	default:
		return nil, host.Invalid("/kind", "The kind is short, long or abort.")
	}
	_, err = command.Run(r.Context(), 20*time.Second, 64<<10, argv...)
	return a, host.Refused(err, fmt.Sprintf("The self-test of %s", filepath.Base(a.Disk)))
}
