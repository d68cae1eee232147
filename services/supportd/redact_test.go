package supportd

import (
	"bytes"
	"strings"
	"testing"
)

const canary = "c4n4ry-Zx9"

func redact(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	r := &redactor{w: &out}
	// One byte at a time: a rule must not depend on where a read ended.
	for i := range len(text) {
		if _, err := r.Write([]byte{text[i]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestCanariesAreTakenOut(t *testing.T) {
	for _, line := range []string{
		`{"host":"mail","password":"` + canary + `","port":25}`,
		`{"smtp": {"authPassword": "with space ` + canary + `"}}`,
		`"config":"{\"password\":\"` + canary + `\"}"`,
		`password=` + canary,
		`passphrase: ` + canary + ` # comment`,
		`Authorization: Bearer ` + canary,
		`authorization: Basic dXNlcjp` + canary,
		`GET /api HTTP/1.1 with Bearer ` + canary + `abcd`,
		`Cookie: session=` + canary,
		`set-cookie: cistern=` + canary + `; HttpOnly`,
		`defCommunity ` + canary,
		`createUser trap SHA-256 ` + canary + ` AES ` + canary,
		`rocommunity ` + canary + ` 10.0.0.0/8`,
		`smtp://user:` + canary + `@mail.example/`,
		`scrypt$16384$8$1$` + canary,
		"-----BEGIN EC PRIVATE KEY-----\n" + canary + "\n-----END EC PRIVATE KEY-----",
		`api_key=` + canary + `&x=1`,
		`apiToken='` + canary + `'`,
	} {
		if got := redact(t, line+"\nnext\n"); strings.Contains(got, canary) || !strings.HasSuffix(got, "next\n") {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestTheRestStays(t *testing.T) {
	for _, line := range []string{
		"pool: data state: ONLINE",
		`{"host":"mail","port":25,"from":"a@b"}`,
		"sshd: Failed password for root from 10.0.0.1 port 22",
		"https://cistern.example/alerts/12",
	} {
		if got := redact(t, line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}
