package admission_test

// The gate as its users share it: remote write and the importer.

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/ingest/admission"
	"cistern/services/ingest/importer"
	"cistern/services/ingest/remotewrite"
	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

func testStore(t *testing.T) *tsdb.Store {
	t.Helper()
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func routes(store tsdb.Ingester) (*admission.Gate, *http.ServeMux) {
	gate, mux := admission.New(store), http.NewServeMux()
	remotewrite.New(store, gate).Register(mux)
	importer.New(store, gate).Register(mux)
	return gate, mux
}

func labelsOf(pairs ...string) []prompb.Label {
	var list []prompb.Label
	for i := 0; i < len(pairs); i += 2 {
		list = append(list, prompb.Label{Name: pairs[i], Value: pairs[i+1]})
	}
	return list
}

func encode(t *testing.T, series ...prompb.TimeSeries) []byte {
	t.Helper()
	message, err := (&prompb.WriteRequest{Timeseries: series}).Marshal()
	if err != nil {
		t.Fatal(err)
	}
	return snappy.Encode(nil, message)
}

// waiting is a store that takes nothing until it may.
type waiting struct {
	tsdb.Ingester
	may     chan struct{}
	mu      sync.Mutex
	waiters int
}

func (s *waiting) Ingest(ctx context.Context, input string, samples []tsdb.Sample, d journal.Durability) ([]tsdb.Rejection, error) {
	s.mu.Lock()
	s.waiters++
	s.mu.Unlock()
	<-s.may
	return s.Ingester.Ingest(ctx, input, samples, d)
}

func (s *waiting) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.waiters
}

// Usual requests wait for a slow disk together, without a slot; one that holds much keeps its slot, so that
// no second one is decoded meanwhile, and holds up no usual one.
func TestLargeRequestsKeepTheirSlot(t *testing.T) {
	s := testStore(t)
	store := &waiting{Ingester: s, may: make(chan struct{})}
	gate, mux := routes(store)
	now := time.Now().UnixMilli()
	usual := encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "up"), Samples: []prompb.Sample{{Value: 1, Timestamp: now}}})
	// 350,000 samples: 5 MB unpacked, and seven times that in memory.
	much := encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "much"), Samples: func() (list []prompb.Sample) {
		for i := range int64(350_000) {
			list = append(list, prompb.Sample{Value: 1, Timestamp: now - i})
		}
		return list
	}()})
	var all sync.WaitGroup
	send := func(path string, body []byte, content string, want int) {
		all.Go(func() {
			r := httptest.NewRequest("POST", path, bytes.NewReader(body))
			r.Header.Set("Content-Type", content)
			w := httptest.NewRecorder()
			if mux.ServeHTTP(w, r); w.Code != want {
				t.Errorf("%s: %d %.200s", path, w.Code, w.Body)
			}
		})
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); !done(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("waited in vain until " + what)
			}
		}
	}
	send("/api/v1/write", much, "application/x-protobuf", http.StatusNoContent)
	until("the large one is to be stored", func() bool { return store.count() == 1 })
	if gate.InUse().Slow != 1 {
		t.Error("it has given its place back")
	}
	send("/api/v1/write", much, "application/x-protobuf", http.StatusNoContent)
	until("the second is there", func() bool { return gate.InUse().Holding == 2 })
	for range 5 {
		send("/api/v1/write", usual, "application/x-protobuf", http.StatusNoContent)
		send("/api/v1/import", []byte(`{"samples":[{"name":"a","value":1}]}`), "application/json", http.StatusOK)
	}
	until("the usual ones are to be stored", func() bool { return store.count() == 11 })
	if gate.InUse().Quick != 0 {
		t.Error("usual ones have kept their places")
	}
	// A client that leaves while it waits for a place waits no longer.
	ctx, leave := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer leave()
	w := httptest.NewRecorder()
	r := httptest.NewRequestWithContext(ctx, "POST", "/api/v1/write", bytes.NewReader(much))
	r.Header.Set("Content-Type", "application/x-protobuf")
	if mux.ServeHTTP(w, r); w.Code != http.StatusServiceUnavailable || !strings.Contains(w.Body.String(), "left") {
		t.Error(w.Code, w.Body)
	}
	if n := store.count(); n != 11 {
		t.Errorf("%d requests are to be stored, want 11", n)
	}
	close(store.may)
	all.Wait()
	if gate.InUse() != (admission.Use{}) {
		t.Error("places are not given back")
	}
}

// Whoever sends slowly, or nothing at all, takes no place from the others.
func TestSlowClients(t *testing.T) {
	s := testStore(t)
	gate, mux := routes(s)
	server := httptest.NewServer(mux)
	defer server.Close()
	var slow []net.Conn
	defer func() {
		for _, c := range slow {
			c.Close()
		}
	}()
	for i := range 40 {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		slow = append(slow, c)
		fmt.Fprintf(c, "POST /api/v1/%s HTTP/1.1\r\nHost: a\r\nContent-Length: 30000000\r\n\r\nab", []string{"write", "import"}[i%2])
	}
	time.Sleep(100 * time.Millisecond)
	client := http.Client{Timeout: 10 * time.Second}
	body := encode(t, prompb.TimeSeries{Labels: labelsOf("__name__", "up"), Samples: []prompb.Sample{{Value: 1, Timestamp: time.Now().UnixMilli()}}})
	write := func() {
		t.Helper()
		response, err := client.Post(server.URL+"/api/v1/write", "application/x-protobuf", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			t.Error(response.StatusCode)
		}
	}
	write()
	// Those who have sent a megabyte wait for each other, and for nobody else; the memory for what they send is bounded.
	for _, c := range slow {
		go c.Write(make([]byte, 4<<20)) // ends when the connection is closed
	}
	for gate.InUse().Large < admission.MaxLarge {
		time.Sleep(time.Millisecond)
	}
	write()
	for _, c := range slow {
		c.Close()
	}
	for gate.InUse().Large > 0 {
		time.Sleep(time.Millisecond)
	}
}
