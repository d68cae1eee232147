// storaged takes metrics in, keeps them, and answers queries. One binary, sensible defaults: `storaged --data DIR`
// works on a laptop.
package main

// Flags, signals, and the order of starting and stopping.

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"cistern/services/sdnotify"
)

// version is set when Cistern is built.
var version = "development"

const usage = `storaged takes metrics in, keeps them at one-second resolution with true histograms, and answers queries.

  storaged --data DIR

serves HTTP on 127.0.0.1:9095 and statsd on port 8125 (UDP and TCP), and keeps everything in DIR, which it makes.
Send it something and look:

  echo 'login.time:12|ms' | nc -u -w0 127.0.0.1 8125
  curl 'http://127.0.0.1:9095/api/v1/metrics'
  curl 'http://127.0.0.1:9095/api/v1/query?query=histogram_quantile(0.99,{"login.time"})'

Flags:
`

type options struct {
	data, httpSocket, httpAddress, statsdAddress string
	retention, outOfOrder, blockEvery            time.Duration
	memory                                       int64
	hostStatistics                               bool
}

func parseFlags(arguments []string) (options, error) {
	var o options
	flags := flag.NewFlagSet("storaged", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(flags.Output(), usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&o.data, "data", os.Getenv("CISTERN_DATA"), "`folder` that holds the journal and the blocks")
	flags.StringVar(&o.httpSocket, "http-socket", "", "Unix socket `path` to serve HTTP on (mode 0660)")
	flags.StringVar(&o.httpAddress, "http-addr", "", "`address` to serve HTTP on, without any authorisation; 127.0.0.1:9095 when there is no socket either")
	flags.StringVar(&o.statsdAddress, "statsd-addr", ":8125", "`address` for statsd over UDP and TCP; empty for none")
	flags.DurationVar(&o.retention, "retention", 400*24*time.Hour, "how long samples are kept")
	flags.DurationVar(&o.outOfOrder, "out-of-order", time.Hour, "how far a sample may be behind the latest one of its series")
	flags.DurationVar(&o.blockEvery, "block-every", 2*time.Hour, "how often samples are moved from memory to a block")
	flags.Int64Var(&o.memory, "memory", 1024, "`MiB` of memory that the garbage collector aims to stay below")
	flags.BoolVar(&o.hostStatistics, "host-statistics", true, "keep this machine's own figures as cistern_host_*")
	if err := flags.Parse(arguments); err != nil {
		return o, err
	}
	if o.data == "" {
		flags.Usage()
		return o, errors.New("--data is missing")
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is no flag", flags.Arg(0))
	}
	if o.httpSocket == "" && o.httpAddress == "" {
		o.httpAddress = "127.0.0.1:9095"
	}
	return o, nil
}

func main() {
	o, err := parseFlags(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	if err == nil {
		// Small when idle, within bounds when busy: with a small heap the collector is cheap, so it may run early.
		debug.SetMemoryLimit(o.memory << 20)
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(50)
		}
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
		err = run(ctx, o, log)
		stop()
	}
	if err != nil {
		log.Error("storaged ends", "error", err)
		os.Exit(1)
	}
}

// run serves until ctx ends or something fails, and leaves everything durable.
func run(ctx context.Context, o options, log *slog.Logger) error {
	s, err := start(o, log)
	if err != nil {
		return err
	}
	log.Info("ready", "version", version, "data", o.data, "http", s.httpNames, "statsd", s.statsdName(), "statsdBuffer", s.statsdBuffer())
	if err := sdnotify.Ready(); err != nil {
		log.Warn("readiness could not be told", "error", err)
	}
	select {
	case <-ctx.Done():
	case err = <-s.failed:
	}
	_ = sdnotify.Stopping()
	return errors.Join(err, s.stop())
}
