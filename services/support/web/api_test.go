package web

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/daemon/unixsocket"
	"cistern/services/support/bundle"
	"cistern/services/support/collect"
)

func maker(t *testing.T, steps ...collect.Step) *bundle.Maker {
	t.Helper()
	m := &bundle.Maker{Dir: t.TempDir(), MemoryDir: t.TempDir(), Steps: steps, Parallel: 3, Keep: 3, KeepSize: 1 << 30, Version: "test"}
	if err := m.Open(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Stop)
	return m
}

// wait returns when the newest bundle is no longer being made.
func wait(t *testing.T, m *bundle.Maker) {
	t.Helper()
	id := m.List()[0].ID
	deadline := time.After(time.Minute)
	for {
		b, changed, err := m.Watch(id)
		if err != nil {
			t.Fatal(err)
		}
		if b.State != "building" {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%+v", b)
		}
	}
}

func TestHTTP(t *testing.T) {
	begun, release := make(chan struct{}), make(chan struct{})
	m := maker(t, collect.Step{Name: "x", Category: "a", Deadline: time.Minute, Limit: 10, Collect: func(ctx context.Context, _ int64, w io.Writer) error {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		_, err := io.WriteString(w, "content")
		return err
	}})
	server := httptest.NewUnstartedServer((&API{Maker: m}).Handler([]int{os.Getuid()}))
	socket := filepath.Join(t.TempDir(), "s")
	listener, err := unixsocket.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	server.Listener, server.Config.ConnContext = listener, unixsocket.ConnContext
	server.Start()
	t.Cleanup(server.Close)
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", socket)
	}}}
	do := func(method, path, body string, status int) string {
		t.Helper()
		request, _ := http.NewRequest(method, "http://unix"+path, strings.NewReader(body))
		if method == "GET" && body != "" {
			request.Header.Set("Range", body)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, _ := io.ReadAll(response.Body)
		if response.StatusCode != status {
			t.Fatalf("%s %s: %d %s, want %d", method, path, response.StatusCode, content, status)
		}
		return string(content)
	}
	do("POST", "/bundles", `{"categories":["none"]}`, 400)
	do("POST", "/bundles", `{"x":1}`, 400)
	do("POST", "/bundles", `{`, 400)
	do("GET", "/bundles/../../etc/passwd/content", "", 404)
	var b bundle.Bundle
	if err := json.Unmarshal([]byte(do("POST", "/bundles", "{}", 202)), &b); err != nil {
		t.Fatal(err)
	}
	<-begun
	do("POST", "/bundles", "{}", 409)
	do("GET", "/bundles/"+b.ID+"/content", "", 409)
	close(release)
	wait(t, m)
	whole := do("GET", "/bundles/"+b.ID+"/content", "", 200)
	if part := do("GET", "/bundles/"+b.ID+"/content", "bytes=10-19", 206); part != whole[10:20] {
		t.Error("a resumed download gets other bytes")
	}
	do("DELETE", "/bundles/"+b.ID, "", 204)
	do("GET", "/bundles/"+b.ID, "", 404)
}
