package collect

// Steps that look into living processes and at what dead ones left.

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cistern/services/platform/command"
)

// optional is a step whose files need not be there.
func optional(s Step) Step {
	read := s
	s.Files, s.Collect = nil, func(ctx context.Context, _ int64, w io.Writer) error {
		for _, pattern := range read.Files {
			if found, _ := filepath.Glob(pattern); len(found) > 0 {
				return read.readFiles(ctx, w)
			}
		}
		return ErrNothing
	}
	return s
}

// Newest keeps the newest of the files that match, as it is, when it is not larger than limit.
func Newest(category, name string, limit int64, pattern string) Step {
	return Step{Name: name, Category: category, Deadline: 5 * time.Minute, Limit: limit, Binary: true, OnRequest: true, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			return err
		}
		best, at := "", time.Time{}
		var size int64
		for _, path := range paths {
			if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.ModTime().After(at) {
				best, at, size = path, info.ModTime(), info.Size()
			}
		}
		if best == "" {
			return ErrNothing
		}
		if size > limit {
			return fmt.Errorf("%s is larger than %d MB", best, limit>>20)
		}
		f, err := os.Open(best)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(w, f)
		return err
	}}
}

// each runs a program on every word that another one prints: pstack on what pgrep finds.
func each(category, name string, deadline time.Duration, list []string, program string) Step {
	return Step{Name: name, Category: category, Deadline: deadline, Limit: UsualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		found, err := command.Run(ctx, short, 64<<10, list...)
		if err != nil {
			return err
		}
		var failed error
		left := limit
		for _, word := range strings.Fields(string(found.Stdout)) {
			r, err := command.Run(ctx, short, left, program, word)
			_, _ = w.Write(r.Stdout)
			left -= int64(len(r.Stdout))
			if refused := (*command.Error)(nil); errors.As(err, &refused) && strings.Contains(refused.Said, "permission denied") {
				_, err = io.WriteString(w, leftOut(ctx, program, word))
			}
			failed = errors.Join(failed, err)
		}
		return failed
	}}
}

// leftOut says of a process that illumos does not let gatherd examine why that is, and where to look instead: who examines one
// needs every privilege that it has, whatever its own user is.
func leftOut(ctx context.Context, program, pid string) string {
	what := ""
	if said, err := command.Run(ctx, short, 4<<10, "ps", "-o", "args=", "-p", pid); err == nil {
		what = strings.TrimSpace(string(said.Stdout))
	}
	path, _, _ := strings.Cut(what, " ")
	elsewhere := ""
	if name := filepath.Base(path); slices.Contains(goServices, name) {
		elsewhere = "its stacks are in stacks/" + name + ".txt; "
	}
	return fmt.Sprintf("%s:\t%s\n  left out: it has privileges that gatherd has not, so the system does not let gatherd examine it; %sas root: %s %s\n", pid, what, elsewhere, program, pid)
}

// process is one that /proc lists.
type process struct {
	pid  int
	argv []string
}

// is returns whether a process is the program called so: its own name, or the script it runs.
func (p process) is(name string) bool {
	return len(p.argv) > 0 && (slices.ContainsFunc(p.argv, func(a string) bool { return filepath.Base(a) == name }) ||
		// nginx writes its state over its arguments: "nginx: worker process".
		strings.HasPrefix(p.argv[0], name+":"))
}

func processes() []process {
	var found []process
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		content, err := os.ReadFile(path)
		pid, convErr := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err == nil && convErr == nil && len(content) > 0 {
			found = append(found, process{pid, strings.Split(strings.TrimRight(string(content), "\x00"), "\x00")})
		}
	}
	return found
}

// threads lists for every thread of the processes that are called so what it waits for, in the kernel's words. It works on a
// process that no longer answers, and disturbs none.
func threads(file string, names ...string) Step {
	return Step{Name: file, Category: "stacks", Deadline: short, Limit: UsualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		out := &limited{w: w, left: limit}
		for _, p := range processes() {
			if !slices.ContainsFunc(names, p.is) {
				continue
			}
			fmt.Fprintf(out, "==> %d %s\n", p.pid, strings.Join(p.argv, " "))
			tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*", p.pid))
			for _, task := range tasks {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				read := func(name string) string {
					content, err := os.ReadFile(filepath.Join(task, name))
					if err != nil {
						return "(" + err.Error() + ")"
					}
					return strings.TrimSpace(string(content))
				}
				fmt.Fprintf(out, "thread %s %q waits in %s\n%s\n", filepath.Base(task), read("comm"), read("wchan"), read("stack"))
			}
		}
		return out.err
	}}
}

// limited passes on so many bytes and then fails.
type limited struct {
	w    io.Writer
	left int64
	err  error
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		l.err = ErrCut
		return 0, ErrCut
	}
	l.left -= int64(len(p))
	return l.w.Write(p)
}

// nodeReport asks a Node process for its diagnostic report, which it writes on SIGUSR2 when it was started with
// --report-on-signal. One that was not would end by the signal: it gets none.
func nodeReport(name, script, report string) Step {
	return Step{Name: name, Category: "stacks", Deadline: 30 * time.Second, Limit: UsualLimit, Collect: func(ctx context.Context, limit int64, w io.Writer) error {
		all := processes()
		i := slices.IndexFunc(all, func(p process) bool { return p.is(script) && strings.HasPrefix(filepath.Base(p.argv[0]), "node") })
		if i < 0 {
			return fmt.Errorf("%s does not run", script)
		}
		if !catches(all[i].pid, syscall.SIGUSR2) {
			return fmt.Errorf("%s does not take SIGUSR2: it was not started with --report-on-signal", script)
		}
		asked := time.Now()
		if err := syscall.Kill(all[i].pid, syscall.SIGUSR2); err != nil {
			return fmt.Errorf("asking %s for a report: %w", script, err)
		}
		for {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s wrote no report: it does not come to do so", script)
			case <-time.After(100 * time.Millisecond):
			}
			info, err := os.Stat(report)
			// A file system's clock is coarser than ours.
			if err != nil || info.ModTime().Before(asked.Add(-time.Second)) {
				continue
			}
			content, err := os.ReadFile(report)
			if err == nil && info.Size() <= limit && len(content) > 0 && content[len(strings.TrimRight(string(content), "\n \t"))-1] == '}' {
				_, err = w.Write(content)
				return err
			}
		}
	}}
}

// catches returns whether a process has a handler for a signal.
func catches(pid int, signal syscall.Signal) bool {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(content)) {
		if mask, ok := strings.CutPrefix(line, "SigCgt:"); ok {
			bits, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && bits&(1<<(uint(signal)-1)) != 0
		}
	}
	return false
}
