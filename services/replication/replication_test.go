package replication

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"cistern/services/daemon/problem"
)

func newKey(t *testing.T) ssh.Signer {
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	key, err := ssh.NewSignerFromKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// start has a store with tank/home and backup/in, a gate for key, and its address.
func start(t *testing.T, key ssh.Signer) (*Gate, Address) {
	withZFS(t)
	change(func(s fakeStore) {
		s["tank"], s["backup"], s["backup/in"] = &fakeDataset{}, &fakeDataset{}, &fakeDataset{}
		s["tank/home"] = &fakeDataset{}
	})
	gate := &Gate{Version: "1", Key: newKey(t), Log: slog.New(slog.DiscardHandler)}
	gate.Admit([]Sender{{Name: "first", PublicKey: line(key.PublicKey()), Under: "backup/in"}})
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- gate.Serve(ctx, listener) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	at := listener.Addr().(*net.TCPAddr)
	return gate, Address{Host: "127.0.0.1", Port: at.Port, User: "cistern", HostKey: line(gate.Key.PublicKey())}
}

var guids int

// snap takes a snapshot of tank/home.
func snap(name string, size int64) {
	guids++
	change(func(s fakeStore) {
		s["tank/home"].Snapshots = append(s["tank/home"].Snapshots, fakeSnapshot{name, fmt.Sprint(guids), size})
	})
}

func names(dataset string) []string {
	var found []string
	change(func(s fakeStore) {
		if s[dataset] == nil {
			return
		}
		for _, one := range s[dataset].Snapshots {
			found = append(found, one.Name)
		}
	})
	return found
}

func push(t *testing.T, to Address, key ssh.Signer, order Order, tell func(Progress)) (Sent, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	place, err := Dial(ctx, to, key)
	if err != nil {
		return Sent{}, err
	}
	defer place.Close()
	if tell == nil {
		tell = func(Progress) {}
	}
	return Send(ctx, place, order, tell)
}

func code(err error) string {
	var document problem.Document
	if errors.As(err, &document) {
		return document.Code
	}
	if err != nil {
		return err.Error()
	}
	return ""
}

func order(snapshot string) Order {
	return Order{Dataset: "tank/home", Snapshot: snapshot, Target: "backup/in/home", Intermediate: true}
}

func TestHistoryThenIncrements(t *testing.T) {
	key := newKey(t)
	_, to := start(t, key)
	snap("a", 1000)
	snap("b", 2000)
	snap("c", 3000)
	sent, err := push(t, to, key, order("c"), nil)
	if err != nil || sent.From != "a" || sent.Bytes < 6000 || sent.Resumed {
		t.Fatalf("%+v, %v", sent, err)
	}
	if got := names("backup/in/home"); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Fatal(got)
	}
	if sent, err = push(t, to, key, order("c"), nil); err != nil || !sent.Nothing {
		t.Fatalf("again: %+v, %v", sent, err)
	}
	// A week is missed, and the old ones are given up here: the newest that both have is found.
	change(func(s fakeStore) { s["tank/home"].Snapshots = s["tank/home"].Snapshots[1:] })
	snap("d", 10)
	snap("e", 10)
	only := order("e")
	only.Intermediate = false
	if sent, err = push(t, to, key, only, nil); err != nil || sent.From != "c" {
		t.Fatalf("%+v, %v", sent, err)
	}
	if got := names("backup/in/home"); !slices.Equal(got, []string{"a", "b", "c", "e"}) {
		t.Fatal(got)
	}
}

func TestWithoutHistoryOnlyOneIsSent(t *testing.T) {
	key := newKey(t)
	_, to := start(t, key)
	snap("a", 10)
	snap("b", 10)
	o := order("b")
	o.Intermediate = false
	if _, err := push(t, to, key, o, nil); err != nil {
		t.Fatal(err)
	}
	if got := names("backup/in/home"); !slices.Equal(got, []string{"b"}) {
		t.Fatal(got)
	}
}

