package statsd

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/tsdb"
)

// memory is a store that remembers.
type memory struct {
	mu       sync.Mutex
	samples  []string
	zeros    int // where counters begin
	rejected map[tsdb.Reason]int
}

func (m *memory) Ingest(_ context.Context, _ string, batch []tsdb.Sample, _ journal.Durability) ([]tsdb.Rejection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range batch {
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, err
		}
		var text []string
		for _, l := range labels {
			text = append(text, l.Name+"="+l.Value)
		}
		if s.Time%1000 == 999 && s.Value == 0 {
			m.zeros++
			continue
		}
		line := fmt.Sprintf("%s %s %g", s.Kind, strings.ReplaceAll(strings.Join(text, ","), "__name__=", ""), s.Value)
		if s.Kind == tsdb.Histogram {
			line = fmt.Sprintf("%s %s", s.Kind, strings.ReplaceAll(strings.Join(text, ","), "__name__=", ""))
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

func TestLines(t *testing.T) {
	for _, c := range []struct {
		packets string
		want    []string
	}{
		{"hits:1|c\nhits:2|c", []string{"counter hits 3"}},
		{"hits:1|c|@0.1", []string{"counter hits 10"}},
		{"web.req-s/x:1|c\r\n", []string{"counter web.req-s/x 1"}},
		{"a b\tc\x00d\u00a0e:1|c", []string{"counter a_b_c_d_e 1"}},
		{"größe:1|c\n\xff\xfe:1|c", []string{"counter _ 1", "counter größe 1"}},
		{"9lives:1|c", []string{"counter 9lives 1"}},
		{"temp:20|g\ntemp:+2|g\ntemp:-5|g", []string{"gauge temp 17"}},
		{"temp:-5|g", []string{"gauge temp -5"}},
		{"temp:0|g\ntemp:-5|g\ntemp:+1.5e1|g", []string{"gauge temp 10"}},
		{"t:1.2|ms\nt:1.2|ms\nt:12|ms", []string{"histogram t 1.2e-3:2 1.2e-2:1"}},
		{"t:3|ms|@0.25", []string{"histogram t 3.0e-3:4"}},
		{"size:512|h\nsize:1|d", []string{"histogram size 1.0e0:1 5.1e2:1"}},
		{"size:512|h\nsize:1|h|@0.5", []string{"histogram size 1.0e0:2 5.1e2:1"}},
		{"neg:-3|d\nneg:.5|d\nneg:5.|d", []string{"histogram neg -3.0e0:1 5.0e-1:1 5.0e0:1"}},
		{"t:1:2:2|ms", []string{"histogram t 1.0e-3:1 2.0e-3:2"}},
		{"t:1:2|c|@0.5|#a:b", []string{"counter t,a=b 6"}},
		{"hits:1|c:2|c|@0.5:3|c", []string{"counter hits 8"}},
		{"x:1|c:5|c|#a:b\nx:1|c", []string{"counter x 2", "counter x,a=b 5"}},
		{"users:ann|s\nusers:bob|s\nusers:ann|s\nusers:a:b|s", []string{"gauge users 3"}},
		{"hits:1|c|#env:prod,canary\nhits:1|c|#canary,env:prod", []string{"counter hits,canary=true,env=prod 2"}},
		{"hits:1|c|@0.5|#a.b:x:y|c:container|T1656581400", []string{"counter hits,a.b=x:y 2"}},
		{"hits:1|c|#env:a,env:b|e:it-false,cn-x|card:low", []string{"counter hits,env=b 1"}},
		{"hits:1|c|#__name__:x", []string{"counter hits,name=x 1"}},
		{"disk.used;host=a;mount=/:5|g", []string{"gauge disk.used,host=a,mount=/ 5"}},
		{"disk.used,host=a,mount=/:5|g\ndisk.used#host=b:6|g", []string{"gauge disk.used,host=a,mount=/ 5", "gauge disk.used,host=b 6"}},
		{"a,b:1|c\na;=x:1|c\n#a=b:1|c\nx,a=b,:1|c", []string{"counter #a=b 1", "counter a,b 1", "counter a;=x 1", "counter x,a=b, 1"}},
		{"hits;env=a:1|c|#env:b", []string{"counter hits,env=b 1"}},
		{"hits:1|c|#env:", []string{"counter hits 1"}},
	} {
		m := &memory{}
		a := NewAggregator(m, Options{})
		a.Packet([]byte(c.packets))
		if got := m.second(t, a); !slices.Equal(got, c.want) || len(m.rejected) > 0 {
			t.Errorf("%q: %q, want %q; refused %v", c.packets, got, c.want, m.rejected)
		}
	}
}

// A bad line is counted by its reason, and what is around it is kept.
func TestBadLines(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{})
	a.Packet([]byte("good:1|c\nnonsense\n:1|c\nx|c\nx:1\nx:|c\nx:1|q\nx:abc|c\nx:NaN|g\nx:0x10|g\nx:inf|ms\nx:1_000|c\nx:1|c|@0\nx:1|c|@2\nx:1|c|@y\nx:-1|c\nx:5|c:y\n" +
		"_e{1,1}:a|b\n_sc|x|0\n" + strings.Repeat("y", maxLine+1) + "\ngood:1|c"))
	if got := m.second(t, a); !slices.Equal(got, []string{"counter good 2", "counter x 5"}) {
		t.Errorf("%q", got)
	}
	want := map[tsdb.Reason]int{BadLine: 6, BadType: 1, BadNumber: 5, BadRate: 3, NotMetric: 2, TooLong: 1, Decrement: 1}
	if !maps.Equal(m.rejected, want) {
		t.Errorf("%v, want %v", m.rejected, want)
	}
}

func TestSeconds(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{})
	a.Packet([]byte("c:5|c\ng:7|g\nt:1|ms\ns:x|s"))
	m.second(t, a)
	// A quiet second: counters and gauges stay, timers and sets say nothing.
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 5", "gauge g 7"}) {
		t.Errorf("%q", got)
	}
	a.Packet([]byte("c:1|c"))
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 6", "gauge g 7"}) {
		t.Errorf("%q", got)
	}
	for range 3600 {
		m.second(t, a)
	}
	if got := m.second(t, a); len(got) != 0 || len(a.byKey) != 0 || len(a.metrics) != 0 || a.spellings.count != 0 {
		t.Errorf("nothing came for an hour: %q, %d names are kept", got, a.spellings.count)
	}
}

