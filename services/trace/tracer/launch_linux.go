package tracer

// DTrace for Linux runs as root only. What may become root must not read what dtrace prints, nor what others send: tracerd
// starts itself a second time, as the launcher, and gives up its own capabilities. The launcher starts dtrace with D programs
// that it is given, and nothing else; D without `destructive` changes nothing.

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// One message each way is one packet of a Unix socket pair: JSON, and with the answer to a start the reading ends of the two pipes.
type launchMessage struct {
	// Asked: start, signal, probes. Answers have the same number. Told without being asked: ended.
	Number int    `json:"number,omitempty"`
	Do     string `json:"do,omitempty"`
	Text   string `json:"text,omitempty"` // the D program
	PID    int    `json:"pid,omitempty"`
	Signal int    `json:"signal,omitempty"`
	Time   int64  `json:"time,omitempty"` // nanoseconds
	Error  string `json:"error,omitempty"`
}

// maxLaunchMessage is more than any program has, and fits into a socket's buffer.
const maxLaunchMessage = 128 << 10

// launcherArgument is what the second tracerd is called with.
const launcherArgument = "launch-dtrace"

// mustNotDo says why a D program is not run as root, or "". The compiler refuses destructive actions by itself, unless a
// directive or an option allows them; no program of ours has either.
func mustNotDo(text string) string {
	switch {
	case strings.ContainsRune(text, '#'):
		return "it has a directive"
	case strings.Contains(text, "destructive"):
		return "it is destructive"
	case strings.ContainsRune(text, 0):
		return "it has a byte of zero"
	}
	return ""
}

// IsLauncher says whether this process is to launch and not to trace.
func IsLauncher(arguments []string) bool {
	return len(arguments) > 1 && arguments[1] == launcherArgument
}

// RunLauncher serves who started it until that process ends. arguments: launch-dtrace PROGRAM UID.
func RunLauncher(arguments []string) error {
	if len(arguments) != 4 {
		return errors.New("tracerd launch-dtrace is started by tracerd itself")
	}
	uid, err := strconv.Atoi(arguments[3])
	if err != nil {
		return err
	}
	conn, err := net.FileConn(os.NewFile(3, "tracerd"))
	if err != nil {
		return fmt.Errorf("tracerd launch-dtrace is started by tracerd itself: %w", err)
	}
	// Told to stop with all of the service, it still ends every dtrace in order when it is asked to.
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	return serveLaunches(conn.(*net.UnixConn), arguments[2], uid)
}

func serveLaunches(conn *net.UnixConn, program string, uid int) error {
	var sending sync.Mutex
	send := func(m launchMessage, files ...*os.File) {
		content, _ := json.Marshal(m)
		var rights []byte
		if len(files) > 0 {
			rights = unix.UnixRights(int(files[0].Fd()), int(files[1].Fd()))
		}
		sending.Lock()
		defer sending.Unlock()
		_, _, _ = conn.WriteMsgUnix(content, rights, nil) // nobody reads it: the next read ends this process
	}
	var mu sync.Mutex
	children := map[int]*exec.Cmd{}
	buffer := make([]byte, maxLaunchMessage)
	for {
		n, err := conn.Read(buffer)
		if err != nil || n == 0 {
			return nil // dtrace dies with the process that started it
		}
		var m launchMessage
		if err := json.Unmarshal(buffer[:n], &m); err != nil {
			return fmt.Errorf("a message that is none: %w", err)
		}
		mu.Lock()
		child := children[m.PID]
		mu.Unlock()
		answer := launchMessage{Number: m.Number, PID: m.PID}
		switch {
		case m.Do == "start":
			command, out, said, err := launch(program, uid, m.Text)
			if err != nil {
				answer.Error = err.Error()
				send(answer)
				continue
			}
			pid := command.Process.Pid
			mu.Lock()
			children[pid] = command
			mu.Unlock()
			answer.PID = pid
			send(answer, out, said)
			out.Close()
			said.Close()
			go func() {
				ended := launchMessage{Do: "ended", PID: pid}
				if err := command.Wait(); err != nil {
					ended.Error = err.Error()
				}
				mu.Lock()
				delete(children, pid)
				mu.Unlock()
				send(ended)
			}()
		case child == nil: // it has ended meanwhile
			send(answer)
		case m.Do == "signal" && (m.Signal == int(syscall.SIGINT) || m.Signal == int(syscall.SIGKILL)):
			_ = child.Process.Signal(syscall.Signal(m.Signal))
			send(answer)
		case m.Do == "probes":
			answer.Time = int64(probeTime(m.PID))
			send(answer)
		default:
			return fmt.Errorf("'%.20s' is nothing that is done here", m.Do)
		}
	}
}

