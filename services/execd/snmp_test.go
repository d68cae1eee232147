package execd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSNMPIsConfigured(t *testing.T) {
	b := start(t, "", "")
	if err := os.MkdirAll(filepath.Join(b.state, "snmpd"), 0o700); err != nil {
		t.Fatal(err)
	}
	const engine = `"engineId":"80001f88800102030405060708"`
	b.want("snmp.configure", `{`+engine+`,"community":"our #2 c4nary","sources":["192.0.2.7/24","10.0.0.0/8"],"contact":"ops@example.org","location":"rack 7",
		"user":{"name":"cistern","authProtocol":"SHA-256","authPassword":"auth c4nary","privPassword":"priv c4nary"}}`, 200, "")
	const want = `# Written by execd for akd; changed in the web page.
exactEngineID 0x80001f88800102030405060708
sysContact ops@example.org
sysLocation rack 7
agentAddress udp:161
view cistern included .1.3.6.1.2.1.1
view cistern included .1.3.6.1.2.1.2
view cistern included .1.3.6.1.2.1.31
view cistern included .1.3.6.1.4.1.8072.9999.9999.7710
rocommunity "our #2 c4nary" 192.0.2.0/24 -V cistern
rocommunity "our #2 c4nary" 10.0.0.0/8 -V cistern
createUser cistern SHA-256 "auth c4nary" AES "priv c4nary"
rouser cistern priv -V cistern
`
	if got := b.read("snmpd/agent.conf"); got != want {
		t.Errorf("got:\n%s", got)
	}
	info, err := os.Stat(filepath.Join(b.state, "snmpd", "agent.conf"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if audit := b.read("execd/audit.log"); strings.Contains(audit, "c4nary") {
		t.Errorf("the audit trail holds a secret: %s", audit)
	}
	for _, body := range []string{
		`"community":"a\"b"`, `"community":"a\nb"`, `"community":"a\\b"`, `"community":"x","sources":["everywhere"]`, `"community":"x","sources":["::/0"]`,
		`"contact":"a\nrwcommunity public"`, `"location":"a # b"`,
		`"user":{"name":"a b","authProtocol":"SHA","authPassword":"12345678","privPassword":"12345678"}`,
		`"user":{"name":"a","authProtocol":"MD5","authPassword":"12345678","privPassword":"12345678"}`,
		`"user":{"name":"a","authProtocol":"SHA","authPassword":"1234567","privPassword":"12345678"}`,
		`"user":{"name":"a","authProtocol":"SHA","authPassword":"12345678","privPassword":"1234567\""}`,
	} {
		b.want("snmp.configure", "{"+engine+","+body+"}", 400, "invalid_request")
	}
	b.want("snmp.configure", `{"engineId":"80001f888","community":"x"}`, 400, "invalid_request")
	if got := b.read("snmpd/agent.conf"); got != want {
		t.Errorf("changed by a bad request:\n%s", got)
	}
	// Switched off: it listens nowhere, and keeps its engine id.
	b.want("snmp.configure", `{`+engine+`}`, 200, "")
	if got := b.read("snmpd/agent.conf"); strings.Contains(got, "agentAddress") || !strings.Contains(got, "exactEngineID") {
		t.Errorf("got:\n%s", got)
	}
	if did := strings.Join(b.host.did, ", "); did != "restart snmpd, restart snmpd" {
		t.Errorf("did %s", did)
	}
}
