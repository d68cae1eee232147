package graphite

// Carbon's pickle messages: [(path, (timestamp, value)), …] as Python's pickle module writes it in the protocols 0 to 5.
// Only the opcodes that lists, tuples, strings and numbers need are understood: there is none here that could make an
// object or call anything, and whatever else comes makes the message unreadable.

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"cistern/services/ingest/lines"
)

// Limits of one message. Carbon's own is 1 MiB.
const (
	maxPickle = 2 << 20
	// maxValues bounds what is held while decoding, about 100 bytes each: a data point is five values and three memos.
	maxValues = 256 << 10
	// maxMarks is how deep lists and tuples may be open; the form has three.
	maxMarks = 16
	// maxKeys bounds the bytes of a message's keys: a long path may be referred to as often as there are values.
	maxKeys = 16 << 20
	// maxPath is how long a path with its tags may be: as long as a line.
	maxPath = lines.MaxLine
)

var errPickle = errors.New("this pickle is not carbon's")

type pickleKind uint8

const (
	nothing pickleKind = iota // None, and True and False, which are no numbers here
	number
	text
	tuple
	list
)

type pickled struct {
	kind   pickleKind
	number float64
	text   []byte
	items  []pickled  // of a tuple
	list   *[]pickled // a list grows after it was memoized
}

type unpickler struct {
	rest  []byte
	stack []pickled
	marks []int // where on the stack
	memo  map[uint64]pickled
	made  int
}

// unpickle reads a message and returns the items of its list, which share its memory.
func unpickle(message []byte) ([]pickled, error) {
	u := unpickler{rest: message, memo: map[uint64]pickled{}}
	for {
		op, err := u.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			break
		}
		if err := u.step(op[0]); err != nil {
			return nil, err
		}
	}
	if len(u.rest) > 0 || len(u.stack) != 1 || len(u.marks) != 0 || u.stack[0].kind != list {
		return nil, errPickle
	}
	return *u.stack[0].list, nil
}

func (u *unpickler) take(n uint64) ([]byte, error) {
	if n > uint64(len(u.rest)) {
		return nil, errPickle
	}
	front := u.rest[:n:n]
	u.rest = u.rest[n:]
	return front, nil
}

// little takes a little-endian number of n bytes.
func (u *unpickler) little(n uint64) (uint64, error) {
	raw, err := u.take(n)
	if err != nil {
		return 0, err
	}
	var wide [8]byte
	copy(wide[:], raw)
	return binary.LittleEndian.Uint64(wide[:]), nil
}

// line takes the text up to a newline.
func (u *unpickler) line() ([]byte, error) {
	end := bytes.IndexByte(u.rest, '\n')
	if end < 0 {
		return nil, errPickle
	}
	front := u.rest[:end:end]
	u.rest = u.rest[end+1:]
	return front, nil
}

// count counts a value that is kept.
func (u *unpickler) count() error {
	if u.made++; u.made > maxValues {
		return fmt.Errorf("%w: it holds more than %d values", errPickle, maxValues)
	}
	return nil
}

func (u *unpickler) push(v pickled) error {
	if err := u.count(); err != nil {
		return err
	}
	u.stack = append(u.stack, v)
	return nil
}

// base is how much of the stack is closed to pops: what lies under the last mark.
func (u *unpickler) base() int {
	if len(u.marks) == 0 {
		return 0
	}
	return u.marks[len(u.marks)-1]
}

// pop takes the last n values. They are copied: the stack goes on.
func (u *unpickler) pop(n int) ([]pickled, error) {
	if n > len(u.stack)-u.base() {
		return nil, errPickle
	}
	items := slices.Clone(u.stack[len(u.stack)-n:])
	u.stack = u.stack[:len(u.stack)-n]
	return items, nil
}

// popMark takes what lies above the last mark.
func (u *unpickler) popMark() ([]pickled, error) {
	if len(u.marks) == 0 {
		return nil, errPickle
	}
	items, err := u.pop(len(u.stack) - u.base())
	u.marks = u.marks[:len(u.marks)-1]
	return items, err
}

func (u *unpickler) extend(items []pickled) error {
	if len(u.stack) == u.base() || u.stack[len(u.stack)-1].kind != list {
		return errPickle
	}
	into := u.stack[len(u.stack)-1].list
	*into = append(*into, items...)
	return nil
}

func (u *unpickler) tuple(items []pickled, err error) error {
	if err != nil {
		return err
	}
	return u.push(pickled{kind: tuple, items: items})
}

