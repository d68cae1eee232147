// Package logs reads and follows the logs of the services where the operating system keeps them: in systemd's journal, or
// in one file for each service (SMF, and development). It keeps no more in memory than what is answered. The web server's
// log, which no file keeps, is in access.go.
package logs

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/command"
	"cistern/services/support/redact"
)

// Line is one line of a log.
type Line struct {
	Time    time.Time `json:"time"`
	Service string    `json:"service"`
	Level   string    `json:"level"` // error warning info debug
	Text    string    `json:"text"`
	cursor  string
}

// Query says which lines are wanted.
type Query struct {
	Service string // storaged, akd, nginx …; empty: all of the machine
	Level   string // this and worse; empty: all
	Text    string // contained, whatever its case
	Older   string // what Read gave with the lines that these are to be before; empty: the newest
	Limit   int
}

// Source is where logs are.
type Source interface {
	// Read gives the newest lines, newest first. older is not empty when there may be more before them: also when the
	// search ended by its deadline.
	Read(ctx context.Context, q Query) (lines []Line, older string, err error)
	// Follow passes on the lines that come from now on until ctx ends.
	Follow(ctx context.Context, q Query, line func(Line) error) error
}

// Levels, worst first; the index is what a query compares.
var Levels = []string{"error", "warning", "info", "debug"}

const (
	longestLog = 16 << 10 // of one line that is shown
	searchTime = 8 * time.Second
)

func (q *Query) wants(l *Line) bool {
	if q.Level != "" && slices.Index(Levels, l.Level) > slices.Index(Levels, q.Level) {
		return false
	}
	return q.Text == "" || strings.Contains(strings.ToLower(l.Text), strings.ToLower(q.Text))
}

// Clean is a line's text as it may be shown: one that holds a secret must not tell it on a page either.
func Clean(text string) string {
	if len(text) > longestLog {
		text = text[:longestLog] + " …"
	}
	return strings.ToValidUTF8(redact.Text(text), "\uFFFD")
}

// Journal reads systemd's.
type Journal struct{ Program string }

// unitOf is how Debian calls a service.
func unitOf(service string) string {
	if service == "nginx" || service == "snmpd" {
		return service + ".service"
	}
	return "cistern-" + service + ".service"
}

// ServiceOf is the service of a unit that is ours.
func ServiceOf(unit string) string {
	return strings.TrimPrefix(strings.TrimSuffix(unit, ".service"), "cistern-")
}

// IsOurs says whether a unit is one of the appliance's.
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
	l := Line{Time: time.UnixMicro(micros).UTC(), Text: Clean(text), cursor: e.Cursor, Level: "info"}
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

// lineWriter hands on whole lines; what is longer than a megabyte is dropped up to its end.
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

// Read implements Source.
func (j Journal) Read(ctx context.Context, q Query) ([]Line, string, error) {
	ctx, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	more := []string{"-r"}
	if q.Older != "" {
		more = append(more, "--after-cursor="+q.Older)
	}
	lines := []Line{}
	last := ""
	err := command.Follow(ctx, &lineWriter{line: func(content []byte) error {
		l, ok := entry(content)
		if !ok {
			return nil
		}
		last = l.cursor
		if q.wants(&l) {
			lines = append(lines, l)
		}
		if len(lines) >= q.Limit {
			cancel()
			return errEnough
		}
		return nil
	}}, j.argv(q, more...)...)
	if ctx.Err() != nil { // enough, or out of time: there may be more
		return lines, last, nil
	}
	return lines, "", err
}

// Follow implements Source.
func (j Journal) Follow(ctx context.Context, q Query, line func(Line) error) error {
	return command.Follow(ctx, &lineWriter{line: func(content []byte) error {
		if l, ok := entry(content); ok && q.wants(&l) {
			return line(l)
		}
		return nil
	}}, j.argv(q, "-f", "-n", "0")...)
}

// FollowEntries hands on whole entries, as journalctl's JSON, until ctx ends: those that match args, and begin where args
// say (-b, --after-cursor=…).
func (j Journal) FollowEntries(ctx context.Context, entry func(line []byte) error, args ...string) error {
	argv := append([]string{j.Program, "--no-pager", "-a", "-o", "json", "-f", "--no-tail"}, args...)
	return command.Follow(ctx, &lineWriter{line: entry}, argv...)
}

// Messages are the texts of the last entries that match, oldest first; as much as could be read.
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

// Files are files NAME.log in a folder, each line of which may begin with a time (RFC 3339).
type Files struct{ Dir string }

// fileWindow is how much of the end of each file is looked at.
const fileWindow = 2 << 20

func (f Files) paths(service string) []string {
	found, _ := filepath.Glob(filepath.Join(f.Dir, "*.log"))
	return slices.DeleteFunc(found, func(path string) bool { return service != "" && logOf(path) != service })
}

// logOf is the service whose log a file is: NAME.log, and as SMF names it application-cistern-NAME:default.log.
func logOf(path string) string {
	name, _, _ := strings.Cut(strings.TrimSuffix(filepath.Base(path), ".log"), ":")
	_, own, smf := strings.Cut(name, "-cistern-")
	if smf {
		return own
	}
	return name
}

