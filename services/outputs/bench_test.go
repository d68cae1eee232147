package outputs

// What outputs cost the sender.

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"cistern/services/outputs/remotewrite"
	"cistern/services/store/tsdb"
)

// What an output costs the sender: the processor's time for a million samples, without the receiver's.
func BenchmarkRemoteWrite(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Prometheus-Remote-Write-Samples-Written", "10000000")
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	for _, version := range []string{"1.0", "2.0"} {
		b.Run(version, func(b *testing.B) {
			out, err := remotewrite.New(remotewrite.Settings{URL: server.URL, Version: version}, "")
			if err != nil {
				b.Fatal(err)
			}
			series := make([]any, 10_000)
			for i := range series {
				series[i] = out.Prepare(string(key(b, "node_cpu_seconds_total", "cpu", fmt.Sprint(i%64), "instance", fmt.Sprint("host-", i/64), "job", "node", "mode", "idle")), tsdb.Counter)
			}
			now := time.Now().UnixMilli()
			b.ResetTimer()
			for i := range b.N {
				for k := range series {
					out.Add(series[k], &tsdb.Streamed{Kind: tsdb.Counter, Time: now + int64(i), Value: float64(i * k)})
				}
				if _, err := out.Send(b.Context()); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/float64(len(series))*1e6, "ms/Msample")
		})
	}
}

// The whole way from the journal to a receiver that does nothing, its part of HTTP included.
func BenchmarkOutput(b *testing.B) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusNoContent)
	}))
	defer server.Close()
	from := startSender(b, b.TempDir())
	o := newOutput(from.Manager, toRemote(server.URL, "1.0"))
	out, err := from.open(&o.definition)
	if err != nil {
		b.Fatal(err)
	}
	stream, err := from.Stream("bench", false, func(key string, kind tsdb.Kind) any { return out.Prepare(key, kind) })
	if err != nil {
		b.Fatal(err)
	}
	const series, times = 1000, 100
	batch := make([]tsdb.Sample, series)
	for k := range batch {
		batch[k] = tsdb.Sample{Key: key(b, "node_cpu_seconds_total", "cpu", fmt.Sprint(k%64), "instance", fmt.Sprint("host-", k/64), "job", "node", "mode", "idle"), Kind: tsdb.Counter}
	}
	now := time.Now().UnixMilli()
	for b.Loop() {
		b.StopTimer()
		for i := range times {
			for k := range batch {
				batch[k].Time, batch[k].Value = now, float64(i*k)
			}
			now++
			from.put(b, batch...)
		}
		b.StartTimer()
		for end := false; !end; {
			if end, err = o.gather(out, stream); err != nil {
				b.Fatal(err)
			}
			if _, err := out.Send(b.Context()); err != nil {
				b.Fatal(err)
			}
			o.pending = 0
			stream.Acknowledge()
		}
	}
	b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N)/series/times*1e6, "ms/Msample")
}
