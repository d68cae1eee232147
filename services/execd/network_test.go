package execd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/execd/host/network"
)

// fakeNetwork is a machine with one port, whose system does as it is told: what is loaded is there at once, but for what is withheld.
type fakeNetwork struct {
	mu       sync.Mutex
	loaded   network.Document
	prepared *network.Document
	loads    int
	fails    error
	// Addresses that do not come, and one that another machine has.
	withheld, duplicate string
	loading             func()
	// What the kernel says of the gateway; nil: it is being asked.
	answers *bool
	asked   int
}

const onlyPort = "52:54:00:00:00:01"

func (h *fakeHost) PrepareNetwork(d network.Document) error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.net.prepared = &d
	return nil
}

func (h *fakeHost) LoadNetwork(_ context.Context, d network.Document) error {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	if h.net.loading != nil {
		h.net.loading()
	}
	if h.net.fails != nil {
		return h.net.fails
	}
	h.net.loaded, h.net.loads = d, h.net.loads+1
	return nil
}

func (h *fakeHost) ReadNetwork(context.Context) (network.State, error) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	s := network.State{Links: []network.Link{}, Gateways: []network.Gateway{}, DNS: []string{}, Search: []string{}}
	one := network.Link{Name: "enp1s0", Kind: network.Port, MAC: onlyPort, Carrier: true, MTU: 1500, Addresses: []network.Address{{Address: "10.0.2.15/24"}}}
	gateway := "10.0.2.2"
	for _, i := range h.net.loaded.Interfaces {
		one.MTU, gateway = i.MTU, i.IPv4.Gateway
		if i.IPv4.Method != network.DHCP {
			one.Addresses = nil
		}
		for _, a := range i.IPv4.Addresses {
			if a != h.net.withheld {
				one.Addresses = append(one.Addresses, network.Address{Address: a, Duplicate: a == h.net.duplicate})
			}
		}
	}
	s.Links = append(s.Links, one)
	if gateway != "" {
		s.Gateways = append(s.Gateways, network.Gateway{Address: gateway, Interface: "enp1s0", Answers: h.net.answers})
	}
	return s, nil
}

func (h *fakeHost) AskGateways(context.Context, network.State) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.net.asked++
}

// address is what the machine's port has.
func (h *fakeHost) address() string {
	s, _ := h.ReadNetwork(context.Background())
	var all []string
	for _, a := range s.Links[0].Addresses {
		all = append(all, a.Address)
	}
	return strings.Join(all, " ")
}

// startedNetwork is execd begun anew: nothing but what is on the disk is known.
func startedNetwork(t *testing.T, b *bench) *Network {
	t.Helper()
	n := NewNetwork(b.host, b.state, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	n.delay, n.settle, n.look = 20*time.Millisecond, 200*time.Millisecond, 5*time.Millisecond
	if err := n.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.server.Network = n
	return n
}

func addressed(rest string) string {
	return `{"version":1,"dnsFromNetwork":true,"interfaces":[{"name":"enp1s0","kind":"port","mac":"` + onlyPort + `","ipv4":{"method":"static",` + rest + `},"ipv6":{"method":"auto"}}]}`
}

var good = addressed(`"addresses":["10.0.2.77/24"],"gateway":"10.0.2.2"`)

type networkSaid struct {
	Token  string
	Origin string
	Tried  *networkTried
	Ended  *networkEnd
}

func (b *bench) network(t *testing.T, verb, body string) networkSaid {
	t.Helper()
	status, _, text := b.answer(verb, body)
	var said networkSaid
	if err := json.Unmarshal([]byte(text), &said); err != nil || status != 200 {
		t.Fatalf("%s: %d %s", verb, status, text)
	}
	return said
}

func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("never: " + what)
		}
	}
}

