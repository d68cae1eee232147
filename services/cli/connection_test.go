package cli

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// The store is asked over HTTPS with the token or the session of everything else, and on the appliance by its own socket.
func TestConnection(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		content, _ := io.ReadAll(r.Body)
		cookie, _ := r.Cookie(sessionCookie)
		if cookie != nil {
			w.Header().Set("Cookie-Was", cookie.Value)
		}
		w.Header().Set("Seen", r.Method+" "+r.URL.Path+" "+r.Header.Get("Authorization")+" "+r.Header.Get("Origin")+" "+r.Header.Get("X-Test")+" "+string(content))
		w.WriteHeader(http.StatusTeapot)
	})
	server := httptest.NewServer(handler)
	defer server.Close()
	home := t.TempDir()
	ask := func(o Options) (*http.Response, error) {
		o.Config = home
		return o.Connect().Do(t.Context(), "POST", "/admin/write", http.Header{"X-Test": {"yes"}}, []byte("body"))
	}
	answer, err := ask(Options{URL: server.URL, Token: "secret"})
	if err != nil || answer.StatusCode != http.StatusTeapot || answer.Header.Get("Seen") != "POST /admin/write Bearer secret  yes body" {
		t.Fatal(err, answer)
	}
	if err := (Options{Config: home}).save(session{URL: server.URL, Cookie: sessionCookie + "=abc"}); err != nil {
		t.Fatal(err)
	}
	answer, err = ask(Options{})
	if err != nil || answer.Header.Get("Cookie-Was") != "abc" || !strings.Contains(answer.Header.Get("Seen"), server.URL) {
		t.Fatal(err, answer)
	}
	home = t.TempDir()
	socket := filepath.Join(t.TempDir(), "s")
	if _, err := ask(Options{Socket: socket}); err == nil || !strings.Contains(err.Error(), "the store does not answer on its socket") {
		t.Error(err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	local := &http.Server{Handler: handler}
	go func() { _ = local.Serve(listener) }()
	defer local.Close()
	if answer, err = ask(Options{Socket: socket}); err != nil || answer.Header.Get("Seen") != "POST /admin/write   yes body" {
		t.Error(err, answer)
	}
	if name := (Options{Config: home}).Connect().Name(); name != "this appliance" {
		t.Error(name)
	}
}
