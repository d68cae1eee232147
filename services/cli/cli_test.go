package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// appliance answers as akd does, with akd's own description, and remembers what it was asked.
type appliance struct {
	t       *testing.T
	options Options
	asked   []string // "METHOD /path?query BODY"
	answers map[string]func(w http.ResponseWriter, r *http.Request)
}

func newAppliance(t *testing.T) *appliance {
	t.Helper()
	document, err := os.ReadFile("../../appliance-kit/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	a := &appliance{t: t, answers: map[string]func(http.ResponseWriter, *http.Request){}}
	folder := t.TempDir()
	a.options = Options{Config: filepath.Join(folder, "config"), Cache: filepath.Join(folder, "cache"), Socket: filepath.Join(folder, "socket")}
	listener, err := net.Listen("unix", a.options.Socket)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/openapi.json" {
			_, _ = w.Write(document)
			return
		}
		body, _ := io.ReadAll(r.Body)
		a.asked = append(a.asked, strings.TrimSpace(r.Method+" "+r.URL.RequestURI()+" "+string(body)))
		w.Header().Set("Content-Type", "application/json")
		if answer, ok := a.answers[r.Method+" "+r.URL.Path]; ok {
			answer(w, r)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	return a
}

func (a *appliance) run(input string, arguments ...string) (out, errs string, err error) {
	var stdout, stderr bytes.Buffer
	err = Run(context.Background(), Streams{strings.NewReader(input), &stdout, &stderr}, a.options, arguments)
	return stdout.String(), stderr.String(), err
}

func says(status int, text string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	}
}

// Every route becomes a command of its own, and each is found by its words.
func TestEveryRouteIsACommand(t *testing.T) {
	document, err := os.ReadFile("../../appliance-kit/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var d description
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range d.commands() {
		if other, twice := seen[c.name()]; twice {
			t.Errorf("“%s” is both %s and %s %s", c.name(), other, c.method, c.path)
		}
		seen[c.name()] = c.method + " " + c.path
		if found, rest, ok := find(d.commands(), append(c.words, "x")); !ok || found.path != c.path || found.method != c.method || len(rest) != 1 {
			t.Errorf("“%s” finds %s %s", c.name(), found.method, found.path)
		}
		var out bytes.Buffer
		if d.helpOf(&out, c); !strings.Contains(out.String(), c.operation.Summary) {
			t.Errorf("%s", out.String())
		}
	}
	for name, want := range map[string]string{
		"pools list": "GET /api/pools", "pools create": "POST /api/pools", "pools show": "GET /api/pools/{name}",
		"services restart": "POST /api/services/{name}/restart", "destinations set": "PUT /api/destinations/{id}",
		"tokens delete": "DELETE /api/tokens/{id}", "status": "GET /api/status", "machine reboot": "POST /api/machine/reboot", "machine": "GET /api/machine",
		"layout-advice": "GET /api/layout-advice", "datasets show": "GET /api/datasets/{name}", "datasets destroy-preview": "GET /api/datasets/{name}/destroy-preview", "snapshots destroy": "POST /api/snapshots/destroy", "bundles content show": "",
	} {
		if seen[name] != want {
			t.Errorf("“%s” is %q, want %q", name, seen[name], want)
		}
	}
}

func TestFieldsBecomeABody(t *testing.T) {
	a := newAppliance(t)
	for _, c := range []struct {
		arguments []string
		input     string
		asked     string
	}{
		{[]string{"pools", "create", "--name", "tank", "--layout=mirror", "--disks", "a", "--disks", "b", "--telemetry"}, "",
			`POST /api/pools {"disks":["a","b"],"layout":"mirror","name":"tank","telemetry":true}`},
		{[]string{"pools", "create", "--name", "x", "--layout", "stripe", "--disks", "a", "--no-telemetry"}, "",
			`POST /api/pools {"disks":["a"],"layout":"stripe","name":"x","telemetry":false}`},
		{[]string{"layout-advice", "--disk", "a b", "--disk", "c"}, "", "GET /api/layout-advice?disk=a+b&disk=c"},
		{[]string{"snapshots", "rename", "tank/a b@1%", "--to", "x"}, "", `POST /api/snapshots/tank%2Fa%20b@1%25/rename {"to":"x"}`},
		{[]string{"services", "restart", "a/b?c"}, "", "POST /api/services/a%2Fb%3Fc/restart"},
		{[]string{"alerts", "--json"}, "", "GET /api/alerts"},
		{[]string{"destinations", "create", "--name", "Mail", "--kind", "email", "--enabled", "--email.host", "h", "--email.port", "25", "--email.security", "none",
			"--email.verify-certificate=false", "--email.password", "-", "--email.from", "a@b", "--email.to", "c@d"}, "secret\n",
			`POST /api/destinations {"email":{"from":"a@b","host":"h","password":"secret","port":25,"security":"none","to":["c@d"],"verifyCertificate":false},"enabled":true,"kind":"email","name":"Mail"}`},
	} {
		a.asked = nil
		if _, _, err := a.run(c.input, c.arguments...); err != nil {
			t.Errorf("%q: %v", c.arguments, err)
			continue
		}
		if len(a.asked) != 1 || a.asked[0] != c.asked {
			t.Errorf("%q asked\n%q, want\n%q", c.arguments, a.asked, c.asked)
		}
	}
}

// What makes no sense is refused before anything is asked, and the message names what was wrong and what there is.
func TestMistakesAreNamed(t *testing.T) {
	a := newAppliance(t)
	for arguments, want := range map[string]string{
		"pool list":                             "has no “pool”. It has alert-classes, ",
		"pools explode tank":                    "cistern pools list",
		"pools show":                            "needs NAME",
		"pools show a b":                        "does not take “b”",
		"pools create --name x":                 "needs --layout, --disks, --telemetry",
		"pools create --colour red":             "--colour is not known here; there are --name, --layout",
		"pools create --layout raid5":           "one of mirror, mirror3",
		"pools create --name":                   "--name needs a value",
		"pools create --telemetry=perhaps":      "is true or false",
		"alerts list --limit many":              "whole number",
		"pools create --body /nothing/here":     "/nothing/here",
		"sign-in --password swordfish":          "not “--password”",
		"pools create --name.first x":           "has no fields",
		"thresholds create --raise-for-seconds": "needs a value",
		"pools --url":                           "needs a value",
	} {
		_, _, err := a.run("", strings.Fields(arguments)...)
		if !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", arguments, err, want)
		}
	}
	if len(a.asked) != 0 {
		t.Errorf("it asked %q", a.asked)
	}
}

