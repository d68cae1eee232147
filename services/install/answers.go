package install

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// answerFile is where answers are looked for on a stick.
const answerFile = "cistern/install.json"

// ErrNoAnswers is returned when no stick has an answer file.
var ErrNoAnswers = errors.New("there is no answer file on a stick")

// FindAnswers reads the answer file of the medium that the machine was started from, or of another USB stick. With several
// of them it cannot be known which one is meant.
func FindAnswers(ctx context.Context, startedFrom string) (*Answers, error) {
	text, err := ask(ctx)
	if err != nil {
		return nil, err
	}
	return answersIn(ctx, text, startedFrom)
}

func answersIn(ctx context.Context, text []byte, startedFrom string) (*Answers, error) {
	nodes, err := nodesIn(text)
	if err != nil {
		return nil, err
	}
	var contents [][]byte
	var sticks []string
	for _, disk := range nodes {
		if disk.Type != "disk" || disk.Name != startedFrom && disk.Transport != "usb" && !disk.Removable {
			continue
		}
		// A file system on the whole disk may look like a partition table as well.
		places := disk.Children
		if disk.FSType != "" {
			places = []node{disk}
		}
		for _, n := range places {
			if n.FSType != "vfat" {
				continue
			}
			// mtools read it without a mount. A stick that has no such file, or cannot be read, gives no answers.
			said, err := command.Run(ctx, time.Minute, 64<<10, "mcopy", "-i", n.Path, "::/"+answerFile, "-")
			if err == nil {
				contents = append(contents, said.Stdout)
				sticks = append(sticks, strings.Join(slices.DeleteFunc([]string{n.Name, disk.Model, disk.Serial}, func(word string) bool { return word == "" }), " "))
			}
		}
	}
	switch len(contents) {
	case 0:
		return nil, ErrNoAnswers
	case 1:
		return ReadAnswers(bytes.NewReader(contents[0]))
	default:
		return nil, fmt.Errorf("%d sticks have an answer file, %s: leave in the one that is meant, and start again", len(sticks), strings.Join(sticks, " and "))
	}
}

// Answers is what an answer file says: an installation by it asks nothing.
type Answers struct {
	// Disks are one disk, or two for a mirror: each a serial number.
	Disks []string `json:"disks"`
	// Overwrite are the serial numbers of those disks whose content may be lost. An empty disk needs none.
	Overwrite []string `json:"overwrite"`
	// Then is what happens at the end: "restart" or "power-off".
	Then string `json:"then"`
}

// ReadAnswers reads and checks the file. An unknown field is an error: a misspelt "overwrite" must not be passed over.
func ReadAnswers(r io.Reader) (*Answers, error) {
	text, err := io.ReadAll(io.LimitReader(r, 64<<10))
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.DisallowUnknownFields()
	var a Answers
	if err := decoder.Decode(&a); err != nil {
		return nil, fmt.Errorf("install.json cannot be read: %w; it looks like {\"disks\": [\"SERIAL\"], \"overwrite\": [], \"then\": \"restart\"}", err)
	}
	if decoder.More() {
		return nil, errors.New("install.json goes on after its end: it holds one object")
	}
	if len(a.Disks) == 0 || len(a.Disks) > 2 {
		return nil, fmt.Errorf("install.json names %d disks; it must name one, or two for a mirror, by their serial numbers", len(a.Disks))
	}
	if a.Then != "restart" && a.Then != "power-off" {
		return nil, fmt.Errorf("install.json: \"then\" is %q; it must be \"restart\" or \"power-off\"", a.Then)
	}
	return &a, nil
}

// Choose finds the disks that the answers name, and refuses what must not be written to.
func (a *Answers) Choose(disks []Disk) ([]Disk, error) {
	var chosen []Disk
	for _, serial := range a.Disks {
		same := slices.DeleteFunc(slices.Clone(disks), func(d Disk) bool { return serial == "" || d.Serial != serial })
		switch {
		case len(same) == 0:
			return nil, fmt.Errorf("install.json names the disk %q, and there is none of that serial number; there are: %s", serial, serials(disks))
		case len(same) > 1:
			return nil, fmt.Errorf("install.json names the disk %q, and %d disks have that serial number", serial, len(same))
		}
		d := same[0]
		if slices.ContainsFunc(chosen, func(c Disk) bool { return c.Name == d.Name }) {
			return nil, fmt.Errorf("install.json names the disk %q twice", serial)
		}
		if d.Obstacle != "" {
			return nil, fmt.Errorf("the disk %q (%s) cannot be taken: %s", serial, d.Name, d.Obstacle)
		}
		if len(d.Holds) > 0 && !slices.Contains(a.Overwrite, serial) {
			return nil, fmt.Errorf("the disk %q (%s) is not empty: %s; name it in \"overwrite\" as well if that may be lost", serial, d.Name, strings.Join(d.Holds, ", "))
		}
		chosen = append(chosen, d)
	}
	return chosen, nil
}

func serials(disks []Disk) string {
	if len(disks) == 0 {
		return "no disks at all"
	}
	var list []string
	for _, d := range disks {
		if d.Serial != "" {
			list = append(list, fmt.Sprintf("%q (%s, %s)", d.Serial, d.Name, size(d.Bytes)))
		}
	}
	if len(list) == 0 {
		return "none that has a serial number"
	}
	return strings.Join(list, ", ")
}
