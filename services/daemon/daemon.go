// Package daemon is what every daemon of the appliance does alike: flags and a configuration file, one structured log,
// Unix sockets with the right owners, readiness and watchdog of the service manager, an orderly stop with a deadline,
// requests that panic, and a private socket that tells what the process is doing. A daemon's main is wiring:
//
//	func main() {
//		os.Exit(daemon.Run(daemon.Options{Name: "exampled", Version: version, Socket: "/run/cistern/exampled/http.sock",
//			Setup: func(ctx context.Context, p *daemon.Process) error {
//				return p.Listen(daemon.Listener{Socket: p.Socket, Handler: routes()})
//			}}))
//	}
package daemon

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"cistern/services/daemon/diagnostics"
	"cistern/services/daemon/log"
	"cistern/services/daemon/sdnotify"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2 // a flag or the configuration file is wrong
)

// defaultStop is how long an orderly stop may take unless the daemon sets another time.
const defaultStop = 10 * time.Second

// Options describe a daemon.
type Options struct {
	Name, Version string
	// About is what --help prints before the flags.
	About string
	// Socket is the default of --socket, the Unix socket on which the daemon is asked.
	Socket string
	// Flags adds the daemon's own flags; nil when it has none.
	Flags func(flags *flag.FlagSet)
	// Config applies the file that --config names, "" for none, after the flags were parsed; flags win over it. Its errors
	// name the file and the key. It may set another socket. Nil: the keys of the file are the names of the flags, with _
	// for -.
	Config func(common *Common) error
	// Help prints the whole answer to --help; nil: About and the flags.
	Help func(out io.Writer)
	// Advise adds to the error by which the daemon ends what an operator can do about it; may be nil.
	Advise func(error) error
	// Setup makes the daemon. It opens sockets by p.Listen, starts what runs beside requests by p.Go, and registers what is
	// to be ended by p.OnStop, which is called too when Setup fails. ctx ends when the daemon is to stop.
	Setup func(ctx context.Context, p *Process) error
	// RequestsWithin is how long requests that run may take after the stop began; then they are cut off.
	// StopWithin is how long the whole stop may take, 10 s when it is 0; RequestsWithin is the same when it is 0.
	RequestsWithin, StopWithin time.Duration
	// Unfinished is logged when the stop is not finished within StopWithin: what becomes of the rest.
	Unfinished string
}

// Run runs a daemon with the arguments of this process, and returns its exit code.
func Run(o Options) int {
	// A fatal error prints every goroutine, and then aborts, so that the system keeps a core.
	debug.SetTraceback("crash")
	ctx, stop := signal.NotifyContext(context.Background(), Signals()...)
	defer stop()
	return o.main(ctx, os.Args[1:], os.Stdout, os.Stderr)
}

// Signals are those that end a daemon, or a command of its, in order.
func Signals() []os.Signal {
	signals := []os.Signal{syscall.SIGTERM, syscall.SIGINT}
	if !signal.Ignored(syscall.SIGHUP) { // nohup's is
		signals = append(signals, syscall.SIGHUP)
	}
	return signals
}

func (o Options) main(ctx context.Context, arguments []string, out, errs io.Writer) int {
	common, err := o.Parse(arguments, out)
	if errors.Is(err, ErrAnswered) {
		return exitOK
	}
	if err != nil {
		log.New(errs, log.Text, slog.LevelInfo).Error(o.Name+" cannot start", "error", err)
		return exitUsage
	}
	logger := log.New(errs, common.LogFormat, common.LogLevel)
	slog.SetDefault(logger) // also of what has no logger of its own
	if err := o.run(ctx, common, logger); err != nil {
		if o.Advise != nil {
			err = o.Advise(err)
		}
		logger.Error(o.Name+" ends", "error", err)
		return exitFailed
	}
	return exitOK
}

// run sets the daemon up, serves until ctx ends or something fails, and stops in order.
func (o Options) run(ctx context.Context, common *Common, logger *slog.Logger) error {
	stopWithin, requestsWithin := o.StopWithin, o.RequestsWithin
	if stopWithin == 0 {
		stopWithin = defaultStop
	}
	if requestsWithin == 0 {
		requestsWithin = stopWithin
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &Process{Name: o.Name, Version: o.Version, Socket: common.Socket, Log: logger, ctx: ctx}
	err := o.Setup(ctx, p)
	if err == nil {
		err = p.served(ctx)
	}
	cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- p.stop(requestsWithin) }()
	select {
	case stopErr := <-stopped:
		return errors.Join(err, stopErr)
	case <-time.After(stopWithin):
		unfinished := o.Unfinished
		if unfinished == "" {
			unfinished = "the stop is not finished in time; the process ends anyway"
		}
		logger.Warn(unfinished, "seconds", stopWithin.Seconds())
		return err
	}
}

// served serves until ctx ends, or something fails.
func (p *Process) served(ctx context.Context) error {
	if p.Socket != "" {
		if err := diagnostics.Serve(filepath.Dir(p.Socket), p.Name); err != nil {
			p.Log.Warn("what this process is doing cannot be asked for", "error", err)
		}
	}
	failed := p.serve()
	p.Log.Info("ready", append([]any{"version", p.Version, "listens", strings.Join(p.names(), " ")}, p.described...)...)
	if err := sdnotify.Ready(); err != nil {
		p.Log.Warn("the service manager was not notified that this is ready", "error", err)
	}
	go sdnotify.Watchdog(ctx)
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	if notify := sdnotify.Stopping(); notify != nil {
		p.Log.Warn("the service manager was not notified that this stops", "error", fmt.Errorf("stopping: %w", notify))
	}
	return err
}
