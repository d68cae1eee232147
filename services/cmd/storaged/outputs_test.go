package main

// Outputs of the real binary: killed while it sends on, everything it acknowledged arrives; and it does not send to itself.

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"cistern/services/outputs"
	"cistern/services/outputs/remotewrite"
	"cistern/services/outputs/statsd"

	"github.com/golang/snappy"
	"github.com/prometheus/prometheus/prompb"
)

// sink remembers the values that it has acknowledged, by time. Now and then it stores and does not answer.
type sink struct {
	mu     sync.Mutex
	got    map[int64]float64
	failed int
}

func (s *sink) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	packed, _ := io.ReadAll(r.Body)
	message, err := snappy.Decode(nil, packed)
	var request prompb.WriteRequest
	if err != nil || request.Unmarshal(message) != nil {
		http.Error(w, "no message", http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range request.Timeseries {
		for _, sample := range one.Samples {
			s.got[sample.Timestamp] = sample.Value
		}
	}
	if s.failed++; s.failed%5 == 0 {
		panic(http.ErrAbortHandler)
	}
	w.WriteHeader(http.StatusNoContent)
}

func (d *process) send(t *testing.T, method, path string, body any) (int, string) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, _ := http.NewRequest(method, "http://storaged"+path, bytes.NewReader(text))
	answer, err := d.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(said)
}

func TestOutputsSurviveKills(t *testing.T) {
	to := &sink{got: map[int64]float64{}}
	server := httptest.NewServer(to)
	defer server.Close()
	folder := t.TempDir()
	definition := outputs.Definition{ID: "one", Name: "one", Enabled: true, Kind: "remote-write", Begin: "now", Keep: []string{"n"}, LagMiB: 64,
		RemoteWrite: &remotewrite.Settings{URL: server.URL, Version: "1.0", Token: "very-secret"}}
	acknowledged := map[int64]float64{}
	began, next := time.Now().Add(-10*time.Minute).UnixMilli(), int64(0)
	for round := range 5 {
		d := launch(t, folder)
		if round == 0 {
			if code, said := d.send(t, "PUT", "/admin/outputs", outputs.List{Revision: "1", Outputs: []outputs.Definition{definition}}); code != http.StatusOK || strings.Contains(said, "very-secret") {
				t.Fatal(code, said)
			}
		}
		for until := time.Now().Add(time.Duration(300+200*round) * time.Millisecond); time.Now().Before(until); next++ {
			body := fmt.Sprintf(`{"samples":[{"name":"n","time":%.3f,"value":%d}]}`, float64(began+next)/1000, next)
			answer, err := d.client.Post("http://storaged/api/v1/import", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				acknowledged[began+next] = float64(next)
			}
		}
		if round == 2 { // what was flushed is sent all the same
			if code, said := d.send(t, "POST", "/admin/flush", nil); code != http.StatusOK {
				t.Fatal(code, said)
			}
		}
		_ = d.end(t, syscall.SIGKILL)
	}
	d := launch(t, folder)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		missing := 0
		to.mu.Lock()
		for at, value := range acknowledged {
			if got, ok := to.got[at]; !ok || got != value {
				missing++
			}
		}
		to.mu.Unlock()
		if missing == 0 {
			break
		}
		if time.Now().After(deadline) {
			var status any
			d.get(t, "/admin/outputs", &status)
			t.Fatalf("%d of %d did not arrive: %v", missing, len(acknowledged), status)
		}
	}
	t.Logf("%d acknowledged, all there", len(acknowledged))
	answer, err := d.client.Get("http://storaged/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	for _, name := range []string{"sent_total", "refused_total", "skipped_total", "lag_bytes", "lag_seconds", "up"} {
		if !strings.Contains(string(text), `cistern_output_`+name+`{kind="remote-write",output="one"}`) {
			t.Errorf("%s is missing", name)
		}
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Error(err)
	}
}

func TestOutputToItself(t *testing.T) {
	folder := t.TempDir()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := listener.Addr().String()
	listener.Close()
	d := launch(t, folder, "--http", address)
	definition := outputs.Definition{ID: "self", Name: "self", Enabled: true, Kind: "remote-write", Begin: "now", LagMiB: 64,
		RemoteWrite: &remotewrite.Settings{URL: "http://" + address + "/api/v1/write", Version: "auto"}}
	code, said := d.send(t, "POST", "/admin/outputs/test", definition)
	if code != http.StatusOK || !strings.Contains(said, `"ok":false`) || !strings.Contains(said, "sends to the appliance itself") {
		t.Error(code, said)
	}
	for path, want := range map[string]int{"check": http.StatusOK, "test": http.StatusOK} {
		if code, said := d.send(t, "POST", "/admin/outputs/"+path, definition); code != want {
			t.Error(path, code, said)
		}
	}
	var status struct{ Statsd struct{ Address string } }
	d.get(t, "/api/v1/status/storage", &status)
	for _, protocol := range []string{"tcp", "udp"} {
		lines := outputs.Definition{ID: "lines", Name: "lines", Enabled: true, Kind: "statsd", Begin: "now", LagMiB: 64,
			Statsd: &statsd.Settings{Address: status.Statsd.Address, Protocol: protocol, Histograms: "ms"}}
		if code, said := d.send(t, "POST", "/admin/outputs/test", lines); code != http.StatusOK || !strings.Contains(said, "is an input of this appliance itself") {
			t.Error(protocol, code, said)
		}
	}
	definition.Keep = []string{"{"}
	if code, said := d.send(t, "POST", "/admin/outputs/check", definition); code != http.StatusUnprocessableEntity || !strings.Contains(said, "/keep/0") {
		t.Error(code, said)
	}
	if code, said := d.send(t, "PUT", "/admin/outputs", map[string]any{"unknown": 1}); code != http.StatusBadRequest {
		t.Error(code, said)
	}
}
