// Package chrony is whom the machine asks for the time: the document that is kept, the file of sources that chrony reads, and what
// chrony says of them.
package chrony

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// Server is one that is asked for the time, or a name that stands for several.
type Server struct {
	Address string `json:"address"` // a host name or an address
	Pool    bool   `json:"pool"`    // the name stands for many, of which some are asked
	NTS     bool   `json:"nts"`     // only answers that are authenticated by Network Time Security are taken
}

// Document is whom the machine asks.
type Document struct {
	Version int      `json:"version"`
	Servers []Server `json:"servers"`
	// FromNetwork also asks those that the network names (DHCP).
	FromNetwork bool `json:"fromNetwork"`
}

// DocumentVersion is the form of Document.
const DocumentVersion = 1

const mostServers = 16

// Default is what holds until somebody decides otherwise.
func Default() Document {
	return Document{Version: DocumentVersion, Servers: []Server{}, FromNetwork: true}
}

// fallback are asked when nobody else is to be.
var fallback = []Server{
	{Address: "0.debian.pool.ntp.org", Pool: true}, {Address: "1.debian.pool.ntp.org", Pool: true},
	{Address: "2.debian.pool.ntp.org", Pool: true}, {Address: "3.debian.pool.ntp.org", Pool: true},
}

// RFC 1123: labels of letters, digits and hyphens, 63 at most each.
var hostName = regexp.MustCompile(`^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$`)

// only digits and dots are an address that is none.
var likeAddress = regexp.MustCompile(`^[0-9.]+$`)

// isAddress says whether text is an address that can be asked.
func isAddress(text string) bool {
	address, err := netip.ParseAddr(text)
	return err == nil && address.Zone() == "" && !address.IsUnspecified() && !address.IsMulticast()
}

// Normal has addresses in one form.
func (d Document) Normal() Document {
	servers := make([]Server, 0, len(d.Servers))
	for _, one := range d.Servers {
		one.Address = strings.ToLower(one.Address)
		if address, err := netip.ParseAddr(one.Address); err == nil {
			one.Address = address.String()
		}
		servers = append(servers, one)
	}
	d.Servers = servers
	return d
}

// Wrong is the first thing that is wrong with a document in its normal form: where, and what; empty when nothing is.
func (d Document) Wrong() (path, message string) {
	if d.Version != DocumentVersion {
		return "/version", fmt.Sprintf("The version is %d.", DocumentVersion)
	}
	if len(d.Servers) > mostServers {
		return "/servers", fmt.Sprintf("There are at most %d servers.", mostServers)
	}
	seen := map[string]bool{}
	for i, one := range d.Servers {
		at := fmt.Sprintf("/servers/%d", i)
		isName := len(one.Address) <= 253 && hostName.MatchString(one.Address) && !likeAddress.MatchString(one.Address)
		switch {
		case !isName && !isAddress(one.Address):
			return at + "/address", fmt.Sprintf("'%s' is no host name and no address of a time server.", one.Address)
		case one.Pool && !isName:
			return at + "/pool", "A pool has a name, which stands for several addresses. Name an address as a server."
		case seen[one.Address]:
			return at + "/address", fmt.Sprintf("'%s' stands in the list twice.", one.Address)
		}
		seen[one.Address] = true
	}
	return "", ""
}

// Where the document is from.
const (
	Kept       = "kept"
	Unset      = "default" // none was ever kept
	Unreadable = "broken"  // what was kept cannot be read: the default holds
)

// File is where the document is kept, in the appliance's state folder.
func File(state string) string { return filepath.Join(state, "execd", "time", "document.json") }

// Read is the document that is kept, and where it is from.
func Read(state string) (Document, string) {
	text, err := os.ReadFile(File(state))
	if errors.Is(err, os.ErrNotExist) {
		return Default(), Unset
	}
	var d Document
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	d = d.Normal()
	if path, _ := d.Wrong(); err != nil || path != "" {
		return Default(), Unreadable
	}
	return d, Kept
}

// Where a server that is asked is from.
const (
	FromSettings = "settings"
	FromNetwork  = "network"
	FromDefault  = "default"
)

// Asked is a server that is asked, and who named it.
type Asked struct {
	Server
	From string `json:"from"`
}

// Asked are those that the document has asked, where the network names these.
func (d Document) Asked(network []string) []Asked {
	asked := []Asked{}
	seen := map[string]bool{}
	add := func(one Server, from string) {
		if !seen[one.Address] {
			seen[one.Address] = true
			asked = append(asked, Asked{one, from})
		}
	}
	for _, one := range d.Servers {
		add(one, FromSettings)
	}
	if d.FromNetwork {
		for _, address := range network {
			add(Server{Address: address}, FromNetwork)
		}
	}
	if len(asked) == 0 {
		for _, one := range fallback {
			add(one, FromDefault)
		}
	}
	return asked
}

// Sources are those as chrony reads them from a file of its sourcedir.
func Sources(asked []Asked) string {
	var b strings.Builder
	b.WriteString("# Made by execd (docs/FORMATS.md); the next change writes it anew.\n")
	for _, one := range asked {
		// Some questions at once at the start: the time is known after seconds.
		options := " iburst"
		kind := "server"
		if one.Pool {
			kind = "pool"
			// Of each of the four names one, as long as nobody has decided; else as many as find out one that lies.
			options += map[bool]string{true: " maxsources 1", false: " maxsources 4"}[one.From == FromDefault]
		}
		if one.NTS {
			options += " nts"
		}
		fmt.Fprintf(&b, "%s %s%s\n", kind, one.Address, options)
	}
	return b.String()
}

// OfNetwork are the servers in the state file of systemd-networkd (sd_network_get_ntp); what is no name and no address is left out.
func OfNetwork(state string) []string {
	servers := []string{}
	for line := range strings.Lines(state) {
		list, ok := strings.CutPrefix(strings.TrimSpace(line), "NTP=")
		if !ok {
			continue
		}
		for address := range strings.FieldsSeq(list) {
			one := Document{Version: DocumentVersion, Servers: []Server{{Address: address}}}.Normal()
			if path, _ := one.Wrong(); path == "" {
				servers = append(servers, one.Servers[0].Address)
			}
		}
	}
	return servers
}
