package support

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

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
	sleeping := Step{Name: "live.txt", Category: "services", Deadline: 10 * time.Second, Limit: usualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		// A real process with a secret in its arguments, as ps sees it. Its error holds one as well.
		step := Step{Command: []string{"sh", "-c", "ps axww -o args | grep sleepy-c4nary; echo 'passphrase: " + s["environment"] + "' >&2; exit 3", "--token", s["command-line"]}, Deadline: 5 * time.Second, Limit: limit}
		return step.collect(ctx, w)
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

func TestPseudonymsAreConsistentAndLeaveTheRest(t *testing.T) {
	p := pseudonymsFor([]byte("key"), "box.lan")
	line := "box sent 192.168.1.7 and 192.168.1.7 to ops@corp.example.com via fe80::1%eth0, 2001:db8::7, MAC 52:54:00:12:34:56"
	got := p.replaceText(line)
	for _, gone := range []string{"box", "192.168.1.7", "corp.example", "2001:db8", "52:54:00", "fe80::1"} {
		if strings.Contains(got, gone) {
			t.Errorf("%q is in %q", gone, got)
		}
	}
	if again := p.replaceText(line); again != got || strings.Count(got, p.of("ip", "192.168.1.7")) != 2 {
		t.Errorf("not consistent: %q", got)
	}
	if other := pseudonymsFor([]byte("other"), "box.lan").replaceText(line); other == got {
		t.Error("another appliance's words are the same: they can be guessed")
	}
	same := "12:34:56.789 nginx.conf cistern-akd.service 127.0.0.1 ::1 255.255.255.0 v1.2.3 libc.so.6 github.com/x/y.go:12 main.run(0xc000) 2026-11-21T10:00:00Z std::string a::b"
	if got := p.replaceText(same); got != same {
		t.Errorf("%q became %q", same, got)
	}
	dir := t.TempDir()
	first, err := newPseudonyms(dir)
	if err != nil {
		t.Fatal(err)
	}
	second, err := newPseudonyms(dir)
	if err != nil || first.of("ip", "x") != second.of("ip", "x") {
		t.Errorf("the key was not kept: %v", err)
	}
	if info, err := os.Stat(filepath.Join(dir, "pseudonyms.key")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
