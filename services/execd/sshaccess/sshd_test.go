//go:build linux

package sshaccess

// A real sshd on loopback with what is written here, in a mount namespace with an account of its own. The account's shell is the
// program itself, as on the appliance. It needs root, like the machines that the tests start, and OpenSSH's server.

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
)

type server struct {
	t       *testing.T
	manager *Manager
	folder  string
	mu      sync.Mutex // guards running
	running *exec.Cmd
	said    bytes.Buffer
}

const inNamespace = `set -e
mount --make-rprivate /
mount --bind "$1/passwd" /etc/passwd
mount --bind "$1/shadow" /etc/shadow
mount -t tmpfs none /run
mkdir -m 0755 /run/sshd
[ ! -e "$1/log" ] || { touch /run/log; mount --bind "$1/log" /run/log; }
exec /usr/sbin/sshd -D -e -f "$1/ssh/sshd_config"`

func newServer(t *testing.T) *server {
	t.Helper()
	if os.Getuid() != 0 {
		t.Fatal("a real sshd needs root: it becomes the account of whoever signs in")
	}
	// Every folder above has to belong to root and be closed to others' writing, or sshd does not trust what is in it.
	folder, err := os.MkdirTemp("/var/lib", "cistern-ssh-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	s := &server{t: t, folder: folder}
	// Named as the appliance names it, for the name is what makes the program the shell. Its stand-in here says what it was told.
	shell := filepath.Join(folder, "cistern-shell")
	for name, content := range map[string]string{
		"passwd":        "root:x:0:0:root:/root:/bin/sh\nsshd:x:104:65534::/run/sshd:/usr/sbin/nologin\n" + Account + ":x:514:65534::/nonexistent:" + shell + "\nother:x:515:65534::/nonexistent:/bin/sh\n",
		"shadow":        "root:*:1::::::\nsshd:*:1::::::\n" + Account + ":*:1::::::\nother:*:1::::::\n",
		"cistern-shell": "#!/bin/sh\nprintf '%s|' \"$@\" \"$SSH_ORIGINAL_COMMAND\" \"$SMUGGLED\"; [ \"$SSH_ORIGINAL_COMMAND\" != wait ] || exec sleep 600\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	_ = listener.Close()
	s.manager = &Manager{Folder: filepath.Join(folder, "ssh"), Service: s.service, Failed: func(err error) { t.Error(err) },
		daemon: daemon{Address: "127.0.0.1", Port: port, Account: Account}}
	t.Cleanup(func() { _ = s.service(context.Background(), "stop") })
	return s
}

// service is what systemd does with the unit: a stop ends all that belongs to it. A process namespace takes them all with it.
func (s *server) service(_ context.Context, action string) error {
	// The manager calls it at the end of the access, the test's end by itself.
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running != nil {
		_ = s.running.Process.Kill()
		_ = s.running.Wait()
		s.running = nil
	}
	if action == "stop" {
		return nil
	}
	s.running = exec.Command("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inNamespace, "sh", s.folder)
	s.running.Stdout, s.running.Stderr = &s.said, &s.said
	if err := s.running.Start(); err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", s.manager.daemon.Port)
	for range 200 {
		if connection, err := net.Dial("tcp", address); err == nil {
			return connection.Close()
		}
		time.Sleep(25 * time.Millisecond)
	}
	return fmt.Errorf("sshd does not listen: %s", s.said.String())
}

func (s *server) dial(user string, methods ...ssh.AuthMethod) (*ssh.Client, error) {
	content, err := os.ReadFile(s.manager.path("host_key"))
	if err != nil {
		return nil, err
	}
	host, err := ssh.ParsePrivateKey(content)
	if err != nil {
		return nil, err
	}
	return ssh.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", s.manager.daemon.Port), &ssh.ClientConfig{User: user, Auth: methods,
		HostKeyCallback: ssh.FixedHostKey(host.PublicKey()), Timeout: 10 * time.Second})
}

func (s *server) by(private ed25519.PrivateKey) ssh.AuthMethod {
	signer, err := ssh.NewSignerFromKey(private)
	if err != nil {
		s.t.Fatal(err)
	}
	return ssh.PublicKeys(signer)
}

func TestRealServer(t *testing.T) {
	s := newServer(t)
	line, private := newKey(t)
	fingerprint := fingerprintOf(t, line)
	_, stranger := newKey(t)
	a := Access{Enabled: true, UntilMs: time.Now().Add(time.Hour).UnixMilli(), Networks: []string{"127.0.0.0/8"}, Keys: []Key{{"ada", line}}}
	configure := func(a Access) {
		t.Helper()
		if err := s.manager.Configure(t.Context(), a); err != nil {
			t.Fatal(err)
		}
	}
	configure(a)
	refused := func(what, user string, method ssh.AuthMethod) {
		t.Helper()
		if client, err := s.dial(user, method); err == nil {
			_ = client.Close()
			t.Errorf("%s came in", what)
		}
	}

	client, err := s.dial(Account, s.by(private))
	if err != nil {
		t.Fatal(err, s.said.String())
	}
	defer client.Close()
	session, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	_ = session.Setenv("SMUGGLED", "yes") // sshd says no, or nothing
	out, err := session.Output("sh -c 'reboot'")
	if err != nil || string(out) != "-c|user ada "+fingerprint+"|sh -c 'reboot'||" {
		t.Errorf("%v %q\n%s", err, out, s.said.String())
	}
	if connection, err := client.Dial("tcp", "127.0.0.1:1"); err == nil || !strings.Contains(err.Error(), "prohibited") {
		t.Errorf("a port was forwarded: %v %v", connection, err)
	}
	if listener, err := client.Listen("tcp", "127.0.0.1:0"); err == nil {
		t.Errorf("a port was forwarded back: %v", listener)
	}
	open, err := net.Listen("unix", filepath.Join(s.folder, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := os.Chmod(filepath.Join(s.folder, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	if connection, err := client.Dial("unix", filepath.Join(s.folder, "open")); err == nil {
		t.Errorf("a socket was forwarded: %v", connection)
	}
	files, err := client.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if files.RequestSubsystem("sftp") == nil {
		t.Error("there is sftp")
	}

	refused("a key that nobody added", Account, s.by(stranger))
	refused("a password", Account, ssh.Password("secret"))
	refused("a password by questions", Account, ssh.KeyboardInteractive(func(_, _ string, questions []string, _ []bool) ([]string, error) {
		return make([]string, len(questions)), nil
	}))
	refused("root", "root", s.by(private))
	refused("another account", "other", s.by(private))

	// A key is added and taken away.
	second, other := newKey(t)
	a.Keys = append(a.Keys, Key{"bob", second})
	configure(a)
	waiting, err := s.dial(Account, s.by(other))
	if err != nil {
		t.Fatal(err)
	}
	held, err := waiting.NewSession()
	if err != nil {
		t.Fatal(err)
	}
	if err := held.Start("wait"); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = held.Wait(); close(gone) }()
	a.Keys = a.Keys[:1]
	configure(a)
	select {
	case <-gone:
	case <-time.After(10 * time.Second):
		t.Error("a session outlives its key")
	}
	refused("a key that was taken away", Account, s.by(other))

	// From elsewhere nobody comes in.
	elsewhere := a
	elsewhere.Networks = []string{"192.0.2.0/24"}
	configure(elsewhere)
	refused("somebody from another network", Account, s.by(private))

	// At the end by itself: who is there goes, nobody else comes.
	var last *ssh.Client
	for within := 3 * time.Second; last == nil; within *= 2 {
		a.UntilMs = time.Now().Add(within).UnixMilli()
		configure(a)
		if last, err = s.dial(Account, s.by(private)); err != nil && time.Now().UnixMilli() < a.UntilMs {
			t.Fatal(err, s.said.String())
		} // else the machine is so slow that the end came first
	}
	ended := make(chan struct{})
	go func() { _ = last.Wait(); close(ended) }()
	select {
	case <-ended:
	case <-time.After(time.Until(time.UnixMilli(a.UntilMs)) + 15*time.Second):
		t.Error("a session outlives the end")
	}
	if time.Now().UnixMilli() < a.UntilMs {
		t.Error("it ended too early")
	}
	refused("somebody after the end", Account, s.by(private))
	if kept, err := s.manager.load(); err != nil || kept.Enabled {
		t.Errorf("%v %v", err, kept)
	}
}

// The program itself as the shell: what is asked runs or does not, and is recorded with the user's name and address.
func TestRealShell(t *testing.T) {
	s := newServer(t)
	shell := filepath.Join(s.folder, "cistern-shell")
	if err := os.Remove(shell); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("go", "build", "-o", shell, "../../cmd/cistern").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	log, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(s.folder, "log"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if err := os.Chmod(filepath.Join(s.folder, "log"), 0o666); err != nil {
		t.Fatal(err)
	}
	// Read all along: who writes to a full socket waits.
	read := make(chan string, 1)
	go func() {
		recorded, datagram := "", make([]byte, 8192)
		for {
			n, err := log.Read(datagram)
			if err != nil {
				read <- recorded
				return
			}
			recorded += string(datagram[:n]) + "\n"
		}
	}()
	line, private := newKey(t)
	if err := s.manager.Configure(t.Context(), Access{Enabled: true, UntilMs: time.Now().Add(time.Hour).UnixMilli(), Networks: []string{"127.0.0.0/8"}, Keys: []Key{{"ada", line}}}); err != nil {
		t.Fatal(err)
	}
	client, err := s.dial(Account, s.by(private))
	if err != nil {
		t.Fatal(err, s.said.String())
	}
	defer client.Close()
	run := func(command, input string) (string, error) {
		session, err := client.NewSession()
		if err != nil {
			t.Fatal(err)
		}
		session.Stdin = strings.NewReader(input)
		if command != "" {
			out, err := session.CombinedOutput(command)
			return string(out), err
		}
		var said, errs bytes.Buffer
		session.Stdout, session.Stderr = &said, &errs
		if err := session.Shell(); err != nil {
			t.Fatal(err)
		}
		err = session.Wait()
		return said.String() + errs.String(), err
	}
	if out, err := run("date", ""); err != nil || !strings.Contains(out, "UTC") {
		t.Errorf("%v %q", err, out)
	}
	for _, command := range []string{"sh", "date; touch " + s.folder + "/touched", "df $(id)", "cistern version"} {
		if out, err := run(command, ""); err == nil || !strings.Contains(out, "help") {
			t.Errorf("%s: %v %q", command, err, out)
		}
	}
	if out, err := run("", "help\nid\ndate\n"); err != nil || !strings.Contains(out, "zpool status") || !strings.Contains(out, `no "id"`) || !strings.Contains(out, "UTC") {
		t.Errorf("%v %q", err, out)
	}
	if _, err := os.Stat(filepath.Join(s.folder, "touched")); err == nil {
		t.Error("a system shell ran")
	}
	_ = log.SetReadDeadline(time.Now().Add(500 * time.Millisecond))
	recorded := <-read
	for _, want := range []string{`"what":"ssh.sign-in"`, `"what":"ssh.sign-out"`, `"command":"date"`, `"command":"sh"`, `"command":"id"`, `"user":"ada"`, `"from":"127.0.0.1"`, `"key":"` + fingerprintOf(t, line) + `"`, `"what":"ssh.run"`, `"what":"ssh.refuse"`} {
		if !strings.Contains(recorded, want) {
			t.Errorf("%s is not in %s", want, recorded)
		}
	}
}

// A key's own end holds when nobody switches anything off: sshd refuses it.
func TestKeysExpireThemselves(t *testing.T) {
	s := newServer(t)
	line, private := newKey(t)
	a := Access{Enabled: true, UntilMs: time.Now().Add(time.Hour).UnixMilli(), Networks: []string{"127.0.0.0/8"}, Keys: []Key{{"ada", line}}}
	if err := s.manager.Configure(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	a.UntilMs = time.Now().Add(-2 * time.Second).UnixMilli()
	text, err := a.authorizedKeys()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.manager.write("authorized_keys", text, 0o644); err != nil {
		t.Fatal(err)
	}
	if client, err := s.dial(Account, s.by(private)); err == nil {
		_ = client.Close()
		t.Error("an expired key came in")
	}
}
