package execd

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ipmitool is a script that notes how it was called, and answers as ipmitool 1.8.19 does: what it prints for each
// question is of lib/ipmi_mc.c, ipmi_sdr.c, ipmi_sel.c and ipmi_lanp.c.
const ipmitool = `echo "$*" >>"$0.calls"
case "$*" in
"-Z -I open mc info") printf 'Device ID                 : 32\nFirmware Revision         : 1.74\n' ;;
"-Z -I open chassis status") printf 'System Power         : on\n' ;;
"-Z -I open sel info") printf 'Percent Used     : 41%%\n' ;;
"-Z -I open lan print") printf 'Auth Type Support       : MD5\nIP Address Source       : DHCP Address\nIP Address              : 192.0.2.200\nMAC Address             : 02:00:5e:10:00:fe\nSNMP Community String   : tell-nobody\n' ;;
"-Z -I open sdr info") if [ -e "$0.empty" ]; then count=0; else count=90; fi; printf 'SDR Version                         : 0x51\nRecord Count                        : %s\nFree Space                          : unspecified\n' $count ;;
"-Z -I open -c sel list last 200") echo "1,11/21/2026,09:30:00 UTC,Power Supply #0x51,Power Supply AC lost,Asserted" ;;
"-Z -I open sdr dump "*) echo described >"$6"; echo "Dumping Sensor Data Repository to '$6'"; [ ! -e "$0.dumb" ] || exit 1 ;;
"-Z -I open -S "*"-c -v sdr list all") cat "$5"; [ ! -e "$0.partly" ] || exit 1 ;;
"-Z -I open -S "*"-c sel elist last 200") [ -e "$0.events" ] && cat "$0.events" || { echo "SEL has no entries" >&2; exit 1; } ;;
*) echo "Invalid command: $*" >&2; exit 1 ;;
esac
`

func TestHardware(t *testing.T) {
	onEach(t, testHardware)
}

