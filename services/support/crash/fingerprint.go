package crash

// Which crashes are the same, and what programs write of themselves when they end.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
)

var (
	coreFrame = regexp.MustCompile(`^\s*#\d+\s+0x[0-9a-f]+\s+(\S+) \((\S+) \+ (0x[0-9a-f]+)\)`)
	goFrame   = regexp.MustCompile(`^([\w./*()\[\]-]+(?:\.[\w*()\[\]-]+)+)\(.*\)$`)
	nodeFrame = regexp.MustCompile(`^\s*at (.+)$`)
	// Names are padded, that of a system call to 8 characters.
	pstack = regexp.MustCompile(`^\s*[0-9a-f]{8,16} (\S+?)(?:\+0x?[0-9a-f]+)? +\(`)
	// Between the threads of pstack; no empty line is. Older ones have the lwp first.
	pstackThread = regexp.MustCompile(`(?m)^-{2,} (?:thread|lwp)# .* -{2,}$`)
	// The first frame of a thread that waits in a system call, which has no offset.
	pstackWaits = regexp.MustCompile(`^\s*[0-9a-f]{8,16} (?:\S+ +\([^)]*\)$|_*(?:lwp_park|lwp_wait|nanosleep|pollsys|portfs|sigtimedwait|sigsuspend|door) )`)
	numbers     = regexp.MustCompile(`0x[0-9a-f]+|\b\d+\b`)
	// What Go says first when it ends; Node's errors begin with their class.
	goEnd   = regexp.MustCompile(`^(?:panic: |fatal error: |SIG[A-Z]+: |runtime: |unexpected fault address)`)
	nodeEnd = regexp.MustCompile(`^(?:\w*Error\b|FATAL ERROR: )`)
)

// crashed is the part of pstack's words that is of the thread that crashed. pstack marks none: it is the one in which a signal's
// handler was called, or else the first that does not wait in a system call, or else the first.
func crashed(stacks string) string {
	threads := pstackThread.Split(stacks, -1)
	if len(threads) == 1 {
		return stacks
	}
	threads = threads[1:]
	for _, thread := range threads {
		if strings.Contains(thread, "--- called from signal handler with signal ") {
			return thread
		}
	}
	for _, thread := range threads {
		first, _, _ := strings.Cut(strings.TrimLeft(thread, "\n"), "\n")
		if pstack.MatchString(first) && !pstackWaits.MatchString(first) {
			return thread
		}
	}
	return threads[0]
}

// frames are the places of the stack that crashed, or of the first, innermost first, without what differs from one crash to the next.
func frames(stacks string) []string {
	var found []string
	for line := range strings.Lines(crashed(stacks)) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case coreFrame.MatchString(line):
			m := coreFrame.FindStringSubmatch(line)
			if m[1] == "n/a" {
				m[1] = m[3]
			}
			found = append(found, m[2]+"!"+m[1])
		case nodeFrame.MatchString(line):
			found = append(found, numbers.ReplaceAllString(nodeFrame.FindStringSubmatch(line)[1], "#"))
		case goFrame.MatchString(line):
			found = append(found, goFrame.FindStringSubmatch(line)[1])
		case pstack.MatchString(line):
			if found = append(found, pstack.FindStringSubmatch(line)[1]); len(found) == 8 {
				return found
			}
		case strings.TrimSpace(line) == "" && len(found) > 0, len(found) >= 8:
			return found
		}
	}
	return found
}

// fingerprint tells one crash from another: by program, kind, signal and the eight innermost frames; by what the program said
// where there are none. A signal that somebody sent (Go says sigcode=0) has no place in the program: where it was just
// then says nothing.
func fingerprint(c *Record) string {
	place := frames(c.Stacks)
	if strings.Contains(c.Stacks, "sigcode=0") {
		place = nil
	}
	if place == nil {
		place = []string{numbers.ReplaceAllString(c.Reason, "#")}
	}
	sum := sha256.Sum256([]byte(strings.Join(append([]string{c.Service, c.Process, c.Kind, c.Signal}, place...), "\n")))
	return hex.EncodeToString(sum[:8])
}

// ownTrace finds in the last lines of a program's log what it said when it ended: its reason, its stacks, and the lines
// before.
func ownTrace(lines []string) (reason, stacks string, before []string) {
	for i, line := range lines {
		// A log in JSON (--log-format json) has the stack in a field.
		if strings.HasPrefix(line, "{") && strings.Contains(line, `\n    at `) {
			var fields map[string]any
			if json.Unmarshal([]byte(line), &fields) == nil {
				if text, ok := fields["error"].(string); ok {
					first, _, _ := strings.Cut(text, "\n")
					return first, text, lines[:i]
				}
			}
		}
		if !goEnd.MatchString(line) && !nodeEnd.MatchString(line) {
			continue
		}
		rest := strings.Join(lines[i:], "\n")
		if strings.Contains(rest, "\ngoroutine ") || strings.Contains(rest, "\n    at ") || strings.HasPrefix(line, "FATAL ERROR") {
			return line, rest, lines[:i]
		}
	}
	return "", "", lines
}
