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
	const fingerprint = "SHA256:xc3UDfc9zfQc7RJ5sfwzSj6HCVdTmkmo/Cug3VBxEvM"
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
	if text := b.read("ssh/authorized_keys"); !strings.HasPrefix(text, `restrict,pty,command="user ada `+fingerprint+`",from="192.0.2.0/24",expiry-time="`) || strings.Count(text, "\n") != 1 {
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
	known := func() string {
		t.Helper()
		_, _, text := b.answer("ssh.configure", `{"enabled":false}`)
		var answer struct {
			HostKey *struct{ Algorithm, Fingerprint string }
		}
		if err := json.Unmarshal([]byte(text), &answer); err != nil || answer.HostKey == nil || answer.HostKey.Algorithm != "ssh-ed25519" {
			t.Fatalf("%v %s", err, text)
		}
		return answer.HostKey.Fingerprint
	}
	first := known()
	b.want("ssh.configure", body(nothing), 200, "")
	if again := known(); again != first || !strings.HasPrefix(first, "SHA256:") {
		t.Errorf("clients would not know this machine again: %q %q", first, again)
	}
	if audit := b.read("execd/audit.log"); !strings.Contains(audit, "ssh.configure") {
		t.Error(audit)
	}
}

// What is wrong with a key is said when it is pasted, also while ssh is off.
func TestSSHKeysAreChecked(t *testing.T) {
	b := start(t, "", "")
	status, _, text := b.answer("ssh.check-key", `{"key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIMCxIr8tgB9vl1Xb9hOfm+cYAPPRFGn1Gp6xqvYf1TDJ ada at home"}`)
	if status != 200 || !strings.Contains(text, `"comment":"ada at home"`) || !strings.Contains(text, `"fingerprint":"SHA256:`) {
		t.Errorf("%d %s", status, text)
	}
	b.want("ssh.check-key", `{"key":"-----BEGIN OPENSSH PRIVATE KEY-----\nc4nary"}`, 400, "invalid_request")
	if audit := b.read("execd/audit.log"); strings.Contains(audit, "c4nary") || !strings.Contains(audit, "ssh.check-key") {
		t.Errorf("a private key was written down: %s", audit)
	}
	for key, words := range map[string]string{
		`-----BEGIN OPENSSH PRIVATE KEY-----\nx`:  "This is a private key, which must not leave its machine",
		"ssh-dss AAAA":                            "DSA keys are too weak",
		`command=\"sh\" ssh-ed25519 AAAA`:         "with no options before it",
		`ssh-ed25519 AAAA\nssh-ed25519 AAAA`:      "add keys one by one",
		"what somebody had in the clipboard last": "A key begins with its kind",
	} {
		status, code, text := b.answer("ssh.check-key", `{"key":"`+key+`"}`)
		if status != 400 || code != "invalid_request" || !strings.Contains(text, words) || !strings.Contains(text, `"/key"`) {
			t.Errorf("%s: %d %s", key, status, text)
		}
	}
}
