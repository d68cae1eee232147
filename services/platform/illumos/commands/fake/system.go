package fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"cistern/services/platform/illumos/commands"
)

// socketEnv names the socket of the System that a fake belongs to: what the table lets through goes on there.
const socketEnv = "CISTERN_ILLUMOS_SYSTEM"

// System is an illumos machine in a folder: its disks, pools, datasets, services and boot environments last over Reboot, and
// what a real one forgets is forgotten. Its commands are asked for by the programs under test; each call was taken by the
// table of real commands before it gets here. What no handler knows fails the test.
type System struct {
	*Machine
	mu sync.Mutex
	// Of the hardware.
	Disks map[string]*Disk
	Links []string
	// What is on the disks.
	pools        map[string]*zpool
	environments []*environment
	services     map[string]*service
	hostname     string
	memoryMiB    int
	// What a reboot forgets.
	mounted map[string]string // dataset → place
	swap    []string
	filter  ipfilter
	input   string   // what the call that is being answered reads
	log     []string // every call, as "caller: argv"
}

// Disk is a disk by the name of cXtYdZ.
type Disk struct {
	Bytes  int64
	Serial string
	Label  string // the pool that it belongs to
}

type zpool struct {
	leaves     [][]string // a vdev each
	kind       []string
	properties map[string]string
	guid       int64
	imported   bool
	cached     bool // it is in zpool.cache
	datasets   map[string]map[string]string
}

type environment struct {
	name          string
	running, next bool
	once          bool
	created       int64
}

// service is enabled for good or not; override is what holds until the next boot instead.
type service struct {
	enabled  bool
	override *bool
}

func (s *service) runs() bool {
	if s.override != nil {
		return *s.override
	}
	return s.enabled
}

type request struct {
	Argv   []string `json:"argv"`
	Caller string   `json:"caller"`
	Input  string   `json:"input,omitempty"`
}

// sameEverywhere are commands that change nothing of the machine that the tests run on, and print there what they print here.
var sameEverywhere = []string{"ls", "date", "df", "getconf", "id", "pagesize"}

// NewSystem is a machine with an installed rpool on c1t0d0 and the boot environment `omnios`; Disks and Links can be added.
func NewSystem(t *testing.T, table string) *System {
	t.Helper()
	s := &System{
		Machine: New(t, ""), Disks: map[string]*Disk{"c1t0d0": {Bytes: 16 << 30, Serial: "SYSTEM", Label: "rpool"}}, hostname: "omnios", memoryMiB: 8192,
		Links: []string{"e1000g0"}, services: map[string]*service{}, mounted: map[string]string{},
		environments: []*environment{{name: "omnios", running: true, next: true, created: 1795000000}},
	}
	s.pools = map[string]*zpool{"rpool": {
		leaves: [][]string{{"c1t0d0"}}, kind: []string{"disk"}, imported: true, cached: true, guid: 1111, properties: map[string]string{"bootsize": "256M"},
		datasets: map[string]map[string]string{"rpool": {"mountpoint": "/rpool", "canmount": "on"}, "rpool/cistern": {"mountpoint": "/var/lib/cistern", "canmount": "on"}},
	}}
	s.mountAll()
	address := filepath.Join(t.TempDir(), "s")
	listener, err := net.Listen("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go s.serve(listener, table)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Also of what has no handler, and of what the table lacks: the machine that the tests run on has commands of the same names,
	// and those must never be run.
	all, err := commands.Load(table)
	if err != nil {
		t.Fatal(err)
	}
	names := sorted(handlers)
	for _, c := range all.All() {
		if !slices.Contains(sameEverywhere, c.Name) {
			names = append(names, c.Name)
		}
	}
	for _, name := range names {
		s.Put("bin/"+name, fmt.Sprintf("#!/bin/sh\n%s='%s' %s='%s' exec '%s' \"${0##*/}\" \"$@\"\n", asksEnv, table, socketEnv, address, self), 0o755)
	}
	// Only root can, and the tests need not be root.
	s.Put("bin/chown", "#!/bin/sh\nexit 0\n", 0o755)
	return s
}

// As makes the following calls those of a service: its method_credential in the manifest says who that is.
func (s *System) As(manifest string) {
	s.t.Helper()
	caller, err := Credential(manifest)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Setenv(callerEnv, caller)
}

// AsRoot makes the following calls those of a root shell.
func (s *System) AsRoot() { s.t.Setenv(callerEnv, "") }

// Log is every call so far, with who made it.
func (s *System) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.log, "\n") + "\n"
}

func (s *System) serve(listener net.Listener, table string) {
	for {
		c, err := listener.Accept()
		if err != nil {
			return
		}
		var asked request
		answer := commands.Answer{Exit: unknown}
		if err := json.NewDecoder(c).Decode(&asked); err == nil {
			answer = s.answer(asked, table)
		}
		_ = json.NewEncoder(c).Encode(answer)
		_ = c.Close()
	}
}

