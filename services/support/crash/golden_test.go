package crash

import (
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"cistern/services/platform/golden"
)

var goldenTime = time.Date(2026, 11, 23, 4, 5, 6, 0, time.UTC)

// goldenCrashes are the golden records, the newest first. They must never change.
func goldenCrashes() []Record {
	return []Record{
		{Kind: KindFatal, Service: "akd", Process: "node", Version: "0.1.0", Reason: "TypeError: x is not a function", FirstAt: goldenTime, LastAt: goldenTime,
			Count: 1, PID: 12, Stacks: "TypeError: x is not a function\n    at handler (file:///opt/cistern/akd/akd.js:1042:17)", Log: []string{"a line"}},
		{Kind: KindSignal, Service: "nginx", Process: "nginx", Version: "0.1.0", Signal: "SIGSEGV", FirstAt: goldenTime.Add(-time.Hour), LastAt: goldenTime.Add(-time.Minute),
			Count: 2, PID: 11, Stacks: nginxCore, Log: []string{}, Core: "/var/lib/systemd/coredump/core.nginx", Dismissed: true},
	}
}

// Crash records that other versions kept are read.
func TestGoldenCrashes(t *testing.T) {
	golden.Check(t, "crashes", func(t *testing.T) golden.Files {
		path := filepath.Join(t.TempDir(), "crashes.json")
		c := Open(path, "0.1.0")
		c.cursor = "s=1;i=2"
		all := goldenCrashes()
		first := all[1]
		first.LastAt = first.FirstAt
		c.Note(first)
		c.Note(all[1])
		list, _, _ := c.List()
		c.Dismiss(list[0].ID)
		c.Note(all[0])
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return golden.Files{"crashes.json": content}
	}, func(t *testing.T, files golden.Files) {
		path := filepath.Join(t.TempDir(), "crashes.json")
		if err := os.WriteFile(path, files["crashes.json"], 0o600); err != nil {
			t.Fatal(err)
		}
		c := Open(path, "later")
		list, _, _ := c.List()
		want := goldenCrashes()
		if len(list) != len(want) || c.cursor != "s=1;i=2" {
			t.Fatalf("%d records, cursor %q", len(list), c.cursor)
		}
		for i := range want {
			// The same crash is still the same: its fingerprint is what a new one is compared with.
			want[i].ID = fingerprint(&want[i])
			want[i].Alert = want[i].ID
			want[i].Version = list[i].Version
			if !reflect.DeepEqual(list[i], want[i]) {
				t.Errorf("%+v, want %+v", list[i], want[i])
			}
		}
	})
}
