package sshaccess

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

func lineOf(t *testing.T, public any) string {
	t.Helper()
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))
}

func newKey(t *testing.T) (string, ed25519.PrivateKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return lineOf(t, public), private
}

func fingerprintOf(t *testing.T, line string) string {
	t.Helper()
	key, err := ParseKey(line)
	if err != nil {
		t.Fatal(err)
	}
	return key.Fingerprint
}

func rsaOf(t *testing.T, bits int) string {
	t.Helper()
	private, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return lineOf(t, &private.PublicKey)
}

func TestKeysAreTaken(t *testing.T) {
	good, _ := newKey(t)
	private, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	hardware := ssh.Marshal(struct {
		Name        string
		Key         []byte
		Application string
	}{ssh.KeyAlgoSKED25519, make([]byte, 32), "ssh:"})
	for _, line := range []string{good, good + " ada at home", "  " + good + "\n", lineOf(t, &private.PublicKey), rsaOf(t, 3072),
		ssh.KeyAlgoSKED25519 + " " + base64.StdEncoding.EncodeToString(hardware)} {
		key, err := ParseKey(line)
		if err != nil || !strings.HasPrefix(key.Fingerprint, "SHA256:") || !strings.Contains(line, key.Encoded) {
			t.Errorf("%s: %v", line, err)
		}
	}
	if key, _ := ParseKey(good + " ada at home"); key.Comment != "ada at home" {
		t.Errorf("%q", key.Comment)
	}
}

func TestHostileKeysAreRefused(t *testing.T) {
	good, _ := newKey(t)
	encoded := strings.Fields(good)[1]
	for line, word := range map[string]string{
		"":                                       "empty",
		`command="sh" ` + good:                   "no options",
		"no-pty," + good:                         "no options",
		good + "\n" + good:                       "more than one line",
		good + "\r" + good:                       "more than one line",
		"ssh-ed25519\t" + encoded:                "control characters",
		"ssh-ed25519":                            "missing",
		"ssh-ed25519 " + encoded[:40]:            "",
		"ssh-ed25519 !!!":                        "no base64",
		"ssh-rsa " + encoded:                     "it says ssh-rsa",
		"ssh-dss AAAA":                           "DSA",
		"ssh-ed25519-cert-v01@openssh.com AAAA":  "certificate",
		"-----BEGIN OPENSSH PRIVATE KEY-----\nx": "private key",
		"---- BEGIN SSH2 PUBLIC KEY ----":        "ssh-keygen -i",
		rsaOf(t, 2048):                           "2048 bits",
		"ssh-ed25519 " + strings.Repeat("A", longestKey):             "longer",
		"ssh-ed25519 " + encoded + "\",command=\"sh":                 "",
		"ssh-ed25519 " + encoded[:len(encoded)-1] + "\x00" + encoded: "control",
	} {
		key, err := ParseKey(line)
		if err == nil && strings.Contains(line, `"`) && !strings.Contains(key.Encoded, `"`) && word == "" {
			continue // what is behind the key is its comment, which is never written
		}
		if err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%.60q: %v, not %q", line, err, word)
		}
	}
}

func access(t *testing.T, users ...string) Access {
	t.Helper()
	a := Access{Enabled: true, UntilMs: time.Now().Add(time.Hour).UnixMilli(), Networks: []string{"127.0.0.1/8", "fd00::1/8"}}
	for _, user := range users {
		line, _ := newKey(t)
		a.Keys = append(a.Keys, Key{user, line})
	}
	return a
}

