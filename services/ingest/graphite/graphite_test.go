package graphite

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/ingest/lines"
	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// memory is a store that remembers.
type memory struct {
	mu       sync.Mutex
	samples  []string
	batches  int
	fails    int // so many times yet
	rejected map[tsdb.Reason]int
}

func (m *memory) Ingest(_ context.Context, input string, batch []tsdb.Sample, d journal.Durability) ([]tsdb.Rejection, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.fails > 0 {
		m.fails--
		return nil, errors.New("the pool is full")
	}
	if input != "graphite" || d != journal.Interval {
		return nil, fmt.Errorf("input %q, durability %q", input, d)
	}
	m.batches++
	for _, s := range batch {
		labels, err := tsdb.ParseKey(string(s.Key))
		if err != nil {
			return nil, err
		}
		var text []string
		for _, l := range labels {
			text = append(text, l.Name+"="+l.Value)
		}
		m.samples = append(m.samples, fmt.Sprintf("%s %g %d", strings.TrimPrefix(strings.Join(text, ","), "__name__="), s.Value, s.Time))
	}
	return nil, nil
}

func (m *memory) Describe([]tsdb.Metadata)                   {}
func (m *memory) Exemplify(context.Context, []tsdb.Exemplar) {}

func (m *memory) Reject(reason tsdb.Reason, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rejected == nil {
		m.rejected = map[tsdb.Reason]int{}
	}
	m.rejected[reason] += n
}

// taken is what a batch holds, by way of a store.
func taken(t *testing.T, b *batch) ([]string, map[tsdb.Reason]int) {
	t.Helper()
	m := &memory{}
	if s := lines.New(m, options("", nil)); !s.Keep(b.Batch, 0) {
		t.Fatal("not stored")
	}
	return m.samples, m.rejected
}

// packet is the way of a packet's lines into a batch.
func packet(b batch, text []byte, now int64) {
	lines.New(&memory{}, options("", nil)).Packet(b.Batch, text, now)
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		lines  string
		want   []string
		reason tsdb.Reason
	}{
		{"a.b.c 1.5 1000\nd 2 1001\r\n\n", []string{"a.b.c 1.5 1e6", "d 2 1001e3"}, ""},
		{"  a\t1   1000.25  ", []string{"a 1 1000250"}, ""},
		{"a 1 -1\nb 2", []string{"a 1 7", "b 2 7"}, ""},
		{"a -1.5e-3 0", []string{"a -0.0015 0"}, ""},
		{"cpu;host=web1;dc=a.b 1 1", []string{"cpu,dc=a.b,host=web1 1 1000"}, ""},
		{"cpu;host=web1;host=web2 1 1", []string{"cpu,host=web2 1 1000"}, ""},
		{"größe 1 1", []string{"größe 1 1000"}, ""},
		{"a", nil, BadLine},
		{"a 1 2 3", nil, BadLine},
		{"a x 2", nil, BadNumber},
		{"a nan 2", nil, BadNumber},
		{"a -inf 2", nil, BadNumber},
		{"a 0x10 2", nil, BadNumber},
		{"a 1_000 2", nil, BadNumber},
		{"a 1e999 2", nil, BadNumber},
		{"a 1 x", nil, BadTime},
		{"a 1 -2", nil, BadTime},
		{"a 1 1700000000000", nil, BadTime}, // milliseconds
		{"a;b 1 2", nil, BadTag},
		{"a;b= 1 2", nil, BadTag},
		{"a;=c 1 2", nil, BadTag},
		{"a; 1 2", nil, BadTag},
		{"a;__name__=c 1 2", nil, BadTag},
		{";b=c 1 2", nil, tsdb.BadName},
		{"a\xff 1 2", nil, tsdb.BadName},
		{"a;b=\xff 1 2", nil, tsdb.BadLabel},
		{"a;b=" + strings.Repeat("x", 3000) + " 1 2", nil, tsdb.LabelTooLong},
		{"a" + strings.Repeat(";b=c", 3000) + " 1 2", nil, TooLong},
		{strings.Repeat("y", lines.MaxLine+1) + " 1 2", nil, TooLong},
	} {
		b := batch{&lines.Batch{}}
		packet(b, []byte("before 1 1\n"+c.lines+"\nafter 1 1"), 7)
		samples, rejected := taken(t, &b)
		want := []string{"before 1 1000"}
		for _, line := range c.want {
			want = append(want, strings.NewReplacer("1e6", "1000000", "1001e3", "1001000").Replace(line))
		}
		want = append(want, "after 1 1000")
		if !slices.Equal(samples, want) {
			t.Errorf("%.80q: %q, want %q", c.lines, samples, want)
		}
		if c.reason != "" && !maps.Equal(rejected, map[tsdb.Reason]int{c.reason: 1}) || c.reason == "" && len(rejected) > 0 {
			t.Errorf("%.80q: refused %v, want %q", c.lines, rejected, c.reason)
		}
	}
	b := batch{&lines.Batch{}}
	many := "a"
	for i := range 200 {
		many += fmt.Sprintf(";t%d=x", i)
	}
	b.line([]byte(many+" 1 1"), 7)
	if _, rejected := taken(t, &b); rejected[tsdb.TooManyLabels] != 1 {
		t.Errorf("200 tags: %v", rejected)
	}
}

