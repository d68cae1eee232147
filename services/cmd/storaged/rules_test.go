package main

// The real binary and recording rules: made over its routes, read from a file, and evaluated after a restart by itself.

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// sendText asks with a body, and returns the status and the answer.
func (d *process) sendText(t *testing.T, method, path, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(method, "http://storaged"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := d.client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func TestRecordingRules(t *testing.T) {
	folder := t.TempDir()
	file, ruleFile := filepath.Join(folder, "storaged.toml"), filepath.Join(folder, "rules.yml")
	write(t, ruleFile, "groups:\n- name: file\n  interval: 1s\n  rules:\n  - {record: of_file, expr: vector(7)}\n")
	write(t, file, "[rules]\ndelay = '1s'\n")
	d := launch(t, folder, "--config", file, "--host-statistics=false", "--rules", ruleFile)
	value := func(query string) string {
		var answer struct {
			Data struct{ Result []struct{ Value [2]any } }
		}
		d.get(t, "/api/v1/query?query="+query, &answer)
		if len(answer.Data.Result) == 0 {
			return ""
		}
		return fmt.Sprint(answer.Data.Result[0].Value[1])
	}
	until := func(query, want string) {
		t.Helper()
		for end := time.Now().Add(20 * time.Second); value(query) != want; time.Sleep(50 * time.Millisecond) {
			if time.Now().After(end) {
				_, rules := d.sendText(t, "GET", "/admin/recording-rules", "")
				t.Fatalf("%s is %q, not %s: %s", query, value(query), want, rules)
			}
		}
	}
	const rule = `{"id":"r1","group":"g","name":"%s","expression":"%s","labels":{"site":"north"},"intervalSeconds":1,"description":"","enabled":true}`
	if status, text := d.sendText(t, "PUT", "/admin/recording-rules", `{"rules":[`+fmt.Sprintf(rule, "doubled", "2 * of_file")+`]}`); status != http.StatusOK {
		t.Fatal(text)
	}
	until("of_file", "7")
	until(`doubled{site="north"}`, "14")
	until(`cistern_rule_samples{rule="doubled"}`, "1")
	if _, text := d.sendText(t, "GET", "/metrics", ""); !strings.Contains(text, "# TYPE cistern_rule_evaluations_total counter") ||
		!strings.Contains(text, `cistern_rule_samples{group="g",id="r1",rule="doubled"} 1`) {
		t.Error(text)
	}
	for body, words := range map[string]string{
		`{"rules":[` + fmt.Sprintf(rule, "cistern_x", "1") + `]}`:     "rules/0/name",
		`{"rules":[` + fmt.Sprintf(rule, "doubled", "sum(") + `]}`:    "rules/0/expression",
		`{"rules":[` + fmt.Sprintf(rule, "doubled", "doubled") + `]}`: "reads its own result",
		`{"rules":[{"nonsense":1}]}`:                                  "nonsense",
	} {
		if status, text := d.sendText(t, "PUT", "/admin/recording-rules", body); status != http.StatusBadRequest || !strings.Contains(text, words) {
			t.Error(status, text)
		}
	}
	if status, text := d.sendText(t, "POST", "/admin/recording-rules/preview", `{"rule":`+fmt.Sprintf(strings.Replace(rule, "r1", "r2", 1), "new", "of_file")+`}`); status != http.StatusOK || !strings.Contains(text, `"total":1`) {
		t.Error(status, text)
	}
	// A sender may not write to it.
	if status, text := d.post(t, "/api/v1/import", `{"samples":[{"name":"doubled","value":1}]}`, "192.0.2.9"); status != http.StatusOK || !strings.Contains(text, "as the result of a recording rule") {
		t.Error(status, text)
	}
	from := time.Now().Add(-time.Hour).Unix()
	if status, text := d.sendText(t, "POST", "/admin/recording-rules/r1/fill", fmt.Sprintf(`{"fromSeconds":%d}`, from)); status != http.StatusOK {
		t.Error(status, text)
	}
	if status, text := d.sendText(t, "POST", "/admin/recording-rules/r9/fill", `{"fromSeconds":1}`); status != http.StatusNotFound {
		t.Error(status, text)
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	write(t, file, fmt.Sprintf("[rules]\nfiles = [%q]\ndelay = '1s'\n", ruleFile))
	d = launch(t, folder, "--config", file, "--host-statistics=false")
	var answer struct {
		Rules []struct {
			Name  string
			Fixed bool
			State struct{ Evaluations int }
			Fill  *struct{ State string }
		}
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		_, text := d.sendText(t, "GET", "/admin/recording-rules", "")
		if err := json.Unmarshal([]byte(text), &answer); err != nil {
			t.Fatal(err)
		}
		if r := answer.Rules; len(r) == 2 && r[0].Fixed && r[1].State.Evaluations > 1 && r[1].Fill != nil && r[1].Fill.State == "done" {
			break
		}
		if time.Now().After(end) {
			t.Fatal(text)
		}
	}
	if err := d.end(t, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
}
