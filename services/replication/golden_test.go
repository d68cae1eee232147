package replication

import (
	"encoding/json"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"cistern/services/platform/golden"

	"golang.org/x/crypto/ssh"
)

// The list of senders that other versions kept is read: nobody is locked out by an update.
func TestGolden(t *testing.T) {
	want := Accepting{Senders: []Sender{
		{Name: "first", PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f first", Under: "backup/in"},
		{Name: "second", PublicKey: "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAICAhIiMkJSYnKCkqKywtLi8wMTIzNDU2Nzg5Ojs8PT4/", Under: "backup/other"},
	}}
	server := func(t *testing.T, state string) *Server {
		s, err := NewServer(t.Context(), state, "x", nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	golden.Check(t, "replication", func(t *testing.T) golden.Files {
		state := t.TempDir()
		body, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		server(t, state).accept(w, httptest.NewRequest("PUT", "/accept", strings.NewReader(string(body))))
		if w.Code >= 300 {
			t.Fatal(w.Code, w.Body)
		}
		content, err := os.ReadFile(filepath.Join(state, "accept.json"))
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"accept.json": content}
	}, func(t *testing.T, files golden.Files) {
		state := t.TempDir()
		if err := os.WriteFile(filepath.Join(state, "accept.json"), files["accept.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		if got := server(t, state).accepting; !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	})
}

// The keys that other versions made are those by which others know this appliance: an update must not make new ones.
func TestGoldenKeys(t *testing.T) {
	names := []string{"identity", "host"}
	golden.Check(t, "keys", func(t *testing.T) golden.Files {
		state := t.TempDir()
		if _, err := NewServer(t.Context(), state, "x", nil, slog.New(slog.DiscardHandler)); err != nil {
			t.Fatal(err)
		}
		files := golden.Files{}
		for _, name := range names {
			content, err := os.ReadFile(filepath.Join(state, name))
			if err != nil {
				t.Fatal(err)
			}
			key, err := ssh.ParsePrivateKey(content)
			if err != nil {
				t.Fatal(err)
			}
			files[name], files[name+".fingerprint"] = content, []byte(ssh.FingerprintSHA256(key.PublicKey())+"\n")
		}
		return files
	}, func(t *testing.T, files golden.Files) {
		state := t.TempDir()
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(state, name), files[name], 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s, err := NewServer(t.Context(), state, "x", nil, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		for name, key := range map[string]ssh.Signer{"identity": s.key, "host": s.gate.Key} {
			if got := ssh.FingerprintSHA256(key.PublicKey()) + "\n"; got != string(files[name+".fingerprint"]) {
				t.Errorf("%s: %s, want %s", name, got, files[name+".fingerprint"])
			}
		}
	})
}
