package execd

import (
	"strings"
	"testing"

	"cistern/services/execd/host"
)

func TestSystems(t *testing.T) {
	b := start(t, absent, "")
	b.host.systems = []host.System{
		{Name: "A", Running: true, Starts: host.StartsNext},
		{Name: "B", Starts: host.StartsNot},
		{Name: "C", Starts: host.StartsNot, Obstacle: "Nothing is installed in this slot."},
	}
	b.want("system.list", `{}`, 200, "")
	b.want("system.activate", `{"name":"D"}`, 404, "not_found")
	b.want("system.activate", `{"name":"C"}`, 409, "conflict")
	b.want("system.activate", `{"name":"A"}`, 200, "") // it starts anyway
	if len(b.host.did) != 0 {
		t.Errorf("did %v", b.host.did)
	}
	b.want("system.activate", `{"name":"B"}`, 200, "")
	if got := strings.Join(b.host.did, ", "); got != "activate B" || b.host.systems[1].Starts != host.StartsNext {
		t.Errorf("did %s: %v", got, b.host.systems)
	}
	// What was done without an error is not believed: it is read back.
	b.host.stubborn = true
	b.want("system.activate", `{"name":"A"}`, 500, "command_failed")
	if audit := b.read("execd/audit.log"); !strings.Contains(audit, `"verb":"system.activate"`) || !strings.Contains(audit, `another one still starts next time`) {
		t.Errorf("the audit says:\n%s", audit)
	}
}