func (u *unpickler) put(n uint64, err error) error {
	if err != nil || len(u.stack) == u.base() {
		return errPickle
	}
	u.memo[n] = u.stack[len(u.stack)-1]
	return u.count()
}

func (u *unpickler) get(n uint64, err error) error {
	v, ok := u.memo[n]
	if err != nil || !ok {
		return errPickle
	}
	return u.push(v)
}

func (u *unpickler) text(n uint64, err error) error {
	if err != nil {
		return err
	}
	raw, err := u.take(n)
	if err != nil {
		return err
	}
	return u.push(pickled{kind: text, text: raw})
}

func (u *unpickler) number(v float64, err error) error {
	if err != nil {
		return errPickle
	}
	return u.push(pickled{kind: number, number: v})
}

func (u *unpickler) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		version, err := u.take(1)
		if err != nil || version[0] > 5 {
			return errPickle
		}
	case 0x95: // FRAME: its length says nothing that the message's has not
		_, err := u.take(8)
		return err
	case '(': // MARK
		if len(u.marks) >= maxMarks {
			return fmt.Errorf("%w: it is nested too deep", errPickle)
		}
		u.marks = append(u.marks, len(u.stack))
	case ']': // EMPTY_LIST
		return u.push(pickled{kind: list, list: &[]pickled{}})
	case 'l': // LIST
		items, err := u.popMark()
		if err != nil {
			return err
		}
		return u.push(pickled{kind: list, list: &items})
	case 'a': // APPEND
		items, err := u.pop(1)
		if err != nil {
			return err
		}
		return u.extend(items)
	case 'e': // APPENDS
		items, err := u.popMark()
		if err != nil {
			return err
		}
		return u.extend(items)
	case ')': // EMPTY_TUPLE
		return u.push(pickled{kind: tuple})
	case 't': // TUPLE
		return u.tuple(u.popMark())
	case 0x85, 0x86, 0x87: // TUPLE1, TUPLE2, TUPLE3
		return u.tuple(u.pop(int(op - 0x84)))
	case 'N', 0x88, 0x89: // NONE, NEWTRUE, NEWFALSE
		return u.push(pickled{kind: nothing})
	case 'J': // BININT
		v, err := u.little(4)
		return u.number(float64(int32(v)), err)
	case 'K': // BININT1
		v, err := u.little(1)
		return u.number(float64(v), err)
	case 'M': // BININT2
		v, err := u.little(2)
		return u.number(float64(v), err)
	case 0x8a: // LONG1: two's complement
		return u.long()
	case 'G': // BINFLOAT, the only one with the large end first
		raw, err := u.take(8)
		if err != nil {
			return err
		}
		return u.number(math.Float64frombits(binary.BigEndian.Uint64(raw)), nil)
	case 'U', 0x8c, 'C': // SHORT_BINSTRING, SHORT_BINUNICODE, SHORT_BINBYTES
		return u.text(u.little(1))
	case 'T', 'X', 'B': // BINSTRING, BINUNICODE, BINBYTES
		return u.text(u.little(4))
	case 'q': // BINPUT
		return u.put(u.little(1))
	case 'r': // LONG_BINPUT
		return u.put(u.little(4))
	case 0x94: // MEMOIZE
		return u.put(uint64(len(u.memo)), nil)
	case 'h': // BINGET
		return u.get(u.little(1))
	case 'j': // LONG_BINGET
		return u.get(u.little(4))
	default:
		return u.textStep(op)
	}
	return nil
}

func (u *unpickler) long() error {
	n, err := u.little(1)
	if err != nil {
		return errPickle
	}
	if n > 8 { // a float64 is near enough
		raw, err := u.take(n)
		if err != nil {
			return err
		}
		v := -float64(raw[n-1] >> 7) // the sign
		for _, digit := range slices.Backward(raw) {
			v = v*256 + float64(digit)
		}
		return u.number(v, nil)
	}
	v, err := u.little(n)
	if n == 0 {
		return u.number(0, err)
	}
	unused := 64 - 8*n
	return u.number(float64(int64(v<<unused)>>unused), err)
}

