package unixsocket

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestListen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run", "storaged", "http.sock")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != Mode {
		t.Fatalf("%v %v", info, err)
	}
	if _, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another process answers") {
		t.Fatalf("a living socket was stolen: %v", err)
	}
	first.Close() // as after a kill: the file stays
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
	second, err := Listen(path)
	if err != nil {
		t.Fatalf("a stale socket was not removed: %v", err)
	}
	second.Close()
}

func TestListenRefusesWhatIsNotASocket(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Listen(path); err == nil {
		t.Fatal("a file was replaced")
	}
	if content, _ := os.ReadFile(path); string(content) != "precious" {
		t.Fatal("the file is gone")
	}
}

func TestRequestPeerUID(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	uids := make(chan int, 1)
	server := &http.Server{ConnContext: ConnContext, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		uid, err := RequestPeerUID(r)
		if err != nil {
			t.Error(err)
		}
		uids <- uid
	})}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	client := http.Client{Transport: &http.Transport{Dial: func(string, string) (net.Conn, error) { return net.Dial("unix", path) }}}
	response, err := client.Get("http://storaged/")
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	if uid := <-uids; uid != os.Getuid() {
		t.Fatalf("uid %d, want %d", uid, os.Getuid())
	}
}
