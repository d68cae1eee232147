package bundle

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/support/collect"
)

// canary is a secret that must not be in what is answered or kept.
const canary = "c4n4ry-Zx9"

// secrets are the canaries by where they are planted; none may be in any file of any bundle.
func secrets() map[string]string {
	planted := map[string]string{}
	for i, place := range []string{"akd-destination", "akd-hash", "smtp", "community", "token", "session", "second-cookie", "snmpd", "replicd", "command-line", "basic", "webhook",
		"url", "setup", "auth-plain", "environment", "administrators", "core", "age", "usm"} {
		planted[place] = fmt.Sprintf("c4nary%02dXq7", i)
	}
	// The forms that have a shape of their own.
	planted["token"] = "cistern_c4nary0000000000000000000000000000000000000"[:51]
	planted["setup"] = "CANA-RYXX-2345"
	planted["age"] = "AGE-SECRET-KEY-1C4NARYC4NARYC4NARYC4NARY"
	return planted
}

// A canary in every place that a secret can be, collected by the very kinds of step that a bundle of the appliance has:
// files, programs' output, command lines, a daemon's answer, akd's exported state, logs. Once plainly, once with pseudonyms.
func TestNoCanaryInAnyBundle(t *testing.T) {
	s := secrets()
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	akd := fmt.Sprintf(`{"destinations":[{"settings_json":{"email":{"host":"mail.example.com","user":"u","password":%q},"webhook":{"url":"https://hooks.slack.com/services/T0/B0/%s","secret":%q},"snmp":{"community":%q,"authPassword":"%s","privPassword":"%s"}}}],
"users":[{"name":"admin","password_hash":"scrypt$16384$8$5$%s$%s"}],"tokens":[{"name":"t","hash":%q}],
"audit":[{"after_json":"{\"password\":\"%s\",\"routingKey\":\"%s\"}"}]}`, s["akd-destination"], s["webhook"], s["webhook"], s["community"], s["usm"], s["usm"], s["akd-hash"], s["akd-hash"], s["token"], s["smtp"], s["smtp"])
	write(t, at("akd.json"), akd)
	write(t, at("smtp.log"), "> AUTH PLAIN "+s["auth-plain"]+"==\nsmtps://user:"+s["smtp"]+"@mail.example.com:465\n{\"smtpPassword\": \""+s["smtp"]+"\"}\n")
	write(t, at("nginx.log"), `10.1.2.3 "GET /api/v1/query?token=`+s["url"]+`&x=1" cookie: cistern_session=`+s["session"]+`; other=`+s["second-cookie"]+"\nCookie: a="+s["session"]+"; b="+s["second-cookie"]+
		"\nSet-Cookie: cistern_support="+s["session"]+"; Path=/\nAuthorization: Bearer "+s["token"]+"\nauthorization: Basic "+s["basic"]+"Zm9vYmFy\n{\"cookie\":\"x="+s["session"]+"; y="+s["second-cookie"]+"\"}\n")
	write(t, at("snmpd.conf"), "rocommunity "+s["snmpd"]+" 10.0.0.0/8\ncom2sec ro default "+s["snmpd"]+"\ncreateUser mon SHA-256 \""+s["usm"]+"\" AES "+s["usm"]+"\ntrapsess -v2c -c "+s["community"]+" host\nusmUser 1 3 0x80 "+s["usm"]+"\n")
	write(t, at("replicd.key"), "-----BEGIN OPENSSH PRIVATE KEY-----\n"+s["replicd"]+"\n"+s["replicd"]+"\n-----END OPENSSH PRIVATE KEY-----\nafter\n{\"key\":\"-----BEGIN PRIVATE KEY-----\\n"+s["replicd"]+"\\n-----END PRIVATE KEY-----\\n\"}\n")
	write(t, at("ps.txt"), "1 root curl -u admin:"+s["command-line"]+" https://h/\n2 root snmpget -v2c -c "+s["community"]+" host sysUpTime\n3 x snmptrap -v3 -u u -A "+s["usm"]+" -X \""+s["usm"]+"\" h\n4 x tool --password "+s["command-line"]+" --api-token="+s["command-line"]+" -v\n")
	write(t, at("console.log"), "Set-up code "+s["setup"]+" is shown\nAGE "+s["age"]+"\nsetup_code="+s["setup"]+"\nroot:$6$salt$"+s["akd-hash"]+":19000:\n")
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"auth":{"bearer_token":%q,"api-key":%q},"headers":{"X-Api-Key":%q}}`, s["token"], s["url"], s["url"])
	}))
	listener, err := net.Listen("unix", at("sock"))
	if err != nil {
		t.Fatal(err)
	}
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	sleeping := collect.Step{Name: "live.txt", Category: "services", Deadline: 10 * time.Second, Limit: collect.UsualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		// A real process with a secret in its arguments, as ps sees it. Its error holds one as well.
		step := collect.Step{Command: []string{"sh", "-c", "ps axww -o args | grep sleepy-c4nary; echo 'passphrase: " + s["environment"] + "' >&2; exit 3", "--token", s["command-line"]}, Deadline: 5 * time.Second, Limit: limit}
		return step.Run(ctx, w)
	}}
	m := maker(t, files("configuration", "files.txt", at("akd.json"), at("snmpd.conf"), at("replicd.key")), run("configuration", "akd.json", 5*time.Second, "cat", at("akd.json")),
		files("logs", "all.txt", at("*.log")), run("services", "processes.txt", 5*time.Second, "cat", at("ps.txt")), ask("storage", "daemon.json", at("sock"), "/"), sleeping,
		run("services", "errors.txt", 5*time.Second, "false", "--password", s["environment"]))
	for _, o := range []Options{{}, {Pseudonyms: true}} {
		b, err := m.Start(o)
		if err != nil {
			t.Fatal(err)
		}
		m.making.Wait()
		b, _ = m.Get(b.ID)
		found := unpack(t, m.Archive(b.ID))
		if b.State != "done" || len(found) < 8 {
			t.Fatalf("%+v", b)
		}
		for name, content := range found {
			for place, secret := range s {
				if at := strings.Index(content, secret); at >= 0 {
					t.Errorf("%s holds the canary of %s: …%s", name, place, content[max(0, at-60):min(len(content), at+60)])
				}
			}
		}
		// What was not secret is there, or the rules took everything.
		for name, want := range map[string]string{"configuration/files.txt": "after\n", "logs/all.txt": "GET /api/v1/query", "services/processes.txt": "sysUpTime", "storage/daemon.json": `"headers"`} {
			if !strings.Contains(found[name], want) {
				t.Errorf("%s lacks %q: %q", name, want, found[name])
			}
		}
		if o.Pseudonyms {
			for name, content := range found {
				if strings.Contains(content, "10.1.2.3") || strings.Contains(content, "mail.example.com") {
					t.Errorf("%s holds an address or a name", name)
				}
			}
		}
	}
}