func TestSockets(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{})
	s, err := Listen(Listeners{Address: "127.0.0.1:0", Socket: filepath.Join(t.TempDir(), "s"), Admin: "127.0.0.1:0"}, a)
	if err != nil {
		t.Fatal(err)
	}
	udp, err := net.Dial("udp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	tcp, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	const packets = 500
	for i := range packets {
		if _, err := fmt.Fprintf(udp, "udp:1|c\nsize:%d|h", i); err != nil {
			t.Fatal(err)
		}
	}
	fmt.Fprintf(tcp, "%s\ntcp:1|c\ntcp:1|c", strings.Repeat("z", 3*maxLine))
	tcp.Close()
	unix, err := net.Dial("unixgram", s.Unix().Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close()
	fmt.Fprint(unix, "unix:1|c\nunix:1|c")
	deadline := time.Now().Add(10 * time.Second)
	for a.Lines() < 2*packets+4 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	got := m.second(t, a)
	if len(got) != 4 || got[0] != "counter tcp 2" || got[1] != fmt.Sprintf("counter udp %d", packets) || got[2] != "counter unix 2" {
		t.Errorf("%.300q", got)
	}
	if drops, _ := s.UDP().Drops(); s.UDP().Packets() != packets || drops != 0 || m.rejected[TooLong] != 1 {
		t.Errorf("%d packets, %d drops, refused %v", s.UDP().Packets(), drops, m.rejected)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// One series has one type: the first one's.
func TestConflicts(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{MaxNames: 4})
	a.Packet([]byte("x:1|c\nx:5|ms\nx:5|ms\nx:1|g\ny:1|c\nz:1|c\nx:1|c"))
	if got := m.second(t, a); !slices.Equal(got, []string{"counter x 2", "counter y 1"}) || m.zeros != 2 {
		t.Errorf("%q, %d zeros", got, m.zeros)
	}
	if want := map[tsdb.Reason]int{tsdb.TypeConflict: 3, TooMany: 1}; !maps.Equal(m.rejected, want) {
		t.Errorf("%v", m.rejected)
	}
	// The refusals make room.
	for range 600 {
		m.second(t, a)
	}
	a.Packet([]byte("z:1|c"))
	if got := m.second(t, a); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestManyNames(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{})
	for range 2 {
		for i := range 5000 {
			a.Packet(fmt.Appendf(nil, "name.%d:1|c|#a:%d", i%2500, i))
		}
	}
	if got := m.second(t, a); len(got) != 5000 || a.Names() != 5000 {
		t.Fatal(len(got))
	}
	for _, one := range m.second(t, a) {
		if !strings.HasSuffix(one, " 2") {
			t.Fatal(one)
		}
	}
}

func TestAdmin(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{})
	s, err := Listen(Listeners{Admin: "127.0.0.1:0"}, a)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	connection, err := net.Dial("tcp", s.AdminAddr())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	reader := bufio.NewReader(connection)
	ask := func(command string) string {
		fmt.Fprintln(connection, command)
		_ = connection.SetReadDeadline(time.Now().Add(5 * time.Second))
		var answer strings.Builder
		for !strings.HasSuffix(answer.String(), "END\n\n") {
			text, err := reader.ReadString('\n')
			if err != nil {
				t.Fatalf("%s: %v after %q", command, err, answer.String())
			}
			answer.WriteString(text)
		}
		return strings.TrimSuffix(answer.String(), "END\n\n")
	}
	a.Packet([]byte("web.a:1|c\nweb.b:2|c|#env:x\nother:1|c\ng:5|g\nt:1|ms\nu:x|s\nbad"))
	for _, c := range []struct{ command, want string }{
		{"counters", "{\n  \"other\": 1,\n  \"web.a\": 1,\n  \"web.b;env=x\": 2\n}\n"},
		{"gauges", "{\n  \"g\": 5\n}\n"},
		{"timers", `"1.0e-3": 1`},
		{"sets", `"u": 1`},
		{"delcounters web.* nothing", "deleted: web.a\ndeleted: web.b;env=x\nmetric nothing not found\n"},
		{"counters", "{\n  \"other\": 1\n}\n"},
		{"deltimers t", "deleted: t\n"},
		{"delgauges t", "metric t not found\n"},
		{"health", "health: up\n"},
		{"health down", "health: down\n"},
		{"health", "health: down\n"},
		{"stats", "messages.bad_lines_seen: 1\n"},
		{"config", `"flushInterval": 1000`},
		{"help", "delcounters"},
		{"nonsense", "ERROR: there is no command"},
	} {
		if got := ask(c.command); !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.command, got, c.want)
		}
	}
	if got := m.second(t, a); !slices.Equal(got, []string{"counter other 1", "gauge g 5", "gauge u 1"}) {
		t.Errorf("%q", got)
	}
	fmt.Fprintln(connection, "quit")
	if text, err := reader.ReadString('\n'); err == nil {
		t.Errorf("after quit: %q", text)
	}
}

