package execd

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"strings"
	"testing"

	"cistern/services/execd/host/tunables"
)

// fakeTunables is a system that has three of them, which hold as soon as it is told.
type fakeTunables struct {
	now     map[string]int64
	boot    string
	atStart bool
	refuses string
	loads   int
}

var atBoot = map[string]int64{tunables.ARCMaximum: 1 << 30, tunables.GroupSeconds: 5}

func (h *fakeHost) Memory() (int64, error)  { return 4 << 30, nil }
func (h *fakeHost) BootID() (string, error) { return h.tuned.boot, nil }
func (h *fakeHost) Tunables() ([]string, bool) {
	return []string{tunables.ARCMaximum, tunables.GroupSeconds, tunables.LogBytes}, h.tuned.atStart
}

func (h *fakeHost) ReadTunables(context.Context) (map[string]int64, error) {
	if h.tuned.now == nil {
		h.tuned.now = maps.Clone(atBoot)
	}
	return maps.Clone(h.tuned.now), nil
}

func (h *fakeHost) LoadTunables(_ context.Context, values, defaults map[string]int64) error {
	h.tuned.loads++
	if _, ok := values[h.tuned.refuses]; ok {
		return errors.New("the kernel does not take it")
	}
	if h.tuned.now == nil {
		h.tuned.now = maps.Clone(atBoot)
	}
	for _, name := range []string{tunables.ARCMaximum, tunables.GroupSeconds} {
		if value, ok := values[name]; ok {
			h.tuned.now[name] = value
		} else if value, ok := defaults[name]; ok {
			h.tuned.now[name] = value
		}
	}
	return nil
}

// withTunables is execd begun anew.
func withTunables(t *testing.T, b *bench) {
	t.Helper()
	tuned := NewTunables(b.host, b.state, slog.New(slog.NewTextHandler(os.Stderr, nil)))
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // once
	tuned.Watch(ctx)
	b.server.Tunables = tuned
}

func tuned(t *testing.T, b *bench) string {
	t.Helper()
	status, _, text := b.answer("tunables.read", `{}`)
	var said tunablesAnswer
	if err := json.Unmarshal([]byte(text), &said); err != nil || status != 200 {
		t.Fatalf("%d %s", status, text)
	}
	var words []string
	number := func(n *int64) string {
		if n == nil {
			return "-"
		}
		text, _ := json.Marshal(*n)
		return string(text)
	}
	for _, one := range said.Tunables {
		words = append(words, one.Name+" "+number(one.Set)+" "+number(one.Now)+" "+number(one.Default))
	}
	return strings.Join(words, ", ")
}

func TestASystemIsTunedAndTakenBack(t *testing.T) {
	b := start(t, "", "")
	b.host.tuned.boot = "one"
	withTunables(t, b)
	const untouched = "arc-maximum-bytes - 1073741824 1073741824, transaction-group-seconds - 5 5, log-bytes - - -"
	if got := tuned(t, b); got != untouched {
		t.Error(got)
	}
	b.want("tunables.set", `{"document":{"version":1,"values":{"arc-maximum-bytes":536870912,"log-bytes":33554432}}}`, 200, "")
	const set = "arc-maximum-bytes 536870912 536870912 1073741824, transaction-group-seconds - 5 5, log-bytes 33554432 33554432 -"
	if got := tuned(t, b); got != set {
		t.Error(got)
	}
	// execd begins anew: what the system had when it started is still known.
	withTunables(t, b)
	if got := tuned(t, b); got != set {
		t.Error(got)
	}
	// The machine starts anew, and has what it has by itself until execd begins.
	b.host.tuned.boot, b.host.tuned.now = "two", nil
	withTunables(t, b)
	if got := tuned(t, b); got != set {
		t.Error(got)
	}
	b.want("tunables.set", `{"document":{"version":1,"values":{}}}`, 200, "")
	if got := tuned(t, b); got != untouched {
		t.Error(got)
	}
}

func TestWhatASystemDoesNotTakeIsNotKept(t *testing.T) {
	b := start(t, "", "")
	b.host.tuned.boot = "one"
	withTunables(t, b)
	for _, c := range []struct{ values, says string }{
		{`{"arc-maximum-bytes":1000}`, "It is 64 MiB to 3584 MiB."},
		{`{"transaction-group-seconds":61}`, "It is 1 to 60."},
		{`{"writes-per-disk":10}`, "There is no tunable 'writes-per-disk' here."},
		{`{"log-bytes":1}`, "It is 16 MiB to 4 GiB."},
	} {
		if status, _, text := b.answer("tunables.set", `{"document":{"version":1,"values":`+c.values+`}}`); status != 400 || !strings.Contains(text, c.says) {
			t.Errorf("%s: %d %s", c.values, status, text)
		}
	}
	b.want("tunables.set", `{"document":{"version":2,"values":{}}}`, 400, "invalid_request")
	if path, _ := (tunables.Document{Version: 1, Values: map[string]int64{tunables.ARCMinimum: 128 << 20, tunables.ARCMaximum: 64 << 20}}).Wrong(4<<30, []string{tunables.ARCMinimum, tunables.ARCMaximum}); path != "/values/arc-minimum-bytes" {
		t.Error(path)
	}
	before := tuned(t, b)
	b.host.tuned.refuses = tunables.GroupSeconds
	if status, _, text := b.answer("tunables.set", `{"document":{"version":1,"values":{"transaction-group-seconds":9}}}`); status != 500 || !strings.Contains(text, "does not take it") {
		t.Errorf("%d %s", status, text)
	}
	if got := tuned(t, b); got != before {
		t.Error(got)
	}
	if _, err := os.Stat(tunables.File(b.state)); !errors.Is(err, os.ErrNotExist) {
		t.Error("it was kept", err)
	}
	if err := os.WriteFile(tunables.File(b.state), []byte("no JSON"), 0o600); err != nil {
		t.Fatal(err)
	}
	withTunables(t, b)
	if _, _, text := b.answer("tunables.read", `{}`); !strings.Contains(text, `"origin":"broken"`) {
		t.Error(text)
	}
}
