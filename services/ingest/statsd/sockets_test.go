package statsd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/model/labels"
)

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
// Who sends too many lines: packets are refused by lines before they are parsed, a connection waits and loses nothing.
func TestSampleRateOfSenders(t *testing.T) {
	m := &memory{}
	in := senders.New("statsd", senders.Options{SenderSamplesPerSecond: 100})
	s, err := Listen(m, Options{Address: "127.0.0.1:0", Readers: 1, Clock: clock, Senders: in})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	until := func(what string, lines, refused uint64) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); s.Stats().Lines != lines || in.Status(0).Refused[tsdb.SenderSampleRate] != refused; time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s: %d lines, %v", what, s.Stats().Lines, in.Status(0).Refused)
			}
		}
	}
	dial := func(network, from string) net.Conn {
		t.Helper()
		var local net.Addr = &net.UDPAddr{IP: net.ParseIP(from)}
		if network == "tcp" {
			local = &net.TCPAddr{IP: net.ParseIP(from)}
		}
		c, err := (&net.Dialer{LocalAddr: local}).Dial(network, s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	flood, calm, stream := dial("udp", "127.0.0.1"), dial("udp", "127.0.0.2"), dial("tcp", "127.0.0.3")
	fmt.Fprint(flood, strings.Repeat("f:1|c\n", 1100))
	until("the first packet is taken as a whole", 1100, 0)
	fmt.Fprint(flood, strings.Repeat("f:1|c\n", 50))
	fmt.Fprint(calm, "c:1|c")
	until("the second one is refused, another sender's is not", 1101, 50)
	for _, part := range []int{1050, 10} {
		fmt.Fprint(stream, strings.Repeat("t:1|c\n", part))
	}
	until("all lines of the connection", 1101+1060, 50)
}

func TestCloseReadsWhatIsLeft(t *testing.T) {
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
