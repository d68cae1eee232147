package web

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
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

	// Followed from where a page was read: what came meanwhile comes, once, and says where to go on.
	server := httptest.NewServer(http.HandlerFunc(s.followRequests))
	defer server.Close()
	w := httptest.NewRecorder()
	s.readRequests(w, httptest.NewRequest("GET", "/requests", nil))
	var page struct{ Seen int64 }
	if err := json.Unmarshal(w.Body.Bytes(), &page); err != nil || page.Seen != 5001 {
		t.Fatalf("%d, %v", page.Seen, err)
	}
	send("/api/between", "404", "0.1", "curl/8", "")
	send("/api/other", "200", "0.1", "curl/8", "")
	send("/api/last", "404", "0.1", "curl/8", "")
	for after, want := range map[int64][]string{page.Seen: {"id: 5002\n", "/api/between", "id: 5004\n", "/api/last"}, 5002: {"id: 5004\n", "/api/last"}, 90000: {"/api/between"}} {
		response, err := http.Get(fmt.Sprintf("%s?status=4xx&after=%d", server.URL, after))
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(response.Body)
		for _, text := range want {
			for {
				line, err := lines.ReadString('\n')
				if err != nil {
					t.Fatalf("after %d: %q did not come: %v", after, text, err)
				}
				if strings.Contains(line, text) {
					break
				}
				if strings.Contains(line, "uri") && !strings.Contains(line, want[0]) {
					t.Errorf("after %d: %s", after, line)
				}
			}
		}
		response.Body.Close()
	}
	w = httptest.NewRecorder()
	s.followRequests(w, httptest.NewRequest("GET", "/requests/live?after=x", nil))
	if w.Code != 400 {
		t.Errorf("%d", w.Code)
	}
}
