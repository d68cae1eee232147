package install

// The layout of a system disk, as image/debian/disk.sh makes it. A test compares the two.

import (
	"fmt"
	"strings"
)

const (
	mib     = 1 << 20
	sector  = 512
	perMiB  = mib / sector
	biosMiB = 1
	espMiB  = 255
	slotMiB = 1024
	// poolMiB is the least that the system pool needs: state, logs, and a telemetry of a small machine.
	poolMiB = 4096
)

// SmallestDisk is how many bytes a disk must hold.
const SmallestDisk int64 = (1 + biosMiB + espMiB + 2*slotMiB + poolMiB + 1) * mib

// Types of partitions, as GUIDs.
const (
	typeBIOS  = "21686148-6449-6E6F-744E-656564454649"
	typeESP   = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B"
	typeRoot  = "4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709"
	typePool  = "6A898CC3-1DD2-11B2-99A6-080020736631"
	typeOther = "0FC63DAF-8483-4772-8E79-3D69D8477DE4" // "Linux data": no firmware starts anything from it
)

// unfinished is the name of all partitions while a disk is written: such a disk starts nothing, and whoever finds it knows
// what it was to become.
const unfinished = "cistern-unfinished"

type part struct {
	name, kind string
	start      int64 // in sectors
	sectors    int64 // 0: to the end of the disk
}

// parts are the partitions by their numbers from 1.
func parts() []part {
	list := []part{
		{name: "cistern-bios", kind: typeBIOS, sectors: biosMiB * perMiB},
		{name: "cistern-esp", kind: typeESP, sectors: espMiB * perMiB},
		{name: "cistern-a", kind: typeRoot, sectors: slotMiB * perMiB},
		{name: "cistern-b", kind: typeRoot, sectors: slotMiB * perMiB},
		{name: "cistern-pool-new", kind: typePool},
	}
	at := int64(perMiB)
	for i := range list {
		list[i].start = at
		at += list[i].sectors
	}
	return list
}

const (
	numberBIOS = 1 + iota
	numberESP
	numberA
	numberB
	numberPool
)

// script is the partition table as sfdisk reads it. Not finished, it has the same places, and nothing that a firmware or
// Cistern would take for its own.
func script(pool string, finished bool) string {
	var b strings.Builder
	b.WriteString("label: gpt\n")
	for _, p := range parts() {
		kind, name := p.kind, p.name
		if !finished {
			kind, name = typeOther, unfinished
		}
		fmt.Fprintf(&b, "start=%d", p.start)
		if p.sectors > 0 {
			fmt.Fprintf(&b, ", size=%d", p.sectors)
		}
		fmt.Fprintf(&b, ", type=%s, name=%s", kind, name)
		if finished && p.kind == typePool {
			fmt.Fprintf(&b, ", uuid=%s", pool)
		}
		b.WriteByte('\n')
	}
	return b.String()
}