// launch starts dtrace as the user. Its program is in memory that nobody can change any more.
func launch(program string, uid int, text string) (command *exec.Cmd, out, said *os.File, err error) {
	if wrong := mustNotDo(text); wrong != "" {
		return nil, nil, nil, fmt.Errorf("the D program is not run: %s", wrong)
	}
	fd, err := unix.MemfdCreate("program.d", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("the D program has no place: %w", err)
	}
	script := os.NewFile(uintptr(fd), "program.d")
	defer script.Close()
	if _, err := script.WriteString(text); err != nil {
		return nil, nil, nil, err
	}
	if _, err := unix.FcntlInt(script.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_SEAL); err != nil {
		return nil, nil, nil, err
	}
	// The first of ExtraFiles is 3 in the child.
	command = commandOf(program, "/proc/self/fd/3")
	command.ExtraFiles = []*os.File{script}
	command.SysProcAttr = attributes(uid)
	out, outEnd, err := os.Pipe()
	if err != nil {
		return nil, nil, nil, err
	}
	defer outEnd.Close()
	said, saidEnd, err := os.Pipe()
	if err != nil {
		out.Close()
		return nil, nil, nil, err
	}
	defer saidEnd.Close()
	command.Stdout, command.Stderr = outEnd, saidEnd
	if err := command.Start(); err != nil {
		out.Close()
		said.Close()
		return nil, nil, nil, fmt.Errorf("dtrace cannot be started: %w", err)
	}
	return command, out, said, nil
}

// Launcher is tracerd's end of the connection to the process that starts dtrace.
type Launcher struct {
	conn *net.UnixConn
	// Lost is closed when that process has ended.
	Lost chan struct{}
	gone chan struct{} // closed when it has been waited for

	sending sync.Mutex
	mu      sync.Mutex
	next    int
	waiting map[int]chan launchAnswer
	running map[int]chan error // by pid
	early   map[int]error      // ended before the answer to its start was looked at
}

type launchAnswer struct {
	launchMessage
	files []*os.File
}

// StartLauncher starts this program a second time as the launcher, and gives up every capability of this process.
func StartLauncher(program string, uid int, log *slog.Logger) (*Launcher, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	ours, theirs := os.NewFile(uintptr(pair[0]), "launcher"), os.NewFile(uintptr(pair[1]), "tracerd")
	defer ours.Close()
	defer theirs.Close()
	conn, err := net.FileConn(ours)
	if err != nil {
		return nil, err
	}
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	command := exec.Command(self, launcherArgument, program, strconv.Itoa(uid))
	command.Stderr = os.Stderr
	command.ExtraFiles = []*os.File{theirs}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("the process that starts dtrace: %w", err)
	}
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if err := command.Wait(); err != nil {
			log.Error("the process that starts dtrace has ended", "error", err)
		}
	}()
	if err := dropCapabilities(); err != nil {
		_ = command.Process.Kill()
		return nil, fmt.Errorf("giving up capabilities: %w", err)
	}
	l := newLauncher(conn.(*net.UnixConn))
	l.gone = gone
	return l, nil
}

// Close ends the process that starts dtrace, and what it has started and not ended.
func (l *Launcher) Close() {
	l.conn.Close()
	select {
	case <-l.gone:
	case <-time.After(2 * time.Second):
	}
}

func newLauncher(conn *net.UnixConn) *Launcher {
	l := &Launcher{conn: conn, Lost: make(chan struct{}), waiting: map[int]chan launchAnswer{}, running: map[int]chan error{}, early: map[int]error{}}
	go l.read()
	return l
}

