package cli

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	nothing  = `{"fingerprint": "f0", "parts": [], "refused": [], "leftOut": [], "missingSecrets": []}`
	one      = `{"fingerprint": "f1", "parts": [{"part": "retention", "title": "Retention", "changes": [{"kind": "changed", "path": "/retention/rawSeconds", "before": 1, "after": 2}], "warnings": ["Gone is gone."]}], "refused": [], "leftOut": [{"path": "/tokens/t", "message": "cannot be made"}], "missingSecrets": ["/snmp-agent/community"]}`
	refused  = `{"fingerprint": "f2", "parts": [], "refused": [{"path": "/parts/x", "message": "is no part"}], "leftOut": [], "missingSecrets": []}`
	document = `{"format": "cistern-settings", "version": 1, "parts": {}}`
	preview  = "POST /api/settings-document/preview"
	applying = "POST /api/settings-document/apply"
)

func exitOf(err error) int {
	var exit Exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return int(exit)
	case errors.Is(err, ErrUsage):
		return 2
	}
	return 1
}

func TestSettingsExitCodes(t *testing.T) {
	for _, c := range []struct {
		name, plan string
		arguments  []string
		exit       int
		says       string
		applied    bool
	}{
		{"plan, nothing", nothing, []string{"plan", "-"}, 0, "Nothing changes.", false},
		{"plan, something", one, []string{"plan", "-"}, 3, "changed  /retention/rawSeconds: 1 → 2\n  Note: Gone is gone.\nLeft out: /tokens/t cannot be made\nTo be entered afterwards: /snmp-agent/community", false},
		{"plan, refused", refused, []string{"plan", "-"}, 1, "Refused: /parts/x is no part", false},
		{"diff", one, []string{"diff", "-"}, 3, "@@ retention @@\n-/retention/rawSeconds: 1\n+/retention/rawSeconds: 2", false},
		{"apply, nothing", nothing, []string{"apply", "-"}, 0, "Nothing changes.", false},
		{"apply, nobody to ask", one, []string{"apply", "-"}, 2, "", false},
		{"apply", one, []string{"apply", "-", "--yes"}, 3, "changed", true},
		{"apply, as JSON", one, []string{"apply", "-", "--yes", "--output", "json"}, 3, `"history"`, true},
		{"apply, refused", refused, []string{"apply", "-", "--yes"}, 1, "is no part", false},
		{"no such command", nothing, []string{"appply", "-"}, 2, "", false},
		{"no such option", nothing, []string{"plan", "-", "--forse"}, 2, "", false},
		{"no file", nothing, []string{"plan"}, 2, "", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := newAppliance(t)
			a.answers[preview] = says(http.StatusOK, c.plan)
			a.answers[applying] = says(http.StatusOK, `{"plan": `+c.plan+`, "history": ["7"]}`)
			out, _, err := a.run(document, append([]string{"settings"}, c.arguments...)...)
			if exitOf(err) != c.exit || !strings.Contains(out, c.says) {
				t.Errorf("exit %d (%v): %s", exitOf(err), err, out)
			}
			last := ""
			if len(a.asked) > 0 {
				last = a.asked[len(a.asked)-1]
			}
			if strings.HasPrefix(last, applying) != c.applied || c.applied && !strings.Contains(last, `"fingerprint":"f1"`) {
				t.Errorf("it asked %q", a.asked)
			}
		})
	}
}

func TestSettingsApplyThatIsRefusedSaysWhy(t *testing.T) {
	a := newAppliance(t)
	a.answers[preview] = says(http.StatusOK, one)
	a.answers[applying] = says(http.StatusConflict, `{"status": 409, "code": "plan_changed", "detail": "It is another plan.", "action": "Look again."}`)
	if _, _, err := a.run(document, "settings", "apply", "-", "--yes"); exitOf(err) != 1 || !strings.Contains(err.Error(), "another plan") {
		t.Errorf("%v", err)
	}
}

