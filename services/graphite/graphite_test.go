package graphite

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
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
	broken   bool
}

func (m *memory) Ingest(_ context.Context, input string, batch []tsdb.Sample, _ journal.Durability) ([]tsdb.Rejection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.broken {
		return nil, errors.New("the disk is full")
	}
	for _, s := range batch {
		m.samples = append(m.samples, show(s))
	}
	return nil, nil
}

func show(s tsdb.Sample) string {
	labels, err := tsdb.ParseKey(string(s.Key))
	if err != nil {
		return err.Error()
	}
	text := ""
	for _, l := range labels {
		text += l.Name + "=" + l.Value + " "
	}
	return fmt.Sprintf("%s%s %g %d", strings.ReplaceAll(text, "__name__=", ""), s.Kind, s.Value, s.Time)
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

func (m *memory) wait(t *testing.T, what string, until func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(time.Millisecond) {
		m.mu.Lock()
		ok := until()
		m.mu.Unlock()
		if ok {
			return
		}
	}
	t.Fatalf("%s: %q, refused %v", what, m.samples, m.rejected)
}

func testDecoder() *decoder {
	d := newDecoder()
	d.now = func() time.Time { return time.Unix(1_800_000_000, 0) }
	return d
}

func (d *decoder) shown() []string {
	var all []string
	for _, s := range d.samples {
		all = append(all, show(s))
	}
	return all
}

func TestLines(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"a.b.c 1.5 1790000000", "a.b.c gauge 1.5 1790000000000"},
		{"  a.b \t -2e3   1790000000.25 \r\n", "a.b gauge -2000 1790000000250"},
		{"a 1 -1", "a gauge 1 1800000000000"},
		{"a 1 N", "a gauge 1 1800000000000"},
		{"a 1 now", "a gauge 1 1800000000000"},
		{"a 1", "a gauge 1 1800000000000"},
		{"disk.used;mount=/;host=web-1 5 1790000000", "disk.used host=web-1 mount=/ gauge 5 1790000000000"},
		{"a;x=1;x=2;__name__=n 5 1790000000", "a name=n x=2 gauge 5 1790000000000"},
		{"größe;ort=köln 5 1790000000", "größe ort=köln gauge 5 1790000000000"},
		{"a\xff\xfeb 5 1790000000", "a_b gauge 5 1790000000000"},
		{"a 5 0", "a gauge 5 0"},
	} {
		d := testDecoder()
		d.lines([]byte(c.text))
		if got := d.shown(); len(got) != 1 || got[0] != c.want || len(d.refused) > 0 {
			t.Errorf("%q: %q, want %q; refused %v", c.text, got, c.want, d.refused)
		}
	}
}

// A bad line is counted by its reason, and what is around it is kept.
func TestBadLines(t *testing.T) {
	d := testDecoder()
	d.lines([]byte("good 1 1\n\n \nx\nx 1 1 1\n;a=b 1 1\nx NaN 1\nx inf 1\nx 0x10 1\nx 1_0 1\nx y 1\nx 1 y\nx 1 1e300\n" +
		"x; 1 1\nx;a 1 1\nx;=b 1 1\nx;a= 1 1\nx;a=~b 1 1\nx;a!=b 1 1\n" + strings.Repeat("y", maxLine) + " 1 1\nx" + strings.Repeat(";a=b", 100) +
		" 1 1\n" + strings.Repeat("z", 5000) + " 1 1\ngood 2 2"))
	if got := d.shown(); !slices.Equal(got, []string{"good gauge 1 1000", "x a=b gauge 1 1000", "good gauge 2 2000"}) {
		t.Errorf("%q", got)
	}
	want := map[tsdb.Reason]int{BadLine: 3, BadNumber: 5, BadTime: 2, BadTag: 6, TooLong: 1, tsdb.LabelTooLong: 1}
	if !maps.Equal(d.refused, want) {
		t.Errorf("%v, want %v", d.refused, want)
	}
}

