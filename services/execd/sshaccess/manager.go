package sshaccess

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// Port is where sshd listens.
const Port = 22

// Account is who everybody comes in as.
const Account = "cistern-ssh"

// Manager keeps what sshd reads in step with who may come in, and switches it off at the end. The folder belongs to root, and the account
// may read it: sshd looks into authorized_keys as the account.
type Manager struct {
	Folder string
	// Service is told "restart", "stop", which end the sessions there are, and "start".
	Service func(ctx context.Context, action string) error
	// Failed hears of what went wrong at the end, when nobody asks.
	Failed func(error)

	daemon daemon // a test's own; zero is the appliance's
	mu     sync.Mutex
	timer  *time.Timer
}

const retry = 10 * time.Second

func (m *Manager) path(name string) string { return filepath.Join(m.Folder, name) }

func (m *Manager) server() daemon {
	d := m.daemon
	d.Folder = m.Folder
	if d.Port == 0 {
		d.Port, d.Account = Port, Account
	}
	return d
}

// ErrAccess is wrapped by what Configure says of its argument.
var ErrAccess = errors.New("this access is refused")

// Configure makes this the access there is. Sessions end when anything was taken away; who may still come in signs in again.
func (m *Manager) Configure(ctx context.Context, a Access) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := a.check(time.Now()); err != nil {
		return fmt.Errorf("%w: %w", ErrAccess, err)
	}
	if !a.Enabled {
		return m.off(ctx)
	}
	keys, err := a.authorizedKeys()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(m.Folder, 0o755); err != nil {
		return err
	}
	if err := os.Chmod(m.Folder, 0o755); err != nil { // whatever execd's umask is
		return err
	}
	if err := m.hostKey(); err != nil {
		return err
	}
	configuration := m.server().configuration(a)
	before, _ := m.load()
	wrote, _ := os.ReadFile(m.path("sshd_config"))
	if err := errors.Join(m.write("authorized_keys", keys, 0o644), m.write("sshd_config", configuration, 0o600), m.save(a)); err != nil {
		return errors.Join(err, m.off(ctx))
	}
	if !before.On(time.Now()) || !bytes.Equal(wrote, configuration) || takenAway(before, a) {
		if err := m.Service(ctx, "restart"); err != nil {
			return errors.Join(err, m.off(ctx))
		}
	}
	m.arm(a.Until())
	return nil
}

// Resume is for execd's start: what was on goes on until its end, which may be over.
func (m *Manager) Resume(ctx context.Context) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, err := m.load()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !a.On(time.Now()) {
		return errors.Join(err, m.off(ctx)) // what cannot be read lets nobody in; what was switched off may not have been stopped
	}
	m.arm(a.Until())
	return m.Service(ctx, "start") // after the machine's own start; one that runs is left alone
}

// takenAway says whether somebody may do less than before: then those who are there have to go.
func takenAway(before, after Access) bool {
	has := map[Key]bool{}
	for _, key := range after.Keys {
		has[key] = true
	}
	for _, key := range before.Keys {
		if !has[key] {
			return true
		}
	}
	return after.UntilMs < before.UntilMs
}

// off lets nobody in, and ends what there is. The keys go first: sshd reads them at each sign-in.
func (m *Manager) off(ctx context.Context) error {
	if m.timer != nil {
		m.timer.Stop()
		m.timer = nil
	}
	if _, err := os.Stat(m.Folder); errors.Is(err, fs.ErrNotExist) {
		return m.Service(ctx, "stop")
	}
	return errors.Join(m.write("authorized_keys", nil, 0o644), m.save(Access{}), m.Service(ctx, "stop"))
}

// arm has it switched off at the end. A timer counts by a clock of its own; what is left is looked at again when it is due, and
// every hour, because the machine's clock may be set.
func (m *Manager) arm(until time.Time) {
	if m.timer != nil {
		m.timer.Stop()
	}
	m.timer = time.AfterFunc(min(max(time.Until(until.Round(0)), 0), time.Hour), func() { m.due() })
}

func (m *Manager) due() {
	m.mu.Lock()
	defer m.mu.Unlock()
	a, err := m.load()
	if err == nil && a.On(time.Now()) {
		m.arm(a.Until())
		return
	}
	if err == nil && !a.Enabled {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := m.off(ctx); err != nil {
		m.Failed(fmt.Errorf("ssh could not be switched off at its end: %w", err))
		m.timer = time.AfterFunc(retry, func() { m.again() })
	}
}

// again stops sshd until that succeeds: nobody can sign in meanwhile, but who is there would stay.
func (m *Manager) again() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if a, err := m.load(); err == nil && a.On(time.Now()) {
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()
	if err := m.off(ctx); err != nil {
		m.Failed(fmt.Errorf("ssh could not be switched off at its end: %w", err))
		m.timer = time.AfterFunc(retry, func() { m.again() })
	}
}

func (m *Manager) load() (Access, error) {
	var a Access
	content, err := os.ReadFile(m.path("access.json"))
	if err != nil {
		return a, err
	}
	if err := json.Unmarshal(content, &a); err != nil {
		return Access{}, fmt.Errorf("%s cannot be read: %w", m.path("access.json"), err)
	}
	return a, nil
}

func (m *Manager) save(a Access) error {
	content, err := json.Marshal(a)
	if err != nil {
		return err
	}
	return m.write("access.json", content, 0o600)
}

// write puts a whole file in the place of the one before.
func (m *Manager) write(name string, content []byte, mode os.FileMode) error {
	next := m.path(name + ".new")
	file, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	if err = errors.Join(err, file.Chmod(mode), file.Sync(), file.Close()); err != nil {
		return err
	}
	return os.Rename(next, m.path(name))
}

// HostKey is by what clients know this machine again; nil as long as there was no reason to make one.
func (m *Manager) HostKey() (*PublicKey, error) {
	content, err := os.ReadFile(m.path("host_key"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	private, err := ssh.ParsePrivateKey(content)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", m.path("host_key"), err)
	}
	key, err := ParseKey(string(ssh.MarshalAuthorizedKey(private.PublicKey())))
	return &key, err
}

// hostKey makes the machine's key the first time; it stays the same from then on, so that clients know the machine again.
func (m *Manager) hostKey() error {
	if content, err := os.ReadFile(m.path("host_key")); err == nil {
		if _, err := ssh.ParsePrivateKey(content); err == nil {
			return nil
		}
	}
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		return err
	}
	return m.write("host_key", pem.EncodeToMemory(block), 0o600)
}
