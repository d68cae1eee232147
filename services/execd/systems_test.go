package execd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorded holds what a driver answers against the file that akd's contract test reads in its place.
func recorded(t *testing.T, file string, systems []System) {
	t.Helper()
	got, err := json.MarshalIndent(map[string]any{"systems": systems}, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	if string(got)+"\n" != string(want) {
		t.Errorf("%s:\n%s", file, got)
	}
}

func TestSystems(t *testing.T) {
	b := start(t, absent, "")
	b.host.systems = []System{
		{Name: "A", Running: true, Starts: startsNext},
		{Name: "B", Starts: startsNot},
		{Name: "C", Starts: startsNot, Obstacle: "Nothing is installed in this slot."},
	}
	b.want("system.list", `{}`, 200, "")
	b.want("system.activate", `{"name":"D"}`, 404, "not_found")
	b.want("system.activate", `{"name":"C"}`, 409, "conflict")
	b.want("system.activate", `{"name":"A"}`, 200, "") // it starts anyway
	if len(b.host.did) != 0 {
		t.Errorf("did %v", b.host.did)
	}
	b.want("system.activate", `{"name":"B"}`, 200, "")
	if got := strings.Join(b.host.did, ", "); got != "activate B" || b.host.systems[1].Starts != startsNext {
		t.Errorf("did %s: %v", got, b.host.systems)
	}
	// What was done without an error is not believed: it is read back.
	b.host.stubborn = true
	b.want("system.activate", `{"name":"A"}`, 500, "command_failed")
	if audit := b.read("execd/audit.log"); !strings.Contains(audit, `"verb":"system.activate"`) || !strings.Contains(audit, `another one still starts next time`) {
		t.Errorf("the audit says:\n%s", audit)
	}
}
