package smf

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Every manifest of the product translates, and keeps the sandbox that the product promises.
func TestProductManifests(t *testing.T) {
	manifests, err := filepath.Glob("../../smf/manifest/*.xml")
	if err != nil || len(manifests) < 6 {
		t.Fatalf("found %d manifests, %v", len(manifests), err)
	}
	for _, path := range manifests {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		service, err := Read(f)
		f.Close()
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		unit, err := Systemd(service)
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, want := range []string{"ProtectSystem=strict\n", "NoNewPrivileges=yes\n", "CapabilityBoundingSet=", "Restart=always\n", "User="} {
			if !strings.Contains(unit.Text, want) {
				t.Errorf("%s: the unit lacks %q", path, want)
			}
		}
		if strings.Contains(unit.Text, "User=root\n") && !strings.Contains(unit.Text, "CapabilityBoundingSet=CAP_") {
			t.Errorf("%s runs as root without a list of capabilities", path)
		}
	}
}

const small = `<service_bundle type="manifest" name="x"><service name="application/cistern/x" type="service" version="1">
<dependency name="d" grouping="GROUPING" restart_on="none" type="service"><service_fmri value="FMRI"/></dependency>
<method_context><method_credential user="cistern" group="cistern" supp_groups="a,b"/><method_environment><envvar name="A" value="b c"/></method_environment></method_context>
<exec_method type="method" name="start" exec="START" timeout_seconds="7"/>
<exec_method type="method" name="refresh" exec=":kill -HUP" timeout_seconds="7"/>
<property_group name="startd" type="framework"><propval name="duration" type="astring" value="child"/></property_group>
<property_group name="linux" type="application"><propval name="unit" type="astring" value="x"/><propval name="type" type="astring" value="notify"/>EXTRA</property_group>
</service></service_bundle>`

func render(t *testing.T, replace ...string) (string, error) {
	t.Helper()
	text := strings.NewReplacer(append(replace, "GROUPING", "require_all", "FMRI", "svc:/system/filesystem/local", "START", "/bin/x", "EXTRA", "")...).Replace(small)
	service, err := Read(strings.NewReader(text))
	if err != nil {
		return "", err
	}
	unit, err := Systemd(service)
	return unit.Text, err
}

func TestTranslation(t *testing.T) {
	text, err := render(t)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"Requires=local-fs.target\nAfter=local-fs.target\n", "Type=notify\n", "ExecStart=/bin/x\n", "TimeoutStartSec=7\n",
		"ExecReload=/bin/kill -HUP $MAINPID\n", "SupplementaryGroups=a b\n", "Environment=\"A=b c\"\n", "PrivateDevices=yes\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q in:\n%s", want, text)
		}
	}
}

// What differs on Linux: the folder of sockets by rule, the rest by name.
func TestLinuxDiffers(t *testing.T) {
	text, err := render(t, "START", "/bin/x --socket /var/run/x", "b c", "/var/run/y")
	if err != nil || !strings.Contains(text, "ExecStart=/bin/x --socket /run/x\n") || !strings.Contains(text, "\"A=/run/y\"") {
		t.Errorf("%v in:\n%s", err, text)
	}
	text, err = render(t, "EXTRA", `<propval name="start" type="astring" value="/linux/x"/><propval name="environment" type="astring" value="A=z"/>`)
	if err != nil || !strings.Contains(text, "ExecStart=/linux/x\n") || !strings.Contains(text, "\"A=z\"") {
		t.Errorf("%v in:\n%s", err, text)
	}
}

// What a manifest closes, and opens one by one.
func TestTheSandboxOfAManifest(t *testing.T) {
	text, err := render(t, "EXTRA", `<propval name="capabilities" type="astring" value="CAP_SYS_ADMIN"/><propval name="capabilities_why" type="astring" value="x"/>`+
		`<propval name="private_devices" type="astring" value="no"/><propval name="device_allow" type="astring" value="block-* rw,/dev/kmsg r"/>`+
		`<propval name="system_calls" type="astring" value="@system-service @mount,~@resources"/><propval name="protect_hostname" type="astring" value="yes"/><propval name="umask" type="astring" value="0077"/>`+
		`<propval name="ip_addresses" type="astring" value="none"/><propval name="more_groups" type="astring" value="c d"/>`)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"DevicePolicy=closed\nDeviceAllow=block-* rw\nDeviceAllow=/dev/kmsg r\nProtectClock=yes\n", "PrivateMounts=yes\nSystemCallFilter=@system-service @mount\nSystemCallFilter=~@resources\n", "ProtectHostname=yes\n",
		"UMask=0077\n", "IPAddressDeny=any\n", "SupplementaryGroups=a b c d\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q in:\n%s", want, text)
		}
	}
}

// The machine itself, and no other.
func TestAddressesOfAManifest(t *testing.T) {
	text, err := render(t, "EXTRA", `<propval name="ip_addresses" type="astring" value="localhost"/>`)
	if err != nil || !strings.Contains(text, "IPAddressDeny=any\nIPAddressAllow=localhost\n") {
		t.Errorf("%v in:\n%s", err, text)
	}
}

