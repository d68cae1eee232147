package execd

// Properties of datasets: which may be set, to what, and reading them.

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/execd/host"
)

const (
	// zfsDeadline is for what ZFS does within one transaction group, on a pool that has much else to do.
	zfsDeadline = 2 * time.Minute
	// longDeadline is for what takes the longer the more there is: destroying, listing all of a large pool.
	longDeadline = 10 * time.Minute
	maxListed    = 64 << 20
)

// property says when a property may be given, and what its values are.
type property struct {
	values    *regexp.Regexp
	means     string // what a value looks like, for whoever gave another one
	creation  bool   // only when the dataset is made
	volume    bool   // a volume has it
	noInherit bool
}

const (
	number = `(0|[1-9][0-9]{0,18})`
	onOff  = `(on|off)`
)

func of(pattern, means string) property {
	return property{values: regexp.MustCompile(`^(?:` + pattern + `)$`), means: means}
}

func (p property) onVolumes() property { p.volume = true; return p }

func (p property) atCreation() property { p.creation, p.noInherit = true, true; return p }

func (p property) ownOnly() property { p.noInherit = true; return p }

// properties are those that may be set from the management plane.
var properties = map[string]property{
	"compression":    of(`on|off|lz4|lzjb|zle|gzip(-[1-9])?|zstd(-([1-9]|1[0-9]))?|zstd-fast(-([1-9]|10|20|30|40|50|60|70|80|90|100|500|1000))?`, "off, lz4, zstd (also zstd-1 to zstd-19), gzip (also gzip-1 to gzip-9), lzjb or zle").onVolumes(),
	"quota":          of(`none|`+number, "a number of bytes, or none").ownOnly(),
	"refquota":       of(`none|`+number, "a number of bytes, or none").ownOnly(),
	"reservation":    of(`none|`+number, "a number of bytes, or none").onVolumes().ownOnly(),
	"refreservation": of(`none|auto|`+number, "a number of bytes, or none").onVolumes().ownOnly(),
	"recordsize":     of(`512|1024|2048|4096|8192|16384|32768|65536|131072|262144|524288|1048576|2097152|4194304|8388608|16777216`, "a power of two from 512 bytes to 16 MiB"),
	"volblocksize":   of(`512|1024|2048|4096|8192|16384|32768|65536|131072`, "a power of two from 512 bytes to 128 KiB").onVolumes().atCreation(),
	"volsize":        of(`[1-9][0-9]{0,18}`, "a number of bytes").onVolumes().ownOnly(),
	"atime":          of(onOff, "on or off"),
	"relatime":       of(onOff, "on or off"),
	"readonly":       of(onOff, "on or off").onVolumes(),
	"sync":           of(`standard|always|disabled`, "standard, always or disabled").onVolumes(),
	"logbias":        of(`latency|throughput`, "latency or throughput").onVolumes(),
	"primarycache":   of(`all|none|metadata`, "all, none or metadata").onVolumes(),
	"secondarycache": of(`all|none|metadata`, "all, none or metadata").onVolumes(),
	"copies":         of(`[123]`, "1, 2 or 3").onVolumes(),
	"snapdir":        of(`hidden|visible`, "hidden or visible"),
	"mountpoint":     of(`none|/srv/.+`, "none, or a directory below /srv"),
}

// mountpointProblem keeps mounts below /srv, and off the telemetry's.
func mountpointProblem(value string) string {
	switch {
	case value == "none":
		return ""
	case path.Clean(value) != value || strings.ContainsAny(value, "\x00\n\t"):
		return "is written with what a path does not need ('//', '.', '..' or a final '/')"
	case value == TelemetryMount || strings.HasPrefix(value, TelemetryMount+"/"):
		return "is where the measurements are"
	}
	return ""
}

// lacking says why this system's ZFS cannot take what another's does; empty when it can.
func lacking(zfs host.ZFS, name, value string) string {
	switch {
	case name == "relatime" && !zfs.Relatime:
		return "The ZFS of this system has no property 'relatime': access times are written always or, with atime=off, never."
	case name == "compression" && strings.HasPrefix(value, "zstd") && !zfs.Zstd:
		return "The ZFS of this system has no zstd: compression is off, lz4, gzip (also gzip-1 to gzip-9), lzjb or zle."
	case name == "recordsize":
		if size, err := strconv.ParseInt(value, 10, 64); err == nil && size > zfs.LargestRecord {
			return fmt.Sprintf("The ZFS of this system has records of %d bytes at most.", zfs.LargestRecord)
		}
	}
	return ""
}

// checked turns properties into "name=value", in the order of their names.
func (s *Server) checked(given map[string]string, volume, creating bool) ([]string, error) {
	var assignments []string
	for _, name := range slices.Sorted(maps.Keys(given)) {
		known, ok := properties[name]
		where := "/properties/" + name
		switch value := given[name]; {
		case !ok:
			return nil, host.Invalid(where, fmt.Sprintf("The property '%s' cannot be set from here. These can: %s.", name, strings.Join(slices.Sorted(maps.Keys(properties)), ", ")))
		case volume && !known.volume:
			return nil, host.Invalid(where, fmt.Sprintf("A volume has no property '%s'.", name))
		case !volume && (name == "volblocksize" || name == "volsize"):
			return nil, host.Invalid(where, fmt.Sprintf("A file system has no property '%s'.", name))
		case known.creation && !creating:
			return nil, host.Invalid(where, fmt.Sprintf("'%s' can only be chosen when the dataset is made.", name))
		case !known.values.MatchString(value):
			return nil, host.Invalid(where, fmt.Sprintf("'%s' is no value of %s: it is %s.", value, name, known.means))
		case lacking(s.Host.ZFS(), name, value) != "":
			return nil, host.Invalid(where, lacking(s.Host.ZFS(), name, value))
		case name == "mountpoint" && mountpointProblem(value) != "":
			return nil, host.Invalid(where, fmt.Sprintf("The mount point '%s' %s.", value, mountpointProblem(value)))
		default:
			assignments = append(assignments, name+"="+value)
		}
	}
	return assignments, nil
}
