package influx

// The line protocol: measurement[,tag=value…] field=value[,field=value…] [timestamp]. A field that is a number, or true or
// false, is a sample of the series measurement_field with the tags as labels, as VictoriaMetrics and Telegraf name them.

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"

	"cistern/services/ingest/lines"
	"cistern/services/store/tsdb"
)

// What is wrong with a line or a field; reasons of refusal.
const (
	BadLine   tsdb.Reason = "influx_malformed"
	BadNumber tsdb.Reason = "influx_bad_value"
	BadTime   tsdb.Reason = "influx_bad_time"
	BadTag    tsdb.Reason = "influx_bad_tag"
	TooLong   tsdb.Reason = "influx_line_too_long"
	// Text is a field that is a text: it is left out, and the other fields of its line are stored.
	Text      tsdb.Reason = "influx_text"
	NotStored tsdb.Reason = "influx_not_stored" // the store took nothing at all when they came by a socket
)

// maxFields is how many fields a line may have.
const maxFields = 10_000

// fault is what is wrong with a line.
type fault struct {
	reason tsdb.Reason
	detail string
}

func bad(reason tsdb.Reason, format string, args ...any) *fault {
	return &fault{reason, fmt.Sprintf(format, args...)}
}

// target is where the points of a line go.
type target interface {
	// add takes a sample of the series that labels name. Its texts are only valid during the call.
	add(labels []tsdb.Label, sample tsdb.Sample)
	// text counts a field that is a text.
	text()
}

// parser reads lines; its memory is used again. Not safe for several goroutines.
type parser struct {
	now  int64  // ms, for lines without a time
	unit int64  // ns, of timestamps
	db   string // the label db of lines that have no such tag; "" for none
	text []byte // what the escapes of names and tags become
	tags []tsdb.Label
	all  []tsdb.Label // the tags, and the name of a field's series
	name []byte
	made []field
}

type field struct {
	name  []byte
	value float64
}

// line takes one line from the front of text and returns what is left behind it. A line is stored whole, or not at all: but
// for fields that are texts. Empty lines and comments are none.
func (p *parser) line(text []byte, to target) (rest []byte, wrong *fault) {
	s := scanner{rest: text}
	for len(s.rest) > 0 && (s.rest[0] == ' ' || s.rest[0] == '\t') {
		s.rest = s.rest[1:]
	}
	if s.ended() || s.rest[0] == '#' {
		return s.next(), nil
	}
	if wrong = p.parse(&s, to); wrong != nil {
		return s.next(), wrong
	}
	return s.next(), nil
}

func (p *parser) parse(s *scanner, to target) *fault {
	p.text, p.tags, p.made = p.text[:0], p.tags[:0], p.made[:0]
	measurement := p.take(s, ", ")
	if len(measurement) == 0 {
		return bad(BadLine, "the measurement is missing")
	}
	for s.skip(',') {
		key := p.take(s, ",= ")
		if len(key) == 0 || !s.skip('=') {
			return bad(BadTag, "a tag must be name=value")
		}
		value := p.take(s, ",= ")
		if !s.at(", ") {
			return bad(BadTag, "the value of the tag %.60q has a = or an end of line behind it: fields are missing, or it must be escaped", key)
		}
		if string(key) == tsdb.NameLabel {
			return bad(BadTag, "no tag can be named %s", tsdb.NameLabel)
		}
		if len(p.tags) > 2*tsdb.MaxLabels {
			return bad(tsdb.TooManyLabels, "there are more than %d tags", tsdb.MaxLabels)
		}
		p.tag(tsdb.Label{Name: lines.Borrow(key), Value: lines.Borrow(value)})
	}
	s.blanks()
	texts := 0
	for {
		key := p.take(s, ",= ")
		if len(key) == 0 || !s.skip('=') {
			return bad(BadLine, "fields are missing: they must be name=value")
		}
		value, isText, wrong := s.value()
		if wrong != nil {
			wrong.detail = fmt.Sprintf("the field %.60q: %s", key, wrong.detail)
			return wrong
		}
		if isText {
			texts++
		} else {
			p.made = append(p.made, field{key, value})
		}
		if len(p.made)+texts > maxFields {
			return bad(BadLine, "there are more than %d fields", maxFields)
		}
		if !s.skip(',') {
			break
		}
	}
	t, wrong := p.time(s)
	if wrong != nil {
		return wrong
	}
	for range texts {
		to.text()
	}
	if p.db != "" && !p.has("db") {
		p.tags = append(p.tags, tsdb.Label{Name: "db", Value: p.db})
	}
	p.name = append(append(p.name[:0], measurement...), '_')
	prefix := len(p.name)
	for _, one := range p.made {
		p.name = append(p.name[:prefix], one.name...)
		// AppendKey puts them in order: each field has a list of its own.
		p.all = append(append(p.all[:0], p.tags...), tsdb.Label{Name: tsdb.NameLabel, Value: lines.Borrow(p.name)})
		to.add(p.all, tsdb.Sample{Kind: tsdb.Guess, Time: t, Value: one.value})
	}
	return nil
}

