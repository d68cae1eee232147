//go:build linux

// Package linux is the Debian appliance: systemd, /sys, OpenZFS.
package linux

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// Host is a machine with it.
type Host struct {
	// SystemDisk is the kernel's name of the disk that the machine runs from, such as sda.
	SystemDisk string
}

// New reads which disk the machine runs from; the initramfs left that in /run/cistern-root/disk.
func New() (host.Host, error) {
	disk, err := os.ReadFile("/run/cistern-root/disk")
	if err != nil {
		return nil, fmt.Errorf("which disk this machine runs from is not known, so none can be kept from a pool: %w", err)
	}
	return &Host{SystemDisk: strings.TrimSpace(string(disk))}, nil
}

const byID = "/dev/disk/by-id/"

func (l *Host) DiskDevice(path string) (string, error) {
	name := strings.TrimPrefix(path, byID)
	if name == path || name == "" || strings.Contains(name, "/") || strings.HasPrefix(name, ".") {
		return "", host.Invalid("/disk", fmt.Sprintf("'%s' is not a disk's stable name (%sNAME).", path, byID))
	}
	device, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", problem.New(http.StatusConflict, "disk_missing", fmt.Sprintf("The disk %s is not there.", name), "It was removed or has failed. Plug it in again, or choose another one.")
	}
	if !strings.HasPrefix(device, "/dev/") {
		return "", host.Invalid("/disk", fmt.Sprintf("'%s' is no device.", name))
	}
	return device, nil
}

// SmartDevice implements Host.
func (l *Host) SmartDevice(device string) string { return device }

// IsLeaf implements Host: zpool -P prints the paths that zpool status -P does.
func (l *Host) IsLeaf(leaf, device string) bool { return leaf == device }

// Disks implements Host: lsblk tells everybody.
func (l *Host) Disks(context.Context) ([]host.Disk, error) { return nil, nil }

func (l *Host) CheckDisk(path string, min int64) (string, error) {
	device, err := l.DiskDevice(path)
	if err != nil {
		return "", err
	}
	name := filepath.Base(path)
	kernel := filepath.Base(device)
	sys := filepath.Join("/sys/class/block", kernel)
	if _, err := os.Stat(filepath.Join(sys, "partition")); err == nil {
		return "", host.Invalid("/vdevs", fmt.Sprintf("'%s' is a partition; a pool is made of whole disks.", name))
	}
	if kernel == l.SystemDisk {
		return "", problem.New(http.StatusConflict, "disk_in_use", fmt.Sprintf("The disk %s is the one this appliance runs from.", name), "Choose another disk.")
	}
	sectors, err := os.ReadFile(filepath.Join(sys, "size"))
	if err != nil {
		return "", problem.New(http.StatusConflict, "disk_missing", fmt.Sprintf("The disk %s went away while it was being looked at.", name), "Plug it in again, or choose another one.")
	}
	if n, _ := strconv.ParseInt(strings.TrimSpace(string(sectors)), 10, 64); n*512 < min {
		return "", problem.New(http.StatusConflict, "disk_too_small", fmt.Sprintf("The disk %s holds %d MiB; a pool's disk holds at least %d MiB.", name, n*512>>20, min>>20), "Choose a larger disk.")
	}
	// O_EXCL on a block device: refused while it is mounted or in a pool that is imported.
	f, err := os.OpenFile(device, os.O_RDWR|syscall.O_EXCL, 0)
	if errors.Is(err, syscall.EBUSY) {
		return "", problem.New(http.StatusConflict, "disk_in_use", fmt.Sprintf("The disk %s is in use: it is mounted, or part of a pool.", name), "Choose another disk.")
	}
	if err != nil {
		return "", problem.New(http.StatusConflict, "disk_missing", fmt.Sprintf("The disk %s does not open: %v.", name, err), "It may have failed. Choose another disk.")
	}
	return device, f.Close()
}

func (l *Host) WipeDisk(ctx context.Context, device string) error {
	// A pool's labels lie at both ends of its partition: erased one by one, or the next pool's disk would still show the
	// old pool as importable.
	parts, err := filepath.Glob(filepath.Join("/sys/class/block", filepath.Base(device), "*", "partition"))
	if err != nil {
		return err
	}
	for _, part := range parts {
		node := "/dev/" + filepath.Base(filepath.Dir(part))
		_, _ = command.Run(ctx, time.Minute, 64<<10, "zpool", "labelclear", "-f", node) // it may hold something else
		if _, err := command.Run(ctx, time.Minute, 64<<10, "wipefs", "--all", "--force", node); err != nil {
			return host.Refused(err, "Erasing "+node)
		}
	}
	_, _ = command.Run(ctx, time.Minute, 64<<10, "zpool", "labelclear", "-f", device)
	if _, err := command.Run(ctx, time.Minute, 64<<10, "wipefs", "--all", "--force", device); err != nil {
		return host.Refused(err, "Erasing "+device)
	}
	_, err = command.Run(ctx, time.Minute, 64<<10, "partx", "--update", device)
	if failed, ok := err.(*command.Error); ok && failed.Code > 0 {
		err = nil // there are no partitions any more, which partx calls a failure
	}
	return err
}

func (l *Host) ImportOptions() []string { return []string{"-d", "/dev/disk/by-id"} }

