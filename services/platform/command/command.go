// Package command runs programs of the operating system the one way Cistern does: an argument list (no shell), a
// deadline, and a limit on what is kept of their output. When the deadline passes, the whole process group is killed.
package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// Result is what a finished command left.
type Result struct {
	Stdout []byte
	Stderr []byte // at most 64 KiB
	Cut    bool   // more was printed than the limit
}

// Error says which command failed, how, and what it said.
type Error struct {
	Argv    []string
	Code    int  // exit code, -1 when it did not run to its end
	Timeout bool // the deadline passed
	Said    string
	cause   error
}

func (e *Error) Error() string {
	name := strings.Join(e.Argv, " ")
	switch {
	case e.Timeout:
		return fmt.Sprintf("'%s' did not finish in time and was stopped", name)
	case e.Code >= 0 && e.Said != "":
		return fmt.Sprintf("'%s' failed: %s", name, e.Said)
	case e.Code >= 0:
		return fmt.Sprintf("'%s' failed with exit code %d", name, e.Code)
	default:
		return fmt.Sprintf("'%s' could not be run: %v", name, e.cause)
	}
}

func (e *Error) Unwrap() error { return e.cause }

// capped keeps the first limit bytes written to it and passes over the rest, so that a program that prints without
// end neither fills memory nor blocks.
type capped struct {
	w     io.Writer
	limit int64
	cut   bool
}

func (c *capped) Write(p []byte) (int, error) {
	n := len(p)
	if int64(n) > c.limit {
		p, c.cut = p[:c.limit], true
	}
	c.limit -= int64(len(p))
	if len(p) > 0 {
		if _, err := c.w.Write(p); err != nil {
			return 0, err
		}
	}
	return n, nil
}

// Run runs argv and keeps at most limit bytes of its standard output.
func Run(ctx context.Context, deadline time.Duration, limit int64, argv ...string) (Result, error) {
	return RunInput(ctx, deadline, limit, nil, argv...)
}

// RunInput is Run for a program that reads something from its standard input: a secret has no place in an argument
// list, which every user of the machine can read.
func RunInput(ctx context.Context, deadline time.Duration, limit int64, input io.Reader, argv ...string) (Result, error) {
	var out bytes.Buffer
	cut, stderr, err := stream(ctx, deadline, limit, &out, input, argv...)
	return Result{Stdout: out.Bytes(), Stderr: stderr, Cut: cut}, err
}

// Stream runs argv and writes at most limit bytes of its standard output to w. cut says that there was more.
// The error is an *Error when the command could not be run, failed, or passed its deadline; what it wrote until
// then has been written to w.
func Stream(ctx context.Context, deadline time.Duration, limit int64, w io.Writer, argv ...string) (cut bool, stderr []byte, err error) {
	return stream(ctx, deadline, limit, w, nil, argv...)
}

// Follow runs a program that goes on until ctx ends, which kills its process group, and writes what it prints to w. Its
// own end is an error only when it failed; ctx's end is none.
func Follow(ctx context.Context, w io.Writer, argv ...string) error {
	_, _, err := stream(ctx, 0, math.MaxInt64, w, nil, argv...)
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// Through runs a program that takes as long as its input lasts (or its output is read), until ctx ends, which kills its
// process group. w gets at most limit bytes of what it prints.
func Through(ctx context.Context, input io.Reader, limit int64, w io.Writer, argv ...string) (stderr []byte, err error) {
	_, stderr, err = stream(ctx, 0, limit, w, input, argv...)
	return stderr, err
}

// stream is all of them; a deadline of 0 is none.
func stream(ctx context.Context, deadline time.Duration, limit int64, w io.Writer, input io.Reader, argv ...string) (cut bool, stderr []byte, err error) {
	wait := deadline
	if deadline == 0 {
		wait = 10 * time.Second
	} else {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	stdout := &capped{w: w, limit: limit}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = input
	cmd.Stdout = stdout
	cmd.Stderr = &capped{w: &said, limit: 64 << 10}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	// A child in uninterruptible sleep (a dying disk) does not go away by SIGKILL; do not wait for its pipes for ever.
	// Nor too short: the time also runs when the child has ended well and a slow w still takes in what it said.
	cmd.WaitDelay = wait
	err = cmd.Run()
	if err == nil {
		return stdout.cut, said.Bytes(), nil
	}
	failure := &Error{Argv: argv, Code: -1, Timeout: errors.Is(ctx.Err(), context.DeadlineExceeded) || errors.Is(err, exec.ErrWaitDelay), Said: firstLines(said.String(), 6), cause: err}
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		failure.Code = exit.ExitCode()
	}
	return stdout.cut, said.Bytes(), failure
}

func firstLines(s string, n int) string {
	lines := strings.Split(strings.TrimSpace(s), "\n")
	if len(lines) > n {
		lines = lines[:n]
	}
	return strings.TrimSpace(strings.Join(lines, "; "))
}
