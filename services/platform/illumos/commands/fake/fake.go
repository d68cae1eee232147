// Package fake makes fake commands of illumos for tests. Each asks the table of real ones first (Package commands): what the
// real command refuses ends as there, and what the table lacks fails the test.
package fake

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cistern/services/platform/illumos/commands"
)

// Accepted is the exit code of Main for a call that the real command takes: the fake then goes on by itself.
const Accepted = 200

// unknown is the exit code for a call that the table lacks; it is noted in the file that UNKNOWN names.
const unknown = 99

// What a fake hands on in its environment.
const (
	asksEnv    = "CISTERN_ILLUMOS_COMMAND" // set: this program is asked about a call, and is no test
	callerEnv  = "CISTERN_ILLUMOS_CALLER"  // as in CallerOf, or "@" and the manifest of the service that calls
	unknownEnv = "CISTERN_ILLUMOS_UNKNOWN"
)

// The binary of any test that imports this package is also the program that its fakes ask.
func init() {
	if dir := os.Getenv(asksEnv); dir != "" {
		os.Exit(Main(dir, os.Args[1:]))
	}
}

// table is found from where a test starts: in its package's folder. Programs are built without the places of their sources.
var table = func() string {
	folder, err := os.Getwd()
	for ; err == nil && folder != "/"; folder = filepath.Dir(folder) {
		if found := filepath.Join(folder, "image/omnios/commands"); isFolder(found) {
			return found
		}
	}
	return ""
}()

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// Table is the folder of the table.
func Table() string { return table }

// Main answers for one call, as the real command would; the exit code is Accepted when that one would begin to work.
func Main(dir string, argv []string) int {
	if len(argv) == 0 {
		fmt.Fprintln(os.Stderr, "illumos-command: say a command")
		return unknown
	}
	table, err := commands.LoadOnly(dir, filepath.Base(argv[0]))
	if err == nil {
		caller := os.Getenv(callerEnv)
		if manifest, named := strings.CutPrefix(caller, "@"); named {
			if caller, err = Credential(manifest); err != nil {
				fmt.Fprintln(os.Stderr, err)
				return unknown
			}
		}
		var refused *commands.Answer
		if _, refused, err = table.Check(argv, CallerOf(caller)); refused != nil {
			fmt.Print(refused.Stdout)
			fmt.Fprint(os.Stderr, refused.Stderr)
			return refused.Exit
		}
	}
	if err == nil {
		if address := os.Getenv(socketEnv); address != "" {
			return forward(address, append([]string{filepath.Base(argv[0])}, argv[1:]...))
		}
		return Accepted
	}
	fmt.Fprintln(os.Stderr, err)
	if note := os.Getenv(unknownEnv); note != "" {
		f, err := os.OpenFile(note, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
		if err == nil {
			fmt.Fprintln(f, strings.Join(argv, " "))
			err = f.Close()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	return unknown
}

// basic is the set of privileges that every process has unless its manifest takes one away (privileges(7)).
var basic = []string{"file_link_any", "file_read", "file_write", "net_access", "proc_exec", "proc_fork", "proc_info", "proc_secflags", "proc_session"}

// CallerOf reads who calls: "root" for the user, and privileges as a manifest has them (`basic,!proc_info`), authorizations and
// devices that can be opened, with commas between; empty: everything.
func CallerOf(text string) commands.Caller {
	if text == "" {
		return commands.Everything
	}
	var caller commands.Caller
	for word := range strings.SplitSeq(text, ",") {
		switch {
		case word == "root":
			caller.Root = true
		case word == "basic":
			caller.Privileges = append(caller.Privileges, basic...)
		case strings.HasPrefix(word, "!"):
			caller.Privileges = slices.DeleteFunc(caller.Privileges, func(own string) bool { return own == word[1:] })
		case strings.Contains(word, "."):
			caller.Authorizations = append(caller.Authorizations, word)
		case strings.HasPrefix(word, "/"):
			caller.Devices = append(caller.Devices, word)
		default:
			caller.Privileges = append(caller.Privileges, word)
		}
	}
	return caller
}

// Machine is a folder with fake commands, for one test.
type Machine struct {
	Root string
	// What its programs know whatever environment they are started in.
	caller, note string
	t            *testing.T
}

// New makes a folder whose `bin` stands first in PATH. Calls that the table lacks fail the test at its end. Caller is as in
// CallerOf.
func New(t *testing.T, caller string) *Machine {
	t.Helper()
	m := &Machine{Root: t.TempDir(), caller: caller, t: t}
	note := filepath.Join(m.Root, "unknown")
	m.note = note
	t.Setenv("PATH", filepath.Join(m.Root, "bin")+":"+os.Getenv("PATH"))
	t.Setenv(callerEnv, caller)
	t.Setenv(unknownEnv, note)
	t.Cleanup(func() {
		if said, err := os.ReadFile(note); err == nil {
			t.Errorf("calls that image/omnios/commands does not have: %s", said)
		}
	})
	return m
}

// Put writes a file below the folder.
func (m *Machine) Put(path, text string, mode os.FileMode) {
	m.t.Helper()
	path = filepath.Join(m.Root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), mode)); err != nil {
		m.t.Fatal(err)
	}
}

// Program makes a fake command at path: each call is a line of Calls; one that the real command takes goes on with body, in sh.
func (m *Machine) Program(path, body string) {
	m.t.Helper()
	self, err := os.Executable()
	if err != nil {
		m.t.Fatal(err)
	}
	m.Put(path, fmt.Sprintf(`#!/bin/sh
echo "${0##*/} $*" >>'%s/calls'
%s='%s' %s='%s' %s='%s' '%s' "${0##*/}" "$@"
code=$?
[ $code = %d ] || exit $code
%s
`, m.Root, asksEnv, Table(), callerEnv, m.caller, unknownEnv, m.note, self, Accepted, body), 0o755)
}

// Method makes a program of ours, which no table holds.
func (m *Machine) Method(path, body string) {
	m.t.Helper()
	m.Put(path, fmt.Sprintf("#!/bin/sh\necho \"${0##*/} $*\" >>'%s/calls'\n%s\n", m.Root, body), 0o755)
}

// Calls are what was called since the last time, a line each.
func (m *Machine) Calls() string {
	said, _ := os.ReadFile(filepath.Join(m.Root, "calls"))
	_ = os.Remove(filepath.Join(m.Root, "calls"))
	return string(said)
}