func TestPickle(t *testing.T) {
	for protocol, text := range pickles {
		body, err := hex.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		d := testDecoder()
		if err := d.batch(body); err != nil {
			t.Fatalf("protocol %d: %v", protocol, err)
		}
		want := []string{"a.b gauge 1.5 1790000000000", "a.b x=y gauge 2 1790000000500", "neg gauge -3 1800000000000",
			"größe gauge 1e+10 1790000000000", "text gauge 4.5 1790000000000"}
		if protocol == 0 {
			want[3] = "gr_e gauge 1e+10 1790000000000" // Latin-1 there
		}
		if got := d.shown(); !slices.Equal(got, want) || len(d.refused) > 0 {
			t.Errorf("protocol %d: %q %v", protocol, got, d.refused)
		}
		for cut := range len(body) {
			if err := testDecoder().batch(body[:cut]); err == nil {
				t.Fatalf("protocol %d, cut at %d: accepted", protocol, cut)
			}
		}
	}
	evil, _ := hex.DecodeString(evilPickle)
	if err := testDecoder().batch(evil); err == nil || !strings.Contains(err.Error(), "0x63 is not allowed") {
		t.Error(err)
	}
	// Bad items are counted, good ones kept: [5, ('x', 1), ('x', ('y', 1)), ('x', (1, None)), ('x', (1, nan)), ('a', (1, 2))]
	d := testDecoder()
	body := "]((I5\n(VX\nI1\nt(Vx\n(Vy\nI1\ntt(Vx\n(I1\nNtt(Vx\n(I1\nFnan\ntt(Va\n(I1\nI2\ntt"
	if err := d.batch([]byte(strings.Replace(body, "((", "(", 1) + "e.")); err != nil {
		t.Fatal(err)
	}
	want := map[tsdb.Reason]int{BadLine: 2, BadTime: 1, BadNumber: 2}
	if got := d.shown(); len(got) != 1 || !maps.Equal(d.refused, want) {
		t.Errorf("%q %v", got, d.refused)
	}
}

func TestSockets(t *testing.T) {
	m := &memory{}
	s, err := Listen(Listeners{Plain: "127.0.0.1:0", Pickle: "127.0.0.1:0"}, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	dial := func(network, address string) net.Conn {
		c, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	tcp, udp, batches := dial("tcp", s.Addr()), dial("udp", s.Addr()), dial("tcp", s.PickleAddr())
	fmt.Fprintf(tcp, "tcp 1 1\nbad\ntcp 2 ")
	time.Sleep(10 * time.Millisecond)
	fmt.Fprint(tcp, "2\n")
	fmt.Fprint(udp, "udp 1 1\nudp 2 2")
	for range 2 {
		body, _ := hex.DecodeString(pickles[2])
		_, _ = batches.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(body))), body...))
	}
	m.wait(t, "all", func() bool { return len(m.samples) == 14 && m.rejected[BadLine] == 1 })

	// While nothing can be stored, TCP waits and UDP is counted.
	m.mu.Lock()
	m.broken = true
	m.mu.Unlock()
	fmt.Fprint(udp, "lost 1 1")
	fmt.Fprint(tcp, "held 1 1\n")
	m.wait(t, "lost", func() bool { return m.rejected[NotStored] == 1 })
	m.mu.Lock()
	m.broken = false
	m.mu.Unlock()
	m.wait(t, "held", func() bool { return slices.Contains(m.samples, "held gauge 1 1000") })

	// A batch that says it is huge, and one that is none.
	for _, body := range []string{"\xff\xff\xff\xff", "\x00\x00\x00\x03abc", "\x00\x00\x00\x00"} {
		c := dial("tcp", s.PickleAddr())
		fmt.Fprint(c, body)
		_ = c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection goes on", body)
		}
	}
	m.wait(t, "bad batches", func() bool { return m.rejected[BadPickle] == 3 })
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a.b;x=y;z=1 1.5 1790000000\nb -1e5 now\n;= 1 -1"))
	f.Add([]byte("\xff\xfe;\xff=\xff 1 1\n\r\n \t x\t1\t1\t"))
	f.Fuzz(func(t *testing.T, text []byte) {
		d := newDecoder()
		d.lines(text)
		for _, s := range d.samples {
			if _, err := tsdb.ParseKey(string(s.Key)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzPickle(f *testing.F) {
	for _, text := range append(pickles, evilPickle) {
		body, _ := hex.DecodeString(text)
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		d := newDecoder()
		_ = d.batch(body)
		for _, s := range d.samples {
			if _, err := tsdb.ParseKey(string(s.Key)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func BenchmarkLines(b *testing.B) {
	var text []byte
	for i := range 1000 {
		text = fmt.Appendf(text, "servers.web-%d.cpu.user;dc=berlin 12.%d 1790000000\n", i, i)
	}
	d := newDecoder()
	for b.Loop() {
		d.reset()
		d.lines(text)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/line")
}
