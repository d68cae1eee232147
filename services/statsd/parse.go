// Package statsd takes statsd packets: counters, gauges, timers, histograms, distributions and sets, with sample rates
// and the tags of DogStatsD, Graphite and InfluxDB, over UDP, TCP and Unix datagrams. Once a second what came becomes
// samples: timers whole histograms, never a handful of percentiles.
package statsd

// One line of statsd: name:value|type[|@rate][|#tag:value,…]. Several values (name:1:2:3|ms) and several metrics of one
// name (name:1|c:2|ms) are taken. DogStatsD's container (|c:), external data (|e:), cardinality (|card:) and timestamp
// (|T) are passed over: what is sent late counts in the second in which it comes.

import (
	"bytes"
	"math"
	"strconv"
	"unicode/utf8"
	"unsafe"

	"cistern/services/tsdb"
)

// What is wrong with a line; reasons of refusal.
const (
	BadLine   tsdb.Reason = "statsd_malformed" // no name, no value, no type
	BadType   tsdb.Reason = "statsd_unknown_type"
	BadNumber tsdb.Reason = "statsd_bad_value"
	BadRate   tsdb.Reason = "statsd_bad_rate"
	TooLong   tsdb.Reason = "statsd_line_too_long"
	NotMetric tsdb.Reason = "statsd_event" // DogStatsD's events and service checks, which are no metrics
	// Decrement is a negative counter: a total that shrinks would look like a restart, and every rate would be wrong.
	Decrement tsdb.Reason = "statsd_negative_counter"
	TooMany   tsdb.Reason = "statsd_names_limit"
	// NotStored is what the store did not take as a whole.
	NotStored tsdb.Reason = "statsd_not_stored"
)

type metricType uint8

const (
	counter metricType = iota
	gauge
	timer        // ms: milliseconds, kept in seconds
	distribution // h, d: kept as they are
	set
)

// line is a parsed line; it shares the packet's memory.
type line struct {
	name   []byte
	values []byte // one or more, separated by colons
	kind   metricType
	rate   float64 // 0 < rate ≤ 1
	tags   []byte  // without the #
	more   []byte  // value|type… of the same name again
}

