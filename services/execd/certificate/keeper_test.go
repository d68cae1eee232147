package certificate

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cistern/services/platform/vfs"
)

// page is a web server that reads the two files when it is told to, as nginx does.
type page struct {
	folder string
	shown  atomic.Pointer[tls.Certificate]
	port   int
	deaf   atomic.Bool // it stays with what it has
}

func (p *page) reload(context.Context) error {
	if p.deaf.Load() {
		return nil
	}
	pair, err := tls.LoadX509KeyPair(filepath.Join(p.folder, certFile), filepath.Join(p.folder, keyFile))
	if err == nil {
		p.shown.Store(&pair)
	}
	return err
}

func (p *page) fingerprint() string { return Fingerprint(p.shown.Load().Certificate[0]) }

// firstBoot is a folder as the first boot makes it, the page with it, and who keeps it.
func firstBoot(t *testing.T) (*Keeper, *page) {
	t.Helper()
	folder := t.TempDir()
	first, key, err := makeSelfSigned(Names{Names: []string{"cistern"}}, present)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{certFile: chainOf(&issued{first[0], key}), keyFile: keyOf(t, key)} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o640); err != nil {
			t.Fatal(err)
		}
	}
	p := &page{folder: folder}
	if err := p.reload(context.Background()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
		return &tls.Config{Certificates: []tls.Certificate{*p.shown.Load()}}, nil
	}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	p.port = server.Listener.Addr().(*net.TCPAddr).Port
	return &Keeper{
		Folder: folder, Reload: p.reload, now: func() time.Time { return present }, roots: x509.NewCertPool,
		Probe: func(ctx context.Context, want string) error { return probe(ctx, p.port, want, time.Second) },
	}, p
}

