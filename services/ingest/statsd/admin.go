package statsd

// The administrator's text interface, as statsd's own on port 8126: a command a line, answers that end with END. Names
// are series as PromQL writes them (a.b, a.b{env="prod"}); those of delcounters and so on may end with *.

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"cistern/services/store/tsdb"
)

const adminHelp = `Commands: stats, counters, timers, gauges, delcounters, deltimers, delgauges, health, config, quit

  stats                 uptime, what came, what was refused
  counters              every counter and its total
  timers                every timer, histogram and distribution, and how often it was measured
  gauges                every gauge and its value
  delcounters NAME...   forget counters; NAME* is all that begin so. deltimers, delgauges likewise
  health [up|down]      what a load balancer should be told
  config                the settings
  quit

`

const end = "END\n\n"

func (s *Server) administer(connection net.Conn) {
	lines := bufio.NewScanner(connection)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	for {
		s.limit(connection)
		if !lines.Scan() {
			if errors.Is(lines.Err(), bufio.ErrTooLong) {
				fmt.Fprintf(connection, "ERROR: a command has at most %d bytes\n", maxLine)
			}
			return
		}
		out := bufio.NewWriter(connection)
		more := s.command(words(lines.Text()), out)
		if out.Flush() != nil || !more {
			return
		}
	}
}

// words are what stands between white space; what is quoted is not divided, as in a.b{dc="eu west"}.
func words(text string) []string {
	quoted, escaped := false, false
	return strings.FieldsFunc(text, func(r rune) bool {
		switch {
		case escaped:
			escaped = false
		case quoted && r == '\\':
			escaped = true
		case r == '"':
			quoted = !quoted
		}
		return !quoted && unicode.IsSpace(r)
	})
}

// command carries out one command; false ends the conversation.
func (s *Server) command(words []string, out io.Writer) bool {
	if len(words) == 0 {
		return true
	}
	name, arguments := strings.ToLower(words[0]), words[1:]
	switch name {
	case "help":
		fmt.Fprint(out, adminHelp)
	case "stats":
		s.writeStats(out)
	case "counters", "timers", "gauges":
		s.aggregator.writeMetrics(out, name)
	case "delcounters", "deltimers", "delgauges":
		s.aggregator.deleteMetrics(out, strings.TrimPrefix(name, "del"), arguments)
	case "health":
		if len(arguments) > 0 {
			switch strings.ToLower(arguments[0]) {
			case "up":
				s.down.Store(false)
			case "down":
				s.down.Store(true)
			}
		}
		state := "up"
		if s.down.Load() {
			state = "down"
		}
		fmt.Fprintf(out, "health: %s\n", state)
	case "config":
		for _, key := range slices.Sorted(maps.Keys(s.options.Settings)) {
			fmt.Fprintf(out, "%s: %s\n", key, s.options.Settings[key])
		}
		fmt.Fprint(out, end)
	case "quit":
		return false
	default:
		fmt.Fprint(out, "ERROR\n")
	}
	return true
}

func (s *Server) writeStats(out io.Writer) {
	stats := s.Stats()
	ago := func(t time.Time) int {
		if t.IsZero() {
			return int(time.Since(s.began).Seconds())
		}
		return max(0, int(time.Since(t).Seconds()))
	}
	// The first lines are statsd's own.
	fmt.Fprintf(out, "uptime: %d\nmessages.last_msg_seen: %d\nmessages.bad_lines_seen: %d\n", int(time.Since(s.began).Seconds()), ago(stats.Last), stats.BadLines)
	drops := "unknown"
	if stats.DropsKnown {
		drops = strconv.FormatUint(stats.Drops, 10)
	}
	fmt.Fprintf(out, "packets_received: %d\nlines_received: %d\nkernel_drops: %s\nbuffer_bytes: %d\nnames: %d\nconnections: %d\n",
		stats.Packets, stats.Lines, drops, stats.BufferBytes, stats.Names, stats.Connections)
	fmt.Fprint(out, end)
}

// kinds are what a word of the administrator's means.
func kinds(word string) func(metricType) bool {
	switch word {
	case "counters":
		return func(k metricType) bool { return k == counter }
	case "gauges":
		return func(k metricType) bool { return k == gauge }
	}
	return func(k metricType) bool { return k == timer || k == distribution }
}

func (m *metric) name() string {
	labels, err := tsdb.ParseKey(m.id[1:])
	if err != nil {
		return ""
	}
	return tsdb.FormatLabels(labels)
}

// writeMetrics writes the metrics of a kind as JSON, a line each, as of the last whole second.
func (a *Aggregator) writeMetrics(out io.Writer, word string) {
	a.flushing.Lock()
	values := map[string]any{}
	wanted := kinds(word)
	for _, m := range a.all() {
		if !wanted(m.kind) {
			continue
		}
		switch m.kind {
		case counter:
			values[m.name()] = m.total
		case gauge:
			m.mu.Lock()
			if m.known {
				values[m.name()] = m.level
			}
			m.mu.Unlock()
		default:
			values[m.name()] = map[string]uint64{"count": m.count}
		}
	}
	a.flushing.Unlock()
	fmt.Fprint(out, "{")
	separator := "\n"
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintf(out, "%s  %s: %s", separator, plainJSON(name), plainJSON(values[name]))
		separator = ",\n"
	}
	fmt.Fprint(out, "\n}\n"+end)
}

// plainJSON leaves < and > as they are.
func plainJSON(value any) []byte {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value)
	return bytes.TrimSpace(text.Bytes())
}

// deleteMetrics forgets the metrics of a kind that the names name.
func (a *Aggregator) deleteMetrics(out io.Writer, word string, names []string) {
	a.flushing.Lock()
	defer a.flushing.Unlock()
	wanted := kinds(word)
	byName := map[string][]*metric{}
	for _, m := range a.all() {
		if wanted(m.kind) {
			name := m.name()
			byName[name] = append(byName[name], m)
		}
	}
	var gone []*metric
	for _, name := range names {
		if plain, err := strconv.Unquote(name); err == nil { // a name with white space in it
			name = plain
		}
		var found []string
		if prefix, many := strings.CutSuffix(name, "*"); many {
			for known := range byName {
				if strings.HasPrefix(known, prefix) {
					found = append(found, known)
				}
			}
			slices.Sort(found)
		} else if _, known := byName[name]; known {
			found = []string{name}
		}
		if len(found) == 0 {
			fmt.Fprintf(out, "metric %s not found\n", name)
		}
		for _, one := range found {
			gone = append(gone, byName[one]...)
			delete(byName, one)
			fmt.Fprintf(out, "deleted: %s\n", one)
		}
	}
	a.remove(gone, true)
	fmt.Fprint(out, end)
}
