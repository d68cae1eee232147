package execd

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/execd/host/chrony"
)

// fakeClock is what the machine asks for the time.
type fakeClock struct {
	mu      sync.Mutex
	network []string
	asked   []string
	loads   int
	fails   error
}

func (h *fakeHost) NetworkTimeServers() []string {
	h.clock.mu.Lock()
	defer h.clock.mu.Unlock()
	return h.clock.network
}

func (h *fakeHost) LoadTimeServers(_ context.Context, asked []chrony.Asked) error {
	h.clock.mu.Lock()
	defer h.clock.mu.Unlock()
	if h.clock.fails != nil {
		return h.clock.fails
	}
	h.clock.asked, h.clock.loads = nil, h.clock.loads+1
	for _, one := range asked {
		h.clock.asked = append(h.clock.asked, one.From+" "+one.Address)
	}
	return nil
}

func (h *fakeHost) timeServers() string {
	h.clock.mu.Lock()
	defer h.clock.mu.Unlock()
	return strings.Join(h.clock.asked, ", ")
}

// chronyc prints what that of Debian prints of a clock that follows one of two servers.
const aChronyc = `case "$*" in
"-c -n tracking") echo "C0000201,192.0.2.1,2,1795662359.933929451,-0.000459044,0.000139372,0.000139372,-7.885,-0.000,436.803,0.001150551,0.013276663,2.0,Normal" ;;
"-c -n sources") printf '%s\n' "^,*,192.0.2.1,1,6,17,7,-0.000132056,0.000007321,0.010588316" "^,x,192.0.2.2,1,6,17,8,-30.000415802,-30.000272751,0.010150675" ;;
"-c -N sources") printf '%s\n' "^,*,a.example,1,6,17,7,-0.000132056,0.000007321,0.010588316" "^,x,192.0.2.2,1,6,17,8,-30.000415802,-30.000272751,0.010150675" ;;
"-c -n sourcestats") printf '%s\n' "192.0.2.1,4,3,6,-61.322,786.581,-0.000716815,0.000073471" "192.0.2.2,4,3,6,-88.629,1907.930,-30.001091003,0.000237701" ;;
"-c -n authdata") printf '%s\n' "192.0.2.1,NTS,1,15,256,33,0,0,8,100" "192.0.2.2,-,0,0,0,4294967295,0,0,0,0" ;;
*) echo "unexpected: $*" >&2; exit 9 ;;
esac`

const document = `{"document":{"version":1,"servers":[{"address":"A.example","pool":false,"nts":true},{"address":"192.0.2.2","pool":false,"nts":false}],"fromNetwork":false}}`

func TestWhomTheMachineAsksForTheTime(t *testing.T) {
	onEach(t, func(t *testing.T, k kind) {
		b := k.start(t, absent, "")
		b.put("chronyc", aChronyc)
		status, _, text := b.answer("time.set", document)
		if status != 200 || b.host.timeServers() != "settings a.example, settings 192.0.2.2" {
			t.Fatalf("%d %s; asks %s", status, text, b.host.timeServers())
		}
		for _, want := range []string{`"origin":"kept"`, `"running":true`, `"synchronised":true`, `"name":"a.example","address":"192.0.2.1","state":"followed"`, `"authenticated":true`, `"state":"lies"`} {
			if !strings.Contains(text, want) {
				t.Errorf("%s is not in %s", want, text)
			}
		}
		if !strings.Contains(b.read("execd/time/document.json"), `"address": "a.example"`) {
			t.Error(b.read("execd/time/document.json"))
		}
		audit := b.read("execd/audit.log")
		if _, _, read := b.answer("time.read", `{}`); read != text || strings.Contains(b.read("execd/audit.log"), "time.read") || !strings.Contains(audit, `"verb":"time.set"`) {
			t.Errorf("%s\n%s", read, b.read("execd/audit.log"))
		}
	})
}

func TestWhatIsWrongIsNamedAndChangesNothing(t *testing.T) {
	b := start(t, absent, "")
	_, _, text := b.answer("time.set", strings.Replace(document, "192.0.2.2", "192.0.2.2 trust", 1))
	if !strings.Contains(text, `"/document/servers/1/address"`) || b.read("execd/time/document.json") != "" || b.host.clock.loads != 0 {
		t.Error(text)
	}
	b.put("chronyc", aChronyc)
	b.want("time.set", document, 200, "")
	before := b.read("execd/time/document.json")
	b.host.clock.fails = errors.New("chronyc ended with 1")
	b.want("time.set", strings.Replace(document, "A.example", "b.example", 1), 500, "command_failed")
	if b.read("execd/time/document.json") != before {
		t.Error(b.read("execd/time/document.json"))
	}
}

func TestAClockThatNobodyKeepsIsNoError(t *testing.T) {
	b := start(t, absent, "")
	b.put("chronyc", `echo "506 Cannot talk to daemon"; exit 1`)
	if status, _, text := b.answer("time.read", `{}`); status != 200 || !strings.Contains(text, `"running":false`) || !strings.Contains(text, `"origin":"default"`) {
		t.Errorf("%d %s", status, text)
	}
	b.put("chronyc", `echo "501 Not authorised"; exit 1`)
	b.want("time.read", `{}`, 500, "command_failed")
}

// What the network names is asked for again and again; chrony is told when it is another.
func TestTheNetworkNamesOthers(t *testing.T) {
	b := start(t, absent, "")
	b.host.clock.fails = errors.New("not yet")
	k := b.server.Time
	if err := k.follow(t.Context()); err == nil {
		t.Error("it was told")
	}
	b.host.clock.fails = nil
	for range 2 {
		if err := k.follow(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if b.host.clock.loads != 1 || !strings.HasPrefix(b.host.timeServers(), "default 0.debian.pool.ntp.org") {
		t.Errorf("%d %s", b.host.clock.loads, b.host.timeServers())
	}
	b.host.clock.network = []string{"192.0.2.9"}
	if err := k.follow(t.Context()); err != nil || b.host.timeServers() != "network 192.0.2.9" {
		t.Errorf("%v %s", err, b.host.timeServers())
	}
}

func TestTheTimeIsWatchedUntilTheEnd(t *testing.T) {
	b := start(t, absent, "")
	ctx, end := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { b.server.Time.Watch(ctx); close(ended) }()
	for deadline := time.Now().Add(10 * time.Second); b.host.timeServers() == ""; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("chrony was not told")
		}
	}
	end()
	<-ended
}
