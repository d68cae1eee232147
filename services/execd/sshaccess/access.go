package sshaccess

import (
	"bytes"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"
)

const (
	// Longest is how long it may be on without being switched on again.
	Longest = 30 * 24 * time.Hour

	mostKeys     = 500
	mostNetworks = 64
)

// Access is who may come in, from where, and until when.
type Access struct {
	Enabled  bool     `json:"enabled"`
	UntilMs  int64    `json:"untilMs"`
	Networks []string `json:"networks"` // CIDR
	Keys     []Key    `json:"keys"`
}

// Key is one key of a user of the appliance.
type Key struct {
	User string `json:"user"`
	Key  string `json:"key"`
}

// Names as akd gives them to users; nothing in one can end the text between quotation marks that it stands in.
var userName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`)

// Until is when it ends.
func (a Access) Until() time.Time { return time.UnixMilli(a.UntilMs).UTC() }

// On says whether anybody may come in at that time.
func (a Access) On(now time.Time) bool { return a.Enabled && now.Before(a.Until()) }

// check looks at everything before anything is written.
func (a Access) check(now time.Time) error {
	if !a.Enabled {
		return nil
	}
	switch until := a.Until(); {
	case !until.After(now):
		return errors.New("until: the end is over already")
	case until.After(now.Add(Longest + time.Minute)):
		return fmt.Errorf("until: ssh is on for at most %d days", int(Longest.Hours()/24))
	case len(a.Networks) == 0:
		return errors.New("networks: nobody could come in; name a network")
	case len(a.Networks) > mostNetworks:
		return fmt.Errorf("networks: more than %d", mostNetworks)
	case len(a.Keys) > mostKeys:
		return fmt.Errorf("keys: more than %d", mostKeys)
	}
	for _, network := range a.Networks {
		if _, err := netip.ParsePrefix(network); err != nil {
			return fmt.Errorf("networks: %q is no network, as 192.0.2.0/24", network)
		}
	}
	for _, key := range a.Keys {
		if !userName.MatchString(key.User) {
			return fmt.Errorf("keys: %q is no user's name", key.User)
		}
		if _, err := ParseKey(key.Key); err != nil {
			return fmt.Errorf("keys: of %s: %w", key.User, err)
		}
	}
	return nil
}

// networks are those of the access, each with its host bits cleared: sshd refuses its whole configuration otherwise.
func (a Access) networks() []string {
	var all []string
	for _, network := range a.Networks {
		if prefix, err := netip.ParsePrefix(network); err == nil {
			all = append(all, prefix.Masked().String())
		}
	}
	return all
}

// authorizedKeys is what sshd compares keys with. Everything that a key may do is said with it: a terminal, and the one command, which
// names the user and, for the audit log, the key.
func (a Access) authorizedKeys() ([]byte, error) {
	var b bytes.Buffer
	for _, one := range a.Keys {
		key, err := ParseKey(one.Key)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&b, "restrict,pty,command=\"user %s %s\",from=\"%s\",expiry-time=\"%s\" %s %s\n", one.User, key.Fingerprint, strings.Join(a.networks(), ","),
			a.Until().Format("20060102150405Z"), key.Algorithm, key.Encoded)
	}
	return b.Bytes(), nil
}

// daemon is where sshd listens and what it reads.
type daemon struct {
	Folder, Account string
	Address         string // empty: every address
	Port            int
}

// configuration is all that sshd is told. What is not named has OpenSSH's default, and none of those lets anybody in.
func (d daemon) configuration(a Access) []byte {
	var b bytes.Buffer
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("# Written by execd when ssh is switched on; a change here is lost.")
	line("Port %d", d.Port)
	if d.Address != "" {
		line("ListenAddress %s", d.Address)
	}
	line("HostKey %s/host_key", d.Folder)
	line("AuthorizedKeysFile %s/authorized_keys", d.Folder)
	allowed := []string{}
	for _, network := range a.networks() {
		allowed = append(allowed, d.Account+"@"+network)
	}
	line("AllowUsers %s", strings.Join(allowed, " "))
	b.WriteString(`PidFile none
UsePAM no
StrictModes yes
AuthenticationMethods publickey
PubkeyAuthentication yes
PubkeyAcceptedAlgorithms ssh-ed25519,ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521,rsa-sha2-512,rsa-sha2-256,sk-ssh-ed25519@openssh.com,sk-ecdsa-sha2-nistp256@openssh.com
PasswordAuthentication no
KbdInteractiveAuthentication no
HostbasedAuthentication no
PermitEmptyPasswords no
PermitRootLogin no
PermitUserEnvironment no
PermitUserRC no
DisableForwarding yes
AllowTcpForwarding no
AllowStreamLocalForwarding no
AllowAgentForwarding no
X11Forwarding no
PermitTunnel no
GatewayPorts no
MaxAuthTries 3
MaxSessions 4
MaxStartups 10:30:20
LoginGraceTime 20
ClientAliveInterval 60
ClientAliveCountMax 3
UseDNS no
PrintMotd no
PrintLastLog no
Compression no
LogLevel VERBOSE
`)
	return b.Bytes()
}