func parseLine(text []byte) (l line, reason tsdb.Reason) {
	if len(text) > 3 && text[0] == '_' && (text[1] == 'e' && text[2] == '{' || text[1] == 's' && text[2] == 'c' && text[3] == '|') {
		return l, NotMetric
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 {
		return l, BadLine
	}
	l.name = text[:colon]
	return l, l.parse(text[colon+1:])
}

// parse reads what is behind a name.
func (l *line) parse(text []byte) tsdb.Reason {
	bar := bytes.IndexByte(text, '|')
	if bar <= 0 {
		return BadLine
	}
	l.values, l.rate, l.tags, l.more = text[:bar], 1, nil, nil
	text = text[bar+1:]
	var kind []byte
	switch { // nearly always
	case len(text) == 1:
		kind, text = text, nil
	case len(text) == 2 && text[1] == 's':
		kind, text = text, nil
	default:
		kind, text = cutField(text)
		if i := bytes.IndexByte(kind, ':'); i >= 0 {
			kind, text, l.more = kind[:i], nil, behind(kind[i+1:], text)
		}
	}
	switch {
	case len(kind) == 1 && kind[0] == 'c':
		l.kind = counter
	case len(kind) == 1 && kind[0] == 'g':
		l.kind = gauge
	case len(kind) == 2 && kind[0] == 'm' && kind[1] == 's':
		l.kind = timer
	case len(kind) == 1 && (kind[0] == 'h' || kind[0] == 'd'):
		l.kind = distribution
	case len(kind) == 1 && kind[0] == 's':
		l.kind = set
	default:
		return BadType
	}
	for len(text) > 0 {
		var extra []byte
		extra, text = cutField(text)
		if len(extra) == 0 {
			continue
		}
		switch extra[0] {
		case '@':
			if i := bytes.IndexByte(extra, ':'); i >= 0 {
				extra, text, l.more = extra[:i], nil, behind(extra[i+1:], text)
			}
			rate, ok := parseNumber(extra[1:])
			if !ok || !(rate > 0 && rate <= 1) {
				return BadRate
			}
			l.rate = rate
		case '#':
			l.tags = extra[1:]
		}
	}
	return ""
}

func cutField(text []byte) (field, rest []byte) {
	if bar := bytes.IndexByte(text, '|'); bar >= 0 {
		return text[:bar], text[bar+1:]
	}
	return text, nil
}

// behind is what stood behind a colon within a field, to the line's end: rest lies behind field in memory, if there is
// any.
func behind(field, rest []byte) []byte {
	if rest == nil {
		return field
	}
	return field[:len(field)+1+len(rest)]
}

var powersOfTen = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseNumber reads a finite decimal number.
func parseNumber(text []byte) (float64, bool) {
	// Most are short: a whole number below 2^53 divided by a power of ten is the nearest double.
	if n := len(text); n > 0 && n <= 15 {
		v, point := int64(0), -1
		for i, c := range text {
			if c >= '0' && c <= '9' {
				v = v*10 + int64(c-'0')
			} else if c == '.' && point < 0 && n > 1 {
				point = i
			} else {
				return parseAnyNumber(text)
			}
		}
		if point < 0 {
			return float64(v), true
		}
		return float64(v) / powersOfTen[n-1-point], true
	}
	return parseAnyNumber(text)
}

func parseAnyNumber(text []byte) (float64, bool) {
	v, err := strconv.ParseFloat(borrow(text), 64)
	// ParseFloat takes "inf", "nan", hexadecimal and underscores too; only decimal numbers are meant here.
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || bytes.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	return v, true
}

func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// clean is a name as it is kept: as it was sent, dots, slashes and all, but for white space, control characters and what
// is not UTF-8, which become "_".
func clean(name []byte) string {
	if !utf8.Valid(name) {
		name = bytes.ToValidUTF8(name, []byte("_"))
	}
	return string(bytes.Map(func(r rune) rune {
		if r <= ' ' || r >= 0x7f && r <= 0xa0 || r == 0x2028 || r == 0x2029 {
			return '_'
		}
		return r
	}, name))
}

// labelsOf makes a metric's labels: of its name, and of its tags. Of a tag that is there twice the last one counts.
func labelsOf(name, tags []byte) []tsdb.Label {
	name, own, comma := splitName(name)
	labels := []tsdb.Label{{Name: tsdb.NameLabel, Value: clean(name)}}
	for len(own) > 0 {
		var one []byte
		one, own, _ = bytes.Cut(own, comma)
		tag, value, _ := bytes.Cut(one, []byte("="))
		labels = addTag(labels, tag, value)
	}
	// DogStatsD: "env:prod,canary" is env="prod", canary="true".
	for len(tags) > 0 {
		var one []byte
		one, tags, _ = bytes.Cut(tags, []byte(","))
		tag, value, valued := bytes.Cut(one, []byte(":"))
		if len(tag) == 0 {
			continue
		}
		if !valued {
			value = []byte("true")
		}
		labels = addTag(labels, tag, value)
	}
	return labels
}

func addTag(labels []tsdb.Label, name, value []byte) []tsdb.Label {
	l := tsdb.Label{Name: clean(name), Value: string(bytes.ToValidUTF8(value, []byte("_")))}
	if l.Name == tsdb.NameLabel {
		l.Name = "name"
	}
	for i := range labels {
		if labels[i].Name == l.Name {
			labels[i] = l
			return labels
		}
	}
	return append(labels, l)
}

// splitName parts a name from the tags in it: name;a=b;c=d as Graphite has it, name,a=b,c=d as InfluxDB, name#a=b,c=d as
// Librato. When one of the parts is not key=value all is the name.
func splitName(name []byte) (bare, tags, comma []byte) {
	i := bytes.IndexAny(name, ";,#")
	if i <= 0 {
		return name, nil, nil
	}
	comma = []byte(",")
	if name[i] == ';' {
		comma = []byte(";")
	}
	for rest := name[i+1:]; ; {
		one, after, more := bytes.Cut(rest, comma)
		key, value, ok := bytes.Cut(one, []byte("="))
		if !ok || len(key) == 0 || len(value) == 0 {
			return name, nil, nil
		}
		if !more {
			return name[:i], name[i+1:], comma
		}
		rest = after
	}
}
