package execd

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
	"cistern/services/execd/host"
)

// fakeHost is an operating system whose disks are what the test says. zpool and zfs are programs of the test's (see
// kinds_test.go): what real ones do is the VM tests' business, what is asked of them is this one's.
type fakeHost struct {
	service func(name, action string) error // nil: it succeeds
	disks   map[string]string               // path → device
	mounted bool
	taken   string // a path at which something is mounted
	busy    string // a dataset that cannot be unmounted
	// Where a snapshot is "mounted", and a volume's device.
	snapshot, volume string
	systems          []host.System
	stubborn         bool // choosing a system changes nothing
	controller       string
	enclosures       []host.Enclosure
	unmountedOptions []string
	zfs              host.ZFS
	events           []string
	isLeaf           func(leaf, device string) bool // nil: the same words
	poolOptions      []string
	listed           []host.Disk
	did              []string
	wall             fakeWall
	clock            fakeClock
	net              fakeNetwork
	tuned            fakeTunables
}

func (h *fakeHost) CheckDisk(path string, _ int64) (string, error) {
	if device, ok := h.disks[path]; ok {
		return device, nil
	}
	return "", problem.New(http.StatusConflict, "disk_missing", "The disk "+filepath.Base(path)+" is not there.", "Choose another one.")
}
func (h *fakeHost) Disks(context.Context) ([]host.Disk, error) { return h.listed, nil }
func (h *fakeHost) DiskDevice(path string) (string, error)     { return h.CheckDisk(path, 0) }
func (h *fakeHost) SmartDevice(device string) string {
	return strings.Replace(device, "/dev/dsk/", "/dev/rdsk/", 1)
}
func (h *fakeHost) IsLeaf(leaf, device string) bool {
	if h.isLeaf != nil {
		return h.isLeaf(leaf, device)
	}
	return leaf == device
}
func (h *fakeHost) ImportOptions() []string { return nil }
func (h *fakeHost) WipeDisk(_ context.Context, device string) error {
	h.did = append(h.did, "wipe "+device)
	return nil
}
func (h *fakeHost) Faults(context.Context) (string, error) { return "TIME  EVENT-ID\n", nil }

func (h *fakeHost) Inventory(context.Context) (string, error) {
	return "Handle 0x0001, DMI type 1\n", nil
}
func (h *fakeHost) Cards(context.Context) (string, error) { return "hc:///pciexfn=0\n", nil }
func (h *fakeHost) ControllerInterface() string           { return h.controller }
func (h *fakeHost) Enclosures() ([]host.Enclosure, error) {
	return h.enclosures, nil
}

func (h *fakeHost) Locate(_ context.Context, device string, on bool) error {
	if device != "/dev/sda" {
		return host.ErrNoLight
	}
	h.did = append(h.did, "locate "+device+" "+strconv.FormatBool(on))
	return nil
}
func (h *fakeHost) SettleDevices(context.Context)    { h.did = append(h.did, "settle") }
func (h *fakeHost) PoolOptions() []string            { return h.poolOptions }
func (h *fakeHost) MountPools(context.Context) error { h.did = append(h.did, "mount"); return nil }
func (h *fakeHost) Mounted(path string) bool         { return h.mounted || h.taken != "" && path == h.taken }
func (h *fakeHost) Service(_ context.Context, name, action string) error {
	h.did = append(h.did, action+" "+name)
	if h.service != nil {
		return h.service(name, action)
	}
	return nil
}
func (h *fakeHost) ZFS() host.ZFS              { return h.zfs }
func (h *fakeHost) EventsCommand() []string    { return h.events }
func (h *fakeHost) UnmountedOptions() []string { return h.unmountedOptions }
func (h *fakeHost) MountDataset(_ context.Context, dataset string) error {
	h.did = append(h.did, "mount "+dataset)
	return nil
}
func (h *fakeHost) UnmountDataset(_ context.Context, dataset string) error {
	if h.busy == dataset {
		return errors.New("target is busy")
	}
	h.did = append(h.did, "unmount "+dataset)
	return nil
}
func (h *fakeHost) OpenSnapshot(context.Context, string) (*os.Root, func(), error) {
	h.did = append(h.did, "mount snapshot")
	root, err := os.OpenRoot(h.snapshot)
	return root, func() {
		_ = root.Close()
		h.did = append(h.did, "unmount snapshot")
	}, err
}
func (h *fakeHost) VolumePath(string) string { return h.volume }
func (h *fakeHost) ApplyIdentity(context.Context) error {
	h.did = append(h.did, "identity")
	return nil
}
func (h *fakeHost) AttachSystemDisk(_ context.Context, disk string) error {
	h.did = append(h.did, "attach "+disk)
	return nil
}
func (h *fakeHost) Systems(context.Context) ([]host.System, error) {
	return slices.Clone(h.systems), nil
}
func (h *fakeHost) ActivateSystem(_ context.Context, systems []host.System, name string) error {
	h.did = append(h.did, "activate "+name)
	for i, one := range systems {
		if h.stubborn {
			break
		}
		h.systems[i].Starts = map[bool]string{true: host.StartsNext, false: host.StartsNot}[one.Name == name]
	}
	return nil
}
func (h *fakeHost) Power(_ context.Context, action string) error {
	h.did = append(h.did, action)
	return nil
}

