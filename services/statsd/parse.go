// Package statsd takes statsd packets: counters, gauges, timers, histograms, distributions and sets, with sample rates
// and DogStatsD's tags, over UDP and TCP. Once a second what came becomes samples: timers whole histograms, never a
// handful of percentiles.
package statsd

// One line of statsd: name:value|type[|@rate][|#tag:value,…]. DogStatsD's further fields (|c:container, |T timestamp)
// are left out; several values (name:1:2:3|ms) are taken.

import (
	"bytes"
	"math"
	"strconv"
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
}

func parseLine(text []byte) (l line, reason tsdb.Reason) {
	if bytes.HasPrefix(text, []byte("_e{")) || bytes.HasPrefix(text, []byte("_sc|")) {
		return l, NotMetric
	}
	colon := bytes.IndexByte(text, ':')
	if colon <= 0 {
		return l, BadLine
	}
	l.name, text = text[:colon], text[colon+1:]
	bar := bytes.IndexByte(text, '|')
	if bar <= 0 {
		return l, BadLine
	}
	l.values, text = text[:bar], text[bar+1:]
	l.rate = 1
	kind, text := cutField(text)
	switch string(kind) {
	case "c":
		l.kind = counter
	case "g":
		l.kind = gauge
	case "ms":
		l.kind = timer
	case "h", "d":
		l.kind = distribution
	case "s":
		l.kind = set
	default:
		return l, BadType
	}
	for len(text) > 0 {
		var extra []byte
		extra, text = cutField(text)
		if len(extra) == 0 {
			continue
		}
		switch extra[0] {
		case '@':
			rate, err := strconv.ParseFloat(borrow(extra[1:]), 64)
			if err != nil || !(rate > 0 && rate <= 1) {
				return l, BadRate
			}
			l.rate = rate
		case '#':
			l.tags = extra[1:]
		}
	}
	return l, ""
}

func cutField(text []byte) (field, rest []byte) {
	if bar := bytes.IndexByte(text, '|'); bar >= 0 {
		return text[:bar], text[bar+1:]
	}
	return text, nil
}

// parseNumber reads a finite number.
func parseNumber(text []byte) (float64, bool) {
	// Most are small whole numbers.
	if n := len(text); n > 0 && n <= 15 {
		v, whole := int64(0), true
		for _, c := range text {
			if c < '0' || c > '9' {
				whole = false
				break
			}
			v = v*10 + int64(c-'0')
		}
		if whole {
			return float64(v), true
		}
	}
	v, err := strconv.ParseFloat(borrow(text), 64)
	// ParseFloat takes "inf", "nan", hexadecimal and underscores too; only decimal numbers are meant here.
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || bytes.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	return v, true
}

func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// appendName appends a metric's or label's name with everything that Prometheus' names do not allow made "_".
func appendName(buffer, name []byte, metric bool) []byte {
	for i, c := range name {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '_', c == ':' && metric:
		case c >= '0' && c <= '9':
			if i == 0 {
				buffer = append(buffer, '_')
			}
		default:
			c = '_'
		}
		buffer = append(buffer, c)
	}
	return buffer
}

// parseTags makes DogStatsD's tags labels: "env:prod,canary" is env="prod", canary="true". Of a tag that is there twice
// the last one counts. Invalid UTF-8 becomes "_" too.
func parseTags(labels []tsdb.Label, tags []byte) []tsdb.Label {
	for len(tags) > 0 {
		tag := tags
		if comma := bytes.IndexByte(tags, ','); comma >= 0 {
			tag, tags = tags[:comma], tags[comma+1:]
		} else {
			tags = nil
		}
		name, value, valued := bytes.Cut(tag, []byte(":"))
		if len(name) == 0 {
			continue
		}
		if !valued {
			value = []byte("true")
		}
		l := tsdb.Label{Name: string(appendName(nil, name, false)), Value: string(bytes.ToValidUTF8(value, []byte("_")))}
		if l.Name == tsdb.NameLabel {
			l.Name = "name"
		}
		replaced := false
		for i := range labels {
			if labels[i].Name == l.Name {
				labels[i], replaced = l, true
			}
		}
		if !replaced {
			labels = append(labels, l)
		}
	}
	return labels
}
