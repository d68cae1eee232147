package illumos

// What the fault manager's topology says of shelves and cards, as fmtopo prints it: akd understands it
// (appliance-kit/src/platform/illumos/topology.ts). Written after fmtopo.c and libtopo's ses_facility.c, did_props.c; it
// has not run on illumos yet.

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// topologyWithin is enough for the topology of a machine with many shelves, all of which is read whatever is asked for.
const topologyWithin = 45 * time.Second

// Enclosures implements Host: the topology is asked for all shelves at once, and only where there is one, because reading it
// asks each disk and the management controller as well. Where libtopo's module looks for shelves: ses_enum of ses.c.
func (i *Host) Enclosures() ([]host.Enclosure, error) {
	shelves := 0
	for _, folder := range []string{"/dev/es", "/dev/scsi/ses"} {
		found, err := os.ReadDir(filepath.Join(i.Root, folder))
		if err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		shelves += len(found)
	}
	if shelves == 0 {
		return nil, nil
	}
	return []host.Enclosure{{
		ID: "topology", Title: "Shelves", Within: topologyWithin,
		Command: []string{i.Root + "/usr/lib/fm/fmd/fmtopo", "-P", "facility", "-P", topoDisk, "*/ses-enclosure=*"},
	}}, nil
}

// Cards implements Host: the functions of PCI and PCI Express with their numbers, names, drivers and the words on the board.
func (i *Host) Cards(ctx context.Context) (string, error) {
	said, err := command.Run(ctx, topologyWithin, 4<<20, i.Root+"/usr/lib/fm/fmd/fmtopo",
		"-P", "pci", "-P", "io.driver", "-P", "protocol.label", "*/pci*fn=*")
	return string(said.Stdout), err
}