type bench struct {
	t      *testing.T
	state  string
	host   *fakeHost
	server *Server
	client *http.Client
	put    func(name, script string)
	end    func() // as when the process is to end
}

// start serves execd to this process, on a machine with Linux. zpool and zfs are the shell scripts given, first on the PATH.
func start(t *testing.T, zpool, zfs string, uids ...int) *bench {
	t.Helper()
	return onLinux.start(t, zpool, zfs, uids...)
}

// start is the same on a machine of that kind.
func (k kind) start(t *testing.T, zpool, zfs string, uids ...int) *bench {
	t.Helper()
	b := &bench{t: t, host: k.host()}
	b.host.disks = map[string]string{}
	b.state, b.put = k.folder(t)
	b.program("zpool", zpool)
	b.program("zfs", zfs)
	for _, dir := range []string{"execd", "identity", "setup"} {
		if err := os.Mkdir(filepath.Join(b.state, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if len(uids) == 0 {
		uids = []int{os.Getuid()}
	}
	socket := filepath.Join(b.state, "socket")
	listener, err := unixsocket.Listen(socket)
	if err != nil {
		t.Fatal(err)
	}
	ending := make(chan struct{})
	b.end = sync.OnceFunc(func() { close(ending) })
	b.server = &Server{State: b.state, Host: b.host, Time: NewTime(b.host, b.state, slog.New(slog.DiscardHandler)), UIDs: uids, Ending: ending, beatEvery: 50 * time.Millisecond}
	server := httptest.NewUnstartedServer(b.server.Handler())
	server.Listener, server.Config.ConnContext = listener, unixsocket.ConnContext
	server.Start()
	t.Cleanup(server.Close)
	b.client = &http.Client{Transport: &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) { return net.Dial("unix", socket) }}}
	return b
}

// call posts a verb and answers with the status and the problem's code ("" on success).
func (b *bench) call(verb, body string) (int, string) {
	b.t.Helper()
	status, code, _ := b.answer(verb, body)
	return status, code
}

// answer is the status, the code of a problem, and the whole answer.
func (b *bench) answer(verb, body string) (int, string, string) {
	b.t.Helper()
	response, err := b.client.Post("http://unix/v1/"+verb, "application/json", strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	var document struct{ Code, Detail string }
	if response.StatusCode >= 400 {
		if err := json.Unmarshal(content, &document); err != nil || document.Detail == "" {
			b.t.Fatalf("%s: %s is no problem document", verb, content)
		}
	}
	return response.StatusCode, document.Code, string(content)
}

func (b *bench) want(verb, body string, status int, code string) {
	b.t.Helper()
	if s, c := b.call(verb, body); s != status || c != code {
		b.t.Errorf("%s %s: %d %q, want %d %q", verb, body, s, c, status, code)
	}
}

func (b *bench) read(name string) string {
	content, err := os.ReadFile(filepath.Join(b.state, name))
	if err != nil {
		return ""
	}
	return string(content)
}

const two = `{"name":"tank","vdevs":[{"type":"mirror","disks":["/dev/disk/by-id/a","/dev/disk/by-id/b"]}],"compression":"lz4","ashift":12}`

// absent is a zpool that knows no pool and makes every one.
const absent = `[ "$1" != list ]`

func TestStrangersAreRefused(t *testing.T) {
	b := start(t, absent, "", os.Getuid()+1)
	b.want("power", `{"action":"off"}`, 403, "forbidden")
	if len(b.host.did) != 0 {
		t.Errorf("it did %v", b.host.did)
	}
}

func TestPoolIsMadeAndRemembered(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, absent, "")
		if _, _, text := b.answer("pool.remembered", `{}`); text != "{\"pools\":[]}\n" {
			t.Error(text)
		}
		b.host.disks = k.disks()
		b.want("pool.create", k.two(), 200, "")
		want := "zpool create -o ashift=12 -o cachefile=none -O compression=lz4 -O atime=off -O canmount=off -O mountpoint=none " + k.options + "tank mirror " + k.a + " " + k.b + "\n"
		if ran := b.read("ran"); !strings.HasSuffix(ran, want) {
			t.Errorf("ran:\n%s", ran)
		}
		if b.read("execd/pools") != "tank\n" {
			t.Errorf("remembered %q", b.read("execd/pools"))
		}
		if status, _, text := b.answer("pool.remembered", `{}`); status != 200 || text != "{\"pools\":[\"tank\"]}\n" {
			t.Errorf("%d %s", status, text)
		}
		if audit := b.read("execd/audit.log"); strings.Count(audit, `"verb":"pool.create"`) != 2 || !strings.Contains(audit, `"outcome":"done"`) {
			t.Errorf("audited:\n%s", audit)
		}
	})
}

