package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/command"
)

// Journal reads systemd's journal with Program, the path of journalctl.
type Journal struct{ Program string }

// unitOf is the unit of a service on Debian.
func unitOf(service string) string {
	if service == "nginx" || service == "snmpd" {
		return service + ".service"
	}
	return "cistern-" + service + ".service"
}

// ServiceOf is the service of a unit of the appliance.
func ServiceOf(unit string) string {
	return strings.TrimPrefix(strings.TrimSuffix(unit, ".service"), "cistern-")
}

// IsOurs returns whether a unit is one of the appliance's.
func IsOurs(unit string) bool {
	return strings.HasPrefix(unit, "cistern-") && strings.HasSuffix(unit, ".service") || unit == "nginx.service" || unit == "snmpd.service"
}

func (j Journal) argv(q Query, more ...string) []string {
	argv := append([]string{j.Program, "--no-pager", "-a", "-o", "json", "--output-fields=MESSAGE,PRIORITY,_SYSTEMD_UNIT,UNIT,SYSLOG_IDENTIFIER"}, more...)
	if q.Service != "" {
		argv = append(argv, "-u", unitOf(q.Service))
	}
	if q.Level != "" {
		argv = append(argv, "-p", map[string]string{"error": "3", "warning": "4", "info": "6", "debug": "7"}[q.Level])
	}
	return argv
}

// entry reads one line of journalctl's JSON.
func entry(line []byte) (Line, bool) {
	var e struct {
		Message  json.RawMessage `json:"MESSAGE"`
		Priority string          `json:"PRIORITY"`
		Unit     string          `json:"_SYSTEMD_UNIT"`
		About    string          `json:"UNIT"` // what systemd says about a unit
		Name     string          `json:"SYSLOG_IDENTIFIER"`
		Time     string          `json:"__REALTIME_TIMESTAMP"`
		Cursor   string          `json:"__CURSOR"`
	}
	if json.Unmarshal(line, &e) != nil || e.Cursor == "" {
		return Line{}, false
	}
	var text string
	if json.Unmarshal(e.Message, &text) != nil {
		var raw []int // what is not UTF-8
		if json.Unmarshal(e.Message, &raw) == nil {
			content := make([]byte, len(raw))
			for i, b := range raw {
				content[i] = byte(b)
			}
			text = string(content)
		}
	}
	micros, _ := strconv.ParseInt(e.Time, 10, 64)
	l := Line{Time: time.UnixMicro(micros).UTC(), Text: Clean(text), At: e.Cursor, Level: "info"}
	if priority, err := strconv.Atoi(e.Priority); err == nil {
		switch {
		case priority <= 3:
			l.Level = "error"
		case priority == 4:
			l.Level = "warning"
		case priority == 7:
			l.Level = "debug"
		}
	}
	l.Service = e.Name
	for _, unit := range []string{e.About, e.Unit} {
		if IsOurs(unit) {
			l.Service = ServiceOf(unit)
			break
		}
	}
	return l, true
}

// lineWriter passes on whole lines; what is longer than a megabyte is dropped up to its end.
type lineWriter struct {
	buffer []byte
	drop   bool
	line   func([]byte) error
}

func (w *lineWriter) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			if w.drop = w.drop || len(w.buffer)+len(p) > 1<<20; w.drop {
				w.buffer = w.buffer[:0]
			} else {
				w.buffer = append(w.buffer, p...)
			}
			return n, nil
		}
		if !w.drop {
			w.buffer = append(w.buffer, p[:end]...)
			if err := w.line(w.buffer); err != nil {
				return 0, err
			}
		}
		w.buffer, w.drop, p = w.buffer[:0], false, p[end+1:]
	}
	return n, nil
}

var errEnough = errors.New("enough")

// sinceTime begins a position in the journal that is a time, in microseconds: there was no entry to name.
const sinceTime = "since="

// Read implements Source.
func (j Journal) Read(ctx context.Context, q Query) (Page, error) {
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	more := []string{"-r"}
	if q.Older != "" {
		more = append(more, "--after-cursor="+q.Older)
	}
	page := Page{Lines: []Line{}}
	last := ""
	err := command.Follow(ctx, &lineWriter{line: func(content []byte) error {
		l, ok := entry(content)
		if !ok {
			return nil
		}
		if last = l.At; page.Newest == "" {
			page.Newest = last
		}
		if l.At = ""; q.wants(&l) {
			page.Lines = append(page.Lines, l)
		}
		if len(page.Lines) >= q.Limit {
			cancel()
			return errEnough
		}
		return nil
	}}, j.argv(q, more...)...)
	if page.Newest == "" {
		page.Newest = sinceTime + strconv.FormatInt(begun.UnixMicro(), 10)
	}
	if q.Older != "" {
		page.Newest = ""
	}
	if ctx.Err() != nil { // enough, or out of time: there may be more
		page.Older = last
		return page, nil
	}
	return page, err
}

// Follow implements Source.
func (j Journal) Follow(ctx context.Context, q Query, line func(Line) error) error {
	from := []string{"-n", "0"}
	if micros, isTime := strings.CutPrefix(q.After, sinceTime); isTime {
		at, err := strconv.ParseInt(micros, 10, 64)
		if err != nil {
			return err
		}
		// systemd.time(7): seconds since the epoch, with a fraction.
		from = []string{"--no-tail", fmt.Sprintf("--since=@%d.%06d", at/1e6, at%1e6)}
	} else if q.After != "" {
		from = []string{"--no-tail", "--after-cursor=" + q.After}
	}
	return command.Follow(ctx, &lineWriter{line: func(content []byte) error {
		if l, ok := entry(content); ok && q.wants(&l) {
			return line(l)
		}
		return nil
	}}, j.argv(q, append(from, "-f")...)...)
}

// FollowEntries passes on each entry with all its fields, as a line of journalctl's JSON, until ctx ends. args are
// journalctl's: which entries (FIELD=VALUE) and from where on (-b, --after-cursor=CURSOR).
func (j Journal) FollowEntries(ctx context.Context, entry func(line []byte) error, args ...string) error {
	argv := append([]string{j.Program, "--no-pager", "-a", "-o", "json", "-f", "--no-tail"}, args...)
	return command.Follow(ctx, &lineWriter{line: entry}, argv...)
}

// Messages are the texts of the last entries that match (FIELD=VALUE), oldest first; what could be read when journalctl fails.
func (j Journal) Messages(ctx context.Context, match string) []string {
	r, err := command.Run(ctx, 10*time.Second, 1<<20, j.Program, "--no-pager", "-o", "cat", "-n", "1500", match)
	if err != nil {
		var failed *command.Error
		if !errors.As(err, &failed) {
			return nil
		}
	}
	return strings.Split(strings.TrimRight(string(r.Stdout), "\n"), "\n")
}