func (s *System) answer(asked request, dir string) commands.Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	table, err := commands.LoadOnly(dir, asked.Argv[0])
	if err != nil {
		return commands.Answer{Exit: unknown, Stderr: err.Error()}
	}
	call, refused, err := table.Check(asked.Argv, CallerOf(asked.Caller))
	if err != nil || refused != nil {
		return commands.Answer{Exit: unknown, Stderr: fmt.Sprint(refused, err)}
	}
	s.log = append(s.log, strings.Join(asked.Argv, " "))
	handle := handlers[asked.Argv[0]]
	if handle == nil {
		handle = func(*System, *commands.Call) (string, error) { return "", errors.New("it has no handler") }
	}
	s.input = asked.Input
	answer, err := handle(s, call)
	var said *refusal
	switch {
	case errors.As(err, &said):
		return commands.Answer{Exit: said.code, Stderr: said.text + "\n"}
	case err != nil:
		s.t.Errorf("the fake %s: %v", strings.Join(asked.Argv, " "), err)
		return commands.Answer{Exit: unknown, Stderr: err.Error() + "\n"}
	}
	return commands.Answer{Stdout: answer}
}

// forward hands an accepted call to the System that the fake belongs to.
func forward(address string, argv []string) int {
	asked := request{Argv: argv, Caller: os.Getenv(callerEnv)}
	// One that reads a file of rules from its standard input.
	if argv[0] == "ipf" && slices.Contains(argv, "-f") && slices.Contains(argv, "-") {
		text, err := io.ReadAll(os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return unknown
		}
		asked.Input = string(text)
	}
	c, err := net.Dial("unix", address)
	var answer commands.Answer
	if err == nil {
		defer c.Close()
		err = errors.Join(json.NewEncoder(c).Encode(asked), json.NewDecoder(c).Decode(&answer))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return unknown
	}
	fmt.Print(answer.Stdout)
	fmt.Fprint(os.Stderr, answer.Stderr)
	return answer.Exit
}

// refusal is an error of the real command.
type refusal struct {
	code int
	text string
}

func (r *refusal) Error() string { return r.text }

func refuse(code int, format string, arguments ...any) error {
	return &refusal{code, fmt.Sprintf(format, arguments...)}
}

// Reboot forgets what a real machine forgets: mounts, swap, what was enabled or disabled for the time being, and every pool
// that is not in zpool.cache. Then the boot environment is the one that was chosen, and svc:/system/filesystem/local mounts.
func (s *System) Reboot() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, "--- reboot ---")
	s.mounted, s.swap, s.filter = map[string]string{}, nil, ipfilter{}
	for _, p := range s.pools {
		p.imported = p.cached
	}
	for _, one := range s.services {
		one.override = nil
	}
	start := slices.IndexFunc(s.environments, func(e *environment) bool { return e.once })
	if start < 0 {
		start = slices.IndexFunc(s.environments, func(e *environment) bool { return e.next })
	}
	for at, e := range s.environments {
		e.running, e.once = at == start, false
	}
	_ = os.RemoveAll(filepath.Join(s.Root, "var/run"))
	_ = os.MkdirAll(filepath.Join(s.Root, "var/run"), 0o755)
	s.mountAll()
}

// Running is the name of the boot environment that runs.
func (s *System) Running() string {
	for _, e := range s.environments {
		if e.running {
			return e.name
		}
	}
	return ""
}

// ImportedPools are the pools that can be used, sorted.
func (s *System) ImportedPools() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for name, p := range s.pools {
		if p.imported {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// Enabled says whether a service runs.
func (s *System) Enabled(fmri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.services[instance(fmri)]
	return one != nil && one.runs()
}

func (s *System) mountAll() {
	for name := range s.datasets() {
		s.mount(name)
	}
	s.writeMounts()
}

// datasets are those of the imported pools.
func (s *System) datasets() map[string]map[string]string {
	all := map[string]map[string]string{}
	for _, p := range s.pools {
		for name, properties := range p.datasets {
			if p.imported {
				all[name] = properties
			}
		}
	}
	return all
}

// place is where a dataset is mounted, by its own mount point or by one that it inherits.
func (s *System) place(name string) string {
	rest := ""
	for at := name; at != ""; {
		if own := s.datasets()[at]["mountpoint"]; own != "" {
			if own == "none" || own == "legacy" {
				return own
			}
			return strings.TrimSuffix(own, "/") + rest
		}
		cut := strings.LastIndex(at, "/")
		if cut < 0 {
			return "/" + at + rest
		}
		rest = at[cut:] + rest
		at = at[:cut]
	}
	return "none"
}

func (s *System) mount(name string) bool {
	properties := s.datasets()[name]
	place := s.place(name)
	if properties == nil || properties["volsize"] != "" || properties["canmount"] == "off" || properties["canmount"] == "noauto" || !strings.HasPrefix(place, "/") {
		return false
	}
	s.mounted[name] = place
	if err := os.MkdirAll(filepath.Join(s.Root, place), 0o755); err != nil {
		s.t.Error(err)
	}
	return true
}

// writeMounts is /etc/mnttab.
func (s *System) writeMounts() {
	lines := "rpool/ROOT/" + s.Running() + "\t/\tzfs\tdev=4410002\t1795287654\n"
	for name, place := range s.mounted {
		lines += name + "\t" + place + "\tzfs\trw,dev=4410003\t1795287654\n"
	}
	s.Put("etc/mnttab", lines, 0o644)
}

// instance is a service's default instance when none is named.
func instance(fmri string) string {
	if strings.Count(fmri, ":") < 2 {
		return fmri + ":default"
	}
	return fmri
}

func sorted[V any](all map[string]V) []string {
	names := make([]string, 0, len(all))
	for name := range all {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func number(n int64) string { return strconv.FormatInt(n, 10) }