func testHardware(t *testing.T, k kind) {
	b := k.start(t, absent, "")
	b.want("hardware.inventory", `{}`, 200, "")
	b.want("controller.read", `{"what":"passwords"}`, 400, "invalid_request")
	read := func(what string) controllerAnswer {
		t.Helper()
		status, _, text := b.answer("controller.read", `{"what":"`+what+`"}`)
		if status != 200 {
			t.Fatalf("%s: %d %s", what, status, text)
		}
		var answer controllerAnswer
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		return answer
	}
	if a := read("sensors"); a.Present {
		t.Errorf("a machine without a controller has one: %+v", a)
	}

	b.host.controller = "open"
	program := filepath.Join(b.state, "bin", "ipmitool")
	b.program("ipmitool", ipmitool)
	about := read("about")
	if !about.Present || !strings.Contains(about.Text, "Firmware Revision") || !strings.Contains(about.Log, "41%") || !strings.Contains(about.Chassis, "System Power") {
		t.Errorf("%+v", about)
	}
	// Where it is, and no secret of it.
	if !strings.Contains(about.Network, "192.0.2.200") || strings.Contains(about.Network, "tell-nobody") {
		t.Errorf("the network: %q", about.Network)
	}

	for range 2 {
		if a := read("sensors"); a.Text != "described\n" {
			t.Errorf("the sensors: %+v", a)
		}
	}
	calls := func() string {
		text, err := os.ReadFile(program + ".calls")
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if n := strings.Count(calls(), "sdr dump"); n != 1 {
		t.Errorf("the sensors were described %d times, which takes longer than reading them", n)
	}
	// A day later, the controller may have another firmware.
	cache := filepath.Join(b.state, "execd", "sensors.sdr")
	if err := os.Chtimes(cache, time.Now().Add(-25*time.Hour), time.Now().Add(-25*time.Hour)); err != nil {
		t.Fatal(err)
	}
	read("sensors")
	if n := strings.Count(calls(), "sdr dump"); n != 2 {
		t.Errorf("descriptions of yesterday: described %d times", n)
	}
	// Descriptions that were cut off are none.
	if err := errors.Join(os.Remove(cache), os.WriteFile(program+".dumb", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	b.want("controller.read", `{"what":"sensors"}`, 502, "command_failed")
	if _, err := os.Stat(cache); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("half of the descriptions is kept: %v", err)
	}
	if err := errors.Join(os.Remove(program+".dumb"), os.WriteFile(program+".empty", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	// Of a controller that describes no sensor none is asked for: ipmitool would write some into it.
	before := strings.Count(calls(), "sdr dump") + strings.Count(calls(), "sdr list")
	if a := read("sensors"); !a.Present || a.Text != "" {
		t.Errorf("no sensors: %+v", a)
	}
	if a := read("events"); !strings.Contains(a.Text, "Power Supply #0x51") {
		t.Errorf("its events: %+v", a)
	}
	if after := strings.Count(calls(), "sdr dump") + strings.Count(calls(), "sdr list"); after != before {
		t.Errorf("it was asked for sensors all the same: %s", calls())
	}
	if err := os.Remove(program + ".empty"); err != nil {
		t.Fatal(err)
	}
	// One sensor of many cannot be read.
	if err := os.WriteFile(program+".partly", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if a := read("sensors"); a.Text != "described\n" {
		t.Errorf("some of the sensors: %+v", a)
	}

	if trail := b.read("execd/audit.log"); strings.Contains(trail, "controller.read") {
		t.Errorf("what is asked every minute fills the audit trail: %s", trail)
	}

	if a := read("events"); a.Text != "" {
		t.Errorf("an empty log: %+v", a)
	}
	if err := os.WriteFile(program+".events", []byte("1,11/21/2026,09:30:00 UTC,Fan #0x30,Lower Critical going low ,Asserted\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if a := read("events"); !strings.HasPrefix(a.Text, "1,11/21/2026") {
		t.Errorf("the log: %+v", a)
	}

	b.program("ipmitool", "echo 'Could not open device at /dev/ipmi0' >&2\nexit 1")
	status, code, text := b.answer("controller.read", `{"what":"about"}`)
	if status != 502 || code != "command_failed" || !strings.Contains(text, "The management controller (BMC) could not be asked") {
		t.Errorf("%d %s", status, text)
	}
	// As ipmitool 1.8.19 says it of one that is there and silent (tests/vm/hardware.test.ts).
	b.program("ipmitool", "echo 'Get Device ID command failed: 0xc3 Timeout' >&2\necho 'Get SDR Repository Info command failed: Timeout' >&2\nexit 1")
	status, code, text = b.answer("controller.read", `{"what":"about"}`)
	if status != 504 || code != "timeout" || !strings.Contains(text, "The management controller (BMC) did not answer the system's driver in time.") {
		t.Errorf("%d %s", status, text)
	}
}

// TestAControllerIsAskedOneThingAtATime: a second question waits for the first, and whoever gives up waiting asks nothing.
func TestAControllerIsAskedOneThingAtATime(t *testing.T) {
	b := start(t, absent, "")
	b.host.controller = "open"
	const script = "echo begin >>$0.calls\n[ $(wc -l <$0.calls) -gt 1 ] || while [ ! -e $0.go ]; do sleep 0.01; done\necho end >>$0.calls\necho 'Firmware Revision : 1'\n"
	program := filepath.Join(b.state, "bin", "ipmitool")
	b.program("ipmitool", script)
	done := make(chan int, 2)
	for range 2 {
		go func() {
			status, _ := b.call("controller.read", `{"what":"about"}`)
			done <- status
		}()
	}
	deadline := time.Now().Add(20 * time.Second)
	for {
		if text, _ := os.ReadFile(program + ".calls"); len(text) > 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was asked")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := os.WriteFile(program+".go", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if status := <-done; status != 200 {
			t.Errorf("status %d", status)
		}
	}
	text, _ := os.ReadFile(program + ".calls")
	lines := strings.Fields(string(text))
	for i, line := range lines {
		if want := []string{"begin", "end"}[i%2]; line != want {
			t.Fatalf("two at a time: %v", lines)
		}
	}
}

// TestAControllerThatHangs: whoever asks is answered at the deadline, in words; ipmitool is ended with all that it started, and
// the next question is put.
func TestAControllerThatHangs(t *testing.T) {
	b := start(t, absent, "")
	b.host.controller = "open"
	b.server.controllerWithin = 200 * time.Millisecond
	program := filepath.Join(b.state, "bin", "ipmitool")
	// It says what it is, or not even that; a child of it hangs as well.
	b.program("ipmitool", `case "$*" in
*"mc info") [ -e "$0.awake" ] && { echo 'Firmware Revision : 1'; exit; } ;;
esac
echo $$ >>"$0.pids"
sleep 600 &
echo $! >>"$0.pids"
wait`)
	for _, what := range []string{"about", "sensors", "events"} {
		status, code, text := b.answer("controller.read", `{"what":"`+what+`"}`)
		if status != 504 || code != "timeout" || !strings.Contains(text, "The management controller (BMC) did not answer within 0.2 seconds.") || !strings.Contains(text, "restart the controller by its own web page") {
			t.Errorf("%s: %d %s", what, status, text)
		}
	}
	// One that says what it is, and no more, is there.
	if err := os.WriteFile(program+".awake", nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if status, _, text := b.answer("controller.read", `{"what":"about"}`); status != 200 || !strings.Contains(text, "Firmware Revision : 1") {
		t.Errorf("%d %s", status, text)
	}
	pids, err := os.ReadFile(program + ".pids")
	if err != nil {
		t.Fatal(err)
	}
	for word := range strings.FieldsSeq(string(pids)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		for giveUp := time.Now().Add(20 * time.Second); syscall.Kill(pid, 0) == nil; time.Sleep(10 * time.Millisecond) {
			if time.Now().After(giveUp) {
				t.Fatalf("ipmitool's process %d goes on", pid)
			}
		}
	}
}