// What Python's pickle module makes of [("a.b",(1000,1.5)),("a;x=y",(1001.25,-2)),("n",("1002","7"))] with each protocol.
var pickles = []string{
	"(lp0\n(Va.b\np1\n(I1000\nF1.5\ntp2\ntp3\na(Va;x=y\np4\n(F1001.25\nI-2\ntp5\ntp6\na(Vn\np7\n(V1002\np8\nV7\np9\ntp10\ntp11\na.",
	"]q\x00((X\x03\x00\x00\x00a.bq\x01(M\xe8\x03G?\xf8\x00\x00\x00\x00\x00\x00tq\x02tq\x03(X\x05\x00\x00\x00a;x=yq\x04(G@\x8fJ\x00\x00\x00\x00\x00J\xfe\xff\xff\xfftq\x05tq\x06(X\x01\x00\x00\x00nq\x07(X\x04\x00\x00\x001002q\x08X\x01\x00\x00\x007q\ttq\ntq\x0be.",
	"\x80\x02]q\x00(X\x03\x00\x00\x00a.bq\x01M\xe8\x03G?\xf8\x00\x00\x00\x00\x00\x00\x86q\x02\x86q\x03X\x05\x00\x00\x00a;x=yq\x04G@\x8fJ\x00\x00\x00\x00\x00J\xfe\xff\xff\xff\x86q\x05\x86q\x06X\x01\x00\x00\x00nq\x07X\x04\x00\x00\x001002q\x08X\x01\x00\x00\x007q\t\x86q\n\x86q\x0be.",
	"\x80\x03]q\x00(X\x03\x00\x00\x00a.bq\x01M\xe8\x03G?\xf8\x00\x00\x00\x00\x00\x00\x86q\x02\x86q\x03X\x05\x00\x00\x00a;x=yq\x04G@\x8fJ\x00\x00\x00\x00\x00J\xfe\xff\xff\xff\x86q\x05\x86q\x06X\x01\x00\x00\x00nq\x07X\x04\x00\x00\x001002q\x08X\x01\x00\x00\x007q\t\x86q\n\x86q\x0be.",
	"\x80\x04\x95H\x00\x00\x00\x00\x00\x00\x00]\x94(\x8c\x03a.b\x94M\xe8\x03G?\xf8\x00\x00\x00\x00\x00\x00\x86\x94\x86\x94\x8c\x05a;x=y\x94G@\x8fJ\x00\x00\x00\x00\x00J\xfe\xff\xff\xff\x86\x94\x86\x94\x8c\x01n\x94\x8c\x041002\x94\x8c\x017\x94\x86\x94\x86\x94e.",
	// Python 2 writes its strings so, with a short and an escaped one, and the longs with an L.
	"(lp0\n(S'a.b'\np1\n(I1000\nF1.5\ntp2\ntp3\na(S\"a;\\x78=y\"\n(F1001.25\nL-2L\ntta(S'n'\n(S'1002'\nI7\ntta.",
	"\x80\x02]((U\x03a.bM\xe8\x03G?\xf8\x00\x00\x00\x00\x00\x00\x86tU\x05a;x=yG@\x8fJ\x00\x00\x00\x00\x00\x8a\x01\xfe\x86\x86U\x01nU\x041002K\x07\x86\x86e.",
}

