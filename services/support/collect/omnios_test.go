package collect

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"cistern/services/platform/illumos/commands"
	"cistern/services/platform/illumos/commands/fake"
)

func omniosStep(t *testing.T, p Paths, path string) Step {
	t.Helper()
	steps := IllumosSteps(p)
	at := slices.IndexFunc(steps, func(s Step) bool { return s.Category+"/"+s.Name == path })
	if at < 0 {
		t.Fatalf("no step %s", path)
	}
	return steps[at]
}

func collectedText(s Step) (string, error) {
	var out strings.Builder
	err := s.Run(context.Background(), &out)
	return out.String(), err
}

// The fault manager refuses gatherd, which has not the privilege that it asks for; execd has.
func TestFaultsComeFromExecd(t *testing.T) {
	run := t.TempDir()
	credential, err := fake.Credential("../../../smf/manifest/gatherd.xml")
	if err != nil {
		t.Fatal(err)
	}
	fake.New(t, credential).Program("bin/fmadm", "echo 'what only who may is told'")
	step := omniosStep(t, Paths{Run: run}, "hardware/faults.txt")
	if _, err := collectedText(step); err == nil || !strings.Contains(err.Error(), "execd, which asks the fault manager, did not: nobody answers") {
		t.Errorf("without execd: %v", err)
	}

	if err := os.Mkdir(filepath.Join(run, "execd"), 0o755); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("unix", filepath.Join(run, "execd", "http.sock"))
	if err != nil {
		t.Fatal(err)
	}
	broken := false
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodPost || r.URL.Path != "/v1/faults.list":
			http.Error(w, `{"code":"not_found","detail":"There is no such verb."}`, http.StatusNotFound)
		case broken:
			http.Error(w, `{"code":"command_failed","detail":"fmd does not run."}`, http.StatusInternalServerError)
		default:
			_, _ = w.Write([]byte(`{"text":"TIME            EVENT-ID\nNov 21 10:22:20 3a4d3c3e\n"}`))
		}
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { server.Close() })
	text, err := collectedText(step)
	if err != nil || text != "TIME            EVENT-ID\nNov 21 10:22:20 3a4d3c3e\n" {
		t.Errorf("%q %v", text, err)
	}
	broken = true
	if text, err := collectedText(step); err == nil || !strings.Contains(err.Error(), "it answered 500") || !strings.Contains(text, "fmd does not run.") {
		t.Errorf("%q %v", text, err)
	}
}

// What is collected as the configuration is what the manifests start the web server and the SNMP agent with.
func TestTheConfigurationInForceIsCollected(t *testing.T) {
	files := omniosStep(t, Paths{State: "/var/lib/cistern"}, "configuration/files.txt").Files
	given := regexp.MustCompile(`<exec_method type="method" name="start" exec="[^"]* -c (/etc/[^, "]+)`)
	for _, service := range []string{"nginx", "snmpd"} {
		manifest, err := os.ReadFile(filepath.Join("../../../smf/manifest", service+".xml"))
		if err != nil {
			t.Fatal(err)
		}
		path := given.FindSubmatch(manifest)
		if path == nil || !slices.Contains(files, string(path[1])) {
			t.Errorf("%s is started with %q, and collected are %v", service, path, files)
		}
	}
	// Its errors go to the standard error: into the log that SMF keeps of the service.
	configuration, err := os.ReadFile("../../../image/common/nginx/cistern.conf.in")
	if err != nil || !strings.Contains(string(configuration), "\nerror_log stderr ") {
		t.Fatalf("where nginx writes its errors has changed: %v", err)
	}
	if logs := omniosStep(t, Paths{}, "logs/web-server.txt").Files; !slices.Equal(logs, []string{"/var/svc/log/network-cistern-nginx:default.log"}) {
		t.Errorf("the web server's log: %v", logs)
	}
}

// A process is examined only by one that has every privilege it has (priv_proc_cred_perm of usr/src/uts/common/os/priv.c), which
// gatherd has not of execd, tracerd and the web server; pstack (pstack.c) and pfiles (pfiles.c) end with 1 then.
func TestProcessesThatGatherdMayNotExamine(t *testing.T) {
	fakes := fake.New(t, "@../../../smf/manifest/gatherd.xml")
	const refusing = `case $1 in 11) printf '11:\t/opt/cistern/bin/storaged\n' ;; 99) echo "PROGRAM: no such process: 99" >&2; exit 1 ;; *) echo "REFUSAL" >&2; exit 1 ;; esac`
	arguments := `case $4 in 12) echo '/opt/cistern/bin/execd --state /var/lib/cistern' ;; 13) echo '/opt/cistern/bin/tracerd' ;; 14) echo 'nginx: master process' ;; esac`
	fakes.Program("bin/ps", arguments)
	for program, refusal := range map[string]string{"pstack": "pstack: cannot examine $1: permission denied", "pfiles": "pfiles: permission denied: $1"} {
		fakes.Program("bin/"+program, strings.NewReplacer("PROGRAM", program, "REFUSAL", refusal).Replace(refusing))
		step := omniosStep(t, Paths{}, map[string]string{"pstack": "stacks/pstack.txt", "pfiles": "stacks/files.txt"}[program])
		fakes.Program("bin/pgrep", "echo 11 12 13 14")
		text, err := collectedText(step)
		if err != nil {
			t.Errorf("%s: %v", program, err)
		}
		for _, says := range []string{"11:\t/opt/cistern/bin/storaged\n", "12:\t/opt/cistern/bin/execd --state /var/lib/cistern\n  left out: it has privileges that gatherd has not",
			"its stacks are in stacks/execd.txt", "its stacks are in stacks/tracerd.txt", "14:\tnginx: master process\n", "as root: " + program + " 14\n"} {
			if !strings.Contains(text, says) {
				t.Errorf("%s does not say %q:\n%s", program, says, text)
			}
		}
		fakes.Program("bin/pgrep", "echo 11 99")
		if _, err := collectedText(step); err == nil || !strings.Contains(err.Error(), "no such process") {
			t.Errorf("%s: another failure: %v", program, err)
		}
	}
}

// Each command of a bundle on OmniOS is one that the real system takes, from a process with the privileges of who runs it.
func TestTheStepsOfOmniOSAreTaken(t *testing.T) {
	table, err := commands.Load(fake.Table())
	if err != nil {
		t.Fatal(err)
	}
	callers := map[bool]commands.Caller{}
	for root, manifest := range map[bool]string{true: "gatherd.xml", false: "supportd.xml"} {
		credential, err := fake.Credential("../../../smf/manifest/" + manifest)
		if err != nil {
			t.Fatal(err)
		}
		callers[root] = fake.CallerOf(credential)
	}
	for _, step := range IllumosSteps(Paths{}) {
		if step.Command == nil {
			continue
		}
		if _, refused, err := table.Check(step.Command, callers[step.Root]); err != nil || refused != nil {
			t.Errorf("%s/%s: %s: %+v %v", step.Category, step.Name, strings.Join(step.Command, " "), refused, err)
		}
	}
}