// A field whose fields have names of the user's own is given as JSON.
func TestTokensForAPart(t *testing.T) {
	a := newAppliance(t)
	a.answers["POST /api/tokens"] = says(201, `{"id":"tk-1","name":"berlin","token":"cistern_x"}`)
	for _, arguments := range [][]string{{"--role", "writer", "--labels", `{"site":"berlin"}`}, {"--role", "viewer", "--selector", `{site="berlin"}`}} {
		if _, _, err := a.run("", append([]string{"tokens", "create", "--name", "berlin"}, arguments...)...); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{`POST /api/tokens {"labels":{"site":"berlin"},"name":"berlin","role":"writer"}`, `POST /api/tokens {"name":"berlin","role":"viewer","selector":"{site=\"berlin\"}"}`}
	if !slices.Equal(a.asked, want) {
		t.Errorf("%q", a.asked)
	}
}

// A change names the version that it was made of, and is told what somebody else has changed since.
func TestEditsAreNotLost(t *testing.T) {
	a := newAppliance(t)
	var sent string
	a.answers["PUT /api/pools/tank"] = func(w http.ResponseWriter, r *http.Request) {
		sent = r.Header.Get("If-Match")
		says(412, `{"status":412,"code":"edit_conflict","detail":"comment was changed after it was loaded.","action":"Reload, compare, save again.","errors":[{"path":"/comment","message":"was changed after it was loaded"}]}`)(w, r)
	}
	_, _, err := a.run("", "pools", "set", "tank", "--comment", "rack 3", "--if-match", "abcdef")
	if sent != "abcdef" || err == nil || !strings.Contains(err.Error(), "--comment: was changed") || !strings.Contains(err.Error(), "Reload, compare") {
		t.Errorf("%q %v", sent, err)
	}
	if _, _, err := a.run("", "thresholds", "delete", "t1", "--if-match=W/\"x\""); err != nil || a.asked[1] != "DELETE /api/thresholds/t1" {
		t.Errorf("%q %v", a.asked, err)
	}
	if out, _, _ := a.run("", "thresholds", "delete", "--help"); !strings.Contains(out, "--if-match ETAG") {
		t.Error(out)
	}
}

func TestAnswersAreShown(t *testing.T) {
	a := newAppliance(t)
	a.answers["GET /api/pools"] = says(200, `{"items":[{"name":"tank","state":"ONLINE","system":false,"bytes":4294967296,"allocated":1073741824,"free":0,"fragmentation":0.01,"capacity":0.25,"sentence":"Healthy."}],"ageSeconds":1,"error":null}`)
	a.answers["GET /api/pools/tank"] = says(200, `{"name":"tank\u001b[31m","bytes":4294967296,"scan":{"kind":"scrub","percent":12.5},"vdevs":[{"name":"mirror-0"}]}`)
	a.answers["GET /api/tokens"] = says(200, `{"items":[]}`)
	a.answers["GET /api/bundles/b1/content"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = io.WriteString(w, "content")
	}
	out, _, err := a.run("", "pools")
	if lines := strings.Split(out, "\n"); err != nil || len(lines) != 3 || !strings.HasPrefix(lines[0], "NAME  STATE") || !strings.Contains(lines[1], "4.0 GiB") || !strings.Contains(lines[1], "25 %") {
		t.Errorf("%v\n%s", err, out)
	}
	out, _, err = a.run("", "pools", "show", "tank")
	if err != nil || !strings.Contains(out, "scan.percent  12.5") || !strings.Contains(out, "vdevs         1 (--json shows them)") || strings.Contains(out, "\x1b") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, _, err = a.run("", "tokens", "list"); err != nil || out != "There are none.\n" {
		t.Errorf("%v %s", err, out)
	}
	out, _, err = a.run("", "--json", "pools", "show", "tank")
	var same map[string]any
	if err != nil || json.Unmarshal([]byte(out), &same) != nil || same["bytes"] != 4294967296.0 {
		t.Errorf("%v %s", err, out)
	}
	if again, _, err := a.run("", "pools", "show", "tank", "--output", "json"); err != nil || again != out {
		t.Errorf("%v %s", err, again)
	}
	if _, _, err := a.run("", "bundles", "content", "b1", "--output=json"); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "name a file") {
		t.Error(err)
	}
	name := filepath.Join(t.TempDir(), "bundle")
	for i := range 2 { // and what is there already is not written over
		if _, _, err = a.run("", "bundles", "content", "b1", "--output", name); (err != nil) != (i > 0) {
			t.Error(err)
		}
	}
	if content, _ := os.ReadFile(name); string(content) != "content" {
		t.Errorf("%q", content)
	}
}