// What may be tuned on illumos has the manifest's value here, in the start method of either system.
func TestTokens(t *testing.T) {
	extra := `</property_group><property_group name="config" type="application"><propval name="a" type="count" value="7"/><propval name="b" type="astring" value=""/>`
	text, err := render(t, "START", "/bin/x --a %{config/a} --b=%{config/b} 100%%", "EXTRA", extra)
	if err != nil || !strings.Contains(text, "ExecStart=/bin/x --a 7 --b= 100%%\n") {
		t.Errorf("%v in:\n%s", err, text)
	}
	text, err = render(t, "EXTRA", `<propval name="start" type="astring" value="/linux/x %{config/a}"/>`+extra)
	if err != nil || !strings.Contains(text, "ExecStart=/linux/x 7\n") {
		t.Errorf("%v in:\n%s", err, text)
	}
}

func TestMistakesAreErrors(t *testing.T) {
	for name, c := range map[string]struct {
		replace []string
		want    string
	}{
		"unknown dependency":           {[]string{"FMRI", "svc:/no/such"}, "no systemd counterpart"},
		"unknown grouping":             {[]string{"GROUPING", "exclude_all"}, "no counterpart in systemd"},
		"no start method":              {[]string{"START", ""}, "no start method"},
		"mistyped property":            {[]string{"EXTRA", `<propval name="privat_devices" type="astring" value="no"/>`}, "privat_devices is not known"},
		"variable nobody has":          {[]string{"EXTRA", `<propval name="environment" type="astring" value="B=1"/>`}, "sets B"},
		"variable without a value":     {[]string{"EXTRA", `<propval name="environment" type="astring" value="B"/>`}, "not NAME=VALUE"},
		"token of nothing":             {[]string{"START", "/bin/x %{config/a}"}, "config/a is used in a method but not set"},
		"token without a group":        {[]string{"START", "/bin/x %{a}"}, "is no token that is translated"},
		"token of svc.startd alone":    {[]string{"START", "/bin/x %i"}, "is no token that is translated"},
		"token cut off":                {[]string{"START", "/bin/x %"}, "is no token that is translated"},
		"value that needs quotes":      {[]string{"START", "/bin/x %{config/a}", "EXTRA", `</property_group><property_group name="config" type="application"><propval name="a" type="astring" value="b c"/>`}, "needs quotes"},
		"addresses that are not known": {[]string{"EXTRA", `<propval name="ip_addresses" type="astring" value="some"/>`}, "it is none"},
		"capability without a reason":  {[]string{"EXTRA", `<propval name="capabilities" type="astring" value="CAP_SYS_ADMIN"/>`}, "need their reason"},
	} {
		if _, err := render(t, c.replace...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := Read(strings.NewReader("not xml")); err == nil {
		t.Error("text that is no manifest was read")
	}
}

// highest is the exposure that systemd may find in a unit, and why some have more.
var highest = map[string]struct {
	exposure float64
	why      string
}{
	"cistern-execd.service":   {4.6, "it changes pools, disks, mounts and parameters of the kernel as root, and asks the web page of this machine"},
	"cistern-tracerd.service": {4.4, "it loads programs into the kernel"},
	"cistern-sshd.service":    {4.9, "it becomes the account of whoever signs in"},
	// Each of these runs for a moment. A mount that is made in a view of its own is seen by nobody else.
	"cistern-mount@.service":             {4.1, mounts},
	"cistern-unmount@.service":           {4.1, mounts},
	"cistern-pools.service":              {4.3, mounts},
	"cistern-system-pool.service":        {9.5, "it partitions the system disk and mounts the state at boot"},
	"cistern-identity.service":           {9.5, "it makes host name, keys and accounts' folders at boot, and runs other programs that do"},
	"cistern-install@.service":           {9.4, "it installs the system, while no other is there"},
	"cistern-install-unattended.service": {9.4, "it installs the system, while no other is there"},
}

const mounts = "it mounts file systems for the whole machine"

var overallExposure = regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+) `)

// checkExposure measures a unit's file, and compares it with what is allowed.
func checkExposure(t *testing.T, file string) {
	t.Helper()
	name := filepath.Base(file)
	said, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", file).CombinedOutput()
	found := overallExposure.FindSubmatch(said)
	if found == nil {
		t.Fatalf("%s: %v %.300s", name, err, said)
	}
	exposure, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	limit := 3.0
	if one, more := highest[name]; more {
		limit = one.exposure
	}
	t.Logf("%s: %.1f, of at most %.1f %s", name, exposure, limit, highest[name].why)
	if exposure > limit {
		t.Errorf("%s: an exposure of %.1f, more than %.1f", name, exposure, limit)
	}
}

func TestUnitsAreExposedLittle(t *testing.T) {
	written, err := filepath.Glob("../../image/debian/files/etc/systemd/system/*.service")
	if err != nil || len(written) < 10 {
		t.Fatalf("%d units: %v", len(written), err)
	}
	for _, path := range written {
		checkExposure(t, path)
	}
	manifests, err := filepath.Glob("../../smf/manifest/*.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range manifests {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		service, err := Read(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		unit, err := Systemd(service)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), unit.Name)
		if err := os.WriteFile(file, []byte(unit.Text), 0o600); err != nil {
			t.Fatal(err)
		}
		checkExposure(t, file)
	}
}
