package tsdb

import (
	"testing"
	"time"

	"cistern/services/journal"
	"cistern/services/platform/vfs"
)

// The version changes with the first sample of a name that a sender sends, and with nothing else.
func TestNamesVersion(t *testing.T) {
	s, err := Open("/s", Options{FS: vfs.NewMemory()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	version, at := s.NamesVersion(), time.Now().UnixMilli()
	then := func(what string, changes bool) {
		t.Helper()
		if now := s.NamesVersion(); (now != version) != changes {
			t.Errorf("%s: from %s to %s", what, version, now)
		}
		version = s.NamesVersion()
		at++
	}
	sender := from{"192.0.2.7"}
	sendAs(t, s, sender, "test", gaugeAt(t, at, "a", "host", "x"))
	then("the first name", true)
	sendAs(t, s, sender, "test", gaugeAt(t, at, "a", "host", "x"))
	then("again", false)
	sendAs(t, s, sender, "test", gaugeAt(t, at, "a", "host", "y"))
	then("another series of it", false)
	if _, err := s.Ingest(t.Context(), "test", []Sample{gaugeAt(t, at, "cistern_x")}, journal.Buffered); err != nil {
		t.Fatal(err)
	}
	then("one of the appliance's own", false)
	sendAs(t, s, sender, "test", gaugeAt(t, at, "b", "host", "x"))
	then("another name", true)
}
