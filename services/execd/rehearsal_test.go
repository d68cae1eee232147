package execd

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cistern/services/daemon/unixsocket"
	"cistern/services/execd/host/illumos"
	"cistern/services/platform/illumos/commands/fake"
)

// rehearsal is a machine that was just installed from an OmniOS image, with execd as it runs there. Its commands take what the
// real ones take; who runs them is what the manifests say.
type rehearsal struct {
	*fake.System
	t     *testing.T
	bench *bench
	repo  string
}

func rehearse(t *testing.T) *rehearsal {
	t.Helper()
	repo, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &rehearsal{System: fake.NewSystem(t, fake.Table()), t: t, repo: repo}
	for n, name := range []string{"c2t0d0", "c2t1d0", "c2t2d0"} {
		r.Disks[name] = &fake.Disk{Bytes: 4 << 40, Serial: "DATA" + string(rune('0'+n))}
	}
	r.Links = []string{"e1000g0", "igb0"}
	r.AddService("svc:/application/cistern/storaged", true)
	r.AddService("svc:/application/cistern/akd", true)
	for path, text := range map[string]string{
		"etc/default/init": "TZ=UTC\nCMASK=022\n", "etc/nodename": "omnios\n", "etc/opt/cistern/image": "0.1.0\n", "etc/vfstab": "",
		"lib/svc/share/smf_include.sh": "SMF_EXIT_OK=0\nSMF_EXIT_ERR_FATAL=95\nSMF_EXIT_ERR_CONFIG=96\n",
		"dev/msglog":                   "", "usr/share/lib/zoneinfo/Europe/Berlin": "", "opt/cistern/version": "0.1.0\n", "var/run/.keep": "",
	} {
		r.Put(path, text, 0o644)
	}
	for _, name := range []string{"cistern-pools", "cistern-identity"} {
		text, err := os.ReadFile(filepath.Join(repo, "smf/method", name))
		if err != nil {
			t.Fatal(err)
		}
		r.Put("lib/svc/method/"+name, string(text), 0o755)
	}
	t.Setenv("CISTERN_ROOT", r.Root)
	return r
}

// script runs one of the image's own scripts under ksh93, as the service of the manifest; without one as init does, with
// everything.
func (r *rehearsal) script(path, manifest string) string {
	r.t.Helper()
	if manifest == "" {
		r.AsRoot()
	} else {
		r.As(filepath.Join(r.repo, "smf", manifest))
	}
	said, err := exec.Command("ksh93", path).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", path, err, said)
	}
	return string(said)
}

// boot starts the services in their order, and execd.
func (r *rehearsal) boot() string {
	r.t.Helper()
	// As `execd --load-firewall` does, with the privileges of that service.
	state := filepath.Join(r.Root, "var/lib/cistern")
	r.As(filepath.Join(r.repo, "smf/illumos/firewall.xml"))
	firewall := func() *Firewall {
		own := func() ([]netip.Prefix, error) { return []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}, nil }
		return NewFirewall(&illumos.Host{Root: r.Root}, state, own, slog.New(slog.NewTextHandler(r.t.Output(), nil)))
	}
	if err := firewall().Load(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	said := r.script(filepath.Join(r.Root, "lib/svc/method/cistern-identity"), "illumos/identity.xml")
	said += r.script(filepath.Join(r.Root, "lib/svc/method/cistern-pools"), "illumos/pools.xml")
	// From now on everything is execd's doing, with its privileges; the methods that it runs have no more.
	r.As(filepath.Join(r.repo, "smf/manifest/execd.xml"))
	b := &bench{t: r.t, state: state}
	wall := firewall()
	if err := wall.Load(context.Background()); err != nil {
		r.t.Fatal(err)
	}
	socket := filepath.Join(r.t.TempDir(), "s")
	listener, err := unixsocket.Listen(socket)
	if err != nil {
		r.t.Fatal(err)
	}
	server := httptest.NewUnstartedServer((&Server{State: state, Host: &illumos.Host{Root: r.Root}, UIDs: []int{os.Getuid()}, Ending: make(chan struct{}), Firewall: wall, beatEvery: time.Second}).Handler())
	server.Listener, server.Config.ConnContext = listener, unixsocket.ConnContext
	server.Start()
	r.t.Cleanup(server.Close)
	b.client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	r.bench = b
	return said
}

// does calls a verb, which must succeed, and reads its answer.
func (r *rehearsal) does(verb, body string, answer any) {
	r.t.Helper()
	status, _, text := r.bench.answer(verb, body)
	if status != http.StatusOK {
		r.t.Fatalf("%s %s: %d %s\n%s", verb, body, status, text, r.Log())
	}
	if answer != nil {
		if err := json.Unmarshal([]byte(text), answer); err != nil {
			r.t.Fatal(err)
		}
	}
}

// filters says whether a rule of IPv4 holds.
func (r *rehearsal) filters(rule string) bool { return slices.Contains(r.Filtered(), rule) }

const storeFMRI = "svc:/application/cistern/storaged"

