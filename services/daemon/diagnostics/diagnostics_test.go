package diagnostics

import (
	"context"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

func TestAnswersWithItsOwnGoroutines(t *testing.T) {
	dir := t.TempDir()
	if err := Serve(dir, "x"); err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(dir, Socket))
	}}}
	for path, want := range map[string]string{"/goroutines": "TestAnswersWithItsOwnGoroutines", "/memory": `"heapBytes":`,
		"/metrics": `cistern_process_goroutines{service="x"} `, "/debug/pprof/": "heap"} {
		response, err := client.Get("http://unix" + path)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if !strings.Contains(string(content), want) {
			t.Errorf("%s lacks %s:\n%s", path, want, content)
		}
	}
}
