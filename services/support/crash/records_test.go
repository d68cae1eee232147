package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A hundred crashes are one record with a count; they outlive a restart; one that is dismissed comes back.
func TestOneRecordForTheSameCrash(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crashes.json")
	c := Open(path, "1.2.3")
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for i := range 100 {
		c.Note(Record{Kind: KindSignal, Service: "nginx", Process: "nginx", Signal: "SIGSEGV", LastAt: at.Add(time.Duration(i) * time.Second), Stacks: nginxCore, Log: []string{"password=" + canary}})
	}
	c.Note(Record{Kind: KindFatal, Service: "storaged", Process: "storaged", LastAt: at, Stacks: goTrace, Reason: "panic"})
	list, _, _ := c.List()
	if len(list) != 2 || list[1].Count != 100 || !list[1].FirstAt.Equal(at) || list[1].LastAt.Sub(at) != 99*time.Second {
		t.Fatalf("%+v", list)
	}
	if content, _ := os.ReadFile(path); strings.Contains(string(content), canary) {
		t.Error("a secret is in the records")
	}
	if !c.Dismiss(list[1].ID) || c.Dismiss("none") {
		t.Error("dismissing")
	}
	again := Open(path, "1.2.3")
	if list, _, _ = again.List(); len(list) != 2 || !list[1].Dismissed || list[1].Count != 100 {
		t.Fatalf("after a restart: %+v", list)
	}
	again.Note(Record{Kind: KindSignal, Service: "nginx", Process: "nginx", Signal: "SIGSEGV", LastAt: at, Stacks: nginxCore})
	if list, _, _ = again.List(); list[0].Dismissed || list[0].Count != 101 {
		t.Errorf("it happened again: %+v", list[0])
	}
	for i := range 300 {
		again.Note(Record{Kind: KindFatal, Service: "x", Process: fmt.Sprint("p", i), LastAt: at})
	}
	if list, _, _ = again.List(); len(list) != maxRecords {
		t.Errorf("%d are kept", len(list))
	}
	write(t, path, "{garbage")
	if list, _, _ = Open(path, "").List(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
}

// canary is a secret that must not be in what is answered or kept.
const canary = "c4n4ry-Zx9"

func write(t *testing.T, path, content string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
