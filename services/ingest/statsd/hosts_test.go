package statsd

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"cistern/services/ingest/senders"
	"cistern/services/store/tsdb"
)

func withSenders(m *memory, o senders.Options) (*Aggregator, *shard, *senders.Input) {
	in := senders.New("statsd", o)
	a := NewAggregator(m, Options{Clock: clock, Senders: in})
	return a, a.shard(), in
}

func addresses(texts ...string) (list []netip.Addr) {
	for _, text := range texts {
		list = append(list, netip.MustParseAddr(text))
	}
	return list
}

func flushed(t *testing.T, a *Aggregator, m *memory, second int64) []string {
	t.Helper()
	m.samples = nil
	if err := a.Flush(t.Context(), time.Unix(second, 0)); err != nil {
		t.Fatal(err)
	}
	slices.Sort(m.samples)
	return m.samples
}

func place(text string) senders.Place { return senders.PlaceOf(netip.MustParseAddr(text)) }

// Two senders of the same name are one series, or two by choice; and what was set last holds from the next line on.
func TestSenderIsHost(t *testing.T) {
	m := &memory{}
	a, s, in := withSenders(m, senders.Options{})
	from := addresses("192.0.2.7", "192.0.2.8")
	send := func() { s.packetsFrom([][]byte{[]byte("a:1|c\na:1|c"), []byte("a:1|c\nb:1|c|#instance:x")}, from, 1) }
	is := func(second int64, want ...string) {
		t.Helper()
		if got := flushed(t, a, m, second); !slices.Equal(got, want) {
			t.Errorf("second %d:\n%s", second, strings.Join(got, "\n"))
		}
	}
	send()
	is(1, "counter a 3", "counter b,instance=x 1")
	in.Set(senders.Options{SenderIsHost: true})
	send()
	is(2, "counter a 3", "counter a,host=192.0.2.7 2", "counter a,host=192.0.2.8 1", "counter b,instance=x 2")
	in.Set(senders.Options{HostNames: map[senders.Place]string{place("192.0.2.8"): "web8"}})
	send()
	is(3, "counter a 5", "counter a,host=192.0.2.7 2", "counter a,host=192.0.2.8 1", "counter a,host=web8 1", "counter b,instance=x 3")
	// Who comes by the Unix socket has no address.
	in.Set(senders.Options{SenderIsHost: true})
	s.packets([][]byte{[]byte("u:1|c")}, 1)
	if got := flushed(t, a, m, 4); !slices.Contains(got, "counter u 1") {
		t.Error(got)
	}
}

// Whatever senders say: who names a host keeps it, who names none gets his sender's, and no label is lost.
func TestSenderNeverReplacesAHost(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	m := &memory{}
	a, s, _ := withSenders(m, senders.Options{SenderIsHost: true, HostNames: map[senders.Place]string{place("192.0.2.1"): "one", place("192.0.2.2"): "one"}})
	hosts := map[string]string{"192.0.2.1": "one", "192.0.2.2": "one", "192.0.2.3": "192.0.2.3", "192.0.2.4": "192.0.2.4"}
	keys := append([]string{"hostname", "zone", "env"}, tsdb.HostLabels...)
	want := map[string]float64{}
	for round := range 200 {
		var packets [][]byte
		var from []netip.Addr
		for range 1 + random.IntN(6) {
			sender := fmt.Sprintf("192.0.2.%d", 1+random.IntN(4))
			var lines []string
			for range 1 + random.IntN(100) {
				name := fmt.Sprintf("m%d", random.IntN(5))
				labels := map[string]string{"__name__": name}
				var tags []string
				for _, key := range keys {
					if random.IntN(6) == 0 {
						value := fmt.Sprintf("v%d", random.IntN(2))
						if random.IntN(4) == 0 {
							value = "" // as if it were not there
						}
						tags = append(tags, key+":"+value)
						labels[key] = value
					}
				}
				line := name + ":1|c"
				if len(tags) > 0 {
					line += "|#" + strings.Join(tags, ",")
				}
				lines = append(lines, line)
				if host, _ := tsdb.HostName(func(label string) string { return labels[label] }); host == "" {
					labels["host"] = hosts[sender]
				}
				var list []tsdb.Label
				for key, value := range labels {
					list = append(list, tsdb.Label{Name: key, Value: value})
				}
				key, err := tsdb.AppendKey(nil, list)
				if err != nil {
					t.Fatal(err)
				}
				want[string(key)]++
			}
			packets, from = append(packets, []byte(strings.Join(lines, "\n"))), append(from, netip.MustParseAddr(sender))
		}
		s.packetsFrom(packets, from, int64(round+1))
	}
	if err := a.Flush(t.Context(), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	all := a.all()
	if len(all) != len(want) {
		t.Errorf("%d series, %d were sent", len(all), len(want))
	}
	for _, one := range all {
		if got := want[string(one.key())]; got != one.total {
			t.Errorf("%q: %g, %g were sent", one.key(), one.total, got)
		}
	}
}

// Addresses that somebody makes up are no way around the limits: neither of new series, nor of memory; and what is forgotten is free.
func TestSendersAsHostsAreBounded(t *testing.T) {
	m := &memory{}
	a, s, in := withSenders(m, senders.Options{SenderIsHost: true, SeriesPerSecond: 1, SeriesBurst: 100})
	flood := func(line string) {
		for i := range 5000 {
			s.packetsFrom([][]byte{[]byte(line)}, []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}, 1)
		}
	}
	flood("a:1|c")
	if n := len(a.all()); n < 100 || n > 110 || len(s.hosts.numbers) != n {
		t.Errorf("%d series, %d hosts", n, len(s.hosts.numbers))
	}
	flood("a:x|c") // nothing good
	if n := len(s.hosts.numbers); n > 110 {
		t.Errorf("%d hosts", n)
	}
	if got := in.Status(0).Refused[tsdb.InputSeriesRate]; got < 4800 {
		t.Errorf("%d were refused", got)
	}
	a.flushing.Lock()
	a.merge()
	a.remove(a.all(), true)
	a.flushing.Unlock()
	if len(s.hosts.numbers) != 0 || a.bytes.Load() != 0 {
		t.Errorf("%d hosts, %d bytes", len(s.hosts.numbers), a.bytes.Load())
	}
	before := len(s.hosts.names)
	in.Set(senders.Options{SenderIsHost: true})
	s.packetsFrom([][]byte{[]byte("a:1|c")}, addresses("192.0.2.7"), 1)
	if got := flushed(t, a, m, 9); !slices.Equal(got, []string{"counter a,host=192.0.2.7 1"}) || len(s.hosts.names) != before {
		t.Error(got)
	}
	if size := unsafe.Sizeof(entry{}); size > 64 {
		t.Errorf("an entry has %d bytes: it is one line of the cache", size)
	}
}
