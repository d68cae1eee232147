package illumos

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// svcadm restart ends with 0 and does nothing but for a service that is online or degraded, enable -s ends with 3 for one in
// maintenance, and clear with 1 for one that is not (svcadm.c: wait_fmri_enabled, clear_instance; startd's restarter.c).
func TestServicesOfIllumosInEveryState(t *testing.T) {
	for _, c := range []struct {
		name, action, state string
		told                string // without svcs, and the instance's folder and name
	}{
		{"storaged", "start", "disabled", "enable -rs"},
		{"storaged", "start", "online", "enable -rs"},
		{"storaged", "start", "maintenance", "clear, enable -rs"},
		{"akd", "start", "disabled", "enable -r"},
		{"akd", "start", "maintenance", "clear, enable -r"},
		{"execd", "restart", "online", "restart"},
		{"snmpd", "restart", "degraded", "restart"},
		{"snmpd", "restart", "online*", "restart"},
		{"snmpd", "restart", "maintenance", "clear, enable -rs"},
		{"snmpd", "restart", "disabled", "enable -rs"},
		{"snmpd", "restart", "offline", "enable -rs"},
		{"tracerd", "clear", "maintenance", "clear, enable -rs"},
		{"tracerd", "clear", "degraded", "clear, enable -rs"},
		{"tracerd", "clear", "online", "enable -rs"},
		{"tracerd", "stop", "maintenance", "disable -s"},
		{"nginx", "reload", "online", "refresh"},
		{"nginx", "reload", "maintenance", "clear, enable -rs"},
	} {
		machine, fakes := withFakes(t)
		fakes.Put("state", c.state+"\n", 0o644)
		state := filepath.Join(machine.Root, "state")
		fakes.Program("bin/svcs", "cat '"+state+"'")
		// SMF does what clear asks for a moment later.
		fakes.Program("bin/svcadm", `read -r state <'`+state+`'
case "$1 $state" in
'restart online' | 'restart online*' | 'restart degraded' | 'clear degraded') ;;
'clear maintenance') (sleep 0.3; echo offline >'`+state+`') >/dev/null 2>&1 & ;;
restart*) echo "nothing is restarted: $state" >&2; exit 1 ;;
clear*) echo "svcadm: Instance \"$2\" is not in a maintenance or degraded state." >&2; exit 1 ;;
enable*maintenance) echo "svcadm: Instance \"$3\" is in maintenance state." >&2; exit 3 ;;
esac`)
		err := machine.Service(context.Background(), c.name, c.action)
		var told []string
		for call := range strings.Lines(fakes.Calls()) {
			if words, ok := strings.CutPrefix(call, "svcadm "); ok {
				told = append(told, strings.TrimSuffix(strings.TrimSpace(words), " "+fmri(c.name)))
			}
		}
		if got := strings.Join(told, ", "); err != nil || got != c.told {
			t.Errorf("%s of %s, which is %s: it was told %q, not %q; %v", c.action, c.name, c.state, got, c.told, err)
		}
	}
	// One that fails again at once is no success.
	machine, fakes := withFakes(t)
	fakes.Program("bin/svcs", "echo maintenance")
	fakes.Program("bin/svcadm", `[ "$1" = clear ] || { echo 'svcadm: Instance "'"$3"'" is in maintenance state.' >&2; exit 3; }`)
	clearPatience = time.Second
	t.Cleanup(func() { clearPatience = 20 * time.Second })
	if err := machine.Service(context.Background(), "snmpd", "restart"); err == nil || !strings.Contains(err.Error(), "is in maintenance state") {
		t.Errorf("%v", err)
	}
}

// init waits for bootadm before it signals process 1 (init.c, userinit and update_boot_archive): the answer does not wait for
// it, and init is not ended.
func TestARebootThatWaitsForBootadm(t *testing.T) {
	machine, fakes := withFakes(t)
	done, archive := filepath.Join(machine.Root, "rebooted"), filepath.Join(machine.Root, "archive")
	fakes.Program("bin/init", "until [ -e '"+archive+"' ]; do sleep 0.05; done; touch '"+done+"'")
	powerPatience = 300 * time.Millisecond
	t.Cleanup(func() { powerPatience = 10 * time.Second })
	ctx, gone := context.WithCancel(context.Background())
	if err := machine.Power(ctx, "reboot"); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(done); err == nil {
		t.Fatal("the answer waited for init")
	}
	gone()
	if err := os.WriteFile(archive, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for wait := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		if _, err := os.Stat(done); err == nil {
			break
		}
		if time.Since(wait) > 10*time.Second {
			t.Fatal("init was ended before it had done its work")
		}
	}
	powerPatience = 10 * time.Second
	fakes.Program("bin/init", "echo Must be super-user >&2; exit 1")
	if err := machine.Power(context.Background(), "off"); err == nil || !strings.Contains(err.Error(), "Must be super-user") {
		t.Errorf("%v", err)
	}
}
