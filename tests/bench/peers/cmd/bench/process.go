package main

// Child processes and what /proc says of them. A server's cost is its CPU-seconds: on a shared machine wall time says
// mostly what else was running.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// clockTicks is what /proc counts CPU time in: USER_HZ is 100 on every Linux that Go runs on.
const clockTicks = 100

// starts are carried out by one thread that never ends: the kernel's "kill the child when the parent dies" is tied to
// the thread that started it, and Go ends threads as it likes.
var starts = sync.OnceValue(func() chan func() {
	list := make(chan func())
	go func() {
		runtime.LockOSThread()
		for start := range list {
			start()
		}
	}()
	return list
})

type child struct {
	command *exec.Cmd
	logPath string
	exited  chan struct{} // closed when it has ended
	err     error         // valid then

	sampling chan struct{}
	mu       sync.Mutex
	peakAnon int64
}

// launch starts a program in a folder of its own; what it says goes to a file there.
func launch(folder, path string, arguments, environment []string) (*child, error) {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, err
	}
	c := &child{logPath: filepath.Join(folder, "log"), exited: make(chan struct{}), sampling: make(chan struct{})}
	log, err := os.OpenFile(c.logPath, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	c.command = exec.Command(path, arguments...)
	c.command.Dir = folder
	c.command.Stdout, c.command.Stderr = log, log
	c.command.Env = append(os.Environ(), environment...)
	c.command.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error)
	starts() <- func() { started <- c.command.Start() }
	if err := <-started; err != nil {
		return nil, err
	}
	go func() {
		c.err = c.command.Wait()
		close(c.exited)
	}()
	go c.sample()
	return c, nil
}

// sample keeps the largest anonymous memory: VmHWM also counts files that are mapped, which the kernel may drop.
func (c *child) sample() {
	for {
		if n, err := c.status("RssAnon"); err == nil {
			c.mu.Lock()
			c.peakAnon = max(c.peakAnon, n)
			c.mu.Unlock()
		}
		select {
		case <-c.exited:
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (c *child) pid() int { return c.command.Process.Pid }

// cpu is how many seconds of user and system time it has used.
func (c *child) cpu() float64 {
	user, system, err := cpuTimes(c.pid())
	if err != nil {
		return 0
	}
	return user + system
}

// kernel is the part of cpu that the kernel used on its behalf.
func (c *child) kernel() float64 {
	_, system, err := cpuTimes(c.pid())
	if err != nil {
		return 0
	}
	return system
}

func cpuTimes(pid int) (user, system float64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, err
	}
	// The second field is the program's name, which may hold anything: the fields are counted from behind it.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 13 {
		return 0, 0, fmt.Errorf("/proc/%d/stat is short", pid)
	}
	u, err := strconv.ParseFloat(fields[11], 64)
	s, err2 := strconv.ParseFloat(fields[12], 64)
	return u / clockTicks, s / clockTicks, errors.Join(err, err2)
}

// status is one of the byte counts in /proc/PID/status.
func (c *child) status(name string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", c.pid()))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			kib, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10, err
		}
	}
	return 0, fmt.Errorf("no %s in /proc/%d/status", name, c.pid())
}

// peak is the largest resident memory so far, and its part that is no mapped file.
func (c *child) peak() (all, anonymous int64) {
	all, _ = c.status("VmHWM")
	c.mu.Lock()
	defer c.mu.Unlock()
	return all, c.peakAnon
}

func (c *child) running() bool {
	select {
	case <-c.exited:
		return false
	default:
		return true
	}
}

// idle waits until the process uses less than 5 % of a core for two seconds, limit at most; it says whether it came to
// rest.
func (c *child) idle(ctx context.Context, limit time.Duration) bool {
	deadline := time.Now().Add(limit)
	last, quiet := c.cpu(), 0
	for time.Now().Before(deadline) && c.running() {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(500 * time.Millisecond):
		}
		now := c.cpu()
		if now-last <= 0.025 {
			if quiet++; quiet == 4 {
				return true
			}
		} else {
			quiet = 0
		}
		last = now
	}
	return false
}

// end stops it with a signal and waits; a process that does not end is killed.
func (c *child) end(signal os.Signal, patience time.Duration) error {
	if !c.running() {
		return nil
	}
	_ = c.command.Process.Signal(signal)
	select {
	case <-c.exited:
		return nil
	case <-time.After(patience):
		_ = c.command.Process.Kill()
		<-c.exited
		return fmt.Errorf("did not end within %v after %v", patience, signal)
	}
}

// tail is the end of what it said.
func (c *child) tail() string {
	text, _ := os.ReadFile(c.logPath)
	return string(text[max(0, len(text)-1500):])
}

// freePort is a TCP port that was free a moment ago, and whose UDP twin was too.
func freePort() (int, error) {
	for range 20 {
		tcp, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return 0, err
		}
		port := tcp.Addr().(*net.TCPAddr).Port
		udp, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port})
		tcp.Close()
		if err == nil {
			udp.Close()
			return port, nil
		}
	}
	return 0, errors.New("no free port")
}

// diskParts adds up the files below folder by what part names them; files it names "" are left out. A sparse file counts
// as what is allocated, a short one as its length: what the data take, not how the file system rounds.
func diskParts(folder string, part func(path string) string) (map[string]int64, error) {
	parts := map[string]int64{}
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil // removed while we look: merges do that
		}
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		size := info.Size()
		if stat, ok := info.Sys().(*syscall.Stat_t); ok {
			size = min(size, stat.Blocks*512)
		}
		below, _ := filepath.Rel(folder, path)
		if name := part(below); name != "" {
			parts[name] += size
		}
		return nil
	})
	return parts, err
}
