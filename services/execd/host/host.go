// Package host is what execd needs of the operating system: the interface that each one implements in a folder of its own,
// and what those have in common.
package host

import (
	"context"
	"time"

	"cistern/services/execd/host/chrony"
	"cistern/services/execd/host/firewall"
)

// Enclosure is a shelf that disks are in, by one of the ways to it.
type Enclosure struct {
	// ID is where the kernel has it, such as 6:0:8:0.
	ID string `json:"id"`
	// Title is its maker and model.
	Title string `json:"title"`
	// Command prints what it says of its parts.
	Command []string `json:"-"`
	// Within is how long it may take to answer; 0: as long as an enclosure that is asked by itself.
	Within time.Duration `json:"-"`
}

// Host is what differs between operating systems. An error of CheckDisk is a problem document that names the disk.
type Host interface {
	DatasetHost
	NetworkHost
	TunableHost
	// CheckDisk makes sure that path is a whole disk of at least min bytes that nothing uses, and answers with the
	// device behind it (the same for two names of one disk).
	CheckDisk(path string, min int64) (device string, err error)
	// ImportOptions are more arguments for zpool import: where to look for disks.
	ImportOptions() []string
	// Disks are the whole disks there are; nil where the management plane sees them without privilege.
	Disks(ctx context.Context) ([]Disk, error)
	// DiskDevice is the device of a disk's stable name (/dev/disk/by-id/…) for looking at it; it may be in use. The
	// error is a problem document.
	DiskDevice(path string) (device string, err error)
	// SmartDevice is the path of a device (DiskDevice) that smartctl takes.
	SmartDevice(device string) string
	// IsLeaf says whether leaf, as 'zpool list' names one of a pool's, is the device that a caller names: by its path, or by
	// the whole disk that the leaf lies on.
	IsLeaf(leaf, device string) bool
	// Locate switches the light of the slot that a device sits in; ErrNoLight when there is none.
	Locate(ctx context.Context, device string, on bool) error
	// Faults is what the system has diagnosed of its parts, as its own tool prints it; "" when it does no such thing.
	Faults(ctx context.Context) (string, error)
	// Inventory is what the firmware's tables (SMBIOS) say of the machine, as the system's own tool prints them.
	Inventory(ctx context.Context) (string, error)
	// Cards is what the system says of the cards on its buses to a privileged process alone; empty where akd asks by itself.
	Cards(ctx context.Context) (string, error)
	// ControllerInterface is what ipmitool reaches the machine's management controller (BMC) through; "" when the
	// machine has none.
	ControllerInterface() string
	// Enclosures are the shelves that can be asked how their parts are.
	Enclosures() ([]Enclosure, error)
	// WipeDisk erases the signatures of a device that nothing uses (CheckDisk), in its partitions first.
	WipeDisk(ctx context.Context, device string) error
	// SettleDevices waits until the system knows of all partitions that disks have by now, for a minute at most.
	SettleDevices(ctx context.Context)
	// EventsCommand prints what happens to pools, a line each, as long as it runs; nil where the system tells no events.
	EventsCommand() []string
	// PoolOptions are more arguments for zpool create.
	PoolOptions() []string
	// MountPools imports the remembered pools and mounts their datasets where every process sees them.
	MountPools(ctx context.Context) error
	// Mounted says whether something is mounted exactly at path, as the whole machine sees it.
	Mounted(path string) bool
	// Service does start, stop, restart or clear to one of Cistern's services; reload to the web server, which is started where it does not run.
	Service(ctx context.Context, name, action string) error
	// ApplyIdentity puts host name and time zone into force.
	ApplyIdentity(ctx context.Context) error
	// AttachSystemDisk makes disk (as CheckDisk knows it) one that the machine also starts from: partitions and
	// system slots as on the present system disk, and a second side of the system pool, whose resilver has begun
	// when it returns. On failure the disk is as good as empty.
	AttachSystemDisk(ctx context.Context, disk string) error
	// Systems are the installed systems, those of other machines' disks not among them.
	Systems(ctx context.Context) ([]System, error)
	// ActivateSystem has the machine start with one of systems, which are all there are, from the next time on. On
	// failure it starts with the one it would have started with. Whether it helped is read back by who asked.
	ActivateSystem(ctx context.Context, systems []System, name string) error
	// LoadFirewall has the kernel let in what the rules say and nothing else, from one moment to the next; on failure all is as
	// it was. anew also takes away what others have added, and the counters.
	LoadFirewall(ctx context.Context, rules []firewall.Rule, anew bool) error
	// ReadFirewall is what the kernel has, compared with rules.
	ReadFirewall(ctx context.Context, rules []firewall.Rule) (firewall.Loaded, error)
	// NetworkTimeServers are those that the network names (DHCP).
	NetworkTimeServers() []string
	// LoadTimeServers has chrony ask these for the time, and nobody else. A chrony that does not run asks them once it does.
	LoadTimeServers(ctx context.Context, asked []chrony.Asked) error
	// Power reboots or switches off; it returns before that happens.
	Power(ctx context.Context, action string) error
}
