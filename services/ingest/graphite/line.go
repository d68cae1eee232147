package graphite

// One line: path[;tag=value…] value [timestamp]. Paths are kept as they are, dots and all.

import (
	"bytes"
	"math"
	"strconv"

	"cistern/services/ingest/lines"
	"cistern/services/store/tsdb"
)

// What is wrong with a line or a message; reasons of refusal.
const (
	BadLine    tsdb.Reason = "graphite_malformed" // not two or three fields
	BadTag     tsdb.Reason = "graphite_bad_tag"
	BadNumber  tsdb.Reason = "graphite_bad_value" // no decimal number, or not a finite one
	BadTime    tsdb.Reason = "graphite_bad_time"
	TooLong    tsdb.Reason = "graphite_line_too_long"
	BadPickle  tsdb.Reason = "graphite_bad_pickle"      // a message that is not a list, or not one we read
	LongPickle tsdb.Reason = "graphite_pickle_too_long" // its length was no length, and the connection is closed; or its points have more names than fit in memory
	NotStored  tsdb.Reason = "graphite_not_stored"      // the store took nothing at all when they came
)

// maxSeconds is the largest timestamp, in the year 5138; milliseconds taken for seconds are beyond it.
const maxSeconds = 1e11

// batch reads Graphite's forms into a batch.
type batch struct{ *lines.Batch }

// line takes one line. An empty one is none.
func (b batch) line(text []byte, now int64) {
	path, text := field(text)
	value, text := field(text)
	stamp, text := field(text)
	extra, _ := field(text)
	switch {
	case len(path) == 0:
		return
	case len(value) == 0 || len(extra) > 0:
		b.Refuse(BadLine)
		return
	}
	v, ok := parseNumber(value)
	if !ok {
		b.Refuse(BadNumber)
		return
	}
	t := now
	if len(stamp) > 0 {
		seconds, ok := parseNumber(stamp)
		if !ok {
			b.Refuse(BadTime)
			return
		}
		if t, ok = millis(seconds, now); !ok {
			b.Refuse(BadTime)
			return
		}
	}
	b.add(path, v, t)
}

// millis is a timestamp in milliseconds; -1 is now.
func millis(seconds float64, now int64) (int64, bool) {
	switch {
	case seconds == -1:
		return now, true
	case !(seconds >= 0 && seconds <= maxSeconds):
		return 0, false
	}
	return int64(math.Round(seconds * 1000)), true
}

// add makes a sample of a path with its tags; path is not kept.
func (b batch) add(path []byte, value float64, t int64) {
	name, tags, tagged := bytes.Cut(path, []byte{';'})
	b.Labels = append(b.Labels[:0], tsdb.Label{Name: tsdb.NameLabel, Value: lines.Borrow(name)})
	for tagged {
		var tag []byte
		tag, tags, tagged = bytes.Cut(tags, []byte{';'})
		key, value, ok := bytes.Cut(tag, []byte{'='})
		if !ok || len(key) == 0 || len(value) == 0 || string(key) == tsdb.NameLabel {
			b.Refuse(BadTag)
			return
		}
		if len(b.Labels) > 2*tsdb.MaxLabels {
			b.Refuse(tsdb.TooManyLabels)
			return
		}
		b.Tag(tsdb.Label{Name: lines.Borrow(key), Value: lines.Borrow(value)})
	}
	b.Add(tsdb.Sample{Kind: tsdb.Guess, Time: t, Value: value})
}

// field takes the first field off a line.
func field(text []byte) (first, rest []byte) {
	for len(text) > 0 && blank(text[0]) {
		text = text[1:]
	}
	for i, c := range text {
		if blank(c) {
			return text[:i], text[i:]
		}
	}
	return text, nil
}

func blank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

// parseNumber reads a finite decimal number.
func parseNumber(text []byte) (float64, bool) {
	v, err := strconv.ParseFloat(lines.Borrow(text), 64)
	// ParseFloat takes "inf", "nan" and hexadecimal too; only decimal numbers are meant here.
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || bytes.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	return v, true
}
