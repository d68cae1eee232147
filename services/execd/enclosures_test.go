package execd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/execd/host"
)

// sgSes answers as sg_ses 2.86 does: a shelf that is well, one that is asked while another is, one without a status page, one that
// is gone, and one that hangs.
const sgSes = `echo "$*" >>"$0.calls"
case "$*" in
"--readonly --join --join /dev/sg3") touch "$0.go"; printf '  Primary enclosure logical identifier (hex): 5000ccab051e2d00\nAmbient [3,0]  Element type: Temperature sensor\n' ;;
"--readonly --join --join /dev/sg2") while [ ! -e "$0.go" ]; do sleep 0.01; done; echo late ;;
"--readonly --join --join /dev/sg4") exec sleep 600 ;;
"--readonly --join --join /dev/sg5") echo 'sg_ses failed: Illegal request' >&2; exit 5 ;;
*) echo 'sg_ses failed: No such device' >&2; exit 51 ;;
esac
`

func askEnclosures(t *testing.T, b *bench) []enclosureAnswer {
	t.Helper()
	status, _, text := b.answer("enclosures.read", `{}`)
	if status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	var answer struct{ Enclosures []enclosureAnswer }
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatal(err)
	}
	return answer.Enclosures
}

func TestEnclosures(t *testing.T) {
	b := start(t, absent, "")
	b.program("sg_ses", sgSes)
	if found := askEnclosures(t, b); len(found) != 0 {
		t.Fatalf("a machine without shelves has some: %+v", found)
	}
	program := filepath.Join(b.state, "bin", "sg_ses")
	if _, err := os.Stat(program + ".calls"); err == nil {
		t.Error("a machine without shelves is asked for what they say")
	}

	shelf := func(number string) host.Enclosure {
		return host.Enclosure{ID: "6:0:" + number + ":0", Title: "EXAMPLE SHELF", Command: []string{"sg_ses", "--readonly", "--join", "--join", "/dev/sg" + number}}
	}
	b.host.enclosures = []host.Enclosure{shelf("2"), shelf("3"), shelf("5"), shelf("6")}
	found := askEnclosures(t, b)
	if len(found) != 4 {
		t.Fatalf("%+v", found)
	}
	// It answers only when the next one was asked as well.
	late, well, dumb, gone := found[0], found[1], found[2], found[3]
	if late.Text != "late\n" || late.Error != "" {
		t.Errorf("%+v", late)
	}
	if well.ID != "6:0:3:0" || well.Title != "EXAMPLE SHELF" || !strings.Contains(well.Text, "Ambient [3,0]") || well.Error != "" || well.Unsupported {
		t.Errorf("%+v", well)
	}
	if !dumb.Unsupported || dumb.Error != "" {
		t.Errorf("%+v", dumb)
	}
	if gone.Unsupported || !strings.Contains(gone.Error, "It could not be asked: ") || !strings.Contains(gone.Error, "No such device") {
		t.Errorf("%+v", gone)
	}
	if trail := b.read("execd/audit.log"); strings.Contains(trail, "enclosures.read") {
		t.Errorf("what is asked every minute fills the audit trail: %s", trail)
	}
}

// TestAnEnclosureThatHangs: whoever asks is answered at the deadline, in words.
func TestAnEnclosureThatHangs(t *testing.T) {
	b := start(t, absent, "")
	b.program("sg_ses", sgSes)
	b.server.enclosureWithin = 200 * time.Millisecond
	b.host.enclosures = []host.Enclosure{{ID: "6:0:4:0", Title: "EXAMPLE SHELF", Command: []string{"sg_ses", "--readonly", "--join", "--join", "/dev/sg4"}}}
	found := askEnclosures(t, b)
	if len(found) != 1 || found[0].Error != "It did not answer within 0.2 seconds." || found[0].Text != "" {
		t.Errorf("%+v", found)
	}
}