func fileLine(service, text string) Line {
	l := Line{Service: service, Level: "info"}
	if first, rest, ok := strings.Cut(text, " "); ok {
		if at, err := time.Parse(time.RFC3339, first); err == nil {
			l.Time, text = at.UTC(), rest
		}
	}
	if at, level, rest, ok := structured(text); ok {
		l.Time, l.Level, l.Text = at, level, Clean(rest)
		return l
	}
	lower := strings.ToLower(text)
	switch {
	case strings.Contains(lower, "error") || strings.Contains(lower, "panic"):
		l.Level = "error"
	case strings.Contains(lower, "warn"):
		l.Level = "warning"
	}
	l.Text = Clean(text)
	return l
}

// structured takes the time and the level from a line that one of our daemons wrote (package daemon/log, as text).
func structured(text string) (at time.Time, level, rest string, ok bool) {
	first, rest, _ := strings.Cut(text, " ")
	second, _, _ := strings.Cut(rest, " ")
	stamp, dated := strings.CutPrefix(first, "time=")
	name, leveled := strings.CutPrefix(second, "level=")
	if !dated || !leveled {
		return time.Time{}, "", "", false
	}
	at, err := time.Parse(time.RFC3339, stamp)
	switch {
	case err != nil:
		return time.Time{}, "", "", false
	case strings.HasPrefix(name, "ERROR"):
		level = "error"
	case strings.HasPrefix(name, "WARN"):
		level = "warning"
	case strings.HasPrefix(name, "DEBUG"):
		level = "debug"
	default:
		level = "info"
	}
	return at.UTC(), level, rest, true
}

// Read implements Source.
func (f Files) Read(ctx context.Context, q Query) ([]Line, string, error) {
	paths := f.paths(q.Service) // none: a service that has said nothing yet
	before, seen := parseOlder(q.Older)
	var lines []Line
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		var content bytes.Buffer
		if err := Tail(&content, path, fileWindow); err != nil {
			return nil, "", err
		}
		service := logOf(path)
		for text := range strings.Lines(content.String()) {
			if l := fileLine(service, strings.TrimRight(text, "\n")); q.wants(&l) && (q.Older == "" || !l.Time.After(before)) {
				lines = append(lines, l)
			}
		}
		// Of each file no more than can be answered.
		slices.SortStableFunc(lines, func(a, b Line) int { return a.Time.Compare(b.Time) })
		lines = slices.Clone(lines[max(0, len(lines)-q.Limit-1-seen):])
	}
	at := func(moment time.Time) (n int) {
		for i := range lines {
			if lines[i].Time.Equal(moment) {
				n++
			}
		}
		return n
	}
	lines = lines[:len(lines)-min(seen, at(before))]
	older := ""
	if len(lines) > q.Limit {
		lines = lines[1:]
		moment := lines[0].Time
		n := at(moment)
		if moment.Equal(before) {
			n += seen
		}
		older = fmt.Sprintf("%s/%d", moment.Format(time.RFC3339Nano), n)
	}
	slices.Reverse(lines)
	return lines, older, nil
}

// parseOlder reads where a page of older lines begins: the time of the oldest line that was seen, and how many lines of that time
// were: many can have one time, and a page may end among them.
func parseOlder(older string) (before time.Time, seen int) {
	stamp, count, _ := strings.Cut(older, "/")
	before, _ = time.Parse(time.RFC3339Nano, stamp)
	seen, _ = strconv.Atoi(count)
	return before, max(0, seen)
}

// Follow implements Source.
func (f Files) Follow(ctx context.Context, q Query, line func(Line) error) error {
	at := map[string]int64{}
	first := true
	for {
		for _, path := range f.paths(q.Service) {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			from, known := at[path]
			if first && !known || info.Size() < from {
				from = info.Size()
			}
			n, err := readNew(path, from, func(text string) error {
				if l := fileLine(logOf(path), text); q.wants(&l) {
					return line(l)
				}
				return nil
			})
			at[path] = from + n
			if err != nil {
				return err
			}
		}
		first = false
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// readNew hands on the whole lines of path from an offset, and says how many bytes they were.
func readNew(path string, from int64, line func(string) error) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, nil
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return 0, nil
	}
	reader := bufio.NewReader(io.LimitReader(f, fileWindow))
	var n int64
	for {
		text, err := reader.ReadString('\n')
		if err != nil { // a line that is still being written is read later
			return n, nil
		}
		n += int64(len(text))
		if err := line(strings.TrimRight(text, "\n")); err != nil {
			return n, err
		}
	}
}

// Tail copies the last limit bytes of a file. Files of /proc say a size of 0; they are read from the beginning.
func Tail(w io.Writer, path string, limit int64) error {
	// Before it is opened: that alone may wait for ever, on a pipe.
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if skip := info.Size() - limit; skip > 0 {
		if _, err := f.Seek(skip, io.SeekStart); err != nil {
			return err
		}
		fmt.Fprintf(w, "[the first %d bytes were left out]\n", skip)
	}
	_, err = io.Copy(w, io.LimitReader(f, limit))
	return err
}
