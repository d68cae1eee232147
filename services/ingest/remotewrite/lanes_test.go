package remotewrite

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
	"cistern/services/store/tsdb"

	"github.com/prometheus/prometheus/prompb"
)

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

// Usual requests wait for a slow disk together, without a place in the lanes; one that holds much keeps its place, so that
// no second one is decoded meanwhile, and holds up no usual one.
func TestWhoHoldsMuchKeepsItsPlace(t *testing.T) {
	s, err := tsdb.Open("/s", tsdb.Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	store := &waiting{Ingester: s, may: make(chan struct{})}
	h, mux := New(store), http.NewServeMux()
	h.Register(mux)
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
	if len(h.lanes.slow) != 1 {
		t.Error("it has given its place back")
	}
	send("/api/v1/write", much, "application/x-protobuf", http.StatusNoContent)
	until("the second is there", func() bool { return len(h.holding) == 2 })
	for range 5 {
		send("/api/v1/write", usual, "application/x-protobuf", http.StatusNoContent)
		send("/api/v1/import", []byte(`{"samples":[{"name":"a","value":1}]}`), "application/json", http.StatusOK)
	}
	until("the usual ones are to be stored", func() bool { return store.count() == 11 })
	if len(h.lanes.quick) != 0 {
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
	if len(h.lanes.slow)+len(h.lanes.quick)+len(h.holding)+len(h.large) != 0 {
		t.Error("places are not given back")
	}
}
