package logs

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
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

// places are how far files have been read, by service.
type places map[string]place

type place struct {
	offset  int64 // bytes
	changed time.Time
}

// maxPlaces is of how many files a position says so: OmniOS has one for each of some 150 services. Of the others, which have been
// quiet for longer than these, what is written just between reading and following is not passed on.
const maxPlaces = 12

func (p places) String() string {
	names := slices.SortedFunc(maps.Keys(p), func(a, b string) int {
		return cmp.Or(p[b].changed.Compare(p[a].changed), cmp.Compare(a, b))
	})
	var text strings.Builder
	for _, name := range names[:min(len(names), maxPlaces)] {
		fmt.Fprintf(&text, "%s=%d;", name, p[name].offset)
	}
	return text.String()
}

// parsePlaces leaves out what it cannot read: that file is followed from its end.
func parsePlaces(text string) places {
	p := places{}
	for one := range strings.SplitSeq(text, ";") {
		name, offset, _ := strings.Cut(one, "=")
		if n, err := strconv.ParseInt(offset, 10, 64); err == nil && n >= 0 {
			p[name] = place{offset: n}
		}
	}
	return p
}

// Read implements Source.
func (f Files) Read(ctx context.Context, q Query) (Page, error) {
	paths := f.paths(q.Service) // none: a service that has written nothing yet
	before, seen := parseOlder(q.Older)
	var lines []Line
	at := places{}
	for _, path := range paths {
		if ctx.Err() != nil {
			break
		}
		service := logOf(path)
		changed, end, err := lastLines(path, func(text string) {
			if l := fileLine(service, text); q.wants(&l) && (q.Older == "" || !l.Time.After(before)) {
				lines = append(lines, l)
			}
		})
		if err != nil {
			return Page{}, err
		}
		at[service] = place{offset: end, changed: changed}
		// Of each file no more than can be answered.
		slices.SortStableFunc(lines, func(a, b Line) int { return a.Time.Compare(b.Time) })
		lines = slices.Clone(lines[max(0, len(lines)-q.Limit-1-seen):])
	}
	of := func(moment time.Time) (n int) {
		for i := range lines {
			if lines[i].Time.Equal(moment) {
				n++
			}
		}
		return n
	}
	lines = lines[:len(lines)-min(seen, of(before))]
	page := Page{}
	if len(lines) > q.Limit {
		lines = lines[1:]
		moment := lines[0].Time
		n := of(moment)
		if moment.Equal(before) {
			n += seen
		}
		page.Older = fmt.Sprintf("%s/%d", moment.Format(time.RFC3339Nano), n)
	}
	if q.Older == "" {
		page.Newest = at.String()
	}
	slices.Reverse(lines)
	page.Lines = lines
	return page, nil
}

// lastLines passes on the whole lines at the end of a file, and returns when it was written last and where they end.
func lastLines(path string, line func(string)) (changed time.Time, end int64, err error) {
	// Before it is opened: that alone may wait for ever, on a pipe.
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return time.Time{}, 0, err
	}
	if !info.Mode().IsRegular() {
		return time.Time{}, 0, fmt.Errorf("%s is not a file", path)
	}
	from := max(0, info.Size()-fileWindow)
	whole := from == 0
	n, err := readNew(path, from, func(text string) error {
		if whole {
			line(text)
		}
		whole = true // The window begins within a line.
		return nil
	})
	return info.ModTime(), from + n, err
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
	at := parsePlaces(q.After)
	for first := true; ; first = false {
		for _, path := range f.paths(q.Service) {
			info, err := os.Stat(path)
			if err != nil {
				continue
			}
			service := logOf(path)
			now, known := at[service]
			switch {
			case first && !known:
				now.offset = info.Size()
			case info.Size() < now.offset: // It was rotated.
				now.offset = 0
			}
			now.changed = info.ModTime()
			at[service] = now
			if _, err = readNew(path, now.offset, func(text string) error {
				now.offset += int64(len(text)) + 1
				at[service] = now
				l := fileLine(service, text)
				if !q.wants(&l) {
					return nil
				}
				l.At = at.String()
				return line(l)
			}); err != nil {
				return err
			}
		}
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
		if err := line(strings.TrimSuffix(text, "\n")); err != nil {
			return n, err
		}
	}
}
