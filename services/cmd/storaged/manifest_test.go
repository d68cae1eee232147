package main

import (
	"io"
	"os"
	"strings"
	"testing"

	"cistern/services/smf"
)

// What the manifest lets an administrator tune is what this program's flags take, to the ends of its ranges.
func TestManifest(t *testing.T) {
	file, err := os.Open("../../../smf/manifest/storaged.xml")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	service, err := smf.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	started := func(tuned map[string]string) *config {
		t.Helper()
		command, err := service.Start(tuned)
		if err != nil {
			t.Fatal(err)
		}
		c, err := parseFlags(strings.Fields(command)[1:], io.Discard)
		if err != nil {
			t.Fatalf("%v: %v", tuned, err)
		}
		return c
	}
	usual, c := defaults(), started(nil)
	if c.Limits != usual.Limits || c.Statsd.Address != usual.Statsd.Address || c.Statsd.Admin != usual.Statsd.Admin {
		t.Errorf("the manifest's limits are %+v, the program's own %+v", c.Limits, usual.Limits)
	}
	// Where no snapshot and no copy of the measurements takes it along.
	if c.TLS.Folder != "/var/lib/cistern/storaged" || c.wantsTLS() {
		t.Errorf("TLS: %+v", c.TLS)
	}
	if !c.Statsd.Enabled || c.Graphite.Address != ":2003" || c.Graphite.PickleAddress != "" || c.Collectd.Enabled || c.InfluxSocket.Enabled {
		t.Errorf("inputs: %+v %+v %+v", c.Statsd, c.Graphite, c.Collectd)
	}
	for _, ends := range []map[string]string{
		{"config/memory_mib": "256", "config/max_series": "1000"}, {"config/memory_mib": "1048576", "config/max_series": "1000000000"},
	} {
		started(ends)
	}
	c = started(map[string]string{"config/memory_mib": "300", "config/max_series": "5000", "config/statsd": "", "config/statsd_admin": "",
		"config/graphite": "", "config/graphite_pickle": "127.0.0.1:2004", "config/collectd": ":25826", "config/influx": ":8089"})
	if c.Limits.MemoryMiB != 300 || c.Limits.Series != 5000 || c.Statsd.Enabled || c.Statsd.Admin != "" ||
		!c.Graphite.Enabled || c.Graphite.Address != "" || c.Graphite.PickleAddress != "127.0.0.1:2004" || !c.Collectd.Enabled || !c.InfluxSocket.Enabled {
		t.Errorf("tuned: %+v %+v %+v %+v", c.Limits, c.Statsd, c.Graphite, c.Collectd)
	}
}
