package conformance

// Prometheus' own command line and what else reads from another Prometheus, against the real daemon.

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// promtool is Prometheus' command, built once of the version that the other tests compare with; it has a module of its own
// for what nothing else here needs.
func promtool(t *testing.T) string {
	t.Helper()
	version := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`github\.com/prometheus/prometheus (v\S+)`).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s does not name a version of Prometheus", path)
		}
		return string(found[1])
	}
	ours := version("go.mod")
	if theirs := version("promtool/go.mod"); ours != theirs {
		t.Fatalf("promtool/go.mod has Prometheus %s, go.mod %s: give both the same", theirs, ours)
	}
	program := filepath.Join(cache(t, "promtool-"+ours), "promtool")
	// Without the ways of finding targets in each cloud, which are most of it.
	build(t, program, "promtool", "-tags", "remove_all_sd", "github.com/prometheus/prometheus/cmd/promtool")
	return program
}

// build makes a program once, from the module in a folder.
func build(t *testing.T, program, folder string, arguments ...string) {
	t.Helper()
	if _, err := os.Stat(program); err == nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	unfinished := fmt.Sprintf("%s.%d", program, os.Getpid())
	if err := run(ctx, folder, "go", append([]string{"build", "-o", unfinished}, arguments...)...); err != nil {
		t.Fatalf("%s cannot be built here: %v", folder, err)
	}
	if err := os.Rename(unfinished, program); err != nil {
		t.Fatal(err)
	}
}

// sends stores samples of the last minute, one a second, and returns when the last of them is.
func (d *daemon) sends(t *testing.T) (now int64) {
	t.Helper()
	now = time.Now().Unix()
	var list []imported
	for i := range int64(60) {
		for _, host := range []string{"a", "b"} {
			list = append(list, imported{"shop_requests_total", map[string]string{"host": host}, now - 59 + i, float64(10 * i)})
		}
	}
	d.imports(t, list)
	return now
}

// imported is a sample as JSON.
type imported struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
	Time   int64             `json:"time"`
	Value  float64           `json:"value"`
}

func (d *daemon) imports(t *testing.T, list []imported) {
	t.Helper()
	body, _ := json.Marshal(map[string]any{"samples": list})
	response, err := http.Post("http://"+d.http+"/api/v1/import", "application/json", strings.NewReader(string(body)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatal(response.Status)
	}
}

func TestPromtool(t *testing.T) {
	program, d := promtool(t), storaged(t)
	now := d.sends(t)
	server, at := "http://"+d.http, fmt.Sprint(now)
	for _, c := range []struct {
		arguments []string
		want      []string
	}{
		{[]string{"check", "healthy", "--url", server}, []string{"SUCCESS"}},
		{[]string{"check", "ready", "--url", server}, []string{"SUCCESS"}},
		{[]string{"query", "instant", "--time", at, server, `sum(shop_requests_total)`}, []string{"{} => 1180 @["}},
		{[]string{"query", "instant", "--time", at, server, `round(rate(shop_requests_total{host="a"}[30s]))`}, []string{`{host="a"} => 10 @[`}},
		{[]string{"query", "range", "--start", fmt.Sprint(now - 50), "--end", fmt.Sprint(now - 20), "--step", "10s", server, `shop_requests_total{host="b"}`},
			[]string{`shop_requests_total{host="b"} =>`, fmt.Sprintf("@[%d]", now-50), fmt.Sprintf("@[%d]", now-20)}},
		{[]string{"query", "series", "--match", "shop_requests_total", "--start", fmt.Sprint(now - 100), "--end", fmt.Sprint(now), server},
			[]string{`{__name__="shop_requests_total", host="a"}`, `{__name__="shop_requests_total", host="b"}`}},
		{[]string{"query", "labels", server, "host"}, []string{"a\n", "b\n"}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		out, err := exec.CommandContext(ctx, program, c.arguments...).CombinedOutput()
		cancel()
		for _, want := range c.want {
			if err != nil || !strings.Contains(string(out), want) {
				t.Errorf("%q: %v, no %q in %s", c.arguments, err, want, out)
			}
		}
	}
	out, err := exec.Command(program, "query", "instant", server, "sum(").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "parse error") {
		t.Errorf("%v %s", err, out)
	}
}

// What a Prometheus gets by scraping /federate is what promtool accepts as metrics.
func TestFederationIsValid(t *testing.T) {
	program, d := promtool(t), storaged(t)
	d.sends(t)
	response, err := http.Get("http://" + d.http + `/federate?match[]={__name__=~"shop.*"}`)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	command := exec.CommandContext(t.Context(), program, "check", "metrics", "--extended", "--lint=none")
	command.Stdin = response.Body
	if out, err := command.CombinedOutput(); err != nil || response.StatusCode != http.StatusOK {
		t.Errorf("%s %v %s", response.Status, err, out)
	}
}