func TestAnInterruptedOneGoesOn(t *testing.T) {
	key := newKey(t)
	gate, to := start(t, key)
	const size = 40 << 20
	snap("a", size)
	slow := order("a")
	slow.BytesPerSecond = 4 << 20
	cut := false
	begun := time.Now()
	_, err := push(t, to, key, slow, func(p Progress) {
		if p.Sent > 4<<20 && !cut {
			cut = true
			gate.Admit(nil)
		}
	})
	if code(err) != "interrupted" || !cut {
		t.Fatalf("cut %v: %v", cut, err)
	}
	// The limit holds: a second of bytes took a second or so.
	if elapsed := time.Since(begun); elapsed < 800*time.Millisecond {
		t.Errorf("four megabytes at four a second took %s", elapsed)
	}
	gate.Admit([]Sender{{Name: "first", PublicKey: line(key.PublicKey()), Under: "backup/in"}})
	// What the receiver has is written down when it is done with its stream.
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		kept := ""
		change(func(s fakeStore) {
			if s["backup/in/home"] != nil {
				kept = s["backup/in/home"].Token
			}
		})
		if kept != "" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("nothing was kept at the target")
		}
	}
	snap("b", 10)
	sent, err := push(t, to, key, order("b"), nil)
	if err != nil || !sent.Resumed || sent.Bytes >= size || sent.From != "a" {
		t.Fatalf("%+v, %v", sent, err)
	}
	if got := names("backup/in/home"); !slices.Equal(got, []string{"a", "b"}) {
		t.Fatal(got)
	}
}

func TestTheTargetIsNeverDestroyed(t *testing.T) {
	key := newKey(t)
	_, to := start(t, key)
	snap("a", 10)
	if _, err := push(t, to, key, order("a"), nil); err != nil {
		t.Fatal(err)
	}
	snap("b", 10)
	for what, c := range map[string]struct {
		change func(*fakeDataset)
		code   string
	}{
		"written to":              {func(d *fakeDataset) { d.Modified = true }, "target_modified"},
		"a newer snapshot":        {func(d *fakeDataset) { d.Snapshots = append(d.Snapshots, fakeSnapshot{"theirs", "x", 1}) }, "target_diverged"},
		"other data":              {func(d *fakeDataset) { d.Snapshots = []fakeSnapshot{{"a", "another", 1}} }, "no_common_snapshot"},
		"no snapshot":             {func(d *fakeDataset) { d.Snapshots = nil }, "no_common_snapshot"},
		"no room":                 {func(d *fakeDataset) { d.Full = true }, "out_of_space"},
		"half of what is no more": {func(d *fakeDataset) { d.Token = "e30=" }, "source_gone"},
	} {
		var before fakeDataset
		change(func(s fakeStore) {
			d := *s["backup/in/home"]
			before = d
			before.Snapshots = slices.Clone(d.Snapshots)
			c.change(s["backup/in/home"])
		})
		had := names("backup/in/home")
		_, err := push(t, to, key, order("b"), nil)
		if code(err) != c.code {
			t.Errorf("%s: %v, want %s", what, err, c.code)
		}
		if got := names("backup/in/home"); !slices.Equal(got, had) {
			t.Errorf("%s: the target had %v and has %v", what, had, got)
		}
		change(func(s fakeStore) { s["backup/in/home"] = &before })
	}
	if _, err := push(t, to, key, order("b"), nil); err != nil {
		t.Error(err)
	}
}

func TestEncryptedIsSentAsItIs(t *testing.T) {
	key := newKey(t)
	_, to := start(t, key)
	change(func(s fakeStore) { s["tank/home"].Encrypted = true })
	snap("a", 10)
	if _, err := push(t, to, key, order("a"), nil); err != nil {
		t.Fatal(err)
	}
	change(func(s fakeStore) {
		if !s["backup/in/home"].Encrypted {
			t.Error("it was unpacked on the way")
		}
	})
}

