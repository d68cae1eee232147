package main

// TLS ports of the real binary, opened and changed while it runs.

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cistern/services/ingest/tlsport"
)

// testCA is the PEM of a CA whose key nobody has.
func testCA(t *testing.T) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))
}

type tlsInputs struct {
	TLS    *tlsport.Status
	Inputs map[string]struct {
		Listens    []string
		TLSListens string
		Refused    map[string]int
		Senders    []struct {
			Address string
			Refused map[string]int
		}
	}
}

func TestTLSPorts(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	write(t, file, "[statsd]\naddress = '127.0.0.1:0'\n[graphite]\naddress = '127.0.0.1:0'\npickle_address = ''\n[influx_socket]\naddress = '127.0.0.1:0'\n")
	d := launch(t, folder, "--config", file, "--host-statistics=false")
	state := func() (all tlsInputs) {
		t.Helper()
		d.get(t, "/admin/inputs", &all)
		return all
	}
	put := func(inputs string, want int) string {
		t.Helper()
		code, said := d.sendText(t, "PUT", "/admin/inputs", `{"revision":"r","inputs":{`+inputs+`}}`)
		if code != want {
			t.Fatalf("%s: %d %s", inputs, code, said)
		}
		return said
	}
	of := func(name, more string) string { return `"` + name + `":{"enabled":true,` + more + `,` + noLimits + `}` }
	ports := map[string]int{"statsd": freePort(t), "graphite": freePort(t), "influx_socket": freePort(t)}
	// Without a place for the key nothing is opened, and nothing is changed.
	if said := put(of("graphite", fmt.Sprintf(`"tlsPort":%d`, ports["graphite"])), http.StatusConflict); !strings.Contains(said, "tls.folder") {
		t.Error(said)
	}
	if state().TLS == nil || state().TLS.Problem == "" || len(state().Inputs["graphite"].Listens) != 0 {
		t.Errorf("%+v", state())
	}
	if code, said := d.sendText(t, "POST", "/admin/inputs/certificate", ""); code != http.StatusConflict || !strings.Contains(said, "No input listens for TLS") {
		t.Error(code, said)
	}
	if err := d.end(t, os.Interrupt); err != nil {
		t.Fatal(err)
	}
	secrets := filepath.Join(folder, "tls")
	d = launch(t, folder, "--config", file, "--host-statistics=false", "--tls-folder", secrets)
	if _, err := os.Stat(secrets); err == nil {
		t.Error("a key was made that nobody wanted")
	}
	all := func(more string) string {
		var list []string
		for name, port := range ports {
			list = append(list, of(name, fmt.Sprintf(`"tlsPort":%d%s`, port, more)))
		}
		return strings.Join(list, ",")
	}
	put(all(""), http.StatusOK)
	now := state()
	if info, err := os.Stat(filepath.Join(secrets, "identity.pem")); err != nil || info.Mode().Perm() != 0o600 {
		t.Error(info, err)
	}
	if text, _ := json.Marshal(now); strings.Contains(string(text), "PRIVATE") {
		t.Error("the key is shown")
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(now.TLS.PEM)) {
		t.Fatalf("%+v", now.TLS)
	}
	dial := func(name string) *tls.Conn {
		t.Helper()
		c, err := tls.DialWithDialer(&net.Dialer{Timeout: 10 * time.Second}, "tcp", now.Inputs[name].TLSListens, &tls.Config{RootCAs: pool})
		if err != nil {
			t.Fatal(name, err)
		}
		t.Cleanup(func() { c.Close() })
		_ = c.SetDeadline(time.Now().Add(10 * time.Second))
		return c
	}
	value := func(name string) string {
		t.Helper()
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		d.get(t, "/api/v1/query?query=%7B__name__%3D%22"+name+"%22%7D", &answer)
		if len(answer.Data.Result) == 0 {
			return ""
		}
		return fmt.Sprint(answer.Data.Result[0].Value[1])
	}
	until := func(what string, done func() bool) {
		t.Helper()
		for end := time.Now().Add(10 * time.Second); !done(); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("still not: %s; %+v", what, state())
			}
		}
	}
	lines := map[string]string{"statsd": "by.statsd:7|g\n", "graphite": fmt.Sprintf("by.graphite 7 %d\n", time.Now().Unix()), "influx_socket": "by influx=7\n"}
	open := map[string]*tls.Conn{}
	for name, line := range lines {
		if at := now.Inputs[name]; at.TLSListens != fmt.Sprintf("127.0.0.1:%d", ports[name]) || len(at.Listens) != 2 || at.Listens[1] != at.TLSListens {
			t.Errorf("%s: %+v", name, at)
		}
		open[name] = dial(name)
		// What follows the last newline may have been cut off by anybody on the way: it is not taken.
		fmt.Fprint(open[name], line)
	}
	until("all three arrive", func() bool {
		return value("by.statsd") == "7" && value("by.graphite") == "7" && value("by_influx") == "7"
	})
	for name, half := range map[string]string{"graphite": fmt.Sprintf("cut.off 7 %d", time.Now().Unix()), "statsd": "cut.off:7|g"} {
		c := dial(name)
		fmt.Fprint(c, half)
		_ = c.NetConn().Close()
	}
	whole := dial("graphite")
	fmt.Fprintf(whole, "not.cut.off 7 %d", time.Now().Unix())
	_ = whole.Close()
	until("a line without its newline arrives when its sender says that it is the last", func() bool { return value("not.cut.off") == "7" })
	if value("cut.off") != "" {
		t.Error("half of a line was taken")
	}
	// Plain text is refused, and whose it was is said.
	plain, err := net.Dial("tcp", now.Inputs["graphite"].TLSListens)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	fmt.Fprint(plain, "plain.text 7 1\n")
	until("plain text is counted", func() bool {
		one := state().Inputs["graphite"]
		return one.Refused["tls_handshake"] == 1 && len(one.Senders) == 1 && one.Senders[0].Refused["tls_handshake"] == 1 && one.Senders[0].Address == "127.0.0.1"
	})
	// With a client CA, who is connected has to come again, and shows a certificate or is refused.
	ca, err := json.Marshal(testCA(t))
	if err != nil {
		t.Fatal(err)
	}
	put(all(`,"tlsClientCa":`+string(ca)), http.StatusOK)
	for name, c := range open {
		if _, err := c.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
			t.Errorf("%s is still connected: %v", name, err)
		}
		again := dial(name) // of TLS 1.3 the client is done before the server has looked
		if _, err := io.ReadAll(again); err == nil || !strings.Contains(err.Error(), "certificate required") {
			t.Errorf("%s: %v", name, err)
		}
		until("it is counted", func() bool { return state().Inputs[name].Refused["tls_client_certificate"] == 1 })
	}
	for inputs, words := range map[string]string{
		of("import", `"tlsPort":7000`):                               "has no tlsPort that could be set",
		of("import", `"tlsClientCa":"x"`):                            "has no tlsClientCa that could be set",
		of("graphite", `"tlsClientCa":"x"`):                          "has no certificate in it",
		of("graphite", `"tlsPort":9443`):                             "belongs to programs with a certificate",
		of("graphite", `"port":0`):                                   "give it a port for TLS",
		of("graphite", `"tlsPort":65536`):                            "from 1 to 65535",
		of("collectd", fmt.Sprintf(`"tlsPort":%d`, ports["statsd"])): "has no tlsPort",
	} {
		if said := put(inputs, http.StatusBadRequest); !strings.Contains(said, words) {
			t.Errorf("%s: %s", inputs, said)
		}
	}
	if said := put(of("graphite", fmt.Sprintf(`"tlsPort":%d`, ports["statsd"]))+","+of("statsd", fmt.Sprintf(`"tlsPort":%d`, ports["statsd"])), http.StatusConflict); !strings.Contains(said, "give each one of its own") {
		t.Error(said)
	}
	// TLS alone; and another certificate for what comes from then on.
	put(of("statsd", fmt.Sprintf(`"port":0,"tlsPort":%d`, ports["statsd"])), http.StatusOK)
	if at := state().Inputs["statsd"]; len(at.Listens) != 1 || at.Listens[0] != at.TLSListens {
		t.Errorf("%+v", at)
	}
	before := state().TLS.SHA256
	if code, said := d.sendText(t, "POST", "/admin/inputs/certificate", ""); code != http.StatusOK {
		t.Error(code, said)
	}
	after := state().TLS
	if after.SHA256 == before || after.Because == "" {
		t.Errorf("%+v", after)
	}
	shown, err := tls.Dial("tcp", state().Inputs["statsd"].TLSListens, &tls.Config{RootCAs: pool})
	if err == nil {
		shown.Close()
		t.Error("the old one is shown")
	}
	// All of it after a restart. What is wrong with the key keeps nothing else from starting.
	if err := d.end(t, os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(secrets, "identity.pem"), 0o644); err != nil {
		t.Fatal(err)
	}
	d = launch(t, folder, "--config", file, "--host-statistics=false", "--tls-folder", secrets)
	now = state()
	if !strings.Contains(now.TLS.Problem, "others can read the key") || now.TLS.PEM != "" || len(now.Inputs["statsd"].Listens) != 1 {
		t.Errorf("%+v", now)
	}
	if _, err := tls.Dial("tcp", now.Inputs["statsd"].TLSListens, &tls.Config{InsecureSkipVerify: true}); err == nil {
		t.Error("a key that others can read is used")
	}
	if !strings.Contains(d.log(), "others can read the key") {
		t.Error(d.log())
	}
}

func TestTLSSettings(t *testing.T) {
	for text, words := range map[string]string{
		"[statsd]\ntls_address = ':8127'":                                              "statsd.tls_address needs a certificate",
		"[tls]\ncertificate = 'a.pem'":                                                 "go together",
		"[statsd]\ntls_address = ':8126'\n[tls]\nfolder = '/x'":                        "have the same port, 8126",
		"[influx_socket]\nenabled = true\naddress = ''":                                "neither an address nor a tls_address",
		"[graphite]\ntls_client_ca = 'x'\n":                                            "graphite.tls_client_ca: the client CA has no certificate",
		"[graphite]\nenabled = true\naddress = ''\npickle_address = ''":                "nor a tls_address",
		"[statsd]\naddress = ''\nadmin = ''\ntls_address = ':8127'\n[tls]\nfolder='x'": "",
	} {
		c := defaults()
		_, err := c.read(text)
		if err == nil {
			c.Data = "x"
			err = c.check()
		}
		if words == "" && err != nil || words != "" && (err == nil || !strings.Contains(err.Error(), words)) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
