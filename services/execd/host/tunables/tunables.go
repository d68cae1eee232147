// Package tunables is the few settings of the operating system that an administrator may have a reason to change: which there are,
// between which bounds, and the document that is kept.
package tunables

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Names of tunables: they are in the document and in the API.
const (
	// ARCMaximum is how many bytes ZFS keeps in memory of what was read and written, at most.
	ARCMaximum = "arc-maximum-bytes"
	// ARCMinimum is how many of them it gives back to nobody.
	ARCMinimum = "arc-minimum-bytes"
	// GroupSeconds is after how many seconds what was written goes to the disks as one transaction group, at the latest.
	GroupSeconds = "transaction-group-seconds"
	// DiskWrites is how many writes a disk is given at the same time, at most.
	DiskWrites = "writes-per-disk"
	// SocketBytes is how many bytes a socket may have waiting that nobody has read yet.
	SocketBytes = "socket-buffer-bytes"
	// LogBytes is how much the system's log takes on the system pool, at most.
	LogBytes = "log-bytes"
)

// Bounds of a tunable; Most is 0 where the memory decides.
type Bounds struct {
	Least int64 `json:"least"`
	Most  int64 `json:"most"`
}

const (
	mib = int64(1) << 20
	gib = int64(1) << 30
	// What the daemons and the kernel need beside the ARC.
	beside = 512 * mib
)

// Of are the bounds on a machine with so much memory.
func Of(memory int64) map[string]Bounds {
	arc := Bounds{64 * mib, max(128*mib, memory-beside)}
	return map[string]Bounds{
		// ZFS takes no less for the first (arc_tuning_update, MIN_ARC_MAX), and half of it for the second (SPA_MAXBLOCKSIZE << 1).
		ARCMaximum: arc, ARCMinimum: {32 * mib, arc.Most},
		GroupSeconds: {1, 60}, DiskWrites: {1, 100},
		SocketBytes: {1 * mib, gib}, LogBytes: {16 * mib, 4 * gib},
	}
}

// Document is what an administrator has set; what is not in it is as the system has it.
type Document struct {
	Version int              `json:"version"`
	Values  map[string]int64 `json:"values"`
}

// DocumentVersion is the form of Document.
const DocumentVersion = 1

// Default sets nothing.
func Default() Document { return Document{Version: DocumentVersion, Values: map[string]int64{}} }

// Wrong is the first thing that is wrong with a document on a machine with so much memory, whose system has those of the names: where, and what; empty when nothing is.
func (d Document) Wrong(memory int64, names []string) (path, message string) {
	if d.Version != DocumentVersion {
		return "/version", fmt.Sprintf("The version is %d.", DocumentVersion)
	}
	bounds := Of(memory)
	for _, name := range slices.Sorted(maps.Keys(d.Values)) {
		at, value := "/values/"+name, d.Values[name]
		if !slices.Contains(names, name) {
			return at, fmt.Sprintf("There is no tunable '%s' here. The tunables are %s.", name, strings.Join(names, ", "))
		}
		b := bounds[name]
		if value < b.Least || value > b.Most {
			return at, fmt.Sprintf("It is %s to %s.", words(name, b.Least), words(name, b.Most))
		}
	}
	least, most := d.Values[ARCMinimum], d.Values[ARCMaximum]
	if most != 0 && least > most {
		return "/values/" + ARCMinimum, fmt.Sprintf("It is more than the most that ZFS may keep, %s.", words(ARCMaximum, most))
	}
	return "", ""
}

func words(name string, value int64) string {
	switch {
	case !strings.HasSuffix(name, "-bytes"):
		return fmt.Sprint(value)
	case value%gib == 0:
		return fmt.Sprintf("%d GiB", value/gib)
	}
	return fmt.Sprintf("%d MiB", value/mib)
}

// File is where the document is kept, in the appliance's state folder.
func File(state string) string { return filepath.Join(state, "execd", "tunables", "document.json") }

// Where the document is from.
const (
	Kept       = "kept"
	Unset      = "default" // none was ever kept
	Unreadable = "broken"  // what was kept cannot be read: everything is as the system has it
)

// Read is the document that is kept, and where it is from. Bounds are looked at when it is set alone: another machine may have less memory.
func Read(state string) (Document, string) {
	text, err := os.ReadFile(File(state))
	if errors.Is(err, os.ErrNotExist) {
		return Default(), Unset
	}
	d := Document{}
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || d.Version != DocumentVersion {
		return Default(), Unreadable
	}
	if d.Values == nil {
		d.Values = map[string]int64{}
	}
	return d, Kept
}
