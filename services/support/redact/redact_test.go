package redact

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

const canary = "c4n4ry-Zx9"

func redacting(t *testing.T, text string) string {
	t.Helper()
	var out bytes.Buffer
	r := &Writer{w: &out}
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
		`$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$` + canary,
		`$argon2id$v=19$m=19456,t=2,p=1$` + canary + `$a2V5`,
		"-----BEGIN EC PRIVATE KEY-----\n" + canary + "\n-----END EC PRIVATE KEY-----",
		`api_key=` + canary + `&x=1`,
		`apiToken='` + canary + `'`,
		// Escapes: of quotes, at any depth, of letters, of colours.
		`{"password":"a\"` + canary + `","port":25}`,
		`{"password":"a\\","token":"` + canary + `"}`,
		`"config":"{\"password\":\"a\\\"` + canary + `\"}"`,
		`"a":"{\"b\":\"{\\\"password\\\":\\\"x ` + canary + `\\\"}\"}"`,
		`{"passw\u006frd":"` + canary + `"}`,
		`{"\u0070assword":"` + canary + `"}`,
		`/login?pass%77ord=` + canary,
		`/login?%70assword=` + canary,
		"pass\x1b[31mword\x1b[0m=" + canary,
		"p\x00a\x00s\x00s\x00w\x00o\x00r\x00d\x00=\x00" + canary,
		`password=a\ ` + canary,
		`{"passwords":["a","` + canary + `"]}`,
		`{"secrets":{"a":1,"b":"` + canary + `"},"c":2}`,
		`{"cookie":"a=\"b\"; session=` + canary + `"}`,
		`{"line":"Cookie: a=\"b\"; session=` + canary + `","port":25}`,
		`password="unended ` + canary,
		// A line that is cut in the middle of a secret.
		strings.Repeat("x", longestLine-20) + ` "password":"x ` + strings.Repeat("y", 20) + canary + `"`,
		strings.Repeat("x", longestLine-20) + ` password=` + strings.Repeat("y", 20) + canary,
	} {
		if got := redacting(t, line+"\nnext\n"); strings.Contains(got, canary) || !strings.HasSuffix(got, "next\n") {
			t.Errorf("%q became %q", line, got)
		}
	}
}

func TestWhatIsBesideASecretStays(t *testing.T) {
	for line, want := range map[string]string{
		`{"password":"a\"b","port":25}`:                         `{"password":"[redacted]","port":25}`,
		`{"m":"{\"token\":\"a b\",\"port\":25}"}`:               `{"m":"{\"token\":\"[redacted]\",\"port\":25}"}`,
		`{"secrets":["a","b"],"port":25}`:                       `{"secrets":[redacted],"port":25}`,
		`{"line":"Cookie: a=1; b=2","port":25}`:                 `{"line":"Cookie: [redacted]","port":25}`,
		`{"password":"","port":25}`:                             `{"password":"","port":25}`,
		`100%41 and C:\u0041`:                                   `100A and C:A`,
		`{"password":"[redacted]","token":"[redacted]"}` + "\n": `{"password":"[redacted]","token":"[redacted]"}` + "\n",
	} {
		if got := redacting(t, line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

func TestSetupCodes(t *testing.T) {
	for line, want := range map[string]string{
		"code ABCD-EFGH-2345":            "code [redacted]",
		"ABCD-EFGH-2345 WXYZ-2222-QQ99.": "[redacted] [redacted].",
		"x-ABCD-EFGH-2345":               "x-ABCD-EFGH-2345", // part of something longer
		"ABCD-EFGH-23456":                "ABCD-EFGH-23456",
		"2026-11-21T04:00:00-0100":       "2026-11-21T04:00:00-0100",
		"-":                              "-",
	} {
		if got := redacting(t, line); got != want {
			t.Errorf("%q became %q, want %q", line, got, want)
		}
	}
}

// What a support bundle mostly is: lines without a secret.
func BenchmarkRedact(b *testing.B) {
	line := []byte("2026-11-21T04:51:19+0100 first kernel: sd 0:0:1:0: [sdb] 4194304 512-byte logical blocks: (2.15 GB/2.00 GiB)\n")
	r := &Writer{w: io.Discard}
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		if _, err := r.Write(line); err != nil {
			b.Fatal(err)
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
		if got := redacting(t, line); got != line {
			t.Errorf("%q became %q", line, got)
		}
	}
}
