package tracer

// Reading what a D program prints (services/trace/statistics/program.go says in which form), into what each second added.

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"

	"cistern/services/histogram"
	"cistern/services/trace/statistics"
)

// Limits of what is believed: a program prints at most as many keys as its aggregation buffers hold.
const (
	maxKey    = 4096
	maxLine   = 16 << 10
	maxFrames = 256
)

// stack is who was running, with the frames of the kernel and of the program, each innermost first.
type stack struct {
	process      string
	kernel, user []string
}

func (s *stack) id() string {
	return s.process + "\x00" + strings.Join(s.kernel, "\n") + "\x00" + strings.Join(s.user, "\n")
}

// printed is what one dataset was printed to have counted since the program began, or since it was cut back.
type printed struct {
	total  int64
	values map[string]int64 // by text, or by number in digits
	bins   map[histogram.Bin]int64
	stacks map[string]*stack
	counts map[string]int64 // of stacks
}

// parser reads a program's output. It keeps what was printed last, to tell what has come since.
type parser struct {
	r        *bufio.Reader
	datasets []*statistics.Dataset
	last     []printed
	cut      []bool // begins anew behind this second
	started  func()
	// second is called at the end of each: nanoseconds since 1970 of its end, and what was added.
	second func(nanoseconds int64, added []printed)
	lines  []atomic.Uint64 // of each dataset, as a measure of what it costs
}

var errOutput = errors.New("dtrace printed something that was not asked for")

func wrong(what string, line []byte) error {
	return fmt.Errorf("%w: %s: %.100q", errOutput, what, line)
}

func newParser(r io.Reader, datasets []*statistics.Dataset, started func(), second func(int64, []printed)) *parser {
	n := len(datasets)
	return &parser{r: bufio.NewReaderSize(r, 64<<10), datasets: datasets, last: make([]printed, n), cut: make([]bool, n), lines: make([]atomic.Uint64, n), started: started, second: second}
}

// linesNow is how many lines each dataset has printed.
func (p *parser) linesNow() []uint64 {
	list := make([]uint64, len(p.lines))
	for i := range p.lines {
		list[i] = p.lines[i].Load()
	}
	return list
}

func (p *parser) line() ([]byte, error) {
	line, err := p.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) || err == nil && len(line) > maxLine {
		return nil, wrong("a line is too long", line[:100])
	}
	if err != nil {
		return nil, err
	}
	return line[:len(line)-1], nil
}

// run reads until the output ends or makes no sense.
func (p *parser) run() error {
	var now []printed
	at, open := int64(0), false
	for {
		line, err := p.line()
		if err != nil {
			return err
		}
		switch {
		case len(line) == 0: // dtrace ends clauses so, when it is not quiet about something
		case string(line) == "B":
			p.started()
		case line[0] == 'T':
			if at, err = strconv.ParseInt(string(bytes.TrimPrefix(line, []byte("T "))), 10, 64); err != nil || open {
				return wrong("the beginning of a second", line)
			}
			open, now = true, make([]printed, len(p.datasets))
		case string(line) == "E":
			if !open {
				return wrong("the end of no second", line)
			}
			open = false
			p.finish(at, now)
		case line[0] == 'C':
			n, err := strconv.Atoi(string(bytes.TrimPrefix(line, []byte("C "))))
			if err != nil || n < 0 || n >= len(p.datasets) {
				return wrong("which dataset begins anew", line)
			}
			p.cut[n] = true
		default:
			if !open {
				return wrong("a value outside of a second", line)
			}
			if err := p.record(line, now); err != nil {
				return err
			}
		}
	}
}

// record reads one value, of which line is the first line.
func (p *parser) record(line []byte, now []printed) error {
	number, rest, ok := bytes.Cut(line, []byte(" "))
	n, err := strconv.Atoi(string(number))
	if !ok || err != nil || n < 0 || n >= len(p.datasets) || len(rest) == 0 {
		return wrong("a value", line)
	}
	p.lines[n].Add(1)
	to := &now[n]
	switch rest[0] {
	case 't':
		to.total, err = count(rest, "t=")
		return err
	case 'i':
		key, value, ok := bytes.Cut(rest[1:], []byte("="))
		n, err := strconv.ParseInt(string(key), 10, 64)
		if errors.Is(err, strconv.ErrRange) { // dtrace prints some negative numbers without their sign
			var unsigned uint64
			unsigned, err = strconv.ParseUint(string(key), 10, 64)
			n = int64(unsigned)
		}
		if !ok || err != nil {
			return wrong("a number", line)
		}
		return to.add(strconv.FormatInt(n, 10), value)
	case 's':
		key, tail, err := p.text(rest[1:])
		if err != nil {
			return err
		}
		if len(tail) == 0 || tail[0] != '=' {
			return wrong("a text that is longer than its length", tail)
		}
		return to.add(key, tail[1:])
	case 'h':
		return p.distribution(n, to)
	case 'k':
		return p.stack(n, rest[1:], to)
	}
	return wrong("a value of an unknown kind", line)
}

