package graphite

// Carbon's pickle protocol: four bytes of length, big-endian, then a pickled list of (name, (time, value)). Of Python's
// pickle only what such a list needs is known: lists, tuples, strings and numbers. Nothing is ever called or looked up:
// the instructions for that are refused, and the connection ends, because what follows cannot be trusted either.

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"strconv"

	"cistern/services/tsdb"
)

const (
	// maxBatch is what carbon's own relay and listener allow (1 MiB), and some more.
	maxBatch = 4 << 20
	// maxObjects bounds what a batch can make of memory.
	maxObjects = 1 << 20
)

var errPickle = errors.New("this is not a pickled list of metrics")

func (s *Server) batches(connection net.Conn) {
	reader := bufio.NewReaderSize(connection, 64<<10)
	d := newDecoder()
	var body []byte
	for {
		var size [4]byte
		if _, err := io.ReadFull(reader, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		if n > maxBatch {
			s.sink.store.Reject(BadPickle, 1)
			return
		}
		// As it comes: a length alone costs no memory.
		buffer := bytes.NewBuffer(body[:0])
		if _, err := io.CopyN(buffer, reader, int64(n)); err != nil {
			if n > 0 {
				s.sink.store.Reject(BadPickle, 1)
			}
			return
		}
		body = buffer.Bytes()
		d.reset()
		err := d.batch(body)
		s.sink.put(s.ctx, d, true)
		if err != nil {
			s.sink.store.Reject(BadPickle, 1)
			return
		}
	}
}

// batch takes a pickled list; of a batch that cannot be read nothing is taken.
func (d *decoder) batch(body []byte) error {
	top, err := unpickle(body)
	if err != nil {
		return err
	}
	var list []any
	switch l := top.(type) {
	case *pickledList:
		list = l.items
	case []any:
		list = l
	default:
		return errPickle
	}
	now := d.now().UnixMilli()
	for _, item := range list {
		if reason := d.pickled(item, now); reason != "" {
			d.refused[reason]++
		}
	}
	return nil
}

func (d *decoder) pickled(item any, now int64) tsdb.Reason {
	pair := sequence(item)
	if len(pair) != 2 {
		return BadLine
	}
	var name []byte
	switch text := pair[0].(type) {
	case []byte:
		name = text
	default:
		return BadLine
	}
	point := sequence(pair[1])
	if len(point) != 2 {
		return BadLine
	}
	seconds, ok := number(point[0])
	if !ok {
		return BadTime
	}
	value, ok := number(point[1])
	if !ok {
		return BadNumber
	}
	ms := now
	if seconds != -1 {
		if ms, ok = milliseconds(seconds); !ok {
			return BadTime
		}
	}
	if len(name) > maxLine {
		return TooLong
	}
	return d.add(name, value, ms)
}

func sequence(item any) []any {
	switch s := item.(type) {
	case []any:
		return s
	case *pickledList:
		return s.items
	}
	return nil
}

// number is a finite number; carbon also takes text.
func number(item any) (float64, bool) {
	switch v := item.(type) {
	case float64:
		return v, !math.IsInf(v, 0) && !math.IsNaN(v)
	case int64:
		return float64(v), true
	case []byte:
		return parseNumber(v)
	}
	return 0, false
}

// pickledList is a list: unlike a tuple it may be appended to after others refer to it.
type pickledList struct{ items []any }

// mark is where a tuple or a list's new items begin.
type mark struct{}

// unpickle runs the instructions of a pickle: see Python's pickletools for their names and forms. Values are []byte
// (text), int64, float64, bool, nil, []any (tuple) and *pickledList.
func unpickle(body []byte) (any, error) {
	var stack []any
	memo := map[int]any{}
	objects := 0
	take := func(n int) ([]byte, bool) {
		if n < 0 || n > len(body) {
			return nil, false
		}
		front := body[:n:n]
		body = body[n:]
		return front, true
	}
	text := func() ([]byte, bool) {
		end := bytes.IndexByte(body, '\n')
		if end < 0 {
			return nil, false
		}
		front := body[:end:end]
		body = body[end+1:]
		return front, true
	}
	pop := func() (any, bool) {
		if len(stack) == 0 {
			return nil, false
		}
		v := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		if _, marked := v.(mark); marked {
			return nil, false
		}
		return v, true
	}
	toMark := func() ([]any, bool) {
		for i := len(stack) - 1; i >= 0; i-- {
			if _, marked := stack[i].(mark); marked {
				items := append([]any(nil), stack[i+1:]...)
				stack = stack[:i]
				return items, true
			}
		}
		return nil, false
	}
	tuple := func(n int) bool {
		if len(stack) < n {
			return false
		}
		items := append([]any(nil), stack[len(stack)-n:]...)
		for _, one := range items {
			if _, marked := one.(mark); marked {
				return false
			}
		}
		stack = append(stack[:len(stack)-n], items)
		return true
	}
	number := func(n int) (int, bool) {
		b, ok := take(n)
		if !ok {
			return 0, false
		}
		v := 0
		for i := n - 1; i >= 0; i-- {
			v = v<<8 | int(b[i])
		}
		return v, true
	}
	sized := func(n int) ([]byte, bool) {
		size, ok := number(n)
		if !ok {
			return nil, false
		}
		return take(size)
	}
	remember := func(key int) bool {
		if len(stack) == 0 || len(memo) >= maxObjects {
			return false
		}
		memo[key] = stack[len(stack)-1]
		return true
	}
	for {
		if objects++; objects > maxObjects || len(body) == 0 {
			return nil, errPickle
		}
		instruction := body[0]
		body = body[1:]
		ok := true
		push := func(v any) { stack = append(stack, v) }
		switch instruction {
		case 0x80: // PROTO
			var version int
			version, ok = number(1)
			ok = ok && version <= 5
		case 0x95: // FRAME
			_, ok = take(8)
		case '.': // STOP
			top, ok := pop()
			if !ok || len(stack) > 0 {
				return nil, errPickle
			}
			return top, nil
		case '(':
			push(mark{})
		case '0': // POP
			_, ok = pop()
		case ']':
			push(&pickledList{})
		case ')':
			push([]any(nil))
		case 'l', 't': // LIST, TUPLE
			var items []any
			if items, ok = toMark(); ok && instruction == 'l' {
				push(&pickledList{items})
			} else if ok {
				push(items)
			}
		case 0x85, 0x86, 0x87: // TUPLE1, 2, 3
			ok = tuple(int(instruction-0x85) + 1)
		case 'a': // APPEND
			var item, list any
			if item, ok = pop(); ok && len(stack) > 0 {
				list = stack[len(stack)-1]
			}
			l, is := list.(*pickledList)
			if ok = ok && is; ok {
				l.items = append(l.items, item)
			}
		case 'e': // APPENDS
			var items []any
			if items, ok = toMark(); ok && len(stack) > 0 {
				l, is := stack[len(stack)-1].(*pickledList)
				if ok = is; ok {
					l.items = append(l.items, items...)
				}
			} else {
				ok = false
			}
		case 'N':
			push(nil)
		case 0x88, 0x89: // NEWTRUE, NEWFALSE
			push(instruction == 0x88)
		case 'K', 'M', 'J': // BININT1, BININT2, BININT
			size := map[byte]int{'K': 1, 'M': 2, 'J': 4}[instruction]
			var v int
			v, ok = number(size)
			if instruction == 'J' {
				v = int(int32(v))
			}
			push(int64(v))
		case 0x8a: // LONG1
			var b []byte
			if b, ok = sized(1); ok {
				ok = len(b) <= 8
			}
			if ok {
				v := int64(0)
				for i := len(b) - 1; i >= 0; i-- {
					v = v<<8 | int64(b[i])
				}
				if n := len(b); n > 0 && n < 8 && b[n-1]&0x80 != 0 {
					v -= 1 << (8 * n)
				}
				push(v)
			}
		case 'I', 'L': // INT, LONG
			var b []byte
			if b, ok = text(); ok {
				if instruction == 'I' && (string(b) == "00" || string(b) == "01") {
					push(string(b) == "01")
					break
				}
				v, err := strconv.ParseInt(string(bytes.TrimSuffix(b, []byte("L"))), 10, 64)
				ok = err == nil
				push(v)
			}
		case 'F': // FLOAT
			var b []byte
			if b, ok = text(); ok {
				v, err := strconv.ParseFloat(string(b), 64)
				ok = err == nil
				push(v)
			}
		case 'G': // BINFLOAT
			var b []byte
			if b, ok = take(8); ok {
				push(math.Float64frombits(binary.BigEndian.Uint64(b)))
			}
		case 'U', 0x8c, 'C': // SHORT_BINSTRING, SHORT_BINUNICODE, SHORT_BINBYTES
			var b []byte
			if b, ok = sized(1); ok {
				push(b)
			}
		case 'T', 'X', 'B': // BINSTRING, BINUNICODE, BINBYTES
			var b []byte
			if b, ok = sized(4); ok {
				push(b)
			}
		case 'V': // UNICODE
			var b []byte
			if b, ok = text(); ok {
				push(b)
			}
		case 'S': // STRING, quoted
			var b []byte
			if b, ok = text(); ok {
				n := len(b)
				ok = n >= 2 && b[0] == b[n-1] && (b[0] == '\'' || b[0] == '"') && bytes.IndexByte(b, '\\') < 0
				if ok {
					push(b[1 : n-1 : n-1])
				}
			}
		case 'p': // PUT
			var b []byte
			if b, ok = text(); ok {
				key, err := strconv.Atoi(string(b))
				ok = err == nil && remember(key)
			}
		case 'q', 'r': // BINPUT, LONG_BINPUT
			var key int
			if key, ok = number(map[byte]int{'q': 1, 'r': 4}[instruction]); ok {
				ok = remember(key)
			}
		case 0x94: // MEMOIZE
			ok = remember(len(memo))
		case 'g', 'h', 'j': // GET, BINGET, LONG_BINGET
			var key int
			if instruction == 'g' {
				var b []byte
				if b, ok = text(); ok {
					var err error
					key, err = strconv.Atoi(string(b))
					ok = err == nil
				}
			} else {
				key, ok = number(map[byte]int{'h': 1, 'j': 4}[instruction])
			}
			if ok {
				var v any
				v, ok = memo[key]
				push(v)
			}
		default:
			return nil, fmt.Errorf("%w: the instruction %#x is not allowed", errPickle, instruction)
		}
		if !ok {
			return nil, errPickle
		}
	}
}
