package execd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cistern/services/execd/host/firewall"
)

// fakeWall is the kernel's part: the rules that were loaded last.
type fakeWall struct {
	mu     sync.Mutex
	rules  []firewall.Rule
	loads  int
	fails  error
	state  firewall.Loaded
	loaded func() // while rules are loaded
}

func (h *fakeHost) LoadFirewall(_ context.Context, rules []firewall.Rule, anew bool) error {
	h.wall.mu.Lock()
	defer h.wall.mu.Unlock()
	if h.wall.loaded != nil {
		h.wall.loaded()
	}
	if h.wall.fails != nil {
		return h.wall.fails
	}
	h.wall.rules, h.wall.loads = rules, h.wall.loads+1
	if anew {
		h.wall.state.Differs = nil
	}
	return nil
}

func (h *fakeHost) ReadFirewall(context.Context, []firewall.Rule) (firewall.Loaded, error) {
	h.wall.mu.Lock()
	defer h.wall.mu.Unlock()
	return h.wall.state, nil
}

// open are the names of the services that the kernel lets in now, and from where.
func (h *fakeHost) open() string {
	h.wall.mu.Lock()
	defer h.wall.mu.Unlock()
	var words []string
	for _, r := range h.wall.rules {
		from := "everybody"
		if !r.Everybody {
			from = ""
			for _, n := range append(append([]netip.Prefix{}, r.V4...), r.V6...) {
				from += n.String()
			}
		}
		words = append(words, r.Name+" "+from)
	}
	return strings.Join(words, ", ")
}

// withFirewall is a bench whose firewall is loaded, as at the start of execd.
func withFirewall(t *testing.T, own *[]netip.Prefix) (*bench, *Firewall) {
	t.Helper()
	b := start(t, "", "")
	wall := restarted(t, b, own)
	return b, wall
}

// restarted is execd begun anew: nothing but what is on the disk is known.
func restarted(t *testing.T, b *bench, own *[]netip.Prefix) *Firewall {
	t.Helper()
	wall := NewFirewall(b.host, b.state, func() ([]netip.Prefix, error) { return *own, nil }, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	if err := wall.Load(context.Background()); err != nil {
		t.Fatal(err)
	}
	b.server.Firewall = wall
	return wall
}

const (
	page   = `{"name":"https","ports":[{"protocol":"tcp","port":80},{"protocol":"tcp","port":443}],"networks":[]}`
	narrow = `{"version":1,"services":[` + page + `,{"name":"statsd","ports":[{"protocol":"udp","port":8125}],"networks":["192.0.2.0/24"]}]}`
	wide   = `{"version":1,"services":[` + page + `,{"name":"statsd","ports":[{"protocol":"udp","port":8125}],"networks":[]}]}`
)

func token(t *testing.T, b *bench, document string, seconds string) string {
	t.Helper()
	status, _, text := b.answer("firewall.try", `{"document":`+document+`,"seconds":`+seconds+`}`)
	var answer struct{ Token string }
	if err := json.Unmarshal([]byte(text), &answer); status != 200 || err != nil || answer.Token == "" {
		t.Fatalf("%d %s", status, text)
	}
	return answer.Token
}

func waitFor(t *testing.T, b *bench, want string) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); b.host.open() != want; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("open is %q, not %q", b.host.open(), want)
		}
	}
}

