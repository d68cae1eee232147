package api

// What answers about very many series cost.

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"
)

// BenchmarkMany asks about 100,000 series with ten labels each, in memory.
func BenchmarkMany(b *testing.B) {
	s, err := tsdb.Open("/data", tsdb.Options{FS: vfs.NewMemory(), HeadBytes: 1 << 30, SeriesPerSecond: 1 << 30, SeriesBurst: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	now := time.Now().UnixMilli()
	for tick := range int64(20) {
		var batch []tsdb.Sample
		for i := range 100_000 {
			pod := i / 200
			key, err := tsdb.AppendKey(nil, []tsdb.Label{
				{Name: tsdb.NameLabel, Value: fmt.Sprintf("http_server_requests_%d_total", i%25)}, {Name: "cluster", Value: "prod-eu-west-1a"},
				{Name: "code", Value: fmt.Sprint(200 + i%8)}, {Name: "container", Value: "billing"},
				{Name: "instance", Value: fmt.Sprintf("10.%d.%d.17:9102", pod%7, pod)}, {Name: "job", Value: "production/billing"},
				{Name: "namespace", Value: fmt.Sprintf("team-%d", pod%9)}, {Name: "node", Value: fmt.Sprintf("ip-10-%d-17.internal", pod%64)},
				{Name: "pod", Value: fmt.Sprintf("billing-%08x-%05x", pod*7919, pod)}, {Name: "subsystem", Value: fmt.Sprintf("http_server_%d", i%200)},
			})
			if err != nil {
				b.Fatal(err)
			}
			batch = append(batch, tsdb.Sample{Key: key, Time: now - (20-tick)*60_000, Value: float64(i) * float64(tick)})
		}
		if _, err := s.Ingest(b.Context(), "test", batch, journal.Buffered); err != nil {
			b.Fatal(err)
		}
	}
	mux := http.NewServeMux()
	New(s, "").Register(mux)
	for name, path := range map[string]string{
		"Vector": "/api/v1/query?query=" + url.QueryEscape(`{__name__=~".+"}`), "Series": "/api/v1/series?match[]=" + url.QueryEscape(`{__name__=~".+"}`),
		"Top": "/api/v1/query?query=" + url.QueryEscape(`topk(10, {__name__=~".+"})`), "Tsdb": "/api/v1/status/tsdb",
		"Join": "/api/v1/query?query=" + url.QueryEscape(`sum by (pod, subsystem) ({namespace="team-4"}) * on (pod, subsystem) group_right () {namespace="team-4",code="200"}`),
		"Some": "/api/v1/query?query=" + url.QueryEscape(`{instance=~"10.1.*"}`),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := httptest.NewRequest("GET", path, nil)
				w := httptest.NewRecorder()
				mux.ServeHTTP(w, r)
				if w.Code != 200 {
					b.Fatal(w.Body)
				}
			}
		})
	}
}
