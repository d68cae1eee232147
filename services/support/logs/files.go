package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"cistern/services/platform/tail"
)

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
	paths := f.paths(q.Service) // none: a service that has written nothing yet
	before, seen := parseOlder(q.Older)
	var lines []Line
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		var content bytes.Buffer
		if err := tail.File(&content, path, fileWindow); err != nil {
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

// readNew passes on the whole lines of path from an offset, and returns how many bytes they were.
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
