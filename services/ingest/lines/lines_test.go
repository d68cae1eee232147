package lines

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/senders"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"
)

// serve is a server whose lines are names, each of a sample of the value 1; "bad" is refused.
func serve(t *testing.T, from *senders.Input) (*Server, *tsdb.Store) {
	t.Helper()
	store, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	s, err := Listen(store, Options{
		Name: "test", Title: "a test", Address: "127.0.0.1:0", TooLong: "too_long", NotStored: "not_stored", Durability: journal.Buffered, Senders: from,
		Line: func(b *Batch, line []byte, now int64) {
			if string(line) == "bad" {
				b.Refuse("bad")
				return
			}
			b.Labels = append(b.Labels[:0], tsdb.Label{Name: tsdb.NameLabel, Value: Borrow(line)})
			b.Add(tsdb.Sample{Kind: tsdb.Gauge, Time: now, Value: 1})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s, store
}

func dial(t *testing.T, s *Server, network, from string) net.Conn {
	t.Helper()
	var local net.Addr = &net.UDPAddr{IP: net.ParseIP(from)}
	if network == "tcp" {
		local = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	c, err := (&net.Dialer{LocalAddr: local, Timeout: 10 * time.Second}).Dial(network, s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(10 * time.Second))
	return c
}

func until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("still not: " + what)
		}
	}
}

// Who sends too much: its packets are refused and counted, its connection waits and loses nothing.
func TestSampleRate(t *testing.T) {
	in := senders.New("test", senders.Options{SenderSamplesPerSecond: 100})
	s, store := serve(t, in)
	flood, calm, stream := dial(t, s, "udp", "127.0.0.1"), dial(t, s, "udp", "127.0.0.2"), dial(t, s, "tcp", "127.0.0.3")
	fmt.Fprint(flood, strings.Repeat("flood\n", 1100))
	until(t, "the first packet is stored as a whole", func() bool { return store.Status().Accepted["test"] == 1100 })
	fmt.Fprint(flood, strings.Repeat("flood\n", 50))
	fmt.Fprint(calm, "calm\n")
	until(t, "the second one is refused, and another sender's is not", func() bool {
		status := store.Status()
		return status.Rejected[tsdb.SenderSampleRate] == 50 && status.Accepted["test"] == 1101
	})
	fmt.Fprint(stream, strings.Repeat("kept\n", 1050))
	until(t, "the connection's first lines", func() bool { return store.Status().Accepted["test"] >= 1102 })
	fmt.Fprint(stream, strings.Repeat("kept\n", 10))
	until(t, "all of its lines", func() bool { return store.Status().Accepted["test"] == 1101+1060 })
	if rejected := store.Status().Rejected[tsdb.SenderSampleRate]; rejected != 50 {
		t.Errorf("%d were refused", rejected)
	}
}

// Each sender answers for its own lines, also of packets that were received together; who is elsewhere is not heard.
func TestSenders(t *testing.T) {
	in := senders.New("test", senders.Options{SenderSeriesPerSecond: 1, SenderSeriesBurst: 10,
		Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32"), netip.MustParsePrefix("127.0.0.2/32")}})
	s, store := serve(t, in)
	one, two, elsewhere := dial(t, s, "udp", "127.0.0.1"), dial(t, s, "udp", "127.0.0.2"), dial(t, s, "udp", "127.0.0.3")
	for i := range 40 {
		fmt.Fprintf(one, "flood.%d\nbad\n", i)
		fmt.Fprint(elsewhere, "elsewhere\n")
		fmt.Fprintf(two, "kept.%d\n", i%5)
	}
	stream := dial(t, s, "tcp", "127.0.0.2")
	fmt.Fprint(stream, "bad\nkept.0\nkept.5\n")
	closed := dial(t, s, "tcp", "127.0.0.3")
	if _, err := io.ReadAll(closed); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	refused := func(address string) map[tsdb.Reason]uint64 {
		for _, one := range in.Status(10).Senders {
			if one.Address == address {
				return one.Refused
			}
		}
		return nil
	}
	until(t, "all that was sent is counted", func() bool {
		status := store.Status()
		return status.Accepted["test"] >= 10+40+2 && s.Bad() == 40+40+1+1 && status.Rejected[tsdb.SenderSeriesRate] >= 20
	})
	if got := refused("127.0.0.1"); got["bad"] != 40 || got[tsdb.SenderSeriesRate] < 20 {
		t.Errorf("%v", got)
	}
	if got := refused("127.0.0.2"); got["bad"] != 1 || len(got) != 1 {
		t.Errorf("%v", got)
	}
	if got := refused("127.0.0.3"); got[senders.NetworkNotAllowed] != 41 {
		t.Errorf("%v", got)
	}
	if metrics, err := store.Metrics(tsdb.MetricQuery{Match: "kept"}); err != nil || metrics.Total != 6 {
		t.Error(metrics, err)
	}
	if metrics, err := store.Metrics(tsdb.MetricQuery{Match: "elsewhere"}); err != nil || metrics.Total != 0 {
		t.Error(metrics, err)
	}
}

// What names no host gets its sender's, over both protocols and as it is set at that moment; who is refused is cut off and counted.
func TestSenderIsHost(t *testing.T) {
	place := func(text string) senders.Place { return senders.PlaceOf(netip.MustParseAddr(text)) }
	in := senders.New("test", senders.Options{SenderIsHost: true, HostNames: map[senders.Place]string{place("127.0.0.2"): "web2"}})
	s, store := serve(t, in)
	one, two, stream := dial(t, s, "udp", "127.0.0.1"), dial(t, s, "udp", "127.0.0.2"), dial(t, s, "tcp", "127.0.0.3")
	hosts := func(want ...string) {
		t.Helper()
		until(t, fmt.Sprint(want), func() bool {
			var got []string
			for _, host := range store.Hosts(0, 0).List {
				got = append(got, host.Name+" "+strings.Join(host.By, ","))
			}
			slices.Sort(got)
			return slices.Equal(got, want)
		})
	}
	fmt.Fprint(one, "a\n")
	fmt.Fprint(two, "a\n")
	fmt.Fprint(stream, "a\n")
	hosts("127.0.0.1 host", "127.0.0.3 host", "web2 host")
	in.Set(senders.Options{HostNames: map[senders.Place]string{place("127.0.0.3"): "web3"}, RefusedSenders: map[senders.Place]bool{place("127.0.0.1"): true}})
	fmt.Fprint(stream, "a\n")
	hosts("127.0.0.1 host", "127.0.0.3 host", "web2 host", "web3 host")
	fmt.Fprint(one, "a\nb\n")
	until(t, "it is refused", func() bool { return in.Status(0).Refused[senders.SenderRefused] == 1 })
	if rejected := store.Status().Rejected[senders.SenderRefused]; rejected != 1 {
		t.Errorf("%d were refused", rejected)
	}
	in.Set(senders.Options{RefusedSenders: map[senders.Place]bool{place("127.0.0.3"): true}})
	fmt.Fprint(stream, "b\n")
	if _, err := io.ReadAll(stream); err != nil && !strings.Contains(err.Error(), "reset") {
		t.Error(err)
	}
	if metrics, err := store.Metrics(tsdb.MetricQuery{Match: "b"}); err != nil || metrics.Total != 0 {
		t.Error(metrics, err)
	}
}