func TestAFirewallIsTriedAndKept(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	b, _ := withFirewall(t, &own)
	const byDefault = "https everybody, ssh 10.0.0.0/8, statsd 10.0.0.0/8, graphite 10.0.0.0/8"
	if b.host.open() != byDefault {
		t.Fatalf("at first %q is open", b.host.open())
	}
	// Before anything is touched the candidate is on the disk.
	b.host.wall.loaded = func() {
		if _, err := os.Stat(filepath.Join(b.state, "execd/firewall/tried.json")); err != nil {
			t.Error("the rules were touched before the candidate was written")
		}
	}
	first := token(t, b, narrow, "60")
	b.host.wall.loaded = nil
	waitFor(t, b, "https everybody, statsd 192.0.2.0/24")
	b.want("firewall.try", `{"document":`+wide+`,"seconds":60}`, 409, "conflict")
	b.want("firewall.confirm", `{"token":"another"}`, 409, "conflict")
	if _, _, text := b.answer("firewall.read", `{}`); !strings.Contains(text, `"secondsLeft":`) || !strings.Contains(text, `"origin":"default"`) {
		t.Error(text)
	}
	b.want("firewall.confirm", `{"token":"`+first+`"}`, 200, "")
	b.want("firewall.confirm", `{"token":"`+first+`"}`, 409, "conflict")
	restarted(t, b, &own)
	waitFor(t, b, "https everybody, statsd 192.0.2.0/24")
	// By hand.
	second := token(t, b, wide, "60")
	waitFor(t, b, "https everybody, statsd everybody")
	b.want("firewall.take-back", `{"token":"`+second+`"}`, 200, "")
	waitFor(t, b, "https everybody, statsd 192.0.2.0/24")
	// By time.
	token(t, b, wide, "5")
	waitFor(t, b, "https everybody, statsd everybody")
	waitFor(t, b, "https everybody, statsd 192.0.2.0/24")
	if _, err := os.Stat(filepath.Join(b.state, "execd/firewall/tried.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the candidate is still there")
	}
	// By the end of execd: the timer of the one that is gone runs in no process.
	token(t, b, wide, "600")
	restarted(t, b, &own)
	waitFor(t, b, "https everybody, statsd 192.0.2.0/24")
	if _, err := os.Stat(filepath.Join(b.state, "execd/firewall/tried.json")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the candidate is still there")
	}
}

func TestAFirewallThatCannotBeLoadedIsTakenBack(t *testing.T) {
	var own []netip.Prefix
	b, wall := withFirewall(t, &own)
	b.host.wall.fails = errors.New("the kernel says no")
	if status, _, text := b.answer("firewall.try", `{"document":`+narrow+`,"seconds":60}`); status != 500 || !strings.Contains(text, "the kernel says no") {
		t.Errorf("%d %s", status, text)
	}
	b.host.wall.fails = nil
	wall.follow(context.Background())
	waitFor(t, b, "https everybody, ssh , statsd , graphite ")
	if wall.tried != nil {
		t.Error("it is being tried")
	}
}

func TestOwnNetworksAreFollowed(t *testing.T) {
	var own []netip.Prefix
	b, wall := withFirewall(t, &own)
	waitFor(t, b, "https everybody, ssh , statsd , graphite ")
	own = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/64")}
	wall.follow(context.Background())
	waitFor(t, b, "https everybody, ssh 10.0.0.0/82001:db8::/64, statsd 10.0.0.0/82001:db8::/64, graphite 10.0.0.0/82001:db8::/64")
	loads := b.host.wall.loads
	wall.follow(context.Background())
	if b.host.wall.loads != loads {
		t.Error("loaded though nothing has changed")
	}
}

func TestAFirewallIsSetAtOnce(t *testing.T) {
	var own []netip.Prefix
	b, _ := withFirewall(t, &own)
	b.want("firewall.set", `{"document":`+wide+`}`, 200, "")
	waitFor(t, b, "https everybody, statsd everybody")
	// While another is tried it waits.
	one := token(t, b, narrow, "60")
	closed := strings.Replace(wide, `{"name":"statsd","ports":[{"protocol":"udp","port":8125}]`, `{"name":"statsd","ports":[]`, 1)
	b.want("firewall.set", `{"document":`+closed+`}`, 200, "")
	waitFor(t, b, "https everybody, statsd 192.0.2.0/24")
	b.want("firewall.take-back", `{"token":"`+one+`"}`, 200, "")
	waitFor(t, b, "https everybody")
	// Who may open the page is not changed this way.
	b.want("firewall.set", `{"document":`+strings.Replace(wide, `443}],"networks":[]`, `443}],"networks":["192.0.2.0/24"]`, 1)+`}`, 409, "conflict")
	waitFor(t, b, "https everybody")
}

