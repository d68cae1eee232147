package main

// The real binary: who sends is in the list of hosts, also after it was killed.

import (
	"fmt"
	"syscall"
	"testing"
)

func TestHosts(t *testing.T) {
	folder := t.TempDir()
	d := launch(t, folder, "--host-statistics=false")
	for i, from := range []string{"192.0.2.7", "192.0.2.8"} {
		if status, text := d.post(t, "/write", fmt.Sprintf("weather,site=berlin temperature=7\nload,host=web%d value=1\n", i), from); status != 204 {
			t.Fatal(status, text)
		}
	}
	type answer struct {
		Version string
		Full    bool
		Now     float64
		Gone    []string
		Hosts   []struct {
			Name            string
			By, Inputs      []string
			First           float64 `json:"firstTime"`
			Heard           float64 `json:"heardTime"`
			Series          int
			IntervalSeconds float64
			Labels          map[string]string
		}
	}
	var all, since, after answer
	d.get(t, "/api/v1/hosts", &all)
	if len(all.Hosts) != 4 || !all.Full || all.Hosts[0].Name != "192.0.2.7" || all.Hosts[0].By[0] != "sender" || all.Hosts[2].Name != "web0" ||
		all.Hosts[2].Series != 1 || all.Hosts[2].Inputs[0] != "influx" {
		t.Fatalf("%+v", all)
	}
	d.get(t, "/api/v1/hosts?since="+all.Version, &since)
	if since.Full || len(since.Hosts) != 0 {
		t.Fatalf("%+v", since)
	}
	if status, text := d.sendText(t, "GET", "/api/v1/hosts?since=yesterday", ""); status != 400 {
		t.Fatal(status, text)
	}
	_ = d.end(t, syscall.SIGKILL)
	d = launch(t, folder, "--host-statistics=false")
	d.get(t, "/api/v1/hosts?since="+all.Version, &after)
	if !after.Full || len(after.Hosts) < 2 || after.Hosts[len(after.Hosts)-2].Name != "web0" || after.Hosts[len(after.Hosts)-2].First != all.Hosts[2].First {
		t.Fatalf("%+v", after)
	}
}