// dropCapabilities takes all of them from all threads, for good.
func dropCapabilities() error {
	if _, _, e := syscall.AllThreadsSyscall6(unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0); e != 0 {
		return e
	}
	header, none := &unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &[2]unix.CapUserData{}
	if _, _, e := syscall.AllThreadsSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(header)), uintptr(unsafe.Pointer(&none[0])), 0); e != 0 {
		return e
	}
	return nil
}

func (l *Launcher) read() {
	buffer, rights := make([]byte, maxLaunchMessage), make([]byte, unix.CmsgSpace(2*4))
	for {
		n, rn, _, _, err := l.conn.ReadMsgUnix(buffer, rights)
		if err != nil || n == 0 {
			break
		}
		var one launchAnswer
		one.files = filesOf(rights[:rn])
		if json.Unmarshal(buffer[:n], &one.launchMessage) != nil {
			break
		}
		l.mu.Lock()
		if one.Do == "ended" {
			var failure error
			if one.Error != "" {
				failure = errors.New(one.Error)
			}
			if ended := l.running[one.PID]; ended != nil {
				delete(l.running, one.PID)
				ended <- failure
			} else {
				l.early[one.PID] = failure
			}
		} else if answer := l.waiting[one.Number]; answer != nil {
			delete(l.waiting, one.Number)
			answer <- one
		} else {
			// Who asked has given up. A dtrace that nobody reads from ends when it prints.
			for _, file := range one.files {
				file.Close()
			}
		}
		l.mu.Unlock()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.Lost)
	for _, ended := range l.running {
		ended <- errors.New("the process that starts it has ended")
	}
}

func filesOf(rights []byte) (files []*os.File) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			_ = unix.SetNonblock(fd, true)
			files = append(files, os.NewFile(uintptr(fd), "dtrace"))
		}
	}
	return files
}

var errLost = errors.New("the process that starts dtrace does not answer")

func (l *Launcher) ask(m launchMessage) (launchAnswer, error) {
	answer := make(chan launchAnswer, 1)
	l.mu.Lock()
	l.next++
	m.Number = l.next
	l.waiting[m.Number] = answer
	l.mu.Unlock()
	content, err := json.Marshal(m)
	if err == nil && len(content) > maxLaunchMessage {
		err = errors.New("the D program is too long")
	}
	if err == nil {
		l.sending.Lock()
		_, err = l.conn.Write(content)
		l.sending.Unlock()
	}
	if err == nil {
		select {
		case one := <-answer:
			if one.Error != "" {
				return one, errors.New(one.Error)
			}
			return one, nil
		case <-l.Lost:
			err = errLost
		case <-time.After(time.Minute):
			err = errLost
		}
	}
	l.mu.Lock()
	delete(l.waiting, m.Number)
	l.mu.Unlock()
	return launchAnswer{}, err
}

func (l *Launcher) start(text string) (*traced, error) {
	one, err := l.ask(launchMessage{Do: "start", Text: text})
	if err != nil {
		return nil, err
	}
	if len(one.files) != 2 {
		return nil, errLost
	}
	ended := make(chan error, 1)
	l.mu.Lock()
	if failure, known := l.early[one.PID]; known {
		delete(l.early, one.PID)
		ended <- failure
	} else {
		l.running[one.PID] = ended
	}
	l.mu.Unlock()
	pid := one.PID
	return &traced{
		out: one.files[0], said: one.files[1], pid: pid,
		signal: func(s syscall.Signal) {
			go func() { _, _ = l.ask(launchMessage{Do: "signal", PID: pid, Signal: int(s)}) }()
		},
		wait: func() error {
			defer one.files[0].Close()
			defer one.files[1].Close()
			select {
			case failure := <-ended:
				return failure
			case <-l.Lost:
				return errLost
			}
		},
		probes: func() time.Duration {
			answer, err := l.ask(launchMessage{Do: "probes", PID: pid})
			if err != nil {
				return 0
			}
			return time.Duration(answer.Time)
		},
	}, nil
}
