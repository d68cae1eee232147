package execd

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"cistern/services/execd/host"
)

// snmpArgument is who may poll the appliance by SNMP. Neither a community nor a user: snmpd listens nowhere.
type snmpArgument struct {
	EngineID  string   `json:"engineId"` // hexadecimal; the same as in this appliance's traps
	Community secret   `json:"community"`
	Sources   []string `json:"sources"` // networks that the community is taken from; none: everywhere
	User      *struct {
		Name         string `json:"name"`
		AuthProtocol string `json:"authProtocol"`
		AuthPassword secret `json:"authPassword"`
		PrivPassword secret `json:"privPassword"`
	} `json:"user"`
	Contact  string `json:"contact"`
	Location string `json:"location"`
}

var (
	snmpEngineID = regexp.MustCompile(`^[0-9a-f]{10,64}$`)
	// What can stand between quotes in net-snmp's configuration files and mean itself.
	snmpSecret   = regexp.MustCompile(`^[\x20\x21\x23-\x5b\x5d-\x7e]{1,255}$`)
	snmpUserName = regexp.MustCompile(`^[\x21\x24-\x5b\x5d-\x7e]{1,32}$`)
	// One line; a # would begin a comment.
	snmpText = regexp.MustCompile(`^[^\x00-\x1f\x7f#"\\]{0,255}$`)
)

// snmpShown is all that is shown to whoever polls: the system group, the network interfaces, and CISTERN-MIB.
var snmpShown = []string{".1.3.6.1.2.1.1", ".1.3.6.1.2.1.2", ".1.3.6.1.2.1.31", ".1.3.6.1.4.1.8072.9999.9999.7710"}

func (a snmpArgument) configuration() (string, error) {
	var b strings.Builder
	line := func(format string, values ...any) { fmt.Fprintf(&b, format+"\n", values...) }
	line("# Written by execd for akd; changed in the web page.")
	if !snmpEngineID.MatchString(a.EngineID) || len(a.EngineID)%2 != 0 {
		return "", host.Invalid("/engineId", "An engine id has 5 to 32 octets in hexadecimal.")
	}
	if !snmpText.MatchString(a.Contact) || !snmpText.MatchString(a.Location) {
		return "", host.Invalid("/contact", "Contact and location are lines of at most 255 characters without \", # and \\.")
	}
	line("exactEngineID 0x%s", a.EngineID)
	if a.Contact != "" {
		line("sysContact %s", a.Contact)
	}
	if a.Location != "" {
		line("sysLocation %s", a.Location)
	}
	if a.Community == "" && a.User == nil {
		return b.String(), nil
	}
	line("agentAddress udp:161")
	for _, subtree := range snmpShown {
		line("view cistern included %s", subtree)
	}
	if a.Community != "" {
		if !snmpSecret.MatchString(string(a.Community)) {
			return "", host.Invalid("/community", "A community holds printable ASCII characters other than \" and \\.")
		}
		sources := slices.Clone(a.Sources)
		if len(sources) == 0 {
			sources = []string{"default"}
		}
		for i, source := range sources {
			if source != "default" {
				network, err := netip.ParsePrefix(source)
				if err != nil || !network.Addr().Is4() {
					return "", host.Invalid(fmt.Sprintf("/sources/%d", i), "A source is a network of IPv4, as 192.0.2.0/24.")
				}
				source = network.Masked().String()
			}
			line(`rocommunity "%s" %s -V cistern`, string(a.Community), source)
		}
	}
	if u := a.User; u != nil {
		if !snmpUserName.MatchString(u.Name) {
			return "", host.Invalid("/user/name", "A user's name holds printable ASCII characters other than space, \", # and \\.")
		}
		if !slices.Contains([]string{"SHA", "SHA-256", "SHA-512"}, u.AuthProtocol) {
			return "", host.Invalid("/user/authProtocol", "The protocol is SHA, SHA-256 or SHA-512.")
		}
		for path, password := range map[string]secret{"/user/authPassword": u.AuthPassword, "/user/privPassword": u.PrivPassword} {
			if len(password) < 8 || !snmpSecret.MatchString(string(password)) {
				return "", host.Invalid(path, "A password has 8 printable ASCII characters or more, other than \" and \\.")
			}
		}
		line(`createUser %s %s "%s" AES "%s"`, u.Name, u.AuthProtocol, string(u.AuthPassword), string(u.PrivPassword))
		line("rouser %s priv -V cistern", u.Name)
	}
	return b.String(), nil
}

// snmpConfigure decides who may poll, and has snmpd begin anew with it.
func (s *Server) snmpConfigure(r *http.Request, a snmpArgument) (any, error) {
	text, err := a.configuration()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(s.State, "snmpd")
	path := filepath.Join(dir, "agent.conf")
	if err := replaceFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	// Its folder's owner is who snmpd runs as.
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return nil, errors.New("the owner of " + dir + " is not known")
	}
	if err := os.Chown(path, int(owner.Uid), int(owner.Gid)); err != nil {
		return nil, err
	}
	return empty{}, s.Host.Service(context.WithoutCancel(r.Context()), "snmpd", "restart")
}
