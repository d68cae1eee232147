package redact

import (
	"bytes"
	"regexp"
)

// Names of things that are secret, with what stands between them and their value: "smtpPassword": , password= , X-Api-Key: .
// The backslashes are those of JSON in a text of JSON, at any depth.
var (
	secretHints = anyOf("passw", "passphrase", "secret", "token", "community", "authorization", "api", "private", "routing", "integration", "credential", "setup", "_hash")
	secretName  = regexp.MustCompile(`(?i)[\w.\\-]*(?:passw(?:or)?d|passwd|passphrase|secret|token|community|authorization|api[_-]?key|private[_-]?key|routing[_-]?key|integration[_-]?key|credential|setup[_-]?code|_hash)[\w-]*\\*["']?\s*[:=]\s*`)
	// Cookie and Set-Cookie headers hold several pairs.
	cookieHints = anyOf("cookie")
	cookieName  = regexp.MustCompile(`(?i)\b(?:set-)?cookie2?\\*["']?\s*[:=]\s*`)

	scheme = regexp.MustCompile(`(?i)^(?:Bearer|Basic|Digest)\s+\S+`)
	plain  = regexp.MustCompile(`^(?:\\.|[^\s,;}\]&\\])+`)
)

// backslashes counts those that end right before a place.
func backslashes(line []byte, at int) int {
	n := 0
	for n < at && line[at-1-n] == '\\' {
		n++
	}
	return n
}

// endOfQuoted is where the text ends that begins at a place, behind a quote with `depth` backslashes before it: at the
// next quote with as many, where those that stand for backslashes of the text itself, 2·(depth+1) each, do not count.
// Without one it is the end of the line: what was cut off there may be a secret as well.
func endOfQuoted(line []byte, from, depth int, quote byte) int {
	for at := from; at < len(line); at++ {
		if line[at] == quote && backslashes(line[from:], at-from)%(2*(depth+1)) == depth {
			return at - depth
		}
	}
	return len(bytes.TrimRight(line, "\r\n"))
}

// endOfBrackets is where a list or an object ends that begins at a place.
func endOfBrackets(line []byte, from int) int {
	open := 0
	for at := from; at < len(line); at++ {
		switch line[at] {
		case '[', '{':
			open++
		case ']', '}':
			open--
		}
		if open == 0 {
			return at + 1
		}
	}
	return len(bytes.TrimRight(line, "\r\n"))
}

// valueAt is what follows the name of a secret: from where to where it is replaced.
func valueAt(line []byte, at int) (from, to int) {
	rest := line[at:]
	depth := 0
	for depth < len(rest) && rest[depth] == '\\' {
		depth++
	}
	switch {
	case bytes.HasPrefix(rest, []byte(redacted)): // of a line that is looked at again; its end may have been cut off
		return at, at + len(redacted) + len(plain.Find(rest[len(redacted):]))
	case depth < len(rest) && (rest[depth] == '"' || rest[depth] == '\''):
		from = at + depth + 1
		return from, endOfQuoted(line, from, depth, rest[depth])
	case len(rest) > 0 && (rest[0] == '[' || rest[0] == '{'):
		return at, endOfBrackets(line, at)
	}
	if found := scheme.FindIndex(rest); found != nil {
		return at, at + found[1]
	}
	if found := plain.FindIndex(rest); found != nil {
		return at, at + found[1]
	}
	return at, at
}

// cookiesAt is what follows the name of a cookie header: to the end of the line, or of the quoted text that it is in.
func cookiesAt(line []byte, at int) (from, to int) {
	if from, to = valueAt(line, at); from > at {
		return from, to
	}
	for before := at - 1; before >= 0; before-- {
		if line[before] == '"' {
			return at, endOfQuoted(line, at, backslashes(line, before), '"')
		}
	}
	return at, len(bytes.TrimRight(line, "\r\n"))
}

// withoutValues replaces what follows each of the names.
func withoutValues(line []byte, name *regexp.Regexp, value func(line []byte, at int) (from, to int)) []byte {
	var out []byte
	done := 0
	for done < len(line) {
		found := name.FindIndex(line[done:])
		if found == nil {
			break
		}
		from, to := value(line, done+found[1])
		out = append(out, line[done:from]...)
		if to > from {
			out = append(out, redacted...)
		}
		done = max(to, done+found[1])
	}
	if out == nil {
		return line
	}
	return append(out, line[done:]...)
}

var (
	disguised = regexp.MustCompile(`\\+u00[2-7][0-9A-Fa-f]|\\+x[2-7][0-9A-Fa-f]|%[2-7][0-9A-Fa-f]`)
	painted   = regexp.MustCompile(`\x1b\[[0-9;?]*[ -/]*[@-~]`)
	wide      = regexp.MustCompile(`(?:[ -~]\x00){4,}`) // UTF-16
)

// undisguised writes letters, digits, - and _ as themselves where they stand as escapes (passw\u006frd, pass%77ord), and
// leaves out colours and zero bytes: a secret's name is recognised by its letters, and a program that reads the line takes
// both for the same.
func undisguised(line []byte) []byte {
	if bytes.IndexByte(line, 0x1b) >= 0 {
		line = painted.ReplaceAll(line, nil)
	}
	if bytes.IndexByte(line, 0) >= 0 {
		line = wide.ReplaceAllFunc(line, func(found []byte) []byte { return bytes.ReplaceAll(found, []byte{0}, nil) })
	}
	if bytes.IndexByte(line, '%') < 0 && bytes.IndexByte(line, '\\') < 0 {
		return line
	}
	return disguised.ReplaceAllFunc(line, func(found []byte) []byte {
		c := unhex(found[len(found)-2])<<4 | unhex(found[len(found)-1])
		if !word(c) {
			return found
		}
		return []byte{c}
	})
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}