// text reads LENGTH:BYTES, of which the rest of a line is the beginning, and returns what follows on the last line.
func (p *parser) text(rest []byte) (key string, tail []byte, err error) {
	digits, rest, ok := bytes.Cut(rest, []byte(":"))
	length, err := strconv.Atoi(string(digits))
	if !ok || err != nil || length < 0 || length > maxKey {
		return "", nil, wrong("the length of a text", digits)
	}
	if len(rest) >= length {
		return string(rest[:length]), bytes.Clone(rest[length:]), nil
	}
	// There are line feeds in the text; the one that ended this line is the first.
	all := append(bytes.Clone(rest), '\n')
	for len(all) < length {
		c, err := p.r.ReadByte()
		if err != nil {
			return "", nil, err
		}
		all = append(all, c)
	}
	line, err := p.line()
	return string(all), bytes.Clone(line), err
}

func count(text []byte, prefix string) (int64, error) {
	digits, ok := bytes.CutPrefix(text, []byte(prefix))
	value, err := strconv.ParseInt(string(digits), 10, 64)
	if !ok || err != nil {
		return 0, wrong("a count", text)
	}
	return value, nil
}

func (to *printed) add(key string, text []byte) error {
	value, err := count(text, "")
	if err != nil {
		return err
	}
	if to.values == nil {
		to.values = map[string]int64{}
	}
	to.values[key] += value
	return nil
}

// distribution reads an llquantize of factor 10 with 100 steps from 1 on, up to the line with a dot. Its buckets from 10
// on are the log-linear bins, those below hold one whole number each, and what is below 1 is zero.
func (p *parser) distribution(n int, to *printed) error {
	if to.bins == nil {
		to.bins = map[histogram.Bin]int64{}
	}
	by := p.datasets[n].By
	if by == nil {
		return wrong("a distribution of a dataset that has none", nil)
	}
	for {
		line, err := p.line()
		if err != nil {
			return err
		}
		if string(line) == "." {
			return nil
		}
		label, bar, ok := bytes.Cut(line, []byte("|"))
		if !ok {
			if text := strings.TrimSpace(string(line)); text != "" && !strings.HasPrefix(text, "value ") {
				return wrong("a distribution", line)
			}
			continue
		}
		text := strings.TrimSpace(string(label))
		below := strings.HasPrefix(text, "<")
		bound, err := strconv.ParseInt(strings.TrimSpace(strings.TrimLeft(text, "<>=")), 10, 64)
		value, err2 := strconv.ParseInt(strings.TrimSpace(string(bytes.TrimLeft(bar, "@█▉▊▋▌▍▎▏ "))), 10, 64)
		if err != nil || err2 != nil || value < 0 {
			return wrong("a line of a distribution", line)
		}
		if value == 0 {
			continue
		}
		if below {
			bound = 0
		}
		bin, _ := histogram.BinOf(float64(bound))
		to.bins[bin.Shift(by.Decades)] += value
	}
}

func (p *parser) stack(n int, rest []byte, to *printed) error {
	process, tail, err := p.text(rest)
	if err != nil {
		return err
	}
	if len(tail) > 0 {
		return wrong("a name that is longer than its length", tail)
	}
	s := &stack{process: process}
	for side := 0; ; {
		line, err := p.line()
		if err != nil {
			return err
		}
		p.lines[n].Add(1)
		text := string(line)
		switch {
		case side == 0 && text == "K":
			side = 1
		case side == 1 && strings.HasPrefix(text, "U="):
			value, err := count(line, "U=")
			if err != nil {
				return err
			}
			if to.counts == nil {
				to.counts, to.stacks = map[string]int64{}, map[string]*stack{}
			}
			id := s.id()
			to.counts[id] += value
			to.stacks[id] = s
			return nil
		case len(s.kernel)+len(s.user) > maxFrames:
			return wrong("a stack without end", line)
		default:
			if text = strings.TrimSpace(text); text == "" {
				continue
			}
			if side == 0 {
				s.kernel = append(s.kernel, text)
			} else {
				s.user = append(s.user, text)
			}
		}
	}
}

// finish tells what was added. What is less than before is an aggregation that began anew by itself.
func (p *parser) finish(at int64, now []printed) {
	added := make([]printed, len(now))
	for n := range now {
		before, a := &p.last[n], &added[n]
		a.total = since(now[n].total, before.total)
		a.values = difference(now[n].values, before.values)
		a.bins = difference(now[n].bins, before.bins)
		a.counts, a.stacks = difference(now[n].counts, before.counts), now[n].stacks
		for _, value := range a.values {
			a.total += value
		}
		for _, value := range a.bins {
			a.total += value
		}
	}
	for n := range now {
		if p.cut[n] {
			now[n], p.cut[n] = printed{total: now[n].total}, false
		}
	}
	p.last = now
	p.second(at, added)
}

func since(now, before int64) int64 {
	if now < before {
		return max(now, 0)
	}
	return now - before
}

func difference[K comparable](now, before map[K]int64) map[K]int64 {
	var added map[K]int64
	for key, value := range now {
		if n := since(value, before[key]); n != 0 {
			if added == nil {
				added = make(map[K]int64, len(now))
			}
			added[key] = n
		}
	}
	return added
}
