// Package snmp answers net-snmp's snmpd about CISTERN-MIB, as its pass_persist program (snmpd.conf(5)): questions on
// standard input, answers on standard output. What it answers stands in a file that akd writes anew every few seconds.
//
// The file: a first line "cistern-objects 1 UNTIL", seconds since the epoch; then a line "OID TYPE VALUE" for each object,
// TYPE as net-snmp names it, VALUE everything up to the end of the line. After UNTIL nobody vouches for it: nothing is
// answered then, rather than what may be wrong by now. So it is when there is no file, or one that cannot be read.
package snmp

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	heading = "cistern-objects 1 "
	// 10,000 datasets with nine columns are 20 MB; more than that is not akd's doing.
	maxBytes = 64 << 20
)

var types = []string{"integer", "gauge", "counter64", "timeticks", "string", "octet"}

type oid []uint32

func parseOID(text string) (oid, error) {
	parts := strings.Split(strings.TrimPrefix(text, "."), ".")
	if len(parts) > 128 {
		return nil, errors.New("an OID of more than 128 numbers")
	}
	o := make(oid, len(parts))
	for i, part := range parts {
		n, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("'%s' is no OID", text)
		}
		o[i] = uint32(n)
	}
	return o, nil
}

func (o oid) String() string {
	var b strings.Builder
	for _, n := range o {
		b.WriteByte('.')
		b.WriteString(strconv.FormatUint(uint64(n), 10))
	}
	return b.String()
}

type object struct {
	oid         oid
	kind, value string
}

func byOID(a, b object) int { return slices.Compare(a.oid, b.oid) }

// table is what stood in the file when it was read, in the order of SNMP.
type table struct {
	objects []object
	until   time.Time
}

func parse(text string) (table, error) {
	first, rest, _ := strings.Cut(text, "\n")
	seconds, err := strconv.ParseInt(strings.TrimPrefix(first, heading), 10, 64)
	if err != nil || !strings.HasPrefix(first, heading) {
		return table{}, fmt.Errorf("it begins with %.40q", first)
	}
	t := table{until: time.Unix(seconds, 0)}
	for line := range strings.Lines(rest) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kind, value, ok := strings.Cut(rest, " ")
		o, err := parseOID(name)
		if err != nil || !ok || !slices.Contains(types, kind) || !strings.HasSuffix(line, "\n") {
			return table{}, fmt.Errorf("a line is %.80q", line)
		}
		t.objects = append(t.objects, object{o, kind, value})
	}
	slices.SortFunc(t.objects, byOID)
	return t, nil
}

// Agent answers from one file.
type Agent struct {
	File string
	Now  func() time.Time
	Log  io.Writer
	// What was read last: the file is replaced, never changed, so another one is known by its identity and time.
	info os.FileInfo
	read table
	said string
}

func (a *Agent) complain(text string) {
	if text != a.said && text != "" {
		fmt.Fprintln(a.Log, "cistern snmp-agent:", text)
	}
	a.said = text
}

// objects are those that may be answered now.
func (a *Agent) objects() []object {
	f, err := os.Open(a.File)
	if err != nil {
		// While it is switched off, or akd has never run.
		a.complain(err.Error())
		return nil
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		a.complain(err.Error())
		return nil
	}
	if a.info == nil || !os.SameFile(a.info, info) || !a.info.ModTime().Equal(info.ModTime()) || a.info.Size() != info.Size() {
		text, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
		if err == nil && len(text) > maxBytes {
			err = errors.New("it is too large")
		}
		var read table
		if err == nil {
			read, err = parse(string(text))
		}
		a.info, a.read = info, read
		if err != nil {
			a.complain(a.File + ": " + err.Error())
			return nil
		}
		a.complain("")
	}
	if !a.Now().Before(a.read.until) {
		return nil
	}
	return a.read.objects
}

// Serve answers until there are no more questions.
func (a *Agent) Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	next := func() string {
		lines.Scan()
		return strings.TrimSpace(lines.Text())
	}
	for lines.Scan() {
		var answer string
		switch strings.TrimSpace(lines.Text()) {
		case "PING":
			answer = "PONG"
		case "get":
			answer = a.get(next(), false)
		case "getnext":
			answer = a.get(next(), true)
		case "set":
			next()
			next()
			answer = "not-writable"
		default: // it gives up a program that it does not understand, and starts it again
			answer = "NONE"
		}
		if _, err := io.WriteString(out, answer+"\n"); err != nil {
			return err
		}
	}
	return lines.Err()
}

func (a *Agent) get(text string, after bool) string {
	o, err := parseOID(text)
	if err != nil {
		return "NONE"
	}
	objects := a.objects()
	at, found := slices.BinarySearchFunc(objects, object{oid: o}, byOID)
	if after && found {
		at++
	}
	if at >= len(objects) || !after && !found {
		return "NONE"
	}
	return objects[at].oid.String() + "\n" + objects[at].kind + "\n" + objects[at].value
}
