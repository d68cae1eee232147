package web

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/support/logs"
)

// canary is a secret that must not be in what is answered.
const canary = "c4n4ry-Zx9"

func TestRequestsAreFiltered(t *testing.T) {
	path := filepath.Join(t.TempDir(), "access.sock")
	socket, err := logs.ListenAccess(path)
	if err != nil {
		t.Fatal(err)
	}
	a := &logs.AccessLog{MaxBytes: 64 << 10}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go a.Listen(ctx, socket)
	client, err := net.Dial("unixgram", path)
	if err != nil {
		t.Fatal(err)
	}
	send := func(uri, status, seconds, agent, cache string) {
		fmt.Fprintf(client, `<190>Nov 21 12:00:00 nginx: {"at":"1767225600.123","c":"10.0.0.1","u":"%s","m":"GET","s":"%s","t":"%s","b":"10","up":"0.1","ca":"%s","h":"box","a":"%s","f":"","ct":"text/html"}`, uri, status, seconds, cache, agent)
	}
	for i := range 5000 {
		send(fmt.Sprintf("/api/%d?token=%s", i, canary), "200", "0.001", "curl/8", "HIT")
	}
	send("/api/slow", "504", "2.5", "Mozilla", "MISS")
	deadline := time.Now().Add(10 * time.Second)
	for {
		if all, _, _ := a.Since(0); len(all) > 1 && all[len(all)-1].URI == "/api/slow" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the last one did not come")
		}
		time.Sleep(10 * time.Millisecond)
	}
	s := &API{Access: a}
	for query, want := range map[string]string{
		"status=5xx": "/api/slow", "slower=1": "/api/slow", "uri=/api/s*": "/api/slow", "uri=slow": "/api/slow", "header=user-agent:+*zilla": "/api/slow", "misses=true": "/api/slow",
		"status=404": "", "header=host:+other": "",
	} {
		w := httptest.NewRecorder()
		s.readRequests(w, httptest.NewRequest("GET", "/requests?limit=5&"+query, nil))
		body := w.Body.String()
		if strings.Contains(body, canary) || (want == "") != !strings.Contains(body, `"uri"`) || want != "" && (!strings.Contains(body, want) || strings.Count(body, `"uri"`) != 1) {
			t.Errorf("%s: %s", query, body)
		}
	}
	for _, bad := range []string{"status=abc", "slower=x", "header=x-secret:+a", "uri=[", "header=nothing"} {
		w := httptest.NewRecorder()
		s.readRequests(w, httptest.NewRequest("GET", "/requests?"+bad, nil))
		if w.Code != 400 {
			t.Errorf("%s: %d", bad, w.Code)
		}
	}
}
