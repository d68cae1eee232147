package execd

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestSSHIsConfigured(t *testing.T) {
	b := start(t, "", "")
	const key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMCxIr8tgB9vl1Xb9hOfm+cYAPPRFGn1Gp6xqvYf1TDJ ada"
	body := func(change func(map[string]any)) string {
		argument := map[string]any{"enabled": true, "untilMs": time.Now().Add(time.Hour).UnixMilli(), "networks": []string{"192.0.2.7/24"},
			"keys": []map[string]string{{"user": "ada", "key": key}}}
		change(argument)
		text, err := json.Marshal(argument)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	nothing := func(map[string]any) {}
	b.want("ssh.configure", body(func(a map[string]any) {
		a["keys"] = []map[string]string{{"user": "ada", "key": "command=\"sh\" " + key}}
	}), 400, "invalid_request")
	b.want("ssh.configure", body(func(a map[string]any) { a["untilMs"] = 5 }), 400, "invalid_request")
	if _, err := os.Stat(filepath.Join(b.state, "ssh")); err == nil || len(b.host.did) > 0 {
		t.Errorf("something was done: %q", b.host.did)
	}
	b.want("ssh.configure", body(nothing), 200, "")
	if text := b.read("ssh/authorized_keys"); !strings.HasPrefix(text, `restrict,pty,command="user ada",from="192.0.2.0/24",expiry-time="`) || strings.Count(text, "\n") != 1 {
		t.Error(text)
	}
	if text := b.read("ssh/sshd_config"); !strings.Contains(text, "\nAllowUsers cistern-ssh@192.0.2.0/24\n") || !strings.Contains(text, "\nPasswordAuthentication no\n") || !strings.HasPrefix(text, "# ") {
		t.Error(text)
	}
	b.want("ssh.configure", `{"enabled":false}`, 200, "")
	if text := b.read("ssh/authorized_keys"); text != "" {
		t.Error(text)
	}
	if !slices.Equal(b.host.did, []string{"restart sshd", "stop sshd"}) {
		t.Errorf("%q", b.host.did)
	}
	if audit := b.read("execd/audit.log"); !strings.Contains(audit, "ssh.configure") {
		t.Error(audit)
	}
}
