package bundle

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
	"cistern/services/support/logs"
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
}

var (
	// errCut says that there was more than the step's limit.
	errCut = errors.New("longer than the limit of this step; the beginning was kept")
	// errNothing says that there is nothing to collect, which is no failure: no crash, no core, no boot that ended badly.
	errNothing = errors.New("there is nothing of it")
)

const usualLimit = 8 << 20

func run(category, name string, deadline time.Duration, argv ...string) Step {
	return Step{Name: name, Category: category, Deadline: deadline, Limit: usualLimit, Command: argv}
}

func files(category, name string, patterns ...string) Step {
	return Step{Name: name, Category: category, Deadline: 20 * time.Second, Limit: usualLimit, Files: patterns}
}

// someFiles are files that this machine may not have.
func someFiles(category, name string, patterns ...string) Step {
	step := files(category, name, patterns...)
	step.Optional = true
	return step
}

func ask(category, name, socket, path string) Step {
	return Step{Name: name, Category: category, Deadline: 10 * time.Second, Limit: usualLimit, Socket: socket, Path: path}
}

// collect writes at most Limit bytes' worth to w.
func (s *Step) collect(ctx context.Context, w io.Writer) error {
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
		err = errCut
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
		return errNothing
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
		failed = errors.Join(failed, logs.Tail(w, path, s.Limit/int64(len(paths))))
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