func TestABrokenFirewallFileIsTheDefault(t *testing.T) {
	own := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	for _, text := range []string{"", "{", `{"version":2,"services":[]}`, `{"version":1,"services":[]}`, strings.Replace(narrow, "443", "444", 1)} {
		b := start(t, "", "")
		if err := os.MkdirAll(filepath.Join(b.state, "execd/firewall"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(b.state, "execd/firewall/document.json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		wall := restarted(t, b, &own)
		if b.host.open() != "https everybody, ssh 10.0.0.0/8, statsd 10.0.0.0/8, graphite 10.0.0.0/8" || wall.origin != originBroken {
			t.Errorf("%q: %s, %q is open", text, wall.origin, b.host.open())
		}
	}
}

func TestWhatDiffersIsLoadedAnew(t *testing.T) {
	var own []netip.Prefix
	b, _ := withFirewall(t, &own)
	b.host.wall.state = firewall.Loaded{Differs: []string{"This rule is missing: x"}, Senders: []firewall.Sender{{Address: netip.MustParseAddr("192.0.2.7"), Port: firewall.Port{Protocol: "udp", Port: 8125}, Packets: 3, SinceAgo: time.Minute}}}
	loads := b.host.wall.loads
	_, _, text := b.answer("firewall.read", `{}`)
	if !strings.Contains(text, "This rule is missing: x") || !strings.Contains(text, `{"address":"192.0.2.7","protocol":"udp","port":8125,"packets":3,"sinceSeconds":60}`) || b.host.wall.loads != loads+1 {
		t.Error(text)
	}
	if _, _, text = b.answer("firewall.read", `{}`); !strings.Contains(text, `"differs":[]`) {
		t.Error(text)
	}
	if audit := b.read("execd/audit.log"); strings.Contains(audit, "firewall.read") {
		t.Error("looking is audited")
	}
}

func TestDocumentsThatCannotBe(t *testing.T) {
	var own []netip.Prefix
	b, _ := withFirewall(t, &own)
	for services, says := range map[string]string{
		`[]`: "https with port 443",
		`[{"name":"https","ports":[{"protocol":"tcp","port":80}],"networks":[]}]`: "https with port 443",
		`[` + page + `,` + page + `]`:                                                                    "one of each",
		`[` + page + `,{"name":"a b","ports":[],"networks":[]}]`:                                         "small letters",
		`[` + page + `,{"name":"x; drop","ports":[],"networks":[]}]`:                                     "small letters",
		`[` + page + `,{"name":"a","ports":[{"protocol":"tcp","port":443}],"networks":[]}]`:              "443/tcp is that of https already",
		`[` + page + `,{"name":"a","ports":[{"protocol":"icmp","port":1}],"networks":[]}]`:               "of tcp or udp",
		`[` + page + `,{"name":"a","ports":[{"protocol":"tcp","port":0}],"networks":[]}]`:                "from 1 on",
		`[` + page + `,{"name":"a","ports":[],"networks":["everywhere"]}]`:                               "'everywhere' is neither a network",
		`[` + page + `,{"name":"a","ports":[],"networks":["192.0.2.7/24"]}]`:                             "write 192.0.2.0/24 for the network",
		`[` + page + `,{"name":"a","ports":[],"networks":["::ffff:192.0.2.0/120"]}]`:                     "written as a network of IPv4",
		`[` + page + `,{"name":"a","ports":[],"networks":["192.0.2.0/24 } accept"]}]`:                    "neither a network",
		`[` + page + `,{"name":"a","ports":[],"networks":[` + strings.Repeat(`"own",`, 100) + `"own"]}]`: "at most 100 networks",
	} {
		for verb, body := range map[string]string{"firewall.try": `,"seconds":60}`, "firewall.set": `}`} {
			if status, code, text := b.answer(verb, `{"document":{"version":1,"services":`+services+`}`+body); status != 400 || code != "invalid_request" || !strings.Contains(text, says) {
				t.Errorf("%s %s: %d %s", verb, services, status, text)
			}
		}
	}
	b.want("firewall.try", `{"document":`+narrow+`,"seconds":1}`, 400, "invalid_request")
	if b.host.wall.loads != 1 {
		t.Error("something was loaded")
	}
}
