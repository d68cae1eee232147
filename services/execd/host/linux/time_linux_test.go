package linux

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cistern/services/execd/host/chrony"
)

func TestChronyIsTold(t *testing.T) {
	folder := t.TempDir()
	before := times
	times = timePlaces{sources: folder, network: filepath.Join(folder, "state")}
	t.Cleanup(func() { times = before })
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	program := func(script string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, "chronyc"), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	l := &Host{}
	if servers := l.NetworkTimeServers(); len(servers) != 0 {
		t.Error(servers)
	}
	if err := os.WriteFile(times.network, []byte("NTP=192.0.2.9\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if servers := l.NetworkTimeServers(); len(servers) != 1 || servers[0] != "192.0.2.9" {
		t.Error(servers)
	}
	program(`echo "$*" >` + folder + "/ran\necho 200 OK")
	if err := l.LoadTimeServers(t.Context(), []chrony.Asked{{Server: chrony.Server{Address: "a.example"}, From: chrony.FromSettings}}); err != nil {
		t.Fatal(err)
	}
	ran, _ := os.ReadFile(filepath.Join(folder, "ran"))
	wrote, _ := os.ReadFile(filepath.Join(folder, "cistern.sources"))
	if string(ran) != "reload sources\n" || !strings.HasSuffix(string(wrote), "\nserver a.example iburst\n") {
		t.Errorf("ran %s, wrote %s", ran, wrote)
	}
	// It reads them when it starts.
	program("echo 506 Cannot talk to daemon\nexit 1")
	if err := l.LoadTimeServers(t.Context(), nil); err != nil {
		t.Error(err)
	}
	program("echo 501 Not authorised\nexit 1")
	if err := l.LoadTimeServers(t.Context(), nil); err == nil {
		t.Error("a refusal is no error")
	}
}
