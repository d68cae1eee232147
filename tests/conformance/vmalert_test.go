package conformance

// VictoriaMetrics' vmalert: it evaluates rules by our queries, writes what comes of them by remote write, sends alerts to an
// Alertmanager, and after a restart reads from us how long each was pending.

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
)

func vmalert(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("vmalert/go.mod")
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`github\.com/VictoriaMetrics/VictoriaMetrics (v\S+)`).FindSubmatch(text)
	if version == nil {
		t.Fatal("vmalert/go.mod does not name a version of VictoriaMetrics")
	}
	program := filepath.Join(cache(t, "vmalert-"+string(version[1])), "vmalert")
	build(t, program, "vmalert", "github.com/VictoriaMetrics/VictoriaMetrics/app/vmalert")
	return program
}

func TestVmalert(t *testing.T) {
	program, d := vmalert(t), storaged(t)
	d.sends(t)
	var mu sync.Mutex
	alerts := map[string]string{} // a value of each
	manager := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var list []struct{ Labels, Annotations map[string]string }
		if err := json.NewDecoder(r.Body).Decode(&list); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		for _, one := range list {
			alerts[one.Labels["alertname"]] = one.Annotations["value"]
		}
	}))
	defer manager.Close()
	folder := t.TempDir()
	rules := filepath.Join(folder, "rules.yml")
	if err := os.WriteFile(rules, []byte(`groups:
- name: conformance
  interval: 1s
  rules:
  - record: vmalert:samples:count
    expr: vector(21) * 2
    labels: {by: vmalert}
  - alert: MuchMore
    expr: vmalert:samples:count > 40
    for: 1s
    annotations: {value: "{{ $value }}"}
  - alert: Never
    expr: vmalert:samples:count > 50
`), 0o644); err != nil {
		t.Fatal(err)
	}
	for round := range 2 { // the second reads what the first has written
		address := free(t, 1)[0]
		log, err := os.Create(filepath.Join(folder, fmt.Sprint("log", round)))
		if err != nil {
			t.Fatal(err)
		}
		command := exec.CommandContext(t.Context(), program, "-rule="+rules, "-datasource.url=http://"+d.http, "-remoteWrite.url=http://"+d.http, "-remoteRead.url=http://"+d.http,
			"-notifier.url="+manager.URL, "-httpListenAddr="+address, "-remoteWrite.flushInterval=200ms", "-evaluationInterval=1s")
		command.Stdout, command.Stderr = log, log
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the Alertmanager gets the alert", func() error {
			mu.Lock()
			defer mu.Unlock()
			if len(alerts) != 1 || alerts["MuchMore"] != "42" {
				text, _ := os.ReadFile(log.Name())
				return fmt.Errorf("%v\n%.2000s", alerts, text)
			}
			return nil
		})
		d.value(t, `vmalert:samples:count{by="vmalert"}`, is(42))
		d.value(t, `ALERTS{alertname="MuchMore",alertstate="firing"}`, is(1))
		d.value(t, `count(ALERTS_FOR_STATE{alertname="MuchMore"})`, is(1))
		_ = command.Process.Signal(syscall.SIGTERM)
		if err := command.Wait(); err != nil {
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() > 0 {
				t.Error(err)
			}
		}
		log.Close()
		mu.Lock()
		clear(alerts)
		mu.Unlock()
	}
}
