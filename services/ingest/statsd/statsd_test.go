package statsd

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/fastclock"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
)

// memory is a store that remembers.
type memory struct {
	mu       sync.Mutex
	samples  []string
	rejected map[tsdb.Reason]int
	fail     error
	forget   bool
}

func (m *memory) Ingest(_ context.Context, _ string, batch []tsdb.Sample, _ journal.Durability) ([]tsdb.Rejection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fail != nil || m.forget {
		return nil, m.fail
	}
	for _, s := range batch {
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, err
		}
		var text []string
		for _, l := range labels {
			text = append(text, l.Name+"="+l.Value)
		}
		line := fmt.Sprintf("%s %s %g", s.Kind, strings.TrimPrefix(strings.Join(text, ","), "__name__="), s.Value)
		if s.Kind == tsdb.Histogram {
			line = fmt.Sprintf("%s %s", s.Kind, strings.TrimPrefix(strings.Join(text, ","), "__name__="))
			for i, bin := range s.Histogram.Bins {
				line += fmt.Sprintf(" %s:%d", bin, s.Histogram.Counts[i])
			}
		}
		m.samples = append(m.samples, line)
	}
	return nil, nil
}

func (m *memory) Describe([]tsdb.Metadata)  {}
func (m *memory) Exemplify([]tsdb.Exemplar) {}

func (m *memory) Reject(reason tsdb.Reason, n int) {
	if n == 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rejected == nil {
		m.rejected = map[tsdb.Reason]int{}
	}
	m.rejected[reason] += n
}

