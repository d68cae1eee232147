package cli

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestAppliancesHaveNames(t *testing.T) {
	a := newAppliance(t)
	out, _, err := a.run("", "appliances")
	if err != nil || !strings.Contains(out, "NAME") || strings.Count(out, "\n") != 1 {
		t.Fatalf("%v %q", err, out)
	}
	berlin := a.options
	berlin.Appliance, berlin.URL = "berlin", "https://berlin.test"
	if err := os.MkdirAll(berlin.appliances(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := berlin.save(session{URL: "https://berlin.test", Cookie: "__Host-cistern_session=s3cret"}); err != nil {
		t.Fatal(err)
	}
	out, _, err = a.run("", "appliances")
	if err != nil || !strings.Contains(out, "berlin  https://berlin.test  yes") || strings.Contains(out, "s3cret") {
		t.Errorf("%v %q", err, out)
	}
	out, _, err = a.run("", "appliances", "--json")
	if err != nil || out != `{"items":[{"name":"berlin","url":"https://berlin.test","signedIn":true}]}`+"\n" {
		t.Errorf("%v %q", err, out)
	}
	// The one without a name is another one.
	if s := a.options.load(); s.URL != "" || s.Cookie != "" {
		t.Errorf("%+v", s)
	}
	paris := a.options
	paris.Appliance = "paris"
	if _, err := paris.Connect().Do(t.Context(), "GET", "/", nil, nil); err == nil || !strings.Contains(err.Error(), "there is no appliance paris") {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		arguments string
		words     string
	}{
		{"users --appliance Paris/..", "small letters"},
		{"users --appliance paris", "there is no appliance paris"},
		{"sign-in --appliance paris --user ada", "name it with --url"},
	} {
		if _, _, err := a.run("", strings.Fields(c.arguments)...); err == nil || !strings.Contains(err.Error(), c.words) || len(a.asked) != 0 {
			t.Errorf("%s: %v %q", c.arguments, err, a.asked)
		}
	}
}

func TestWordsAreCompleted(t *testing.T) {
	a := newAppliance(t)
	a.options.Own = []string{"journal pipe", "import"}
	if err := os.MkdirAll(a.options.appliances(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.options.appliances(), "berlin"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for words, want := range map[string]string{
		"us": "users", "jour": "journal", "journal |": "pipe", "sign": "sign-in sign-out", "users cr": "create",
		"users create --r": "--role", "users create --role |": "administrator operator viewer", "sign-in --b": "--browser",
		"--appliance |": "berlin", "completion z": "zsh", "completion p": "powershell", `completion ""`: "bash fish powershell zsh", "pools --out": "--output", "--output |": "json", "nonsense |": "", "nonsense --j": "--json",
	} {
		typed := strings.Fields(words)
		if typed[len(typed)-1] == "|" {
			typed[len(typed)-1] = ""
		}
		out, _, err := a.run("", append([]string{completeWord}, typed...)...)
		if got := strings.Join(strings.Fields(out), " "); err != nil || got != want {
			t.Errorf("%s: %q, not %q (%v)", words, got, want, err)
		}
	}
	// What the appliance says of itself is kept: now nobody answers, and it is known all the same.
	away := a.options
	away.Socket = filepath.Join(t.TempDir(), "nobody")
	var out bytes.Buffer
	if err := Run(t.Context(), Streams{Out: &out}, away, []string{completeWord, "users", "de"}); err != nil || out.String() != "delete\n" {
		t.Errorf("%v %q", err, out.String())
	}
	away.Config, away.Cache = t.TempDir(), t.TempDir()
	out.Reset()
	if err := Run(t.Context(), Streams{Out: &out}, away, []string{completeWord, "sign-i"}); err != nil || out.String() != "sign-in\n" {
		t.Errorf("%v %q", err, out.String())
	}
}

// The scripts are run by the shells themselves, where there are some.
func TestShellsTakeTheScripts(t *testing.T) {
	a := newAppliance(t)
	folder := t.TempDir()
	program := "#!/bin/sh\nshift; printf '%s\\n' \"asked:$*\" > " + folder + "/asked; printf 'one\\ntwo\\n'\n"
	if err := os.WriteFile(filepath.Join(folder, "cistern"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	script, _, err := a.run("", "completion", "bash")
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command("bash", "-c", script+"COMP_WORDS=(cistern users cr); COMP_CWORD=2; _cistern; echo \"${COMPREPLY[*]}\"")
	run.Env = []string{"PATH=" + folder + ":/usr/bin:/bin"}
	out, err := run.CombinedOutput()
	if err != nil || strings.TrimSpace(string(out)) != "one two" {
		t.Fatalf("%v %s", err, out)
	}
	if asked, _ := os.ReadFile(filepath.Join(folder, "asked")); strings.TrimSpace(string(asked)) != "asked:users cr" {
		t.Errorf("%q", asked)
	}
	for _, shell := range []string{"zsh", "fish"} {
		script, _, err := a.run("", "completion", shell)
		if err != nil || !strings.Contains(script, completeWord) {
			t.Errorf("%s: %v", shell, err)
		}
		if path, err := exec.LookPath(shell); err == nil {
			check := exec.Command(path, "-n", "-c", script)
			if out, err := check.CombinedOutput(); err != nil {
				t.Errorf("%s: %v %s", shell, err, out)
			}
		} else {
			t.Logf("%s is not installed here: its script was not run", shell)
		}
	}
	if _, _, err := a.run("", "completion", "tcsh"); err == nil || !strings.Contains(err.Error(), "bash, zsh, fish or powershell") {
		t.Errorf("%v", err)
	}
}
