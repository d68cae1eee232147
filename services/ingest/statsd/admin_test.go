package statsd

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestAdmin(t *testing.T) {
	m := &memory{}
	s, err := Listen(m, Options{Address: "127.0.0.1:0", Admin: "127.0.0.1:0", Clock: clock, Settings: map[string]string{"statsd.address": ":8125"}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.streams.text1("web.hits:3|c\nweb.misses:1|c|#env:prod\ndb.hits:1|c\nqueue:5|g\nt.a:1:2|ms\nbad")
	m.second(t, s.aggregator)
	connection, err := net.Dial("tcp", s.AdminAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
	reader := bufio.NewReader(connection)
	ask := func(command, last string) string {
		t.Helper()
		fmt.Fprintf(connection, "%s\r\n", command)
		answer := ""
		for !strings.HasSuffix(answer, last) {
			line, err := reader.ReadString('\n')
			answer += line
			if err != nil {
				t.Fatalf("%s: %q %v", command, answer, err)
			}
		}
		return answer
	}
	for _, c := range []struct{ command, last, want string }{
		{"counters", end, "{\n  \"db.hits\": 1,\n  \"web.hits\": 3,\n  \"web.misses{env=\\\"prod\\\"}\": 1\n}\nEND\n\n"},
		{"gauges", end, "{\n  \"queue\": 5\n}\nEND\n\n"},
		{"timers", end, "{\n  \"t.a\": {\"count\":2}\n}\nEND\n\n"},
		{"delcounters web.* nothing", end, "deleted: web.hits\ndeleted: web.misses{env=\"prod\"}\nmetric nothing not found\nEND\n\n"},
		{"counters", end, "{\n  \"db.hits\": 1\n}\nEND\n\n"},
		{"delgauges queue", end, "deleted: queue\nEND\n\n"},
		{"deltimers t.a", end, "deleted: t.a\nEND\n\n"},
		{"timers", end, "{\n}\nEND\n\n"},
		{"health", "\n", "health: up\n"},
		{"health down", "\n", "health: down\n"},
		{"HEALTH", "\n", "health: down\n"},
		{"health up", "\n", "health: up\n"},
		{"config", end, "statsd.address: :8125\nEND\n\n"},
		{"rm -rf", "\n", "ERROR\n"},
	} {
		if got := ask(c.command, c.last); got != c.want {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	if got := ask("stats", end); !strings.Contains(got, "messages.bad_lines_seen: 1\n") || !strings.Contains(got, "lines_received: 5\n") {
		t.Errorf("%q", got)
	}
	if got := ask("help", "quit\n\n"); !strings.Contains(got, "delcounters") {
		t.Errorf("%q", got)
	}
	s.streams.text1("web.hits:1|c")
	if got := m.second(t, s.aggregator); !slices.Equal(got, []string{"counter db.hits 1", "counter web.hits 1"}) {
		t.Errorf("%q", got)
	}
	fmt.Fprint(connection, "quit\n")
	if _, err := io.ReadAll(reader); err != nil {
		t.Error(err)
	}
}

// Forgotten clients do not lock the administrator out, and a command that is too long is answered.
func TestAdminAmongMany(t *testing.T) {
	s, err := Listen(&memory{}, Options{Address: "127.0.0.1:0", Admin: "127.0.0.1:0", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.mu.Lock()
	for range maxConnections {
		one, other := net.Pipe()
		defer other.Close()
		s.connections[one] = struct{}{}
	}
	s.mu.Unlock()
	ask := func(address, text string) string {
		connection, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		_ = connection.SetDeadline(time.Now().Add(10 * time.Second))
		_, _ = io.WriteString(connection, text)
		answer, _ := io.ReadAll(connection)
		return string(answer)
	}
	if got := ask(s.AdminAddr(), "health\nquit\n"); got != "health: up\n" {
		t.Errorf("%q", got)
	}
	if got := ask(s.AdminAddr(), "delcounters "+strings.Repeat("x", maxLine)+"\n"); !strings.HasPrefix(got, "ERROR") {
		t.Errorf("%q", got)
	}
	if ask(s.Addr(), ""); s.Stats().RefusedConnections != 1 {
		t.Errorf("%+v", s.Stats())
	}
}

// A series whose tags hold spaces and quotes can be named; and what the system does not tell is not told as none.
func TestAdminNames(t *testing.T) {
	m := &memory{}
	s, err := Listen(m, Options{Admin: "127.0.0.1:0", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	s.streams.text1("n:1|c|#dc:eu west\nn:1|c|#dc:a\"b \\c\nmit leer:1|c\nplain:1|c")
	m.second(t, s.aggregator)
	var listed map[string]float64
	var out bytes.Buffer
	s.aggregator.writeMetrics(&out, "counters")
	if err := json.Unmarshal([]byte(strings.TrimSuffix(out.String(), end)), &listed); err != nil || len(listed) != 4 {
		t.Fatal(out.String(), err)
	}
	for name := range listed {
		out.Reset()
		said := name
		if name == "mit leer" {
			said = strconv.Quote(name)
		}
		if s.command(words("delcounters "+said), &out); out.String() != "deleted: "+name+"\n"+end {
			t.Errorf("%s: %q", name, &out)
		}
	}
	out.Reset()
	if s.command(words("stats"), &out); !strings.Contains(out.String(), "kernel_drops: unknown\n") {
		t.Errorf("%q", &out)
	}
}
