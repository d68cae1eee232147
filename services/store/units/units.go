// Package units says what metrics are measured in: it knows the spellings that senders use, reads a unit out of a name, and
// derives that of an expression.
package units

import "strings"

// spellings are the units that have a meaning to the page, and how senders write them: UCUM, which OpenTelemetry uses
// (https://ucum.org/ucum, read 2026-11), the base units of Prometheus
// (https://prometheus.io/docs/practices/naming/#base-units) and what people write. A spelling that is not here in its own
// case is looked for in lower case.
var spellings = map[string]string{
	"s": "seconds", "sec": "seconds", "secs": "seconds", "second": "seconds", "seconds": "seconds",
	"ms": "milliseconds", "msec": "milliseconds", "millisecond": "milliseconds", "milliseconds": "milliseconds",
	"us": "microseconds", "µs": "microseconds", "μs": "microseconds", "usec": "microseconds", "microsecond": "microseconds", "microseconds": "microseconds",
	"ns": "nanoseconds", "nsec": "nanoseconds", "nanosecond": "nanoseconds", "nanoseconds": "nanoseconds",
	"min": "minutes", "minute": "minutes", "minutes": "minutes",
	"h": "hours", "hr": "hours", "hour": "hours", "hours": "hours",
	"d": "days", "day": "days", "days": "days",
	"By": "bytes", "B": "bytes", "byte": "bytes", "bytes": "bytes",
	"KiBy": "kibibytes", "KiB": "kibibytes", "kibibytes": "kibibytes",
	"MiBy": "mebibytes", "MiB": "mebibytes", "mebibytes": "mebibytes",
	"GiBy": "gibibytes", "GiB": "gibibytes", "gibibytes": "gibibytes",
	"kBy": "kilobytes", "kB": "kilobytes", "kilobytes": "kilobytes",
	"MBy": "megabytes", "MB": "megabytes", "megabytes": "megabytes",
	"GBy": "gigabytes", "GB": "gigabytes", "gigabytes": "gigabytes",
	"bit": "bits", "bits": "bits",
	"%": "percent", "percent": "percent", "percentage": "percent",
	"1": "count", "count": "count", "none": "count", "ratio": "ratio",
	"Cel": "celsius", "°C": "celsius", "celsius": "celsius",
	"Hz": "hertz", "hertz": "hertz", "V": "volts", "volts": "volts", "A": "amperes", "amperes": "amperes",
	"W": "watts", "watts": "watts", "J": "joules", "joules": "joules", "m": "meters", "meters": "meters",
}

// inNames are those that names end in: whole words only, and none that means other things as well.
var inNames = map[string]bool{
	"seconds": true, "milliseconds": true, "microseconds": true, "nanoseconds": true, "bytes": true, "kilobytes": true,
	"megabytes": true, "bits": true, "percent": true, "ratio": true, "celsius": true, "hertz": true, "volts": true,
	"amperes": true, "watts": true, "joules": true, "meters": true,
}

// Most is how many bytes a unit may have.
const Most = 40

// Canonical is a unit as the page knows it: seconds for s, bytes/s for By/s. What is counted, in braces, is its own unit:
// requests for {requests}. What nobody knows stays as it is. The empty text is no unit.
func Canonical(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > Most {
		return ""
	}
	for _, per := range []string{"/s", "/sec", "/second"} {
		if base, ok := strings.CutSuffix(text, per); ok && base != "" {
			return Canonical(base) + "/s"
		}
	}
	if inner, ok := strings.CutPrefix(text, "{"); ok && strings.HasSuffix(inner, "}") {
		return strings.TrimSuffix(inner, "}")
	}
	if known, ok := spellings[text]; ok {
		return known
	}
	if known, ok := spellings[strings.ToLower(text)]; ok {
		return known
	}
	return text
}

// OfName is the unit that a metric's name says, as Prometheus has it: disk_io_seconds_total, app.heap.bytes. Empty when it says
// none.
func OfName(name string) string {
	for _, suffix := range []string{"_total", "_sum", "_bucket", "_max", "_min", lessSuffix} {
		name = strings.TrimSuffix(name, suffix)
	}
	last := name[strings.LastIndexAny(name, "._:")+1:]
	if last == name || !inNames[last] {
		return ""
	}
	return last
}

// lessSuffix is statsd's: what a counter was counted down by.
const lessSuffix = "_decrements"