// textStep does protocol 0's opcodes, whose arguments are lines.
func (u *unpickler) textStep(op byte) error {
	switch op {
	case 'I', 'L', 'F', 'S', 'V', 'p', 'g': // the only ones known; what follows is a line
	default:
		return fmt.Errorf("%w: it holds the opcode %#02x", errPickle, op)
	}
	raw, err := u.line()
	if err != nil {
		return err
	}
	switch op {
	case 'I':
		if string(raw) == "00" || string(raw) == "01" { // how False and True are written
			return u.push(pickled{kind: nothing})
		}
		return u.number(parseWhole(string(raw)))
	case 'L':
		return u.number(parseWhole(string(bytes.TrimSuffix(raw, []byte{'L'}))))
	case 'F':
		v, err := strconv.ParseFloat(string(raw), 64)
		return u.number(v, err)
	case 'S':
		s, ok := unquote(raw)
		if !ok {
			return errPickle
		}
		return u.push(pickled{kind: text, text: s})
	case 'V':
		s, ok := unescape(raw)
		if !ok {
			return errPickle
		}
		return u.push(pickled{kind: text, text: s})
	case 'p':
		return u.put(strconv.ParseUint(string(raw), 10, 32))
	default:
		return u.get(strconv.ParseUint(string(raw), 10, 32))
	}
}

// parseWhole reads a whole number of any size.
func parseWhole(text string) (float64, error) {
	v, err := strconv.ParseInt(text, 10, 64)
	if errors.Is(err, strconv.ErrRange) {
		far, _ := strconv.ParseFloat(text, 64) // infinite beyond float64, which is refused with its data point
		return far, nil
	}
	return float64(v), err
}

// unquote reads a string as Python 2's repr writes it.
func unquote(raw []byte) ([]byte, bool) {
	n := len(raw)
	if n < 2 || raw[0] != raw[n-1] || raw[0] != '\'' && raw[0] != '"' {
		return nil, false
	}
	raw = raw[1 : n-1]
	if !bytes.ContainsRune(raw, '\\') {
		return raw, true
	}
	var s []byte
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			s = append(s, raw[i])
			continue
		}
		if i++; i == len(raw) {
			return nil, false
		}
		switch raw[i] {
		case 'n':
			s = append(s, '\n')
		case 'r':
			s = append(s, '\r')
		case 't':
			s = append(s, '\t')
		case '\\', '\'', '"':
			s = append(s, raw[i])
		case 'x':
			if i+2 >= len(raw) {
				return nil, false
			}
			v, err := strconv.ParseUint(string(raw[i+1:i+3]), 16, 8)
			if err != nil {
				return nil, false
			}
			s = append(s, byte(v))
			i += 2
		default:
			return nil, false
		}
	}
	return s, true
}

// unescape reads Python's raw-unicode-escape: Latin-1, but for \uXXXX and \UXXXXXXXX.
func unescape(raw []byte) ([]byte, bool) {
	var s []byte
	for i := 0; i < len(raw); i++ {
		digits := 0
		if raw[i] == '\\' && i+1 < len(raw) {
			switch raw[i+1] {
			case 'u':
				digits = 4
			case 'U':
				digits = 8
			}
		}
		if digits == 0 {
			s = utf8.AppendRune(s, rune(raw[i]))
			continue
		}
		if i+2+digits > len(raw) {
			return nil, false
		}
		v, err := strconv.ParseUint(string(raw[i+2:i+2+digits]), 16, 32)
		if err != nil || v > utf8.MaxRune {
			return nil, false
		}
		s = utf8.AppendRune(s, rune(v))
		i += 1 + digits
	}
	return s, true
}

// float is a number, or the number a string holds: senders write both.
func (p pickled) float() (float64, bool) {
	switch p.kind {
	case number:
		return p.number, !math.IsNaN(p.number) && !math.IsInf(p.number, 0)
	case text:
		return parseNumber(p.text)
	}
	return 0, false
}

// sequence is what a tuple or a list holds.
func (p pickled) sequence() []pickled {
	if p.kind == list {
		return *p.list
	}
	return p.items
}

// pickle takes a message. What is wrong with one data point does not touch the others.
func (b batch) pickle(message []byte, now int64) {
	points, err := unpickle(message)
	if err != nil {
		b.Refuse(BadPickle)
		return
	}
	for _, point := range points {
		if b.KeyBytes() > maxKeys {
			b.Refuse(LongPickle)
			continue
		}
		pair := point.sequence()
		if len(pair) != 2 || pair[0].kind != text || len(pair[1].sequence()) != 2 {
			b.Refuse(BadLine)
			continue
		}
		path, datum := pair[0].text, pair[1].sequence()
		if len(path) > maxPath {
			b.Refuse(TooLong)
			continue
		}
		value, ok := datum[1].float()
		if !ok {
			b.Refuse(BadNumber)
			continue
		}
		seconds, ok := datum[0].float()
		t, valid := millis(seconds, now)
		if !ok || !valid {
			b.Refuse(BadTime)
			continue
		}
		b.add(path, value, t)
	}
}
