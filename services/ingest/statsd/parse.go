// Package statsd takes statsd packets: counters, gauges, timers, histograms, distributions and sets, with sample rates,
// DogStatsD's and Graphite's tags, over UDP, TCP and Unix datagrams. Once a second what came becomes samples: timers
// whole histograms, never a handful of percentiles. Names stay as they are sent.
package statsd

// One line of statsd: name:value|type[|@rate][|#tag:value,…][|Ttimestamp]. DogStatsD's further fields (|c:container, |e:,
// |card:) are left out; several values (name:1:2:3|ms) are taken, and so are Graphite's tags (name;tag=value) and
// Telegraf's (name,tag=value).

import (
	"bytes"
	"math"
	"strconv"
	"unsafe"

	"cistern/services/histogram"
	"cistern/services/store/tsdb"
)

// What is wrong with a line; reasons of refusal.
const (
	BadLine      tsdb.Reason = "statsd_malformed" // no name, no value, no type
	BadType      tsdb.Reason = "statsd_unknown_type"
	BadNumber    tsdb.Reason = "statsd_bad_value"
	BadRate      tsdb.Reason = "statsd_bad_rate"
	BadTime      tsdb.Reason = "statsd_bad_time"
	TooLong      tsdb.Reason = "statsd_line_too_long"
	Event        tsdb.Reason = "statsd_event"         // DogStatsD's events are no metrics
	ServiceCheck tsdb.Reason = "statsd_service_check" // nor are its service checks
	Names        tsdb.Reason = "statsd_too_many_names"
	Members      tsdb.Reason = "statsd_set_too_large"
	Unstored     tsdb.Reason = "statsd_unstored" // the store was out of order for too long
)

type metricType uint8

const (
	counter metricType = iota
	gauge
	timer        // ms: milliseconds, kept in seconds
	distribution // h, d: kept as they are
	set
)

// maxSeconds is the largest timestamp, in the year 5138; milliseconds taken for seconds are beyond it.
const maxSeconds = 1e11

// leastRate is the smallest sample rate that is believed: one in a thousand million.
const leastRate = 1e-9

// line is a parsed line; it shares the packet's memory.
type line struct {
	name   []byte // with Graphite's tags
	values []byte // one or more, separated by colons
	kind   metricType
	rate   float64 // leastRate ≤ rate ≤ 1
	tags   []byte  // DogStatsD's, without the #
	time   int64   // ms; 0 when the line has none
	packet int     // in which packet it came
	host   uint32  // the number of its sender's label host

	hash  uint64 // of name, kind, tags and host
	entry *entry // what may be it
}

