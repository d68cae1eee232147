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