func TestAPoolIsMadeInOnePieceWithItsLogAndSpare(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, absent, "")
		b.host.disks = k.disks()
		beside := func(words string) string { return strings.TrimSuffix(k.two(), "}") + `,"beside":[` + words + `]}` }
		disk := func(name string) string { return `{"type":"stripe","disks":["` + name + `"]}` }
		b.want("pool.create", beside(`{"kind":"log","vdevs":[`+disk(k.c)+`]},{"kind":"spare","vdevs":[`+disk(k.d)+`]}`), 200, "")
		want := "tank mirror " + k.a + " " + k.b + " log " + k.c + " spare " + k.d + "\n"
		if ran := b.read("ran"); !strings.HasSuffix(ran, want) {
			t.Errorf("ran:\n%s", ran)
		}
		b.want("pool.create", beside(`{"kind":"spare","vdevs":[`+disk(k.a)+`]}`), 400, "invalid_request")
		b.want("pool.create", beside(`{"kind":"data","vdevs":[`+disk(k.c)+`]}`), 400, "invalid_request")
		b.want("pool.create", beside(`{"kind":"log","vdevs":[]}`), 400, "invalid_request")
		if ran := b.read("ran"); strings.Count(ran, "zpool create") != 1 {
			t.Errorf("ran:\n%s", ran)
		}
	})
}

func TestPartitionsThatComeLateAreWaitedFor(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		for _, said := range []string{"cannot create 'tank': one or more devices is currently unavailable", "cannot create 'tank': no such pool or dataset",
			"cannot label 'sda': failed to detect device partitions on '/dev/sda1': 19"} {
			b := k.start(t, `[ "$1" != list ] || exit 1
[ "$1" = create ] && ! [ -e "$0.second" ] && { touch "$0.second"; echo "`+said+`" >&2; exit 1; }
true`, "")
			b.host.disks = k.disks()
			b.want("pool.create", k.two(), 200, "")
			if ran := b.read("ran"); strings.Count(ran, "zpool create") != 2 || !slices.Contains(b.host.did, "settle") {
				t.Errorf("%s: ran:\n%s\ndid %v", said, ran, b.host.did)
			}
		}
	})
}

