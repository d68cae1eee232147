package main

// Inputs that are changed while the real binary runs.

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

type allInputs struct {
	Revision string
	Inputs   map[string]struct {
		Enabled  bool
		Networks []string
		Refused  map[string]int
		Listens  []string
	}
}

func TestInputsAreSetWhileItRuns(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	write(t, file, "[graphite]\naddress = '127.0.0.1:0'\npickle_address = ''\n")
	d := launch(t, folder, "--config", file, "--host-statistics=false")
	state := func() (all allInputs) {
		t.Helper()
		d.get(t, "/admin/inputs", &all)
		return all
	}
	put := func(revision, inputs string, want int) string {
		t.Helper()
		code, said := d.sendText(t, "PUT", "/admin/inputs", `{"revision":"`+revision+`","inputs":{`+inputs+`}}`)
		if code != want {
			t.Fatalf("%s: %d %s", inputs, code, said)
		}
		return said
	}
	const graphite = `"graphite":{"enabled":true,"networks":["127.0.0.1"],"seriesPerSecond":100,"seriesBurst":100,"senderSeriesPerSecond":0,"senderSeriesBurst":0}`
	before := state()
	if before.Revision != "" || before.Inputs["graphite"].Enabled || !before.Inputs["statsd"].Enabled || len(before.Inputs["statsd"].Listens) == 0 {
		t.Fatalf("%+v", before)
	}
	put("1", graphite, http.StatusOK)
	now := state()
	if one := now.Inputs["graphite"]; now.Revision != "1" || !one.Enabled || len(one.Listens) != 1 || fmt.Sprint(one.Networks) != "[127.0.0.1/32]" {
		t.Fatalf("%+v", now)
	}
	connection, err := net.Dial("tcp", now.Inputs["graphite"].Listens[0])
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	fmt.Fprintf(connection, "a.b 7 %d\n", time.Now().Unix())
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	for end := time.Now().Add(10 * time.Second); len(answer.Data.Result) == 0; time.Sleep(20 * time.Millisecond) {
		d.get(t, "/api/v1/query?query=%7B__name__%3D%22a.b%22%7D", &answer)
		if time.Now().After(end) {
			t.Fatal("nothing came by Graphite")
		}
	}
	// Kept to another network, what is connected is cut off with the next that it sends.
	put("2", strings.Replace(graphite, "127.0.0.1", "192.0.2.0/24", 1), http.StatusOK)
	fmt.Fprintf(connection, "a.c 7 %d\n", time.Now().Unix())
	_ = connection.SetReadDeadline(time.Now().Add(10 * time.Second))
	if _, err := connection.Read(make([]byte, 1)); err == nil || os.IsTimeout(err) {
		t.Errorf("still connected: %v", err)
	}
	if got := state().Inputs["graphite"].Refused["network_not_allowed"]; got != 1 {
		t.Errorf("%d refused", got)
	}
	// What cannot be changes nothing: a port that somebody has, an input that is not there, a network that is none.
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for inputs, words := range map[string]string{
		`"gopher":{"enabled":true,"networks":[],"seriesPerSecond":0,"seriesBurst":0,"senderSeriesPerSecond":0,"senderSeriesBurst":0}`: "there is no input",
		strings.Replace(graphite, "127.0.0.1", "127.0.0.1/8", 1):                                                                      "write 127.0.0.0/8 for the network",
		strings.Replace(graphite, `"seriesBurst":100`, `"seriesBurst":0`, 1):                                                          "lets no new series in",
		strings.Replace(graphite, `"seriesBurst":100`, `"seriesBurst":-1`, 1):                                                         "must not be negative",
		strings.Replace(graphite, `"enabled":true`, `"enabled":true,"port":7`, 1):                                                     "unknown field",
	} {
		if said := put("3", inputs, http.StatusBadRequest); !strings.Contains(said, words) {
			t.Errorf("%s: %s", inputs, said)
		}
	}
	if state().Revision != "2" {
		t.Errorf("%+v", state())
	}
	// Switched off, the port is closed; over HTTP it says so. That holds over a restart.
	put("4", strings.Replace(graphite, "true", "false", 1)+`,"import":{"enabled":false,"networks":[],"seriesPerSecond":0,"seriesBurst":0,"senderSeriesPerSecond":0,"senderSeriesBurst":0}`, http.StatusOK)
	off := func() {
		t.Helper()
		now := state()
		if now.Revision != "4" || now.Inputs["graphite"].Enabled || len(now.Inputs["graphite"].Listens) != 0 {
			t.Errorf("%+v", now)
		}
		if code, said := d.post(t, "/api/v1/import", `{"samples":[]}`, "192.0.2.7"); code != http.StatusForbidden || !strings.Contains(said, "switched off") {
			t.Errorf("%d %s", code, said)
		}
	}
	off()
	if err := d.end(t, syscall.SIGKILL); err == nil {
		t.Error("killed, and ended well")
	}
	d = launch(t, folder, "--config", file, "--host-statistics=false")
	off()
	// A port that somebody else has: said so, and all stays as it was.
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	write(t, file, "[graphite]\naddress = '"+taken.Addr().String()+"'\npickle_address = ''\n")
	d = launch(t, folder, "--config", file, "--host-statistics=false")
	if said := put("5", graphite, http.StatusConflict); !strings.Contains(said, "stay as they were") || !strings.Contains(said, "in use") {
		t.Error(said)
	}
	off()
	// A file that cannot be read leaves the settings of the file, and says so.
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "data", inputsFile), "{")
	d = launch(t, folder, "--config", file, "--host-statistics=false")
	if now := state(); now.Revision != "" || !now.Inputs["import"].Enabled {
		t.Errorf("%+v", now)
	}
	if !strings.Contains(d.log(), "cannot be read") {
		t.Error(d.log())
	}
}
