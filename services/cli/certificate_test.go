package cli

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	certificateAnswer = `{"current": {"subject": "a.test", "names": ["a.test"], "addresses": ["192.0.2.7"], "issuer": "Test CA", "validFrom": "2026-01-01T00:00:00Z", "validTo": "2027-01-01T00:00:00Z", "fingerprint": "AA:BB", "key": "RSA 2048", "selfSigned": false}, "problem": null, "previous": null, "request": {"subject": "CN=b.test", "names": ["b.test"], "addresses": [], "key": "ECDSA P-256", "pem": "-----BEGIN CERTIFICATE REQUEST-----\n"}}`
	checkedAnswer     = `{"certificate": {"names": ["a.test"], "addresses": []}, "warnings": [{"kind": "name", "message": "Another name."}], "notes": ["In order."]}`
)

func TestCertificateCommands(t *testing.T) {
	folder := t.TempDir()
	files := map[string]string{"chain.pem": "-----BEGIN CERTIFICATE-----\n", "key.pem": "-----BEGIN PRIVATE KEY-----\n", "own.p12": "\x30\x82", "secret": "geheim\n"}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	for _, c := range []struct {
		name      string
		arguments []string
		exit      int
		says      string
		asked     []string
	}{
		{"show", []string{"show"}, 0, "for a.test, 192.0.2.7\n        issued by Test CA, RSA 2048\n        valid 2026-01-01 to 2027-01-01\n        SHA-256 AA:BB\n", []string{"GET /api/certificate"}},
		{"request", []string{"request", "--name", "b.test", "--name=c.test", "--address", "192.0.2.8", "--kind", "rsa-2048"}, 0, "-----BEGIN CERTIFICATE REQUEST-----\n",
			[]string{`POST /api/certificate/create-request {"addresses":["192.0.2.8"],"country":"","key":"rsa-2048","names":["b.test","c.test"],"organization":""}`}},
		{"install", []string{"install", at("chain.pem"), "--key", at("key.pem"), "--accept", "name"}, 0, "In use", []string{
			`POST /api/certificate/preview {"certificate":"-----BEGIN CERTIFICATE-----\n","key":"-----BEGIN PRIVATE KEY-----\n"}`,
			`POST /api/certificate/install {"accept":["name"],"certificate":"-----BEGIN CERTIFICATE-----\n","key":"-----BEGIN PRIVATE KEY-----\n"}`}},
		{"check", []string{"install", at("chain.pem"), "--check"}, 0, "Would be", []string{`POST /api/certificate/preview {"certificate":"-----BEGIN CERTIFICATE-----\n"}`}},
		{"PKCS #12", []string{"install", at("own.p12"), "--password-file", at("secret"), "--check"}, 0, "Would be", []string{`POST /api/certificate/preview {"password":"geheim","pkcs12":"MII="}`}},
		{"PKCS #12 and nobody to ask", []string{"install", at("own.p12")}, 2, "", nil},
		{"self-signed", []string{"self-signed", "--name", "a.test"}, 0, "In use", []string{`POST /api/certificate/self-sign {"addresses":[],"names":["a.test"]}`}},
		{"restore", []string{"restore"}, 0, "In use", []string{"POST /api/certificate/restore"}},
		{"no such command", []string{"renew"}, 2, "", nil},
		{"no such option", []string{"show", "--forse"}, 2, "", nil},
		{"no file", []string{"install"}, 2, "", nil},
		{"a file that is not there", []string{"install", at("none")}, 1, "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAppliance(t)
			for _, path := range []string{"GET /api/certificate", "POST /api/certificate/create-request", "POST /api/certificate/install", "POST /api/certificate/self-sign", "POST /api/certificate/restore"} {
				a.answers[path] = says(http.StatusOK, certificateAnswer)
			}
			a.answers["POST /api/certificate/preview"] = says(http.StatusOK, checkedAnswer)
			out, _, err := a.run("", append([]string{"certificate"}, c.arguments...)...)
			if exitOf(err) != c.exit || !strings.Contains(out, c.says) {
				t.Errorf("exit %d (%v): %s", exitOf(err), err, out)
			}
			if got, want := strings.Join(a.asked, "; "), strings.Join(c.asked, "; "); got != want && c.exit == 0 || c.exit != 0 && len(a.asked) > 0 {
				t.Errorf("it asked %s, not %s", got, want)
			}
		})
	}
}
