// Package graphite takes what Graphite's senders send: plaintext lines over TCP and UDP, and carbon's pickled batches
// over TCP. Names keep their dots, tags (;a=b) become labels. Everything is a gauge: Graphite does not say more.
//
// There is no answer in these protocols. A line that is refused is counted and the connection goes on; when nothing can
// be stored, what comes by TCP is held until it can, so that the sender's own queue fills, and what comes by UDP is
// counted as lost.
package graphite

// One line: name[;tag=value…] value time. The time is in seconds since 1970, with a fraction if one likes; -1, N, now
// and a time that is missing are the moment of arrival.

import (
	"bytes"
	"context"
	"math"
	"strconv"
	"sync"
	"time"
	"unicode/utf8"
	"unsafe"

	"cistern/services/journal"
	"cistern/services/tsdb"
)

// What is wrong with a line; reasons of refusal.
const (
	BadLine   tsdb.Reason = "graphite_malformed" // not name, value and time
	BadNumber tsdb.Reason = "graphite_bad_value" // NaN and infinities too: carbon does not keep them either
	BadTime   tsdb.Reason = "graphite_bad_time"
	BadTag    tsdb.Reason = "graphite_bad_tag"
	TooLong   tsdb.Reason = "graphite_line_too_long"
	BadPickle tsdb.Reason = "graphite_bad_pickle" // a batch that cannot be read, or that is too large
	// NotStored is what came by UDP while nothing could be stored.
	NotStored tsdb.Reason = "graphite_not_stored"
)

const (
	maxLine = 8 << 10
	maxTags = 48
)

// decoder turns lines into samples. Its memory is used again.
type decoder struct {
	now     func() time.Time
	samples []tsdb.Sample
	keys    []byte
	labels  []tsdb.Label
	refused map[tsdb.Reason]int
}

func newDecoder() *decoder { return &decoder{now: time.Now, refused: map[tsdb.Reason]int{}} }

func (d *decoder) reset() {
	d.samples, d.keys = d.samples[:0], d.keys[:0]
	clear(d.refused)
}

// lines takes lines separated by newlines.
func (d *decoder) lines(text []byte) {
	now := d.now().UnixMilli()
	for len(text) > 0 {
		var line []byte
		if end := bytes.IndexByte(text, '\n'); end >= 0 {
			line, text = text[:end], text[end+1:]
		} else {
			line, text = text, nil
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if reason := d.line(line, now); reason != "" {
			d.refused[reason]++
		}
	}
}

func (d *decoder) line(line []byte, now int64) tsdb.Reason {
	if len(line) > maxLine {
		return TooLong
	}
	name, rest := field(line)
	number, rest := field(rest)
	at, rest := field(rest)
	if len(number) == 0 || len(rest) > 0 {
		return BadLine
	}
	value, ok := parseNumber(number)
	if !ok {
		return BadNumber
	}
	ms := now
	if len(at) > 0 && string(at) != "-1" && string(at) != "N" && string(at) != "now" {
		seconds, ok := parseNumber(at)
		if !ok {
			return BadTime
		}
		if ms, ok = milliseconds(seconds); !ok {
			return BadTime
		}
	}
	return d.add(name, value, ms)
}

// field takes a word off the front of line.
func field(line []byte) (word, rest []byte) {
	for i, c := range line {
		if c == ' ' || c == '\t' {
			rest = line[i:]
			for len(rest) > 0 && (rest[0] == ' ' || rest[0] == '\t') {
				rest = rest[1:]
			}
			return line[:i], rest
		}
	}
	return line, nil
}

func milliseconds(seconds float64) (int64, bool) {
	if !(math.Abs(seconds) < 1e12) {
		return 0, false
	}
	return int64(math.Round(seconds * 1000)), true
}

// parseNumber reads a finite decimal number.
func parseNumber(text []byte) (float64, bool) {
	v, err := strconv.ParseFloat(borrow(text), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) || bytes.ContainsAny(text, "xXpP_") {
		return 0, false
	}
	return v, true
}

func borrow(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// add makes a sample. The key's memory is the decoder's.
func (d *decoder) add(name []byte, value float64, ms int64) tsdb.Reason {
	bare, tags, tagged := bytes.Cut(name, []byte(";"))
	if len(bare) == 0 {
		return BadLine
	}
	d.labels = append(d.labels[:0], tsdb.Label{Name: tsdb.NameLabel, Value: valid(bare)})
	for tagged {
		var tag []byte
		tag, tags, tagged = bytes.Cut(tags, []byte(";"))
		key, value, ok := bytes.Cut(tag, []byte("="))
		// As Graphite has it: neither is empty, ! and ^ are for asking, and ~ would be a pattern.
		if !ok || len(key) == 0 || len(value) == 0 || value[0] == '~' || bytes.ContainsAny(key, "!^") || len(d.labels) > maxTags {
			return BadTag
		}
		l := tsdb.Label{Name: valid(key), Value: valid(value)}
		if l.Name == tsdb.NameLabel {
			l.Name = "name"
		}
		replaced := false
		for i := range d.labels {
			if d.labels[i].Name == l.Name { // the last one counts, as in carbon
				d.labels[i], replaced = l, true
			}
		}
		if !replaced {
			d.labels = append(d.labels, l)
		}
	}
	start := len(d.keys)
	keys, err := tsdb.AppendKey(d.keys, d.labels) // keys made before stay in the old array when this moves it
	if err != nil {
		if bad, ok := err.(*tsdb.KeyError); ok {
			return bad.Reason
		}
		return BadLine
	}
	d.keys = keys
	d.samples = append(d.samples, tsdb.Sample{Key: keys[start:len(keys):len(keys)], Kind: tsdb.Gauge, Time: ms, Value: value})
	return ""
}

// valid is text with what is not UTF-8 made "_"; it shares text's memory when it can.
func valid(text []byte) string {
	if utf8.Valid(text) {
		return borrow(text)
	}
	return string(bytes.ToValidUTF8(text, []byte("_")))
}

// Options choose how the input behaves; zero values mean the defaults named here.
type Options struct {
	Durability journal.Durability // interval
	Report     func(error)        // is told when storing begins to fail
}

// sink stores what decoders made.
type sink struct {
	store      tsdb.Ingester
	durability journal.Durability
	report     func(error)

	mu      sync.Mutex
	failing bool
}

func newSink(store tsdb.Ingester, options Options) *sink {
	if options.Durability == "" {
		options.Durability = journal.Interval
	}
	if options.Report == nil {
		options.Report = func(error) {}
	}
	return &sink{store: store, durability: options.Durability, report: options.Report}
}

// put stores what d holds. When the store takes nothing it tries again every half second until ctx ends, which patient
// says is wanted.
func (s *sink) put(ctx context.Context, d *decoder, patient bool) {
	for reason, n := range d.refused {
		s.store.Reject(reason, n)
	}
	for len(d.samples) > 0 {
		_, err := s.store.Ingest(context.WithoutCancel(ctx), "graphite", d.samples, s.durability)
		s.mu.Lock()
		news := err != nil && !s.failing
		s.failing = err != nil
		s.mu.Unlock()
		if news {
			s.report(err)
		}
		if err == nil {
			return
		}
		if patient {
			select {
			case <-time.After(500 * time.Millisecond):
				continue
			case <-ctx.Done():
			}
		}
		s.store.Reject(NotStored, len(d.samples))
		return
	}
}