func FuzzPacket(f *testing.F) {
	f.Add([]byte("a.b:1|c|@0.1|#x:y,z\nt:1.5:2|ms\n:|c\ng:+1|g"))
	f.Add([]byte("a:1|c|#\xff:\xfe"))
	f.Add([]byte("a;b=c,d#e=f:1|c:2|ms|@0.1:3|g|#x\n_e{5,4}:title|text\n_sc|n|0"))
	f.Add([]byte("u:x|s\nu:1|c|T1|c:x|e:y\nv:1e300|g\nv:+1e308|g\nv:+1e308|g"))
	f.Add([]byte("\n\n\r\n:::|||@@@###"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		m := &memory{}
		a := NewAggregator(m, Options{})
		before := bytes.Clone(packet)
		a.Packet(packet)
		if !bytes.Equal(before, packet) {
			t.Fatal("the packet was changed")
		}
		if err := a.Flush(t.Context(), time.Unix(1, 0)); err != nil { // every key must be a key
			t.Fatal(err)
		}
	})
}

func BenchmarkPackets(b *testing.B) {
	a := NewAggregator(&memory{}, Options{})
	r := rand.New(rand.NewPCG(1, 1))
	packets := make([][]byte, 1024)
	for i := range packets {
		packets[i] = fmt.Appendf(nil, "service.%d.latency:%.2f|ms|#env:prod,host:web%d", r.IntN(100), r.ExpFloat64()*20, r.IntN(10))
	}
	for i := 0; b.Loop(); i++ {
		from := i * 64 % 1024
		a.Packets(packets[from : from+64])
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/64, "ns/packet")
	b.ReportMetric(64*float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}