func parseLine(text []byte, l *line) tsdb.Reason {
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 {
		if bytes.HasPrefix(text, []byte("_sc|")) {
			return ServiceCheck
		}
		return BadLine
	}
	if text[0] == '_' {
		if bytes.HasPrefix(text, []byte("_e{")) {
			return Event
		}
		if bytes.HasPrefix(text, []byte("_sc|")) {
			return ServiceCheck
		}
	}
	l.name, text = text[:colon], text[colon+1:]
	bar := bytes.IndexByte(text, '|')
	if bar <= 0 {
		return BadLine
	}
	l.values, text = text[:bar], text[bar+1:]
	l.rate, l.tags, l.time = 1, nil, 0
	var kind []byte
	kind, text = cutField(text)
	switch len(kind) {
	case 1:
		switch kind[0] {
		case 'c':
			l.kind = counter
		case 'g':
			l.kind = gauge
		case 'h', 'd':
			l.kind = distribution
		case 's':
			l.kind = set
		default:
			return BadType
		}
	case 2:
		if kind[0] != 'm' || kind[1] != 's' {
			return BadType
		}
		l.kind = timer
	case 0:
		return BadLine
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
		case '#':
			l.tags = extra[1:]
		case '@':
			rate, ok := parseNumber(extra[1:])
			if !ok || !(rate >= leastRate && rate <= 1) {
				return BadRate
			}
			l.rate = rate
		case 'T':
			seconds, ok := parseNumber(extra[1:])
			if !ok || !(seconds > 0 && seconds <= maxSeconds) || seconds != math.Trunc(seconds) {
				return BadTime
			}
			l.time = int64(seconds) * 1000
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

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// parseNumber reads a finite decimal number.
func parseNumber(text []byte) (float64, bool) {
	v, _, _, ok := parseDecimal(text)
	return v, ok
}

// parseDecimal is parseNumber, and also returns v as the sender wrote it: whole × 10^unit, to six digits.
func parseDecimal(text []byte) (v, whole float64, unit int, ok bool) {
	// Most have few digits: a whole number and a power of ten that are both exact, so that one division rounds once.
	digits, number, point, i := 0, uint64(0), -1, 0
	if len(text) > 0 && (text[0] == '-' || text[0] == '+') {
		i = 1
	}
	for ; i < len(text); i++ {
		c := text[i]
		if c >= '0' && c <= '9' {
			number = number*10 + uint64(c-'0')
			digits++
		} else if c == '.' && point < 0 {
			point = digits
		} else {
			return manyDigits(text)
		}
	}
	if digits == 0 {
		return 0, 0, 0, false
	}
	if digits > 15 {
		return manyDigits(text)
	}
	whole = float64(number)
	if text[0] == '-' {
		whole = -whole
	}
	if v = whole; point >= 0 {
		unit = point - digits
		v /= tens[-unit]
	}
	return v, whole, unit, true
}

func manyDigits(text []byte) (v, whole float64, unit int, ok bool) {
	if v, ok = parseSlowly(text); !ok {
		return 0, 0, 0, false
	}
	if bin, in := histogram.BinOf(v); in {
		whole, unit = bin.Decimal(v)
	}
	return v, whole, unit, true
}

func parseSlowly(text []byte) (float64, bool) {
	// ParseFloat takes "inf", "nan", hexadecimal and underscores too; only decimal numbers are meant here.
	for _, c := range text {
		if (c < '0' || c > '9') && c != '.' && c != '-' && c != '+' && c != 'e' && c != 'E' {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(borrow(text), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0, false
	}
	return v, true
}

func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// labelsOf makes a name with its tags of all three kinds labels. Of a tag that is there twice the last one counts.
func labelsOf(name, tags []byte) ([]tsdb.Label, tsdb.Reason) {
	name, graphite, tagged := bytes.Cut(name, []byte(";"))
	name, telegraf := cutTelegraf(name)
	if len(name) == 0 {
		return nil, BadLine
	}
	labels := []tsdb.Label{{Name: tsdb.NameLabel, Value: string(name)}}
	for len(telegraf) > 0 {
		var tag []byte
		tag, telegraf, _ = bytes.Cut(telegraf, []byte(","))
		key, value, _ := bytes.Cut(tag, []byte("="))
		labels = appendTag(labels, string(key), string(value))
		if len(labels) > tsdb.MaxLabels {
			return nil, tsdb.TooManyLabels
		}
	}
	for tagged {
		var tag []byte
		tag, graphite, tagged = bytes.Cut(graphite, []byte(";"))
		key, value, ok := bytes.Cut(tag, []byte("="))
		if !ok || len(key) == 0 {
			return nil, BadLine
		}
		labels = appendTag(labels, string(key), string(value))
		if len(labels) > tsdb.MaxLabels {
			return nil, tsdb.TooManyLabels
		}
	}
	// "env:prod,canary" is env="prod", canary="true".
	for len(tags) > 0 {
		var tag []byte
		tag, tags, _ = bytes.Cut(tags, []byte(","))
		key, value, valued := bytes.Cut(tag, []byte(":"))
		if len(key) == 0 {
			continue
		}
		if !valued {
			value = []byte("true")
		}
		labels = appendTag(labels, string(key), string(value))
		if len(labels) > tsdb.MaxLabels {
			return nil, tsdb.TooManyLabels
		}
	}
	return labels, ""
}

// cutTelegraf takes tags of the form name,tag=value,tag=value off a name. A name whose commas begin anything else is one.
func cutTelegraf(name []byte) (plain, tags []byte) {
	plain, tags, found := bytes.Cut(name, []byte(","))
	if !found || len(plain) == 0 {
		return name, nil
	}
	for rest := tags; rest != nil; {
		tag, more, another := bytes.Cut(rest, []byte(","))
		if bytes.IndexByte(tag, '=') <= 0 {
			return name, nil
		}
		if rest = more; !another {
			break
		}
	}
	return plain, tags
}

func appendTag(labels []tsdb.Label, name, value string) []tsdb.Label {
	if name == tsdb.NameLabel { // that place is taken
		name = "name"
	}
	for i := range labels {
		if labels[i].Name == name {
			labels[i].Value = value
			return labels
		}
	}
	return append(labels, tsdb.Label{Name: name, Value: value})
}
