package redact

// Host names and addresses replaced on request: the same name by the same word in every file and in every later bundle
// of this appliance, so that what belongs together still does; nobody else can tell which name it was.

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Names are the words by which the names and addresses of one appliance are replaced.
type Names struct {
	key []byte
	own *regexp.Regexp // this machine's name, which has no domain that would tell it from a word
}

// OpenNames reads the appliance's key, and makes it the first time. Where it cannot be written (a full pool) the key is
// for this bundle alone.
func OpenNames(dir string) (*Names, error) {
	path := filepath.Join(dir, "pseudonyms.key")
	key, err := os.ReadFile(path)
	if err != nil || len(key) != 32 {
		key = make([]byte, 32)
		if _, err := rand.Read(key); err != nil {
			return nil, err
		}
		if os.WriteFile(path+".new", key, 0o600) == nil {
			_ = os.Rename(path+".new", path)
		}
	}
	host, _ := os.Hostname()
	return namesFor(key, host), nil
}

func namesFor(key []byte, host string) *Names {
	p := &Names{key: key}
	short, _, _ := strings.Cut(host, ".")
	if len(short) > 1 && short != "localhost" {
		p.own = regexp.MustCompile(`\b` + regexp.QuoteMeta(short) + `\b`)
	}
	return p
}

// Word is what a name of a kind, such as host or ip, is replaced by.
func (p *Names) Word(kind, name string) string {
	sum := hmac.New(sha256.New, p.key)
	sum.Write([]byte(kind + "\x00" + strings.ToLower(name)))
	return kind + "-" + hex.EncodeToString(sum.Sum(nil)[:4])
}

var (
	macAddress = regexp.MustCompile(`\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b`)
	ipv4       = regexp.MustCompile(`\b(?:\d{1,3}\.){3}\d{1,3}\b`)
	ipv6       = regexp.MustCompile(`[0-9A-Fa-f]*:[0-9A-Fa-f:]*:[0-9A-Fa-f:.]*`)
	mailbox    = regexp.MustCompile(`[\w.+-]+@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*)`)
	domainName = regexp.MustCompile(`\b(?:[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z]{2,}\b`)
)

// domains are the ends by which a name with dots in it is taken for a host's. Without such a list nginx.conf and
// cistern-akd.service would be hosts; those of two letters are countries, less the ends of files that look like one.
var (
	domains = []string{"com", "net", "org", "edu", "gov", "mil", "int", "info", "biz", "name", "cloud", "app", "dev", "local", "lan", "internal", "intern",
		"intranet", "corp", "home", "arpa", "localdomain", "example", "test", "invalid", "private", "site", "systems", "network", "tech", "online", "company"}
	fileEnds = []string{"so", "md", "py", "rs", "sh", "pl", "js", "ts", "go", "cc", "gz", "xz", "id", "in", "db", "st", "ps", "ko", "is", "to", "ms", "my", "no", "it", "do", "by", "us"}
	// Where source code lives: in every stack of a Go program.
	codeHosts = []string{"github.com", "golang.org", "google.golang.org", "gopkg.in", "k8s.io", "filippo.io", "go.opentelemetry.io", "go.uber.org", "nodejs.org"}
)

func isHost(name string) bool {
	lower := strings.ToLower(name)
	end := lower[strings.LastIndexByte(lower, '.')+1:]
	if slices.Contains(codeHosts, lower) {
		return false
	}
	return slices.Contains(domains, end) || len(end) == 2 && !slices.Contains(fileEnds, end)
}

// replace takes names and addresses out of a line.
func (p *Names) replace(line []byte) []byte {
	word := func(kind string) func([]byte) []byte {
		return func(found []byte) []byte { return []byte(p.Word(kind, string(found))) }
	}
	if bytes.IndexByte(line, '@') >= 0 {
		line = mailbox.ReplaceAllFunc(line, word("mail"))
	}
	if bytes.IndexByte(line, ':') >= 0 || bytes.IndexByte(line, '-') >= 0 {
		line = macAddress.ReplaceAllFunc(line, word("mac"))
		line = p.replaceIPv6(line)
	}
	if bytes.IndexByte(line, '.') >= 0 {
		line = ipv4.ReplaceAllFunc(line, func(found []byte) []byte { return p.address(found) })
		line = domainName.ReplaceAllFunc(line, func(found []byte) []byte {
			if !isHost(string(found)) {
				return found
			}
			return []byte(p.Word("host", string(found)))
		})
	}
	if p.own != nil {
		line = p.own.ReplaceAllFunc(line, word("host"))
	}
	return line
}

// replaceIPv6 looks at what stands beside: the "d::" of "std::string" reads as an address. One has a digit in it.
func (p *Names) replaceIPv6(line []byte) []byte {
	var out []byte
	done := 0
	for _, at := range ipv6.FindAllIndex(line, -1) {
		found := bytes.TrimRight(line[at[0]:at[1]], ".")
		if bytes.HasSuffix(found, []byte(":")) && !bytes.HasSuffix(found, []byte("::")) {
			found = found[:len(found)-1]
		}
		end := at[0] + len(found)
		if at[0] > 0 && word(line[at[0]-1]) || end < len(line) && word(line[end]) || !bytes.ContainsAny(found, "0123456789") {
			continue
		}
		out = append(append(out, line[done:at[0]]...), p.address(found)...)
		done = end
	}
	if done == 0 {
		return line
	}
	return append(out, line[done:]...)
}

// Replace replaces them in a text.
func (p *Names) Replace(text string) string { return string(p.replace([]byte(text))) }

// address leaves what names no machine: loopback, unspecified, multicast, broadcast, netmasks.
func (p *Names) address(found []byte) []byte {
	a, err := netip.ParseAddr(string(found))
	if err != nil || a.IsLoopback() || a.IsUnspecified() || a.IsMulticast() || a.Is4() && a.As4()[0] == 255 {
		return found
	}
	return []byte(p.Word("ip", a.Unmap().String()))
}