// second flushes and returns what was written, ordered.
func (m *memory) second(t *testing.T, a *Aggregator) []string {
	t.Helper()
	if err := a.Flush(t.Context(), time.Unix(1000, 0)); err != nil {
		t.Fatal(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	got := m.samples
	m.samples = nil
	slices.Sort(got)
	return got
}

// one is an aggregator with one reader.
func one(m *memory) (*Aggregator, *shard) {
	a := NewAggregator(m, Options{Clock: clock})
	return a, a.shard()
}

var clock = fastclock.New()

func (s *shard) text1(packet string) { s.packets([][]byte{[]byte(packet)}, clock.Now()) }

func TestLines(t *testing.T) {
	for _, c := range []struct {
		packets string
		want    []string
	}{
		{"hits:1|c\nhits:2|c", []string{"counter hits 3"}},
		{"hits:1|c|@0.1", []string{"counter hits 10"}},
		{"web.req-s/x:1|c\r\n", []string{"counter web.req-s/x 1"}},
		{"9lives:1|c", []string{"counter 9lives 1"}},
		{"temp:20|g\ntemp:+2|g\ntemp:-5|g", []string{"gauge temp 17"}},
		{"temp:-5|g", []string{"gauge temp -5"}},
		{"t:1.2|ms\nt:1.2|ms\nt:12|ms", []string{"histogram t 1.2e-3:2 1.2e-2:1"}},
		{"t:3|ms|@0.25", []string{"histogram t 3.0e-3:4"}},
		{"size:512|h\nsize:1|d", []string{"histogram size 1.0e0:1 5.1e2:1"}},
		{"t:1:2:2|ms", []string{"histogram t 1.0e-3:1 2.0e-3:2"}},
		{"users:ann|s\nusers:bob|s\nusers:ann|s", []string{"gauge users 2"}},
		{"hits:1|c|#env:prod,canary\nhits:1|c|#canary,env:prod", []string{"counter hits,canary=true,env=prod 2"}},
		{"hits:1|c|@0.5|#a.b:x:y|c:container|T1656581400", []string{"counter hits,a.b=x:y 2"}},
		{"hits:1|c|#env:a,env:b", []string{"counter hits,env=b 1"}},
		{"hits:1|c|T1656581400|c:x|e:y|card:low|#a:b", []string{"counter hits,a=b 1"}},
		{"disk.used;host=web1;dc=eu west:5|g", []string{"gauge disk.used,dc=eu west,host=web1 5"}},
		{"n;a=b:1|c|#c:d", []string{"counter n,a=b,c=d 1"}},
		{"n;a=b:1|c|#a:d", []string{"counter n,a=d 1"}},
		{"näme mit leer:1|c", []string{"counter näme mit leer 1"}},
		{"hits:1:2:3|c|@0.5", []string{"counter hits 12"}},
		{"temp:1:2:+3|g", []string{"gauge temp 5"}},
		{"temp:0.1|g", []string{"gauge temp 0.1"}},
		{"temp:123456789.123456789|g", []string{"gauge temp 1.2345678912345679e+08"}},
		{"temp:1e3|g\ntemp:-1.5e1|g", []string{"gauge temp 985"}},
		{"t:-0|ms\nt:0|ms\nt:-3|ms", []string{"histogram t -3.0e-3:1 0:2"}},
		{"t:1|ms|@0.000001", []string{"histogram t 1.0e-3:1000000"}},
		{"x:1|c\nx:5|g\nx:2|ms", []string{"counter x 1", "gauge x 5", "histogram x 2.0e-3:1"}},
		{"users:a:b|s\nusers:a|s", []string{"gauge users 2"}},
		{"hits:1|c|#a:,b:c", []string{"counter hits,b=c 1"}},
		{"hits:1|c|#,,a:b,", []string{"counter hits,a=b 1"}},
		{"hits:1|c|||#a:b", []string{"counter hits,a=b 1"}},
		{"hits:1|c|#__name__:x", []string{"counter hits,name=x 1"}},
	} {
		m := &memory{}
		a, s := one(m)
		s.text1(c.packets)
		if got := m.second(t, a); !slices.Equal(got, c.want) || len(m.rejected) > 0 {
			t.Errorf("%q: %q, want %q; refused %v", c.packets, got, c.want, m.rejected)
		}
	}
}

// A bad line is counted by its reason, and what is around it is kept.
func TestBadLines(t *testing.T) {
	many := "x:1|c|#"
	for i := range 70 {
		many += fmt.Sprintf("t%d:v,", i)
	}
	for reason, lines := range map[tsdb.Reason][]string{
		BadLine:            {"nonsense", ":1|c", "x|c", "x:1", "x:|c", "x:1|", ";a=b:1|c", "x;a:1|c", "x;=b:1|c", "|", ":", "::", "x;:1|c"},
		BadType:            {"x:1|q", "x:1|mss", "x:1|cc", "x:1|C", "x:1|m"},
		BadNumber:          {"x:abc|c", "x:NaN|g", "x:0x10|g", "x:inf|ms", "x:1_000|c", "x:+|g", "x:-|g", "x:.|g", "x:1e999|c", "x:1e200|ms", "x: 1|c", "x:1.2.3|g", "x:--1|g", "x::|c"},
		BadRate:            {"x:1|c|@0", "x:1|c|@2", "x:1|c|@y", "x:1|c|@-0.5", "x:1|c|@", "x:1|c|@1e-300", "x:1|c|@nan"},
		Event:              {"_e{1,1}:a|b", "_e{5,4}:title|text|t:warning"},
		ServiceCheck:       {"_sc|x|0", "_sc|db.up|1|d:1700000000|m:gone"},
		TooLong:            {strings.Repeat("y", maxLine+1)},
		tsdb.BadName:       {"x\xff:1|c"},
		tsdb.BadLabel:      {"x:1|c|#a\xff:b", "x:1|c|#a:\xfe"},
		tsdb.LabelTooLong:  {strings.Repeat("n", tsdb.MaxLabelValue+1) + ":1|c", "x:1|c|#" + strings.Repeat("n", tsdb.MaxLabelName+1) + ":1"},
		tsdb.TooManyLabels: {many},
	} {
		for _, line := range lines {
			m := &memory{}
			a, s := one(m)
			s.text1("good:1|c\n" + line + "\ngood:1|c")
			got := m.second(t, a)
			want := 1
			if line == "x::|c" { // two values, both bad
				want = 2
			}
			if len(got) != 1 || got[0] != "counter good 2" || m.rejected[reason] < 1 || m.rejected[reason] > want || len(m.rejected) != 1 {
				t.Errorf("%.80q: %q, refused %v, want %s", line, got, m.rejected, reason)
			}
			if len(a.list) != 1 && line != "x:1e200|ms" {
				t.Errorf("%.80q: a name is kept for it", line)
			}
		}
	}
	// Of several values the good ones count.
	m := &memory{}
	a, s := one(m)
	s.text1("t:1:x:3|ms")
	if got := m.second(t, a); !slices.Equal(got, []string{"histogram t 1.0e-3:1 3.0e-3:1"}) || m.rejected[BadNumber] != 1 {
		t.Errorf("%q %v", got, m.rejected)
	}
}

func TestNumbers(t *testing.T) {
	for _, text := range []string{"0", "1", "-1", "+1", "12.5", "0.1", "-0.001", "123456789012345", "1234567890123456", "99999999999999999999",
		"0.000000000000001", "1.", ".5", "1e5", "1E-5", "-1.5e+3", "3.141592653589793", "00012", "1234567.8901234"} {
		want, err := strconv.ParseFloat(text, 64)
		if got, ok := parseNumber([]byte(text)); err != nil || !ok || got != want {
			t.Errorf("%q: %v %v, want %v", text, got, ok, want)
		}
	}
}

func TestSeconds(t *testing.T) {
	m := &memory{}
	a, s := one(m)
	s.text1("c:5|c\ng:7|g\nt:1|ms\ns:x|s")
	m.second(t, a)
	// A quiet second: counters and gauges stay, timers and sets say nothing.
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 5", "gauge g 7"}) {
		t.Errorf("%q", got)
	}
	s.text1("c:1|c")
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 6", "gauge g 7"}) {
		t.Errorf("%q", got)
	}
	for range forgetAfter + sweepEvery {
		m.second(t, a)
	}
	if got := m.second(t, a); len(got) != 0 || len(a.list) != 0 || len(a.metrics) != 0 || s.table.used != 0 {
		t.Errorf("nothing came for an hour: %q, %d names are kept", got, len(a.list))
	}
	s.text1("c:1|c")
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 1"}) {
		t.Errorf("%q", got)
	}
}

