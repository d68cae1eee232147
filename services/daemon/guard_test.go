package daemon

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// A stream that cannot go on must not look as if it had ended; anything else that breaks is answered and logged.
func TestBrokenRequests(t *testing.T) {
	var logged bytes.Buffer
	server := httptest.NewServer(Guard("x", slog.New(slog.NewTextHandler(&logged, nil)), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/other" {
			panic("no idea")
		}
		_, _ = w.Write([]byte("the first half"))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})))
	defer server.Close()
	response, err := http.Get(server.URL + "/stream")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got, err := io.ReadAll(response.Body); err == nil {
		t.Errorf("%q ended well", got)
	}
	response, err = http.Get(server.URL + "/other")
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusInternalServerError || !strings.Contains(logged.String(), "no idea") {
		t.Errorf("%d, logged %q", response.StatusCode, logged.String())
	}
}