// time takes the timestamp, which must be the line's end.
func (p *parser) time(s *scanner) (int64, *fault) {
	s.blanks()
	text := s.word()
	s.blanks()
	if !s.ended() {
		return 0, bad(BadLine, "there is something behind the timestamp")
	}
	if len(text) == 0 {
		return p.now, nil
	}
	stamp, err := strconv.ParseInt(lines.Borrow(text), 10, 64)
	if err != nil {
		return 0, bad(BadTime, "the timestamp %.40q is not a whole number", text)
	}
	const millisecond = 1_000_000
	if p.unit >= millisecond {
		factor := p.unit / millisecond
		if stamp > math.MaxInt64/factor || stamp < math.MinInt64/factor {
			return 0, bad(BadTime, "the timestamp %d is beyond all times: look at the precision", stamp)
		}
		return stamp * factor, nil
	}
	divisor := millisecond / p.unit
	t := stamp / divisor
	if stamp%divisor < 0 {
		t--
	}
	return t, nil
}

func (p *parser) has(name string) bool {
	for i := range p.tags {
		if p.tags[i].Name == name {
			return true
		}
	}
	return false
}

// tag adds a tag; of one that is there twice the last one counts.
func (p *parser) tag(l tsdb.Label) {
	for i := range p.tags {
		if p.tags[i].Name == l.Name {
			p.tags[i] = l
			return
		}
	}
	p.tags = append(p.tags, l)
}

// take is a name or a tag's value, up to one of stops that is not escaped, or the line's end. Before what has a meaning a
// backslash escapes; elsewhere, and so before another one, it stands for itself: InfluxDB's clients write it so.
func (p *parser) take(s *scanner, stops string) []byte {
	plain := true
	i := 0
	for ; i < len(s.rest); i++ {
		c := s.rest[i]
		if c == '\n' || strings.IndexByte(stops, c) >= 0 {
			break
		}
		if c == '\\' && i+1 < len(s.rest) && strings.IndexByte(stops, s.rest[i+1]) >= 0 {
			plain = false
			i++
		}
	}
	taken := s.rest[:i]
	s.rest = s.rest[i:]
	if n := len(taken); len(s.rest) == 0 || s.rest[0] == '\n' {
		taken = bytes.TrimSuffix(taken[:n], []byte{'\r'})
	}
	if plain {
		return taken
	}
	start := len(p.text)
	for i := 0; i < len(taken); i++ {
		if taken[i] == '\\' && i+1 < len(taken) && strings.IndexByte(stops, taken[i+1]) >= 0 {
			i++
		}
		p.text = append(p.text, taken[i])
	}
	return p.text[start:len(p.text):len(p.text)]
}

// scanner walks through text.
type scanner struct{ rest []byte }

// next is what is behind the line.
func (s *scanner) next() []byte {
	if end := bytes.IndexByte(s.rest, '\n'); end >= 0 {
		return s.rest[end+1:]
	}
	return nil
}

func (s *scanner) ended() bool {
	return len(s.rest) == 0 || s.rest[0] == '\n' || s.rest[0] == '\r' && (len(s.rest) == 1 || s.rest[1] == '\n')
}

func (s *scanner) at(stops string) bool {
	return len(s.rest) > 0 && strings.IndexByte(stops, s.rest[0]) >= 0
}

func (s *scanner) skip(c byte) bool {
	if len(s.rest) == 0 || s.rest[0] != c {
		return false
	}
	s.rest = s.rest[1:]
	return true
}

func (s *scanner) blanks() {
	for s.skip(' ') {
	}
}

// word is what comes before a blank or the line's end.
func (s *scanner) word() []byte {
	i := 0
	for i < len(s.rest) && s.rest[i] != ' ' && s.rest[i] != '\n' {
		i++
	}
	word := s.rest[:i]
	s.rest = s.rest[i:]
	return bytes.TrimSuffix(word, []byte{'\r'})
}

// value takes a field's value. Of a text only its end is looked for: it may hold anything, lines too.
func (s *scanner) value() (v float64, isText bool, wrong *fault) {
	if s.skip('"') {
		for i := 0; i < len(s.rest); i++ {
			switch s.rest[i] {
			case '\\':
				i++
			case '"':
				s.rest = s.rest[i+1:]
				if !s.at(", \n\r") && len(s.rest) > 0 {
					return 0, false, bad(BadLine, "there is something behind the text")
				}
				return 0, true, nil
			}
		}
		return 0, false, bad(BadLine, "the text has no end")
	}
	i := 0
	for i < len(s.rest) && s.rest[i] != ',' && s.rest[i] != ' ' && s.rest[i] != '\n' {
		i++
	}
	word := bytes.TrimSuffix(s.rest[:i], []byte{'\r'})
	s.rest = s.rest[i:]
	if len(word) == 0 {
		return 0, false, bad(BadNumber, "the value is missing")
	}
	switch string(word) {
	case "t", "T", "true", "True", "TRUE":
		return 1, false, nil
	case "f", "F", "false", "False", "FALSE":
		return 0, false, nil
	}
	digits, err := word[:len(word)-1], error(nil)
	switch word[len(word)-1] {
	case 'i':
		var n int64
		n, err = strconv.ParseInt(lines.Borrow(digits), 10, 64)
		v = float64(n)
	case 'u':
		var n uint64
		n, err = strconv.ParseUint(lines.Borrow(digits), 10, 64)
		v = float64(n)
	default:
		v, err = strconv.ParseFloat(lines.Borrow(word), 64)
		// ParseFloat takes "inf", "nan" and hexadecimal too; only decimal numbers are meant here.
		if err == nil && (math.IsInf(v, 0) || math.IsNaN(v) || bytes.ContainsAny(word, "xXpP_")) {
			err = strconv.ErrSyntax
		}
	}
	if err != nil {
		return 0, false, bad(BadNumber, "%.60q is not a finite number, true, false or a quoted text", word)
	}
	return v, false, nil
}