// Several readers: counts add up, and of a gauge's changes the order of their arrival counts.
func TestReaders(t *testing.T) {
	m := &memory{}
	a, first := one(m)
	second := a.shard()
	first.packets([][]byte{[]byte("c:1|c\nt:1|ms\nu:a|s\nu:b|s")}, 1)
	second.packets([][]byte{[]byte("c:2|c\nt:1|ms\nt:2|ms\nu:b|s")}, 1)
	second.packets([][]byte{[]byte("g:10|g")}, 5)
	first.packets([][]byte{[]byte("g:99|g\ng:+50|g")}, 4) // taken from the socket earlier
	first.packets([][]byte{[]byte("g:+1|g")}, 6)
	if got, want := m.second(t, a), []string{"counter c 3", "gauge g 11", "gauge u 2", "histogram t 1.0e-3:2 2.0e-3:1"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Nothing is counted twice or lost while seconds end and names are forgotten.
func TestRace(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{Clock: clock})
	const readers, packets = 4, 2000
	var all sync.WaitGroup
	for range readers {
		s := a.shard()
		all.Go(func() {
			for i := range packets {
				s.text1(fmt.Sprintf("t%d:1|ms\nc:1|c", i%10))
			}
		})
	}
	total, counted := uint64(0), 0.0
	count := func() {
		for _, line := range m.second(t, a) {
			if _, rest, ok := strings.Cut(line, "1.0e-3:"); ok {
				n, _ := strconv.ParseUint(rest, 10, 64)
				total += n
			} else if _, err := fmt.Sscanf(line, "counter c %g", &counted); err != nil {
				t.Error(line)
			}
		}
	}
	stop := make(chan struct{})
	go func() { all.Wait(); close(stop) }()
	for running := true; running; {
		select {
		case <-stop:
			running = false
		default:
		}
		count()
	}
	count()
	if total != readers*packets || counted != readers*packets {
		t.Errorf("%d measurements, %v counted", total, counted)
	}
}

// A store that fails gets the timers later, with their own second.
func TestStoreFails(t *testing.T) {
	m := &memory{fail: errors.New("the disk is full")}
	a, s := one(m)
	s.text1("c:5|c\nt:1|ms")
	if err := a.Flush(t.Context(), time.Unix(10, 0)); !errors.Is(err, m.fail) {
		t.Fatal(err)
	}
	m.fail = nil
	s.text1("t:2|ms")
	if got, want := m.second(t, a), []string{"counter c 5", "histogram t 1.0e-3:1", "histogram t 2.0e-3:1"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

func TestNames(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{Clock: clock, Names: 3})
	s := a.shard()
	s.text1("a:1|c\nb:1|c\nc:1|c\nd:1|c\na:1|c")
	if got := m.second(t, a); len(got) != 3 || got[0] != "counter a 2" || m.rejected[Names] != 1 {
		t.Errorf("%q %v", got, m.rejected)
	}
	var many []string
	for i := range 5000 {
		many = append(many, fmt.Sprintf("n%d:%d|c|#i:%d", i, i, i))
	}
	m = &memory{}
	a, s = one(m)
	for range 2 {
		for _, line := range many {
			s.text1(line)
		}
	}
	got := m.second(t, a)
	if len(got) != 5000 || !slices.Contains(got, "counter n4999,i=4999 9998") {
		t.Errorf("%d names", len(got))
	}
}

func TestSockets(t *testing.T) {
	m := &memory{}
	path := filepath.Join(t.TempDir(), "statsd.sock")
	s, err := Listen(m, Options{Address: "127.0.0.1:0", Socket: path, Readers: 2, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(m, Options{Address: s.Addr(), Clock: clock}); err == nil {
		t.Error("two of them on one address")
	}
	if _, err := Listen(m, Options{Socket: path, Clock: clock}); err == nil {
		t.Error("two of them on one path")
	}
	const packets = 500
	for _, to := range [][2]string{{"udp", s.Addr()}, {"unixgram", path}} {
		connection, err := net.Dial(to[0], to[1])
		if err != nil {
			t.Fatal(err)
		}
		defer connection.Close()
		for i := range packets {
			if _, err := fmt.Fprintf(connection, "%s:1|c\nsize:%d|h", to[0], i); err != nil {
				t.Fatal(err)
			}
		}
	}
	tcp, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{strings.Repeat("z", 3*maxLine), "\ntcp:1", "|c\ntcp:1|c\n", "tcp:1|c"} {
		fmt.Fprint(tcp, part)
		time.Sleep(time.Millisecond)
	}
	tcp.Close()
	deadline := time.Now().Add(10 * time.Second)
	for s.Stats().Lines < 4*packets+3 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	got := m.second(t, s.aggregator)
	if len(got) != 4 || got[0] != "counter tcp 3" || got[1] != fmt.Sprintf("counter udp %d", packets) || got[2] != fmt.Sprintf("counter unixgram %d", packets) {
		t.Errorf("%.300q", got)
	}
	if stats := s.Stats(); stats.Packets != 2*packets || stats.Drops != 0 || m.rejected[TooLong] != 1 || stats.BadLines != 1 || time.Since(stats.Last) > time.Minute {
		t.Errorf("%+v, refused %v", stats, m.rejected)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Error("the socket's file is left")
	}
}

// What the kernel holds when the end comes is taken too.
func TestDrain(t *testing.T) {
	m := &memory{}
	s, err := Listen(m, Options{Address: "127.0.0.1:0", Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() { s.Serve(ctx, func(err error) { t.Error(err) }) })
	udp, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	tcp, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	for s.Stats().Connections == 0 { // what nobody has accepted is nobody's
		time.Sleep(time.Millisecond)
	}
	for range 100 {
		fmt.Fprint(udp, "c:1|c")
	}
	// The last line is one that the end cuts off: it could be anything.
	fmt.Fprint(tcp, strings.Repeat("t:1|c\n", 50_000), "t:1|c")
	cancel()
	done.Wait()
	if stats := s.Stats(); stats.Packets != 100 {
		t.Errorf("%+v", stats)
	}
	if n := len(m.samples); n < 2 || !slices.Contains(m.samples[n-2:], "counter c 100") || !slices.Contains(m.samples[n-2:], "counter t 50000") {
		t.Errorf("%q", m.samples)
	}
}

// Drops are the kernel's to tell; each packet is either received or dropped.
func TestDrops(t *testing.T) {
	m := &memory{}
	s, err := Listen(m, Options{Address: "127.0.0.1:0", Readers: 1, Buffer: 4096, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !s.Stats().DropsKnown {
		t.Skip("the kernel does not say")
	}
	udp, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	s.sockets[0].pause = 0 // as with a buffer so small
	const packets = 20_000
	s.streams.a.shards[1].mu.Lock() // nobody reads on
	for range packets {
		if _, err := udp.Write([]byte("c:1|c")); err != nil {
			t.Fatal(err)
		}
	}
	s.streams.a.shards[1].mu.Unlock()
	deadline := time.Now().Add(5 * time.Second)
	for time.Now().Before(deadline) {
		if stats := s.Stats(); stats.Packets+stats.Drops == packets {
			break
		}
		time.Sleep(time.Millisecond)
	}
	if stats := s.Stats(); stats.Packets+stats.Drops != packets || stats.Drops == 0 || stats.Lines != stats.Packets {
		t.Errorf("%+v", stats)
	}
}

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

func FuzzPacket(f *testing.F) {
	f.Add([]byte("a.b:1|c|@0.1|#x:y,z\nt:1.5:2|ms\n:|c\ng:+1|g"))
	f.Add([]byte("a:1|c|#\xff:\xfe"))
	f.Add([]byte("\n\n\r\n:::|||@@@###"))
	f.Add([]byte("a;b=c;d=e:1e5|d|T1|c:x\n_e{1,1}:a|b\n_sc|a|0\nu:a|s"))
	f.Fuzz(func(t *testing.T, before []byte) {
		m := &memory{}
		a, s := one(m)
		packet := bytes.Clone(before) // what is the fuzzer's must stay as it is: cleared, it would learn nothing from it
		s.packets([][]byte{packet, packet}, 1)
		if !bytes.Equal(before, packet) {
			t.Fatal("the packet was changed")
		}
		clear(packet)                                                 // the reader's buffer is used again
		if err := a.Flush(t.Context(), time.Unix(1, 0)); err != nil { // every key must be a key
			t.Fatal(err)
		}
		refused := 0
		for _, n := range m.rejected {
			refused += n
		}
		lines := 0
		for line := range bytes.Lines(before) {
			if len(bytes.TrimRight(line, "\r\n")) > 0 {
				lines++
			}
		}
		if int(a.Lines())+refused < 2*lines {
			t.Fatalf("%d lines of %d were taken, %d refused", a.Lines(), 2*lines, refused)
		}
	})
}

func benchmarkPackets(names int) [][]byte {
	r := rand.New(rand.NewPCG(1, 1))
	packets := make([][]byte, 1<<16)
	for i := range packets {
		packets[i] = fmt.Appendf(nil, "service.%d.latency:%.2f|ms|#env:prod,host:web%d", r.IntN(names), r.ExpFloat64()*20, r.IntN(10))
	}
	return packets
}

// The parser and the table alone, in batches as they come from the kernel.
func BenchmarkPackets(b *testing.B) {
	for _, names := range []int{100, 10_000} {
		b.Run(fmt.Sprint(names*10), func(b *testing.B) {
			_, s := one(&memory{})
			packets := benchmarkPackets(names)
			for i := 0; i+batchPackets <= len(packets); i += batchPackets {
				s.packets(packets[i:i+batchPackets], 1)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += batchPackets {
				at := i % len(packets)
				s.packets(packets[at:at+batchPackets], clock.Now())
			}
		})
	}
}

// A second's end with 10,000 timers that were all measured.
func BenchmarkSecond(b *testing.B) {
	a, s := one(&memory{forget: true})
	packets := benchmarkPackets(1000)
	for b.Loop() {
		b.StopTimer()
		s.packets(packets, 1)
		b.StartTimer()
		if err := a.Flush(b.Context(), time.Unix(1, 0)); err != nil {
			b.Fatal(err)
		}
	}
}

// How many members a set had is said once: like a histogram, it waits for a store that fails.
func TestSetsWaitForTheStore(t *testing.T) {
	m := &memory{fail: errors.New("the disk is full")}
	a, s := one(m)
	s.text1("c:5|c\ng:7|g\nu:ann|s\nu:bob|s")
	if err := a.Flush(t.Context(), time.Unix(10, 0)); !errors.Is(err, m.fail) {
		t.Fatal(err)
	}
	m.fail = nil
	s.text1("u:eve|s\nt:1|ms")
	want := []string{"counter c 5", "gauge g 7", "gauge u 1", "gauge u 2", "histogram t 1.0e-3:1"}
	if got := m.second(t, a); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// A sample rate that does not divide 1 counts in the long run what was sent: of a timer, too.
func TestSampleRates(t *testing.T) {
	for _, rate := range []string{"0.7", "0.67", "0.9", "0.3", "0.15", "0.0007", "0.999", "1e-5", "0.1", "0.5", "1"} {
		m := &memory{}
		a, s := one(m)
		const lines = 1000
		for range lines {
			s.text1("t:1|ms|@" + rate + "\nc:1|c|@" + rate)
		}
		got := m.second(t, a)
		var counted, measured float64
		if _, err := fmt.Sscanf(strings.Join(got, "\n"), "counter c %g\nhistogram t 1.0e-3:%g", &counted, &measured); err != nil {
			t.Fatalf("%q: %v", got, err)
		}
		r, _ := strconv.ParseFloat(rate, 64)
		if want := lines / r; math.Abs(measured-want) > 1 || math.Abs(counted-want) > 1e-6*want {
			t.Errorf("@%s: %v measurements and %v counted, want %v", rate, measured, counted, want)
		}
	}
}

// The last line of a datagram that was too long is not taken for a whole one.
func TestTruncatedPacket(t *testing.T) {
	m := &memory{}
	path := filepath.Join(t.TempDir(), "statsd.sock")
	s, err := Listen(m, Options{Socket: path, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	connection, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	// The packet's end falls into the tag of the last line that is received.
	packet := []byte("first:1|c\n")
	for len(packet) < maxPacket-9 {
		packet = append(packet, "x:1|c\n"[:min(6, maxPacket-9-len(packet))]...)
	}
	packet[len(packet)-1] = '\n'
	packet = append(packet, "a:1|c|#e:production\nlast:1|c\n"...)
	if _, err := connection.Write(packet); err != nil {
		t.Skip(err) // the system has no datagrams as long as that
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	got := strings.Join(m.second(t, s.aggregator), "\n")
	if !strings.Contains(got, "counter first 1") || strings.Contains(got, "counter a") || m.rejected[TooLong] != 1 {
		t.Errorf("%s\nrefused %v", got, m.rejected)
	}
}

// A counter does not go down: what is computed from it would take that for a new beginning, and count all of it again.
func TestNegativeCounts(t *testing.T) {
	m := &memory{}
	a, s := one(m)
	s.text1("c:1000000|c\nc:-1|c\nc:5:-2:3|c\nc:-0|c\nc:+1|c\nnew:-1|c")
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 1.000009e+06"}) || m.rejected[Negative] != 3 {
		t.Errorf("%q %v", got, m.rejected)
	}
}

// Finding out that a line has too many tags costs no more than the line.
func TestManyGraphiteTags(t *testing.T) {
	name := "n"
	for i := range maxLine / 6 {
		name += fmt.Sprintf(";%x=", i)
	}
	if labels, reason := labelsOf([]byte(name), nil); reason != tsdb.TooManyLabels {
		t.Errorf("%d labels, %q", len(labels), reason)
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

// A restart within a second: what came before it and what came after are both there, in their order.
func TestRestartWithinASecond(t *testing.T) {
	for range 30 {
		if restartedWithinASecond(t) {
			return
		}
	}
	t.Fatal("it took longer than a second each time")
}

// restartedWithinASecond is false when that took so long that it says nothing.
func restartedWithinASecond(t *testing.T) bool {
	store, err := tsdb.Open(t.TempDir(), tsdb.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	if now := time.Now(); now.Nanosecond() > 500e6 {
		time.Sleep(now.Truncate(time.Second).Add(time.Second).Sub(now))
	}
	began := time.Now()
	for i := range 2 {
		a := NewAggregator(store, Options{Clock: clock})
		a.shard().text1(fmt.Sprintf("c:%d|c\nu:%d|s\nt:%d|ms", 500-497*i, i, i))
		ctx, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
		a.Run(ctx, func(err error) { t.Error(err) })
		stop()
	}
	if time.Now().Unix() != began.Unix() {
		return false
	}
	for name, want := range map[string][]float64{"c": {500, 3}, "u": {1, 1}} {
		found, release, err := store.Select(t.Context(), 0, math.MaxInt64, labels.MustNewMatcher(labels.MatchEqual, tsdb.NameLabel, name))
		if err != nil || len(found) != 1 {
			t.Fatal(len(found), err)
		}
		var got []float64
		for it := found[0].Numbers(0, math.MaxInt64); it.Next(); {
			at, v := it.At()
			got = append(got, v)
			if at > time.Now().UnixMilli() || at < began.Unix()*1000 {
				t.Errorf("%s: at %d", name, at)
			}
		}
		release()
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	return true
}

// What waits for a store that fails to the end is lost, and told and counted as lost.
func TestEndWithoutStore(t *testing.T) {
	m := &memory{fail: errors.New("the disk is full")}
	a, s := one(m)
	s.text1("c:5|c\nt:1|ms\nu:ann|s")
	ctx, stop := context.WithCancel(t.Context())
	stop()
	var last error
	a.Run(ctx, func(err error) { last = err })
	if !errors.Is(last, ErrLost) || !strings.Contains(last.Error(), "2 timers and sets") || m.rejected[Unstored] != 2 {
		t.Errorf("%v, refused %v", last, m.rejected)
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