func TestPickles(t *testing.T) {
	want := []string{"a.b 1.5 1000000", "a,x=y -2 1001250", "n 7 1002000"}
	for i, message := range pickles {
		b := batch{&lines.Batch{}}
		b.pickle([]byte(message), 7)
		if samples, rejected := taken(t, &b); !slices.Equal(samples, want) || len(rejected) > 0 {
			t.Errorf("%d: %q, refused %v", i, samples, rejected)
		}
	}
	for _, c := range []struct {
		message, want string
	}{
		{"\x80\x04\x95\x30\x00\x00\x00\x00\x00\x00\x00]\x94(C\x01b\x94K\x01\x8a\x06\x00\x00\x00\x00\x00\x01\x86\x94\x86\x94e.", "b 1.099511627776e+12 1000"},
		{"\x80\x02]q\x00]q\x01(X\x06\x00\x00\x00a.listq\x02]q\x03(K\x01K\x02eea.", "a.list 2 1000"},
		{"(lp0\n(V\xfc\\u20ac\n(I1\nI2\ntta.", "ü€ 2 1000"},
		{"]((U\x01aK\x02J\xff\xff\xff\xffK\x09\x86tq\x01h\x01e.", ""}, // a triple, and the same again
		{"](U\x01aJ\xff\xff\xff\xffK\x09\x86\x86e.", "a 9 7"},
		{"].", ""},
		// Whole numbers of more than 64 bits are Python's as any other; they do not make the whole message unreadable.
		{"\x80\x02](U\x01aK\x01\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00@\x86\x86U\x01bK\x01\x8a\x09\xff\xff\xff\xff\xff\xff\xff\x7f\xff\x86\x86e.", "a 1.1805916207174113e+21 1000|b -9.223372036854776e+18 1000"},
		{"(lp0\n(Va\n(I1\nL-1180591620717411303424L\ntta.", "a -1.1805916207174113e+21 1000"},
		{"(lp0\n(Va\n(I1\nL" + strings.Repeat("9", 400) + "L\ntta(Vb\n(I1\nI2\ntta.", "b 2 1000"}, // beyond float64
	} {
		b := batch{&lines.Batch{}}
		b.pickle([]byte(c.message), 7)
		samples, rejected := taken(t, &b)
		if got := strings.Join(samples, "|"); got != c.want || rejected[BadPickle] > 0 {
			t.Errorf("%q: %q, want %q; refused %v", c.message, got, c.want, rejected)
		}
	}
}