func TestEachLineOfAuthorizedKeysIsClosed(t *testing.T) {
	a := access(t, "ada", "bob")
	a.Keys[0].Key += ` x",command="sh`
	text, err := a.authorizedKeys()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%s", text)
	}
	for i, line := range lines {
		key, comment, options, rest, err := ssh.ParseAuthorizedKey([]byte(line))
		want := []string{"restrict", "pty", `command="user ` + a.Keys[i].User + ` ` + ssh.FingerprintSHA256(key) + `"`, `from="127.0.0.0/8,fd00::/8"`, `expiry-time="` + a.Until().Format("20060102150405Z") + `"`}
		if err != nil || !slices.Equal(options, want) || comment != "" || len(rest) > 0 || !strings.HasPrefix(a.Keys[i].Key, strings.TrimSpace(string(ssh.MarshalAuthorizedKey(key)))) {
			t.Errorf("%s: %q %v", line, options, err)
		}
	}
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for word, change := range map[string]func(*Access){
		"is over already":   func(a *Access) { a.UntilMs = time.Now().Add(-time.Second).UnixMilli() },
		"at most 30 days":   func(a *Access) { a.UntilMs = time.Now().Add(31 * 24 * time.Hour).UnixMilli() },
		"name a network":    func(a *Access) { a.Networks = nil },
		"is no network":     func(a *Access) { a.Networks = []string{"10.0.0.0/8 *"} },
		"is no user's name": func(a *Access) { a.Keys[0].User = "ada\",environment=\"X=1" },
		"of ada: ":          func(a *Access) { a.Keys[0].Key = "command=\"sh\" " + a.Keys[0].Key },
	} {
		a := access(t, "ada")
		change(&a)
		m, said := manager(t)
		if err := m.Configure(t.Context(), a); err == nil || !strings.Contains(err.Error(), word) || len(*said) > 0 {
			t.Errorf("%s: %v %q", word, err, *said)
		}
		if _, err := os.Stat(m.path("sshd_config")); err == nil {
			t.Errorf("%s: something was written", word)
		}
	}
}

// manager remembers what the service was told.
func manager(t *testing.T) (*Manager, *[]string) {
	t.Helper()
	said := []string{}
	return &Manager{Folder: filepath.Join(t.TempDir(), "ssh"), Failed: func(err error) { t.Log(err) },
		Service: func(_ context.Context, action string) error { said = append(said, action); return nil }}, &said
}

func TestSessionsEndWhenSomethingIsTakenAway(t *testing.T) {
	m, said := manager(t)
	a := access(t, "ada")
	step := func(what, want string) {
		t.Helper()
		*said = nil
		if err := m.Configure(t.Context(), a); err != nil {
			t.Fatal(what, err)
		}
		if got := strings.Join(*said, " "); got != want {
			t.Errorf("%s: %q, not %q", what, got, want)
		}
	}
	step("switched on", "restart")
	step("the same again", "")
	host, _ := os.ReadFile(m.path("host_key"))
	bob := access(t, "bob").Keys[0]
	a.Keys = append(a.Keys, bob)
	step("a key more", "")
	a.UntilMs += 60_000
	step("longer", "")
	a.Keys = []Key{bob}
	step("a key less", "restart")
	a.UntilMs -= 30_000
	step("shorter", "restart")
	a.Networks = []string{"127.0.0.0/8"}
	step("other networks", "restart")
	a.Enabled = false
	step("switched off", "stop")
	if keys, err := os.ReadFile(m.path("authorized_keys")); err != nil || len(keys) > 0 {
		t.Errorf("%v %s", err, keys)
	}
	a.Enabled = true
	step("on again", "restart")
	if again, _ := os.ReadFile(m.path("host_key")); string(again) != string(host) {
		t.Error("the machine has another key")
	}
}

func TestTheEndComesAlsoAfterARestart(t *testing.T) {
	m, said := manager(t)
	a := access(t, "ada")
	if err := m.Configure(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	*said = nil
	if err := m.Resume(t.Context()); err != nil || !slices.Equal(*said, []string{"start"}) {
		t.Errorf("it goes on: %v %q", err, *said)
	}
	*said = nil
	a.UntilMs = time.Now().Add(-time.Second).UnixMilli()
	text, _ := json.Marshal(a)
	if err := os.WriteFile(m.path("access.json"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Resume(t.Context()); err != nil || !slices.Equal(*said, []string{"stop"}) {
		t.Errorf("it ended while nobody was there: %v %q", err, *said)
	}
	*said = nil
	if err := os.WriteFile(m.path("access.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := m.Resume(t.Context()); err == nil || !slices.Equal(*said, []string{"stop"}) {
		t.Errorf("what cannot be read lets nobody in: %v %q", err, *said)
	}
	fresh, said := manager(t)
	if err := fresh.Resume(t.Context()); err != nil || len(*said) > 0 {
		t.Errorf("%v %q", err, *said)
	}
}

func TestWhatCannotStartIsOff(t *testing.T) {
	m, _ := manager(t)
	m.Service = func(_ context.Context, action string) error {
		if action == "restart" {
			return errors.New("no")
		}
		return nil
	}
	if err := m.Configure(t.Context(), access(t, "ada")); err == nil {
		t.Error("it was taken")
	}
	if a, err := m.load(); err != nil || a.Enabled {
		t.Errorf("%v %v", err, a)
	}
}