func TestJobsAreFollowed(t *testing.T) {
	a := newAppliance(t)
	a.answers["POST /api/pools/system/place-telemetry"] = says(202, `{"id":"j","title":"Place","state":"running","percent":10,"log":[{"text":"one"}]}`)
	a.answers["GET /api/jobs/j"] = says(200, `{"id":"j","title":"Place","state":"done","percent":100,"log":[{"text":"one"},{"text":"two"}]}`)
	if out, errs, err := a.run("", "pools", "place-telemetry", "system"); err != nil || errs != "one (10 %)\ntwo (100 %)\n" || out != "" {
		t.Errorf("%v %q %q", err, out, errs)
	}
	if _, errs, err := a.run("", "pools", "place-telemetry", "system", "--no-wait"); err != nil || errs != "" {
		t.Errorf("%v %q", err, errs)
	}
	a.answers["GET /api/jobs/j"] = says(200, `{"id":"j","title":"Place","state":"failed","log":[],"error":{"status":409,"code":"conflict","detail":"It is full.","action":"Make room."}}`)
	_, _, err := a.run("", "pools", "place-telemetry", "system")
	var problem *Problem
	if !errors.As(err, &problem) || err.Error() != "It is full.\nMake room." {
		t.Errorf("%v", err)
	}
}