func TestAnAddressIsTriedAndKept(t *testing.T) {
	b := start(t, "", "")
	n := startedNetwork(t, b)
	if b.host.net.loads != 0 {
		t.Error("a machine that was never told anything was told something")
	}
	// While it is loaded.
	b.host.net.loading = func() {
		if _, err := os.Stat(filepath.Join(b.state, "execd/network/tried.json")); err != nil {
			t.Error("the network was touched before the candidate was written")
		}
	}
	token := b.network(t, "network.try", `{"document":`+good+`,"seconds":60}`).Token
	b.want("network.confirm", `{"token":"`+token+`"}`, 409, "conflict")
	waitUntil(t, "it holds", func() bool { return b.host.address() == "10.0.2.77/24" })
	b.host.net.mu.Lock()
	b.host.net.loading = nil
	b.host.net.mu.Unlock()
	b.want("network.try", `{"document":`+good+`,"seconds":60}`, 409, "conflict")
	b.want("network.confirm", `{"token":"another"}`, 409, "conflict")
	waitUntil(t, "it was looked at", func() bool { return b.network(t, "network.read", `{}`).Tried.Missing == "" })
	b.want("network.confirm", `{"token":"`+token+`"}`, 200, "")
	said := b.network(t, "network.read", `{}`)
	if said.Origin != "kept" || said.Tried != nil || said.Ended != nil {
		t.Errorf("%+v", said)
	}
	startedNetwork(t, b)
	if err := b.server.Network.Prepare(); err != nil || b.host.address() != "10.0.2.77/24" || b.host.net.prepared.Interfaces[0].IPv4.Addresses[0] != "10.0.2.77/24" {
		t.Error(b.host.address(), err)
	}
	if n.tried != nil {
		t.Error("it is tried for ever")
	}
	// Killed between keeping it and removing the candidate: nothing was taken back.
	kept, err := os.ReadFile(filepath.Join(b.state, "execd/network/document.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(b.state, "execd/network/tried.json"), kept, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	startedNetwork(t, b)
	if said := b.network(t, "network.read", `{}`); said.Ended != nil || b.host.address() != "10.0.2.77/24" {
		t.Errorf("%+v", said.Ended)
	}
}

func TestATriedAddressIsTakenBack(t *testing.T) {
	for _, c := range []struct {
		name string
		// What happens once it is tried, and what is said of it.
		then func(t *testing.T, b *bench, n *Network, token string)
		says string
	}{
		{"by hand", func(_ *testing.T, b *bench, _ *Network, token string) {
			b.want("network.take-back", `{"token":"`+token+`"}`, 200, "")
		}, "Somebody took it back."},
		{"by time", func(_ *testing.T, _ *bench, n *Network, _ string) {
			n.mu.Lock()
			n.tried.until = time.Now()
			n.mu.Unlock()
		}, "Nobody confirmed it in time."},
		{"by the end of execd", func(t *testing.T, b *bench, n *Network, _ string) {
			n.mu.Lock()
			n.tried.stop()
			n.mu.Unlock()
			startedNetwork(t, b)
		}, "started again"},
		{"by a reset of the machine", func(t *testing.T, b *bench, n *Network, _ string) {
			n.mu.Lock()
			n.tried.stop()
			n.mu.Unlock()
			again := NewNetwork(b.host, b.state, slog.New(slog.NewTextHandler(os.Stderr, nil)))
			if err := again.Prepare(); err != nil || len(b.host.net.prepared.Interfaces) != 0 {
				t.Error("the candidate was prepared", err)
			}
			startedNetwork(t, b)
		}, "started again"},
		{"as another machine has it", func(_ *testing.T, b *bench, _ *Network, _ string) {
			b.host.net.mu.Lock()
			b.host.net.duplicate = "10.0.2.77/24"
			b.host.net.mu.Unlock()
		}, "Another machine has the address 10.0.2.77/24"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := start(t, "", "")
			n := startedNetwork(t, b)
			token := b.network(t, "network.try", `{"document":`+good+`,"seconds":60}`).Token
			waitUntil(t, "it holds", func() bool { return b.host.address() == "10.0.2.77/24" })
			c.then(t, b, n, token)
			waitUntil(t, "it is taken back", func() bool { return b.host.address() == "10.0.2.15/24" })
			waitUntil(t, "it is said", func() bool { return b.network(t, "network.read", `{}`).Ended != nil })
			if said := b.network(t, "network.read", `{}`); !strings.Contains(said.Ended.Why, c.says) || said.Tried != nil || said.Origin != "default" {
				t.Errorf("%+v", said)
			}
			b.want("network.confirm", `{"token":"`+token+`"}`, 409, "conflict")
			if _, err := os.Stat(filepath.Join(b.state, "execd/network/tried.json")); !errors.Is(err, os.ErrNotExist) {
				t.Error("the candidate is still there")
			}
			// It is still said after a start of execd.
			startedNetwork(t, b)
			if said := b.network(t, "network.read", `{}`); said.Ended == nil || !strings.Contains(said.Ended.Why, c.says) {
				t.Errorf("%+v", said)
			}
		})
	}
}

// What does not come within the time that it takes is not waited for until the end.
func TestAnAddressThatDoesNotComeIsTakenBackEarly(t *testing.T) {
	b := start(t, "", "")
	startedNetwork(t, b)
	b.host.net.withheld = "10.0.2.77/24"
	token := b.network(t, "network.try", `{"document":`+good+`,"seconds":600}`).Token
	b.want("network.confirm", `{"token":"`+token+`"}`, 409, "conflict")
	waitUntil(t, "it is taken back", func() bool { return b.network(t, "network.read", `{}`).Ended != nil })
	if said := b.network(t, "network.read", `{}`); b.host.address() != "10.0.2.15/24" || !strings.Contains(said.Ended.Why, "has not got the address 10.0.2.77/24") {
		t.Errorf("%+v", said.Ended)
	}
}

func TestWhatWouldCutTheMachineOffIsNotTried(t *testing.T) {
	b := start(t, "", "")
	startedNetwork(t, b)
	for _, c := range []struct{ body, says string }{
		{`{"document":` + good + `,"seconds":5}`, "60 to 600 seconds"},
		{`{"document":` + addressed(`"addresses":["10.0.2.77/24"]`) + `,"seconds":60}`, "There would be no gateway any more (now it is 10.0.2.2)"},
		{`{"document":` + strings.Replace(strings.Replace(good, `"auto"`, `"off"`, 1), `"method":"static","addresses":["10.0.2.77/24"],"gateway":"10.0.2.2"`, `"method":"off"`, 1) + `,"seconds":60}`, "nobody could reach the page"},
		{`{"document":` + strings.Replace(good, onlyPort, "52:54:00:00:00:09", 1) + `,"seconds":60}`, "No port of this machine has"},
		{`{"document":` + addressed(`"addresses":["10.0.2.77/33"]`) + `,"seconds":60}`, "is no IPv4 address"},
	} {
		status, _, text := b.answer("network.try", c.body)
		if status != 400 || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s", c.body, status, text)
		}
	}
	if b.host.net.loads != 0 {
		t.Error("something was loaded")
	}
	// It may be meant.
	b.network(t, "network.try", `{"document":`+addressed(`"addresses":["10.0.2.77/24"]`)+`,"seconds":60,"isolated":true}`)
}

