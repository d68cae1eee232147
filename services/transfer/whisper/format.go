// Package whisper reads Graphite's whisper files: one series each, in rings of points that become coarser with age.
//
// FILE as Graphite's documentation has it, big-endian throughout:
//
//	header   uint32 aggregation method, uint32 greatest retention in seconds, float32 xFilesFactor, uint32 number of archives
//	archive  uint32 offset, uint32 seconds for each point, uint32 points; the finest first
//	point    uint32 time in seconds, a multiple of the archive's seconds, or 0: never written; float64 value
//
// The first point of an archive is its base: a time's place is (time - base) / seconds modulo points. What is not in its place, or
// is older than the ring goes back from the latest point, is left from an earlier round and counts as not there.
package whisper

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

const (
	headerBytes  = 16
	archiveBytes = 12
	pointBytes   = 12
	maxArchives  = 1000
)

// Point is one value.
type Point struct {
	Time  int64 // seconds since 1970
	Value float64
}

type archive struct {
	offset, step, points int64
}

// methods are the aggregations by their numbers.
var methods = []string{1: "average", 2: "sum", 3: "last", 4: "max", 5: "min", 6: "avg_zero", 7: "absmax", 8: "absmin"}

// header reads and checks the beginning of a file.
func header(in io.ReaderAt, size int64) (method string, archives []archive, err error) {
	var head [headerBytes]byte
	if _, err := in.ReadAt(head[:], 0); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is no whisper file: it is shorter than a header")
		}
		return "", nil, err
	}
	number, count := binary.BigEndian.Uint32(head[0:]), int64(binary.BigEndian.Uint32(head[12:]))
	if number == 0 || int(number) >= len(methods) {
		return "", nil, fmt.Errorf("it is no whisper file: %d is no aggregation method", number)
	}
	if factor := math.Float32frombits(binary.BigEndian.Uint32(head[8:])); !(factor >= 0 && factor <= 1) {
		return "", nil, fmt.Errorf("it is no whisper file: its xFilesFactor is %v", factor)
	}
	if count < 1 || count > maxArchives || headerBytes+count*archiveBytes > size {
		return "", nil, fmt.Errorf("it is no whisper file, or cut off: it says that it has %d archives, and is %d bytes long", count, size)
	}
	text := make([]byte, count*archiveBytes)
	if _, err := in.ReadAt(text, headerBytes); err != nil {
		return "", nil, err
	}
	all := headerBytes + count*archiveBytes
	for at := text; len(at) > 0; at = at[archiveBytes:] {
		a := archive{int64(binary.BigEndian.Uint32(at)), int64(binary.BigEndian.Uint32(at[4:])), int64(binary.BigEndian.Uint32(at[8:]))}
		switch {
		case a.step == 0 || a.points == 0:
			return "", nil, errors.New("an archive has no points, or no time between them")
		case a.offset < headerBytes+count*archiveBytes || a.offset+a.points*pointBytes > size:
			return "", nil, fmt.Errorf("it is cut off: an archive goes up to byte %d, and the file is %d bytes long", a.offset+a.points*pointBytes, size)
		}
		if all += a.points * pointBytes; all > size {
			return "", nil, errors.New("it is no whisper file: its archives lie on top of each other")
		}
		archives = append(archives, a)
	}
	slices.SortFunc(archives, func(a, b archive) int { return int(a.step - b.step) })
	return methods[number], archives, nil
}

// read is the points of an archive that are in their places, in the order of their times. stray is how many are not.
func (a archive) read(in io.ReaderAt) (points []Point, stray int64, err error) {
	text := make([]byte, a.points*pointBytes) // no longer than the file
	if _, err := in.ReadAt(text, a.offset); err != nil {
		return nil, 0, err
	}
	base := int64(binary.BigEndian.Uint32(text))
	if base == 0 {
		return nil, 0, nil // nothing was written yet
	}
	for i := range a.points {
		at := text[i*pointBytes:]
		t := int64(binary.BigEndian.Uint32(at))
		if t == 0 {
			continue
		}
		place := (t - base) / a.step % a.points
		if place < 0 {
			place += a.points
		}
		if t%a.step != 0 || place != i {
			stray++
			continue
		}
		points = append(points, Point{t, math.Float64frombits(binary.BigEndian.Uint64(at[4:]))})
	}
	slices.SortFunc(points, func(x, y Point) int { return int(x.Time - y.Time) })
	return points, stray, nil
}

// Read reads a file: for each time the finest archive that has one. The order is that of the times. stray is how many
// points are not where their times belong.
func Read(in io.ReaderAt, size int64) (points []Point, method string, stray int64, err error) {
	method, archives, err := header(in, size)
	if err != nil {
		return nil, "", 0, err
	}
	rings, latest := make([][]Point, len(archives)), int64(0)
	for i, a := range archives {
		var lost int64
		if rings[i], lost, err = a.read(in); err != nil {
			return nil, "", 0, err
		}
		stray += lost
		if n := len(rings[i]); n > 0 {
			latest = max(latest, rings[i][n-1].Time)
		}
	}
	for i, a := range archives {
		from := latest - a.step*a.points
		ring := rings[i]
		ring = ring[sortedAfter(ring, from):]
		points = merge(points, ring, a.step)
	}
	return points, method, stray, nil
}

// sortedAfter is the place of the first point after a time.
func sortedAfter(points []Point, t int64) int {
	at, _ := slices.BinarySearchFunc(points, t, func(p Point, t int64) int {
		if p.Time <= t {
			return -1
		}
		return 1
	})
	return at
}

// merge adds coarser points to finer ones: those that stand for a time of which there is nothing finer, or which begins before
// all that is finer.
func merge(fine, coarse []Point, step int64) []Point {
	if len(fine) == 0 {
		return coarse
	}
	merged := make([]Point, 0, len(fine)+len(coarse))
	first, at := fine[0].Time, 0
	for _, c := range coarse {
		for at < len(fine) && fine[at].Time < c.Time {
			merged = append(merged, fine[at])
			at++
		}
		if c.Time < first || at == len(fine) || fine[at].Time >= c.Time+step {
			merged = append(merged, c)
		}
	}
	return append(merged, fine[at:]...)
}