// What is wrong with one point does not touch the others, what is wrong with the message refuses it whole.
func TestBadPickles(t *testing.T) {
	good := "(U\x04goodK\x01K\x02\x86t"
	for _, c := range []struct {
		name, message string
		want          map[tsdb.Reason]int
		kept          int
	}{
		{"points", "](" + good +
			"U\x01aK\x01N\x86\x86" + // None
			"U\x01aK\x01U\x01x\x86\x86" +
			"U\x01aK\x01G\x7f\xf8\x00\x00\x00\x00\x00\x00\x86\x86" + // NaN
			"U\x01aJ\xfe\xff\xff\xffK\x01\x86\x86" + // a time of -2
			"U\x01aNK\x01\x86\x86" +
			"U\x03a;bK\x01K\x01\x86\x86" +
			"U\x00K\x01K\x01\x86\x86" +
			"U\x01aK\x01\x86" + "K\x05" + ")" + "]" + good + "e.",
			map[tsdb.Reason]int{BadNumber: 3, BadTime: 2, BadTag: 1, tsdb.BadName: 1, BadLine: 4}, 2},
		{"an object", "cos\nsystem\n(S'true'\ntR.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"a new object", "\x80\x02]c__builtin__\nobject\n)\x81a.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"an attribute", "\x80\x04\x8c\x02os\x8c\x06system\x93.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"no list", "K\x01.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"a dict", "}.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"cut", "](U\x01aK\x01K", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"empty", "", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"more behind", "]..", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"two values", "]].", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"no mark", "]e.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"under the mark", "](a.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"no memo", "h\x01.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"a long text", "X\xff\xff\xff\xffa.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"a huge number", "L" + strings.Repeat("9", 1000) + "L\n.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"deep", strings.Repeat("(", 1000), map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"many", "](" + strings.Repeat("N", maxValues) + "e.", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"many memos", "]" + strings.Repeat("\x94", maxValues) + ".", map[tsdb.Reason]int{BadPickle: 1}, 0},
		{"within itself", "]q\x00(h\x00h\x00e.", map[tsdb.Reason]int{BadLine: 2}, 0},
		{"the future", "\x80\x06].", map[tsdb.Reason]int{BadPickle: 1}, 0},
	} {
		b := batch{&lines.Batch{}}
		b.pickle([]byte(strings.ReplaceAll(c.message, good, strings.Trim(good, "(t")+"\x86")), 7)
		if samples, rejected := taken(t, &b); len(samples) != c.kept || !maps.Equal(rejected, c.want) {
			t.Errorf("%s: %q, refused %v, want %v", c.name, samples, rejected, c.want)
		}
	}
}

// A point that is referred to again and again has its path in each sample's key.
func TestRepeatedPath(t *testing.T) {
	path := strings.Repeat("p", tsdb.MaxLabelValue)
	b := batch{&lines.Batch{}}
	b.pickle([]byte("\x80\x02](X"+string(binary.LittleEndian.AppendUint32(nil, uint32(len(path))))+path+"K\x01K\x02\x86\x86q\x00"+strings.Repeat("h\x00", 100_000)+"e."), 7)
	if b.KeyBytes() > maxKeys+2*len(path) || b.Refused(LongPickle) == 0 || b.Samples()+b.Refused(LongPickle) != 100_001 {
		t.Errorf("%d bytes of keys, %d samples, refused %v", b.KeyBytes(), b.Samples(), b.Refused(LongPickle))
	}
}

func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("still not: " + what)
		}
	}
}

