package tracer

// How dtrace is started: by tracerd itself where the system lets its user trace (illumos), by a process beside it where
// only root may (launch_linux.go).

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// traced is a dtrace that was started.
type traced struct {
	out, said io.ReadCloser // what it prints, and what it complains about
	pid       int
	signal    func(syscall.Signal)
	// wait is called once, after both have ended.
	wait func() error
	// probes is how long its probes have run in the time of others; 0 when that is not known.
	probes func() time.Duration
}

// options of each dtrace. Aggregations are read four times a second: printa prints what was read last.
var options = []string{"-q", "-x", "aggrate=250ms", "-x", "switchrate=250ms", "-x", "aggsize=4m", "-x", "dynvarsize=4m", "-x", "strsize=256"}

// commandOf is a dtrace that reads its program from a file.
func commandOf(program, script string) *exec.Cmd {
	command := exec.Command(program, append(append([]string{}, options...), "-s", script)...)
	command.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C"}
	command.Dir = "/"
	return command
}

// startHere starts dtrace as a child of this process, with its program in a file in dir.
func startHere(program, dir string, number int, text string) (*traced, error) {
	script := filepath.Join(dir, "program-"+strconv.Itoa(number)+".d")
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		return nil, fmt.Errorf("writing the D program: %w", err)
	}
	command := commandOf(program, script)
	command.SysProcAttr = attributes(-1)
	p, err := started(command)
	if err != nil {
		os.Remove(script)
		return nil, err
	}
	wait := p.wait
	p.wait = func() error {
		defer os.Remove(script)
		return wait()
	}
	return p, nil
}

func started(command *exec.Cmd) (*traced, error) {
	out, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	said, err := command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("dtrace cannot be started: %w", err)
	}
	pid := command.Process.Pid
	return &traced{
		out: out, said: said, pid: pid,
		signal: func(s syscall.Signal) { _ = command.Process.Signal(s) },
		wait:   command.Wait,
		probes: func() time.Duration { return probeTime(pid) },
	}, nil
}