// From an empty machine to a mirrored pool with a telemetry dataset; a reboot, and it is there again; another boot environment,
// and back.
func TestTheFirstDayOnOmniOS(t *testing.T) {
	r := rehearse(t)
	r.script(filepath.Join(r.repo, "image/omnios/initialboot"), "")
	if said, _ := os.ReadFile(filepath.Join(r.Root, "dev/msglog")); strings.Contains(string(said), "failed") {
		t.Fatalf("initialboot: %s", said)
	}
	for _, call := range []string{"ipadm create-addr -T dhcp -w 0 igb0/dhcp", "zfs create -V 2048m -b 4k rpool/swap", "coreadm -g /var/cores/core.%f.%p -e global -d process"} {
		if !strings.Contains(r.Log(), call+"\n") {
			t.Errorf("initialboot did not call: %s", call)
		}
	}
	if said := r.boot(); !strings.Contains(said, "no dataset is mounted at /srv/telemetry") || r.Enabled(storeFMRI) {
		t.Errorf("a machine without a pool: %s", said)
	}
	code := r.bench.read("setup/code")
	if said, _ := os.ReadFile(filepath.Join(r.Root, "dev/msglog")); !strings.Contains(string(said), "Setup code: "+strings.TrimSpace(code)) || code == "" {
		t.Errorf("the console: %s", said)
	}

	// The wizard.
	var found struct {
		Disks []struct {
			Name string `json:"name"`
		} `json:"disks"`
	}
	r.does("disks.list", `{}`, &found)
	if len(found.Disks) != 4 {
		t.Fatalf("disks: %+v", found)
	}
	if err := os.WriteFile(filepath.Join(r.bench.state, "identity/hostname"), []byte("cellar\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	r.does("system.identity", `{"hostname":"cellar","timezone":"Europe/Berlin"}`, nil)
	if zone, _ := os.ReadFile(filepath.Join(r.Root, "etc/default/init")); !strings.Contains(string(zone), "TZ=Europe/Berlin") || !strings.Contains(r.Log(), "hostname cellar\n") {
		t.Errorf("identity: %s", zone)
	}
	if status, code := r.bench.call("pool.create", `{"name":"tank","vdevs":[{"type":"mirror","disks":["/dev/dsk/c1t0d0","/dev/dsk/c2t0d0"]}]}`); status == 200 || code != "disk_in_use" {
		t.Errorf("the system's own disk: %d %s", status, code)
	}
	r.does("pool.create", `{"name":"tank","vdevs":[{"type":"mirror","disks":["/dev/dsk/c2t0d0","/dev/dsk/c2t1d0"]}],"compression":"lz4","ashift":12}`, nil)
	r.does("telemetry.place", `{"pool":"tank"}`, nil)
	if !r.Enabled(storeFMRI) {
		t.Error("the store does not run")
	}
	r.does("setup.finish", `{}`, nil)
	if _, err := os.Stat(filepath.Join(r.bench.state, "setup/code")); err == nil {
		t.Error("the code still lies there")
	}

	// Until somebody says otherwise the page is open to everybody, and inputs to the machine's own networks.
	if !r.filters("pass in quick proto tcp from any to any port = 443") || !r.filters("block in all") {
		t.Errorf("the firewall: %q", r.Filtered())
	}
	r.does("firewall.set", `{"document":`+wide+`}`, nil)

	r.again("a reboot")
	if !r.filters("pass in quick proto udp from any to any port = 8125") {
		t.Errorf("what was set does not hold after a reboot: %q", r.Filtered())
	}
	// illumos' zfs mounts by itself what it gives a place, and again what was mounted.
	r.does("dataset.create", `{"name":"tank/kept","kind":"filesystem"}`, nil)
	for _, place := range []string{"/srv/kept", "/srv/kept-elsewhere"} {
		r.does("dataset.set", `{"name":"tank/kept","properties":{"mountpoint":"`+place+`"}}`, nil)
		if mounts, _ := os.ReadFile(filepath.Join(r.Root, "etc/mnttab")); strings.Count(string(mounts), "tank/kept\t"+place+"\t") != 1 {
			t.Errorf("%s: %s", place, mounts)
		}
	}
	r.does("dataset.create", `{"name":"tank/home","kind":"filesystem","properties":{"mountpoint":"/srv/home","compression":"lz4"}}`, nil)

	// An update is another boot environment: it starts once, then for good; and the one before can be chosen again.
	r.AsRoot()
	if said, err := exec.Command("beadm", "create", "cistern-0.2").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, said)
	}
	r.As(filepath.Join(r.repo, "smf/manifest/execd.xml"))
	for _, name := range []string{"cistern-0.2", "omnios"} {
		r.does("system.activate", `{"name":"`+name+`"}`, nil)
		r.again("the start of " + name)
		if r.Running() != name {
			t.Errorf("%s runs, not %s", r.Running(), name)
		}
	}
	t.Log("\n" + r.Log())
}

// again reboots; afterwards everything must be as it was.
func (r *rehearsal) again(after string) {
	r.t.Helper()
	r.Reboot()
	if slices.Contains(r.ImportedPools(), "tank") {
		r.t.Fatal("a pool without a cache file was there by itself: the fake is not what illumos is")
	}
	if len(r.Filtered()) > 0 {
		r.t.Fatal("rules of ipfilter outlast a reboot: the fake is not what illumos is")
	}
	if said := r.boot(); strings.Contains(said, "cistern:") {
		r.t.Errorf("%s: %s", after, said)
	}
	if !slices.Contains(r.ImportedPools(), "tank") || !r.Enabled(storeFMRI) {
		r.t.Fatalf("%s: the pools are %v, the store runs: %v\n%s", after, r.ImportedPools(), r.Enabled(storeFMRI), r.Log())
	}
}
