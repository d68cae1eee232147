// Package redact takes secrets out of what goes into a bundle, line by line, and on request replaces names and addresses.
package redact

import (
	"bytes"
	"io"
	"regexp"
)

const redacted = "[redacted]"

// The rules of redaction, by the shape of what surrounds a secret. They are applied to every line of every file that
// goes into a bundle, before it is written; a rule that takes too much costs a detail, one that takes too little costs
// a password. A rule is tried only on a line that holds one of its hints, in lower case: nearly no line does, and looking
// for these costs a thirtieth of the rules. A bundle reads tens of megabytes on a machine that is in trouble already.
var redactions = []struct {
	hints   [][]byte
	pattern *regexp.Regexp
	with    []byte
}{
	// --password x, --smtp-token x: as programs are called.
	{anyOf("passw", "passphrase", "secret", "token", "community", "api"), regexp.MustCompile(`(?i)(\s--?[\w-]*(?:passw(?:or)?d|passphrase|secret|token|community|api-?key)[\w-]*\s+)("[^"]*"|'[^']*'|[^\s-]\S*)`), []byte("${1}" + redacted)},
	{anyOf("bearer", "basic", "digest"), regexp.MustCompile(`(?i)\b(Bearer|Basic|Digest)\s+[A-Za-z0-9+/._~=-]{8,}`), []byte("$1 " + redacted)},
	// snmp.conf and snmpd.conf: the value follows a space.
	{anyOf("community", "passphrase", "com2sec", "createuser", "usmuser", "trap", "inform"), regexp.MustCompile(`(?i)^(\s*(?:def(?:Community|AuthPassphrase|PrivPassphrase|Passphrase)|r[ow]community6?|com2sec6?|createUser|usmUser|trapcommunity|trapsess|trap2?sink|informsink)\s+).*`), []byte("${1}" + redacted)},
	// snmpget -v2c -c public …, snmptrap -u x -A y -X z: of any of net-snmp's programs.
	{anyOf("snmp"), regexp.MustCompile(`\bsnmp[a-z]*\b[^\r\n]*`), nil},
	// smtp://user:password@host, and curl -u user:password.
	{anyOf("://"), regexp.MustCompile(`(://[^/\s:@]*:)[^/\s]+@`), []byte("${1}" + redacted + "@")},
	{anyOf("-u", "--user"), regexp.MustCompile(`(\s(?:-u|--user)[\s=]+[^\s:]+:)\S+`), []byte("${1}" + redacted)},
	// SMTP as it is spoken: AUTH PLAIN base64.
	{anyOf("auth"), regexp.MustCompile(`(?i)\b(AUTH\s+(?:PLAIN|LOGIN|CRAM-MD5|XOAUTH2)\s+)\S+`), []byte("${1}" + redacted)},
	{anyOf("scrypt"), regexp.MustCompile(`\$?\bscrypt[$:][^\s"',]+`), []byte(redacted)},
	{anyOf("argon2"), regexp.MustCompile(`\$argon2\w*\$[^\s"']+`), []byte(redacted)},            // with its commas
	{anyOf("$"), regexp.MustCompile(`\$(?:1|2[aby]|5|6|7|y|gy)\$[^\s"':,]+`), []byte(redacted)}, // crypt(3)
	{anyOf("cistern_"), regexp.MustCompile(`\bcistern_[A-Za-z0-9_-]{43}\b`), []byte(redacted)},  // our own tokens
	{anyOf("age-secret-key-"), regexp.MustCompile(`\bAGE-SECRET-KEY-[A-Z0-9-]+`), []byte(redacted)},
	{anyOf("eyj"), regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`), []byte(redacted)}, // JSON web tokens
	// Addresses that are a secret themselves: whoever has one may post to it.
	{anyOf("hooks."), regexp.MustCompile(`(?i)(https?://hooks\.[^/\s]+/)[^\s"'<>]+`), []byte("${1}" + redacted)},
	{anyOf("hook"), regexp.MustCompile(`(?i)(https?://[^\s"'<>]*/(?:web)?hooks?/)[^\s"'<>]+`), []byte("${1}" + redacted)},
}

// snmpSecret is an option of net-snmp's programs that is followed by a secret.
var snmpSecret = regexp.MustCompile(`(\s-[cAXZ]\s*)("[^"]*"|'[^']*'|\S+)`)

func anyOf(hints ...string) [][]byte {
	all := make([][]byte, len(hints))
	for i, hint := range hints {
		all[i] = []byte(hint)
	}
	return all
}

func holds(line []byte, hints [][]byte) bool {
	for _, hint := range hints {
		if bytes.Contains(line, hint) {
			return true
		}
	}
	return false
}

// codeAt says whether a set-up code as the console shows it (ABCD-EFGH-2345) begins at the first byte.
func codeAt(text []byte) bool {
	const length = 14
	if len(text) < length {
		return false
	}
	for i, c := range text[:length] {
		if i == 4 || i == 9 {
			if c != '-' {
				return false
			}
		} else if (c < 'A' || c > 'Z' || c == 'I' || c == 'O') && (c < '2' || c > '9') {
			return false
		}
	}
	return len(text) == length || !word(text[length])
}

func word(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

// withoutCodes replaces set-up codes in place of nothing else.
func withoutCodes(line []byte) []byte {
	for from := 0; ; {
		dash := bytes.IndexByte(line[from:], '-')
		if dash < 0 {
			return line
		}
		at := from + dash - 4
		from += dash + 1
		if at < 0 || at > 0 && word(line[at-1]) || !codeAt(line[at:]) {
			continue
		}
		line = append(append(append([]byte{}, line[:at]...), redacted...), line[at+14:]...)
		from = at + len(redacted)
	}
}

var (
	keyBegins = regexp.MustCompile(`-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----`)
	keyEnds   = regexp.MustCompile(`-----END [A-Z0-9 ]*PRIVATE KEY-----`)
)

// longestLine is how much is looked at as one line. What has no line ends is cut there, and the end of a piece, with its
// secrets taken out, is looked at again with the next one: a secret may be in both.
const (
	longestLine = 1 << 20
	seenAgain   = 8 << 10
)

// Writer passes lines on with their secrets taken out. Close passes on a last line without an end.
type Writer struct {
	w     io.Writer
	names *Names // nil: names and addresses stay
	line  []byte
	lower []byte // the line as the hints are looked for
	inKey bool
}

// New makes a writer in front of w. names may be nil: names and addresses stay then.
func New(w io.Writer, names *Names) *Writer { return &Writer{w: w, names: names} }

// Write implements io.Writer.
func (r *Writer) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			r.line = append(r.line, p...)
			if len(r.line) > longestLine {
				clean := r.redacted()
				cut := max(0, len(clean)-seenAgain)
				if _, err := r.w.Write(clean[:cut]); err != nil {
					return 0, err
				}
				r.line = append(r.line[:0], clean[cut:]...)
			}
			break
		}
		r.line = append(r.line, p[:end+1]...)
		p = p[end+1:]
		if err := r.pass(); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Close implements io.Closer; what is behind is not closed.
func (r *Writer) Close() error {
	if len(r.line) == 0 {
		return nil
	}
	return r.pass()
}

func (r *Writer) pass() error {
	_, err := r.w.Write(r.redacted())
	r.line = r.line[:0]
	return err
}

// redacted is the line without its secrets, and without names and addresses where they are not wanted.
func (r *Writer) redacted() []byte {
	line := undisguised(r.line)
	if r.inKey {
		if keyEnds.Match(line) {
			r.inKey = false
		}
		return nil
	}
	if bytes.Contains(line, []byte("-----BEGIN")) && keyBegins.Match(line) {
		r.inKey = !keyEnds.Match(line)
		return []byte(redacted + " private key\n")
	}
	r.lower = append(r.lower[:0], line...)
	for i, c := range r.lower {
		if 'A' <= c && c <= 'Z' {
			r.lower[i] = c + ('a' - 'A')
		}
	}
	if holds(r.lower, cookieHints) {
		line = withoutValues(line, cookieName, cookiesAt)
	}
	if holds(r.lower, secretHints) {
		line = withoutValues(line, secretName, valueAt)
	}
	for _, rule := range redactions {
		switch {
		case !holds(r.lower, rule.hints):
		case rule.with == nil:
			line = rule.pattern.ReplaceAllFunc(line, func(part []byte) []byte {
				return snmpSecret.ReplaceAll(part, []byte("${1}"+redacted))
			})
		default:
			line = rule.pattern.ReplaceAll(line, rule.with)
		}
	}
	line = withoutCodes(line)
	if r.names != nil {
		line = r.names.replace(line)
	}
	return line
}

// Text is the redaction of one line that is in memory.
func Text(text string) string {
	var out bytes.Buffer
	r := &Writer{w: &out}
	_, _ = r.Write([]byte(text))
	_ = r.Close()
	return out.String()
}
