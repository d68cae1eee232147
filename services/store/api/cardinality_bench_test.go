package api

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/store/tsdb"
)

// BenchmarkManySeries asks for the series of a fleet as Kubernetes' service discovery labels them: what `bench storaged --only
// cardinality` asks beside peers, without a network.
func BenchmarkManySeries(b *testing.B) {
	const pods, each, ticks = 200, 200, 6
	s, err := tsdb.Open(b.TempDir(), tsdb.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	jobs := []string{"api-gateway", "billing", "catalogue", "checkout", "identity", "inventory", "kubelet", "mailer", "node-exporter", "orders"}
	end := time.Now().Unix()
	var keys [][]byte
	for pod := range pods {
		job := jobs[pod%len(jobs)]
		for i := range each {
			family := (i/8*7 + pod%len(jobs)) % 100
			key, err := tsdb.AppendKey(nil, []tsdb.Label{
				{Name: tsdb.NameLabel, Value: fmt.Sprintf("http_server_requests_%d_total", family)},
				{Name: "cluster", Value: "prod-eu-west-1a"}, {Name: "code", Value: fmt.Sprint(200 + i%8)}, {Name: "container", Value: job},
				{Name: "instance", Value: fmt.Sprintf("10.%d.%d.%d:9102", pod%64, pod*7%256, pod*31%256)}, {Name: "job", Value: "production/" + job},
				{Name: "namespace", Value: fmt.Sprintf("team-%d", pod%7)}, {Name: "node", Value: fmt.Sprintf("ip-10-%d-%d-17.internal", pod/16, pod/8)},
				{Name: "pod", Value: fmt.Sprintf("%s-%08x-%05x", job, pod*2654435761%(1<<32), pod*7919)}, {Name: "subsystem", Value: fmt.Sprintf("subsystem_%d", i/8)},
			})
			if err != nil {
				b.Fatal(err)
			}
			keys = append(keys, key)
		}
	}
	for tick := range ticks {
		samples := make([]tsdb.Sample, len(keys))
		for i, key := range keys {
			samples[i] = tsdb.Sample{Key: key, Kind: tsdb.Counter, Time: (end - int64(ticks-1-tick)*60) * 1000, Value: float64(i * tick)}
		}
		if _, err := s.Ingest(b.Context(), "bench", samples, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	New(s, "bench").Register(mux)
	instant := func(query string) string {
		return fmt.Sprintf("/api/v1/query?query=%s&time=%d", url.QueryEscape(query), end)
	}
	for name, target := range map[string]string{
		"series":   fmt.Sprintf("/api/v1/series?match[]=%s&start=%d&end=%d", url.QueryEscape(`{__name__=~".+"}`), end-300, end),
		"instance": instant(`{instance=~"10.1.*"}`),
		"all":      instant(`{__name__=~".+"}`),
		"join":     instant(`sum by (pod, subsystem) ({container="billing"}) * on (pod, subsystem) group_right () {container="billing"}`),
	} {
		b.Run(name, func(b *testing.B) {
			before, answer := cpu(), &counted{}
			for b.Loop() {
				answer = &counted{header: http.Header{}}
				if mux.ServeHTTP(answer, httptest.NewRequest("GET", target, nil)); answer.bytes < 1000 {
					b.Fatalf("an answer of %d bytes", answer.bytes)
				}
			}
			b.ReportMetric((cpu()-before).Seconds()*1000/float64(b.N), "CPU-ms/op")
			b.ReportMetric(float64(answer.bytes)/1000, "kB")
		})
	}
}

// counted is a client that reads an answer at once and keeps nothing of it.
type counted struct {
	header http.Header
	bytes  int
}

func (c *counted) Header() http.Header { return c.header }
func (c *counted) WriteHeader(int)     {}
func (c *counted) Write(b []byte) (int, error) {
	c.bytes += len(b)
	return len(b), nil
}
