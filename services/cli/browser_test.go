package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestSigningInByABrowser(t *testing.T) {
	pollUnit = time.Millisecond
	t.Cleanup(func() { pollUnit = time.Second })
	a := newAppliance(t)
	a.answers["POST /api/sign-in-requests/start"] = says(200, `{"secret":"s3cret","code":"BCDF-GHJK","path":"/sign-in-request?code=BCDF-GHJK","until":"2026-01-01T00:00:00.000Z","collectEverySeconds":2}`)
	polls := 0
	a.answers["POST /api/sign-in-requests/collect"] = func(w http.ResponseWriter, _ *http.Request) {
		if polls++; polls < 3 {
			_, _ = io.WriteString(w, `{"state":"waiting"}`)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "__Host-cistern_session", Value: "abc"})
		_, _ = io.WriteString(w, `{"state":"approved","user":"ada"}`)
	}
	_, said, err := a.run("", "sign-in", "--browser")
	if err != nil || polls != 3 || !strings.Contains(said, "/sign-in-request?code=BCDF-GHJK") || !strings.Contains(said, "the code: BCDF-GHJK") || !strings.Contains(said, "Signed in as ada") {
		t.Fatalf("%v %d %q", err, polls, said)
	}
	if strings.Contains(said, "s3cret") || !strings.HasPrefix(a.asked[0], `POST /api/sign-in-requests/start {"program":"cistern on `) {
		t.Errorf("%q %q", said, a.asked[0])
	}
	if s := a.options.load(); s.Cookie != "__Host-cistern_session=abc" {
		t.Errorf("%+v", s)
	}
	a.answers["POST /api/sign-in-requests/collect"] = says(200, `{"state":"refused"}`)
	if _, _, err := a.run("", "sign-in", "--browser"); err == nil || !strings.Contains(err.Error(), "refused in the browser") {
		t.Errorf("%v", err)
	}
	if s := a.options.load(); s.Cookie != "__Host-cistern_session=abc" {
		t.Errorf("a refusal has ended the session of before: %+v", s)
	}
	a.answers["POST /api/sign-in-requests/collect"] = says(404, `{"status":404,"code":"not_found","detail":"Nobody has signed the program in within ten minutes.","action":"Begin again."}`)
	if _, _, err := a.run("", "sign-in", "--browser"); err == nil || !strings.Contains(err.Error(), "within ten minutes") {
		t.Errorf("%v", err)
	}
	if _, _, err := a.run("", "sign-in", "--browser", "--user", "ada"); err == nil || !strings.Contains(err.Error(), "given in the browser") {
		t.Errorf("%v", err)
	}
}

func TestSigningInByADirectory(t *testing.T) {
	a := newAppliance(t)
	a.answers["GET /api/offered-providers"] = says(200, `{"items":[{"id":"idp-1","name":"Example","kind":"ldap"},{"id":"idp-2","name":"Company","kind":"oidc"}]}`)
	a.answers["POST /api/session"] = func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "__Host-cistern_session", Value: "abc"})
		_, _ = io.WriteString(w, `{"user":{"name":"bob","role":"viewer"}}`)
	}
	if _, _, err := a.run("three ducks\n", "sign-in", "--user", "bob", "--directory", "example"); err != nil || !strings.Contains(strings.Join(a.asked, " "), `"provider":"idp-1"`) {
		t.Errorf("%v %q", err, a.asked)
	}
	for name, words := range map[string]string{"Company": "cistern sign-in --browser", "Other": "but Example"} {
		if _, _, err := a.run("three ducks\n", "sign-in", "--user", "bob", "--directory", name); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
