package main

// What somebody gets who comes in by ssh: the login shell of the account cistern-ssh is this program under the name cistern-shell,
// so that no system shell runs whatever sshd is asked. sshd hands over the command that belongs to the key (“user NAME”) and, in
// SSH_ORIGINAL_COMMAND, what the client asked for. Only commands of a fixed list run, as lists of arguments, as the account.

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/syslog"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

// restrictedShell is the name under which the program is the account's shell.
const restrictedShell = "cistern-shell"

const (
	diagnosisTime  = time.Minute
	diagnosisBytes = 16 << 20
	longestLine    = 4096
)

// diagnosis is one command that only reads. extra is what may be added, one word.
type diagnosis struct {
	words       string // as they are typed
	explanation string
	system      string // the only one that has it; empty: both
	run         []string
	extra       *regexp.Regexp
	extraName   string
	before      string // an option that the added word belongs to
}

var (
	datasetWord = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.:/-]{0,255}$`)
	numberWord  = regexp.MustCompile(`^[1-9][0-9]{0,4}$`)
)

var diagnoses = []diagnosis{
	{words: "zpool status", explanation: "the state of the pools", run: []string{"zpool", "status", "-v"}, extra: datasetWord, extraName: "POOL"},
	{words: "zpool list", explanation: "how full the pools are", run: []string{"zpool", "list", "-v"}, extra: datasetWord, extraName: "POOL"},
	{words: "zpool iostat", explanation: "what the disks do", run: []string{"zpool", "iostat", "-v"}, extra: datasetWord, extraName: "POOL"},
	{words: "zfs list", explanation: "datasets", run: []string{"zfs", "list"}, extra: datasetWord, extraName: "DATASET"},
	{words: "df", explanation: "mounted file systems", run: []string{"df", "-h"}},
	{words: "uptime", explanation: "since when it runs, and how busy it is", run: []string{"uptime"}},
	{words: "date", explanation: "the machine's time", run: []string{"date", "-u"}},
	{words: "ps", explanation: "processes", run: []string{"ps", "-ef"}},
	{words: "top", explanation: "the busiest processes", system: "linux", run: []string{"top", "-b", "-n", "1", "-w", "200"}},
	{words: "journal", explanation: "the newest lines of the log", system: "linux", run: []string{"journalctl", "--no-pager", "--output", "short-iso"}, extra: numberWord, extraName: "LINES", before: "--lines"},
	{words: "kernel", explanation: "what the kernel said since it started", system: "linux", run: []string{"journalctl", "--no-pager", "--dmesg", "--boot"}},
	{words: "sockets", explanation: "open ports and connections", system: "linux", run: []string{"ss", "--tcp", "--udp", "--listening", "--numeric"}},
	{words: "addresses", explanation: "network cards and their addresses", system: "linux", run: []string{"ip", "address", "show"}},
	{words: "routes", explanation: "where packets go", system: "linux", run: []string{"ip", "route", "show"}},
	{words: "units", explanation: "services that have failed", system: "linux", run: []string{"systemctl", "--no-pager", "--failed"}},
}

// visitor is who came in, as the audit trail has it.
type visitor struct {
	user, from string
	key        string // the fingerprint of the key by which
	log        func(line string)
	out, err   io.Writer
	system     string
	start      func(ctx context.Context, out, err io.Writer, arguments []string) error
}

// visitorKey is the command that goes with a key (services/execd/sshaccess).
var visitorKey = regexp.MustCompile(`^user ([A-Za-z0-9][A-Za-z0-9._@-]{0,63}) (SHA256:[A-Za-z0-9+/]{43})$`)

// runShell is the shell's whole life; it returns the exit status.
func runShell(arguments []string, variable func(string) string) int {
	// sshd says -c COMMAND, the command being the key's. Anything else, as a sign-in at a terminal, has no user.
	if len(arguments) != 2 || arguments[0] != "-c" {
		fmt.Fprintln(os.Stderr, "This account is for ssh with a key of a user of the appliance.")
		return 1
	}
	key := visitorKey.FindStringSubmatch(arguments[1])
	if key == nil {
		fmt.Fprintln(os.Stderr, "This key belongs to no user of the appliance.")
		return 1
	}
	from, _, _ := strings.Cut(variable("SSH_CONNECTION"), " ")
	v := visitor{user: key[1], key: key[2], from: from, out: os.Stdout, err: os.Stderr, system: runtime.GOOS, log: recordLine, start: startDiagnosis}
	defer v.endsEarly()()
	if asked := variable("SSH_ORIGINAL_COMMAND"); asked != "" {
		return v.once(asked)
	}
	return v.talk(os.Stdin, term.IsTerminal(int(os.Stdin.Fd())))
}

// record writes what happened; a session that cannot be recorded does nothing.
func (v visitor) record(what, command string) {
	text, _ := json.Marshal(map[string]string{"what": what, "user": v.user, "key": v.key, "from": v.from, "command": command})
	v.log(string(text))
}

// endsEarly records the end of a session that the appliance ends: ssh is switched off, or the client has gone. It returns how to
// stop that.
func (v visitor) endsEarly() func() {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGHUP, syscall.SIGTERM, syscall.SIGPIPE)
	go func() {
		if _, ok := <-ended; ok {
			v.record("ssh.sign-out", "")
			os.Exit(1)
		}
	}()
	return func() { signal.Stop(ended) }
}

func (v visitor) once(line string) int {
	v.record("ssh.sign-in", "")
	defer v.record("ssh.sign-out", "")
	return v.do(line)
}

func (v visitor) talk(in io.Reader, terminal bool) int {
	v.record("ssh.sign-in", "")
	defer v.record("ssh.sign-out", "")
	if terminal {
		fmt.Fprintf(v.out, "Cistern, as %s. Commands that only read; “help” lists them, “exit” ends. Each is recorded.\n", v.user)
	}
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, longestLine)
	status := 0
	for {
		if terminal {
			fmt.Fprint(v.out, "cistern> ")
		}
		if !lines.Scan() {
			break
		}
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if line == "exit" || line == "quit" {
			return status
		}
		status = v.do(line)
	}
	if lines.Err() != nil {
		fmt.Fprintf(v.err, "A line has at most %d characters.\n", longestLine)
		return 2
	}
	return status
}

// do runs one line. Its words are split at blanks, and nothing in them means anything else.
func (v visitor) do(line string) int {
	arguments, err := chosen(line, v.system)
	if err != nil {
		v.record("ssh.refuse", line)
		fmt.Fprintln(v.err, err)
		return 2
	}
	v.record("ssh.run", line)
	if arguments == nil {
		v.help()
		return 0
	}
	ctx, stop := context.WithTimeout(context.Background(), diagnosisTime)
	defer stop()
	ctx, ignore := signal.NotifyContext(ctx, os.Interrupt) // ^C ends the command, not the session
	defer ignore()
	err = v.start(ctx, v.out, v.err, arguments)
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		fmt.Fprintf(v.err, "%s took longer than %s, and was ended.\n", arguments[0], diagnosisTime)
	case !errors.As(err, &ended):
		fmt.Fprintf(v.err, "%s: %v\n", arguments[0], err)
	}
	return 1
}

// chosen are the arguments that a line stands for; nil without an error is “help”.
func chosen(line, system string) ([]string, error) {
	words := strings.Fields(line)
	if len(words) == 0 || slices.Equal(words, []string{"help"}) {
		return nil, nil
	}
	for _, d := range diagnoses {
		own := strings.Fields(d.words)
		if d.system != "" && d.system != system || len(words) < len(own) || !slices.Equal(words[:len(own)], own) {
			continue
		}
		added := words[len(own):]
		if len(added) == 0 {
			if d.before != "" {
				return append(slices.Clone(d.run), d.before, "200"), nil
			}
			return d.run, nil
		}
		if d.extra == nil || len(added) > 1 || !d.extra.MatchString(added[0]) {
			return nil, fmt.Errorf("%q takes %s; “help” lists what there is", d.words, taken(d))
		}
		if d.before != "" {
			return append(slices.Clone(d.run), d.before, added[0]), nil
		}
		return append(slices.Clone(d.run), added[0]), nil
	}
	return nil, fmt.Errorf("there is no %q here; “help” lists what there is", words[0])
}

func taken(d diagnosis) string {
	if d.extra == nil {
		return "nothing else"
	}
	return "one " + d.extraName + " or nothing"
}

func (v visitor) help() {
	for _, d := range diagnoses {
		if d.system == "" || d.system == v.system {
			name := d.words
			if d.extraName != "" {
				name += " [" + d.extraName + "]"
			}
			fmt.Fprintf(v.out, "  %-24s %s\n", name, d.explanation)
		}
	}
	fmt.Fprintf(v.out, "  %-24s %s\n", "exit", "end the session")
}

// startDiagnosis runs a program of the system with an environment that has nothing of the client's.
func startDiagnosis(ctx context.Context, out, errs io.Writer, arguments []string) error {
	program := ""
	for _, folder := range []string{"/usr/sbin/", "/usr/bin/", "/sbin/", "/bin/"} {
		if info, err := os.Stat(folder + arguments[0]); err == nil && info.Mode().IsRegular() {
			program = folder + arguments[0]
			break
		}
	}
	if program == "" {
		return errors.New("this machine has no such program")
	}
	c := exec.CommandContext(ctx, program, arguments[1:]...)
	c.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8", "TERM=dumb", "SYSTEMD_PAGER=", "PAGER=cat"}
	c.Stdout, c.Stderr = &limited{out, diagnosisBytes}, &limited{errs, diagnosisBytes}
	c.WaitDelay = time.Second
	return c.Run()
}

// limited passes on so many bytes; the rest is dropped, so that the program is not held up.
type limited struct {
	to   io.Writer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if part := p[:min(len(p), l.left)]; len(part) > 0 {
		l.left -= len(part)
		if _, err := l.to.Write(part); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}

// recordLine hands a line to the system's log under a name that nobody else of the account can write as: sshd runs no other program.
func recordLine(line string) {
	log, err := syslog.New(syslog.LOG_AUTHPRIV|syslog.LOG_INFO, restrictedShell)
	if err == nil {
		err = log.Info(line)
		_ = log.Close()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "This session cannot be recorded, and ends.")
		os.Exit(1)
	}
}