func TestInstalledAndBack(t *testing.T) {
	ctx := context.Background()
	keeper, page := firstBoot(t)
	changed := 0
	keeper.Changed = func(context.Context) { changed++ }
	first := keeper.State()
	if first.Current == nil || !first.Current.SelfSigned || first.Current.Fingerprint != page.fingerprint() || first.Previous != nil || first.Request != nil {
		t.Fatalf("%+v", first)
	}
	if _, err := keeper.Restore(ctx); err == nil || !strings.Contains(err.Error(), "before this one") {
		t.Errorf("%v", err)
	}
	// The key is made here, and never leaves.
	asked, err := keeper.Request(Wanted{Names: Names{Names: []string{"cistern.example"}}, Key: "ecdsa-p256"})
	if err != nil || asked.Request == nil || asked.Current.Fingerprint != page.fingerprint() {
		t.Fatalf("%+v %v", asked, err)
	}
	if info, err := os.Stat(filepath.Join(keeper.Folder, requestFile)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
	root, between := authorities(t)
	_, own := keeper.request()
	signed := issue(t, between, own[0].key, nil)
	given := Given{Certificate: chainOf(root, between, signed), ReachedAs: "cistern.example"}
	installed, err := keeper.Install(ctx, given)
	if err != nil {
		t.Fatal(err)
	}
	if installed.Current.Fingerprint != page.fingerprint() || installed.Current.Issuer != "Test Issuing" || installed.Request != nil || installed.Previous.Fingerprint != first.Current.Fingerprint || changed != 1 {
		t.Fatalf("%+v", installed)
	}
	for name, mode := range map[string]os.FileMode{pageFile: 0o640, previousFile: 0o640} {
		if info, err := os.Lstat(filepath.Join(keeper.Folder, name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v %v", name, info, err)
		}
	}
	left, _ := filepath.Glob(filepath.Join(keeper.Folder, "*"))
	for at, path := range left {
		left[at] = filepath.Base(path)
	}
	if names := strings.Join(left, " "); names != "cert.pem key.pem page.pem previous.pem" {
		t.Error(names)
	}
	// The same key, for another time.
	longer := issue(t, between, signed.key, func(c *x509.Certificate) { c.NotAfter = present.Add(365 * 24 * time.Hour) })
	if again, err := keeper.Install(ctx, Given{Certificate: chainOf(longer, between, root)}); err != nil || again.Previous.Fingerprint != installed.Current.Fingerprint {
		t.Fatalf("%+v %v", again, err)
	}
	// Back, and back again.
	for _, want := range []string{Fingerprint(signed.Raw), Fingerprint(longer.Raw)} {
		if state, err := keeper.Restore(ctx); err != nil || state.Current.Fingerprint != want || page.fingerprint() != want {
			t.Errorf("%+v %v", state, err)
		}
	}
	self, err := keeper.SelfSigned(ctx, Names{Names: []string{"cistern.local"}, Addresses: []string{"192.0.2.7"}})
	if err != nil || !self.Current.SelfSigned || strings.Join(self.Current.Addresses, " ") != "192.0.2.7" || page.fingerprint() != self.Current.Fingerprint {
		t.Errorf("%+v %v", self, err)
	}
	// One that has ended meanwhile does not come back.
	keeper.now = func() time.Time { return present.Add(2 * 365 * 24 * time.Hour) }
	if _, err := keeper.Restore(ctx); err == nil || !strings.Contains(err.Error(), "expired") || page.fingerprint() != self.Current.Fingerprint {
		t.Errorf("%v", err)
	}
}

func TestAPageThatDoesNotTakeIt(t *testing.T) {
	ctx := context.Background()
	keeper, page := firstBoot(t)
	if _, err := keeper.SelfSigned(ctx, Names{Names: []string{"one.example"}}); err != nil {
		t.Fatal(err)
	}
	before := keeper.State()
	page.deaf.Store(true)
	_, err := keeper.SelfSigned(ctx, Names{Names: []string{"two.example"}})
	var notTaken *NotTaken
	if !errors.As(err, &notTaken) || notTaken.Back != nil || !strings.Contains(err.Error(), "still shows another certificate. The one before is in use again") {
		t.Fatalf("%v", err)
	}
	after := keeper.State()
	if after.Current.Fingerprint != before.Current.Fingerprint || after.Previous.Fingerprint != before.Previous.Fingerprint || page.fingerprint() != before.Current.Fingerprint {
		t.Errorf("%+v", after)
	}
	page.deaf.Store(false)
	keeper.Reload = func(context.Context) error { return errors.New("nginx does not run") }
	if _, err := keeper.SelfSigned(ctx, Names{Names: []string{"two.example"}}); !errors.As(err, &notTaken) || notTaken.Back == nil {
		t.Errorf("%v", err)
	}
	// As soon as it can be told, it is.
	keeper.Reload = page.reload
	if err := keeper.Recover(ctx); err != nil || keeper.State().Current.Fingerprint != before.Current.Fingerprint || page.fingerprint() != before.Current.Fingerprint {
		t.Errorf("%v", err)
	}
	// A warning that nobody accepts, and what is refused, touch nothing.
	_, between := authorities(t)
	good := issue(t, between, newKey(t), nil)
	var unaccepted Unaccepted
	if _, err := keeper.Install(ctx, Given{Certificate: chainOf(good), Key: keyOf(t, good.key)}); !errors.As(err, &unaccepted) || keeper.State().Current.Fingerprint != before.Current.Fingerprint {
		t.Errorf("%v", err)
	}
	if _, err := keeper.Install(ctx, Given{Certificate: chainOf(good), Key: keyOf(t, good.key), Accept: []string{WarnChain}}); err != nil || page.fingerprint() != Fingerprint(good.Raw) {
		t.Errorf("%v", err)
	}
}

func TestAFolderWithoutACertificate(t *testing.T) {
	keeper, page := firstBoot(t)
	if err := os.WriteFile(filepath.Join(keeper.Folder, certFile), nil, 0o640); err != nil {
		t.Fatal(err)
	}
	if state := keeper.State(); state.Current != nil || !strings.Contains(state.Problem, "are not a certificate and its key") {
		t.Errorf("%+v", state)
	}
	if state, err := keeper.SelfSigned(context.Background(), Names{Names: []string{"cistern"}}); err != nil || state.Previous != nil || page.fingerprint() != state.Current.Fingerprint {
		t.Errorf("%+v %v", state, err)
	}
}

var errCut = errors.New("cut off")

// cutting is a file system whose operation number at, and all behind it, do not happen any more.
func cutting(inner vfs.FS, at int) (files vfs.FS, step func() error) {
	done := 0
	step = func() error {
		done++
		if done > at {
			return errCut
		}
		return nil
	}
	return vfs.Watch(inner, func(string, string, int) error { return step() }), step
}

// Wherever the process is killed, or the power fails, what the web server reads is the old pair or the new one, whole; and the next start
// of execd ends a change that was not finished.
func TestCutOffAtEveryStep(t *testing.T) {
	ctx := context.Background()
	made := func(name string) (string, string) {
		chain, key, err := makeSelfSigned(Names{Names: []string{name}}, present)
		if err != nil {
			t.Fatal(err)
		}
		text, err := encode(chain, key)
		if err != nil {
			t.Fatal(err)
		}
		return string(text), Fingerprint(chain[0].Raw)
	}
	before, _ := made("old.example")
	after, fingerprint := made("new.example")
	memory := func(inner vfs.FS, reload func() error) *Keeper {
		return &Keeper{
			Folder: "/tls", files: inner, now: func() time.Time { return present }, roots: x509.NewCertPool,
			Reload: func(context.Context) error { return reload() }, Probe: func(context.Context, string) error { return reload() },
			disk: disk{func(string) bool { return true }, func(string) error { return nil }, func(string, os.FileMode, bool) error { return nil }},
		}
	}
	well := func() error { return nil }
	finished, ended := 0, false
	for at := 0; !ended; at++ {
		disk := vfs.NewMemory()
		if err := vfs.Replace(disk, "/tls", "/tls/page.pem", []byte(before)); err != nil {
			t.Fatal(err)
		}
		files, step := cutting(disk, at)
		err := memory(files, step).place(ctx, []byte(after), fingerprint)
		ended = err == nil
		for how, left := range map[string]*vfs.Memory{"killed": disk.Kill(), "without power": disk.PowerCut(nil), "torn": disk.PowerCut(func(_ string, unsynced int) int { return unsynced / 2 })} {
			read, _ := vfs.ReadFile(left, "/tls/page.pem")
			if string(read) != before && string(read) != after {
				t.Fatalf("%s after %d operations: the web server would read %q", how, at, read)
			}
			_, tried := vfs.ReadFile(left, "/tls/before.pem")
			if err := memory(left, well).Recover(ctx); err != nil {
				t.Fatalf("%s after %d operations: %v", how, at, err)
			}
			read, _ = vfs.ReadFile(left, "/tls/page.pem")
			if want := map[bool]string{true: before, false: string(read)}[tried == nil]; string(read) != want || string(read) != before && string(read) != after {
				t.Errorf("%s after %d operations: a change that was cut off was not taken back", how, at)
			}
			if string(read) == after {
				finished++
			}
		}
	}
	if finished < 3 {
		t.Errorf("%d ends with the new one, and the last has three", finished)
	}
}

// The two files of the first boot become one: whatever is cut off, the web server finds a certificate and its key.
func TestAdoptingIsCutOff(t *testing.T) {
	ctx := context.Background()
	for at, ended := 0, false; !ended; at++ {
		keeper, page := firstBoot(t)
		files, step := cutting(vfs.OS, at)
		keeper.files, keeper.disk = files, systemDisk
		keeper.disk.link = func(path string) error {
			if err := step(); err != nil {
				return err
			}
			return systemDisk.link(path)
		}
		_, err := keeper.SelfSigned(ctx, Names{Names: []string{"new.example"}})
		ended = err == nil
		if err := page.reload(ctx); err != nil {
			t.Fatalf("after %d operations: %v", at, err)
		}
		next := &Keeper{Folder: keeper.Folder, Reload: page.reload, Probe: keeper.Probe, now: keeper.now, roots: keeper.roots}
		if err := next.Recover(ctx); err != nil {
			t.Fatalf("after %d operations: %v", at, err)
		}
		if state, err := next.SelfSigned(ctx, Names{Names: []string{"again.example"}}); err != nil || state.Previous == nil {
			t.Errorf("after %d operations another is not installed: %+v %v", at, state, err)
		}
	}
}
