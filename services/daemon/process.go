package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/user"
	"slices"
	"strconv"
	"sync"
	"time"

	"cistern/services/daemon/problem"
	"cistern/services/daemon/unixsocket"
)

// Process is a daemon that is being set up, or runs.
type Process struct {
	Name, Version string
	Socket        string // --socket
	Log           *slog.Logger

	ctx       context.Context // ends when the daemon is to stop
	running   sync.WaitGroup
	endings   []func() error
	serving   []serving
	described []any
}

// Listener is one way in over HTTP.
type Listener struct {
	// Socket is the path of a Unix socket (mode 0660). Group may use it, beside its owner; empty: the process' own group.
	// Where a group cannot be given the socket, a warning is logged: root can still ask.
	Socket, Group string
	// Address is HOST:PORT, where Socket is empty.
	Address string
	Handler http.Handler
	// Adjust changes the server's timeouts and the like; may be nil.
	Adjust func(server *http.Server)
}

type serving struct {
	name     string
	listener net.Listener
	server   *http.Server
}

// Listen opens a listener. It is served when Setup has returned; a handler that panics is answered with a problem and
// logged, and the daemon goes on.
func (p *Process) Listen(l Listener) error {
	one := serving{name: l.Socket}
	var err error
	if l.Socket != "" {
		if one.listener, err = unixsocket.Listen(l.Socket); err != nil {
			return err
		}
		if err := Share(l.Socket, l.Group); err != nil {
			p.Log.Warn("the group may not use the socket", "group", l.Group, "path", l.Socket, "error", err)
		}
	} else {
		if one.listener, err = net.Listen("tcp", l.Address); err != nil {
			return fmt.Errorf("listening for HTTP on %s: %w", l.Address, err)
		}
		one.name = one.listener.Addr().String()
	}
	one.server = &http.Server{Handler: Guard(p.Name, p.Log, l.Handler), ConnContext: unixsocket.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(p.Log.Handler(), slog.LevelDebug)}
	if l.Adjust != nil {
		l.Adjust(one.server)
	}
	p.serving = append(p.serving, one)
	return nil
}

// Share lets a group use a socket; nothing but the mode is set when group is empty.
func Share(path, group string) error {
	if err := os.Chmod(path, unixsocket.Mode); err != nil || group == "" {
		return err
	}
	found, err := user.LookupGroup(group)
	if err != nil {
		return err
	}
	gid, err := strconv.Atoi(found.Gid)
	if err != nil {
		return err
	}
	return os.Chown(path, -1, gid)
}

// UIDs are root, the process' own user, and the named one. With an error, for a user that does not exist, they are the
// first two.
func UIDs(name string) ([]int, error) {
	uids := []int{0, os.Getuid()}
	account, err := user.Lookup(name)
	if err != nil {
		return uids, err
	}
	uid, err := strconv.Atoi(account.Uid)
	if err != nil {
		return uids, err
	}
	return append(uids, uid), nil
}

// Go runs something beside the requests, which returns when its context ends. The stop waits for it.
func (p *Process) Go(run func(ctx context.Context)) { p.running.Go(func() { run(p.ctx) }) }

// OnStop registers what ends a part of the daemon, after requests and what Go runs have ended; the last one first.
func (p *Process) OnStop(end func() error) { p.endings = append(p.endings, end) }

// Describe adds keys and values to the line of the log that says that the daemon is ready.
func (p *Process) Describe(keysAndValues ...any) { p.described = append(p.described, keysAndValues...) }

func (p *Process) names() (all []string) {
	for _, one := range p.serving {
		all = append(all, one.name)
	}
	return all
}

// serve serves all listeners; what fails arrives in the channel.
func (p *Process) serve() <-chan error {
	failed := make(chan error, len(p.serving))
	for _, one := range p.serving {
		go func() {
			if err := one.server.Serve(one.listener); !errors.Is(err, http.ErrServerClosed) {
				failed <- fmt.Errorf("serving HTTP on %s: %w", one.name, err)
			}
		}()
	}
	return failed
}

// stop ends the requests, then what runs beside them, then the parts.
func (p *Process) stop(requestsWithin time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), requestsWithin)
	defer cancel()
	var wait sync.WaitGroup
	for _, one := range p.serving {
		wait.Go(func() {
			if one.server.Shutdown(ctx) != nil {
				_ = one.server.Close() // what takes longer is cut off
			}
			_ = one.listener.Close() // also when it was never served
		})
	}
	wait.Wait()
	p.running.Wait()
	var all []error
	for _, end := range slices.Backward(p.endings) {
		all = append(all, end())
	}
	return errors.Join(all...)
}

// Guard answers a request whose handler panics with a problem, and logs it with its stack, so that one broken request
// does not take the others with it.
func Guard(name string, logger *slog.Logger, handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			switch broken := recover(); broken {
			case nil:
			case http.ErrAbortHandler: // cuts the connection: a stream that ended well would be taken for all of the answer
				panic(broken)
			default:
				logger.Error("a request failed unexpectedly", "path", r.URL.Path, "error", broken, "stack", stack())
				problem.Write(w, http.StatusInternalServerError, "service_unavailable", name+" met an error it did not expect.",
					"Make a support bundle and report it.")
			}
		}()
		handler.ServeHTTP(w, r)
	})
}