func TestAPoolWhoseDisksAreNamedJustNowIsImportedAllTheSame(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, `[ "$1" != list ] || exit 1
[ "$1" = import ] && ! [ -e "$0.second" ] && { touch "$0.second"; echo "cannot import '12345': no such pool available" >&2; exit 1; }
true`, "")
		b.want("pool.import", `{"guid":"12345","name":"other"}`, 200, "")
		if ran := b.read("ran"); strings.Count(ran, "zpool import -N") != 2 || !slices.Contains(b.host.did, "settle") {
			t.Errorf("ran:\n%s\ndid %v", ran, b.host.did)
		}
	})
}

func TestBadPoolsTouchNothing(t *testing.T) {
	b := start(t, absent, "")
	b.host.disks = map[string]string{"/dev/disk/by-id/a": "/dev/sda", "/dev/disk/by-id/b": "/dev/sdb", "/dev/disk/by-id/again-a": "/dev/sda"}
	for body, code := range map[string]string{
		`{`: "malformed_json",
		strings.Replace(two, `"ashift":12`, `"force":true`, 1):            "unknown_field",
		strings.Replace(two, `"tank"`, `"mirror-0"`, 1):                   "invalid_request",
		strings.Replace(two, `"tank"`, `"-f"`, 1):                         "invalid_request",
		strings.Replace(two, `"tank"`, `"system"`, 1):                     "invalid_request",
		strings.Replace(two, `"lz4"`, `"lz4 -o x=y"`, 1):                  "invalid_request",
		strings.Replace(two, `"ashift":12`, `"ashift":40`, 1):             "invalid_request",
		strings.Replace(two, `"mirror"`, `"special"`, 1):                  "invalid_request",
		strings.Replace(two, `,"/dev/disk/by-id/b"`, ``, 1):               "invalid_request",
		strings.Replace(two, `/dev/disk/by-id/b`, `/dev/disk/by-id/c`, 1): "disk_missing",
		strings.Replace(two, `by-id/b`, `by-id/again-a`, 1):               "invalid_request",
		`{"name":"tank","vdevs":[]}`:                                      "invalid_request",
	} {
		if status, got := b.call("pool.create", body); got != code || status < 400 {
			t.Errorf("%s: %d %s, want %s", body, status, got, code)
		}
	}
	if ran := b.read("ran"); strings.Contains(ran, "create") {
		t.Errorf("ran:\n%s", ran)
	}
	if b.read("execd/pools") != "" {
		t.Errorf("remembered %q", b.read("execd/pools"))
	}
}

func TestFailedCreationLeavesNothing(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		for said, code := range map[string]string{
			"cannot create 'tank': " + k.b + " is in use and contains a unknown filesystem.": "disk_in_use",
			"cannot resolve path '" + k.b + "'":                                              "disk_missing",
			"cannot create 'tank': out of memory":                                            "command_failed",
		} {
			// zpool list finds the pool once create has begun: half of it is there, and must go.
			b := k.start(t, `case $1 in list) grep -q "zpool create" "`+"$(dirname \"$0\")/../ran"+`" ;; create) echo "`+said+`" >&2; exit 1 ;; esac`, "")
			b.host.disks = k.disks()
			if _, got := b.call("pool.create", k.two()); got != code {
				t.Errorf("%s: %s, want %s", said, got, code)
			}
			if ran := b.read("ran"); !strings.Contains(ran, "zpool destroy -f tank") {
				t.Errorf("half a pool is left:\n%s", ran)
			}
			if b.read("execd/pools") != "" {
				t.Errorf("remembered %q", b.read("execd/pools"))
			}
		}
	})
}

