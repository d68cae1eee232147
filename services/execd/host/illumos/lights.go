package illumos

// The lights of disks' slots on illumos: indicators of the hardware's topology, which fmtopo reads and switches. Written
// after fmtopo.c, diskinfo.c and libtopo's providers of facilities; it has not run on illumos yet.

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/execd/host"
	"cistern/services/platform/command"
)

// topoNode is one of the nodes that fmtopo prints.
type topoNode struct {
	fmri       string
	path       string            // /ses-enclosure=0/bay=3; without the authority, which differs between a bay and its disk
	facility   string            // indicator=ident, of nodes that are one
	properties map[string]string // storage.logical-disk → c1t0d0
}

// topology reads what fmtopo -P prints: an FMRI, then for each property its group and, indented deeper, name, type and
// value.
func topology(text string) (nodes []topoNode) {
	group := ""
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		switch {
		case strings.HasPrefix(line, "hc://"):
			// The authority is :product-id=…:chassis-id=…; libtopo lets no slash into it.
			fmri := strings.TrimSpace(line)
			path := fmri[len("hc://"):]
			if at := strings.IndexByte(path, '/'); at >= 0 {
				path = path[at:]
			}
			path, facility, _ := strings.Cut(path, "?")
			nodes = append(nodes, topoNode{fmri, path, facility, map[string]string{}})
			group = ""
		case len(f) > 1 && f[0] == "group:":
			group = f[1]
		case len(f) > 2 && group != "" && len(nodes) > 0:
			nodes[len(nodes)-1].properties[group+"."+f[0]] = strings.Join(f[2:], " ")
		}
	}
	return nodes
}

const (
	topoDisk = "storage.logical-disk"
	topoType = "facility.type"
	topoMode = "facility.mode"
	// Of topo_led_type_t; fmtopo prints the number, and then its name.
	topoLocate = "0x1"
)

// literally escapes what has a meaning in a pattern: fmtopo takes one where a light is to be named.
var literally = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

// topoBay is the part of a disk's path that leads to its bay.
var topoBay = regexp.MustCompile(`^.*/bay=[0-9a-f]+`)

// fmtopo walks the whole topology, which takes seconds where there are many shelves.
func (i *Host) fmtopo(ctx context.Context, pattern string, properties ...string) ([]topoNode, string, error) {
	argv := []string{i.Root + "/usr/lib/fm/fmd/fmtopo"}
	for _, property := range properties {
		argv = append(argv, "-P", property)
	}
	said, err := command.Run(ctx, 40*time.Second, 4<<20, append(argv, pattern)...)
	return topology(string(said.Stdout)), strings.TrimSpace(string(said.Stderr)), err
}

// Locate implements Host.
func (i *Host) Locate(ctx context.Context, device string, on bool) error {
	disk := filepath.Base(device)
	// Bays, what is in them, and their lights. Nodes that have not all three properties are complained of.
	nodes, _, err := i.fmtopo(ctx, "*/bay=*", topoDisk, topoType, topoMode)
	if err != nil {
		return err
	}
	bay := ""
	for _, node := range nodes {
		if node.properties[topoDisk] == disk {
			bay = topoBay.FindString(node.path)
		}
	}
	if bay == "" {
		return host.ErrNoLight // it is in no bay that the topology knows
	}
	light := ""
	for _, node := range nodes {
		if kind, _, _ := strings.Cut(node.properties[topoType], " "); node.path == bay && strings.HasPrefix(node.facility, "indicator=") && kind == topoLocate {
			light = node.fmri
		}
	}
	if light == "" {
		return host.ErrNoLight
	}
	want := map[bool]string{true: "1", false: "0"}[on]
	after, complaint, err := i.fmtopo(ctx, literally.Replace(light), topoMode+"=uint32:"+want)
	if err != nil {
		return err
	}
	// fmtopo ends as if all were well whatever happened: what it read back counts.
	for _, node := range after {
		if mode, _, _ := strings.Cut(node.properties[topoMode], " "); node.fmri == light && mode == "0x"+want {
			return nil
		}
	}
	if complaint == "" {
		complaint = "the light stayed as it was"
	}
	return problem.New(http.StatusBadGateway, "command_failed", fmt.Sprintf("The enclosure did not switch the light of %s: %.300s.", disk, complaint),
		"Find the disk by its serial number; it is printed on it.")
}
