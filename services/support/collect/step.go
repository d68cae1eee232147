// Package collect is what a bundle collects: declared steps, each with its deadline and limit, by programs, files, or what a
// daemon answers. Steps that only root may take are taken by gatherd (Server), by their names alone, and asked for by supportd
// (Client). Nothing in here reads what came from outside.
package collect

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"sort"
	"time"

	"cistern/services/platform/command"
	"cistern/services/platform/tail"
)

// Step is one thing that a bundle collects: what a command prints, files, or what a daemon answers. What it gave
// before an error is kept.
type Step struct {
	Name     string // the file's path in the bundle, without the category
	Category string
	Deadline time.Duration
	Limit    int64 // bytes kept; of files the newest
	// One of these.
	Command []string
	Files   []string // patterns as of filepath.Glob
	// Not every machine has such files: that there are none is no failure.
	Optional bool
	Socket   string // a Unix socket, asked for Path
	Path     string
	Collect  func(ctx context.Context, limit int64, w io.Writer) error
	// Binary content is kept as it is. Nobody can take secrets out of a process' memory, so these steps are OnRequest.
	Binary bool
	// OnRequest steps are in a bundle only when their category was asked for by name.
	OnRequest bool
	// Root: only root may collect it. gatherd does, and nothing else.
	Root bool
	// Lock is what steps of the same word wait for: when one of them hangs, the others most likely do as well, and get
	// AfterHang at most. Empty: it waits for nothing that others wait for.
	Lock string
	// RawLimit is how much of it may be collected where Refine makes less of it; 0: Limit.
	RawLimit int64
	// Refine makes of what was collected what is kept; nil: it is kept as it is. Never done by gatherd.
	Refine func(ctx context.Context, raw io.Reader, w io.Writer) error
}

// ID is the step's name: that of its file in a bundle.
func (s *Step) ID() string { return s.Category + "/" + s.Name }

func (s *Step) rawLimit() int64 { return max(s.Limit, s.RawLimit) }

var (
	// ErrCut says that there was more than the step's limit.
	ErrCut = errors.New("longer than the limit of this step; the beginning was kept")
	// ErrNothing says that there is nothing to collect, which is no failure: no crash, no core, no boot that ended badly.
	ErrNothing = errors.New("there is nothing of it")
)

// UsualLimit is the limit of most steps.
const UsualLimit = 8 << 20

// AfterHang is the deadline of a step whose Lock another step has hung on.
const AfterHang = 10 * time.Second

// Command is a step by what a program prints.
func Command(category, name string, deadline time.Duration, argv ...string) Step {
	return Step{Name: name, Category: category, Deadline: deadline, Limit: UsualLimit, Command: argv}
}

// zfs is a step by a program of ZFS. All of them take the lock on the pools' names, which a suspended pool may hold.
func zfs(name string, deadline time.Duration, argv ...string) Step {
	step := Command("zfs", name, deadline, argv...)
	step.Lock = "zfs"
	return step
}

// Files is a step by what is in files.
func Files(category, name string, patterns ...string) Step {
	return Step{Name: name, Category: category, Deadline: 20 * time.Second, Limit: UsualLimit, Files: patterns}
}

// someFiles are files that this machine may not have.
func someFiles(category, name string, patterns ...string) Step {
	step := Files(category, name, patterns...)
	step.Optional = true
	return step
}

// Ask is a step by what a daemon answers.
func Ask(category, name, socket, path string) Step {
	return Step{Name: name, Category: category, Deadline: 10 * time.Second, Limit: UsualLimit, Socket: socket, Path: path}
}

// Run collects and refines.
func (s *Step) Run(ctx context.Context, w io.Writer) error { return s.RunBy(ctx, w, s.Raw) }

// RunBy is Run with what raw collects in place of what the step would.
func (s *Step) RunBy(ctx context.Context, w io.Writer, raw func(ctx context.Context, w io.Writer) error) error {
	if s.Refine == nil {
		return raw(ctx, w)
	}
	in, out := io.Pipe()
	collected := make(chan error, 1)
	go func() {
		var err error
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("the step itself failed: %v", p)
			}
			out.CloseWithError(err)
			collected <- err
		}()
		err = raw(ctx, out)
	}()
	err := s.Refine(ctx, in, w)
	in.Close()
	if failed := <-collected; failed != nil && !errors.Is(failed, io.ErrClosedPipe) {
		return failed
	}
	return err
}

// Raw writes at most as many bytes as its limit to w.
func (s *Step) Raw(ctx context.Context, w io.Writer) error {
	switch {
	case s.Command != nil:
		return s.runCommand(ctx, w)
	case s.Files != nil:
		return s.readFiles(ctx, w)
	case s.Socket != "":
		return s.askSocket(ctx, w)
	default:
		return s.Collect(ctx, s.Limit, w)
	}
}

func (s *Step) runCommand(ctx context.Context, w io.Writer) error {
	path, err := exec.LookPath(s.Command[0])
	if err != nil {
		return fmt.Errorf("'%s' is not on this machine", s.Command[0])
	}
	cut, stderr, err := command.Stream(ctx, s.Deadline, s.Limit, w, append([]string{path}, s.Command[1:]...)...)
	if len(stderr) > 0 {
		fmt.Fprintf(w, "\n--- standard error ---\n%s", stderr)
	}
	if err == nil && cut {
		err = ErrCut
	}
	return err
}

func (s *Step) readFiles(ctx context.Context, w io.Writer) error {
	var paths []string
	for _, p := range s.Files {
		found, err := filepath.Glob(p)
		if err != nil {
			return err
		}
		paths = append(paths, found...)
	}
	if len(paths) == 0 && s.Optional {
		return ErrNothing
	}
	if len(paths) == 0 {
		return fmt.Errorf("there is no %s", s.Files[0])
	}
	sort.Strings(paths)
	var failed error
	for _, path := range paths {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if len(paths) > 1 {
			fmt.Fprintf(w, "==> %s <==\n", path)
		}
		failed = errors.Join(failed, tail.File(w, path, s.Limit/int64(len(paths))))
		if !s.Binary {
			fmt.Fprintln(w)
		}
	}
	return failed
}

// dial makes an HTTP client for one request to a Unix socket.
func dial(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", socket)
	}}}
}

func (s *Step) askSocket(ctx context.Context, w io.Writer) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://unix"+s.Path, nil)
	if err != nil {
		return err
	}
	return answer(request, s.Socket, s.Limit, w)
}

// answer writes what is answered to a request, whether it is what was asked for or a problem.
func answer(request *http.Request, socket string, limit int64, w io.Writer) error {
	response, err := dial(socket).Do(request)
	if err != nil {
		var asked *url.Error // its words are about HTTP, which nobody chose
		if errors.As(err, &asked) {
			err = asked.Err
		}
		return fmt.Errorf("nobody answers: %w", err)
	}
	defer response.Body.Close()
	_, err = io.Copy(w, io.LimitReader(response.Body, limit))
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, fmt.Errorf("it answered %s", response.Status))
	}
	return err
}
