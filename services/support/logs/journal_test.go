package logs

import (
	"strings"
	"testing"
)

// canary is a secret that must not be in what is answered or kept.
const canary = "c4n4ry-Zx9"

func TestJournalEntries(t *testing.T) {
	l, ok := entry([]byte(`{"__CURSOR":"c","__REALTIME_TIMESTAMP":"1767225600000000","PRIORITY":"3","_SYSTEMD_UNIT":"cistern-akd.service","MESSAGE":[104,105,255]}`))
	if !ok || l.Service != "akd" || l.Level != "error" || !strings.HasPrefix(l.Text, "hi") {
		t.Errorf("%+v", l)
	}
	l, ok = entry([]byte(`{"__CURSOR":"c","PRIORITY":"6","_SYSTEMD_UNIT":"init.scope","UNIT":"nginx.service","MESSAGE":"Started, token: ` + canary + `"}`))
	if !ok || l.Service != "nginx" || l.Level != "info" || strings.Contains(l.Text, canary) {
		t.Errorf("%+v", l)
	}
	for _, bad := range []string{"", "{", "null", `{"MESSAGE":null}`} {
		if _, ok := entry([]byte(bad)); ok {
			t.Errorf("%q is an entry", bad)
		}
	}
	long := &lineWriter{line: func(p []byte) error {
		if string(p) != "after" {
			t.Errorf("%d bytes", len(p))
		}
		return nil
	}}
	for range 3000 {
		_, _ = long.Write(make([]byte, 1000))
	}
	_, _ = long.Write([]byte("\nafter\n"))
	if cap(long.buffer) > 4<<20 {
		t.Errorf("%d bytes were held", cap(long.buffer))
	}
}
