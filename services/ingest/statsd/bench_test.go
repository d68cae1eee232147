package statsd

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"
	"time"

	"cistern/services/ingest/senders"
)

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

// Names that are all new and refused: what a flood costs a reader.
func BenchmarkFlood(b *testing.B) {
	a := NewAggregator(&memory{forget: true}, Options{Clock: clock, Senders: senders.New("statsd", senders.Options{SenderSeriesPerSecond: 1, SenderSeriesBurst: 1})})
	s := a.shard()
	from := []netip.Addr{netip.MustParseAddr("192.0.2.1")}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		s.packetsFrom([][]byte{fmt.Appendf(nil, "flood.%d:1|ms|#env:prod", i)}, from, clock.Now())
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