func TestSockets(t *testing.T) {
	m := &memory{}
	s, err := Listen("127.0.0.1:0", "127.0.0.1:0", m, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan struct{})
	var mu sync.Mutex
	var told []string
	go func() {
		s.Serve(ctx, func(err error) { mu.Lock(); told = append(told, err.Error()); mu.Unlock() })
		close(served)
	}()
	dial := func(network, address string) net.Conn {
		c, err := net.Dial(network, address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	send := func(c net.Conn, text string) {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	framed := func(message string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(message)))) + message
	}
	udp, tcp, pickle := dial("udp", s.Addr()), dial("tcp", s.Addr()), dial("tcp", s.PickleAddr())
	send(udp, "u.one 1 1000\nnonsense\nu.two 2 1000")
	waitFor(t, "UDP", func() bool { return s.Lines() == 2 && s.Bad() == 1 })
	// Bad lines and overlong ones leave the connection as it is.
	send(tcp, "t.one 1 1000\nbad\n"+strings.Repeat("z", 5*lines.MaxPacket)+" 1 1\nt.two 2 1000\nt.thr")
	waitFor(t, "TCP", func() bool { return s.Lines() == 4 && s.Bad() == 3 })
	send(tcp, "ee 3 1000\n")
	waitFor(t, "the rest of a line", func() bool { return s.Lines() == 5 })
	send(pickle, framed(pickles[0])+framed("cos\nsystem\n.")+framed(pickles[2]))
	waitFor(t, "pickle", func() bool { return s.Lines() == 11 && s.Bad() == 4 })
	// A store that fails is asked again; the connection waits.
	m.mu.Lock()
	m.fails = 1
	m.mu.Unlock()
	send(tcp, "late 1 1000\n")
	waitFor(t, "the store's second try", func() bool { return s.Lines() == 12 })
	mu.Lock()
	if len(told) != 1 || !strings.Contains(told[0], "the pool is full") {
		t.Errorf("told %q", told)
	}
	mu.Unlock()
	// UDP has nobody who waits.
	m.mu.Lock()
	m.fails = 1
	m.mu.Unlock()
	send(udp, "lost 1 1000")
	waitFor(t, "the lost one", func() bool { return s.Bad() == 5 })
	// A length that is none ends the connection.
	send(pickle, "plain text 1 1000\n")
	if _, err := pickle.Read(make([]byte, 1)); err == nil {
		t.Error("the connection goes on")
	}
	// What is there when the server ends is stored, without a newline too.
	send(tcp, "last 1 1000")
	_ = tcp.(*net.TCPConn).CloseWrite()
	waitFor(t, "the last line", func() bool { return s.Lines() == 13 })
	stop()
	<-served
	m.mu.Lock()
	defer m.mu.Unlock()
	want := map[tsdb.Reason]int{BadLine: 2, TooLong: 1, BadPickle: 1, NotStored: 1, LongPickle: 1}
	if !maps.Equal(m.rejected, want) {
		t.Errorf("refused %v, want %v", m.rejected, want)
	}
	if !slices.Contains(m.samples, "t.three 3 1000000") {
		t.Errorf("%q", m.samples)
	}
}

// What the kernel holds when the end comes is taken too, but for a line without an end.
func TestDrain(t *testing.T) {
	m := &memory{}
	s, err := Listen("127.0.0.1:0", "127.0.0.1:0", m, nil)
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
	udp, tcp, pickle := dial("udp", s.Addr()), dial("tcp", s.Addr()), dial("tcp", s.PickleAddr())
	fmt.Fprint(tcp, "first 1 1000\n")
	fmt.Fprint(pickle, "\x00\x00\x00\x02].")
	waitFor(t, "connections", func() bool { return s.Lines() == 1 && s.Connections() == 2 })
	for range 200 {
		fmt.Fprint(udp, "u 1 1000")
	}
	fmt.Fprint(tcp, strings.Repeat("t 1 1000\n", 20_000), "t 1 10")
	for range 100 {
		fmt.Fprint(pickle, string(binary.BigEndian.AppendUint32(nil, uint32(len(pickles[0])))), pickles[0])
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if want := uint64(1 + 200 + 20_000 + 300); s.Lines() != want || s.Bad() != 0 {
		t.Errorf("%d lines, not %d; %d bad", s.Lines(), want, s.Bad())
	}
}

func TestNoPickle(t *testing.T) {
	s, err := Listen("127.0.0.1:0", "", &memory{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s.PickleAddr() != "" || s.Addr() == "" {
		t.Errorf("%q %q", s.Addr(), s.PickleAddr())
	}
	if _, err := Listen(s.Addr(), "", &memory{}, nil); err == nil {
		t.Error("the same address twice")
	}
	if err := s.Close(); err != nil || s.Close() != nil {
		t.Error(err)
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte("a.b;c=d 1.5 1000\nx 1 -1\n\r\n;;;= 1 1\na nan 1"))
	f.Add([]byte("a;b=\xff;c=d;b=e 1e300 1e300"))
	f.Fuzz(func(t *testing.T, text []byte) {
		b := batch{&lines.Batch{}}
		packet(b, text, 7)
		taken(t, &b) // every key must be a key
	})
}

func FuzzPickle(f *testing.F) {
	for _, message := range pickles {
		f.Add([]byte(message))
	}
	f.Add([]byte("]q\x00(h\x00h\x00e."))
	f.Fuzz(func(t *testing.T, message []byte) {
		b := batch{&lines.Batch{}}
		b.pickle(message, 7)
		taken(t, &b)
	})
}
