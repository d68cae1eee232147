package install

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// Disk is a disk that the installer may write to.
type Disk struct {
	Name   string   // as the kernel calls it now: sda
	Path   string   // /dev/sda
	Model  string   // may be empty
	Serial string   // may be empty
	Bus    string   // sata, nvme, usb …; may be empty
	Bytes  int64    // its size
	Holds  []string // what is on it, in words; nothing: empty
	// Obstacle says why it cannot be taken; empty: it can.
	Obstacle string
}

// node is what lsblk says of a disk or of what is on it.
type node struct {
	Name        string   `json:"name"`
	Path        string   `json:"path"`
	Type        string   `json:"type"`
	Model       string   `json:"model"`
	Serial      string   `json:"serial"`
	Transport   string   `json:"tran"`
	Size        int64    `json:"size"`
	SectorBytes int64    `json:"log-sec"`
	ReadOnly    bool     `json:"ro"`
	Removable   bool     `json:"rm"`
	FSType      string   `json:"fstype"`
	Label       string   `json:"label"`
	PartLabel   string   `json:"partlabel"`
	TableType   string   `json:"pttype"`
	Mounts      []string `json:"mountpoints"`
	Children    []node   `json:"children"`
}

const columns = "NAME,PATH,TYPE,MODEL,SERIAL,TRAN,SIZE,LOG-SEC,RO,RM,FSTYPE,LABEL,PARTLABEL,PTTYPE,MOUNTPOINTS"

// Disks lists the machine's disks by name, without the one that it was started from (sdb).
func Disks(ctx context.Context, startedFrom string) ([]Disk, error) {
	text, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	return disksIn(text, startedFrom)
}

func ask(ctx context.Context) ([]byte, error) {
	// What was just plugged in or written is not known before udev has looked at it; one that hangs is not waited for.
	_, _ = command.Run(ctx, 15*time.Second, 4<<10, "udevadm", "settle", "--timeout=10")
	said, err := command.Run(ctx, 30*time.Second, 4<<20, "lsblk", "--json", "--bytes", "--output", columns)
	return said.Stdout, err
}

func nodesIn(text []byte) ([]node, error) {
	var document struct {
		Devices []node `json:"blockdevices"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("the list of disks cannot be read: %w", err)
	}
	return document.Devices, nil
}

func disksIn(text []byte, startedFrom string) ([]Disk, error) {
	nodes, err := nodesIn(text)
	if err != nil {
		return nil, err
	}
	var list []Disk
	for _, n := range nodes {
		if n.Type != "disk" || n.Name == startedFrom || n.Size == 0 || strings.HasPrefix(n.Name, "zram") || strings.HasPrefix(n.Name, "fd") {
			continue
		}
		d := Disk{
			Name: n.Name, Path: n.Path, Model: strings.TrimSpace(n.Model), Serial: strings.TrimSpace(n.Serial), Bus: n.Transport,
			Bytes: n.Size, Holds: holds(n),
		}
		switch {
		case n.ReadOnly:
			d.Obstacle = "it is read-only"
		case n.Size < SmallestDisk:
			d.Obstacle = fmt.Sprintf("it is too small: it holds %s, and %s are needed", size(n.Size), size(SmallestDisk))
		case n.SectorBytes != sector:
			d.Obstacle = fmt.Sprintf("it has sectors of %d bytes; only 512 are supported for a system disk", n.SectorBytes)
		case inUse(n):
			d.Obstacle = "it is in use"
		}
		list = append(list, d)
	}
	slices.SortFunc(list, func(a, b Disk) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func inUse(n node) bool {
	return slices.ContainsFunc(n.Mounts, func(at string) bool { return at != "" }) || slices.ContainsFunc(n.Children, inUse)
}

// holds says what is on a disk. An installation that was cut off says so, and nothing else.
func holds(n node) []string {
	var found []string
	add := func(what string) {
		if !slices.Contains(found, what) {
			found = append(found, what)
		}
	}
	var walk func(n node)
	walk = func(n node) {
		named := func(kind string) string {
			if n.Label == "" {
				return kind
			}
			return fmt.Sprintf("%s \"%s\"", kind, n.Label)
		}
		switch {
		case n.PartLabel == unfinished:
			add("an installation of Cistern that was not finished")
		case n.PartLabel == "cistern-a":
			add("a Cistern system")
		case strings.HasPrefix(n.PartLabel, "cistern-"):
			// belongs to that system
		case n.FSType == "zfs_member":
			add(named("the ZFS pool"))
		case n.FSType == "linux_raid_member":
			add(named("a side of the software RAID"))
		case strings.HasSuffix(n.FSType, "_raid_member"):
			add("a disk of a RAID controller (" + strings.TrimSuffix(n.FSType, "_raid_member") + ")")
		case n.FSType == "LVM2_member":
			add("a volume of LVM")
		case n.FSType == "crypto_LUKS":
			add("an encrypted volume")
		case n.FSType == "swap":
			add("swap space")
		case n.FSType != "":
			add(named("a file system (" + n.FSType + ")"))
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(n)
	if len(found) == 0 && n.TableType != "" {
		add(fmt.Sprintf("a partition table (%s) without anything known on it", n.TableType))
	}
	return found
}

// size is a number of bytes as makers of disks count: 480 GB.
func size(bytes int64) string {
	switch {
	case bytes >= 1e12:
		return fmt.Sprintf("%.1f TB", float64(bytes)/1e12)
	case bytes >= 100e9:
		return fmt.Sprintf("%.0f GB", float64(bytes)/1e9)
	default:
		return fmt.Sprintf("%.1f GB", float64(bytes)/1e9)
	}
}