func TestWhoIsLetIn(t *testing.T) {
	key := newKey(t)
	gate, to := start(t, key)
	snap("a", 10)
	if _, err := push(t, to, newKey(t), order("a"), nil); code(err) != "login_refused" {
		t.Errorf("another key: %v", err)
	}
	other := to
	other.HostKey = line(newKey(t).PublicKey())
	if _, err := push(t, other, key, order("a"), nil); code(err) != "host_key_changed" {
		t.Errorf("another host key: %v", err)
	}
	nowhere := to
	nowhere.Port = 1
	if _, err := push(t, nowhere, key, order("a"), nil); code(err) != "unreachable" {
		t.Errorf("nobody listens: %v", err)
	}
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	saved := handshakeDeadline
	handshakeDeadline = 100 * time.Millisecond
	_, err = HostKey(t.Context(), "127.0.0.1", mute.Addr().(*net.TCPAddr).Port)
	handshakeDeadline = saved
	if code(err) != "unreachable" || !strings.Contains(err.Error(), "says nothing") {
		t.Errorf("nobody says anything: %v", err)
	}
	seen, err := HostKey(context.Background(), to.Host, to.Port)
	if err != nil || line(seen) != to.HostKey {
		t.Errorf("its key: %v, %v", seen, err)
	}
	outside := order("a")
	outside.Target = "backup/other"
	if _, err := push(t, to, key, outside, nil); err == nil || !strings.Contains(err.Error(), "below 'backup/in'") {
		t.Errorf("outside: %v", err)
	}
	if len(names("backup/other")) > 0 {
		t.Error("something was written outside")
	}
	gate.Admit(nil)
	if _, err := push(t, to, key, order("a"), nil); code(err) != "login_refused" {
		t.Errorf("taken off the list: %v", err)
	}
}

func TestTheGateKnowsNothingElse(t *testing.T) {
	key := newKey(t)
	_, to := start(t, key)
	place, err := Dial(context.Background(), to, key)
	if err != nil {
		t.Fatal(err)
	}
	defer place.Close()
	for _, words := range [][]string{
		{"sh"}, {"zfs"}, {"zfs", "destroy", "backup/in/home"}, {"zfs", "receive", "-F", "backup/in/home"},
		{"zfs", "receive", "-s", "-u", "-o", "readonly=on", "-F", "backup/in/home"},
		{"zfs", "receive", "-s", "-u", "-o", "readonly=on", "backup/in"},
		{"zfs", "receive", "-s", "-u", "-o", "readonly=on", "backup/in/../home"},
		{"zfs", "receive", "-s", "-u", "-o", "readonly=on", "backup/inhome"},
		{"zfs", "receive", "-s", "-u", "-o", "readonly=on", "-F"},
		{"zfs", "get", "-Hp", "-o", "property,value", "all", "backup/in/home"},
		{"zfs", "list", "backup/in/home; reboot"},
	} {
		if _, err := place.run(context.Background(), nil, words); err == nil {
			t.Errorf("%q was carried out", words)
		}
	}
	for _, text := range []string{"zfs list", "'zfs' 'list", "'zfs'  'list'", "'a'b", "", "'zfs';'reboot'"} {
		session, err := place.client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		if err := session.Run(text); err == nil {
			t.Errorf("%q was carried out", text)
		}
		session.Close()
	}
	session, err := place.client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	if err := session.RequestPty("xterm", 80, 40, nil); err == nil {
		t.Error("there is a terminal")
	}
	if err := session.Shell(); err == nil {
		t.Error("there is a shell")
	}
	if _, err := place.client.Dial("tcp", "127.0.0.1:22"); err == nil {
		t.Error("connections are forwarded")
	}
}

func TestQuoting(t *testing.T) {
	for _, words := range [][]string{{"zfs"}, {"a b", "it's", "", "'", `\`, "$HOME`x`", "new\nline"}} {
		if got, err := unquote(quote(words)); err != nil || !slices.Equal(got, words) {
			t.Errorf("%q became %q, %v", words, got, err)
		}
	}
}

func FuzzUnquote(f *testing.F) {
	f.Add("'zfs' 'list'")
	f.Add(`'it'\''s'`)
	f.Fuzz(func(t *testing.T, text string) {
		words, err := unquote(text)
		if err == nil && quote(words) != text {
			t.Errorf("%q is %q, which is %q", text, words, quote(words))
		}
	})
}
