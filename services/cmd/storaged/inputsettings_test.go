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
	Own      []string
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
		strings.Replace(graphite, `"enabled":true`, `"enabled":true,"gate":7`, 1):                                                     "unknown field",
		strings.Replace(graphite, `"enabled":true`, `"enabled":true,"port":0`, 1):                                                     "switch the input off",
		strings.Replace(graphite, `"enabled":true`, `"enabled":true,"port":65536`, 1):                                                 "from 1 to 65535",
		strings.Replace(graphite, `"enabled":true`, `"enabled":true,"port":8022`, 1):                                                  "belongs to replication",
		strings.Replace(strings.Replace(graphite, "graphite", "import", 1), `"enabled":true`, `"enabled":true,"port":7000`, 1):        "has no port that could be set",
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

const noLimits = `"networks":[],"seriesPerSecond":0,"seriesBurst":0,"senderSeriesPerSecond":0,"senderSeriesBurst":0`

// freePort is one that nobody has by TCP and UDP at this moment.
func freePort(t *testing.T) int {
	t.Helper()
	for range 16 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		port := tcp.Addr().(*net.TCPAddr).Port
		udp, err := net.ListenPacket("udp", fmt.Sprintf("127.0.0.1:%d", port))
		_ = tcp.Close()
		if err == nil {
			_ = udp.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// An input goes to another port while it runs; where it cannot it stays where it was, and still takes what comes.
func TestInputsChangePorts(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "storaged.toml")
	write(t, file, "[graphite]\nenabled = true\naddress = '127.0.0.1:0'\npickle_address = ''\n[collectd]\naddress = ''\n[otlp]\ngrpc_address = '127.0.0.1:0'\n")
	d := launch(t, folder, "--config", file, "--host-statistics=false")
	listens := func(name string) []string {
		t.Helper()
		var all allInputs
		d.get(t, "/admin/inputs", &all)
		return all.Inputs[name].Listens
	}
	put := func(inputs string, want int) string {
		t.Helper()
		code, said := d.sendText(t, "PUT", "/admin/inputs", `{"revision":"r","inputs":{`+inputs+`}}`)
		if code != want {
			t.Fatalf("%s: %d %s", inputs, code, said)
		}
		return said
	}
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	first, second := freePort(t), freePort(t)
	graphite := func(more string) string { return `"graphite":{"enabled":true,` + more + `,` + noLimits + `}` }
	put(graphite(fmt.Sprintf(`"port":%d`, first)), http.StatusOK)
	if at := listens("graphite"); len(at) != 1 || at[0] != fmt.Sprintf("127.0.0.1:%d", first) {
		t.Fatal(at)
	}
	connection, err := net.Dial("tcp", listens("graphite")[0])
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if said := put(graphite(fmt.Sprintf(`"port":%d`, taken.Addr().(*net.TCPAddr).Port)), http.StatusConflict); !strings.Contains(said, "in use by another program") {
		t.Error(said)
	}
	// It was not closed for that: who is connected goes on.
	fmt.Fprintf(connection, "still.here 7 %d\n", time.Now().Unix())
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	for end := time.Now().Add(10 * time.Second); len(answer.Data.Result) == 0; time.Sleep(20 * time.Millisecond) {
		d.get(t, "/api/v1/query?query=%7B__name__%3D%22still.here%22%7D", &answer)
		if time.Now().After(end) {
			t.Fatal("the old port takes nothing any more")
		}
	}
	// Pickle gets a port and loses it again; two of storaged's own cannot have the same.
	put(graphite(fmt.Sprintf(`"port":%d,"picklePort":%d`, first, second)), http.StatusOK)
	if at := listens("graphite"); len(at) != 2 || !strings.HasSuffix(at[1], fmt.Sprintf(":%d", second)) {
		t.Error(at)
	}
	if said := put(graphite(fmt.Sprintf(`"port":%d,"picklePort":%d`, first, first)), http.StatusConflict); !strings.Contains(said, "give each one of its own") {
		t.Error(said)
	}
	put(graphite(fmt.Sprintf(`"port":%d,"picklePort":0`, second)), http.StatusOK)
	if at := listens("graphite"); len(at) != 1 || !strings.HasSuffix(at[0], fmt.Sprintf(":%d", second)) {
		t.Error(at)
	}
	// OTLP over gRPC is closed, and what comes over HTTP goes on.
	put(`"otlp":{"enabled":true,"port":0,`+noLimits+`}`, http.StatusOK)
	if at := listens("otlp"); len(at) != 0 {
		t.Error(at)
	}
}

// Inputs that ask for no token are kept to the machine's own networks where nobody set anything else, and to nothing in lists
// of the version before, which did not know that.
func TestInputsOfOwnNetworks(t *testing.T) {
	folder := t.TempDir()
	d := launch(t, folder, "--host-statistics=false")
	state := func() (all allInputs) {
		t.Helper()
		d.get(t, "/admin/inputs", &all)
		return all
	}
	set := func(text string) {
		t.Helper()
		if code, said := d.sendText(t, "PUT", "/admin/inputs", text); code != http.StatusOK {
			t.Fatal(code, said)
		}
	}
	if now := state(); len(now.Inputs["statsd"].Networks) != 0 || len(now.Own) == 0 {
		t.Errorf("%+v", now)
	}
	set(`{"revision":"1","ownByDefault":true,"inputs":{"graphite":{"enabled":false,` + noLimits + `}}}`)
	now := state()
	for name, want := range map[string]string{"statsd": "[own]", "collectd": "[own]", "influx_socket": "[own]", "graphite": "[]", "import": "[]", "otlp": "[]"} {
		if got := fmt.Sprint(now.Inputs[name].Networks); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
	set(`{"revision":"2","inputs":{"import":{"enabled":true,` + strings.Replace(noLimits, "[]", `["own","192.0.2.0/24"]`, 1) + `}}}`)
	for from, want := range map[string]int{"127.0.0.1": http.StatusOK, "192.0.2.7": http.StatusOK, "198.51.100.7": http.StatusForbidden} {
		if code, said := d.post(t, "/api/v1/import", `{"samples":[]}`, from); code != want {
			t.Errorf("%s: %d %s", from, code, said)
		}
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(folder, "data", inputsFile), `{"version":1,"revision":"old","inputs":{"import":{"enabled":false,`+noLimits+`}}}`)
	d = launch(t, folder, "--host-statistics=false")
	if now := state(); now.Revision != "old" || now.Inputs["import"].Enabled || len(now.Inputs["statsd"].Networks) != 0 {
		t.Errorf("%+v", now)
	}
}