func TestSessionIsKept(t *testing.T) {
	a := newAppliance(t)
	a.answers["POST /api/session"] = func(w http.ResponseWriter, _ *http.Request) {
		http.SetCookie(w, &http.Cookie{Name: "__Host-cistern_session", Value: "abc"})
		_, _ = io.WriteString(w, `{"user":{"name":"ada","role":"administrator"}}`)
	}
	var cookie, origin string
	a.answers["POST /api/machine/reboot"] = func(w http.ResponseWriter, r *http.Request) {
		cookie, origin = r.Header.Get("Cookie"), r.Header.Get("Origin")
		w.WriteHeader(http.StatusNoContent)
	}
	if _, _, err := a.run("ada\nthree ducks\n", "sign-in"); err != nil || a.asked[0] != `POST /api/session {"password":"three ducks","user":"ada"}` {
		t.Fatalf("%v %q", err, a.asked)
	}
	info, err := os.Stat(a.options.sessionFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("%v %v", info, err)
	}
	if _, _, err := a.run("", "machine", "reboot"); err != nil || cookie != "__Host-cistern_session=abc" || origin != "http://localhost" {
		t.Errorf("%v %q %q", err, cookie, origin)
	}
	// Another appliance does not get to see it.
	o := a.options
	o.URL = "https://elsewhere"
	if s := o.load(); s.Cookie != "" {
		t.Errorf("%+v", s)
	}
	if _, _, err := a.run("", "sign-out"); err != nil {
		t.Error(err)
	}
	cookie = ""
	if _, _, err := a.run("", "machine", "reboot"); err != nil || cookie != "" {
		t.Errorf("%v %q", err, cookie)
	}
	a.answers["GET /api/users"] = says(401, `{"status":401,"code":"unauthenticated","detail":"Nobody is signed in.","action":"Sign in."}`)
	if _, _, err := a.run("", "users"); err == nil || !strings.Contains(err.Error(), "cistern sign-in") {
		t.Errorf("%v", err)
	}
}

// Where there is a second factor somebody at a terminal is asked for its code; a script is told what to do instead.
func TestACodeIsAskedFor(t *testing.T) {
	a := newAppliance(t)
	a.answers["POST /api/session"] = func(w http.ResponseWriter, _ *http.Request) {
		switch last := a.asked[len(a.asked)-1]; {
		case !strings.Contains(last, "code"):
			says(401, `{"code":"second_factor_required","detail":"A code is needed, too."}`)(w, nil)
		case strings.Contains(last, "123456"):
			http.SetCookie(w, &http.Cookie{Name: "__Host-cistern_session", Value: "abc"})
			_, _ = io.WriteString(w, `{"user":{"name":"ada","role":"administrator"},"mustAddFactor":true}`)
		default:
			says(401, `{"code":"wrong_code","detail":"The code is wrong.","action":"Give the next one."}`)(w, nil)
		}
	}
	_, _, err := a.run("ada\nthree ducks\n", "sign-in")
	if err == nil || !strings.Contains(err.Error(), "CISTERN_TOKEN") || !strings.Contains(err.Error(), "--code") || len(a.asked) != 1 {
		t.Errorf("%v %q", err, a.asked)
	}
	if _, _, err := a.run("three ducks\n", "sign-in", "--user", "ada", "--code", "999999"); err == nil || !strings.Contains(err.Error(), "The code is wrong.") {
		t.Errorf("%v", err)
	}
	if _, said, err := a.run("three ducks\n", "sign-in", "--user", "ada", "--code", "123456"); err != nil || !strings.Contains(said, "Add one on the appliance's page") {
		t.Errorf("%v %q", err, said)
	}
	given := []string{"000000", "123456"}
	ask := func() (string, error) { code := given[0]; given = given[1:]; return code, nil }
	var said bytes.Buffer
	response, err := a.options.client().begin(t.Context(), Streams{Err: &said}, map[string]string{"user": "ada", "password": "x"}, "", ask)
	if err != nil || len(given) != 0 || !strings.Contains(said.String(), "The code is wrong.") {
		t.Fatalf("%v %q %q", err, given, said.String())
	}
	response.Body.Close()
	given = []string{"1", "2", "3", "4"}
	if _, err := a.options.client().begin(t.Context(), Streams{Err: &said}, map[string]string{"user": "ada", "password": "x"}, "", ask); err == nil || len(given) != 1 {
		t.Errorf("%v, left %q", err, given)
	}
}