// Faults implements Host: Linux has no fault manager.
func (l *Host) Faults(context.Context) (string, error) { return "", nil }

// Inventory implements Host.
func (l *Host) Inventory(ctx context.Context) (string, error) {
	said, err := command.Run(ctx, 20*time.Second, 1<<20, "dmidecode")
	return string(said.Stdout), err
}

// Cards implements Host: akd asks lspci.
func (l *Host) Cards(context.Context) (string, error) { return "", nil }

// ControllerInterface implements Host: the kernel's driver makes a device for each controller.
func (l *Host) ControllerInterface() string {
	for _, device := range []string{"/dev/ipmi0", "/dev/ipmi/0", "/dev/ipmidev/0"} {
		if _, err := os.Stat(device); err == nil {
			return "open"
		}
	}
	return ""
}

// Enclosures implements Host.
func (l *Host) Enclosures() ([]host.Enclosure, error) { return enclosures("/sys") }

// enclosureType is SCSI's number for a device that is an enclosure's own processor.
const enclosureType = "13"

// enclosures looks for devices that are an enclosure, and for disks that answer for theirs, which the kernel's driver knows.
func enclosures(sys string) ([]host.Enclosure, error) {
	devices, err := filepath.Glob(filepath.Join(sys, "class/scsi_generic/*/device"))
	if err != nil {
		return nil, err
	}
	found := []host.Enclosure{}
	for _, device := range devices {
		read := func(name string) string {
			text, _ := os.ReadFile(filepath.Join(device, name))
			return strings.Join(strings.Fields(string(text)), " ")
		}
		answering, _ := filepath.Glob(filepath.Join(device, "enclosure", "*"))
		if read("type") != enclosureType && len(answering) == 0 {
			continue
		}
		place, err := filepath.EvalSymlinks(device)
		if err != nil {
			continue // taken out just now
		}
		found = append(found, host.Enclosure{
			ID:    filepath.Base(place),
			Title: strings.TrimSpace(read("vendor") + " " + read("model")),
			// All pages in one text; those for names and limits may be missing. It only reads.
			Command: []string{"sg_ses", "--readonly", "--join", "--join", "/dev/" + filepath.Base(filepath.Dir(device))},
		})
	}
	return found, nil
}

// Locate has systemd run the script that knows where lights are: what writes to /sys is outside of execd's sandbox.
func (l *Host) Locate(ctx context.Context, device string, on bool) error {
	unit := "cistern-locate@"
	if !on {
		unit = "cistern-locate-off@"
	}
	unit += filepath.Base(device) + ".service"
	err := systemctl(ctx, "start", unit)
	if err == nil {
		return nil
	}
	shown, asked := command.Run(ctx, 10*time.Second, 4<<10, "systemctl", "show", "-P", "ExecMainStatus", unit)
	if asked == nil && strings.TrimSpace(string(shown.Stdout)) == "3" {
		return host.ErrNoLight
	}
	return err
}

// SettleDevices waits for udev, which makes the names below /dev/disk.
func (l *Host) SettleDevices(ctx context.Context) {
	_, _ = command.Run(ctx, 70*time.Second, 4<<10, "udevadm", "settle", "--timeout=60") // whoever waited finds out
}

// EventsCommand implements Host.
func (l *Host) EventsCommand() []string { return []string{"zpool", "events", "-f", "-H"} }

func (l *Host) PoolOptions() []string {
	return []string{"-o", "autotrim=on", "-O", "xattr=sa", "-O", "acltype=posixacl"}
}

func systemctl(ctx context.Context, arguments ...string) error {
	_, err := command.Run(ctx, 3*time.Minute, 64<<10, append([]string{"systemctl"}, arguments...)...)
	return err
}

// MountPools and ApplyIdentity reload a unit rather than restart it: a restart would pull down all that requires it.
func (l *Host) MountPools(ctx context.Context) error {
	return systemctl(ctx, "reload-or-restart", "cistern-pools.service")
}

func (l *Host) ApplyIdentity(ctx context.Context) error {
	return systemctl(ctx, "reload-or-restart", "cistern-identity.service")
}

// Mounted looks at the mounts of process 1: execd's own view of them is a private one.
func (l *Host) Mounted(path string) bool {
	mounts, err := os.ReadFile("/proc/1/mounts")
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == path {
			return true
		}
	}
	return false
}

func (l *Host) Service(ctx context.Context, name, action string) error {
	unit := "cistern-" + name + ".service"
	if name == "nginx" || name == "snmpd" {
		unit = name + ".service"
	}
	if action == "clear" {
		// What SMF calls maintenance: systemd no longer starts it because it failed too often.
		if err := systemctl(ctx, "reset-failed", unit); err != nil {
			return err
		}
		action = "start"
	}
	if action == "reload" {
		action = "reload-or-restart"
	}
	arguments := []string{action, unit}
	if name == "execd" || name == "akd" {
		// The one that asks, or this process itself: do not wait for our own end.
		arguments = append([]string{"--no-block"}, arguments...)
	}
	return systemctl(ctx, arguments...)
}

func (l *Host) Power(ctx context.Context, action string) error {
	return systemctl(ctx, "--no-block", map[string]string{"reboot": "reboot", "off": "poweroff"}[action])
}
