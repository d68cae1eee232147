package statsd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
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
)

// memory is a store that remembers.
type memory struct {
	mu       sync.Mutex
	samples  []string
	rejected map[tsdb.Reason]int
	fail     error
	forget   bool

	described []tsdb.Metadata
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

func (m *memory) Describe(list []tsdb.Metadata) {
	if !m.forget {
		m.described = append(m.described, list...)
	}
}
func (m *memory) Exemplify(context.Context, []tsdb.Exemplar) {}

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
		// Telegraf's tags. Commas that begin no tags are part of the name.
		{"hits,dc=eu,host=web1:1|c", []string{"counter hits,dc=eu,host=web1 1"}},
		{"hits,dc=eu:1|c|#dc:us,a:b", []string{"counter hits,a=b,dc=us 1"}},
		{"hits,dc=:1|c", []string{"counter hits 1"}},
		{"a,b:1|c\n,x=y:2|c\nc,d=e,f:3|c\ng,=h:4|c", []string{"counter ,x=y 2", "counter a,b 1", "counter c,d=e,f 3", "counter g,=h 4"}},
		{"hits,dc=eu;host=a:1|c", []string{"counter hits,dc=eu,host=a 1"}},
		// DogStatsD.
		{"hits:1|c|T1656581400", []string{"counter hits 1"}},
		{"temp:5|g|T1656581400|c:ci-0d1e|#a:b", []string{"gauge temp,a=b 5"}},
		{"t:1:2|d|T1656581400", []string{"histogram t 1.0e0:1", "histogram t 2.0e0:1"}},
		{"u:a|s|T1656581400", []string{"gauge u 1"}},
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
		BadTime:            {"x:1|c|T", "x:1|c|Tx", "x:1|g|T0", "x:1|g|T-5", "x:1|g|T1.5", "x:1|g|T1656581400000", "x:1|g|Tnan"},
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

// A counter does not go down: what is computed from it would take that for a new beginning, and count all of it again. What
// it is counted down by is a counter of its own.
func TestNegativeCounts(t *testing.T) {
	m := &memory{}
	a, s := one(m)
	s.text1("c:1000000|c\nc:-1|c\nc:5:-2:3|c\nc:-0|c\nc:+1|c\nnew:-1|c")
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 1.000009e+06", "counter c_decrements 3", "counter new 0", "counter new_decrements 1"}) || len(m.rejected) > 0 {
		t.Errorf("%q %v", got, m.rejected)
	}
	s.text1("c:-0.5|c|@0.1|#a:b\nc:-1|c")
	if got := m.second(t, a); !slices.Equal(got, []string{"counter c 1.000009e+06", "counter c,a=b 0", "counter c_decrements 4", "counter c_decrements,a=b 5", "counter new 0", "counter new_decrements 1"}) {
		t.Errorf("%q", got)
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

// Timers are of seconds, whatever they are called; of what else is sent nobody knows. It is said once.
func TestTimersAreOfSeconds(t *testing.T) {
	m := &memory{}
	a := NewAggregator(m, Options{Clock: clock})
	s := a.shard()
	for range 2 {
		s.text1("checkout:320|ms\nsize:3|h\nn:1|c\nlevel:2|g\nwho:a|s\ncheckout:10|ms|#shop:a\nwait,host=a:1|ms")
		m.second(t, a)
	}
	want := []tsdb.Metadata{{Name: "checkout", Type: "histogram", Unit: "seconds"}, {Name: "checkout", Type: "histogram", Unit: "seconds"}, {Name: "wait", Type: "histogram", Unit: "seconds"}}
	if !slices.Equal(m.described, want) {
		t.Errorf("%+v", m.described)
	}
	for i := range 2 * maxDescribed {
		s.text1(fmt.Sprintf("flood.%d:1|ms", i))
	}
	m.second(t, a)
	if len(m.described) != maxDescribed {
		t.Errorf("%d were described", len(m.described))
	}
}
