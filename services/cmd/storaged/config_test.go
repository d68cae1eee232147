package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestConfiguration(t *testing.T) {
	folder := t.TempDir()
	file := func(text string) string {
		path := filepath.Join(folder, "storaged.conf")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	var out bytes.Buffer
	c, err := parse([]string{"--data", "/d"}, &out)
	if err != nil || c.Data != "/d" || c.HTTP.Address != "127.0.0.1:9095" || c.Statsd.Address != ":8125" || c.Statsd.Admin != "127.0.0.1:8126" ||
		c.Graphite.Address != ":2003" || time.Duration(c.Retention.Raw) != 400*24*time.Hour || c.Retention.Hour != 0 || !c.Statistics.Host {
		t.Fatalf("%+v %v", c, err)
	}
	// What --print-config prints is the defaults, and can be read again.
	if _, err := parse([]string{"--print-config"}, &out); !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	if again, err := parse([]string{"--config", file(out.String()), "--data", "/d"}, &out); err != nil || again != c {
		t.Fatalf("%+v %v", again, err)
	}
	// A flag wins over the file, the file over the default.
	c, err = parse([]string{"--config", file("data = \"/f\"\n[statsd]\naddress = \"\"\nforget_after = \"90s\"\n[graphite]\naddress = \":1\"\n[retention]\nraw=\"2y\""),
		"--graphite=:2", "--http-socket", "/s", "--retention", "30d"}, &out)
	if err != nil || c.Data != "/f" || c.Statsd.Address != "" || time.Duration(c.Statsd.ForgetAfter) != 90*time.Second || c.Graphite.Address != ":2" ||
		c.HTTP.Address != "" || time.Duration(c.Retention.Raw) != 30*24*time.Hour {
		t.Fatalf("%+v %v", c, err)
	}
	for text, want := range map[string]string{
		"data = \"/f\"\n\n[statsd]\nadress = \":1\"": "line 4: statsd.adress is no setting",
		"[statsdd]\naddress = \":1\"":                "line 1: statsdd",
		"[graphite]\npickle = 5":                     "incompatible types",
		"data = ":                                    "line 1:",
		"[limits]\nout_of_order = \"soon\"":          `"soon" is no length of time`,
		"[limits]\nmemory = 0":                       "limits.memory must be above 0",
		"[http]\ndurability = \"maybe\"":             "it can be fsync, interval or buffered",
		"[limits]\nout_of_order = \"1000000000y\"":   "is no length of time",
	} {
		if _, err := parse([]string{"--data", "/d", "--config", file(text)}, &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, arguments := range [][]string{{}, {"--data", "/d", "more"}, {"--data", "/d", "--config", "/no/such"}, {"--data", "/d", "--what"}} {
		if _, err := parse(arguments, &out); err == nil || errors.Is(err, errDone) {
			t.Errorf("%q: %v", arguments, err)
		}
	}
	out.Reset()
	if _, err := parse([]string{"--help"}, &out); !errors.Is(err, errDone) || !strings.Contains(out.String(), "--print-config") || !strings.Contains(out.String(), "-graphite-pickle") {
		t.Errorf("%v %s", err, out.String())
	}
}