func TestExistingPoolIsNotTouched(t *testing.T) {
	b := start(t, "true", "")
	b.host.disks = map[string]string{"/dev/disk/by-id/a": "/dev/sda", "/dev/disk/by-id/b": "/dev/sdb"}
	b.want("pool.create", two, 409, "pool_exists")
	b.want("pool.destroy", `{"name":"tank","confirm":"tan"}`, 400, "invalid_request")
	b.want("pool.destroy", `{"name":"system","confirm":"system"}`, 400, "invalid_request")
	if ran := b.read("ran"); strings.Contains(ran, "create") || strings.Contains(ran, "destroy") {
		t.Errorf("ran:\n%s", ran)
	}
}

func TestTelemetryIsPlacedOnce(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, "true", "")
		b.host.mounted = true
		b.want("telemetry.place", `{"pool":"tank"}`, 200, "")
		if ran := b.read("ran"); !strings.Contains(ran, "zfs create "+k.unmounted+"-o mountpoint=/srv/telemetry tank/telemetry") {
			t.Errorf("ran:\n%s", ran)
		}
		if strings.Join(b.host.did, ", ") != "mount, start storaged" {
			t.Errorf("did %v", b.host.did)
		}
		elsewhere := k.start(t, "true", `[ "$1" = list ] && printf 'other/telemetry\t/srv/telemetry\n'`)
		elsewhere.want("telemetry.place", `{"pool":"tank"}`, 409, "conflict")
		unmounted := k.start(t, "true", "")
		unmounted.want("telemetry.place", `{"pool":"tank"}`, 500, "command_failed")
		if strings.Contains(strings.Join(unmounted.host.did, " "), "storaged") {
			t.Error("storaged was started without its dataset")
		}
	})
}

func TestIdentity(t *testing.T) {
	b := start(t, "", "")
	b.want("system.identity", `{"hostName":"Tank.Example","timeZone":"Etc/UTC"}`, 200, "")
	if b.read("identity/hostname") != "tank.example\n" || b.read("identity/timezone") != "Etc/UTC\n" {
		t.Errorf("kept %q %q", b.read("identity/hostname"), b.read("identity/timezone"))
	}
	for _, body := range []string{
		`{"hostName":"-x","timeZone":"Etc/UTC"}`, `{"hostName":"a b","timeZone":"Etc/UTC"}`, `{"hostName":"","timeZone":"Etc/UTC"}`,
		`{"hostName":"` + strings.Repeat("a.", 40) + `a","timeZone":"Etc/UTC"}`,
		`{"hostName":"x","timeZone":"../../etc/passwd"}`, `{"hostName":"x","timeZone":"Mars/Base"}`, `{"hostName":"x","timeZone":"Etc"}`,
	} {
		b.want("system.identity", body, 400, "invalid_request")
	}
	if b.read("identity/hostname") != "tank.example\n" || len(b.host.did) != 1 {
		t.Errorf("changed by a bad request: %q, %v", b.read("identity/hostname"), b.host.did)
	}
}

func TestSetupFinishes(t *testing.T) {
	b := start(t, "", "")
	if err := os.WriteFile(filepath.Join(b.state, "setup", "code"), []byte("AAAA\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second time is harmless
		b.want("setup.finish", `{}`, 200, "")
	}
	files, _ := filepath.Glob(filepath.Join(b.state, "setup", "*"))
	if len(files) != 1 || filepath.Base(files[0]) != "done" {
		t.Errorf("left: %v", files)
	}
}

func TestServicesAndPower(t *testing.T) {
	b := start(t, "", "")
	b.want("service.action", `{"service":"storaged","action":"restart"}`, 200, "")
	b.want("service.action", `{"service":"sshd","action":"start"}`, 400, "invalid_request")
	b.want("service.action", `{"service":"akd","action":"stop"}`, 409, "conflict")
	b.want("service.action", `{"service":"akd","action":"kill"}`, 400, "invalid_request")
	b.want("power", `{"action":"explode"}`, 400, "invalid_request")
	b.want("power", `{"action":"reboot"}`, 200, "")
	b.want("no.such", `{}`, 404, "not_found")
	if strings.Join(b.host.did, ", ") != "restart storaged, reboot" {
		t.Errorf("did %v", b.host.did)
	}
}