// A certificate that no authority vouches for is taken when it is the one with the fingerprint, and only then.
func TestFingerprint(t *testing.T) {
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `{}`) }))
	defer server.Close()
	print := fingerprintOf(server.Certificate().Raw)
	var b strings.Builder
	for i := 0; i < len(print); i += 2 { // as the console shows it
		if i > 0 {
			b.WriteByte(':')
		}
		b.WriteString(strings.ToUpper(print[i : i+2]))
	}
	for fingerprint, works := range map[string]bool{b.String(): true, print: true, strings.Repeat("00", 32): false, "": false} {
		o := Options{URL: server.URL, Fingerprint: fingerprint, Config: t.TempDir()}
		var value any
		err := o.client().get(context.Background(), "/", &value)
		if (err == nil) != works || !works && !strings.Contains(err.Error(), "fingerprint") {
			t.Errorf("%q: %v", fingerprint, err)
		}
	}
	_, _, err := (&appliance{options: Options{Config: t.TempDir(), Socket: "/nothing"}}).run("", "pools")
	if err == nil || !strings.Contains(err.Error(), "--url https://HOST") {
		t.Errorf("%v", err)
	}
}

// The audit log has three routes, and one word for them.
func TestTheAuditLog(t *testing.T) {
	a := newAppliance(t)
	hash := strings.Repeat("ab", 32)
	a.answers["GET /api/audit-log"] = says(200, `{"items":[{"id":7,"time":"2026-01-01T00:00:00.000Z","user":"ada","address":"192.0.2.7","way":"page","action":"user.create","target":"bob","before":null,"after":{"name":"bob"},"hash":"`+hash+`"}]}`)
	lines := `{"id":1}` + "\n" + `{"id":2}` + "\n"
	a.answers["GET /api/audit-export"] = func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/jsonl")
		_, _ = io.WriteString(w, lines)
	}
	a.answers["POST /api/audit-chain/verify"] = says(202, `{"id":"j","title":"Verify the audit log","state":"failed","percent":null,"log":[],"error":{"status":409,"code":"audit_damaged","detail":"Entry 7 was changed.","action":"Make a support bundle."}}`)
	out, _, err := a.run("", "audit", "list", "--user", "ada", "--action", "user.", "--search", "bob")
	if err != nil || !strings.Contains(out, "user.create") || !strings.Contains(out, "192.0.2.7") {
		t.Error(out, err)
	}
	if out, _, err = a.run("", "audit"); err != nil || !strings.Contains(out, "user.create") {
		t.Error(out, err)
	}
	if out, _, err = a.run("", "audit", "export", "--format", "jsonl", "--way", "cli"); err != nil || out != lines {
		t.Errorf("%q %v", out, err)
	}
	if _, _, err = a.run("", "audit", "verify", "--known", "7:"+hash); err == nil || !strings.Contains(err.Error(), "Entry 7 was changed.") {
		t.Error(err)
	}
	want := []string{"GET /api/audit-log?action=user.&search=bob&user=ada", "GET /api/audit-log", "GET /api/audit-export?format=jsonl&way=cli", `POST /api/audit-chain/verify {"known":["7:` + hash + `"]}`}
	if strings.Join(a.asked, "\n") != strings.Join(want, "\n") {
		t.Error(strings.Join(a.asked, "\n"))
	}
	if out, _, err = a.run("", "audit", "verify", "--help"); err != nil || !strings.Contains(out, "--known") {
		t.Error(out, err)
	}
}
