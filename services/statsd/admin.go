package statsd

// The admin interface, as statsd's clients and scripts know it: one command a line, each answer ends with END and an
// empty line. Metrics with tags are named name;tag=value;…. Nobody is asked who he is: it belongs on the loopback
// address.

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"time"

	"cistern/services/receive"
	"cistern/services/tsdb"
)

const adminHelp = "Commands: help, stats, counters, timers, gauges, sets, delcounters, deltimers, delgauges, delsets, health [up|down], config, quit\n" +
	"The del commands take names, or a name's beginning and *.\n"

// maxCommand bounds one line of the admin interface.
const maxCommand = 64 << 10

var errQuit = io.EOF

func (s *Server) console(connection net.Conn) {
	out := bufio.NewWriter(connection)
	_ = receive.Lines(connection, maxCommand, func(lines []byte) error {
		for text := range strings.Lines(string(lines)) {
			fields := strings.Fields(text)
			if len(fields) == 0 {
				continue
			}
			if fields[0] == "quit" {
				_ = out.Flush()
				return errQuit
			}
			_ = connection.SetWriteDeadline(time.Now().Add(30 * time.Second))
			s.command(out, fields[0], fields[1:])
		}
		return out.Flush()
	}, func() { fmt.Fprint(out, "ERROR: the line is too long\nEND\n\n") })
}

func (s *Server) command(out io.Writer, name string, arguments []string) {
	switch name {
	case "help":
		fmt.Fprint(out, adminHelp)
	case "stats":
		s.stats(out)
	case "config":
		s.config(out)
	case "health":
		if len(arguments) > 0 && (arguments[0] == "up" || arguments[0] == "down") {
			s.down.Store(arguments[0] == "down")
		}
		state := "up"
		if s.down.Load() {
			state = "down"
		}
		fmt.Fprintf(out, "health: %s\n", state)
	case "counters", "delcounters":
		s.aggregator.admin(out, strings.HasPrefix(name, "del"), arguments, counter)
	case "gauges", "delgauges":
		s.aggregator.admin(out, strings.HasPrefix(name, "del"), arguments, gauge)
	case "timers", "deltimers":
		s.aggregator.admin(out, strings.HasPrefix(name, "del"), arguments, timer, distribution)
	case "sets", "delsets":
		s.aggregator.admin(out, strings.HasPrefix(name, "del"), arguments, set)
	default:
		fmt.Fprintf(out, "ERROR: there is no command %.40q; try help\n", name)
	}
	fmt.Fprint(out, "END\n\n")
}

func (a *Aggregator) admin(out io.Writer, remove bool, arguments []string, kinds ...metricType) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !remove {
		shown := map[string]any{}
		for _, m := range a.metrics {
			if slices.Contains(kinds, m.kind) {
				shown[m.name()] = m.show()
			}
		}
		text, err := json.MarshalIndent(shown, "", "  ") // ascending by name
		if err != nil {
			text = []byte("{}")
		}
		fmt.Fprintf(out, "%s\n", text)
		return
	}
	removed := false
	for _, argument := range arguments {
		beginning, any := strings.CutSuffix(argument, "*")
		found := false
		for _, m := range a.metrics {
			if name := m.name(); slices.Contains(kinds, m.kind) && !m.removed && (name == argument || any && strings.HasPrefix(name, beginning)) {
				m.removed, found, removed = true, true, true
				fmt.Fprintf(out, "deleted: %s\n", name)
			}
		}
		if !found {
			fmt.Fprintf(out, "metric %s not found\n", argument)
		}
	}
	if removed {
		a.removeMarked()
	}
}

func (m *metric) name() string {
	labels, err := tsdb.ParseKey(string(m.key))
	if err != nil {
		return ""
	}
	name, tags := "", ""
	for _, l := range labels {
		if l.Name == tsdb.NameLabel {
			name = l.Value
		} else {
			tags += ";" + l.Name + "=" + l.Value
		}
	}
	return name + tags
}

// show is what the metric has in the running second.
func (m *metric) show() any {
	switch m.kind {
	case timer, distribution:
		// Taken out and put back: the accumulator knows no other way to be looked at.
		h := m.spread.Take()
		for i, bin := range h.Bins {
			m.spread.Add(bin, h.Counts[i])
		}
		return h
	case set:
		return len(m.members)
	}
	if math.IsInf(m.value, 0) { // JSON has no such number
		return fmt.Sprint(m.value)
	}
	return m.value
}

func (s *Server) stats(out io.Writer) {
	a := s.aggregator
	a.mu.Lock()
	lines, bad, names, byType := a.lines, a.bad, len(a.metrics), a.byType
	spellings, seen := a.spellings.count, a.seen
	a.mu.Unlock()
	fmt.Fprintf(out, "uptime: %d\n", int(time.Since(a.started).Seconds()))
	if !seen.IsZero() {
		fmt.Fprintf(out, "messages.last_msg_seen: %d\n", int(time.Since(seen).Seconds())) // seconds ago
	}
	fmt.Fprintf(out, "messages.lines_seen: %d\nmessages.bad_lines_seen: %d\n", lines, bad)
	fmt.Fprintf(out, "metrics.names: %d\nmetrics.spellings: %d\n", names, spellings)
	fmt.Fprintf(out, "metrics.counters_seen: %d\nmetrics.gauges_seen: %d\nmetrics.timers_seen: %d\nmetrics.sets_seen: %d\n",
		byType[counter], byType[gauge], byType[timer]+byType[distribution], byType[set])
	for _, d := range []struct {
		name string
		*receive.Datagrams
	}{{"udp", s.udp}, {"unix", s.unix}} {
		if d.Datagrams == nil {
			continue
		}
		fmt.Fprintf(out, "%s.packets: %d\n%s.bytes: %d\n%s.buffer_bytes: %d\n%s.sockets: %d\n", d.name, d.Packets(), d.name, d.Bytes(),
			d.name, d.BufferBytes(), d.name, d.Sockets())
		if n, known := d.Drops(); known {
			fmt.Fprintf(out, "%s.kernel_drops: %d\n", d.name, n)
		}
	}
	if s.tcp != nil {
		fmt.Fprintf(out, "tcp.connections: %d\n", s.tcp.Open())
	}
}

func (s *Server) config(out io.Writer) {
	text, err := json.MarshalIndent(map[string]any{
		"address": s.Addr(), "adminAddress": s.AdminAddr(), "flushInterval": 1000, "maxNames": s.aggregator.options.MaxNames,
		"forgetAfterSeconds": s.aggregator.forget, "durability": s.aggregator.options.Durability, "maxLineBytes": maxLine,
	}, "", "  ")
	if err == nil {
		fmt.Fprintf(out, "%s\n", text)
	}
}