func TestSettingsExport(t *testing.T) {
	a := newAppliance(t)
	a.answers["GET /api/settings-document"] = says(http.StatusOK, document)
	a.answers["POST /api/settings-document/export"] = says(http.StatusOK, document)
	folder := t.TempDir()
	file, passphrase := filepath.Join(folder, "settings.json"), filepath.Join(folder, "passphrase")
	if err := os.WriteFile(passphrase, []byte("seventeen tractors\nnot this\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it is there already
		if _, _, err := a.run("", "settings", "export", "--part", "users", "--part", "tokens", "--output", file); err != nil {
			t.Fatal(err)
		}
	}
	if content, err := os.ReadFile(file); err != nil || !json.Valid(content) {
		t.Errorf("%s %v", content, err)
	}
	if a.asked[0] != "GET /api/settings-document?parts=users&parts=tokens" {
		t.Errorf("it asked %q", a.asked)
	}
	if out, _, err := a.run("", "settings", "export", "--seal", "--passphrase-file", passphrase); err != nil || !strings.Contains(out, "cistern-settings") {
		t.Errorf("%s %v", out, err)
	}
	if last := a.asked[len(a.asked)-1]; last != `POST /api/settings-document/export {"passphrase":"seventeen tractors"}` {
		t.Errorf("it asked %q", last)
	}
	if _, _, err := a.run("", "settings", "export", "--seal"); exitOf(err) != 2 {
		t.Errorf("nobody can be asked for the passphrase, and it says %v", err)
	}
}

func TestSettingsSealedDocumentNeedsItsPassphrase(t *testing.T) {
	a := newAppliance(t)
	a.answers[preview] = says(http.StatusOK, nothing)
	sealed := `{"format": "cistern-settings", "sealed": "-----BEGIN", "parts": {}}`
	if _, _, err := a.run(sealed, "settings", "plan", "-"); exitOf(err) != 2 || len(a.asked) > 0 {
		t.Errorf("%v %q", err, a.asked)
	}
	if _, _, err := a.run(sealed, "settings", "plan", "-", "--without-secrets"); err != nil || !strings.Contains(a.asked[0], `"withoutSecrets":true`) {
		t.Errorf("%v %q", err, a.asked)
	}
}

func TestSettingsHistoryAndRestore(t *testing.T) {
	a := newAppliance(t)
	entry := `{"id": "7", "time": "2026-01-01T00:00:00.000Z", "user": "ada", "way": "page", "cause": "change", "part": "retention", "title": "Retention", "added": 0, "changed": 1, "removed": 0}`
	a.answers["GET /api/settings-changes"] = says(http.StatusOK, `{"items": [`+entry+`]}`)
	a.answers["GET /api/settings-changes/7"] = says(http.StatusOK, `{"entry": `+entry+`, "changes": [{"kind": "removed", "path": "/x", "before": 1}]}`)
	a.answers["GET /api/settings-changes/7/restore-preview"] = says(http.StatusOK, one)
	a.answers["POST /api/settings-changes/7/restore"] = says(http.StatusOK, `{"plan": `+one+`, "history": ["8"]}`)
	for _, c := range []struct {
		arguments []string
		exit      int
		says      string
	}{
		{[]string{"history", "--part", "retention", "--limit", "5"}, 0, "7   2026-01-01T00:00:00.000Z  ada   page"},
		{[]string{"show", "7", "--with", "now"}, 0, "removed  /x: 1"},
		{[]string{"restore", "7", "--yes"}, 3, "changed"},
	} {
		if out, _, err := a.run("", append([]string{"settings"}, c.arguments...)...); exitOf(err) != c.exit || !strings.Contains(out, c.says) {
			t.Errorf("%q: %v %s", c.arguments, err, out)
		}
	}
	if a.asked[0] != "GET /api/settings-changes?limit=5&part=retention" || a.asked[1] != "GET /api/settings-changes/7?with=now" {
		t.Errorf("it asked %q", a.asked)
	}
}
