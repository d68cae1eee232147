package statsd

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
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
		{"web.req-s/x:1|c\r\n", []string{"counter web_req_s_x 1"}},
		{"9lives:1|c", []string{"counter _9lives 1"}},
		{"temp:20|g\ntemp:+2|g\ntemp:-5|g", []string{"gauge temp 17"}},
		{"temp:-5|g", []string{"gauge temp -5"}},
		{"t:1.2|ms\nt:1.2|ms\nt:12|ms", []string{"histogram t 1.2e-3:2 1.2e-2:1"}},
		{"t:3|ms|@0.25", []string{"histogram t 3.0e-3:4"}},
		{"size:512|h\nsize:1|d", []string{"histogram size 1.0e0:1 5.1e2:1"}},
		{"t:1:2:2|ms", []string{"histogram t 1.0e-3:1 2.0e-3:2"}},
		{"users:ann|s\nusers:bob|s\nusers:ann|s", []string{"gauge users 2"}},
		{"hits:1|c|#env:prod,canary\nhits:1|c|#canary,env:prod", []string{"counter hits,canary=true,env=prod 2"}},
		{"hits:1|c|@0.5|#a.b:x:y|c:container|T1656581400", []string{"counter hits,a_b=x:y 2"}},
		{"hits:1|c|#env:a,env:b", []string{"counter hits,env=b 1"}},
		{"hits:1|c|#__name__:x", []string{"counter hits,name=x 1"}},
	} {
		m := &memory{}
		a := NewAggregator(m)
		a.Packet([]byte(c.packets))
		if got := m.second(t, a); !slices.Equal(got, c.want) || len(m.rejected) > 0 {
			t.Errorf("%q: %q, want %q; refused %v", c.packets, got, c.want, m.rejected)
		}
	}
}

// A bad line is counted by its reason, and what is around it is kept.
func TestBadLines(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m)
	a.Packet([]byte("good:1|c\nnonsense\n:1|c\nx|c\nx:1\nx:|c\nx:1|q\nx:abc|c\nx:NaN|g\nx:0x10|g\nx:inf|ms\nx:1_000|c\nx:1|c|@0\nx:1|c|@2\nx:1|c|@y\n" +
		"_e{1,1}:a|b\n_sc|x|0\n" + strings.Repeat("y", maxLine+1) + "\ngood:1|c"))
	if got := m.second(t, a); !slices.Equal(got, []string{"counter good 2"}) {
		t.Errorf("%q", got)
	}
	want := map[tsdb.Reason]int{BadLine: 5, BadType: 1, BadNumber: 5, BadRate: 3, NotMetric: 2, TooLong: 1}
	if !maps.Equal(m.rejected, want) {
		t.Errorf("%v, want %v", m.rejected, want)
	}
}

func TestSeconds(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m)
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
	for range forgetAfter {
		m.second(t, a)
	}
	if got := m.second(t, a); len(got) != 0 || len(a.byKey) != 0 || len(a.byText) != 0 {
		t.Errorf("nothing came for an hour: %q, %d names are kept", got, len(a.byText))
	}
}

func TestSockets(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m)
	s, err := Listen("127.0.0.1:0", a)
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
	deadline := time.Now().Add(10 * time.Second)
	for a.Lines() < 2*packets+2 && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	got := m.second(t, a)
	if len(got) != 3 || got[0] != "counter tcp 2" || got[1] != fmt.Sprintf("counter udp %d", packets) {
		t.Errorf("%.300q", got)
	}
	if s.Packets() != packets || s.Drops() != 0 || m.rejected[TooLong] != 1 {
		t.Errorf("%d packets, %d drops, refused %v", s.Packets(), s.Drops(), m.rejected)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzPacket(f *testing.F) {
	f.Add([]byte("a.b:1|c|@0.1|#x:y,z\nt:1.5:2|ms\n:|c\ng:+1|g"))
	f.Add([]byte("a:1|c|#\xff:\xfe"))
	f.Add([]byte("\n\n\r\n:::|||@@@###"))
	f.Fuzz(func(t *testing.T, packet []byte) {
		m := &memory{}
		a := NewAggregator(m)
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
	a := NewAggregator(&memory{})
	r := rand.New(rand.NewPCG(1, 1))
	packets := make([][]byte, 1024)
	for i := range packets {
		packets[i] = fmt.Appendf(nil, "service.%d.latency:%.2f|ms|#env:prod,host:web%d", r.IntN(100), r.ExpFloat64()*20, r.IntN(10))
	}
	for i := 0; b.Loop(); i++ {
		a.Packets(packets[i%1024 : i%1024+1])
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "packets/s")
}