func TestANetworkThatCannotBeSetIsTakenBack(t *testing.T) {
	b := start(t, "", "")
	n := startedNetwork(t, b)
	b.host.net.fails = errors.New("networkd does not run")
	b.network(t, "network.try", `{"document":`+good+`,"seconds":60}`)
	waitUntil(t, "it is taken back", func() bool { return b.network(t, "network.read", `{}`).Ended != nil })
	if said := b.network(t, "network.read", `{}`); !strings.Contains(said.Ended.Why, "networkd does not run") {
		t.Errorf("%+v", said.Ended)
	}
	b.host.net.mu.Lock()
	b.host.net.fails = nil
	b.host.net.mu.Unlock()
	n.again(context.Background())
	if _, err := os.Stat(filepath.Join(b.state, "execd/network/tried.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the candidate is still there", err)
	}
	if b.host.address() != "10.0.2.15/24" || n.tried != nil || n.unsure {
		t.Error("it does not hold as before")
	}
	// What cannot be read is not guessed at.
	if err := os.WriteFile(filepath.Join(b.state, "execd/network/document.json"), []byte(`{"version":1,"colour":"red"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if again := startedNetwork(t, b); again.origin != originBroken {
		t.Error(again.origin)
	}
}

// The kernel says for some seconds only that a gateway does not answer, and then nothing, as of one that it has not asked for long.
func TestWhatAGatewayAnsweredLastIsKnown(t *testing.T) {
	b := start(t, "", "")
	n := startedNetwork(t, b)
	said := func() string {
		_, _, text := b.answer("network.read", `{}`)
		_, rest, _ := strings.Cut(text, `"interface":"enp1s0","answers":`)
		word, _, _ := strings.Cut(rest, "}")
		return word
	}
	for i, c := range []struct {
		kernel *bool
		want   string
	}{{nil, "null"}, {new(false), "false"}, {nil, "false"}, {new(true), "true"}, {nil, "true"}} {
		b.host.net.answers = c.kernel
		n.again(context.Background())
		if got := said(); got != c.want {
			t.Errorf("%d: %s, not %s", i, got, c.want)
		}
	}
	if b.host.net.asked < 10 {
		t.Errorf("it was asked %d times", b.host.net.asked)
	}
}
